/* aggregator/uploads/uploads.c - the segments of a root, as objects in a store */
#include "uploads/uploads.h"

#include "uploads/carry.h"
#include "uploads/stuck.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "store/fileio.h"
#include "store/object_mark.h"
#include "store/object_owner.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS (5 * NS_PER_S)          // between looks for collected segments

struct waiting {
    struct store_extent segment;
    int64_t since_ns;           // when it was written to for the last time
};

struct uploads {
    char *root, id[ROOT_ID_SIZE];
    struct object_store *store;
    pthread_t thread;
    atomic_bool stop;
    int64_t offered;            // the last segment that was
    bool probed;                // the store does all that is needed
    struct cache cache;
    struct cache_state cached;  // of the thread
    struct early_sums early;    // of the thread
    // below: under the lock
    pthread_mutex_t lock;
    pthread_cond_t more;        // to do, or stop
    struct waiting *list;       // in order; the first one is under way
    size_t n;
    struct stuck stuck;         // that cannot go there
    struct store_extent open;   // what is committed of the one that fills
    int64_t whole;              // all that segments before this one had is there
    struct uploads_state state;
};

/* ---- collected segments ---- */

/* Whether what is there is what this root has written, or found to be the same:
 * another root with its id, as of a backup, may have put something else there.
 */
static int is_ours (struct uploads *u, const char *key,
                    const struct object_mark *mark, struct err *err)
{
    struct object_facts there;
    int rc;

    if (!*mark->etag)           // it was begun
        return 1;
    rc = object_head (u->store, key, &there, err);
    return rc == -ENOENT ? 0
           : rc < 0 ? rc : strcmp (there.etag, mark->etag) == 0;
}

static int delete_object (struct uploads *u, int64_t segment, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    struct object_mark mark;
    int rc = object_mark_read (u->root, segment, &mark, err);
    bool here = strcmp (mark.url, uploads_url (u)) == 0;

    object_mark_key (u->id, segment, key);
    if (rc == 0 && here && *mark.upload)
        rc = object_abort (u->store, key, mark.upload, err);
    if (rc == 0 && here && (rc = is_ours (u, key, &mark, err)) > 0)
        rc = object_delete (u->store, key, err);
    return rc < 0 ? rc : object_mark_drop (u->root, segment, err);
}

/* The first segment that is not there. */
static int64_t first_waiting (struct uploads *u)
{
    int64_t ret;

    (void)pthread_mutex_lock (&u->lock);
    ret = stuck_first (&u->stuck);
    if (ret == 0 || ret > u->offered)
        ret = u->offered + 1;
    for (size_t i = 0; i < u->n; i++) {
        if (u->list[i].segment.segment < ret)
            ret = u->list[i].segment.segment;
    }
    (void)pthread_mutex_unlock (&u->lock);
    return ret;
}

/* Keep, of the segments that were collected, those of which all that was alive is
 * there: in others, which may have been collected before they went there.
 */
static int keep_copied (struct uploads *u, int64_t waiting, int64_t *numbers,
                        size_t *n, struct err *err)
{
    int64_t first = waiting;
    struct object_mark m;
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < *n && rc == 0; i++) {
        if (object_mark_copied_to (u->root, numbers[i]) < waiting)
            continue;
        rc = object_mark_read (u->root, numbers[i], &m, err);
        if (rc == 0 && !*m.etag && numbers[i] < first)
            first = numbers[i];
    }
    for (size_t i = 0; i < *n && rc == 0; i++) {
        if (object_mark_copied_to (u->root, numbers[i]) < first)
            numbers[kept++] = numbers[i];
    }
    (void)pthread_mutex_lock (&u->lock);
    u->whole = rc == 0 ? first : 0;
    u->state.collected = *n - kept;
    (void)pthread_mutex_unlock (&u->lock);
    *n = kept;
    return rc;
}

/* What is stuck may be collected at any time: it waited then, or is in the list. */
static int delete_collected (struct uploads *u, struct err *err)
{
    int64_t *numbers = NULL, waiting = first_waiting (u);
    size_t n = 0;
    int rc = object_mark_list (u->root, true, &numbers, &n, err);

    if (rc == 0)
        rc = keep_copied (u, waiting, numbers, &n, err);
    if (rc == 0 && n > 0)
        rc = object_owner_check (u->store, u->root, u->id, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if ((rc = delete_object (u, numbers[i], err)) == 0) {
            (void)pthread_mutex_lock (&u->lock);
            u->state.deleted++;
            (void)pthread_mutex_unlock (&u->lock);
        }
    }
    free (numbers);
    return rc;
}

