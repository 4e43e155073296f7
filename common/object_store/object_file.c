/* common/object_store/object_file.c - files as objects, in parts */
#include "object_store/ask.h"
#include "object_store/md5_lanes.h"

#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 10000         // S3's limit

#define THREADS 2               // one sends parts while the other reads and hashes
                                // the next ones
#define GROUP MD5_LANES         // parts that are read and hashed at once

struct file {
    struct object_store *store;
    struct object_file *file;
    struct err *err;
    struct loaded {             // a group of parts in memory, of each thread
        struct file *of;
        char *bytes;
        struct digest sha256[GROUP];
    } groups[THREADS];
    struct md5 *sums;           // of the parts
    size_t nparts;
    char (*there)[OBJECT_ETAG_MAX];     // etags of parts that the store has; ""
};

/* ---- the local side ---- */

static size_t part_size (const struct file *f, size_t i)
{
    uint64_t left = f->file->size - (uint64_t)i * OBJECT_PART_BYTES;

    return left < OBJECT_PART_BYTES ? (size_t)left : OBJECT_PART_BYTES;
}

static size_t groups_of (const struct file *f)
{
    return (f->nparts + GROUP - 1) / GROUP;
}

/* The parts of a group: from the i-th one on. */
static size_t parts_of (const struct file *f, size_t group, size_t *i)
{
    *i = group * GROUP;
    return f->nparts - *i < GROUP ? f->nparts - *i : GROUP;
}

static size_t group_size (const struct file *f, size_t group)
{
    size_t i, n = parts_of (f, group, &i);

    return (n - 1) * OBJECT_PART_BYTES + part_size (f, i + n - 1);
}

static int hash_group (struct loaded *l, size_t group)
{
    struct file *f = l->of;
    size_t i, n = parts_of (f, group, &i);
    int rc = 0;

    if (group_size (f, group) == GROUP * OBJECT_PART_BYTES) {
        md5_lanes (l->bytes, OBJECT_PART_BYTES, &f->sums[i]);
        return 0;
    }
    for (size_t k = 0; k < n && rc == 0; k++)
        rc = digest_md5 (l->bytes + k * OBJECT_PART_BYTES,
                         part_size (f, i + k), &f->sums[i + k]);
    return rc;
}

/* Read parts, and note their MD5s. */
static int load_group (struct loaded *l, size_t group, struct err *err)
{
    struct file *f = l->of;
    int rc;

    if (!l->bytes && !(l->bytes = malloc (group_size (f, 0) + 1)))
        return err_set (err, ENOMEM, "no memory for an upload");
    rc = fileio_pread_all (f->file->fd, l->bytes, group_size (f, group),
                           (off_t)(group * GROUP * OBJECT_PART_BYTES));
    if (rc == -ENODATA)
        return err_set (err, EBADMSG, "the file of %s is shorter than it was",
                        f->file->key);
    if (rc == 0)
        rc = hash_group (l, group);
    return rc < 0 ? err_sys (err, -rc, "cannot read the file of %s",
                             f->file->key) : 0;
}

static int file_init (struct file *f, struct object_store *s,
                      struct object_file *file, struct err *err)
{
    uint64_t parts = (file->size + OBJECT_PART_BYTES - 1) / OBJECT_PART_BYTES;

    *f = (struct file){ .store = s, .file = file, .err = err,
                        .nparts = parts > 0 ? (size_t)parts : 1 };
    if (parts > PARTS_MAX)
        return err_set (err, EFBIG, "%s is larger than an object can be here",
                        file->key);
    for (int i = 0; i < THREADS; i++)
        f->groups[i].of = f;
    f->sums = calloc (f->nparts, sizeof (*f->sums));
    f->there = calloc (f->nparts, sizeof (*f->there));
    return f->sums && f->there
               ? 0 : err_set (err, ENOMEM, "no memory for an upload");
}

static void file_fini (struct file *f)
{
    for (int i = 0; i < THREADS; i++)
        free (f->groups[i].bytes);
    free (f->sums);
    free (f->there);
}

/* The etag of an object that came whole, or in such parts. */
static int etag_of (const struct file *f, char out[OBJECT_ETAG_MAX])
{
    char hex[MD5_HEX_SIZE];
    struct md5 all;
    int rc = 0;

    if (f->nparts == 1)
        all = f->sums[0];
    else
        rc = digest_md5 (f->sums, f->nparts * sizeof (*f->sums), &all);
    md5_hex (&all, hex);
    (void)snprintf (out, OBJECT_ETAG_MAX, f->nparts == 1 ? "%s" : "%s-%zu", hex,
                    f->nparts);
    return rc;
}

/* ---- comparing ---- */

