/* cli/run/run_options.c - the options of rollcall run, and what they may be */
#include "run/run.h"

#include "offline_analysis/analyser.h"
#include "builder/derive_options.h"
#include "builder/results.h"
#include "disk/release.h"
#include "model/capture.h"

#include <stddef.h>
#include <string.h>

static const struct option_spec options[] = {
    OPTION (TEXT, "out", 'o', struct run_options, out, "OUT", ".", NULL,
      "Write results into OUT/cluster_analysis_output."),
    OPTION (LIST, "watch", 'w', struct run_options, watch, "DIR", NULL, NULL,
      "Look for captures below DIR too (besides $ROLLCALL_CAPTURE_DIR and "
      "COMMAND's working directory). May be repeated."),
    OPTION (DURATION, "deadline", 'd', struct run_options, deadline_ns, "TIME",
      "120s", "ROLLCALL_DEADLINE",
      "How long to wait for captures after the last COMMAND has ended."),
    OPTION (TEXT, "child", 0, struct run_options, child, "KIND", "auto", NULL,
      "What COMMAND is. plain: it does not call MPI_Init, so the wrappers may "
      "use MPI. mpi: it calls MPI_Init. auto: either; MPI is left to it unless "
      "its ranks have no other way to meet."),
    OPTION (TEXT, "launcher", 'l', struct run_options, launcher, "WORDS", NULL,
      NULL,
      "Start the wrappers with this command, as in \"mpirun -np 8\"; for MPI "
      "programs on hosts that share no OUT."),
    CLI_FOREIGN_OPTION (struct run_options, foreign),
    MAX_RANKS_OPTION (struct run_options, max_ranks),
    RESULTS_OPTION (struct run_options),
    ONE_FILE_OPTION (struct run_options, one_file),
    OPTION_SWITCH ("raw", 0, struct run_options, raw,
      "Put the raw capture files into OUT/captures too."),
    OPTION_SWITCH_BESIDE ("raw", "owner", struct run_options, owner,
      "With --raw: keep owner and group of the raw files, too, as numbers: as "
      "root, they are restored in OUT/captures."),
    OPTION (TEXT, "release", 0, struct run_options, release, "WHEN", NULL, NULL,
      "When delivered captures are removed from the directories that this run "
      "made: never, shipped, after=TIME, when-full. Without it: shipped with "
      "--raw, never without."),
    OPTION (TEXT, "compress", 0, struct run_options, compress, "CODEC", "lz4",
      "ROLLCALL_COMPRESS", PACK_COMPRESS_HELP),
    OPTION (BYTES, "max-rate", 0, struct run_options, max_rate, "BYTES", "0",
      "ROLLCALL_MAX_RATE",
      "How many bytes each node ships in a second at most, as 10MB; 0: no "
      "limit."),
    OPTION (BYTES, "expect-bytes", 0, struct run_options, expect_bytes, "BYTES",
      "0", NULL,
      "How much raw data the profilers of a node will write, as 10GB: warn "
      "before the start if less than 20 times as much is free."),
    OPTION (FLAG, "insecure", 0, struct run_options, insecure, NULL, NULL,
      "ROLLCALL_INSECURE",
      "Use no keys: anybody who can reach the aggregator's port can deliver "
      "data, and anybody on the network path can read and alter everything. "
      "Without it each run has keys of its own."),
    OPTION (TEXT, "interface", 0, struct run_options, interface, "NAME", NULL,
      "ROLLCALL_INTERFACE",
      "Announce the addresses of this network interface only."),
    OPTION (TEXT, "port", 0, struct run_options, ports, "A-B", NULL,
      "ROLLCALL_PORT", "Listen on a port of this range."),
    CLI_STATE_OPTION (struct run_options, state,
      "Local directory for captures and daemons of runs. Without it: "
      "rollcall-UID in $TMPDIR or /tmp, or as FILES says."),
    OPTION (DURATION, "quiet-period", 0, struct run_options, quiet_ns, "TIME",
      "60s", "ROLLCALL_QUIET_PERIOD",
      "While COMMAND runs, a capture without analyse.done is finished when "
      "nothing in it has changed for this long."),
    ANALYSER_OPTIONS (struct run_options),
    OPTION (ENDPOINTS, "aggregator", 'a', struct run_options, aggregator,
      "ENDPOINT,...", NULL, NULL,
      "Deliver to an aggregator that is already running."),
    OPTION (TEXT, "aggregators", 0, struct run_options, aggregators, "LIST",
      NULL, NULL,
      "Deliver to one of several aggregators that are already running: a list "
      "with commas, as \"tcp://A:7077 KEY,tcp://B:7077 KEY\", or the name of a "
      "file with a line for each; see rollcall-agent(8), SEVERAL "
      "AGGREGATORS."),
    OPTION_NUMBER_BESIDE ("aggregators", "copies", struct run_options, copies, "N",
      "1", NULL, 1, ENDPOINT_COPIES_MAX,
      "Deliver to so many of the --aggregators. 2, while only one is there: the "
      "second copy is in the object store of that one."),
    OPTION_NUMBER_BESIDE ("aggregators", "spread", struct run_options, spread, "N",
      "0", NULL, 0, CAPTURE_WORLD_LIMIT,
      "In runs with more ranks than this, the raw files of each host go to one "
      "of the --aggregators; 0: each run goes whole to one."),
    OPTION_BESIDE ("aggregators", DURATION, "away", struct run_options, away_ns,
      "TIME", "30s", NULL,
      "One of the --aggregators that was not heard for so long is away: the "
      "next one stands in for it."),
    OPTION (TEXT, "job", 'J', struct run_options, job, "ID", NULL, NULL,
      "The job's id, instead of a new one."),
    OPTION_SWITCH ("launched", 0, struct run_options, launched,
      "Passed by --launcher to the wrappers that it starts: the aggregator is "
      "that of this run, and will say when it is over."),
    OPTION (TEXT, "finish", 0, struct run_options, finish, "DIR", NULL, NULL,
      "Passed by rollcall wait: restart the daemons of the run in this "
      "directory, which died before the run was over."),
    CLI_FORMAT_OPTIONS (struct run_options),
};

