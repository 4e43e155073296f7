/* cli/rollcall_main.c - the main program: rollcall VERB ... */
#include "cli.h"
#include "interchange/backup_verbs.h"
#include "jobs/verb_push.h"
#include "mpi/team_verb.h"

#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model/capture.h"
#include "options/nearest_name.h"
#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct verb verbs[] = {
    { "analyze", verb_analyze,
      "build one analysis.db from captures on this machine's disk" },
    { "run", verb_run,
      "run a job's COMMANDs and collect the captures of all ranks" },
    { "wait", verb_wait,
      "wait for the result of a run whose launcher died" },
    { "build", verb_build,
      "build a job's analysis.db again from an aggregator's data" },
    { "query", verb_query,
      "query a result: tables, CSV, JSON, SQL" },
    { "compare", verb_compare,
      "compare two runs: what differs by more than noise" },
    { "export", verb_export,
      "write a result as a trace for Perfetto or Chrome, or as CSV" },
    { "findings", verb_findings,
      "show what is slow in a result, and what causes it" },
    { "report", verb_report,
      "make one HTML page of a result: findings, charts, tables" },
    { "jobs", verb_jobs,
      "list an aggregator's jobs, and the runs of this machine" },
    { "show", verb_show,
      "show what is known of a job of an aggregator" },
    { "trend", verb_trend,
      "show how an aggregator's jobs change over weeks" },
    { "push", verb_push,
      "push what is known of an aggregator's jobs into PostgreSQL" },
    { "clean", verb_clean,
      "show or remove the files that finished runs have left here" },
    { "archive", verb_archive,
      "add, list, get back, verify, mark and remove captures" },
    { "backup", verb_backup,
      "back up an aggregator's root; restore makes a root of it" },
    { "restore", verb_restore,
      "make an aggregator's root of a backup, or of an object store" },
    { "fetch", verb_fetch,
      "ask a service's agents for raw files of ranks" },
    { "fsck", verb_fsck,
      "check spools and roots against their checksums" },
    { "status", verb_status,
      "show what the daemons of this machine are doing" },
    { "doctor", verb_doctor,
      "check this machine, and say what to do" },
    { "key", verb_key,
      "make keys, and say which nodes may connect" },
};

#define VERBS (sizeof (verbs) / sizeof (verbs[0]))

static void print_help (FILE *f)
{
    (void)fprintf (f, "usage: rollcall VERB [OPTION]... [ARGUMENT]...\n\n"
                   "Collects the profiler captures of every rank of a job and "
                   "builds one\nanalysis.db; what is missing is named, with "
                   "the reason.\n\nverbs:\n");
    for (size_t i = 0; i < VERBS; i++)
        (void)fprintf (f, "  %-9s %s\n", verbs[i].name, verbs[i].brief);
    (void)fprintf (f, "\nrollcall VERB --help says more; so does rollcall(1)."
                   "\n");
}

static const struct verb *find_verb (const char *name)
{
    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp (name, verbs[i].name) == 0)
            return &verbs[i];
    }
    return NULL;
}

/* Print the verbs, or the options of one, for shell completion. */
static int rollcall_main_complete (const char *verb)
{
    char argv0[] = "rollcall", names[] = "--help-names";

    const struct verb *v = verb ? find_verb (verb) : NULL;

    for (size_t i = 0; i < VERBS && !verb; i++)
        (void)puts (verbs[i].name);
    return v ? v->run (2, (char *[]){ argv0, names, NULL }) : 0;
}

static int no_verb (const char *name)
{
    struct nearest near = { .meant = name, .size = strlen (name) };
    char shown[UTF8_ESCAPED (64)], text[64];

    for (size_t i = 0; i < VERBS; i++)
        nearest_consider (&near, verbs[i].name);
    PRINT (text, "%s", name);
    (void)fprintf (stderr, "rollcall: there is no verb \"%s\"%s%s%s rollcall "
                   "--help lists all verbs\n",
                   utf8_escape (text, UTF8_LINES, shown),
                   near.best ? ": did you mean " : "",
                   near.best ? near.best : "", near.best ? "?" : ";");
    return EXIT_USAGE;
}

/* Turn rollcall help VERB into rollcall VERB --help. */
static int help (const char *name)
{
    char option[] = "--help", argv0[] = "rollcall";
    const struct verb *v = name ? find_verb (name) : NULL;

    if (name && !v)
        return no_verb (name);
    if (v)
        return v->run (2, (char *[]){ argv0, option, NULL });
    print_help (stdout);
    return options_done ("rollcall");
}

/* For verbs without the option, and processes of mpirun. */
static void read_max_ranks (void)
{
    const char *text = getenv ("ROLLCALL_MAX_RANKS");
    int64_t n;

    if (text && units_int (text, 1, CAPTURE_WORLD_LIMIT, &n) == 0)
        capture_world_max = n;
}

int main (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct verb *v = find_verb (name);

    fileio_open_std ();
    read_max_ranks ();
    log_setup ("rollcall", LOG_LEVEL_INFO);
    if (v)
        return team_verb (v->name, v->run, argc - 1, argv + 1);
    if (strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
        return help (NULL);
    if (strcmp (name, "help") == 0)
        return help (argv[2]);
    if (strcmp (name, "--version") == 0 || strcmp (name, "-V") == 0) {
        (void)puts ("rollcall " ROLLCALL_VERSION);
        return options_done ("rollcall");
    }
    if (strcmp (name, "__complete") == 0)
        return rollcall_main_complete (argv[2]);
    if (*name)
        return no_verb (name);
    print_help (stderr);
    return EXIT_USAGE;
}