/* Byte by byte, in groups. */
static int compare_all (struct file *f)
{
    void *theirs = malloc (group_size (f, 0) + 1);
    int rc = theirs ? 0 : err_set (f->err, ENOMEM, "no memory to compare");

    for (size_t g = 0; g < groups_of (f) && rc == 0; g++) {
        size_t n = group_size (f, g);

        if ((rc = load_group (&f->groups[0], g, f->err)) == 0)
            rc = object_get (f->store, f->file->key,
                             (uint64_t)g * GROUP * OBJECT_PART_BYTES, theirs,
                             n, f->err);
        if (rc == 0 && memcmp (f->groups[0].bytes, theirs, n) != 0)
            rc = err_set (f->err, EBADMSG, "%s/%s differs from the file",
                          f->store->url, f->file->key);
    }
    free (theirs);
    return rc;
}

/* The parts have been hashed. */
static int compare (struct file *f)
{
    char etag[OBJECT_ETAG_MAX];
    struct object_facts o;
    int rc = object_head (f->store, f->file->key, &o, f->err);

    if (rc == 0 && o.size != f->file->size)
        rc = err_set (f->err, EBADMSG, "%s/%s has %llu bytes, not %llu",
                      f->store->url, f->file->key,
                      (unsigned long long)o.size,
                      (unsigned long long)f->file->size);
    if (rc == 0)
        rc = etag_of (f, etag);
    if (rc == 0 && strcmp (etag, o.etag) != 0)
        rc = compare_all (f);
    PRINT (f->file->etag, "%s", rc == 0 ? o.etag : "");
    return rc;
}

int object_check_file (struct object_store *s, struct object_file *file,
                       struct err *err)
{
    struct file f;
    int rc = file_init (&f, s, file, err);

    for (size_t g = 0; rc == 0 && g < groups_of (&f); g++)
        rc = load_group (&f.groups[0], g, err);
    if (rc == 0)
        rc = compare (&f);
    file_fini (&f);
    return rc;
}

/* ---- an upload in parts ---- */

static int begin (struct file *f)
{
    struct ask q = { .what = "begin to write", .method = "POST",
                     .key = f->file->key, .nquery = 1,
                     .query = { { "uploads", "" } } };
    struct http_answer a;
    const char *xml;
    int rc = object_ask (f->store, &q, &a, f->err);

    if (rc < 0)
        return rc;
    xml = buf_text (&a.body);
    if (!answer_text (xml, xml + a.body.size, "UploadId", f->file->upload,
                      sizeof (f->file->upload)) || !*f->file->upload)
        rc = err_set (f->err, EPROTO, "the store gives %s no upload id",
                      f->file->key);
    buf_fini (&a.body);
    memset (f->there, 0, f->nparts * sizeof (*f->there));
    return rc < 0 || !f->file->begun
               ? rc : f->file->begun (f->file->arg, f->file->upload, f->err);
}

static void take_part (struct file *f, const char *s, size_t n)
{
    char number[16], etag[OBJECT_ETAG_MAX + 32];
    int64_t i;

    if (!answer_text (s, s + n, "PartNumber", number, sizeof (number)) ||
        units_int (number, 1, (int64_t)f->nparts, &i) < 0 ||
        !answer_text (s, s + n, "ETag", etag, sizeof (etag)))
        return;
    object_etag (etag, f->there[i - 1]);
}

/* Which parts the store has: 1: there are more; 0. */
static int parts_page (struct file *f, char marker[16])
{
    struct ask q = { .what = "ask for the parts of", .method = "GET",
                     .key = f->file->key, .nquery = 2, .query = {
                         { "uploadId", f->file->upload },
                         { "part-number-marker", *marker ? marker : NULL } } };
    const char *at, *end, *s;
    struct http_answer a;
    char more[8];
    size_t n;
    int rc = object_ask (f->store, &q, &a, f->err);

    if (rc < 0)
        return rc;
    at = buf_text (&a.body);
    end = at + a.body.size;
    rc = answer_text (at, end, "IsTruncated", more, sizeof (more)) &&
         strcmp (more, "true") == 0 &&
         answer_text (at, end, "NextPartNumberMarker", marker, 16);
    while (answer_element ("Part", &at, end, &s, &n))
        take_part (f, s, n);
    buf_fini (&a.body);
    return rc;
}

/* A store that cannot say it gets all of them again. */
static int resume (struct file *f)
{
    char marker[16] = "";
    int rc;

    if (!*f->file->upload)
        return begin (f);
    do
        rc = parts_page (f, marker);
    while (rc > 0);
    if (rc == -ENOENT)
        return begin (f);
    return rc == -EPROTO ? 0 : rc;
}

static bool is_part_there (const struct file *f, size_t i)
{
    char hex[MD5_HEX_SIZE];

    md5_hex (&f->sums[i], hex);
    return strcmp (f->there[i], hex) == 0;
}

