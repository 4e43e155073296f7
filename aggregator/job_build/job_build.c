/* aggregator/job_build/job_build.c - build a job's analysis.db from its shipments
 */
#include "job_build/job_build_private.h"

#include "base/cmp.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/vec.h"
#include "builder/former.h"
#include "model/shipment.h"
#include "publish/rows_digest.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_ONCE 16               // shipments, by a thread
#define MPI_NAMED 8                     // ranks named in one note
#define JOB_BUILD_NOTE_MAX 1024         // bytes: some hosts and their keys

static int add_source (void *arg, const struct ledger_item *item)
{
    struct job_build *b = arg;
    struct shipment_source *p = vec_add (&b->sources, &b->n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *p = (struct shipment_source){
        .content = item->content, .rank = item->rank,
        .newest_ns = item->newest_ns, .superseded = item->superseded,
        .lost = item->lost };
    if (!item->lost)
        p->broken = store_find_chunks (b->store, b->ledger, &item->content,
                                       &item->place, &p->chunks, NULL);
    if (asprintf (&p->capture, "%s%c%s%c%s", item->capture, '\0', item->dir,
                  '\0', item->host) < 0) {
        store_content_fini (&p->chunks);
        b->n--;
        return -ENOMEM;
    }
    p->dir = p->capture + strlen (p->capture) + 1;
    p->host = p->dir + strlen (p->dir) + 1;
    return 0;
}

/* 'through': its bytes come from there, which tells what is unread; NULL: from the
 * store.
 */
static int read_shipment (struct job_build *b, size_t source,
                          const struct byte_source *through,
                          const struct row_sink *sink, struct capture *c,
                          struct err *err)
{
    struct shipment_source *s = &b->sources[source];
    struct store_reader *r = NULL;
    struct byte_source from;
    int rc = 0;

    if (s->lost)
        return err_set (err, EBADMSG, "its stored data was damaged and moved "
                        "to quarantine/ in the aggregator's root, or was "
                        "removed from the root; deliver it again: remove the "
                        "agent's spool, or copy the capture");
    if (s->broken < 0)
        return err_sys (err, -s->broken, "cannot find its chunks");
    if (!through && (rc = store_reader_create (b->store, &s->chunks, &r,
                                               err)) < 0)
        return rc;
    from = through ? *through : store_reader_source (r);
    rc = sink ? shipment_replay (&from, sink, c, err)
              : shipment_read_meta (&from, c, err);
    rc = r ? store_reader_why (r, rc, err) : rc;
    // a write can fail in the same way
    s->unread = rc == -EIO && (r ? store_reader_is_unread (r) : s->unread);
    store_reader_destroy (r);
    return s->unread ? err_set (err, EBADMSG, "the disk did not give its bytes "
                                "(%s): rollcall fsck aggregator --repair sets "
                                "it aside, so that it is delivered again",
                                strerror (EIO)) : rc;
}

/* A shipment that cannot be read becomes a failed capture. */
static void job_build_blame (struct job_build *b, size_t source,
                             struct capture *c,
                             const struct err *why)
{
    capture_fini (c);
    c->rank = b->sources[source].rank;
    c->state = CAPTURE_FAILED;
    PRINT (c->name, "%s", b->sources[source].capture);
    capture_reason (c, "its shipment cannot be read: %s", why->text);
}

/* A capture that does not name its host gets the host of its agent. */
static void name_host (const struct job_build *b, size_t source,
                       struct capture *c)
{
    if (c->host[0] == '\0')
        PRINT (c->host, "%s", b->sources[source].host);
}

/* What says nothing of the stored bytes. */
static bool is_no_damage (int rc)
{
    return rc == -ENOMEM || rc == -EREMOTEIO || rc == -EACCES ||
           rc == -EPERM || rc == -EIO || rc == -EMFILE || rc == -ENFILE;
}

static int look_at (struct job_build *b, size_t i, struct err *err)
{
    struct select_item *item = &b->items[i];
    struct err why = { "" };
    int rc;

    item->source = i;
    item->content = &b->sources[i].content;
    item->weight = b->sources[i].chunks.size;
    capture_init (&item->capture);
    rc = read_shipment (b, i, NULL, NULL, &item->capture, &why);
    if (is_no_damage (rc))
        return err_set (err, -rc, "%s", why.text);
    if (rc < 0)
        job_build_blame (b, i, &item->capture, &why);
    item->agent_host = b->sources[i].host;
    item->host_is_agents = item->capture.host[0] == '\0';
    name_host (b, i, &item->capture);
    item->skip = !capture_has_rows (&item->capture);
    capture_drop_groups (&item->capture);
    return 0;
}

/* A piece of work.  The state is the job's; all threads share it. */
static int look_at_some (void *state, size_t piece, struct err *err)
{
    struct job_build *b = state;
    size_t end = (piece + 1) * LOOKED_AT_ONCE;
    int rc = 0;

    for (size_t i = piece * LOOKED_AT_ONCE; i < end && i < b->n && rc == 0; i++)
        rc = look_at (b, i, err);
    return rc;
}

static bool has_rows (const struct select_item *item)
{
    return item->capture.state == CAPTURE_UNEXPECTED ||
           capture_has_rows (&item->capture);
}

/* The world size on which the metadata of all captures agree, ignoring those
 * without one.  Called before captures without a rank get one.
 */
static int64_t agreed_size (const struct job_build *b)
{
    int64_t agreed = 0, highest = -1;

    for (size_t i = 0; i < b->n; i++) {
        const struct capture *c = &b->items[i].capture;

        if (!has_rows (&b->items[i]))
            continue;
        if (c->rank > highest)
            highest = c->rank;
        if (c->world_size > 0 && agreed > 0 && c->world_size != agreed)
            return 0;
        if (c->world_size > 0)
            agreed = c->world_size;
    }
    return highest < agreed ? agreed : 0;       // not all ranks are in it
}

int job_build_expect (const struct job_build *b,
                      const struct size_claims *claims,
                      bool run, struct roster *roster)
{
    char note[JOB_BUILD_NOTE_MAX];
    const char *known_by;
    int64_t size = size_claims_judge (claims, run, b->agreed, &known_by, note,
                                      sizeof (note));

    if (*note)
        roster_add_note (roster, note);
    return size > 0 ? roster_expect_world (roster, size, known_by) : 0;
}

static int add_sender (void *arg, const struct ledger_sender *s)
{
    struct job_build *b = arg;
    char text[JOB_BUILD_NOTE_MAX];

    ledger_sender_text (s, text, sizeof (text));
    if (b->nsenders < SENDERS_NAMED &&
        !(b->senders[b->nsenders] = strdup (text)))
        return -ENOMEM;
    b->nsenders++;
    return 0;
}

static int add_mpi (struct job_build *b, const struct ledger_heard *h)
{
    struct select_mpi m = { h->rank, h->mpi_rank, h->mpi_size };

    return vec_push (&b->mpi, &b->nmpi, &m, sizeof (m));
}

static int add_fate (struct job_build *b, const struct ledger_heard *h)
{
    struct rank_fate *p = vec_add (&b->fates, &b->nfates, sizeof (*p));

    if (!p)
        return -ENOMEM;
    *p = (struct rank_fate){ h->rank, NULL, h->command };
    return *h->host && !(p->host = strdup (h->host)) ? -ENOMEM : 0;
}

static int add_heard (void *arg, const struct ledger_heard *h)
{
    int rc = h->mpi_size > 0 ? add_mpi (arg, h) : 0;

    return rc == 0 && (*h->host || h->command.ns > 0) ? add_fate (arg, h) : rc;
}

static int add_gone (void *arg, const struct ledger_deletion *d)
{
    struct job_build *b = arg;
    struct rank_gone *last = b->ngone > 0 ? &b->gone[b->ngone - 1] : NULL;

    if (d->gone || d->rank < 0)
        return 0;
    // most often they come one rank after the other
    if ((!last || last->rank != d->rank) &&
        !(last = vec_add (&b->gone, &b->ngone, sizeof (*last))))
        return -ENOMEM;
    last->rank = d->rank;
    last->at_ns = d->at_ns;
    ledger_deletion_text (d, last->text);
    return 0;
}

static int compare_gone (const void *pa, const void *pb)
{
    const struct rank_gone *a = pa, *b = pb;

    return a->rank != b->rank ? a->rank < b->rank ? -1 : 1
           : a->at_ns != b->at_ns ? a->at_ns < b->at_ns ? -1 : 1 : 0;
}

static struct rank_gone *find_gone (struct job_build *b, int64_t rank)
{
    return b->ngone == 0 ? NULL : bsearch (&rank, b->gone, b->ngone,
                                           sizeof (*b->gone), cmp_int64);
}

/* Keep the last of each rank of which nothing is left. */
static void settle_gone (struct job_build *b)
{
    struct rank_gone *g;
    size_t n = 0;

    if (b->ngone > 0)
        qsort (b->gone, b->ngone, sizeof (*b->gone), compare_gone);
    for (size_t i = 0; i < b->ngone; i++) {
        if (i + 1 == b->ngone || b->gone[i + 1].rank != b->gone[i].rank)
            b->gone[n++] = b->gone[i];
    }
    b->ngone = n;
    for (size_t i = 0; i < b->n && n > 0; i++) {
        if ((g = find_gone (b, b->sources[i].rank)))
            g->at_ns = 0;
        b->last = b->sources[i].rank > b->last ? b->sources[i].rank : b->last;
    }
}

/* Say of these ranks that somebody removed their captures.  Those that captures
 * will show to be expected may not be in the roster yet.
 */
int job_build_say_gone (const struct job_build *b, struct roster *roster)
{
    char text[DELETION_TEXT_MAX + 32];

    for (size_t i = 0; i < b->ngone; i++) {
        const struct rank_gone *g = &b->gone[i];
        struct roster_entry *e;

        if (g->at_ns == 0 || (g->rank >= roster->world_size &&
                              g->rank >= b->agreed && g->rank > b->last))
            continue;
        if (!(e = roster_at (roster, g->rank)))
            return -ENOMEM;
        PRINT (text, "its captures were %s", g->text);
        roster_set_text (&e->reason, text);
    }
    return 0;
}

void job_build_say_fates (const struct job_build *b, struct roster *roster)
{
    for (size_t i = 0, k = 0; i < roster->n; i++) {     // both by rank
        struct roster_entry *e = &roster->entries[i];

        while (k < b->nfates && b->fates[k].rank < e->rank)
            k++;
        if (k == b->nfates || b->fates[k].rank != e->rank)
            continue;
        e->command = b->fates[k].command;
        if (b->fates[k].host)
            roster_set_text (&e->host, b->fates[k].host);
    }
}

/* Give items MPI's report on the rank that they are filed under.  A world
 * smaller than the job is a program's own, and is ignored.
 */
static void give_mpi (struct job_build *b, int64_t world_size)
{
    size_t n = 0;

    for (size_t i = 0; i < b->nmpi; i++) {
        if (b->mpi[i].mpi_size >= world_size)
            b->mpi[n++] = b->mpi[i];
    }
    b->nmpi = n;
    for (size_t i = 0; i < b->n && b->nmpi > 0; i++)
        b->items[i].mpi = bsearch (&b->items[i].rank, b->mpi, b->nmpi,
                                   sizeof (*b->mpi), cmp_int64);
}

/* Note how captures were assigned to this job, and what is forgotten of it. */
static int look_at_job (struct job_build *b, struct ledger *ledger,
                        struct err *err)
{
    struct ledger_fact forgotten = { .key = FACT_FORGOTTEN, .value = "1" };
    struct ledger_summary s;
    int rc = ledger_summary (ledger, b->job, &s, err);

    b->assumed = rc == 0 && s.assumed > 0;
    if (rc < 0)
        return rc;
    PRINT (forgotten.job, "%s", b->job);
    rc = ledger_has_fact (ledger, &forgotten, err);
    b->forget = rc == 1;
    return rc < 0 ? rc : 0;
}

/* A disk that gives nothing at all: a good result is not replaced.  When rows are
 * read, job_build_took sees that.
 */
static int look_at_all (struct job_build *b, unsigned threads,
                        struct err *err)
{
    struct thread_pieces pieces = {
        .n = (b->n + LOOKED_AT_ONCE - 1) / LOOKED_AT_ONCE, .work = look_at_some,
    };
    void *states[BUILD_THREADS_MAX];
    size_t unread = 0;
    int rc;

    if (threads > pieces.n)
        threads = pieces.n > 0 ? (unsigned)pieces.n : 1;
    for (unsigned t = 0; t < threads; t++)
        states[t] = b;
    rc = thread_each (&pieces, states, threads, err);
    for (size_t i = 0; i < b->n; i++)
        unread += b->sources[i].unread;
    return rc < 0 || unread == 0 || unread < b->n
               ? rc : err_sys (err, EIO, "cannot read any shipment of job %s",
                               b->job);
}

int job_build_create (struct ledger *ledger, struct store *store,
                      const char *job, unsigned threads,
                      struct job_build **ret, struct err *err)
{
    struct job_build *b = calloc (1, sizeof (*b));
    int rc;

    *ret = NULL;
    if (!b)
        return err_set (err, ENOMEM, "no memory to build");
    b->store = store;
    b->ledger = ledger;
    b->how.cancel = &b->cancelled;
    b->how.wanted = RESULTS_DEFAULT;
    PRINT (b->job, "%s", job);
    rc = ledger_each (ledger, job, ITEM_ROWS, add_source, b, err);
    if (rc == 0)
        rc = look_at_job (b, ledger, err);
    if (rc == 0)
        rc = ledger_each_sender (ledger, job, add_sender, b, err);
    if (rc == 0)
        rc = ledger_each_heard (ledger, job, add_heard, b, err);
    if (rc == 0)
        rc = ledger_each_deletion (ledger, job, add_gone, b, err);
    settle_gone (b);
    if (rc == 0 && !(b->items = calloc (b->n + 1, sizeof (*b->items))))
        rc = err_set (err, ENOMEM, "no memory to build");
    // the chunk of the metadata has rows, too
    segments_keep (store_segments (store), SEGMENTS_KEEP);
    if (rc == 0)
        rc = look_at_all (b, threads, err);
    segments_keep (store_segments (store), SEGMENTS_KEPT);
    if (rc == 0)
        rc = job_build_choose_versions (b, err);
    if (rc < 0) {
        job_build_destroy (b);
        return rc;
    }
    b->ledger = NULL;           // a build runs in another thread
    b->agreed = agreed_size (b);
    select_plan (b->items, b->n);
    *ret = b;
    return 0;
}

void job_build_destroy (struct job_build *b)
{
    if (!b)
        return;
    segments_keep (store_segments (b->store), SEGMENTS_FORGET);
    select_free (b->items, b->n);
    build_state_fini (&b->state);
    raw_tree_destroy (b->raw);
    for (size_t i = 0; i < b->nsenders && i < SENDERS_NAMED; i++)
        free (b->senders[i]);
    for (size_t i = 0; i < b->nfates; i++)
        free (b->fates[i].host);
    free (b->fates);
    free (b->gone);
    free (b->mpi);
    free (b->items);
    for (size_t i = 0; i < b->n; i++) {
        store_content_fini (&b->sources[i].chunks);
        free (b->sources[i].capture);
    }
    free (b->sources);
    free (b);
}

int job_build_add_raw (struct job_build *b, struct ledger *ledger,
                       struct err *err)
{
    return raw_tree_create (ledger, b->store, b->job, &b->raw, err);
}

const struct raw_tree *job_build_raw (const struct job_build *b)
{
    return b->raw;
}

struct job_build_options *job_build_options (struct job_build *b)
{
    return &b->how;
}

const struct results *job_build_results (const struct job_build *b)
{
    return &b->results;
}

void job_build_cancel (struct job_build *b)
{
    atomic_store (&b->cancelled, true);
}

size_t job_build_captures (const struct job_build *b)
{
    return b->n;
}

int job_build_feed_from (struct job_build *b, size_t source,
                         const struct byte_source *through,
                         const struct row_sink *sink, struct capture *c,
                         struct err *err)
{
    struct err why = { "" };
    int rc = read_shipment (b, source, through, sink, c, &why);

    if (rc == -EBADMSG || rc == -ENOENT) {
        for (unsigned t = 0; t < TABLE_COUNT && sink; t++) {
            if ((rc = sink->forget (sink->arg, t, err)) < 0)
                return rc;
        }
        job_build_blame (b, source, c, &why);
        c->transient_error = b->sources[source].unread ? -EIO : 0;
        return 0;
    }
    return rc < 0 ? err_set (err, -rc, "%s", why.text) : 0;
}

/* How many captures the disk did not give, with this one; rows may be read twice.
 */
static size_t count_unread (struct job_build *b, struct shipment_source *s,
                            bool unread)
{
    size_t change = (size_t)unread - (size_t)s->counted;

    s->counted = unread;
    return atomic_fetch_add (&b->unread, change) + change;
}

int job_build_took (void *arg, size_t source, struct capture *c,
                    struct err *err)
{
    struct job_build *b = arg;
    bool unread = c->transient_error == -EIO;

    // one that cannot be read has none
    if (c->state != CAPTURE_FAILED)
        name_host (b, source, c);
    return count_unread (b, &b->sources[source], unread) == b->fed && unread
               ? err_set (err, EIO, "cannot read the rows of any capture of job "
                          "%s: Input/output error", b->job) : 0;
}

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    int rc = job_build_feed_from (arg, source, NULL, sink, c, err);

    return rc < 0 ? rc : job_build_took (arg, source, c, err);
}

