/* aggregator/fsck/object_bytes.c - whether an object has the bytes of a segment */
#include "fsck/object_bytes.h"

#include "base/pack.h"
#include "store/content.h"
#include "store/fileio.h"
#include "store/record.h"
#include "store/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct comparing {
    struct object_store *store;
    const char *key;
    struct segment f;
    struct record_reader reader;
    struct object_bytes *ret;
    struct err *err;
};

/* 0: the record and its chunk, as they came, are those of here; -EBADMSG. */
static int check_chunk (struct comparing *c, const struct record *r)
{
    const struct ledger_place *p = &r->place;
    const char *came = c->reader.stored;
    char head[RECORD_CONTENT_SIZE];
    struct digest got;
    const void *bytes;
    int rc = fileio_pread_all (c->f.fd, head, sizeof (head),
                               (off_t)(p->offset - sizeof (head)));

    if (rc == 0 && memcmp (head, came, sizeof (head)) != 0)
        return -EBADMSG;
    if (rc == 0)
        rc = pack_chunk_open ((enum chunk_codec)p->form, came + sizeof (head),
                              (size_t)p->stored, c->reader.plain,
                              (size_t)p->size, false, &bytes);
    if (rc == 0)
        rc = digest_of (bytes, (size_t)p->size, &got);
    return rc < 0 || digest_is (&got, &r->id) ? rc : -EBADMSG;
}

static int compare_chunk (struct comparing *c, const struct record *r)
{
    int rc = object_get (c->store, c->key,
                         r->place.offset - RECORD_CONTENT_SIZE,
                         c->reader.stored,
                         (size_t)r->place.stored + RECORD_CONTENT_SIZE, c->err);

    if (rc < 0)
        return rc;
    rc = check_chunk (c, r);
    return rc == 0 || rc == -EBADMSG
               ? rc : err_sys (c->err, -rc, "cannot compare segment %lld",
                               (long long)c->f.number);
}

/* What came wrong may come right: nothing is given up for that. */
static int on_record (void *arg, const struct record *r, int bad,
                      const struct ledger_place *gap)
{
    struct comparing *c = arg;
    int rc;

    (void)bad;
    (void)gap;
    if (!r || r->kind != RECORD_CHUNK ||
        !segment_is_far (&c->f, r->place.stored, r->place.offset))
        return 0;
    c->ret->only_there++;
    rc = compare_chunk (c, r);
    if (rc == -EBADMSG)
        rc = compare_chunk (c, r);
    c->ret->wrong += rc == -EBADMSG;
    return rc == -EBADMSG ? 0 : rc;
}

/* The chunks that are only there. */
static int compare_chunks (struct comparing *c, uint64_t size)
{
    int rc = record_reader_init (&c->reader);

    if (rc < 0)
        return err_set (c->err, ENOMEM, "no memory to compare");
    rc = record_scan (&c->f, 0, size, false, on_record, c, c->err);
    record_reader_fini (&c->reader);
    return rc;
}

static bool is_short (const struct comparing *c, uint64_t size)
{
    struct stat st;

    return fstat (c->f.fd, &st) == 0 && (uint64_t)st.st_size < size;
}

static int look_for_damage (struct comparing *c, uint64_t size)
{
    size_t bad = 0;
    int rc = record_count_bad (&c->f, size, &bad, c->err);

    c->ret->damaged = bad > 0;
    return rc;
}

/* All of it is here.  If they differ, it may be this one that is damaged. */
static int compare_file (struct comparing *c, uint64_t size)
{
    struct object_file file = { .key = c->key, .fd = c->f.fd, .size = size };
    int rc = object_check_file (c->store, &file, c->err);

    return rc == 0 ? 1 : rc == -EBADMSG ? look_for_damage (c, size) : rc;
}

int object_bytes_compare (struct object_store *s, const char *root,
                          const char *key, int64_t segment, uint64_t size,
                          struct object_bytes *ret, struct err *err)
{
    struct comparing c = { .store = s, .key = key, .ret = ret, .err = err };
    struct segments *of;
    int rc = segments_create (root, &of, err);

    *ret = (struct object_bytes){ .wrong = 0 };
    if (rc < 0)
        return rc;
    rc = segment_open (of, segment, &c.f, err);
    ret->damaged = rc == 0 && is_short (&c, size);
    if (rc == 0 && c.f.far && !ret->damaged)
        rc = compare_chunks (&c, size);
    if (rc == 0 && !ret->damaged)
        rc = ret->only_there > 0 ? ret->wrong == 0 : compare_file (&c, size);
    else if (rc == -ENOENT && c.f.fd < 0)
        rc = 1;                 // a check of the root names what is not here
    segment_close (&c.f);
    segments_destroy (of);
    return rc;
}
