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

#define LANES 2                 // threads that hash and send, with a connection
                                // each: the store has the next part while it ends
                                // one
#define GROUP PART_GROUP

struct file {
    struct object_store *store;
    struct object_file *file;
    struct err *err;
    struct part_sum *sums;
    size_t nparts, known;       // of the first ones the sums were there before
    char (*there)[OBJECT_ETAG_MAX];     // etags of parts that the store has; ""
    atomic_bool over;           // a lane has failed
    struct lane {
        struct file *of;
        struct object_store *store;
        struct part_hasher *parts;
    } lanes[LANES];
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
    struct lane *l = arg;
    struct file *f = l->of;
    size_t i = group * GROUP, end = i + GROUP, whole;
    int fd = f->file->fd, rc = 0;

    if (end > f->nparts)
        end = f->nparts;
    if (i < f->known)
        i = f->known;
    whole = end - (part_size (f, end - 1) < OBJECT_PART_BYTES);
    if (whole > i)
        rc = part_hash (l->parts, fd, i, whole - i, &f->sums[i], err);
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
    for (int i = 0; i < LANES; i++) {
        f->lanes[i] = (struct lane){ f, s, part_hasher_create () };
        if (!f->lanes[i].parts)
            rc = -ENOMEM;
    }
    if (!f->sums || !f->there || rc < 0)
        return err_set (err, ENOMEM, "no memory for an upload");
    take_known (f);
    return 0;
}

static void file_fini (struct file *f)
{
    for (int i = 0; i < LANES; i++)
        part_hasher_destroy (f->lanes[i].parts);
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

static int each_group (struct file *f, unsigned lanes,
                       int (*work) (void *, size_t, struct err *))
{
    struct thread_pieces p = { groups_of (f), work, NULL };
    void *states[LANES];

    for (int i = 0; i < LANES; i++)
        states[i] = &f->lanes[i];
    return thread_each (&p, states, p.n < lanes ? (unsigned)p.n : lanes,
                        f->err);
}

int object_check_file (struct object_store *s, struct object_file *file,
                       struct err *err)
{
    struct file f;
    int rc = file_init (&f, s, file, err);

    if (rc == 0)
        rc = each_group (&f, LANES, hash_group);
    if (rc == 0)
        rc = compare (&f);
    file_fini (&f);
    return rc;
}

/* ---- an upload in parts ---- */

static void give_up (struct file *f)
{
    (void)object_abort (f->store, f->file->key, f->file->upload, NULL);
    f->file->upload[0] = '\0';
}

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
    if (rc < 0 || !f->file->begun ||
        (rc = f->file->begun (f->file->arg, f->file->upload, f->err)) == 0)
        return rc;
    give_up (f);                // nobody else would know of it
    return rc;
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

/* Where the next page of parts begins: 1: behind a later one; 0: there is none. */
static int next_page (const char *xml, const char *end, int64_t *after)
{
    char more[8], number[16];
    int64_t next;

    if (!answer_text (xml, end, "IsTruncated", more, sizeof (more)) ||
        strcmp (more, "true") != 0 ||
        !answer_text (xml, end, "NextPartNumberMarker", number,
                      sizeof (number)) ||
        units_int (number, *after + 1, PARTS_MAX, &next) < 0)
        return 0;
    *after = next;
    return 1;
}

/* Which parts the store has, behind a number: as next_page. */
static int parts_page (struct file *f, int64_t *after)
{
    char marker[24];
    struct ask q = { .what = "ask for the parts of", .method = "GET",
                     .key = f->file->key, .nquery = 2, .query = {
                         { "uploadId", f->file->upload },
                         { "part-number-marker", *after > 0 ? marker : NULL } } };
    const char *at, *end, *s;
    struct http_answer a;
    size_t n;
    int rc;

    PRINT (marker, "%lld", (long long)*after);
    if ((rc = object_ask (f->store, &q, &a, f->err)) < 0)
        return rc;
    at = buf_text (&a.body);
    end = at + a.body.size;
    rc = next_page (at, end, after);
    while (answer_element ("Part", &at, end, &s, &n))
        take_part (f, s, n);
    buf_fini (&a.body);
    return rc;
}

/* A store that cannot say it gets all of them again. */
static int resume (struct file *f)
{
    int64_t after = 0;
    int rc;

    if (!*f->file->upload)
        return begin (f);
    do
        rc = parts_page (f, &after);
    while (rc > 0);
    if (rc == -ENOENT)
        return begin (f);
    return rc == -EPROTO ? 0 : rc;
}

/* Write a part, or (number "") the object. */
static int put_bytes (const struct lane *l, size_t i, const char *number,
                      struct err *err)
{
    struct file *f = l->of;
    struct ask q = { .what = *number ? "write a part of" : "write",
                     .method = "PUT", .key = f->file->key,
                     .file = f->file->fd, .from_file = true,
                     .at = (uint64_t)i * OBJECT_PART_BYTES,
                     .size = part_size (f, i), .sha256 = &f->sums[i].sha256,
                     .md5 = &f->sums[i].md5, .nquery = 2, .query = {
                         { "uploadId", *number ? f->file->upload : NULL },
                         { "partNumber", *number ? number : NULL } } };
    struct http_answer a;
    int rc = object_ask (l->store, &q, &a, err);

    if (rc < 0)
        return rc;
    buf_fini (&a.body);
    object_etag (http_header (l->store->http, "ETag"), f->there[i]);
    return 0;
}

/* After a failure of the other lane nothing more is sent. */
static int put_group (void *arg, size_t group, struct err *err)
{
    struct lane *l = arg;
    struct file *f = l->of;
    char number[24];
    int rc = atomic_load (&f->over) ? 0 : hash_group (l, group, err);

    for (size_t i = group * GROUP; i < f->nparts && i < (group + 1) * GROUP &&
         rc == 0 && !atomic_load (&f->over); i++) {
        PRINT (number, "%zu", i + 1);
        if (!is_part_there (f, i))
            rc = put_bytes (l, i, number, err);
    }
    if (rc < 0)
        atomic_store (&f->over, true);
    return rc;
}

static int put_groups (struct file *f)
{
    struct object_store *twin = NULL;

    if (groups_of (f) > 1 && (twin = object_twin (f->store))) {
        // it need not ask for them
        twin->credentials = f->store->credentials;
        twin->has_credentials = f->store->has_credentials;
        f->lanes[1].store = twin;
    }
    atomic_store (&f->over, false);
    return each_group (f, twin ? LANES : 1, put_group);
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
        bool all = (rc = put_groups (f)) == 0;

        if (all)
            rc = complete (f);
        if (rc != -ENOENT && (rc != -EBADMSG || !all))
            break;
        if (all && is_there (f))
            rc = 0;
        if (rc == 0 || round > 0)
            break;
        if (rc == -EBADMSG)     // the store knows it still
            give_up (f);
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
    else if (rc == 0 && (rc = each_group (&f, LANES, hash_group)) == 0)
        rc = put_bytes (&f.lanes[0], 0, "", err);
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