/* ---- the thread ---- */

static bool has_work (const struct uploads *u)
{
    return u->n > 0 || early_sums_due (&u->early, &u->open) > 0;
}

/* Wait for work, at most so long; false: it is to stop. */
static bool wait_for_work (struct uploads *u, int64_t ns, bool failed)
{
    int64_t until = clock_mono_ns () + ns;
    struct timespec t = { until / NS_PER_S, (long)(until % NS_PER_S) };
    int rc = 0;

    (void)pthread_mutex_lock (&u->lock);
    while (rc == 0 && !atomic_load (&u->stop) && (failed || !has_work (u)))
        rc = pthread_cond_timedwait (&u->more, &u->lock, &t);
    (void)pthread_mutex_unlock (&u->lock);
    return !atomic_load (&u->stop);
}

static bool first_of (struct uploads *u, struct store_extent *ret)
{
    bool any;

    (void)pthread_mutex_lock (&u->lock);
    if ((any = u->n > 0))
        *ret = u->list[0].segment;
    (void)pthread_mutex_unlock (&u->lock);
    return any;
}

static int note_stuck (struct uploads *u, const struct waiting *w,
                       const char *etag)
{
    struct stuck_one one = { .segment = w->segment, .since_ns = w->since_ns };

    PRINT (one.etag, "%s", etag);
    PRINT (one.why, "%s", u->state.conflict);
    return stuck_add (&u->stuck, &one, clock_mono_ns ());
}

/* What came of the first one.  If it failed, the others are tried before it is
 * tried again: it may be the only one that cannot be read.
 */
static void take_off (struct uploads *u, const struct carried *c,
                      uint64_t size, int rc)
{
    struct uploads_state *s = &u->state;
    struct waiting first = u->list[0];
    bool stuck = rc == -EEXIST && note_stuck (u, &first, c->other) == 0;

    memmove (u->list, u->list + 1, (u->n - 1) * sizeof (*u->list));
    if (rc < 0 && !stuck) {
        u->list[u->n - 1] = first;
        return;
    }
    u->n--;
    s->waiting_bytes -= size;
    s->stored += rc == 0;
    s->stored_bytes += rc == 0 ? size : 0;
}

/* For the status. */
static void tell (struct uploads_state *s, int rc, const struct err *err)
{
    s->error = rc < 0 && rc != -EEXIST ? -rc : 0;
    PRINT (s->why, "%s", s->error ? err->text : "");
    if (rc == -EEXIST)
        PRINT (s->conflict, "%s", err->text);
}

static void note (struct uploads *u, int rc, const struct err *err)
{
    (void)pthread_mutex_lock (&u->lock);
    tell (&u->state, rc, err);
    (void)pthread_mutex_unlock (&u->lock);
}

/* And of the rest, at once: nobody sees a store that is back for a moment. */
static void note_carried (struct uploads *u, const struct carried *c,
                          uint64_t size, int rc, const struct err *err,
                          int rest, const struct err *why)
{
    (void)pthread_mutex_lock (&u->lock);
    tell (&u->state, rc, err);
    if (u->state.error == 0 && rest < 0)
        tell (&u->state, rest, why);
    take_off (u, c, size, rc);
    (void)pthread_mutex_unlock (&u->lock);
}

/* Make room here; what the store has lost is uploaded again. */
static int make_room (struct uploads *u, struct err *err)
{
    struct waiting lost = { .since_ns = clock_wall_ns () };
    int rc = cache_trim (&u->cache, &u->cached, &lost.segment, err);

    (void)pthread_mutex_lock (&u->lock);
    if (rc == 1 && vec_push (&u->list, &u->n, &lost, sizeof (lost)) == 0) {
        u->state.waiting_bytes += lost.segment.end;
        u->state.lost++;
    }
    u->state.local_bytes = u->cached.local;
    u->state.evicted = u->cached.evicted;
    u->state.linked = u->cached.linked;
    (void)pthread_mutex_unlock (&u->lock);
    return rc < 0 ? rc : 0;
}

