/* aggregator/interchange/restore_store.c - make a root of what an object store has
 */
#include "interchange/restore.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"
#include "fsck/check_root.h"
#include "ledger/ledger.h"
#include "options/shell.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/record.h"
#include "store/segment.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SEGMENTS "/segments/"
#define WINDOW_MAX ((size_t)1 << 20)    // bytes of one question; or some blocks
#define BLOCKS 4
#define NEAR 65536              // bytes: fewer are not worth another question
#define NUMBERS_LEFT 1000       // of segments that the former root may have, and did
                                // not upload: one may still be on its way
#define NUMBERS_ASKED 8         // behind each segment that is there: those that no
                                // list has yet are near
#define UNLISTED_MAX 1000       // segments, 256 GB: no list is so old; the answers
                                // are of no use

/* ---- which roots ---- */

struct listing {
    struct stored_root *list;
    size_t n;
    struct err *err;
};

/* The root and the segment of a key; false: it is of none. */
static bool parse_key (const char *key, char id[ROOT_ID_SIZE], int64_t *segment)
{
    size_t n = strspn (key, "0123456789abcdef");
    char ours[OBJECT_MARK_KEY_MAX];

    if (n != ROOT_ID_SIZE - 1 ||
        strncmp (key + n, SEGMENTS, sizeof (SEGMENTS) - 1) != 0)
        return false;
    (void)snprintf (id, ROOT_ID_SIZE, "%s", key);
    if (units_int (key + n + sizeof (SEGMENTS) - 1, 1, LEDGER_SEGMENT_MAX,
                   segment) < 0)
        return false;
    object_mark_key (id, *segment, ours);
    return strcmp (key, ours) == 0;     // with all its zeros
}

/* Keys come in order. */
static int on_key (void *arg, const struct object_facts *o)
{
    struct stored_root one = { .id = "" }, *r;
    struct listing *l = arg;
    int64_t segment;

    if (!parse_key (o->key, one.id, &segment))
        return 0;
    if ((l->n == 0 || strcmp (l->list[l->n - 1].id, one.id) != 0) &&
        vec_push (&l->list, &l->n, &one, sizeof (one)) < 0)
        return err_set (l->err, ENOMEM, "no memory to list a store");
    r = &l->list[l->n - 1];
    r->segments++;
    r->bytes += o->size;
    if (segment > r->last)
        r->last = segment;
    return 0;
}

int restore_list (struct object_store *s, struct stored_root **list, size_t *n,
                  struct err *err)
{
    struct listing l = { .err = err };
    int rc = object_list (s, "", on_key, &l, err);

    for (size_t i = 0; i < l.n && rc == 0; i++) {
        rc = object_owner_read (s, l.list[i].id, &l.list[i].owner, err);
        if (rc == -ENOENT || rc == -EBADMSG)
            rc = 0;
    }
    *list = l.list;
    *n = l.n;
    return rc;
}

/* ---- one segment ---- */

struct stored_segment {
    int64_t number;
    uint64_t size;              // bytes
    char etag[OBJECT_ETAG_MAX];
};

struct taking {
    const struct object_options *opt;
    struct object_store *store;
    const char *id, *part;
    struct ledger *ledger;      // of the part
    uint64_t block;             // bytes: holes begin and end with one
    struct restore_sums *sums;
    struct stored_segment *list;
    size_t n;
    void (*say) (void *arg, const char *sentence);
    void *arg;
    struct err *err;
};

/* What of an object is here: the bytes of the last questions. */
struct window {
    struct taking *t;
    char key[OBJECT_MARK_KEY_MAX];
    uint64_t whole;             // bytes of the object
    int fd;
    uint8_t *bytes;
    uint64_t at, end;           // the last one, which is in 'bytes'
    size_t size, most;          // of the next one
    uint64_t hole;              // where the first bytes are that were left out
};

static void leave_out (struct window *w, uint64_t up_to)
{
    if (w->hole == UINT64_MAX && up_to > w->end)
        w->hole = w->end;
}

static int fetch (struct window *w, uint64_t at)
{
    uint64_t left = w->whole - at;
    size_t n = left < w->size ? (size_t)left : w->size;
    int rc = object_get (w->t->store, w->key, at, w->bytes, n,
                         w->t->err);

    if (rc < 0)
        return rc;
    w->at = at;
    w->end = at + n;
    w->t->sums->read += n;
    rc = fileio_pwrite_all (w->fd, w->bytes, n, (off_t)at);
    return rc < 0 ? err_sys (w->t->err, -rc, "cannot write a segment") : 0;
}

