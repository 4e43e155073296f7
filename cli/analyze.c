/* cli/analyze.c - rollcall analyze: captures on this machine's disk into one
 * analysis.db
 */
#include "analyze_raw.h"
#include "cli.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "build/build.h"
#include "extract/extract.h"
#include "report/summary.h"
#include "watch/find.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORLD_MAX CAPTURE_WORLD_MAX
#define ANALYSIS_DB "analysis.db"

struct analyze_options {
    const char *out, *steps, *only, *analyse_with;
    int64_t jobs, world_size;
    int64_t analyse_jobs, analyse_timeout_ns, analyse_memory;
    bool json, text, quiet;
};

static const struct option_spec options[] = {
    { "out", 'o', OPTION_TEXT, offsetof (struct analyze_options, out), "DIR",
      NULL, NULL, 0, 0,
      "Write into DIR/cluster_analysis_output. Without it: into the analysed "
      "directory, when there is exactly one and it can be written." },
    { "jobs", 'j', OPTION_INT, offsetof (struct analyze_options, jobs), "N",
      NULL, "ROLLCALL_JOBS", 1, BUILD_THREADS_MAX,
      "Threads that read captures. Without it: as many as there are "
      "processors." },
    { "steps", 's', OPTION_TEXT, offsetof (struct analyze_options, steps),
      "LIST", NULL, NULL, 0, 0,
      "Only these steps: numbers and ranges, as in 10,12-15." },
    { "world-size", 'n', OPTION_INT,
      offsetof (struct analyze_options, world_size), "N", NULL, NULL, 1,
      WORLD_MAX,
      "Expect ranks 0 to N-1. Without it the captures' metadata says how many "
      "there should be; where that is silent, the highest rank seen." },
    ANALYSER_OPTIONS (struct analyze_options),
    { "only", 0, OPTION_TEXT, offsetof (struct analyze_options, only),
      "NAME,...", NULL, NULL, 0, 0,
      "Make only these results: analysis.db." },
    CLI_FORMAT_OPTIONS (struct analyze_options),
    { "quiet", 'q', OPTION_FLAG, offsetof (struct analyze_options, quiet),
      NULL, NULL, NULL, 0, 0, "No progress and no summary." },
};

const struct command_spec analyze_command = {
    "rollcall analyze", "[OPTION]... DIR|FILE...",
    "Read the captures of all ranks below each DIR and build one analysis.db "
    "from them; name every rank that is not there, with the reason.",
    options, sizeof (options) / sizeof (options[0]),
};

struct analysis {
    struct analyze_options opt;
    enum cli_format format;
    char **dirs;
    int ndirs;
    struct found_list found;
    struct roll_item *items;
    struct raw_capture *raw;            // those that were never analysed
    size_t nraw;
    struct steps_filter steps;
    struct roster roster;
    struct publish out;
    int64_t began_ns;
};

// Set by the handler of SIGINT, SIGTERM and SIGHUP.
static atomic_bool cancelled;
static volatile sig_atomic_t cancelled_by;

static void on_signal (int sig)
{
    cancelled_by = sig;
    atomic_store (&cancelled, true);
}

static void catch_signals (void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction sa = { .sa_handler = on_signal };

    // a second one kills at once
    sa.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof (signals) / sizeof (signals[0]); i++)
        if (!cli_is_ignored (signals[i]))
            (void)sigaction (signals[i], &sa, NULL);
}

#define FAIL(status, ...) cli_fail (&analyze_command, status, __VA_ARGS__)

/* ---- finding ---- */

static int find_all (struct analysis *a)
{
    struct err err = { "" };

    for (int i = 0; i < a->ndirs; i++) {
        int rc = find_captures (a->dirs[i], &a->found, &err);

        if (rc < 0)
            return FAIL (rc == -ENOENT || rc == -ENOTDIR ? EX_NOINPUT
                                                         : EX_OSERR,
                         "%s", err.text);
    }
    for (size_t i = 0; i < a->found.nproblems; i++)
        (void)FAIL (0, "%s", a->found.problems[i]);
    if (a->found.n == 0)
        return FAIL (EX_NOINPUT, "no captures below %s: a capture is a "
                     "directory named *_ascend_pt, or one with a "
                     "profiler_info*.json or ASCEND_PROFILER_OUTPUT in it, "
                     "or a trace of torch.profiler", a->dirs[0]);
    return 0;
}

