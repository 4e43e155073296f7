/* node_agent/agent_main.c - rollcall-agent: options */
#include "agent.h"

#include "base/fileio.h"
#include "base/log.h"
#include "model/capture.h"
#include "net/message.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

static const struct option_spec options[] = {
    { "aggregator", 'a', OPTION_TEXT,
      offsetof (struct agent_options, aggregator), "ENDPOINT",
      "tcp://127.0.0.1:7077", "ROLLCALL_AGGREGATOR", 0, 0,
      "Where the aggregator listens: tcp://ADDRESS:PORT." },
    { "job", 'J', OPTION_TEXT, offsetof (struct agent_options, job), "ID",
      "default", "ROLLCALL_JOB", 0, 0, "The job that the captures are of." },
    { "state", 0, OPTION_TEXT, offsetof (struct agent_options, state), "DIR",
      "/var/lib/rollcall-agent", "ROLLCALL_STATE", 0, 0,
      "Where the spool is kept; must be on a local disk." },
    { "once", '1', OPTION_FLAG, offsetof (struct agent_options, once), NULL,
      NULL, NULL, 0, 0, "Ship the captures that are there, and end." },
    { "watch", 'w', OPTION_LIST, offsetof (struct agent_options, watch),
      "DIR", NULL, NULL, 0, 0,
      "Watch this directory; the same as giving it as an argument." },
    { "raw", 0, OPTION_FLAG, offsetof (struct agent_options, raw), NULL, NULL,
      NULL, 0, 0, "Ship the raw files of the captures too." },
    { "quiet-period", 0, OPTION_DURATION,
      offsetof (struct agent_options, quiet_ns), "TIME", "60s",
      "ROLLCALL_QUIET_PERIOD", 0, 0,
      "A capture without analyse.done is finished when nothing in it has "
      "changed for so long." },
    { "insecure", 0, OPTION_FLAG, offsetof (struct agent_options, insecure),
      NULL, NULL, NULL, 0, 0,
      "Allow an aggregator on another host. The connection is neither "
      "encrypted nor authenticated." },
    { "run-dir", 0, OPTION_TEXT, offsetof (struct agent_options, run_dir),
      "DIR", NULL, NULL, 0, 0,
      "Be part of a run: serve the wrappers that connect to DIR/agent.sock, "
      "and end with the run." },
    { "world-size", 'n', OPTION_INT,
      offsetof (struct agent_options, world_size), "N", "0", NULL, 0,
      CAPTURE_WORLD_MAX, "How many ranks the run has; 0: unknown." },
    { "deadline", 0, OPTION_DURATION,
      offsetof (struct agent_options, deadline_ns), "TIME", "120s", NULL, 0,
      0, "How long a run waits after the last COMMAND has ended." },
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
    int rest;

    fileio_open_std ();
    (void)umask (027);
    log_setup ("rollcall-agent", LOG_LEVEL_INFO);
    switch (options_parse (&command, argc, argv, false, &opt, &rest, &err)) {
    case OPTIONS_DONE:
        return 0;
    case OPTIONS_USAGE:
        return usage (err.text);
    case OPTIONS_OK:
        break;
    }
    for (; rest < argc; rest++) {
        if (opt.watch.n == OPTION_LIST_MAX)
            return usage ("too many directories");
        opt.watch.items[opt.watch.n++] = argv[rest];
    }
    if (!message_valid_name (opt.job))
        return usage ("--job: a job's id has no slash in it");
    if (opt.watch.n == 0 && !opt.run_dir)
        return usage ("which directory is to be watched?");
    return agent_run (&opt);
}
