/* aggregator/job_build/job_build.c - build a job's analysis.db from its shipments
 */
#include "job_build/job_build_private.h"

#include "builder/former.h"
#include "publish/rows_digest.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    rc = job_sources_list (b, ledger, err);
    if (rc == 0)
        rc = look_at_job (b, ledger, err);
    if (rc == 0)
        rc = job_roll_read (b, ledger, err);
    if (rc == 0)
        rc = job_sources_look (b, threads, err);
    if (rc == 0)
        rc = job_build_choose_versions (b, err);
    if (rc < 0) {
        job_build_destroy (b);
        return rc;
    }
    b->ledger = NULL;           // a build runs in another thread
    b->agreed = job_roll_agreed (b);
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
    job_roll_free (b);
    free (b->items);
    job_sources_free (b);
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

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    int rc = job_build_feed_from (arg, source, NULL, NULL, sink, c, err);

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
        .say = b->how.say, .say_arg = b->how.say_arg,
        .state = b->how.digest && !b->how.team ? &b->state : NULL,
    };
    const struct build_remote remote = {
        b->how.team, job_build_settings, job_build_order, job_build_took,
        job_build_bytes, b->how.own_threads,
    };
    const struct build_progress beside = { .phase = RESULTS_PHASE };
    struct publish p;
    int rc = publish_open_in (&p, out, b->how.foreign, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < b->n; i++)
        b->fed += !b->items[i].skip;
    job.remote = b->how.team ? &remote : NULL;
    job_roll_note (b, roster);
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
        if (job_sources_has_rows (&b->items[i]))
            return true;
    }
    return false;
}
