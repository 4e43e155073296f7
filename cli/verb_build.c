/* cli/verb_build.c - rollcall build: build a job's results again from stored
 * rows
 */
#include "build.h"

#include "archive/root_control.h"
#include "mpi/team_verb.h"
#include "store/fileio.h"

#include <errno.h>

#define BUILD_THREADS_ALONE 2

#define FAIL(status, ...) cli_fail (&build_command, status, __VA_ARGS__)

/* Before the job is built ('o' NULL): note that what its result has is not
 * known.  Then what was built.
 */
static int note_built (const struct archive *a, const char *job,
                       const struct build_outcome *o)
{
    struct build_ledger l = { NULL, NULL };
    struct err err = { "" };
    int rc = build_ledger_open (&l, a->root, o != NULL, &err);

    if (rc == 0)
        rc = o ? build_ledger_note (&l, job, o, &err)
               : ledger_forget_rows (l.ledger, job, &err);
    build_ledger_close (&l);
    return rc < 0 ? FAIL (EX_IOERR, BUILD_NOT_NOTED, job, err.text) : 0;
}

static int build_named (const struct build_options *opt,
                        const struct derive_options *derive, const char *job)
{
    struct build_outcome outcome;
    struct archive a;
    char out[PATH_MAX];
    int status = 0;

    if (!fileio_has (opt->root, "ledger.db"))
        status = build_tell_run (opt, job);
    if (status || (status = cli_open_archive (&build_command, opt->root,
                                              &a)) != 0)
        return status;
    if (snprintf (out, sizeof (out), "%s/jobs/%s", a.root, job) >=
        (int)sizeof (out))
        out[0] = '\0';
    if (!opt->out && (status = note_built (&a, job, NULL)) != 0) {
        archive_close (&a);     // the root is locked
        return status;
    }
    status = build_one (opt, derive, &a, job, opt->out ? opt->out : out, false,
                        &outcome);
    if (outcome.built && !opt->out) {
        int noted = note_built (&a, job, &outcome);

        status = noted ? noted : status;
    }
    archive_close (&a);
    return status;
}

/* Two builds in one place would disturb each other. */
static int lock_root (const struct build_options *opt, int *lock)
{
    struct err err = { "" };

    // a directory that is no root stays as it is
    if (opt->out || !fileio_has (opt->root, "ledger.db"))
        return 0;
    if (root_check_backup (opt->root, &err) < 0)
        return FAIL (EX_NOPERM, "%s; -o DIR builds elsewhere", err.text);
    if (root_check_owner (opt->root, &err) < 0)
        return FAIL (EX_NOPERM, "%s; or give -o DIR", err.text);
    if ((*lock = control_lock (opt->root, false, CONTROL_LOCK_NS, &err)) >= 0)
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

/* Alone it is modest, as an aggregator beside it is; who starts processes wants
 * their processors.
 */
static void choose_threads (struct build_options *opt)
{
    opt->own_threads = opt->threads == 0;
    if (opt->own_threads)
        opt->threads = cli_team ? cli_processors () : BUILD_THREADS_ALONE;
}

int verb_build (int argc, char **argv)
{
    struct build_options opt = { .root = NULL };
    struct err err = { "" };
    struct cli_derive derive;
    int rest, status, lock = -1;

    if (!cli_options (&build_command, argc, argv, &opt, &rest, &status))
        return status;
    choose_threads (&opt);
    capture_world_max = opt.max_ranks;
    if (opt.world_size > capture_world_max)
        return FAIL (EXIT_USAGE, "--world-size is more than --max-ranks");
    if ((status = check_operands (&opt, argc - rest, argv + rest)) != 0)
        return status;
    if (results_parse (opt.only, &opt.wanted, &err) < 0)
        return FAIL (EXIT_USAGE, "--only: %s", err.text);
    if ((status = cli_derive_read (&build_command, &opt.derive, &derive)) != 0)
        return status;
    team_tell_binding (&build_command, opt.own_threads ? 0 : opt.threads);
    cli_catch_signals ();
    if ((status = lock_root (&opt, &lock)) == 0)
        status = opt.all ? build_every_job (&opt, &derive.options)
                         : build_named (&opt, &derive.options, argv[rest]);
    fileio_close (lock);
    cli_derive_fini (&derive);
    return status;
}