size_t job_build_left (const struct job_build *b)
{
    size_t left = b->left + (b->raw ? b->raw->left : 0);

    for (size_t i = 0; i < b->n; i++)
        left += b->items[i].drop && !b->items[i].skip &&
                b->items[i].capture.state == CAPTURE_SUPERSEDED;
    return left;
}

static void note_senders (const struct job_build *b, struct roster *roster)
{
    char note[JOB_BUILD_NOTE_MAX];

    for (size_t i = 0; i < b->nsenders && i < SENDERS_NAMED; i++)
        roster_add_note (roster, b->senders[i]);
    if (b->nsenders <= SENDERS_NAMED)
        return;
    PRINT (note, "the rows of %zu more rank%s arrived with other keys than "
           "before", b->nsenders - SENDERS_NAMED,
           units_s (b->nsenders - SENDERS_NAMED));
    roster_add_note (roster, note);
}

/* Note MPI's ranks, also for ranks without a capture. */
static void note_mpi (const struct job_build *b, struct roster *roster)
{
    char note[JOB_BUILD_NOTE_MAX];
    size_t found = 0;

    for (size_t i = 0; i < b->nmpi; i++) {
        const struct select_mpi *m = &b->mpi[i];

        if (m->rank == m->mpi_rank || ++found > MPI_NAMED)
            continue;
        PRINT (note, "the launcher's rank %lld is rank %lld of %lld in MPI: "
               "captures that do not record their rank may be filed under the "
               "wrong one", (long long)m->rank, (long long)m->mpi_rank,
               (long long)m->mpi_size);
        roster_add_note (roster, note);
    }
    if (found <= MPI_NAMED)
        return;
    PRINT (note, "MPI and the launcher also differ on the ranks of %zu more "
           "processes", found - MPI_NAMED);
    roster_add_note (roster, note);
}