/* Have all bytes of a record's head in memory.  What lies between it and what is
 * here already comes along if it is little.
 */
static int reach (struct window *w, uint64_t at)
{
    uint64_t from = at / w->t->block * w->t->block;
    size_t least = BLOCKS * (size_t)w->t->block;

    if (at >= w->at && (at + RECORD_MAX <= w->end ||
                        w->end == w->whole))
        return 0;
    if (w->end > 0 && from < w->end + NEAR) {
        w->size = 2 * w->size < w->most ? 2 * w->size : w->most;
        from = from < w->end ? from : w->end;
    } else {
        w->size = least;
    }
    while (at + RECORD_MAX > from + w->size && w->size < w->most)
        w->size *= 2;
    leave_out (w, from);
    return fetch (w, from);
}

/* Have the bytes up to there in the file. */
static int fetch_up_to (struct window *w, uint64_t end)
{
    int rc = 0;

    while (rc == 0 && w->end < end) {
        w->size = w->most;
        rc = fetch (w, w->end);
    }
    return rc;
}

/* All but the blocks that lie within a chunk.  Behind what is no record all of it
 * is read.
 */
static int take_heads (struct window *w, struct record *r)
{
    uint64_t at = 0, size = w->whole;
    int rc = 0;

    while (rc == 0 && at < size) {
        if ((rc = reach (w, at)) < 0)
            break;
        if (record_decode (r, w->bytes + (at - w->at), (size_t)(w->end - at),
                           NULL) < 0)
            return fetch_up_to (w, size);
        at += r->size + record_inside (r);
        if (r->kind != RECORD_CHUNK)
            rc = fetch_up_to (w, at < size ? at : size);
    }
    return rc;
}

/* Who reads looks for holes: without them, zeros would be bytes. */
static int check_hole (const struct window *w)
{
    struct taking *t = w->t;
    off_t hole = w->hole == UINT64_MAX
                     ? 0 : lseek (w->fd, (off_t)w->hole, SEEK_HOLE);

    return w->hole == UINT64_MAX || (hole >= 0 && (uint64_t)hole == w->hole)
               ? 0 : err_set (t->err, EOPNOTSUPP, "the file system of %s does not "
                              "say where a file has holes, and contents that stay "
                              "in a store need that: make the root on another",
                              t->part);
}

static int take_bytes (struct taking *t, const struct stored_segment *o, int fd)
{
    size_t least = BLOCKS * (size_t)t->block;
    struct window w = { .t = t, .whole = o->size, .fd = fd, .hole = UINT64_MAX,
                        .most = least > WINDOW_MAX ? least : WINDOW_MAX };
    struct record *r = malloc (sizeof (*r));
    int rc;

    object_mark_key (t->id, o->number, w.key);
    w.bytes = malloc (w.most);
    rc = r && w.bytes ? take_heads (&w, r)
                      : err_set (t->err, ENOMEM, "no memory to restore");
    leave_out (&w, o->size);
    if (rc == 0 && (ftruncate (fd, (off_t)o->size) < 0 || fsync (fd) < 0))
        rc = err_sys (t->err, errno, "cannot write a segment");
    if (rc == 0)
        rc = check_hole (&w);
    free (w.bytes);
    free (r);
    return rc;
}

/* Count what is damaged of the bytes that have come. */
static int look (struct taking *t, int64_t segment, uint64_t size, size_t *bad)
{
    struct segments *all = NULL;
    struct segment f = SEGMENT_NONE;
    int rc = segments_create (t->part, &all, t->err);

    *bad = 0;
    if (rc == 0 && (rc = segment_open (all, segment, &f, t->err)) == 0)
        rc = record_count_bad (&f, size, bad, t->err);
    segment_close (&f);
    segments_destroy (all);
    return rc;
}

static int take_file (struct taking *t, const struct stored_segment *o)
{
    char path[PATH_MAX];
    int fd, rc;

    store_segment_path (t->part, o->number, path);
    fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (t->err, errno, "cannot create %s", path);
    rc = take_bytes (t, o, fd);
    (void)close (fd);
    return rc;
}