static int look_at (struct analysis *a, size_t i)
{
    struct extract_look look;
    struct err err = { "" };
    struct capture *c = &a->items[i].capture;

    capture_init (c);
    if (extract_glance (a->found.items[i].path, c, &look, &err) < 0)
        return FAIL (EX_OSERR, "%s", err.text);
    a->items[i].weight = look.work_bytes;
    a->items[i].source = i;
    a->items[i].skip = c->state != CAPTURE_COMPLETE;
    capture_drop_groups (c);            // reading brings them again
    return 0;
}

static int look_at_all (struct analysis *a)
{
    int status = 0;

    a->items = calloc (a->found.n, sizeof (*a->items));
    if (!a->items)
        return FAIL (EX_OSERR, "no memory for %zu captures", a->found.n);
    for (size_t i = 0; i < a->found.n && status == 0; i++)
        status = look_at (a, i);
    return status;
}

/* ---- those that were never analysed ---- */

static void tell (const char *text)
{
    (void)FAIL (0, "%s", text);
}

/* What came of the analysis of a capture, once that has been looked at. */
static void tell_analysis (const struct analysis *a, size_t source,
                           struct capture *c)
{
    for (size_t i = 0; i < a->nraw; i++) {
        if (a->raw[i].index == source && a->raw[i].how != ANALYSED_NOT)
            analyser_tell (c, a->raw[i].why,
                           a->raw[i].how == ANALYSED_BADLY);
    }
}

static int look_again (struct analysis *a)
{
    int status = 0;

    for (size_t i = 0; i < a->nraw && status == 0; i++) {
        size_t k = a->raw[i].index;

        capture_fini (&a->items[k].capture);
        status = look_at (a, k);
        if (a->items[k].skip)
            tell_analysis (a, k, &a->items[k].capture);
    }
    return status;
}

static int analyse_raw (struct analysis *a)
{
    char logs[PATH_MAX + 16];
    struct analyser_options opt = {
        .command = a->opt.analyse_with, .jobs = a->opt.analyse_jobs,
        .timeout_ns = a->opt.analyse_timeout_ns,
        .memory = a->opt.analyse_memory, .log_dir = logs,
    };
    struct err err = { "" };
    int rc;

    (void)snprintf (logs, sizeof (logs), "%s/analyses", a->out.dir);
    if (!(a->raw = calloc (a->found.n, sizeof (*a->raw))))
        return FAIL (EX_OSERR, "no memory for %zu captures", a->found.n);
    for (size_t i = 0; i < a->found.n; i++) {
        if (a->items[i].capture.state == CAPTURE_RAW &&
            analyze_raw_wants (&opt, a->found.items[i].name))
            a->raw[a->nraw++] = (struct raw_capture){
                .path = a->found.items[i].path, .index = i,
                .how = ANALYSED_NOT };
    }
    if (a->nraw == 0)
        return 0;
    rc = analyze_raw (a->raw, a->nraw, &opt, tell, &cancelled, &err);
    if (rc == -EINTR)
        return FAIL (128 + cancelled_by, "interrupted, nothing was written");
    if (rc < 0)
        return FAIL (EX_OSERR, "%s", err.text);
    return look_again (a);
}

static int plan (struct analysis *a)
{
    int status = look_at_all (a);

    if (status == 0)
        status = analyse_raw (a);
    if (status == 0)
        roll_plan (a->items, a->found.n);
    return status;
}

/* Without --world-size the build asks the captures, when it has read them. */
static int expect_ranks (struct analysis *a)
{
    if (a->opt.world_size > 0 &&
        roster_expect_world (&a->roster, a->opt.world_size,
                             "--world-size") < 0)
        return FAIL (EX_OSERR, "no memory for %lld ranks",
                     (long long)a->opt.world_size);
    return 0;
}

/* ---- building ---- */

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    const struct analysis *a = arg;

    int rc = extract_capture (a->found.items[source].path, &a->steps, sink, c,
                              err);

    if (rc == 0)
        tell_analysis (a, source, c);
    return rc;
}

static void show_progress (void *arg, const struct build_progress *p)
{
    const struct analysis *a = arg;
    double seconds = (double)(clock_mono_ns () - a->began_ns) / 1e9;
    double rate = (double)p->bytes / 1e6 / (seconds > 0 ? seconds : 1);
    double left = (double)(p->bytes_all - p->bytes) / 1e6;

    (void)fprintf (stderr, "\r%zu of %zu captures, %.0f MB/s, %.0f s left ",
                   p->captures, p->captures_all, rate,
                   rate > 0 ? left / rate : 0);
    if (p->captures == p->captures_all)
        (void)fprintf (stderr, "\r\033[K");
    (void)fflush (stderr);
}