static int open_out (const struct job_build *b, const char *out,
                     struct tree *ret, struct err *err)
{
    int rc;

    if (b->how.later)
        return tree_open_later (ret, out, FILEIO_DIR_MODE, err);
    rc = tree_make_out (out, FILEIO_DIR_MODE, b->how.foreign, err);
    return rc < 0 ? rc : tree_open (ret, out, err);
}

/* A result that cannot be read again has no digest; that is no failure. */
static int digest_rows (struct job_build *b, const struct tree *out,
                        const struct build_result *built, unsigned threads,
                        struct err *err)
{
    int rc = rows_digest_blocks (built->path, threads, b->how.cancel,
                                 &b->state.blocks, &b->rows, err);

    b->rows_known = rc == 0;
    former_keep_blocks (&b->state.blocks);
    if (rc == 0 && !*built->newer)
        build_state_write (&b->state, out);
    return rc == -EINTR ? rc : 0;
}

static int build_below (struct job_build *b, const struct tree *out,
                        unsigned threads, struct roster *roster,
                        struct build_result *ret, struct err *err)
{
    struct build_job job = {
        .items = b->items, .nitems = b->n, .roster = roster,
        .threads = threads, .feed = feed, .feed_arg = b,
        .cancel = b->how.cancel, .job_id = b->job, .derive = b->how.derive,
        .assumed = &b->assumed, .forget = b->forget, .began_ns = b->how.began_ns,
        .progress = b->how.progress, .progress_arg = b->how.progress_arg,
        .state = b->how.digest && !b->how.team ? &b->state : NULL,
    };
    const struct build_remote remote = {
        b->how.team, job_build_settings, job_build_order, job_build_took,
        job_build_bytes,
    };
    const struct build_progress beside = { .phase = RESULTS_PHASE };
    struct publish p;
    int rc = publish_open_in (&p, out, b->how.foreign, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < b->n; i++)
        b->fed += !b->items[i].skip;
    job.remote = b->how.team ? &remote : NULL;
    note_senders (b, roster);
    give_mpi (b, roster->world_size);
    note_mpi (b, roster);
    if (job.state)
        build_state_read (job.state, out);
    rc = build_run (&job, &p, ret, err);
    if (rc == 0 && b->how.progress)
        b->how.progress (b->how.progress_arg, &beside);
    if (rc == 0)
        rc = results_make (b->how.wanted, &p, threads, b->how.cancel, &b->results,
                           err);
    publish_close (&p);
    if (rc == 0 && b->how.digest)
        rc = digest_rows (b, out, ret, threads, err);
    b->world_size = strcmp (roster->known_by, "guess") == 0
                        ? -1 : roster->world_size;
    return rc < 0 || !b->raw ? rc : job_build_put_raw (b, out, err);
}

int job_build_run (struct job_build *b, const char *out, unsigned threads,
                   struct roster *roster, struct build_result *ret,
                   struct err *err)
{
    struct tree tree = { .fd = -1 };
    int rc = open_out (b, out, &tree, err);

    if (rc == 0)
        rc = build_below (b, &tree, threads, roster, ret, err);
    tree_close (&tree);
    return rc;
}

struct job_origin job_build_about (const struct job_build *b)
{
    struct job_origin a = build_origin (b->items, b->n);

    if (b->forget)
        memset (a.command, 0, sizeof (a.command));
    return a;
}

bool job_build_is_of (const struct job_build *b, const char *user)
{
    return build_is_of (b->items, b->n, user);
}

const struct digest *job_build_rows (const struct job_build *b)
{
    return b->rows_known ? &b->rows : NULL;
}

bool job_build_any_rows (const struct job_build *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (has_rows (&b->items[i]))
            return true;
    }
    return false;
}
