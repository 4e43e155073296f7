/* aggregator/service/aggregator_main.c - rollcall-aggregator: options */
#include "service/aggregator.h"

#include "base/clock.h"
#include "base/log.h"
#include "builder/build.h"
#include "builder/results.h"
#include "options/store_options.h"
#include "postgres/postgres.h"
#include "store/fileio.h"
#include "store/root.h"
#include "uploads/cache.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const struct option_spec options[] = {
    OPTION (TEXT, "root", 'r', struct aggregator_options, root, "DIR",
      ROOT_DEFAULT, ROOT_VARIABLE,
      "Where ledger, segments and jobs are kept; must be on a local disk."),
    OPTION (ENDPOINT, "listen", 'l', struct aggregator_options, listen,
      "ENDPOINT", "tcp://127.0.0.1:7077", "ROLLCALL_LISTEN",
      "Where agents connect: tcp://ADDRESS:PORT, with * for all addresses of "
      "this host."),
    OPTION_SWITCH ("insecure", 0, struct aggregator_options, insecure,
      "Use no keys, even if other hosts can connect: anybody can deliver data "
      "and take part in jobs, and anybody on the network path can read and "
      "alter everything."),
    OPTION (TEXT, "keys", 0, struct aggregator_options, keys, "DIR", NULL,
      "ROLLCALL_KEYS",
      "Directory of keys made by rollcall key: the aggregator's own "
      "(server.key) and those of the agents that may connect. Without it: that "
      "of rollcall key if other hosts can connect, no keys on loopback."),
    OPTION_NUMBER ("agents", 0, struct aggregator_options, agents, "N", "1024",
      NULL, 1, 1000000,
      "Number of agents expected at once: the log warns if there are too few "
      "file descriptors for them."),
    OPTION (DURATION, "job-gap", 0, struct aggregator_options, job_gap_ns,
      "TIME", "1h", "ROLLCALL_JOB_GAP",
      "Captures of agents without --job are divided into jobs. A capture that "
      "does not show its job joins a job only if it began within this time "
      "after the last capture of that job ended; 0: at any time."),
    OPTION (TEXT, "want-raw", 0, struct aggregator_options, want_raw, "WHICH",
      "all", "ROLLCALL_WANT_RAW",
      "Which raw files to ask agents for, of those that they may give (--raw): "
      "all; none, but what rollcall fetch names; or suspects: those of ranks "
      "that a finding names, and of one healthy rank. Rows of every rank are "
      "received in any case."),
    OPTION (TEXT, "socket", 0, struct aggregator_options, socket, "PATH", NULL,
      "ROLLCALL_SOCKET",
      "Listen here, too, for users of this host who cannot read ROOT: each may "
      "see, get and fetch what is of his jobs."),
    OPTION_BESIDE ("socket", LIST, "operator", struct aggregator_options,
      operator, "USER",
      NULL, NULL,
      "With --socket: this user, or the members of @GROUP, may do so with all "
      "jobs, and mark and remove them; may be repeated."),
    OPTION (BYTES, "quota-root", 0, struct aggregator_options, quotas.root,
      "SIZE", NULL, "ROLLCALL_QUOTA_ROOT",
      "Accept no data beyond this, as it is stored: agents keep theirs until "
      "there is room."),
    OPTION (LIST, "quota-user", 0, struct aggregator_options, quota_user,
      "SIZE", NULL, NULL,
      "The same for the jobs of each user; USER=SIZE: of this one; may be "
      "repeated."),
    OPTION (BYTES, "quota-job", 0, struct aggregator_options, quotas.job,
      "SIZE", NULL, "ROLLCALL_QUOTA_JOB", "The same for each job."),
    OPTION (TEXT, "store", 0, struct aggregator_options, store.url, "URL", NULL,
      "ROLLCALL_STORE",
      "Of a service: s3://BUCKET/PREFIX, an object store that gets each segment, "
      "too."),
    STORE_OPTIONS (struct aggregator_options, store),
    OPTION_BESIDE ("store", BYTES, "store-rate", struct aggregator_options,
      store_rate,
      "SIZE", NULL, "ROLLCALL_STORE_RATE",
      "Send at most so much a second to the store; the least is 64k."),
    OPTION_BESIDE ("store", DURATION, "store-after", struct aggregator_options,
      store_after_ns, "TIME", "1h", NULL,
      "Send a segment there that has had data for so long, even if it is not "
      "full."),
    OPTION_BESIDE ("store", BYTES, "cache-size", struct aggregator_options,
      cache_size,
      "SIZE", NULL, "ROLLCALL_CACHE_SIZE",
      "With --store: keep at most so much of segments here, and read the rest "
      "from there; the least is 1M."),
    OPTION (LIST, "keep-days", 0, struct aggregator_options, keep_days,
      "[TAG=]N", NULL, NULL,
      "Of a service: remove jobs without new data for N days, except pinned "
      "ones; may be repeated, for jobs with a tag."),
    OPTION (LIST, "keep-last", 0, struct aggregator_options, keep_last,
      "[TAG=]N", NULL, NULL, "Keep the last N jobs, however old they are."),
    OPTION (LIST, "max-size", 0, struct aggregator_options, max_size,
      "[TAG=]SIZE", NULL, NULL,
      "Remove the oldest jobs until the others take at most SIZE: 500G; the "
      "least is 1M."),
    OPTION_NUMBER ("forget-metadata-after", 0, struct aggregator_options,
      keep.forget_days, "DAYS", "0", NULL, 0, 36500,
      "Of a service: forget command and environment of jobs without new data "
      "for so long, in lists and results, also of pinned ones; 0: never."),
    OPTION (TEXT, "postgres", 0, struct aggregator_options, postgres, "URI",
      NULL, PG_VARIABLE,
      "Of a service: push what is known of each job into this database, as "
      "rollcall push does. Nothing waits for it. A password belongs into a "
      "password file (~/.pgpass, PGPASSFILE)."),
    OPTION_BESIDE ("postgres", TEXT, "cluster", struct aggregator_options,
      cluster, "NAME",
      NULL, PG_CLUSTER_VARIABLE,
      "With --postgres: what to call this root there. Without it: the name of "
      "this host."),
    OPTION_NUMBER ("threads", 'j', struct aggregator_options, threads, "N", "2",
      "ROLLCALL_THREADS", 1, BUILD_THREADS_MAX, "Threads of a build."),
    MAX_RANKS_OPTION (struct aggregator_options, max_ranks),
    RESULTS_OPTION (struct aggregator_options),
    ONE_FILE_OPTION (struct aggregator_options, derive.one_file),
    OPTION (ROOM, "disk-floor", 0, struct aggregator_options, disk_floor,
      "SIZE", NULL, "ROLLCALL_DISK_FLOOR",
      "Accept no data while ROOT has less free space than this, in bytes or as "
      "a share: 10GB, 5%. Without it: 1 GiB, but at most a tenth of the file "
      "system."),
    OPTION (TEXT, "job", 0, struct aggregator_options, job, "ID", NULL, NULL,
      "Serve this job only, and end when it is over."),
    OPTION (TEXT, "out", 'o', struct aggregator_options, out, "DIR", NULL, NULL,
      "Write results into DIR/cluster_analysis_output instead of "
      "ROOT/jobs/JOB."),
    OPTION_SWITCH ("foreign-output", 0, struct aggregator_options, foreign,
      "As root, write into a DIR of another user, who can read and replace "
      "what is there. Without this option, that is refused."),
    OPTION (TEXT, "run-dir", 0, struct aggregator_options, run_dir, "DIR", NULL,
      NULL, "Write result.json here when the job is over."),
    OPTION_NUMBER ("world-size", 'n', struct aggregator_options, world_size,
      "N", "0", NULL, 0, CAPTURE_WORLD_LIMIT,
      "Expect ranks 0 to N-1; 0: the number that agents and captures report."),
    OPTION (DURATION, "deadline", 0, struct aggregator_options, deadline_ns,
      "TIME", "120s", NULL,
      "How long to wait for captures after the last COMMAND has ended."),
    OPTION_SWITCH ("raw", 0, struct aggregator_options, raw,
      "Put the raw capture files into OUT/captures too."),
    OPTION (TEXT, "note", 0, struct aggregator_options, note, "TEXT", NULL,
      NULL, "A sentence for the summary of the job."),
    OPTION_NUMBER ("listen-fd", 0, struct aggregator_options, listen_fd, "N",
      "-1", NULL, -1, 65535,
      "A descriptor that is bound to the address and listening."),
    OPTION_NUMBER ("launch-fd", 0, struct aggregator_options, launch_fd, "N",
      "-1", NULL, -1, 65535,
      "A pipe: while its other end is open, ranks may still be started, "
      "however long they wait in a queue."),
};

