/* aggregator/service/aggregator_divide.c - divide a scope into jobs
 *
 * Agents that were told no job send under a scope.  When the scope is due, its
 * captures are assigned to jobs in one commit, before any of these jobs is
 * built.
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "store/fileio.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Other files in the directory belong to users, and stay. */
void aggregator_drop_result (struct aggregator *a, const char *job)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct err err = { "" };

    aggregator_name_out (a, job, dir);
    if (!fileio_join (path, sizeof (path), dir, PUBLISH_OUTPUT_DIR) ||
        access (path, F_OK) < 0)
        return;
    if (fileio_remove_tree (path, &err) < 0) {
        log_error ("stale-result", "%s: its job no longer has captures, but it "
                   "cannot be removed: %s", path, err.text);
        return;
    }
    (void)rmdir (dir);
    log_info ("no-job", "job %s no longer has captures or a result", job);
}

static int aggregator_divide_drop (void *arg, const char *job)
{
    aggregator_drop_result (arg, job);
    return 0;
}

int aggregator_drop_empty (struct aggregator *a, struct err *err)
{
    return ledger_each_empty_job (a->ledger, aggregator_divide_drop, a, err);
}

/* ---- after the commit ---- */

static void aggregator_divide_tell (const struct aggregator *a, const char *job)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "divided");
    const char *why = "";
    int64_t n = 0;

    for (size_t i = 0; i < a->divided.n; i++) {
        const struct ledger_assignment *x = &a->divided.assignments[i];

        if (strcmp (x->job, job) == 0) {
            n++;
            why = x->why;
        }
    }
    log_str (&l, "job", job);
    log_int (&l, "captures", n);
    if (*why)
        log_str (&l, "why", why);
    log_end (&l);
}

/* Warn about changed senders of the versions that were just assigned. */
static void tell_senders (struct aggregator *a, struct served *s)
{
    for (size_t i = 0; i < a->divided.n; i++) {
        const struct ledger_assignment *x = &a->divided.assignments[i];

        if (strcmp (x->job, s->job.id) == 0)
            aggregator_tell_sender (a, s, x->rank);
    }
}

/* Schedule the changed jobs: those that can be served are built in their turn,
 * the others when nothing else is due.
 */
static void build_jobs (struct aggregator *a, int64_t came_ns)
{
    const struct divide *d = &a->divided;

    for (size_t i = 0; i < d->njobs; i++) {
        struct served *s = NULL;

        aggregator_divide_tell (a, d->jobs[i]);
        if (ledger_newest (a->ledger, d->jobs[i], ITEM_ROWS) == 0)
            aggregator_drop_result (a, d->jobs[i]);
        else if (!(s = aggregator_job (a, d->jobs[i])))
            (void)aggregator_note_unbuilt (a, d->jobs[i]);
        if (s) {
            tell_senders (a, s);
            build_schedule_given (&s->schedule, came_ns);
        }
    }
}

int aggregator_commit_divided (struct aggregator *a,
                               enum transfer_phase phase, struct err *err)
{
    if (a->divided.n == 0)
        return 0;
    switch (phase) {
    case TRANSFER_APPEND:
        return divide_append (&a->divided, a->store, err);
    case TRANSFER_ENTER:
        return divide_enter (&a->divided, a->ledger, err);
    case TRANSFER_COMMITTED:
        a->divided_in = true;
        a->usage_stale = true;
        break;
    }
    return 0;
}

/* ---- deciding ---- */

/* Commit the assignments, with other data that arrived meanwhile.  0, or
 * negative if the ledger or the disk failed, which was logged.
 */
static int commit (struct aggregator *a, int64_t came_ns)
{
    a->divided_in = a->divided.n == 0;
    if (a->divided.n > 0) {
        transfers_due (a->transfers);
        aggregator_commit (a);
    }
    if (a->divided_in)
        build_jobs (a, came_ns);
    divide_fini (&a->divided);
    return a->divided_in ? 0 : -EIO;
}

int aggregator_divide (struct aggregator *a, const struct served *s,
                       int64_t came_ns, struct err *err)
{
    const char *scope = s->job.id;
    int rc;

    if (ledger_count_open (a->ledger, scope) == 0)      // a verb may have asked
        return ledger_newest (a->ledger, scope, aggregator_last_kind (a)) == 0;
    if (came_ns == 0)
        came_ns = a->began_ns;
    if ((rc = divide_scope (a->ledger, a->store, scope, a->opt->job_gap_ns,
                            &a->divided, err)) < 0) {
        log_error ("divide-failed", "%s: %s", scope, err->text);
        return rc;
    }
    if ((rc = commit (a, came_ns)) < 0)
        return err_set (err, -rc, "its captures could not be divided into jobs: "
                        "the ledger did not take that (event=commit-failed)");
    return ledger_newest (a->ledger, scope, aggregator_last_kind (a)) == 0;
}
