/* cli/build_one.c - build one job from stored rows, and say it */
#include "build.h"
#include "mpi/team_verb.h"
#include "run/run.h"

#include "archive/job_facts.h"
#include "options/shell.h"
#include "base/units.h"
#include "catalogue/catalogue.h"
#include "json/json.h"
#include "shared/progress.h"
#include "store/fileio.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define FAIL(status, ...) cli_fail (&build_command, status, __VA_ARGS__)

static int print_built (const struct build_options *opt, const char *job,
                        bool brief, const struct build_result *result,
                        const struct results *beside)
{
    char roll[SUMMARY_ROLL_MAX];
    struct err err = { "" };
    struct summary s;
    int rc = 0;

    if (summary_read_back (result->path, &s, &err) < 0)
        return FAIL (EX_SOFTWARE, "cannot read back %s: %s", result->path,
                     err.text);
    PRINT (s.kept, "%s", result->kept);
    s.beside = beside;
    summary_roll (&s, roll);
    if (brief)
        (void)printf ("%s: %s\n", job, roll);
    else
        rc = opt->json ? cli_print_json (summary_to_json (&s))
                       : summary_print_text (&s, STDOUT_FILENO);
    summary_fini (&s);
    return cli_flush (&build_command, rc);
}

int build_tell_run (const struct build_options *opt, const char *job)
{
    char state[PATH_MAX], dir[PATH_MAX], root[PATH_MAX];
    char words[2][SHELL_WORD (PATH_MAX)];
    struct json *j = NULL;
    const char *out;
    int status = 0;

    if (run_state_dir (opt->state, state, NULL) < 0 ||
        !run_find_aggregator (state, job, dir, &j) ||
        !fileio_join (root, sizeof (root), dir, "root")) {
        json_free (j);
        return 0;
    }
    out = json_text (json_get (j, "out"), NULL);
    if (out && access (root, F_OK) == 0)
        status = FAIL (EX_NOINPUT, "%s is a run of this host, not a job of %s; "
                       "this builds it again: rollcall build --root %s -o %s "
                       "%s", job, opt->root, shell_word (root, words[0]),
                       shell_word (out, words[1]), job);
    else if (out)
        status = FAIL (EX_NOINPUT, "%s is a run of this host: its delivered "
                       "data was removed when every rank was present in %s; "
                       "rollcall analyze makes its result again, from "
                       "%s/captures or from the captures on its hosts "
                       "(%s/captures)", job, out, out,
                       dir);
    json_free (j);
    return status;
}

static void say (void *progress, const char *sentence)
{
    cli_progress_phase (progress, "");
    (void)FAIL (0, "%s", sentence);
}

/* How the job is built, with the ranks that are expected. */
static int prepare (const struct build_options *opt, struct job_build *b,
                    const struct size_claims *claims,
                    struct cli_progress *progress, struct roster *roster)
{
    struct job_build_options *how = job_build_options (b);
    int rc;

    how->wanted = opt->wanted;
    how->foreign = opt->foreign;
    how->cancel = &cli_cancelled;
    how->digest = !opt->out;
    how->team = cli_team;
    how->own_threads = opt->own_threads;
    how->progress = progress->shown ? cli_progress_build : NULL;
    how->progress_arg = progress;
    how->say = say;
    how->say_arg = progress;
    roster_init (roster);
    rc = opt->world_size > 0
             ? roster_expect_world (roster, opt->world_size, "--world-size")
             : job_build_expect (b, claims, false, roster);
    job_build_say_fates (b, roster);
    return rc < 0 ? rc : job_build_say_gone (b, roster);
}

/* Build what 'b' describes, and print the outcome. */
static int build_and_print (const struct build_options *opt,
                            struct job_build *b,
                            const struct size_claims *claims, const char *job,
                            const char *out, bool brief,
                            struct build_outcome *ret)
{
    struct err err = { "" };
    struct build_result result = { .rows = 0 };
    struct roster roster;
    struct cli_progress progress = { .shown = false };
    int rc, status;

    if (!brief)
        cli_progress_begin (&progress);
    rc = prepare (opt, b, claims, &progress, &roster);
    if (rc == 0)
        rc = job_build_run (b, out, (unsigned)opt->threads, &roster, &result,
                            &err);
    cli_progress_phase (&progress, "");
    ret->built = rc == 0;
    if (rc == 0 && !opt->out)   // the root is locked
        catalogue_note_build (opt->root, job);
    if (job_build_rows (b))
        ret->rows = *job_build_rows (b);
    ret->about = job_build_about (b);
    ret->one_user = job_build_is_of (b, ret->about.user);
    if (rc == -EINTR)
        status = cli_interrupted (&build_command, "%s", !result.path[0]
                                  ? "nothing was written" : BUILD_DB_NAME
                                  " is written, but not all files that are "
                                  "made from it");
    else if (rc < 0)
        status = FAIL (cli_output_status (rc), "job %s: %s", job, err.text);
    else if ((status = print_built (opt, job, brief, &result,
                                    job_build_results (b))) == 0)
        status = !job_build_any_rows (b) ? EX_DATAERR
                 : roster_complete (&roster) ? EXIT_ALL_PRESENT
                                             : EXIT_NOT_ALL;
    roster_fini (&roster);
    return status;
}

int build_ledger_open (struct build_ledger *l, const char *root, bool store,
                       struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    rc = ledger_open (path, &l->ledger, err);
    return rc < 0 || !store ? rc
                            : store_open (root, l->ledger, &l->store, err);
}

void build_ledger_close (struct build_ledger *l)
{
    store_close (l->store);
    ledger_close (l->ledger);
}

int build_ledger_note (struct build_ledger *l, const char *job,
                       const struct build_outcome *o, struct err *err)
{
    int rc = job_facts_note_build (l->ledger, l->store, job, &o->about,
                                   o->one_user, err);

    return rc < 0 ? rc : ledger_set_built (l->ledger, job, o->seq, &o->rows,
                                           err);
}

int build_one (const struct build_options *opt,
               const struct derive_options *derive, struct archive *a,
               const char *job, const char *out, bool brief,
               struct build_outcome *ret)
{
    struct err err = { "" };
    struct job_build *b;
    struct size_claims claims;
    int rc = job_build_create (a->ledger, a->store, job, (unsigned)opt->threads, &b,
                               &err), status;
    int said = ledger_size_claims (a->ledger, job, &claims,
                                   rc < 0 ? NULL : &err);
    int64_t open = ledger_count_open (a->ledger, job);

    *ret = (struct build_outcome){ .seq = ledger_newest (a->ledger, job,
                                                         ITEM_ROWS) };
    ledger_end_read (a->ledger);
    if (open > 0) {
        status = FAIL (EX_TEMPFAIL, "%lld capture%s that came as %s %s not yet "
                       "divided into jobs: an aggregator does that when it "
                       "serves %s", (long long)open, units_s ((uint64_t)open),
                       job, units_are ((uint64_t)open), a->root);
    } else if (!b || said < 0) {
        status = FAIL (rc == -EACCES || rc == -EPERM ? EX_NOPERM : EX_IOERR,
                       "job %s: %s", job, err.text);
    } else if (job_build_captures (b) > 0) {
        job_build_options (b)->derive = derive;
        status = build_and_print (opt, b, &claims, job, out, brief, ret);
    } else if ((status = build_tell_run (opt, job)) == 0) {
        status = cli_no_job (&build_command, a->root, job,
                             ": rollcall jobs lists its jobs");
    }
    size_claims_fini (&claims);
    job_build_destroy (b);
    return status;
}
