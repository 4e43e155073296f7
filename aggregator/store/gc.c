/* aggregator/store/gc.c - collect what nothing refers to, step by step */
#include "store/gc_private.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "store/fileio.h"
#include "store/object_mark.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE 4096            // contents and chunks of a step: some ms

/* ---- marking ---- */

struct marking {
    struct ledger *ledger;
    const struct store *store;
    struct err *err;
    uint64_t *bytes;            // stored, of what is marked; or NULL
    bool free;                  // chunks of lists that nothing refers to
    unsigned chunks;            // of lists, that were looked at
};

static int mark_chunk (void *arg, const struct store_chunk *chunk)
{
    struct marking *m = arg;
    int rc = m->free ? ledger_note_freed (m->ledger, &chunk->id, m->err)
                     : ledger_mark_content (m->ledger, &chunk->id, m->err);

    m->chunks++;
    if (rc > 0 && m->bytes)
        *m->bytes += chunk->place.stored;
    return rc < 0 ? rc : 0;
}

/* The lookup marks nothing, so that mark_chunk knows which chunks are new.  A
 * list that cannot be read keeps what it has; a check names it.
 */
static int mark_list (void *arg, const struct digest *id,
                      const struct ledger_place *place)
{
    const struct marking *m = arg;
    bool was;
    int rc;

    if (m->bytes)
        *m->bytes += place->stored;
    if (place->form != FORM_LIST)
        return 0;
    was = ledger_set_marking (m->ledger, false);
    rc = store_each_chunk (m->store, m->ledger, id, place, mark_chunk, arg,
                           m->err);
    (void)ledger_set_marking (m->ledger, was);
    return rc < 0 && (rc != -EBADMSG || !m->free) ? rc : m->chunks >= AT_ONCE;
}

/* A damaged list of an item says nothing of its chunks: collect nothing. */
static int mark_items (struct gc *g, struct err *err)
{
    struct marking m = { .ledger = g->ledger, .store = g->store, .err = err };
    int rc = ledger_mark_items (g->ledger, NULL, &g->seq, AT_ONCE, mark_list,
                                &m, err);

    if (rc == 0)
        g->phase = GC_LISTS;
    return rc < 0 ? rc : 1;
}

int gc_count_job (struct ledger *ledger, const struct store *store,
                  const char *job, uint64_t *bytes, struct err *err)
{
    struct marking m = { .ledger = ledger, .store = store, .err = err,
                         .bytes = bytes };
    int64_t seq = 0;
    int rc;

    do {
        m.chunks = 0;           // of each query: else one would end at a list
        rc = ledger_mark_items (ledger, job, &seq, AT_ONCE, mark_list, &m,
                                err);
    } while (rc > 0);
    return rc;
}

/* ---- what is to go ---- */

static int note_young (void *arg, int64_t segment, uint64_t end)
{
    struct gc *g = arg;
    char path[PATH_MAX];
    struct stat st;

    (void)end;
    store_segment_path (g->store->root, segment, path);
    if (stat (path, &st) == 0 && g->opt.now_ns / NS_PER_S - st.st_mtim.tv_sec >=
                                     g->opt.grace_s)
        return 0;
    return ledger_note_young (g->ledger, segment, g->err);
}

static int free_lists (struct gc *g, struct err *err)
{
    struct marking m = { .ledger = g->ledger, .store = g->store, .err = err,
                         .free = true };
    int rc = ledger_each_unused_list (g->ledger, &g->id, mark_list, &m, err);

    g->err = err;
    if (rc == 0)
        rc = ledger_each_segment (g->ledger, note_young, g, err);
    else
        return rc;
    memset (&g->id, 0, sizeof (g->id));
    g->phase = GC_DOOM;
    return rc < 0 ? rc : 1;
}

static int doom (struct gc *g, struct err *err)
{
    int rc = ledger_doom (g->ledger, &g->id, AT_ONCE, err);

    if (rc == 0)
        g->phase = GC_CHOOSE;
    return rc < 0 ? rc : 1;
}

static int choose_segment (struct gc *g, const struct gc_segment *s)
{
    g->report.unused += s->doomed;
    if ((double)s->doomed * 100 <
        (double)g->opt.least_percent * (double)(s->doomed + s->live))
        return 0;
    g->report.segments++;
    g->report.freed += s->doomed;
    g->report.copied += s->live;
    return vec_push (&g->segments, &g->n, s, sizeof (*s));
}