/* It is stuck no longer: what there is of it now is tried again, with the lock. */
static int let_loose (struct uploads *u, const struct stuck_one *one,
                      uint64_t end)
{
    const struct waiting w = { { one->segment.segment, end }, one->since_ns };
    int rc = end > 0 ? vec_push (&u->list, &u->n, &w, sizeof (w)) : 0;

    if (rc < 0)
        return rc;
    u->state.waiting_bytes += end;
    stuck_drop (&u->stuck, one->segment.segment);
    PRINT (u->state.conflict, "%s",
           u->stuck.n > 0 ? u->stuck.all[u->stuck.n - 1].why : "");
    return 0;
}

/* Something else is there now; but meanwhile the ledger may have lost it. */
static int try_again (struct uploads *u, const struct stuck_one *one)
{
    int rc = 0;

    (void)pthread_mutex_lock (&u->lock);
    if (stuck_has (&u->stuck, one->segment.segment))
        rc = let_loose (u, one, one->segment.end);
    (void)pthread_mutex_unlock (&u->lock);
    return rc;
}

/* Whether somebody has removed an object with other bytes, or replaced it. */
static int look_at_stuck (struct uploads *u, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    struct object_facts there;
    struct stuck_one one;
    bool due;
    int rc = 0;

    do {
        (void)pthread_mutex_lock (&u->lock);
        due = stuck_due (&u->stuck, clock_mono_ns (), &one);
        (void)pthread_mutex_unlock (&u->lock);
        if (!due)
            return 0;
        object_mark_key (u->id, one.segment.segment, key);
        rc = object_head (u->store, key, &there, err);
        if (rc < 0 && rc != -ENOENT)
            return rc;
        if (rc == 0 && strcmp (there.etag, one.etag) == 0)
            return 0;
    } while ((rc = try_again (u, &one)) == 0);
    return rc;
}

static int probe (struct uploads *u)
{
    struct err err = { "" }, why = { "" };
    int rc = object_owner_probe (u->store, u->root, u->id, &why, &err);

    u->probed = rc == 0;
    (void)pthread_mutex_lock (&u->lock);
    u->state.answered = u->probed;
    (void)pthread_mutex_unlock (&u->lock);
    note (u, rc, &err);
    return rc;
}

/* Until room is made, when it is counted anyway. */
static void count_here (struct uploads *u)
{
    uint64_t local = 0;

    if (u->probed || cache_count (u->root, &local, NULL) < 0)
        return;
    (void)pthread_mutex_lock (&u->lock);
    u->state.local_bytes = local;
    (void)pthread_mutex_unlock (&u->lock);
}

static void sum_early (struct uploads *u)
{
    struct store_extent open;
    size_t n;

    (void)pthread_mutex_lock (&u->lock);
    open = u->open;
    (void)pthread_mutex_unlock (&u->lock);
    if (early_sums_due (&u->early, &open) == 0)
        return;
    n = early_sums_add (&u->early, u->root, &open);
    (void)pthread_mutex_lock (&u->lock);
    u->state.summed += n;
    (void)pthread_mutex_unlock (&u->lock);
}

/* Who may not delete may write all the same, and let go. */
static int do_some (struct uploads *u)
{
    struct err err = { "" }, why = { "" }, no_room = { "" };
    int deleted = delete_collected (u, &why), rc = make_room (u, &no_room);
    struct carried c = { .root = u->root, .id = u->id, .store = u->store,
                         .cache = &u->cache, .early = &u->early };
    struct store_extent e;

    if (rc == 0)
        rc = look_at_stuck (u, &no_room);
    if (deleted == 0) {
        deleted = rc;
        why = no_room;
    }
    if (!first_of (u, &e)) {
        sum_early (u);
        note (u, deleted, &why);
        return deleted;
    }
    rc = carry (&c, &e, &err);
    note_carried (u, &c, e.end, rc, &err, deleted, &why);
    return rc == -EEXIST ? 0 : rc;
}

static void *run (void *arg)
{
    int64_t again_ns = UPLOADS_AGAIN_FIRST_NS, pause_ns;
    struct uploads *u = arg;
    int rc;

    do {
        pause_ns = LOOK_NS;
        count_here (u);
        if ((rc = u->probed ? 0 : probe (u)) == 0)
            rc = do_some (u);
        if (rc < 0) {
            pause_ns = again_ns;
            again_ns = again_ns < UPLOADS_AGAIN_MAX_NS / 2
                           ? 2 * again_ns : UPLOADS_AGAIN_MAX_NS;
        } else {
            again_ns = UPLOADS_AGAIN_FIRST_NS;
        }
    } while (wait_for_work (u, pause_ns, rc < 0));
    return NULL;
}

