/* cli/verb_build.c - rollcall build: build a job's results again from stored
 * rows
 */
#include "build.h"
#include "run/run.h"

#include "base/units.h"
#include "catalogue/catalogue.h"
#include "json/json.h"
#include "shared/progress.h"
#include "store/fileio.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct build_options),
    CLI_STATE_OPTION (struct build_options, state,
      "Local directory of runs, which is searched for data of a run."),
    OPTION (TEXT, "out", 'o', struct build_options, out, "DIR", NULL, NULL,
      "Write into DIR/cluster_analysis_output instead of ROOT/jobs/JOB. Works "
      "also while an aggregator serves ROOT."),
    OPTION_NUMBER ("world-size", 'n', struct build_options, world_size, "N",
      "0", NULL, 0, CAPTURE_WORLD_MAX,
      "Expect ranks 0 to N-1, whatever agents reported; 0: the number that "
      "agents and captures report."),
    OPTION_NUMBER ("threads", 'j', struct build_options, threads, "N", "2",
      "ROLLCALL_THREADS", 1, BUILD_THREADS_MAX, "Threads of a job's build."),
    OPTION_SWITCH ("all", 'a', struct build_options, all,
      "Build each job whose result is missing, lacks something that was "
      "delivered, or is of another version of rollcall."),
    OPTION_NUMBER ("at-once", 0, struct build_options, at_once, "N", "0", NULL,
      0, BUILD_THREADS_MAX, "With --all: so many jobs at once; 0: one for each "
      "--threads processors."),
    CLI_FOREIGN_OPTION (struct build_options, foreign),
    RESULTS_OPTION (struct build_options),
    CLI_DERIVE_OPTIONS (struct build_options, derive),
    CLI_FORMAT_OPTIONS (struct build_options),
};

const struct command_spec build_command = {
    "rollcall build", "[OPTION]... JOB | --all",
    "Build the results of a job again, or of all jobs that need it, from "
    "everything delivered to an aggregator.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&build_command, status, __VA_ARGS__)

static int verb_build_print (const struct build_options *opt,
                             const char *job, bool brief,
                             const struct build_result *result,
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

/* Note that the job was built, so that the aggregator does not build it again.
 * If that fails, the aggregator does.
 */
static void note_built (const struct archive *a, const char *job,
                        const struct build_outcome *o)
{
    struct ledger *l = NULL;
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), a->root, "ledger.db") &&
        ledger_open (path, &l, NULL) == 0)
        (void)ledger_set_built (l, job, o->seq, &o->rows, NULL);
    ledger_close (l);
}

/* A run's root is not a service's: tell where it is.  0: this host has no such
 * run.
 */
static int tell_run (const struct build_options *opt, const char *job)
{
    char state[PATH_MAX], dir[PATH_MAX], root[PATH_MAX];
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
                       "%s", job, opt->root, root, out, job);
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
    how->progress = progress->shown ? cli_progress_build : NULL;
    how->progress_arg = progress;
    roster_init (roster);
    rc = opt->world_size > 0
             ? roster_expect_world (roster, opt->world_size, "--world-size")
             : job_build_expect (b, claims, false, roster);
    job_build_say_fates (b, roster);
    return rc;
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
    if (rc == -EINTR)
        status = cli_interrupted (&build_command, "%s", !result.path[0]
                                  ? "nothing was written" : BUILD_DB_NAME
                                  " is written, but not all files that are "
                                  "made from it");
    else if (rc < 0)
        status = FAIL (cli_output_status (rc), "job %s: %s", job, err.text);
    else if ((status = verb_build_print (opt, job, brief, &result,
                                         job_build_results (b))) == 0)
        status = !job_build_any_rows (b) ? EX_DATAERR
                 : roster_complete (&roster) ? EXIT_ALL_PRESENT
                                             : EXIT_NOT_ALL;
    roster_fini (&roster);
    return status;
}

int build_one (const struct build_options *opt,
               const struct derive_options *derive, struct archive *a,
               const char *job, const char *out, bool brief,
               struct build_outcome *ret)
{
    struct err err = { "" };
    struct job_build *b = job_build_create (a->ledger, a->store, job, &err);
    struct size_claims claims;
    int status, said = ledger_size_claims (a->ledger, job, &claims, &err);
    int64_t open = ledger_count_open (a->ledger, job);

