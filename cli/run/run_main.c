/* cli/run/run_main.c - rollcall run: options, and which part this process plays
 *
 * A program of its own, so that the front door does not load MPI.  See
 * rollcall-run(1) for the forms in which it is called.
 */
#include "run/run.h"

#include "analyse/analyser.h"
#include "base/log.h"
#include "builder/results.h"
#include "disk/release.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option_spec options[] = {
    { "out", 'o', OPTION_TEXT, offsetof (struct run_options, out), "OUT", ".",
      NULL, 0, 0, "Write results into OUT/cluster_analysis_output." },
    { "watch", 'w', OPTION_LIST, offsetof (struct run_options, watch), "DIR",
      NULL, NULL, 0, 0,
      "Look for captures below DIR too (besides $ROLLCALL_CAPTURE_DIR and "
      "COMMAND's working directory). May be repeated." },
    { "deadline", 'd', OPTION_DURATION,
      offsetof (struct run_options, deadline_ns), "TIME", "120s",
      "ROLLCALL_DEADLINE", 0, 0,
      "How long to wait for captures after the last COMMAND has ended." },
    { "child", 0, OPTION_TEXT, offsetof (struct run_options, child), "KIND",
      "auto", NULL, 0, 0,
      "What COMMAND is. plain: it does not call MPI_Init, so the wrappers may "
      "use MPI. mpi: it calls MPI_Init. auto: either; MPI is left to it unless "
      "its ranks have no other way to meet." },
    { "launcher", 'l', OPTION_TEXT,
      offsetof (struct run_options, launcher), "WORDS", NULL, NULL, 0, 0,
      "Start the wrappers with this command, as in \"mpirun -np 8\"; for MPI "
      "programs on hosts that share no OUT." },
    CLI_FOREIGN_OPTION (struct run_options, foreign),
    RESULTS_OPTION (struct run_options),
    { "raw", 0, OPTION_FLAG, offsetof (struct run_options, raw), NULL, NULL,
      NULL, 0, 0, "Put the raw capture files into OUT/captures too." },
    { "release", 0, OPTION_TEXT, offsetof (struct run_options, release),
      "WHEN", NULL, NULL, 0, 0,
      "When delivered captures are removed from the directories that this run "
      "made: never, shipped, after=TIME, when-full. Without it: shipped with "
      "--raw, never without." },
    { "max-rate", 0, OPTION_BYTES, offsetof (struct run_options, max_rate),
      "BYTES", "0", "ROLLCALL_MAX_RATE", 0, 0,
      "How many bytes each node ships in a second at most, as 10MB; 0: no "
      "limit." },
    { "expect-bytes", 0, OPTION_BYTES,
      offsetof (struct run_options, expect_bytes), "BYTES", "0", NULL, 0, 0,
      "How much raw data the profilers of a node will write, as 10GB: warn "
      "before the start if less than 20 times as much is free." },
    { "insecure", 0, OPTION_FLAG, offsetof (struct run_options, insecure),
      NULL, NULL, "ROLLCALL_INSECURE", 0, 0,
      "Use no keys: anybody who can reach the aggregator's port can deliver "
      "data, and anybody on the network path can read and alter everything. "
      "Without it each run has keys of its own." },
    { "interface", 0, OPTION_TEXT,
      offsetof (struct run_options, interface), "NAME", NULL,
      "ROLLCALL_INTERFACE", 0, 0,
      "Announce the addresses of this network interface only." },
    { "port", 0, OPTION_TEXT, offsetof (struct run_options, ports), "A-B",
      NULL, "ROLLCALL_PORT", 0, 0, "Listen on a port of this range." },
    { "state", 0, OPTION_TEXT, offsetof (struct run_options, state), "DIR",
      NULL, "ROLLCALL_STATE_DIR", 0, 0,
      "Local directory for captures and daemons of runs. Without it: "
      "rollcall-UID in $TMPDIR or /tmp, or as FILES says." },
    { "quiet-period", 0, OPTION_DURATION,
      offsetof (struct run_options, quiet_ns), "TIME", "60s",
      "ROLLCALL_QUIET_PERIOD", 0, 0,
      "While COMMAND runs, a capture without analyse.done is finished when "
      "nothing in it has changed for this long." },
    ANALYSER_OPTIONS (struct run_options),
    { "aggregator", 'a', OPTION_ENDPOINTS,
      offsetof (struct run_options, aggregator), "ENDPOINT,...", NULL, NULL, 0,
      0, "Deliver to an aggregator that is already running." },
    { "job", 'J', OPTION_TEXT, offsetof (struct run_options, job), "ID", NULL,
      NULL, 0, 0, "The job's id, instead of a new one." },
    { "launched", 0, OPTION_FLAG, offsetof (struct run_options, launched),
      NULL, NULL, NULL, 0, 0,
      "Passed by --launcher to the wrappers that it starts: the aggregator is "
      "that of this run, and will say when it is over." },
    { "finish", 0, OPTION_TEXT, offsetof (struct run_options, finish), "DIR",
      NULL, NULL, 0, 0,
      "Passed by rollcall wait: restart the daemons of the run in this "
      "directory, which died before the run was over." },
    CLI_FORMAT_OPTIONS (struct run_options),
};

