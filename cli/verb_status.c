/* cli/verb_status.c - rollcall status: what the daemons of this machine, or several
 * aggregators, are doing
 *
 * Each daemon writes status.json into its spool or root (doc/architecture.md).
 * Status looks for these files below the directory of runs and where services
 * keep theirs, or in a given place.
 */
#include "cli.h"
#include "run/run.h"
#include "several/places.h"
#include "status/daemons.h"
#include "status/status_of_places.h"

#include "json/status.h"
#include "options/shell.h"
#include "ledger/ledger.h"
#include "query/grid.h"
#include "spool/spool.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH_MAX 4             // STATE/JOB/HOST/spool/status.json

struct status_options {
    struct cli_where where;
    const char *state, *root, *agents;
    bool json;
};

static const struct option_spec options[] = {
    CLI_STATE_OPTION (struct status_options, state,
      "Local directory of runs, as in rollcall run."),
    CLI_WHERE_OPTIONS (struct status_options, where),
    OPTION (TEXT, "agents", 0, struct status_options, agents, "DIR",
      SPOOL_STATE_DEFAULT, SPOOL_STATE_VARIABLE,
      "The --state of agents that are services."),
    OPTION_SWITCH ("json", 0, struct status_options, json,
      "Print one JSON object, with every counter of each daemon."),
};