/* ---- its life ---- */

/* Whether a segment that was let go is there: another endpoint may be another name
 * of the same store.
 */
static int look_there (struct uploads *u, int64_t segment,
                       const struct object_mark *m, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    struct object_facts there = { .etag = "" };
    int rc = 0;

    object_mark_key (u->id, segment, key);
    if (strcmp (m->url, uploads_url (u)) == 0)
        rc = object_head (u->store, key, &there, err);
    return rc < 0 && rc != -ENOENT && rc != -ENXIO
               ? rc : *m->etag && strcmp (there.etag, m->etag) == 0;
}

/* What was let go is only in the former store. */
static int check_place (struct uploads *u, struct err *err)
{
    struct object_mark m = { .evicted = false };
    struct object_place former;
    int64_t *numbers = NULL;
    size_t n = 0;
    int rc = object_place_read (u->root, &former, NULL), there = 0;

    if (rc < 0 || object_place_is (&former, u->store))
        return 0;
    rc = object_mark_list (u->root, false, &numbers, &n, err);
    for (size_t i = 0; i < n && rc == 0 && there == 0; i++) {
        rc = object_mark_read (u->root, numbers[i], &m, err);
        if (rc == 0 && m.evicted &&
            (there = look_there (u, numbers[i], &m, err)) <= 0)
            rc = there < 0
                     ? err_prefix (err, there, "segment %lld was let go at %s",
                                   (long long)numbers[i], former.endpoint)
                     : err_set (err, EEXIST, "segment %lld is only in %s at %s, "
                                "which has to be the store of this root",
                                (long long)numbers[i], former.url,
                                former.endpoint);
    }
    free (numbers);
    return rc;
}

static int start (struct uploads *u, const struct object_options *opt,
                  uint64_t cache_size, const char *why, struct err *err)
{
    struct object_options own = *opt;
    int rc;

    own.cancel = &u->stop;
    if ((rc = object_store_open (&own, &u->store, err)) < 0 ||
        (rc = root_read_id (u->root, u->id, err)) < 0 ||
        (rc = check_place (u, err)) < 0 ||
        (rc = object_mark_begin (u->root, err)) < 0 ||
        (rc = object_place_write (u->root, &own, u->store, err)) < 0)
        return rc;
    u->probed = u->state.answered = !*why;
    u->state.error = *why ? EHOSTUNREACH : 0;
    PRINT (u->state.why, "%s", why);
    u->cache = (struct cache){ .root = u->root, .id = u->id, .store = u->store,
                               .most = cache_size, .stop = &u->stop };
    count_here (u);
    rc = thread_start (&u->thread, run, u);
    return rc < 0 ? err_sys (err, -rc, "cannot start a thread") : 0;
}

static void init_lock (struct uploads *u)
{
    pthread_condattr_t attr;

    (void)pthread_condattr_init (&attr);
    (void)pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init (&u->more, &attr);
    (void)pthread_condattr_destroy (&attr);
    (void)pthread_mutex_init (&u->lock, NULL);
}

static void destroy (struct uploads *u)
{
    early_sums_forget (&u->early);
    object_store_close (u->store);
    (void)pthread_cond_destroy (&u->more);
    (void)pthread_mutex_destroy (&u->lock);
    free (u->list);
    stuck_fini (&u->stuck);
    free (u->root);
    free (u);
}

int uploads_start (const char *root, const struct object_options *opt,
                   uint64_t cache_size, const char *why, struct uploads **ret,
                   struct err *err)
{
    struct uploads *u = calloc (1, sizeof (*u));
    int rc;

    if (!u || !(u->root = strdup (root))) {
        free (u);
        return err_set (err, ENOMEM, "no memory for uploads");
    }
    init_lock (u);
    if ((rc = start (u, opt, cache_size, why, err)) < 0)
        destroy (u);
    else
        *ret = u;
    return rc;
}