const struct command_spec run_command = {
    "rollcall run", "[OPTION]... [--] COMMAND [ARGUMENT]...",
    "Run COMMAND, one of the processes of a parallel job, and collect the "
    "captures of all ranks: mpirun -np 8 rollcall run -- COMMAND.",
    options, sizeof (options) / sizeof (options[0]),
};

/* ---- the parts ---- */

static int start_collection (struct run *r)
{
    struct err err = { "" };

    if ((run_is_served (r) ? run_make_new_dir (r, &err)
                           : run_make_dir (r, &err)) < 0)
        return RUN_FAIL (EX_CANTCREAT, "%s", err.text);
    run_warn_of_disk (r);
    if (r->listener >= 0 && (run_save_options (r, &err) < 0 ||
                             run_start_aggregator (r, &err) < 0))
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
    char state[PATH_MAX + 16];

    if (r->way == RUN_WAY_ALONE)
        return;
    (void)fprintf (r->opt->json ? stderr : stdout, "%s%s (if the job is ended: "
                   "rollcall wait %s%s, there)\n",
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

    run_choose_way (r);
    r->all_interfaces = r->world.local_size != r->world.size &&
                        !run_is_local_only (r->opt);
    if (r->opt->aggregator) {
        (void)snprintf (r->job, sizeof (r->job), "%s", r->opt->job);
        (void)snprintf (r->endpoints, sizeof (r->endpoints), "%s",
                        r->opt->aggregator);
    } else {
        status = r->way == RUN_WAY_MPI ? run_discover (r)
                                       : run_meet_by_files (r);
    }
    if (status != 0 || (status = start_collection (r)) != 0)
        return status;
    // whoever has found it by a file has asked it before
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

/* A name that is safe as that of a directory. */
static bool is_job_id (const char *job)
{
    size_t n = strlen (job);

    return n > 0 && n < WORLD_TEXT_MAX / 2 && job[0] != '.' &&
           strspn (job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-") == n;
}

static int check_options (const struct run_options *opt)
{
    const char *command = opt->analyse.command;
    struct err err = { "" };
    unsigned wanted;

    if (run_check_net (opt, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (opt->job && !is_job_id (opt->job))
        return RUN_FAIL (EXIT_USAGE, "--job: \"%s\" is not an id of less than "
                         "%d letters, digits, '.', '_' and '-', the first no "
                         "'.'", opt->job, WORLD_TEXT_MAX / 2);
    if (opt->release && !release_parse (opt->release,
                                        &(struct release_policy){ 0 }))
        return RUN_FAIL (EXIT_USAGE, "--release: one of never, shipped, "
                         "after=TIME, when-full");
    if (results_parse (opt->only, &wanted, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "--only: %s", err.text);
    if (opt->release && strcmp (opt->release, "never") != 0 && !opt->raw)
        return RUN_FAIL (EXIT_USAGE, "--release %s needs --raw: captures are "
                         "removed only when their raw files were delivered "
                         "too", opt->release);
    if (analyser_check (&opt->analyse, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (command && command[0] != '/' &&
        memchr (command, '/', strcspn (command, " ")))
        return RUN_FAIL (EXIT_USAGE, "--analyse-with: it is run in another "
                         "directory: give the program's full path");
    if (opt->aggregator && !opt->job)
        return RUN_FAIL (EXIT_USAGE, "--aggregator needs --job");
    return 0;
}

int main (int argc, char **argv)
{
    struct run_options opt = { .out = NULL };
    struct run r = { .opt = &opt, .listener = -1, .launch = { -1, -1 },
                     .parent = getppid () };
    struct err err = { "" };
    int rest, status;

    fileio_open_std ();
    (void)umask (umask (077) | 027);    // COMMAND's too: at least this
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
    host_name (r.host, sizeof (r.host));
    host_key (r.key);
    if (opt.finish)
        return run_finish (&r, opt.finish);
    if (rest == argc)
        return RUN_FAIL (EXIT_USAGE, "which COMMAND? (usage: %s %s)",
                         run_command.name, run_command.usage);
    r.command = argv + rest;
    if ((status = check_options (&opt)) != 0 ||
        (status = run_choose_child (&r)) != 0)
        return status;
    if (opt.launcher)
        return front_end (&r);
    if (run_import_keys (&r, &err) < 0 ||
        world_from_environment (&r.world, &err) < 0)
        return RUN_FAIL (EX_CONFIG, "%s", err.text);
    return wrapper (&r);
}