/* In any order, by several threads. */
static int prepare_group (void *arg, size_t group, struct err *err)
{
    struct loaded *l = arg;
    size_t i, n = parts_of (l->of, group, &i);
    int rc = load_group (l, group, err);

    for (size_t k = 0; k < n && rc == 0; k++) {
        if (!is_part_there (l->of, i + k) &&
            digest_of (l->bytes + k * OBJECT_PART_BYTES,
                       part_size (l->of, i + k), &l->sha256[k]) < 0)
            rc = err_set (err, ENOMEM, "no memory to hash");
    }
    return rc;
}

/* The k-th one of those that are loaded. */
static int put_part (struct loaded *l, size_t i, size_t k, struct err *err)
{
    struct file *f = l->of;
    char number[24];
    struct ask q = { .what = "write a part of", .method = "PUT",
                     .key = f->file->key,
                     .body = l->bytes + k * OBJECT_PART_BYTES,
                     .size = part_size (f, i), .sha256 = &l->sha256[k],
                     .md5 = &f->sums[i], .nquery = 2, .query = {
                         { "uploadId", f->file->upload },
                         { "partNumber", number } } };
    struct http_answer a;
    int rc;

    if (is_part_there (f, i))
        return 0;
    PRINT (number, "%zu", i + 1);
    if ((rc = object_ask (f->store, &q, &a, err)) < 0)
        return rc;
    buf_fini (&a.body);
    object_etag (http_header (f->store->http, "ETag"), f->there[i]);
    return 0;
}

/* In turn. */
static int put_group (void *arg, size_t group, struct err *err)
{
    struct loaded *l = arg;
    size_t i, n = parts_of (l->of, group, &i);
    int rc = 0;

    for (size_t k = 0; k < n && rc == 0; k++)
        rc = put_part (l, i + k, k, err);
    return rc;
}

static int send_parts (struct file *f)
{
    struct thread_pieces p = { groups_of (f), prepare_group, put_group };
    void *states[THREADS];

    for (int i = 0; i < THREADS; i++)
        states[i] = &f->groups[i];
    return thread_each (&p, states, THREADS, f->err);
}

static int complete (struct file *f)
{
    struct ask q = { .what = "end the upload of", .method = "POST",
                     .key = f->file->key, .nquery = 1,
                     .query = { { "uploadId", f->file->upload } } };
    struct http_answer a;
    struct buf xml;
    int rc;

    buf_init (&xml, (size_t)1 << 21);
    buf_printf (&xml, "<CompleteMultipartUpload>");
    for (size_t i = 0; i < f->nparts; i++)
        buf_printf (&xml, "<Part><PartNumber>%zu</PartNumber>"
                    "<ETag>&quot;%s&quot;</ETag></Part>", i + 1, f->there[i]);
    buf_printf (&xml, "</CompleteMultipartUpload>");
    q.body = buf_text (&xml);
    q.size = xml.size;
    rc = xml.failed ? err_set (f->err, ENOMEM, "no memory for an upload")
                    : object_ask (f->store, &q, &a, f->err);
    buf_fini (&xml);
    if (rc == 0)
        buf_fini (&a.body);
    return rc;
}

/* Whether the object is there: the upload may have been ended before, and the
 * answer was lost.
 */
static bool is_there (struct file *f)
{
    struct err *err = f->err;
    int rc;

    f->err = NULL;
    rc = compare (f);
    f->err = err;
    return rc == 0;
}

/* An upload that the store does not know, or whose parts it has lost, is begun
 * anew, once.
 */
static int put_parts (struct file *f)
{
    int rc = resume (f);

    for (int round = 0; rc == 0; round++) {
        bool all = (rc = send_parts (f)) == 0;

        if (all)
            rc = complete (f);
        if (rc != -ENOENT && (rc != -EBADMSG || !all))
            break;
        if (all && is_there (f))
            rc = 0;
        if (rc == 0 || round > 0)
            break;
        rc = begin (f);
    }
    if (rc == 0)
        f->file->upload[0] = '\0';
    return rc;
}

int object_put_file (struct object_store *s, struct object_file *file,
                     struct err *err)
{
    struct file f;
    int rc = file_init (&f, s, file, err);

    if (rc == 0 && f.nparts > 1)
        rc = put_parts (&f);
    else if (rc == 0 && (rc = load_group (&f.groups[0], 0, err)) == 0)
        rc = object_put (s, file->key, f.groups[0].bytes, (size_t)file->size,
                         err);
    if (rc == 0)
        rc = compare (&f);
    file_fini (&f);
    return rc;
}

int object_abort (struct object_store *s, const char *key, const char *upload,
                  struct err *err)
{
    struct ask q = { .what = "give up the upload of", .method = "DELETE",
                     .key = key, .nquery = 1,
                     .query = { { "uploadId", upload } } };
    struct http_answer a;
    int rc = object_ask (s, &q, &a, err);

    if (rc == 0)
        buf_fini (&a.body);
    return rc == -ENOENT ? 0 : rc;
}