const struct command_spec run_command = {
    "rollcall run", "[OPTION]... [--] COMMAND [ARGUMENT]...",
    "Run COMMAND, one of the processes of a parallel job, and collect the "
    "captures of all ranks: mpirun -np 8 rollcall run -- COMMAND.",
    options, sizeof (options) / sizeof (options[0]),
};

/* A name that is safe as that of a directory. */
static bool is_job_id (const char *job)
{
    size_t n = strlen (job);

    return n > 0 && n < WORLD_TEXT_MAX / 2 && job[0] != '.' &&
           strspn (job, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789._-") == n;
}

int run_check_options (const struct run_options *opt)
{
    const char *command = opt->analyse.command;
    struct err err = { "" };
    enum chunk_codec codec;
    unsigned wanted;

    if (run_check_net (opt, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (opt->job && !is_job_id (opt->job))
        return RUN_FAIL (EXIT_USAGE, "--job: \"%s\" is not an id of less than "
                         "%d letters, digits, '.', '_' and '-', the first no "
                         "'.'", opt->job, WORLD_TEXT_MAX / 2);
    if (opt->release && !release_parse (opt->release,
                                        &(struct release_policy){ 0 }))
        return RUN_FAIL (EXIT_USAGE, "--release: use never, shipped, "
                         "after=TIME or when-full");
    if (results_parse (opt->only, &wanted, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "--only: %s", err.text);
    if (opt->release && strcmp (opt->release, "never") != 0 && !opt->raw)
        return RUN_FAIL (EXIT_USAGE, "--release %s needs --raw: captures are "
                         "removed only when their raw files were delivered "
                         "too", opt->release);
    if (pack_parse_codec (opt->compress, &codec, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (analyser_check (&opt->analyse, &err) < 0)
        return RUN_FAIL (EXIT_USAGE, "%s", err.text);
    if (command && command[0] != '/' &&
        memchr (command, '/', strcspn (command, " ")))
        return RUN_FAIL (EXIT_USAGE, "--analyse-with: it is run in another "
                         "directory: give the program's full path");
    if (opt->away_ns < ENDPOINT_AWAY_MIN_NS)
        return RUN_FAIL (EXIT_USAGE, ENDPOINT_AWAY_RULE);
    if (opt->aggregator && opt->aggregators)
        return RUN_FAIL (EXIT_USAGE, "use --aggregator or --aggregators");
    // the wrappers that it starts have another one
    if (opt->launcher && (opt->aggregator || opt->aggregators))
        return RUN_FAIL (EXIT_USAGE, "--launcher starts an aggregator of its "
                         "own: to deliver to one that is running, write "
                         "LAUNCHER rollcall run --aggregator%s",
                         opt->aggregators ? "s" : "");
    if ((opt->aggregator || opt->aggregators) && !opt->job)
        return RUN_FAIL (EXIT_USAGE, "--aggregator%s needs --job",
                         opt->aggregators ? "s" : "");
    return 0;
}
