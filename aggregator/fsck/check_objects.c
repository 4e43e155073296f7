/* aggregator/fsck/check_objects.c - compare a root with its objects in a store */
#include "fsck/check_objects.h"

#include "fsck/object_bytes.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/vec.h"
#include "ledger/ledger.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/object_owner.h"
#include "store/root.h"
#include "store/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {                  // an object of this root
    int64_t segment;
    uint64_t size;
    char etag[OBJECT_ETAG_MAX]; // "": the list does not say
};

struct objects {
    const char *root;
    const struct check_objects_options *opt;
    struct check_report *report;
    struct check_objects_report *ret;
    struct err *err;
    struct object_store *store;
    char prefix[ROOT_ID_SIZE + 16];     // of its keys
    struct found *list;         // in the order of their numbers
    size_t n;
};

static void say (const struct objects *o, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

static void say (const struct objects *o, const char *fmt, ...)
{
    char text[1024];
    va_list args;

    va_start (args, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, args);
    va_end (args);
    if (o->report->say)
        o->report->say (o->report->arg, text);
}

/* ---- what is there ---- */

/* The segment of a key; false: it is of none. */
static bool segment_of (const struct objects *o, const char *key, int64_t *ret)
{
    size_t n = strlen (o->prefix);

    return strncmp (key, o->prefix, n) == 0 &&
           units_int (key + n, 0, LEDGER_SEGMENT_MAX, ret) == 0;
}

static int on_object (void *arg, const struct object_facts *f)
{
    struct objects *o = arg;
    struct found one = { .size = f->size };

    PRINT (one.etag, "%s", f->etag);
    if (!segment_of (o, f->key, &one.segment))
        return 0;
    return vec_push (&o->list, &o->n, &one, sizeof (one)) < 0
               ? err_set (o->err, ENOMEM, "no memory to list a store") : 0;
}

static int compare (const void *pa, const void *pb)
{
    const struct found *a = pa, *b = pb;

    return cmp_int64 (&a->segment, &b->segment);
}

static const struct found *find (const struct objects *o, int64_t segment)
{
    struct found key = { .segment = segment };

    return o->n == 0 ? NULL
               : bsearch (&key, o->list, o->n, sizeof (key), compare);
}

static void key_of (const struct objects *o, int64_t segment,
                    char out[OBJECT_KEY_MAX + 1])
{
    (void)snprintf (out, OBJECT_KEY_MAX + 1, "%s%08lld", o->prefix,
                    (long long)segment);
}

/* A list may be an older one: ask for the object itself.  1: there it is. */
static int look (const struct objects *o, int64_t segment,
                 struct object_facts *ret)
{
    char key[OBJECT_KEY_MAX + 1];
    int rc;

    key_of (o, segment, key);
    rc = object_head (o->store, key, ret, o->err);
    return rc == -ENOENT ? 0 : rc < 0 ? rc : 1;
}

/* ---- holes ---- */

static int count (struct objects *o, const struct object_mark *m)
{
    o->ret->objects++;
    o->ret->bytes += m->size;
    return 0;
}

static const char *what_then (const struct objects *o,
                              const struct object_mark *m, bool there)
{
    if (!o->opt->repair)
        return m->evicted ? ": its contents are lost; --repair names them" : "";
    if (m->evicted)
        return ": its contents are lost, and are requested again";
    return there ? ": it is uploaded again once that object is deleted"
                 : ": it is uploaded again";
}

/* Without the mark its holes could be somewhere: what is left of it is uploaded. */
static int give_up (const struct objects *o, int64_t segment,
                    const struct object_mark *m)
{
    struct object_mark lost = *m;

    if (!m->evicted)
        return object_mark_drop (o->root, segment, o->err);
    lost.state = OBJECT_BEGUN;
    lost.evicted = lost.freed = false;
    lost.lost = true;
    return object_mark_set (o->root, segment, &lost, o->err);
}

static int hole (struct objects *o, int64_t segment,
                 const struct object_mark *m, bool there, const char *what)
{
    o->ret->holes++;
    say (o, "segment %lld counts as stored in %s, and %s%s", (long long)segment,
         m->url, what, what_then (o, m, there));
    return o->opt->repair ? give_up (o, segment, m) : 0;
}

/* Some chunks that the object alone has are right: it stays what it is. */
static int hole_in_part (struct objects *o, int64_t segment,
                         const struct object_mark *m,
                         const struct object_bytes *b)
{
    o->ret->holes++;
    say (o, "segment %lld is only in %s, and %zu of its %zu chunks there have "
         "other bytes: rollcall archive verify names what had them",
         (long long)segment, m->url, b->wrong, b->only_there);
    return 0;
}

/* With another etag it may be the same; what was let go may be in it, whatever its
 * size is.
 */
static int check_bytes (struct objects *o, int64_t segment,
                        struct object_mark *m, const struct object_facts *there)
{
    char key[OBJECT_KEY_MAX + 1];
    struct object_bytes b;
    int rc;

    key_of (o, segment, key);
    rc = object_bytes_compare (o->store, o->root, key, segment, m->size, &b,
                               o->err);
    if (rc < 0)
        return rc;
    if (rc == 0 && b.damaged) {
        say (o, "segment %lld is damaged here: whether its object in %s is right "
             "is not known", (long long)segment, m->url);
        return 0;
    }
    if (rc == 0 && b.wrong < b.only_there)
        return hole_in_part (o, segment, m, &b);
    if (rc == 0)
        return hole (o, segment, m, true, "has other bytes there");
    PRINT (m->etag, "%s", there->etag);
    o->ret->others++;
    if (o->opt->repair)
        rc = object_mark_set (o->root, segment, m, o->err);
    return rc < 0 ? rc : count (o, m);
}

/* Whether it is the one that was compared, as far as can be seen. */
static bool is_same (const struct object_mark *m, uint64_t size,
                     const char *etag)
{
    return size == m->size && (!*etag || !*m->etag ||
                               strcmp (etag, m->etag) == 0);
}

static int check_mark (struct objects *o, int64_t segment)
{
    const struct found *f = find (o, segment);
    struct object_facts there;
    struct object_mark m;
    int rc = object_mark_read (o->root, segment, &m, o->err);

    if (rc < 0 || m.state != OBJECT_WHOLE ||
        strcmp (m.url, object_store_url (o->store)) != 0)
        return rc;
    if (f && is_same (&m, f->size, f->etag))
        return count (o, &m);
    if ((rc = look (o, segment, &there)) < 0)
        return rc;
    if (rc == 0)
        return hole (o, segment, &m, false, "is not there");
    if (is_same (&m, there.size, there.etag))
        return count (o, &m);
    return there.size != m.size && !m.evicted
               ? hole (o, segment, &m, true, "has another size there")
               : check_bytes (o, segment, &m, &there);
}

static int check_marks (struct objects *o)
{
    int64_t *numbers = NULL;
    size_t n = 0;
    int rc = object_mark_list (o->root, false, &numbers, &n, o->err);

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = check_mark (o, numbers[i]);
    free (numbers);
    return rc;
}

/* ---- orphans ---- */

static int check_orphan (struct objects *o, const struct found *f)
{
    char key[OBJECT_KEY_MAX + 1], path[PATH_MAX];
    struct object_facts there;
    struct object_mark m;
    int rc = object_mark_read (o->root, f->segment, &m, o->err);

    // what is collected is deleted by the next service
    if (rc < 0 || m.state == OBJECT_WHOLE || m.state == OBJECT_GONE)
        return rc;
    store_segment_path (o->root, f->segment, path);
    if (access (path, F_OK) == 0) {
        o->ret->unmarked++;
        return 0;
    }
    if ((rc = look (o, f->segment, &there)) <= 0)
        return rc;
    o->ret->orphans++;
    key_of (o, f->segment, key);
    say (o, "%s/%s has no segment here%s", object_store_url (o->store), key,
         o->opt->delete_orphans ? ": it is deleted" : "");
    return o->opt->delete_orphans ? object_delete (o->store, key, o->err) : 0;
}

/* ---- uploads that nobody goes on with ---- */

static int on_upload (void *arg, const char *key, const char *upload)
{
    struct objects *o = arg;
    struct object_mark m = { .state = OBJECT_UNMARKED };
    int64_t segment;
    int rc = 0;

    if (segment_of (o, key, &segment))
        rc = object_mark_read (o->root, segment, &m, o->err);
    if (rc < 0 || strcmp (m.upload, upload) == 0)
        return rc;
    o->ret->uploads++;
    say (o, "%s/%s: an upload was begun, and nobody goes on with it%s",
         object_store_url (o->store), key,
         o->opt->repair ? ": it is given up" : "");
    return o->opt->repair ? object_abort (o->store, key, upload, o->err) : 0;
}

/* ---- all ---- */

/* What was not said of the store is as its service has noted it. */
static int open_store (struct objects *o)
{
    struct object_options opt = o->opt->store;
    struct object_place place;

    if (!opt.endpoint && object_place_read (o->root, &place, NULL) == 0 &&
        strcmp (place.url, opt.url) == 0)
        object_place_fill (&place, &opt);
    return object_store_open (&opt, &o->store, o->err);
}

/* A bucket of the same name somewhere else has none of the objects: marks that are
 * dropped for that would make what is only there count as damaged.
 */
static int check_endpoint (struct objects *o)
{
    struct object_place place;
    int rc = object_place_read (o->root, &place, o->err);

    if (rc < 0 || strcmp (place.url, object_store_url (o->store)) != 0 ||
        strcmp (place.endpoint, object_store_endpoint (o->store)) == 0)
        return rc == -ENOENT ? 0 : rc;
    return err_set (o->err, EINVAL, "the store of this root is at %s, not at %s: "
                    "nothing is repaired", place.endpoint,
                    object_store_endpoint (o->store));
}

/* From now on this root writes behind all that is there: no object is appended to.
 */
static int begin_behind (const struct objects *o)
{
    int64_t last = o->n > 0 ? o->list[o->n - 1].segment : 0, *numbers = NULL;
    char path[PATH_MAX];
    size_t n = 0;
    int rc = store_list_segments (o->root, &numbers, &n, o->err);

    if (rc == 0 && n > 0 && numbers[n - 1] > last)
        last = numbers[n - 1];
    free (numbers);
    store_segment_path (o->root, last + 1, path);
    return rc < 0 ? rc : fileio_replace (path, "", 0, FILEIO_FILE_MODE, o->err);
}

static int check_all (struct objects *o)
{
    char id[ROOT_ID_SIZE];
    int rc = root_read_id (o->root, id, o->err);

    if (rc < 0)
        return rc;
    if (o->opt->repair && (rc = check_endpoint (o)) < 0)
        return rc;
    if (o->opt->take_over)
        rc = object_owner_become (o->store, o->root, id, o->err);
    else if (o->opt->repair || o->opt->delete_orphans)
        rc = object_owner_check (o->store, o->root, id, o->err);
    if (rc < 0)
        return rc;
    PRINT (o->prefix, "%s/segments/", id);
    rc = object_list (o->store, o->prefix, on_object, o, o->err);
    if (rc == 0 && o->n > 0)
        qsort (o->list, o->n, sizeof (*o->list), compare);
    if (rc == 0 && o->opt->take_over)
        rc = begin_behind (o);
    if (rc == 0)
        rc = check_marks (o);
    for (size_t i = 0; i < o->n && rc == 0; i++)
        rc = check_orphan (o, &o->list[i]);
    return rc < 0 ? rc : object_list_uploads (o->store, o->prefix, on_upload, o,
                                              o->err);
}

int check_objects (const char *root, const struct check_objects_options *opt,
                   struct check_report *report,
                   struct check_objects_report *ret, struct err *err)
{
    struct objects o = { .root = root, .opt = opt, .report = report,
                         .ret = ret, .err = err };
    int lock = root_lock (root, false, err), rc;

    *ret = (struct check_objects_report){ .objects = 0 };
    if (lock < 0)
        return lock;
    if ((rc = open_store (&o)) == 0)
        rc = check_all (&o);
    object_store_close (o.store);
    free (o.list);
    (void)close (lock);
    return rc;
}