/* Those that need the least room come first: the disk may be full. */
static int compare (const void *pa, const void *pb)
{
    const struct gc_segment *a = pa, *b = pb;

    return a->live != b->live ? a->live < b->live ? -1 : 1
           : a->number < b->number ? -1 : a->number > b->number;
}

/* Nobody may have read a place that is used later: block leases. */
static int block_leases (struct gc *g, int *fd, struct err *err)
{
    int n = lease_block (g->store->root, fd, g->report.held, err);

    if (n <= 0)
        return n;
    lease_unblock (*fd);
    return err_set (err, EAGAIN, "nothing is removed while somebody reads the "
                    "archive: %s", g->report.held);
}

/* Somebody may read with one of these lists: block leases. */
static int drop_lists (struct gc *g, struct err *err)
{
    struct marking m = { .ledger = g->ledger, .store = g->store, .err = err };
    int fd, rc = block_leases (g, &fd, err);

    if (rc < 0)
        return rc;
    rc = ledger_each_marked_list (g->ledger, mark_list, &m, err);
    if (rc == 0 && (rc = ledger_drop_lists (g->ledger, err)) == 0)
        g->phase = GC_EMPTY;
    lease_unblock (fd);
    return rc < 0 ? rc : 1;
}

static int note_doomed (struct gc *g, struct err *err)
{
    int rc = ledger_note_doomed (g->ledger, &g->segment, &g->id, AT_ONCE, err);

    if (rc == 0)
        g->phase = GC_DROP;
    return rc < 0 ? rc : 1;
}

static int chosen (struct gc *g)
{
    if (g->n > 0)
        qsort (g->segments, g->n, sizeof (*g->segments), compare);
    g->phase = g->opt.plan || g->n == 0 ? GC_OVER : GC_NOTE;
    if (!g->opt.plan)
        g->report.freed = g->report.copied = 0;
    memset (&g->id, 0, sizeof (g->id));
    g->segment = 0;
    return g->phase == GC_NOTE;
}

static int choose (struct gc *g, struct err *err)
{
    struct gc_segment s = { .number = 0 };
    uint64_t all;
    int rc = ledger_next_doomed (g->ledger, &g->segment, &s.doomed, err);

    if (rc == 0)
        return chosen (g);
    if (rc > 0)
        rc = ledger_segment_bytes (g->ledger, g->segment, &all, err);
    if (rc < 0)
        return rc;
    s.number = g->segment;
    s.live = all > s.doomed ? all - s.doomed : 0;
    return choose_segment (g, &s) < 0
               ? err_set (err, ENOMEM, "no memory to collect") : 1;
}

/* ---- emptying a segment ---- */

static int remove_file (void *arg, int64_t segment)
{
    struct gc *g = arg;
    int64_t last = g->store->segment - (g->store->committed == 0);
    char path[PATH_MAX];
    int rc;

    store_forget_segment (g->store, segment);
    store_segment_path (g->store->root, segment, path);
    if ((rc = object_mark_condemn (g->store->root, segment, last, g->err)) < 0)
        return rc;
    if ((rc = FAULT ("aggregator.gc.unlink")) < 0 ||
        (unlink (path) < 0 && errno != ENOENT))
        return err_sys (g->err, rc < 0 ? -rc : errno, "cannot remove %s",
                        path);
    return 0;
}

static int forget (void *arg, int64_t segment)
{
    struct gc *g = arg;

    return ledger_forget_emptied (g->ledger, segment, g->err);
}

/* A file whose name may come back keeps its row. */
static int remove_files (struct gc *g, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    g->err = err;
    if ((rc = ledger_each_emptied (g->ledger, remove_file, g, err)) < 0)
        return rc;
    PRINT (path, "%s/segments", g->store->root);
    if ((rc = fileio_sync_dir (path, err)) < 0)
        return rc;
    return ledger_each_emptied (g->ledger, forget, g, err);
}

/* The transaction: new places, and with 'empty' the end of the segment. */
static int enter (struct gc *g, bool empty, struct err *err)
{
    int rc = ledger_begin (g->ledger, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < g->nmoved && rc == 0; i++)
        rc = ledger_add_content (g->ledger, &g->moved[i].id,
                                 &g->moved[i].place, err);
    if (rc == 0 && empty)
        rc = ledger_empty_segment (g->ledger, g->segments[g->at].number, err);
    if (rc == 0)
        rc = store_account_all (g->store, g->ledger, err);
    if (rc == 0 && (rc = FAULT ("aggregator.gc.commit")) < 0)
        rc = err_sys (err, -rc, "ledger");
    return ledger_finish (g->ledger, rc, err);
}