    *ret = (struct build_outcome){ ledger_newest (a->ledger, job, ITEM_ROWS),
                                   { { 0 } }, false };
    ledger_end_read (a->ledger);
    if (open > 0) {
        status = FAIL (EX_TEMPFAIL, "%lld capture%s that came as %s %s not yet "
                       "divided into jobs: an aggregator does that when it "
                       "serves %s", (long long)open, units_s ((uint64_t)open),
                       job, units_are ((uint64_t)open), a->root);
    } else if (!b || said < 0) {
        status = FAIL (EX_IOERR, "job %s: %s", job, err.text);
    } else if (job_build_captures (b) > 0) {
        job_build_options (b)->derive = derive;
        status = build_and_print (opt, b, &claims, job, out, brief, ret);
    } else if ((status = tell_run (opt, job)) == 0) {
        status = FAIL (EX_NOINPUT, "%s has nothing of a job %s: rollcall jobs "
                       "lists its jobs", a->root, job);
    }
    size_claims_fini (&claims);
    job_build_destroy (b);
    return status;
}

static int build_named (const struct build_options *opt,
                        const struct derive_options *derive, const char *job)
{
    struct build_outcome outcome;
    struct archive a;
    char out[PATH_MAX];
    int status = 0;

    if (!fileio_has (opt->root, "ledger.db"))
        status = tell_run (opt, job);
    if (status || (status = cli_open_archive (&build_command, opt->root,
                                              &a)) != 0)
        return status;
    if (snprintf (out, sizeof (out), "%s/jobs/%s", a.root, job) >=
        (int)sizeof (out))
        out[0] = '\0';
    status = build_one (opt, derive, &a, job, opt->out ? opt->out : out, false,
                        &outcome);
    if (outcome.built && !opt->out)     // the root is locked
        note_built (&a, job, &outcome);
    archive_close (&a);
    return status;
}

/* Two builds in one place would disturb each other. */
static int lock_root (const struct build_options *opt, int *lock)
{
    struct err err = { "" };

    // a directory that is no root stays as it is
    if (opt->out || !fileio_has (opt->root, "ledger.db") ||
        (*lock = root_lock (opt->root, false, &err)) >= 0)
        return 0;
    return *lock == -EBUSY
        ? FAIL (EX_TEMPFAIL, "%s; it builds by itself when it starts and "
                "whenever new data arrives; give -o DIR to build elsewhere",
                err.text)
        : FAIL (EX_CANTCREAT, "%s", err.text);
}

static int check_operands (const struct build_options *opt, int n,
                           char *const *operands)
{
    if (opt->all && n > 0)
        return FAIL (EXIT_USAGE, "unexpected argument \"%s\"", operands[0]);
    if (!opt->all && n != 1)
        return FAIL (EXIT_USAGE, "%s (usage: %s %s)", n == 0
                     ? "no job was given" : "name one job, or use --all",
                     build_command.name, build_command.usage);
    if (!opt->all && !cli_valid_job (operands[0]))
        return FAIL (EXIT_USAGE, "\"%s\" is not the name of a job",
                     operands[0]);
    if (opt->all && opt->world_size > 0)
        return FAIL (EXIT_USAGE, "--world-size is for one job, not for --all");
    return 0;
}

int verb_build (int argc, char **argv)
{
    struct build_options opt = { .root = NULL };
    struct err err = { "" };
    struct cli_derive derive;
    int rest, status, lock = -1;

    if (!cli_options (&build_command, argc, argv, &opt, &rest, &status))
        return status;
    if ((status = check_operands (&opt, argc - rest, argv + rest)) != 0)
        return status;
    if (results_parse (opt.only, &opt.wanted, &err) < 0)
        return FAIL (EXIT_USAGE, "--only: %s", err.text);
    if ((status = cli_derive_read (&build_command, &opt.derive, &derive)) != 0)
        return status;
    cli_catch_signals ();
    if ((status = lock_root (&opt, &lock)) == 0)
        status = opt.all ? build_every_job (&opt, &derive.options)
                         : build_named (&opt, &derive.options, argv[rest]);
    fileio_close (lock);
    cli_derive_fini (&derive);
    return status;
}