/* What came wrong is asked for once more: the way may be to blame. */
static int take_segment (struct taking *t, const struct stored_segment *o)
{
    struct object_mark m = { .state = OBJECT_WHOLE, .size = o->size,
                             .evicted = true, .freed = true };
    char text[128];
    size_t bad = 1;
    int rc;

    PRINT (m.url, "%s", object_store_url (t->store));
    PRINT (m.etag, "%s", o->etag);
    rc = object_mark_set (t->part, o->number, &m, t->err);
    for (int i = 0; i < 2 && bad > 0 && rc == 0; i++) {
        if ((rc = take_file (t, o)) == 0)
            rc = look (t, o->number, o->size, &bad);
    }
    if (rc == 0 && bad > 0) {
        PRINT (text, "segment %lld is damaged in %zu places in the store",
               (long long)o->number, bad);
        t->say (t->arg, text);
        t->sums->damaged += bad;
    }
    t->sums->segments++;
    t->sums->bytes += o->size;
    return rc;
}

/* ---- all of them ---- */

static int on_segment (void *arg, const struct object_facts *o)
{
    struct stored_segment one = { .size = o->size };
    struct taking *t = arg;
    char id[ROOT_ID_SIZE];

    if (!parse_key (o->key, id, &one.number))
        return 0;
    PRINT (one.etag, "%s", o->etag);
    return vec_push (&t->list, &t->n, &one, sizeof (one)) < 0
               ? err_set (t->err, ENOMEM, "no memory to list a store") : 0;
}

/* What is written to next is none of those that are there, or come late. */
static int begin_next (struct taking *t)
{
    char path[PATH_MAX];
    int64_t last = 0;

    for (size_t i = 0; i < t->n; i++) {
        if (t->list[i].number > last)
            last = t->list[i].number;
    }
    store_segment_path (t->part, last + 1 + NUMBERS_LEFT, path);
    return fileio_replace (path, "", 0, FILEIO_FILE_MODE, t->err);
}

/* Say which jobs are known to lack ranks: what else was on its way, nobody here
 * knows.
 */
static int note_job (void *arg, const struct ledger_job *job)
{
    struct ledger_summary s;
    struct taking *t = arg;
    char text[512];
    int rc = ledger_summary (t->ledger, job->id, &s, t->err);

    if (rc < 0)
        return rc;
    t->sums->jobs++;
    if (s.last_ns > t->sums->newest_ns)
        t->sums->newest_ns = s.last_ns;
    if (s.world_size <= s.ranks && s.lost == 0)
        return 0;
    PRINT (text, "job %.200s has %lld of %lld ranks, and %lld files of which the "
           "content is not in the store", job->id, (long long)s.ranks,
           (long long)s.world_size, (long long)s.lost);
    t->sums->lacking++;
    t->say (t->arg, text);
    return 0;
}

static int look_at_jobs (struct taking *t)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), t->part, "ledger.db"))
        return err_set (t->err, ENAMETOOLONG, "path is too long: %s", t->part);
    if ((rc = ledger_open_read (path, &t->ledger, t->err)) == 0)
        rc = ledger_each_job (t->ledger, ITEM_RAW, note_job, t, t->err);
    ledger_close (t->ledger);
    return rc;
}

/* The ledger, from the records; then what is there is looked at once more. */
static int rebuild (struct taking *t)
{
    struct check_report made = { .say = NULL };
    struct check_report checked = { .say = t->say, .arg = t->arg };
    int rc = store_check (t->part, true, &made, t->err);

    if (rc == 0)
        rc = store_check (t->part, false, &checked, t->err);
    t->sums->damaged += checked.damaged;
    return rc < 0 ? rc : look_at_jobs (t);
}

static int list_segments (struct taking *t)
{
    char prefix[ROOT_ID_SIZE + sizeof (SEGMENTS)];

    PRINT (prefix, "%.32s" SEGMENTS, t->id);
    return object_list (t->store, prefix, on_segment, t, t->err);
}

static int by_number (const void *pa, const void *pb)
{
    const struct stored_segment *a = pa, *b = pb;

    return cmp_int64 (&a->number, &b->number);
}

/* 1: it is there, whatever a list says; 0; or an error. */
static int ask_for (struct taking *t, int64_t number, struct object_facts *ret)
{
    char key[OBJECT_MARK_KEY_MAX];
    int rc;

    object_mark_key (t->id, number, key);
    rc = object_head (t->store, key, ret, t->err);
    return rc == -ENOENT ? 0 : rc < 0 ? rc : 1;
}

/* A list may be an older one, which lacks what was written last: ask for the numbers
 * between those that it has, and behind the last one.
 */