static int commit (struct gc *g, bool empty, struct err *err)
{
    int rc = store_sync (g->store, err);

    if (rc == 0)
        rc = enter (g, empty, err);
    if (rc < 0) {
        store_revert (g->store);
    } else {
        store_committed (g->store);
        g->report.copied += g->copied;
    }
    g->nmoved = 0;
    g->copied = 0;
    return rc;
}

static int end_segment (struct gc *g, struct err *err)
{
    int fd, rc = block_leases (g, &fd, err);

    if (rc < 0)
        return rc;
    if ((rc = gc_copy_spared (g, err)) < 0)
        store_revert (g->store);
    if (rc == 0)
        rc = commit (g, true, err);
    if (rc == 0) {
        g->report.freed += g->segments[g->at].doomed;
        g->report.removed++;
        rc = remove_files (g, err);
    }
    lease_unblock (fd);
    return rc;
}

static int next_segment (struct gc *g)
{
    g->offset = 0;
    if (++g->at < g->n)
        return 1;
    g->phase = GC_OVER;
    return 0;
}

/* What is appended to may not be emptied: go on in another one. */
static int leave_open_segment (struct gc *g, struct err *err)
{
    return g->segments[g->at].number == g->store->segment
               ? store_open_next (g->store, err) : 0;
}

static int empty (struct gc *g, struct err *err)
{
    int rc = leave_open_segment (g, err), more;

    if (rc < 0)
        return rc;
    if ((rc = more = gc_copy (g, err)) < 0)
        store_revert (g->store);
    if (rc == -EBADMSG || rc == -EREMOTEIO) {
        g->nmoved = 0;
        g->copied = 0;
        g->report.damaged += rc == -EBADMSG;
        g->report.away += rc == -EREMOTEIO;
        return next_segment (g);
    }
    if (rc >= 0)
        rc = commit (g, false, err);
    if (rc < 0 || more)
        return rc < 0 ? rc : 1;
    rc = end_segment (g, err);
    return rc < 0 ? rc : next_segment (g);
}

/* ---- all of it ---- */

int gc_begin (struct ledger *ledger, struct store *store,
              const struct gc_options *opt, struct gc **ret, struct err *err)
{
    struct gc *g = calloc (1, sizeof (*g));
    int fd, rc = 0;

    if (!g)
        return err_set (err, ENOMEM, "no memory to collect");
    g->ledger = ledger;
    g->store = store;
    g->opt = *opt;
    if (!opt->plan && (rc = block_leases (g, &fd, err)) == 0) {
        rc = remove_files (g, err);
        lease_unblock (fd);
    }
    if (rc == -EAGAIN) {        // the next one does it
        g->report.held[0] = '\0';
        rc = 0;
    }
    if (rc == 0)
        rc = ledger_marks_begin (ledger, err);
    if (rc < 0) {
        free (g);
        return rc;
    }
    *ret = g;
    return 0;
}

int gc_step (struct gc *g, struct err *err)
{
    switch (g->phase) {
    case GC_ITEMS:
        return mark_items (g, err);
    case GC_LISTS:
        return free_lists (g, err);
    case GC_DOOM:
        return doom (g, err);
    case GC_CHOOSE:
        return choose (g, err);
    case GC_NOTE:
        return note_doomed (g, err);
    case GC_DROP:
        return drop_lists (g, err);
    case GC_EMPTY:
        return empty (g, err);
    case GC_OVER:
        break;
    }
    return 0;
}

struct gc_report gc_report (const struct gc *g)
{
    return g->report;
}

void gc_end (struct gc *g)
{
    if (!g)
        return;
    ledger_marks_end (g->ledger);
    free (g->segments);
    free (g->moved);
    free (g);
}

int gc_run (struct ledger *ledger, struct store *store,
            const struct gc_options *opt, struct gc_report *ret,
            struct err *err)
{
    struct gc *g = NULL;
    int rc = gc_begin (ledger, store, opt, &g, err);

    while (rc >= 0 && (rc = gc_step (g, err)) > 0)
        continue;
    *ret = g ? gc_report (g) : (struct gc_report){ .segments = 0 };
    gc_end (g);
    return rc;
}
