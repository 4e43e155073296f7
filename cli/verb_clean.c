/* cli/verb_clean.c - rollcall clean: remove what finished runs left on this
 * host
 */
#include "cli.h"
#include "run/run.h"
#include "run/run_list.h"

#include "base/clock.h"
#include "base/units.h"
#include "query/grid.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct clean_options {
    const char *state;
    int64_t older_ns, width;
    bool apply, incomplete;
};

static const struct option_spec options[] = {
    OPTION_SWITCH ("apply", 0, struct clean_options, apply,
      "Remove these files. Without this option, only show what would be "
      "removed."),
    OPTION (DURATION, "older", 0, struct clean_options, older_ns, "TIME", "0",
      NULL, "Only runs that were last written to at least this long ago."),
    OPTION_SWITCH ("incomplete", 0, struct clean_options, incomplete,
      "Also runs whose result lacks ranks or is gone: data that exists nowhere "
      "else is lost."),
    CLI_STATE_OPTION (struct clean_options, state,
      "Local directory of runs, as in rollcall run."),
    CLI_WIDTH_OPTION (struct clean_options),
};

static const struct command_spec clean_command = {
    "rollcall clean", "[OPTION]... [JOB]...",
    "Show the files that finished runs have left on this machine, and remove "
    "them with --apply: logs, captures in the directories of runs, undelivered "
    "data. Results in OUT stay.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&clean_command, status, __VA_ARGS__)

struct cleaning {
    const struct clean_options *opt;
    char **jobs;                // only these, if there are any
    int njobs;
    struct grid *g;
    size_t n, kept;
    uint64_t bytes;
    int status;
};

static bool is_asked (const struct cleaning *c, const char *job)
{
    for (int i = 0; i < c->njobs; i++) {
        if (strcmp (c->jobs[i], job) == 0)
            return true;
    }
    return c->njobs == 0;
}

/* Why the run is kept, or NULL. */
static const char *why_kept (const struct cleaning *c,
                             const struct runs_one *r)
{
    if (r->state == RUNS_UNDER_WAY)
        return *r->roll ? "its processes are still ending"
                        : "it is under way";
    if (c->opt->older_ns > 0 &&         // file times may be in the future
        clock_wall_ns () - r->ended_ns < c->opt->older_ns)
        return "--older";
    if (r->state != RUNS_OVER && !c->opt->incomplete)
        return "it may have the only copy (--incomplete)";
    return NULL;
}

static int clean_one (void *arg, const struct runs_one *r)
{
    struct cleaning *c = arg;
    struct err err = { "" };
    const char *kept;
    char size[16];

    if (!is_asked (c, r->job))
        return 0;
    kept = why_kept (c, r);
    units_bytes_text (r->bytes, size);
    if (!kept && c->opt->apply && runs_remove (r, &err) < 0) {
        c->status = FAIL (EX_IOERR, "%s", err.text);
        kept = "it could not be removed";
    }
    grid_word (c->g, r->job);
    grid_word (c->g, runs_state_text (r));
    grid_word (c->g, size);
    grid_word (c->g, kept ? "stays" : c->opt->apply ? "removed" : "goes");
    grid_word (c->g, kept ? kept : "");
    c->n += !kept;
    c->kept += kept != NULL;
    c->bytes += kept ? 0 : r->bytes;
    return 0;
}

static int clean_all (struct cleaning *c, const char *state)
{
    static const char *const names[] = { "job", "state", "size", "",
                                         "why" };
    struct err err = { "" };
    char size[16];
    int rc;

    if (!(c->g = grid_create (stdout, GRID_TABLE, cli_width (c->opt->width))))
        return FAIL (EX_OSERR, "no memory for a table");
    grid_head (c->g, names, sizeof (names) / sizeof (names[0]));
    if ((rc = runs_each (state, clean_one, c, &err)) < 0)
        c->status = FAIL (EX_NOINPUT, "%s", err.text);
    else
        rc = grid_finish (c->g);
    grid_destroy (c->g);
    units_bytes_text (c->bytes, size);
    if (c->status == 0)
        (void)printf ("%zu run%s, %s, below %s: %s\n", c->n, units_s (c->n),
                      size, state,
                      c->n > 0 && c->opt->apply  ? "removed"
                      : c->opt->apply            ? "nothing was removed"
                      : c->n > 0 ? "rollcall clean --apply removes that"
                                 : "nothing to remove");
    return c->status ? c->status : cli_flush (&clean_command, rc);
}

int verb_clean (int argc, char **argv)
{
    struct clean_options opt = { .width = -1 };
    struct cleaning c = { .opt = &opt };
    struct err err = { "" };
    char state[PATH_MAX];
    int rest, status;

    if (!cli_options (&clean_command, argc, argv, &opt, &rest, &status))
        return status;
    c.jobs = argv + rest;
    c.njobs = argc - rest;
    // a mistyped name would be created, and then be reported as clean
    if (opt.state && access (opt.state, F_OK) < 0)
        return FAIL (EX_NOINPUT, "%s: %s", opt.state, strerror (errno));
    if (run_state_dir (opt.state, state, &err) < 0)
        return FAIL (EX_NOINPUT, "%s", err.text);
    status = clean_all (&c, state);
    return status == 0 && c.njobs > 0 && c.n + c.kept == 0
               ? FAIL (EX_NOINPUT, "there is no such job below %s", state)
               : status;
}
