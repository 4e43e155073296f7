/* common/object_store/object_file.c - files as objects, in parts */
#include "object_store/ask.h"
#include "object_store/part_sums.h"

#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 10000         // S3's limit

#define THREADS 2               // one sends parts while the other hashes the next
                                // ones
#define GROUP PART_GROUP

struct file {
    struct object_store *store;
    struct object_file *file;
    struct err *err;
    struct part_sum *sums;
    size_t nparts, known;       // of the first ones the sums were there before
    char (*there)[OBJECT_ETAG_MAX];     // etags of parts that the store has; ""
    struct hasher {             // of each thread
        struct file *of;
        struct part_hasher *parts;
    } hashers[THREADS];
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

static int say (const struct file *f, int rc, struct err *err)
{
    return rc < 0 ? err_prefix (err, rc, "%s", f->file->key) : 0;
}

static bool is_part_there (const struct file *f, size_t i)
{
    char hex[MD5_HEX_SIZE];

    md5_hex (&f->sums[i].md5, hex);
    return strcmp (f->there[i], hex) == 0;
}

/* In any order, by several threads. */
static int hash_group (void *arg, size_t group, struct err *err)
{
    struct hasher *h = arg;
    struct file *f = h->of;
    size_t i = group * GROUP, end = i + GROUP, whole;
    int fd = f->file->fd, rc = 0;

    if (end > f->nparts)
        end = f->nparts;
    if (i < f->known)
        i = f->known;
    whole = end - (part_size (f, end - 1) < OBJECT_PART_BYTES);
    if (whole > i)
        rc = part_hash (h->parts, fd, i, whole - i, &f->sums[i], err);
    if (rc == 0 && whole < end)
        rc = part_hash_short (fd, whole, part_size (f, whole), &f->sums[whole],
                              err);
    return say (f, rc, err);
}

/* Only of whole parts: a file that was cut has others behind them. */
static void take_known (struct file *f)
{
    const struct object_sums *s = f->file->sums;
    uint64_t whole = f->file->size / OBJECT_PART_BYTES;

    f->known = object_sums_parts (s);
    if (f->known > whole)
        f->known = (size_t)whole;
    for (size_t i = 0; i < f->known; i++)
        f->sums[i] = s->list[i];
}

static int file_init (struct file *f, struct object_store *s,
                      struct object_file *file, struct err *err)
{
    uint64_t parts = (file->size + OBJECT_PART_BYTES - 1) / OBJECT_PART_BYTES;
    int rc = 0;

    *f = (struct file){ .store = s, .file = file, .err = err,
                        .nparts = parts > 0 ? (size_t)parts : 1 };
    if (parts > PARTS_MAX)
        return err_set (err, EFBIG, "%s is larger than an object can be here",
                        file->key);
    f->sums = calloc (f->nparts, sizeof (*f->sums));
    f->there = calloc (f->nparts, sizeof (*f->there));
    for (int i = 0; i < THREADS; i++) {
        f->hashers[i] = (struct hasher){ f, part_hasher_create () };
        if (!f->hashers[i].parts)
            rc = -ENOMEM;
    }
    if (!f->sums || !f->there || rc < 0)
        return err_set (err, ENOMEM, "no memory for an upload");
    take_known (f);
    return 0;
}

static void file_fini (struct file *f)
{
    for (int i = 0; i < THREADS; i++)
        part_hasher_destroy (f->hashers[i].parts);
    free (f->sums);
    free (f->there);
}

/* The etag of an object that came whole, or in such parts. */
static int etag_of (const struct file *f, char out[OBJECT_ETAG_MAX])
{
    char hex[MD5_HEX_SIZE];
    struct md5 all;
    int rc = 0;

    struct md5 *list = NULL;

    if (f->nparts == 1) {
        all = f->sums[0].md5;
    } else if (!(list = calloc (f->nparts, sizeof (*list)))) {
        rc = -ENOMEM;
    } else {
        for (size_t i = 0; i < f->nparts; i++)
            list[i] = f->sums[i].md5;
        rc = digest_md5 (list, f->nparts * sizeof (*list), &all);
    }
    free (list);
    if (rc < 0)
        return rc;
    md5_hex (&all, hex);
    (void)snprintf (out, OBJECT_ETAG_MAX, f->nparts == 1 ? "%s" : "%s-%zu", hex,
                    f->nparts);
    return rc;
}

/* ---- comparing ---- */

/* Byte by byte. */
static int compare_all (struct file *f)
{
    char *mine = malloc (2 * OBJECT_PART_BYTES), *theirs;
    int rc = mine ? 0 : err_set (f->err, ENOMEM, "no memory to compare");

    for (size_t i = 0; i < f->nparts && rc == 0; i++) {
        size_t n = part_size (f, i);

        theirs = mine + OBJECT_PART_BYTES;
        rc = say (f, part_read (f->file->fd, i, 0, mine, n, f->err), f->err);
        if (rc == 0)
            rc = object_get (f->store, f->file->key,
                             (uint64_t)i * OBJECT_PART_BYTES, theirs, n,
                             f->err);
        if (rc == 0 && memcmp (mine, theirs, n) != 0)
            rc = err_set (f->err, EBADMSG, "%s/%s differs from the file",
                          f->store->url, f->file->key);
    }
    free (mine);
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

static int each_group (struct file *f,
                       int (*work) (void *, size_t, struct err *),
                       int (*in_turn) (void *, size_t, struct err *))
{
    struct thread_pieces p = { groups_of (f), work, in_turn };
    void *states[THREADS];

    for (int i = 0; i < THREADS; i++)
        states[i] = &f->hashers[i];
    return thread_each (&p, states, p.n < THREADS ? (unsigned)p.n : THREADS,
                        f->err);
}

int object_check_file (struct object_store *s, struct object_file *file,
                       struct err *err)
{
    struct file f;
    int rc = file_init (&f, s, file, err);

    if (rc == 0)
        rc = each_group (&f, hash_group, NULL);
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

/* Write a part, or (number "") the object. */
static int put_bytes (struct file *f, size_t i, const char *number,
                      struct err *err)
{
    struct ask q = { .what = *number ? "write a part of" : "write",
                     .method = "PUT", .key = f->file->key,
                     .file = f->file->fd, .from_file = true,
                     .at = (uint64_t)i * OBJECT_PART_BYTES,
                     .size = part_size (f, i), .sha256 = &f->sums[i].sha256,
                     .md5 = &f->sums[i].md5, .nquery = 2, .query = {
                         { "uploadId", *number ? f->file->upload : NULL },
                         { "partNumber", *number ? number : NULL } } };
    struct http_answer a;
    int rc = object_ask (f->store, &q, &a, err);

    if (rc < 0)
        return rc;
    buf_fini (&a.body);
    object_etag (http_header (f->store->http, "ETag"), f->there[i]);
    return 0;
}

/* In turn. */
static int put_group (void *arg, size_t group, struct err *err)
{
    struct file *f = ((struct hasher *)arg)->of;
    char number[24];
    int rc = 0;

    for (size_t i = group * GROUP; i < f->nparts && i < (group + 1) * GROUP &&
         rc == 0; i++) {
        PRINT (number, "%zu", i + 1);
        if (!is_part_there (f, i))
            rc = put_bytes (f, i, number, err);
    }
    return rc;
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
        bool all = (rc = each_group (f, hash_group, put_group)) == 0;

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
    else if (rc == 0 && (rc = each_group (&f, hash_group, NULL)) == 0)
        rc = put_bytes (&f, 0, "", err);
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