void uploads_stop (struct uploads *u)
{
    if (!u)
        return;
    (void)pthread_mutex_lock (&u->lock);
    atomic_store (&u->stop, true);
    (void)pthread_cond_signal (&u->more);
    (void)pthread_mutex_unlock (&u->lock);
    (void)pthread_join (u->thread, NULL);
    destroy (u);
}

/* ---- the loop's side ---- */

/* What an earlier life has compared is there, also while nobody can look. */
static int offer (void *arg, const struct store_extent *e)
{
    struct uploads *u = arg;
    struct waiting w = { *e, clock_wall_ns () };
    char path[PATH_MAX];
    struct stat st;

    if (e->end > 0 && carry_knows (u->root, uploads_url (u), e)) {
        u->state.stored++;
        u->state.stored_bytes += e->end;
    } else if (e->end > 0) {
        store_segment_path (u->root, e->segment, path);
        if (stat (path, &st) == 0)
            w.since_ns = st.st_mtim.tv_sec * NS_PER_S + st.st_mtim.tv_nsec;
        if (vec_push (&u->list, &u->n, &w, sizeof (w)) < 0)
            return -ENOMEM;
        u->state.waiting_bytes += e->end;
    }
    u->offered = e->segment;
    return 0;
}

/* Of what is stuck the ledger may have lost all, or the end: then nothing refers to
 * that any more, and nobody waits for it.
 */
static int look_at_lost (struct uploads *u, const struct store *s)
{
    int rc = 0;

    for (size_t i = u->stuck.n; i-- > 0 && rc == 0;) {
        const struct stuck_one one = u->stuck.all[i];
        uint64_t end = store_sealed_end (s, one.segment.segment);

        if (end != one.segment.end)
            rc = let_loose (u, &one, end);
    }
    return rc;
}

int uploads_offer (struct uploads *u, const struct store *s)
{
    int rc;

    (void)pthread_mutex_lock (&u->lock);
    rc = look_at_lost (u, s);
    if (rc == 0)
        rc = store_each_sealed (s, u->offered, offer, u);
    u->open = store_open_extent (s);
    (void)pthread_cond_signal (&u->more);
    (void)pthread_mutex_unlock (&u->lock);
    return rc;
}

bool uploads_have (struct uploads *u, int64_t segment)
{
    bool all;

    (void)pthread_mutex_lock (&u->lock);
    all = segment == 0 || segment < u->whole;
    (void)pthread_mutex_unlock (&u->lock);
    return all;
}

void uploads_state (struct uploads *u, struct uploads_state *ret)
{
    (void)pthread_mutex_lock (&u->lock);
    *ret = u->state;
    ret->waiting = u->n;
    ret->conflicts = u->stuck.n;
    ret->since_ns = 0;
    for (size_t i = 0; i < u->n; i++) {
        if (i == 0 || u->list[i].since_ns < ret->since_ns)
            ret->since_ns = u->list[i].since_ns;
    }
    (void)pthread_mutex_unlock (&u->lock);
}

const char *uploads_url (const struct uploads *u)
{
    return object_store_url (u->store);
}

void uploads_add_status (struct uploads *u, struct json *status)
{
    struct json *j = json_add_object (status, "store");
    char since[CLOCK_TEXT_MAX] = "";
    struct uploads_state s;

    uploads_state (u, &s);
    if (s.since_ns > 0)
        clock_text (s.since_ns, since);
    json_add_text (j, "url", uploads_url (u));
    json_add_int (j, "stored", (int64_t)s.stored);
    json_add_int (j, "stored_bytes", (int64_t)s.stored_bytes);
    json_add_bool (j, "answered", s.answered);
    json_add_int (j, "waiting", (int64_t)s.waiting);
    json_add_int (j, "waiting_bytes", (int64_t)s.waiting_bytes);
    json_add_nonempty (j, "since", since);
    json_add_int (j, "local_bytes", (int64_t)s.local_bytes);
    json_add_int (j, "cache_bytes", (int64_t)u->cache.most);
    json_add_int (j, "evicted", (int64_t)s.evicted);
    json_add_int (j, "linked", (int64_t)s.linked);
    json_add_int (j, "lost", (int64_t)s.lost);
    json_add_int (j, "deleted", (int64_t)s.deleted);
    json_add_int (j, "conflicts", (int64_t)s.conflicts);
    json_add_nonempty (j, "why", *s.why ? s.why : s.conflict);
}