static const struct command_spec status_command = {
    "rollcall status", "[OPTION]... [JOB|DIR]...",
    "Show what the agents and aggregators of this machine are doing: those of "
    "runs and services, of one run, or those with their spool or root below "
    "DIR; or what several aggregators are doing.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&status_command, status, __VA_ARGS__)

/* What was shown, and what could not be read. */
struct found {
    struct daemons shown;
    int status;
};

static void verb_status_search (struct found *f, const char *dir,
                                unsigned depth)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d = opendir (dir);

    if (!d && errno == EACCES)
        f->status = FAIL (EX_NOPERM, "this user cannot read %s: daemons there "
                          "are not shown", dir);
    while (d && (e = readdir (d))) {
        if (e->d_name[0] == '.' ||
            !fileio_join (path, sizeof (path), dir, e->d_name))
            continue;
        if (strcmp (e->d_name, STATUS_NAME) == 0)
            daemons_file (&f->shown, path);
        else if (depth > 0 && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
            verb_status_search (f, path, depth - 1);
    }
    fileio_close_dir (d);
}

/* " (it is a job of ROOT: ...)", or "" if it is none, or not known. */
static const char *job_text (const char *root, const char *what,
                             char out[PATH_MAX])
{
    char path[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    struct ledger *l = NULL;

    out[0] = '\0';
    if (cli_valid_job (what) &&
        fileio_join (path, sizeof (path), root, "ledger.db") &&
        ledger_open_quick (path, &l, NULL) == 0 && ledger_has_job (l, what))
        (void)snprintf (out, PATH_MAX, " (it is a job of %s: rollcall show %s)",
                        root, shell_word (what, word));
    ledger_close (l);
    return out;
}

static void tell_none (const char *what, bool run)
{
    char word[SHELL_WORD (PATH_MAX)];

    if (run)
        (void)printf ("%s is over: rollcall wait %s prints its summary\n",
                      what, shell_word (what, word));
    else
        (void)printf ("no daemon is running in %s\n", what);
}

/* JOB below the directory of runs, or otherwise DIR. */
static int search_for (struct found *f, const struct status_options *opt,
                       const char *state, const char *what)
{
    char path[PATH_MAX], text[PATH_MAX];
    bool run = *state && !strchr (what, '/') && what[0] != '.' &&
               fileio_join (path, sizeof (path), state, what) &&
               access (path, F_OK) == 0;
    size_t before = f->shown.n;

    if (!run && access (what, F_OK) < 0 && errno == EACCES)
        return FAIL (EX_NOPERM, "this user cannot read %s", what);
    if (!run && access (what, F_OK) < 0)
        return FAIL (EX_NOINPUT, "%s is neither a job below %s nor a directory"
                     "%s", what, *state ? state : "that of runs",
                     job_text (opt->root, what, text));
    verb_status_search (f, run ? path : what, run ? DEPTH_MAX - 1 : DEPTH_MAX);
    if (f->shown.n == before && f->status == 0 && !f->shown.json)
        tell_none (what, run);
    return 0;
}

/* A service's root and spools, unless they were found below 'state', which is
 * empty if it cannot be used.
 */
static void search_services (struct found *f, const struct status_options *opt,
                             const char *state)
{
    const char *const dirs[] = { opt->root, opt->agents };
    size_t n = strlen (state);
    char path[PATH_MAX];

    for (unsigned i = 0; i < 2; i++) {
        if (realpath (dirs[i], path) &&
            (n == 0 || strncmp (path, state, n) != 0 ||
             (path[n] && path[n] != '/')))
            verb_status_search (f, path, i);    // ROOT/, STATE/spool-JOB/
    }
}

/* ---- several places ---- */

static int status_of_all (const struct status_options *opt)
{
    struct cli_places p;
    int status = cli_places_open (&status_command, &opt->where, &p);

    if (status == 0)
        status = status_of_places (&status_command, &p, opt->json);
    cli_places_close (&p);
    return status;
}

/* For who asks over the network: nothing but the root is shown. */
static int status_of_view (const struct status_options *opt)
{
    struct daemons shown = { .json = true };

    if (!opt->json)
        return FAIL (EXIT_USAGE, "ask with --json");
    (void)printf ("{\"daemons\": [");
    daemons_of_root (&shown, opt->root);
    (void)printf ("]}\n");
    return cli_flush (&status_command, 0);
}

/* ---- this machine ---- */

static int status_of_host (const struct status_options *opt, int n,
                           char **operands)
{
    struct found f = { .shown.json = opt->json };
    char state[PATH_MAX];
    struct err err = { "" };
    int status = 0, rc, runs = 0;
    const bool all = n == 0;

    f.shown.g = grid_create (stdout, GRID_TABLE, cli_width (-1));
    if (!f.shown.g)
        return FAIL (EX_OSERR, "no memory for a table");
    if (run_state_dir (opt->state, state, &err) < 0) {
        runs = FAIL (EX_NOINPUT, "%s", err.text);   // services may be there
        state[0] = '\0';
    }
    if (opt->json)
        (void)printf ("{\"daemons\": [");
    if (all) {
        verb_status_search (&f, state, DEPTH_MAX);
        search_services (&f, opt, state);
    }
    for (int i = 0; i < n && status == 0; i++)
        status = search_for (&f, opt, state, operands[i]);
    if (opt->json)
        (void)printf ("]}\n");
    else if (f.shown.n == 0 && all)
        (void)printf ("no daemon is running below %s, nor in %s (--root) or %s "
                      "(--agents)\n", *state ? state : "(see above)", opt->root,
                      opt->agents);
    rc = f.shown.n > 0 && !opt->json ? grid_finish (f.shown.g) : 0;
    grid_destroy (f.shown.g);
    if (cli_flush (&status_command, rc) != 0)
        return EX_IOERR;
    if (all)                    // other users' services are not an error
        f.status = runs;
    return status != 0 ? status : f.status;
}

int verb_status (int argc, char **argv)
{
    struct status_options opt = { .state = NULL };
    int rest, status;

    if (!cli_options (&status_command, argc, argv, &opt, &rest, &status))
        return status;
    if (cli_empty_dir (&status_command, argc - rest, argv + rest))
        return EXIT_USAGE;
    opt.root = cli_first_root (&opt.where);
    if (cli_is_view ())
        return status_of_view (&opt);
    if (!cli_asks_several (&opt.where))
        return status_of_host (&opt, argc - rest, argv + rest);
    return rest == argc ? status_of_all (&opt)
                        : FAIL (EXIT_USAGE, "several aggregators only show "
                                "what they do themselves: name no JOB and no DIR");
}