static const struct command_spec command = {
    "rollcall-aggregator", "[OPTION]...",
    "Receive the captures of all nodes, acknowledge what is safely stored, and "
    "build one analysis.db with its derived results for each job.",
    options, sizeof (options) / sizeof (options[0]),
};

/* Read the limits of what is kept: false after a message. */
static bool read_keep (struct aggregator_options *opt)
{
    static const char *const names[] = { "keep-days", "keep-last",
                                         "max-size" };
    const struct option_list *const lists[] = { &opt->keep_days,
                                                &opt->keep_last,
                                                &opt->max_size };
    struct err err = { "" };

    for (unsigned i = RETENTION_DAYS; i <= RETENTION_SIZE; i++) {
        for (size_t k = 0; k < lists[i]->n; k++) {
            if (retention_add (&opt->keep, (enum retention_limit)i,
                               lists[i]->items[k], &err) < 0) {
                (void)fprintf (stderr, "rollcall-aggregator: --%s: %s\n",
                               names[i], err.text);
                return false;
            }
        }
    }
    if (opt->job && opt->keep.n > 0)
        (void)fprintf (stderr, "rollcall-aggregator: --keep-days, --keep-last "
                       "and --max-size are for a service, without --job\n");
    return !opt->job || opt->keep.n == 0;
}

