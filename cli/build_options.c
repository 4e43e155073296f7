/* cli/build_options.c - the options of rollcall build */
#include "build.h"

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct build_options),
    CLI_STATE_OPTION (struct build_options, state,
      "Local directory of runs, which is searched for data of a run."),
    OPTION (TEXT, "out", 'o', struct build_options, out, "DIR", NULL, NULL,
      "Write into DIR/cluster_analysis_output instead of ROOT/jobs/JOB. Works "
      "also while an aggregator serves ROOT."),
    OPTION_NUMBER ("world-size", 'n', struct build_options, world_size, "N",
      "0", NULL, 0, CAPTURE_WORLD_LIMIT,
      "Expect ranks 0 to N-1, whatever agents reported; 0: the number that "
      "agents and captures report."),
    OPTION_NUMBER ("threads", 'j', struct build_options, threads, "N", NULL,
      "ROLLCALL_THREADS", 1, BUILD_THREADS_MAX,
      "Threads of a job's build, on each host. Without it: 2, or, if mpirun has "
      "started several processes, as many as the host has processors."),
    OPTION_SWITCH ("all", 'a', struct build_options, all,
      "Build each job whose result is missing, was not finished, lacks something "
      "that was delivered, or is of another version of rollcall."),
    OPTION_NUMBER_BESIDE ("all", "at-once", struct build_options, at_once, "N",
      "0", NULL,
      0, BUILD_THREADS_MAX, "With --all: so many jobs at once; 0: one for each "
      "--threads processors."),
    OPTION_BESIDE ("all", TEXT, "share", struct build_options, share, "I/N",
      NULL, NULL,
      "With --all: of N shares of the jobs only share I. Shares 0/N to (N-1)/N "
      "have all jobs together, each in one of them, by its name. Without it: "
      "all, or with --out in a task of an array of Slurm the task's share."),
    CLI_FOREIGN_OPTION (struct build_options, foreign),
    MAX_RANKS_OPTION (struct build_options, max_ranks),
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