/* The capture that 'dir' is or lies in; NULL for none. */
static const char *capture_around (const struct analysis *a, const char *dir)
{
    char near[PATH_MAX];
    const char *found = NULL;
    struct stat st, below = { .st_ino = 0 };
    int fd = -1, up;

    (void)snprintf (near, sizeof (near), "%s", dir);
    while ((fd = open (near, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 &&
           strcmp (near, "/") != 0 && strcmp (near, ".") != 0) {
        const char *parent = dirname (near);    // within 'near', or "."

        if (parent != near)
            (void)snprintf (near, sizeof (near), "%s", parent);
    }
    while (fd >= 0 && !found && fstat (fd, &st) == 0 &&
           (st.st_ino != below.st_ino || st.st_dev != below.st_dev)) {
        for (size_t i = 0; i < a->found.n && !found; i++) {
            if (a->found.items[i].ino == st.st_ino &&
                a->found.items[i].dev == st.st_dev)
                found = a->found.items[i].path;
        }
        below = st;                             // "/.." is "/"
        up = openat (fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close (fd);
        fd = up;
    }
    if (fd >= 0)
        (void)close (fd);
    return found;
}

static bool is_dir (const char *path)
{
    struct stat st;

    return stat (path, &st) == 0 && S_ISDIR (st.st_mode);
}

static int choose_output (struct analysis *a)
{
    struct err err = { "" };
    const char *out = a->opt.out, *capture;
    int rc;

    if (!out && (a->ndirs != 1 || !is_dir (a->dirs[0])))
        return FAIL (EXIT_USAGE, a->ndirs != 1
                     ? "several directories are to be analysed: give -o DIR"
                     : "a file is to be analysed: give -o DIR");
    capture = capture_around (a, out ? out : a->dirs[0]);
    if (capture)
        return FAIL (EXIT_USAGE, "%s is, or lies in, the capture %s, and "
                     "nothing is written into captures: give -o DIR with "
                     "another directory", out ? out : a->dirs[0], capture);
    rc = publish_open (&a->out, out ? out : a->dirs[0], &err);
    if (rc < 0)
        return FAIL (EX_CANTCREAT, "%s%s", err.text,
                     out ? "" : " (give -o DIR)");
    return 0;
}

/* ---- steps that are not there ---- */

static int take_nothing (void *arg, const struct batch *b, struct err *err)
{
    (void)arg;
    (void)b;
    return atomic_load (&cancelled) ? err_set (err, EINTR, "interrupted") : 0;
}

static int forget_nothing (void *arg, enum table_id table, struct err *err)
{
    (void)arg;
    (void)table;
    (void)err;
    return 0;
}

/* The captures are read again, for the sake of a message that helps. */
static int tell_steps (const struct analysis *a)
{
    static const struct row_sink sink = { take_nothing, forget_nothing, NULL };
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < a->found.n; i++) {
        struct capture c;
        int64_t step;

        capture_init (&c);
        (void)extract_capture (a->found.items[i].path, NULL, &sink, &c, NULL);
        for (uint32_t k = 0; k < c.nsteps; k++) {
            if (units_int (c.steps[k], 0, INT64_MAX, &step) < 0)
                continue;
            first = step < first ? step : first;
            last = step > last ? step : last;
        }
        capture_fini (&c);
    }
    if (atomic_load (&cancelled))
        return FAIL (128 + cancelled_by, "interrupted, nothing was written");
    if (last < first)
        return FAIL (EX_DATAERR, "no capture has a step of %s: their steps "
                     "have no numbers; nothing was written", a->opt.steps);
    return FAIL (EX_DATAERR, "no capture has a step of %s: there are steps "
                 "%lld to %lld; nothing was written", a->opt.steps,
                 (long long)first, (long long)last);
}

static int build (struct analysis *a, struct build_result *result)
{
    struct buf inputs;
    struct build_job job = {
        .items = a->items, .nitems = a->found.n, .roster = &a->roster,
        .threads = (unsigned)a->opt.jobs, .feed = feed, .feed_arg = a,
        .progress_arg = a, .cancel = &cancelled, .steps = a->opt.steps,
    };
    struct err err = { "" };
    int rc;

    buf_init (&inputs, 1 << 20);
    for (int i = 0; i < a->ndirs; i++)
        buf_printf (&inputs, "%s%s", i ? "\n" : "", a->dirs[i]);
    job.inputs = buf_text (&inputs);

    if (!a->opt.quiet && isatty (STDERR_FILENO))
        job.progress = show_progress;
    rc = build_run (&job, &a->out, result, &err);
    buf_fini (&inputs);
    if (rc == -ENODATA)
        return tell_steps (a);
    if (rc == -EINTR)
        return FAIL (128 + cancelled_by, "interrupted, nothing was written");
    if (rc < 0)
        return FAIL (cli_output_status (rc), "cannot write "
                     ANALYSIS_DB " into %s: %s", a->out.dir, err.text);
    return 0;
}

/* ---- telling ---- */

static int print_summary (const struct analysis *a,
                          const struct build_result *result)
{
    struct summary s;
    struct err err = { "" };
    int rc = 0;

    if (summary_read (result->path, &s, &err) < 0)
        return FAIL (EX_SOFTWARE, "cannot read back %s: %s", result->path,
                     err.text);
    (void)snprintf (s.kept, sizeof (s.kept), "%s", result->kept);
    if (a->format == CLI_TEXT) {
        rc = summary_print_text (&s, STDOUT_FILENO);
    } else if (a->format == CLI_LOGFMT) {
        rc = summary_print_logfmt (&s, STDOUT_FILENO);
    } else {
        struct json *j = summary_to_json (&s);
        char *text = json_print (j, true);

        if (text)
            (void)puts (text);
        free (text);
        json_free (j);
    }
    summary_fini (&s);
    return cli_flush (&analyze_command, rc);
}

/* Whether anything at all could be read. */
static bool any_rows (const struct analysis *a)
{
    for (size_t i = 0; i < a->found.n; i++) {
        if (a->items[i].capture.state == CAPTURE_COMPLETE ||
            a->items[i].capture.state == CAPTURE_PARTIAL)
            return true;
    }
    return false;
}

static int check_options (struct analysis *a)
{
    if (a->opt.analyse_with && analyser_check_command (a->opt.analyse_with))
        return FAIL (EXIT_USAGE, "--analyse-with: name a program, or none");
    if (a->opt.only && strcmp (a->opt.only, ANALYSIS_DB) != 0)
        return FAIL (EXIT_USAGE, "--only: \"%s\" is not among the results "
                     "(" ANALYSIS_DB ")", a->opt.only);
    return 0;
}

static int analyze (struct analysis *a)
{
    struct build_result result;
    int status;

    if ((status = check_options (a)) != 0 || (status = find_all (a)) != 0 ||
        (status = choose_output (a)) != 0 ||
        (status = plan (a)) != 0 || (status = expect_ranks (a)) != 0 ||
        (status = build (a, &result)) != 0)
        return status;
    if (!a->opt.quiet && (status = print_summary (a, &result)) != 0)
        return status;
    if (!any_rows (a))
        return FAIL (EX_DATAERR, "no capture could be read: the reasons are "
                     "in table Capture of %s", result.path);
    return roster_complete (&a->roster) ? EXIT_ALL_PRESENT : EXIT_NOT_ALL;
}

static void fini (struct analysis *a)
{
    publish_close (&a->out);
    for (size_t i = 0; a->items && i < a->found.n; i++)
        capture_fini (&a->items[i].capture);
    free (a->items);
    free (a->raw);
    find_free (&a->found);
    roster_fini (&a->roster);
}

static unsigned processors (void)
{
    long n = sysconf (_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n > BUILD_THREADS_MAX ? BUILD_THREADS_MAX : (unsigned)n;
}

int verb_analyze (int argc, char **argv)
{
    struct analysis a = { .began_ns = clock_mono_ns () };
    struct err err = { "" };
    int rest, status;

    if (!cli_options (&analyze_command, argc, argv, &a.opt, &rest, &status))
        return status;
    if (rest == argc)
        return FAIL (EXIT_USAGE, "which directory? (usage: %s %s)",
                     analyze_command.name, analyze_command.usage);
    if (a.opt.steps && steps_parse (a.opt.steps, &a.steps, &err) < 0)
        return FAIL (EXIT_USAGE, "--steps: %s", err.text);
    if (a.opt.jobs == 0)
        a.opt.jobs = processors ();
    for (int i = rest; i < argc; i++) {
        size_t n = strlen (argv[i]);

        while (n > 1 && argv[i][n - 1] == '/')      // for tidy messages
            argv[i][--n] = '\0';
    }
    a.dirs = argv + rest;
    a.ndirs = argc - rest;
    a.format = cli_format (a.opt.json, a.opt.text);
    catch_signals ();
    status = analyze (&a);
    fini (&a);
    return status;
}
