/* cli/rollcall_main.c - the front door: rollcall VERB ... */
#include "cli.h"

#include "base/log.h"
#include "base/utf8.h"
#include "store/fileio.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct verb verbs[] = {
    { "analyze", verb_analyze,
      "captures on this machine's disk into one analysis.db" },
    { "run", verb_run,
      "a job's COMMANDs, and the captures of all its ranks" },
    { "wait", verb_wait,
      "until a run is over whose launcher died" },
    { "build", verb_build,
      "a job's analysis.db again, of what an aggregator has" },
    { "query", verb_query,
      "ask a result something: tables, CSV, JSON, SQL" },
    { "compare", verb_compare,
      "two runs: in what they differ by more than noise" },
    { "export", verb_export,
      "a result as a trace for Perfetto or Chrome, or as CSV files" },
    { "findings", verb_findings,
      "what is slow in a result, and whose fault it is" },
    { "report", verb_report,
      "a result as one HTML page: findings, charts, tables" },
    { "jobs", verb_jobs, "of which an aggregator has something" },
    { "archive", verb_archive,
      "what an aggregator has: list it, get it back, verify it" },
    { "fsck", verb_fsck,
      "is what is on disk what it says it is?" },
    { "status", verb_status,
      "what the daemons of this machine do now" },
    { "doctor", verb_doctor,
      "what is wrong with this machine, and what to do" },
    { "key", verb_key,
      "keys, and which nodes may connect to an aggregator" },
};

#define VERBS (sizeof (verbs) / sizeof (verbs[0]))
#define VERB_MAX 15             // letters of one

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

/* For shell completion: the verbs, or the options of one. */
static int complete (const char *verb)
{
    char argv0[] = "rollcall", names[] = "--help-names";

    const struct verb *v = verb ? find_verb (verb) : NULL;

    for (size_t i = 0; i < VERBS && !verb; i++)
        (void)puts (verbs[i].name);
    return v ? v->run (2, (char *[]){ argv0, names, NULL }) : 0;
}

/* How many letters must be changed, put in or left out to make b of a. */
static size_t distance (const char *a, const char *b)
{
    size_t row[VERB_MAX + 1], n = strlen (b);

    for (size_t k = 0; k <= n; k++)
        row[k] = k;
    for (size_t i = 1; *a; a++, i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t k = 1; k <= n; k++) {
            size_t least = corner + (*a != b[k - 1]);

            corner = row[k];
            if (row[k] + 1 < least)
                least = row[k] + 1;
            if (row[k - 1] + 1 < least)
                least = row[k - 1] + 1;
            row[k] = least;
        }
    }
    return row[n];
}

/* The verb that may have been meant: of three letters two are right. */
static const struct verb *nearest_verb (const char *name)
{
    const struct verb *best = NULL;
    size_t least = SIZE_MAX;

    for (size_t i = 0; i < VERBS; i++) {
        size_t d = distance (name, verbs[i].name);

        if (d < least && 3 * d <= strlen (verbs[i].name)) {
            least = d;
            best = &verbs[i];
        }
    }
    return best;
}

static int no_verb (const char *name)
{
    const struct verb *near = nearest_verb (name);
    char shown[UTF8_ESCAPED (64)], text[64];

    (void)snprintf (text, sizeof (text), "%s", name);
    (void)fprintf (stderr, "rollcall: there is no verb \"%s\"%s%s%s rollcall "
                   "--help lists all verbs\n",
                   utf8_escape (text, UTF8_LINES, shown),
                   near ? ": did you mean " : "", near ? near->name : "",
                   near ? "?" : ";");
    return EXIT_USAGE;
}

/* rollcall help VERB is rollcall VERB --help. */
static int help (const char *name)
{
    char option[] = "--help", argv0[] = "rollcall";
    const struct verb *v = name ? find_verb (name) : NULL;

    if (name && !v)
        return no_verb (name);
    if (v)
        return v->run (2, (char *[]){ argv0, option, NULL });
    print_help (stdout);
    return 0;
}

int main (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct verb *v = find_verb (name);

    fileio_open_std ();
    log_setup ("rollcall", LOG_LEVEL_INFO);
    if (v)
        return v->run (argc - 1, argv + 1);
    if (strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0)
        return help (NULL);
    if (strcmp (name, "help") == 0)
        return help (argv[2]);
    if (strcmp (name, "--version") == 0 || strcmp (name, "-V") == 0) {
        (void)puts ("rollcall " ROLLCALL_VERSION);
        return 0;
    }
    if (strcmp (name, "__complete") == 0)
        return complete (argv[2]);
    if (*name)
        return no_verb (name);
    print_help (stderr);
    return EXIT_USAGE;
}