static int find_unlisted (struct taking *t)
{
    size_t listed = t->n;
    int64_t number = 0;
    int left = 0, rc = 0;

    if (listed > 0)
        qsort (t->list, listed, sizeof (*t->list), by_number);
    for (size_t i = 0; rc >= 0 && (i < listed || left > 0); number++) {
        struct object_facts there;

        if (i < listed && (left == 0 || t->list[i].number <= number)) {
            number = t->list[i++].number;
            left = NUMBERS_ASKED;
        } else if ((rc = ask_for (t, number, &there)) > 0) {
            rc = on_segment (t, &there);
            left = NUMBERS_ASKED;
            if (rc == 0 && t->n - listed > UNLISTED_MAX)
                rc = err_set (t->err, EPROTO, "%s says that it has segment %lld "
                              "and all before it, but does not list them",
                              object_store_url (t->store), (long long)number);
        } else {
            left--;
        }
    }
    return rc < 0 ? rc : 0;
}

static int fill_from_store (void *arg, const char *part, struct err *err)
{
    struct taking *t = arg;
    struct statvfs fs;
    int rc;

    t->part = part;
    t->err = err;
    t->block = statvfs (part, &fs) == 0 && fs.f_bsize > 4096 ? fs.f_bsize
                                                             : 4096;
    rc = list_segments (t);
    if (rc == 0)
        rc = find_unlisted (t);
    if (rc == 0 && t->n == 0)
        rc = err_set (err, ENOENT, "%s/%.32s has no segments",
                      object_store_url (t->store), t->id);
    if (rc == 0 && (rc = object_mark_begin (part, err)) == 0)
        rc = object_place_write (part, t->opt, t->store, err);
    for (size_t i = 0; i < t->n && rc == 0; i++)
        rc = take_segment (t, &t->list[i]);
    if (rc == 0 && (rc = begin_next (t)) == 0 &&
        (rc = root_write_id (part, t->id, err)) == 0)
        rc = rebuild (t);
    return rc;
}

/* ---- whose they are ---- */

/* The segments that are only in the first of two lists are there all the same: 1; 0:
 * one is not; or an error.
 */
static int are_unlisted (struct taking *t, const struct stored_segment *first,
                         size_t nfirst, const struct stored_segment *second,
                         size_t nsecond)
{
    struct object_facts there;
    int rc = 1;

    for (size_t i = 0; i < nfirst && rc > 0; i++) {
        if (!bsearch (&first[i], second, nsecond, sizeof (*second), by_number))
            rc = ask_for (t, first[i].number, &there);
    }
    return rc;
}

/* Whether the list is the same again, now that the former root may write there no
 * more; it may still be an older one.
 */
static int list_again (struct taking *t)
{
    size_t had = t->n;
    int rc = list_segments (t), same = rc == 0;

    for (size_t i = 0; i < 2 && same > 0; i++)
        qsort (t->list + i * had, i == 0 ? had : t->n - had, sizeof (*t->list),
               by_number);
    for (size_t i = had; i < t->n && same > 0; i++)
        same = bsearch (&t->list[i], t->list, had, sizeof (*t->list),
                        by_number) != NULL;
    if (same > 0)
        same = are_unlisted (t, t->list, had, t->list + had, t->n - had);
    if (rc == 0 && same < 0)
        rc = same;
    return rc < 0 || same > 0
               ? rc : err_set (t->err, EBUSY, "the root that has these objects "
                               "still lives: it has changed them meanwhile; stop "
                               "it, and restore once more, to another directory");
}

/* The root is there already: an interruption is not one that changed nothing. */
static int take_over (struct taking *t, const char *root)
{
    char word[SHELL_WORD (PATH_MAX)];
    int rc = object_owner_become (t->store, root, t->id, t->err);

    if (rc < 0)
        return err_prefix (t->err, rc == -EINTR ? -ECANCELED : rc, "%s is made, "
                           "but not yet the owner of its objects: rollcall fsck "
                           "aggregator --store %s --take-over %s", root,
                           object_store_url (t->store), shell_word (root, word));
    rc = list_again (t);
    return rc == 0 || rc == -EBUSY
               ? rc : err_prefix (t->err, rc == -EINTR ? -ECANCELED : rc,
                                  "%s is made, but whether the former root still "
                                  "lives is not known", root);
}

int restore_from_store (const struct object_options *opt, const char *id,
                        const char *root,
                        void (*say) (void *arg, const char *sentence),
                        void *arg, struct restore_sums *ret, struct err *err)
{
    struct taking t = { .opt = opt, .id = id, .sums = ret, .say = say,
                        .arg = arg, .err = err };
    int rc;

    *ret = (struct restore_sums){ .segments = 0 };
    if ((rc = object_store_open (opt, &t.store, err)) == 0)
        rc = restore_root (root, fill_from_store, &t, err);
    if (rc == 0)
        rc = take_over (&t, root);
    object_store_close (t.store);
    free (t.list);
    return rc;
}
