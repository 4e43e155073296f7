/* node_agent/agent/agent_main.c - rollcall-agent: options */
#include "agent/agent.h"

#include "offline_analysis/analyser.h"
#include "base/clock.h"
#include "base/log.h"
#include "model/capture.h"
#include "net/endpoints.h"
#include "net/message.h"
#include "disk/disk_quota.h"
#include "spool/spool.h"
#include "disk/release.h"
#include "store/fileio.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>

#define SCOPE_DEFAULT "default"         // of services that were given no job

static const struct option_spec options[] = {
    OPTION (ENDPOINT, "aggregator", 'a', struct agent_options, aggregator,
      "ENDPOINT", "tcp://127.0.0.1:7077", "ROLLCALL_AGGREGATOR",
      "Where the aggregator listens: tcp://ADDRESS:PORT."),
    OPTION (TEXT, "aggregators", 0, struct agent_options, aggregators, "LIST",
      NULL, "ROLLCALL_AGGREGATORS",
      "Deliver to one of several aggregators: a list with commas, as "
      "\"tcp://A:7077 KEY,tcp://B:7077 KEY\", or the name of a file with a "
      "line for each; KEY is its public key, or a file; srv:NAME asks DNS. "
      "See SEVERAL AGGREGATORS."),
    OPTION_NUMBER ("copies", 0, struct agent_options, copies, "N", "1",
      "ROLLCALL_COPIES", 1, SPOOL_COPIES_MAX,
      "Deliver to so many of the --aggregators: what is acknowledged by all of "
      "these is delivered. 2, while only one is there: it is kept until it is "
      "in the object store of that one, too."),
    OPTION_NUMBER_BESIDE ("aggregators", "spread", struct agent_options, spread,
      "N", "0", "ROLLCALL_SPREAD", 0, CAPTURE_WORLD_LIMIT,
      "Jobs of more ranks than this (--world-size) are divided: raw files go to "
      "one of the --aggregators by host, rows and reports to the one of the "
      "job. 0: each job goes whole to one."),
    OPTION (DURATION, "away", 0, struct agent_options, away_ns, "TIME", "30s",
      "ROLLCALL_AWAY",
      "One of the --aggregators that was not heard for so long is away: the "
      "next one stands in for it."),
    OPTION (TEXT, "job", 'J', struct agent_options, job, "ID", NULL,
      "ROLLCALL_JOB",
      "The job of the captures. Without it, the aggregator divides them into "
      "jobs by their content."),
    OPTION (TEXT, "state", 0, struct agent_options, state, "DIR",
      SPOOL_STATE_DEFAULT, SPOOL_STATE_VARIABLE,
      "Where the spool is kept; must be on a local disk."),
    OPTION_SWITCH ("once", '1', struct agent_options, once,
      "Ship the captures that exist, and end. With --run-dir: deliver what that "
      "run, which is over, has left, as rollcall run says it."),
    OPTION (LIST, "watch", 'w', struct agent_options, watch, "DIR", NULL, NULL,
      "Watch this directory; the same as giving it as an argument."),
    OPTION_SWITCH ("raw", 0, struct agent_options, raw,
      "Ship the raw files of the captures too: all of them, or those that the "
      "aggregator wants (its --want-raw)."),
    OPTION_SWITCH_BESIDE ("raw", "owner", struct agent_options, owner,
      "Ship owner and group of the raw files, too, as numbers: rollcall archive "
      "get --owner restores them."),
    OPTION (DURATION, "quiet-period", 0, struct agent_options, quiet_ns, "TIME",
      "60s", "ROLLCALL_QUIET_PERIOD",
      "A capture without analyse.done is finished when nothing in it has "
      "changed for this long."),
    ANALYSER_OPTIONS (struct agent_options),
    OPTION (ROOM, "spool-quota", 0, struct agent_options, spool_quota, "SIZE",
      NULL, "ROLLCALL_SPOOL_QUOTA",
      "How much the spool may hold, in bytes or as a share of its file system: "
      "20GB, 5%. Without it: 10 GiB, but at most a tenth of the file system."),
    OPTION (ROOM, "disk-floor", 0, struct agent_options, disk_floor, "SIZE",
      NULL, "ROLLCALL_DISK_FLOOR",
      "Put nothing into the spool while its file system has less free space "
      "than this; warn if a capture's file system has less. Without it: 1 GiB, "
      "but at most a tenth of the file system."),
    OPTION (TEXT, "when-full", 0, struct agent_options, when_full, "POLICY",
      "block", "ROLLCALL_WHEN_FULL",
      "What to do when quota or floor is reached: block, "
      "drop-oldest-shipped or refuse; see WHEN A DISK IS FULL."),
    OPTION (TEXT, "release", 0, struct agent_options, release, "WHEN", "never",
      "ROLLCALL_RELEASE",
      "When delivered captures are removed: never, shipped, after=TIME or "
      "when-full. Needs --raw. In a run it applies to the directories that the "
      "run made."),
    OPTION_SWITCH ("release-rows-only", 0, struct agent_options,
      release_rows_only,
      "Allow --release of captures whose raw files are not delivered, since "
      "there is no --raw or the aggregator does not want them: the raw files "
      "of complete captures are lost then."),
    OPTION (TEXT, "cpu-budget", 0, struct agent_options, cpu_budget, "PERCENT",
      "1%", "ROLLCALL_CPU_BUDGET",
      "The share of all CPUs of the node that reading and hashing may take "
      "while the job runs."),
    OPTION (DURATION, "backlog-limit", 0, struct agent_options,
      backlog_limit_ns, "TIME", "60s", "ROLLCALL_BACKLOG_LIMIT",
      "Captures that have waited for this long are read at nice 19, not only "
      "when the node is idle."),
    OPTION (TEXT, "compress", 0, struct agent_options, compress, "CODEC", "lz4",
      "ROLLCALL_COMPRESS", PACK_COMPRESS_HELP),
    OPTION (BYTES, "max-rate", 0, struct agent_options, max_rate, "BYTES", "0",
      "ROLLCALL_MAX_RATE",
      "How many bytes to ship in a second at most, as 10MB; 0: no limit."),
    OPTION (FLAG, "hold", 0, struct agent_options, hold, NULL, NULL,
      "ROLLCALL_HOLD",
      "Read no capture and ship no raw file while another capture is being "
      "written here, until the backlog limit."),
    OPTION (TEXT, "key", 0, struct agent_options, key, "FILE", NULL,
      "ROLLCALL_KEY",
      "This node's key, made by rollcall key new, and enrolled at the "
      "aggregator. Needed for an aggregator on another host."),
    OPTION (TEXT, "server-key", 0, struct agent_options, server_key, "KEY",
      NULL, "ROLLCALL_SERVER_KEY",
      "The aggregator's public key: its server.pub, or the 40 characters. The "
      "file is read again if the aggregator shows another key."),
    OPTION_SWITCH ("insecure", 0, struct agent_options, insecure,
      "Use no keys, even to another host: anybody on the network path can read "
      "and alter everything or pretend to be the aggregator."),
    OPTION (TEXT, "run-dir", 0, struct agent_options, run_dir, "DIR", NULL,
      NULL,
      "Be part of a run: serve the wrappers that connect to DIR/agent.sock, "
      "and end with the run."),
    MAX_RANKS_OPTION (struct agent_options, max_ranks),
    OPTION_NUMBER ("world-size", 'n', struct agent_options, world_size, "N",
      "0", NULL, 0, CAPTURE_WORLD_LIMIT,
      "How many ranks the run has; 0: unknown."),
    OPTION (DURATION, "deadline", 0, struct agent_options, deadline_ns, "TIME",
      "120s", NULL, "How long a run waits after the last COMMAND has ended."),
    OPTION_NUMBER ("local-size", 0, struct agent_options, local_size, "N", "0",
      NULL, 0, CAPTURE_WORLD_LIMIT,
      "How many ranks of the run are on this host; 0: unknown."),
    OPTION_SWITCH ("no-roll", 0, struct agent_options, no_roll,
      "The run's aggregator is a service, which does not say when the run is "
      "over: end when everything of this host is delivered, or at the "
      "deadline."),
};