/* Check where to push, and put that where the process that pushes looks for it:
 * false after a message.
 */
static bool check_postgres (const struct aggregator_options *opt)
{
    struct err err = { "" };

    if (!opt->postgres || opt->job)
        return true;            // the variable may be set where runs start
    if (pg_check_option (opt->postgres, opt->cluster, &err) == 0)
        return opt->postgres == getenv (PG_VARIABLE) ||
               setenv (PG_VARIABLE, opt->postgres, 1) == 0;
    (void)fprintf (stderr, "rollcall-aggregator: --postgres: %s\n", err.text);
    return false;
}

#define STORE_RATE_MIN 64000    // bytes/s; a segment takes more than an hour then

/* Whether what was given of a store can be: false after a message. */
static bool check_store (const struct aggregator_options *opt)
{
    struct object_store *s = NULL;
    struct err err = { "" };

    if (opt->store.url && opt->job)
        (void)err_set (&err, EINVAL, "--store is for a service, without --job");
    else if (opt->cache_size > 0 && opt->cache_size < CACHE_SIZE_MIN)
        (void)err_set (&err, EINVAL, "--cache-size of %lld bytes would keep "
                       "nothing: the least is 1M; 500G is 500 GB",
                       (long long)opt->cache_size);
    else if (opt->store_rate > 0 && opt->store_rate < STORE_RATE_MIN)
        (void)err_set (&err, EINVAL, "--store-rate of %lld bytes a second would "
                       "send nothing: the least is 64k; 500M is 500 MB",
                       (long long)opt->store_rate);
    else if (opt->store.url && object_store_open (&opt->store, &s, &err) < 0)
        (void)err_prefix (&err, EINVAL, "--store");
    object_store_close (s);
    if (*err.text)
        (void)fprintf (stderr, "rollcall-aggregator: %s\n", err.text);
    return !*err.text;
}

int main (int argc, char **argv)
{
    struct aggregator_options opt = { .root = NULL };
    struct err err = { "" };
    int rest;

    fileio_open_std ();
    (void)signal (SIGPIPE, SIG_IGN);    // the reader of the log may exit
    (void)umask (027);
    log_setup ("rollcall-aggregator", LOG_LEVEL_INFO);
    switch (options_parse (&command, argc, argv, false, &opt, &rest, &err)) {
    case OPTIONS_DONE:
        return options_done (command.name);
    case OPTIONS_USAGE:
        (void)fprintf (stderr, "rollcall-aggregator: %s "
                       "(rollcall-aggregator --help says more)\n", err.text);
        return 2;
    case OPTIONS_OK:
        break;
    }
    if (rest < argc) {
        (void)fprintf (stderr, "rollcall-aggregator: unexpected argument "
                       "\"%s\": it takes no arguments\n", argv[rest]);
        return 2;
    }
    capture_world_max = opt.max_ranks;
    if (opt.world_size > opt.max_ranks) {
        (void)fprintf (stderr, "rollcall-aggregator: --world-size is more than "
                       "--max-ranks\n");
        return 2;
    }
    if (results_parse (opt.only, &opt.wanted, &err) < 0) {
        (void)fprintf (stderr, "rollcall-aggregator: --only: %s\n", err.text);
        return 2;
    }
    if (!aggregator_parse_policy (opt.want_raw, &opt.wants)) {
        (void)fprintf (stderr, "rollcall-aggregator: --want-raw \"%s\": use "
                       "all, none or suspects\n", opt.want_raw);
        return 2;
    }
    if (opt.job && opt.wants != WANT_ALL) {
        (void)fprintf (stderr, "rollcall-aggregator: --want-raw %s is for a "
                       "service, without --job\n", opt.want_raw);
        return 2;
    }
    if (quotas_read (&opt.quotas, &opt.quota_user, &err) < 0 ||
        operators_find (&opt.operator, &opt.operators, &err) < 0) {
        (void)fprintf (stderr, "rollcall-aggregator: %s\n", err.text);
        return 2;
    }
    if (!read_keep (&opt) || !check_postgres (&opt))
        return 2;
    opt.store.max_rate = (uint64_t)opt.store_rate;
    if (!check_store (&opt))
        return 2;
    return aggregator_serve (&opt);
}
