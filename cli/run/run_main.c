/* cli/run/run_main.c - rollcall run: which part this process plays
 *
 * A program of its own, so that the front door does not load MPI.  See
 * rollcall-run(1) for the forms in which it is called.
 */
#include "run/run.h"

#include "base/log.h"
#include "model/capture.h"
#include "store/fileio.h"

#include <errno.h>
#include <net/if.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int start_collection (struct run *r)
{
    struct err err = { "" };
    int rc;

    if ((run_is_served (r) ? run_make_new_dir (r, &err)
                           : run_make_dir (r, &err)) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    run_warn_of_disk (r);
    if (r->listener >= 0 && (rc = run_save_options (r, &err)) < 0)
        return RUN_FAIL (cli_output_status (rc), "%s", err.text);
    if (r->listener >= 0 && run_start_aggregator (r, &err) < 0)
        return RUN_FAIL (EX_OSERR, "%s", err.text);
    return 0;
}

/* The first line, so that `rollcall wait` can pick up. */
static void print_job (const struct run *r)
{
    if (r->opt->json)
        (void)fprintf (stderr, "job %s\n", r->job);
    else
        (void)printf ("job           %s\n", r->job);
    (void)fflush (stdout);
}

/* Whoever ends the launcher may get no other word: wrappers are killed with it,
 * before they can speak.
 */
static void print_host (const struct run *r)
{
    char state[RUN_STATE_OPTION];

    if (r->way == RUN_WAY_ALONE)
        return;
    (void)fprintf (r->opt->json ? stderr : stdout, "%s%s (if the launcher dies, "
                   "call there: rollcall wait %s%s)\n",
                   r->opt->json ? "host " : "host          ", r->host, r->job,
                   run_state_option (r, state));
    (void)fflush (stdout);
}

static int front_end (struct run *r)
{
    struct world_bulletin b;
    int status;

    r->all_interfaces = !run_is_local_only (r->opt);
    run_fill_bulletin (r, &b);
    if (!b.ok)
        return RUN_FAIL (b.status, "%s", b.why);
    if (pipe2 (r->launch, O_CLOEXEC) < 0)
        return RUN_FAIL (EX_OSERR, "cannot make a pipe: %s", strerror (errno));
    if ((status = start_collection (r)) != 0)
        return status;
    print_job (r);
    print_host (r);
    return run_launch (r);
}

static int wrapper (struct run *r)
{
    struct err err = { "" };
    int status = 0;

    r->way = run_choose_way (r);
    // where it is not used, a wrong one would not be noticed
    if (r->world.local_size == r->world.size && r->opt->interface &&
        if_nametoindex (r->opt->interface) == 0)
        return RUN_FAIL (EXIT_USAGE, "--interface: there is no network "
                         "interface named %s", r->opt->interface);
    r->all_interfaces = r->world.local_size != r->world.size &&
                        !run_is_local_only (r->opt);
    if (r->opt->aggregator) {
        PRINT (r->job, "%s", r->opt->job);
        if (r->opt->aggregator != r->endpoints)
            PRINT (r->endpoints, "%s", r->opt->aggregator);
        if (!r->opt->launched && r->world.rank == 0 &&
            strcmp (r->opt->out, ".") != 0)
            (void)RUN_FAIL (0, "-o %s means nothing with --aggregator: that "
                            "service has the result (rollcall show %s)",
                            r->opt->out, r->job);
    } else {
        status = r->way == RUN_WAY_MPI ? run_discover (r)
                                       : run_meet_by_files (r);
    }
    if (status != 0 || (status = start_collection (r)) != 0)
        return status;
    // an aggregator found by a file was probed before
    if (!r->endpoint[0] && run_probe (r, &err) < 0)
        return RUN_FAIL (EX_UNAVAILABLE, "%s", err.text);
    if (run_check_keys (r, &err) < 0)
        return RUN_FAIL (EX_CONFIG, "%s", err.text);
    if (r->owns_aggregator) {
        print_job (r);
        print_host (r);
        run_print_way (r);
    }
    status = run_wrap (r);
    if (r->owns_aggregator)
        run_remove_meeting (r);
    return status;
}

int main (int argc, char **argv)
{
    struct run_options opt = { .out = NULL };
    struct run r = { .opt = &opt, .listener = -1, .launch = { -1, -1 },
                     .parent = getppid () };
    struct err err = { "" };
    int rest, status;

    fileio_open_std ();
    (void)umask (umask (077) | 027);    // at least this strict, also in COMMAND
    log_setup ("rollcall", LOG_LEVEL_INFO);
    switch (options_parse (&run_command, argc, argv, true, &opt, &rest,
                           &err)) {
    case OPTIONS_DONE:
        return options_done (run_command.name);
    case OPTIONS_USAGE:
        return RUN_FAIL (EXIT_USAGE, "%s (rollcall run --help says more)",
                         err.text);
    case OPTIONS_OK:
        break;
    }
    capture_world_max = opt.max_ranks;
    host_name (r.host, sizeof (r.host));
    host_key (r.key);
    if (opt.finish)
        return run_finish (&r, opt.finish);
    if (rest == argc)
        return RUN_FAIL (EXIT_USAGE, "which COMMAND? (usage: %s %s)",
                         run_command.name, run_command.usage);
    r.command = argv + rest;
    if ((status = run_check_options (&opt)) != 0 ||
        (status = run_choose_child (&r)) != 0)
        return status;
    if ((status = run_read_targets (&r, &opt, &err)) < 0)
        return RUN_FAIL (status == -EAGAIN ? EX_TEMPFAIL : EX_CONFIG, "%s",
                         err.text);
    if (opt.launcher)
        return front_end (&r);
    if (run_import_keys (&r, &err) < 0 ||
        world_from_environment (&r.world, &err) < 0)
        return RUN_FAIL (EX_CONFIG, "%s", err.text);
    return wrapper (&r);
}