static const struct command_spec command = {
    "rollcall-agent", "[OPTION]... [DIR]...",
    "Watch directories for captures, read them, and deliver the rows to an "
    "aggregator; nothing is given up before it is acknowledged.",
    options, sizeof (options) / sizeof (options[0]),
};

static int usage (const char *text)
{
    (void)fprintf (stderr, "rollcall-agent: %s (rollcall-agent --help says "
                   "more)\n", text);
    return 2;
}

int main (int argc, char **argv)
{
    struct agent_options opt = { .aggregator = NULL };
    struct err err = { "" };
    struct release_policy release = { .kind = RELEASE_NEVER };
    struct space_limit budget;
    int rest;

    fileio_open_std ();
    (void)signal (SIGPIPE, SIG_IGN);    // the reader of the log may go
    (void)umask (027);
    log_setup ("rollcall-agent", LOG_LEVEL_INFO);
    switch (options_parse (&command, argc, argv, false, &opt, &rest, &err)) {
    case OPTIONS_DONE:
        return options_done (command.name);
    case OPTIONS_USAGE:
        return usage (err.text);
    case OPTIONS_OK:
        break;
    }
    capture_world_max = opt.max_ranks;
    if (opt.world_size > opt.max_ranks)
        return usage ("--world-size is more than --max-ranks");
    for (; rest < argc; rest++) {
        if (opt.watch.n == OPTION_LIST_MAX)
            return usage ("too many directories");
        opt.watch.items[opt.watch.n++] = argv[rest];
    }
    if (opt.aggregators && !*opt.aggregators)   // despite the variable
        opt.aggregators = NULL;
    if (opt.once && opt.run_dir) {      // otherwise an agent of that run
        opt.finish = opt.no_roll = true;
        opt.once = false;
    }
    opt.divided = !opt.job && !opt.run_dir;
    if (!opt.job)
        opt.job = SCOPE_DEFAULT;
    if (!message_valid_name (opt.job))
        return usage ("--job: a job's id has 1 to 255 bytes, no slash in it, "
                      "and is not . or ..");
    if (!opt.key != !opt.server_key && !opt.insecure &&
        (!opt.aggregators || !opt.key))
        return usage ("--key and --server-key belong together");
    if (opt.copies > 1 && !opt.aggregators)
        return usage ("--copies needs --aggregators");
    if (opt.away_ns < ENDPOINT_AWAY_MIN_NS)
        return usage (ENDPOINT_AWAY_RULE);
    if (analyser_check (&opt.analyse, &err) < 0)
        return usage (err.text);
    if (opt.watch.n == 0 && !opt.run_dir)
        return usage ("no directory to watch was given");
    if (!disk_quota_parse_policy (opt.when_full,
                                  &(enum disk_quota_policy){ 0 }))
        return usage ("--when-full: use block, drop-oldest-shipped or "
                      "refuse");
    if (!release_parse (opt.release, &release))
        return usage ("--release: use never, shipped, after=TIME or "
                      "when-full");
    if (strcmp (opt.when_full, "drop-oldest-shipped") == 0 &&
        release.kind == RELEASE_NEVER)
        release.kind = RELEASE_WHEN_FULL;
    if (release.kind != RELEASE_NEVER && !opt.raw && !opt.release_rows_only)
        return usage ("captures are removed only when their raw files were "
                      "delivered too: give --raw, or --release-rows-only to "
                      "lose them");
    if (pack_parse_codec (opt.compress, &opt.codec, &err) < 0)
        return usage (err.text);
    if (space_parse_limit (opt.cpu_budget, &budget) < 0 || budget.ppm == 0)
        return usage ("--cpu-budget: a part of the CPUs, like 1% or 0.5%");
    if (opt.finish && !fileio_has (opt.run_dir, "spool")) {
        (void)fprintf (stderr, "rollcall-agent: there is no spool in %s: what "
                       "that run left was delivered, or it is not the directory "
                       "of a run\n", opt.run_dir);
        return EX_NOINPUT;
    }
    return agent_run (&opt);
}
