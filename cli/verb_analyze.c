/* cli/verb_analyze.c - rollcall analyze: build one analysis.db from captures on
 * this machine's disk
 */
#include "analyze.h"
#include "mpi/team_verb.h"

#include "summary/summary.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#define EXIT_INTERRUPTED 129    // and above: ended by a signal

/* ---- where the result goes ---- */

/* The capture that 'dir' is or lies in; NULL for none. */
static const char *capture_around (const struct analysis *a, const char *dir)
{
    char near[PATH_MAX];
    const char *found = NULL;
    struct stat st, below = { .st_ino = 0 };
    int fd = -1, up;

    PRINT (near, "%s", dir);
    while ((fd = open (near, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 &&
           strcmp (near, "/") != 0 && strcmp (near, ".") != 0) {
        const char *parent = dirname (near);    // within 'near', or "."

        if (parent != near)
            PRINT (near, "%s", parent);
    }
    while (fd >= 0 && !found && fstat (fd, &st) == 0 &&
           (st.st_ino != below.st_ino || st.st_dev != below.st_dev)) {
        for (size_t i = 0; i < a->found.n && !found; i++) {
            if (a->found.items[i].id.ino == st.st_ino &&
                a->found.items[i].id.dev == st.st_dev)
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
    if (out && access (out, F_OK) == 0 && !is_dir (out))
        return FAIL (EX_CANTCREAT, "-o %s is a file: give a directory", out);
    capture = capture_around (a, out ? out : a->dirs[0]);
    if (capture)
        return FAIL (EXIT_USAGE, "%s is, or lies in, the capture %s, and "
                     "nothing is written into captures: give -o DIR with "
                     "another directory", out ? out : a->dirs[0], capture);
    a->made_out = out && !is_dir (out);
    rc = publish_open (&a->out, out ? out : a->dirs[0], NULL,
                       a->opt.foreign, &err);
    if (rc < 0)
        return FAIL (cli_output_status (rc), "%s%s", err.text,
                     out || rc == -EPERM ? "" : " (give -o DIR)");
    return 0;
}

/* ---- output ---- */

/* With --all-jobs: print one document, an array of the jobs' documents. */
static void print_json (struct analysis *a, const struct summary *s)
{
    struct json *j = summary_to_json (s);
    char *text = json_print (j, true);

    if (text && a->opt.all_jobs)
        (void)fputs (a->printed++ ? ",\n" : "[\n", stdout);
    if (text)
        (void)puts (text);
    free (text);
    json_free (j);
}

static int print_summary (struct analysis *a,
                          const struct build_result *result)
{
    char path[PATH_MAX];
    struct summary s;
    struct err err = { "" };
    int rc = publish_path (&a->out, BUILD_DB_NAME, path, &err);

    if (rc == 0)
        rc = summary_read (path, result->path, &s, &err);
    publish_tell (&a->out, &err);
    publish_end (&a->out);      // who reads what is printed may stop
    if (rc < 0)
        return FAIL (EX_SOFTWARE, "cannot read back %s: %s", result->path,
                     err.text);
    PRINT (s.kept, "%s", result->kept);
    s.beside = &a->beside;
    s.jobs = &a->jobs;
    s.job = a->job;
    s.all_jobs = a->opt.all_jobs;
    if (!a->opt.json)
        rc = summary_print_text (&s, STDOUT_FILENO);
    else
        print_json (a, &s);
    summary_fini (&s);
    return cli_flush (&analyze_command, rc);
}

/* Whether anything at all could be read. */
static bool any_rows (const struct analysis *a)
{
    for (size_t i = 0; i < a->nitems; i++) {
        if (a->items[i].capture.state == CAPTURE_COMPLETE ||
            a->items[i].capture.state == CAPTURE_UNEXPECTED ||
            a->items[i].capture.state == CAPTURE_PARTIAL)
            return true;
    }
    return false;
}

/* Without --world-size, the build finds the number of ranks in the captures. */
static int expect_ranks (struct analysis *a)
{
    if (a->opt.world_size > 0 &&
        roster_expect_world (&a->roster, a->opt.world_size,
                             "--world-size") < 0)
        return FAIL (EX_OSERR, "no memory for %lld ranks",
                     (long long)a->opt.world_size);
    return 0;
}

/* Print the result of the job that was built. */
static int finish_job (struct analysis *a, const struct build_result *result)
{
    int status = analyze_build_others (a, result);

    if (status == 0 && !a->opt.quiet)
        status = print_summary (a, result);
    if (status != 0)
        return status;
    if (!any_rows (a))
        return FAIL (EX_DATAERR, "no capture could be read: the reasons are "
                     "in table Capture of %s", result->path);
    return roster_complete (&a->roster) ? EXIT_ALL_PRESENT : EXIT_NOT_ALL;
}

static int build_job (struct analysis *a, size_t job)
{
    struct build_result result;
    int status = 0;

    analyze_choose_job (a, job);
    roster_fini (&a->roster);
    roster_init (&a->roster);
    if (a->opt.all_jobs) {
        publish_close (&a->out);
        status = analyze_open_job (a);
    }
    if (status == 0)
        status = expect_ranks (a);
    if (status == 0)
        status = analyze_build (a, &result);
    return status != 0 ? status : finish_job (a, &result);
}

/* The worse of two statuses, which has the larger number: some rank is missing,
 * nothing could be read, nothing was written.
 */
static int worse (int a, int b)
{
    return b > a ? b : a;
}

/* Without the others nothing more is built together. */
static bool are_all_there (void)
{
    return !cli_team || team_is_whole (cli_team);
}

static int build_some (struct analysis *a)
{
    struct err err = { "" };
    size_t job = 0;
    int status = EXIT_ALL_PRESENT;

    if (a->opt.job && jobs_find (&a->jobs, a->opt.job, &job, &err) < 0) {
        analyze_drop_output (a);
        return FAIL (EXIT_USAGE, "--job: %s; nothing was written", err.text);
    }
    if (!a->opt.all_jobs)
        return build_job (a, job);
    analyze_drop_output (a);
    for (job = 0; job < a->jobs.n && status < EXIT_INTERRUPTED && are_all_there ();
         job++)
        status = worse (status, build_job (a, job));
    if (job < a->jobs.n && !are_all_there ())
        (void)FAIL (status, "a process of this launch has left: %zu of %zu jobs "
                    "were not analysed", a->jobs.n - job, a->jobs.n);
    if (a->opt.json && !a->opt.quiet)
        (void)puts (a->printed ? "]" : "[]");
    return status;
}

static int list_jobs (struct analysis *a)
{
    struct json *j;
    int status;

    if ((status = analyze_plan (a)) != 0 || (status = analyze_look (a)) != 0)
        return status;
    if (a->opt.json) {
        j = json_object ();
        job_list_to_json (&a->jobs, JOBS_NONE, json_add_array (j, "jobs"));
        return cli_flush (&analyze_command, cli_print_json (j));
    }
    return cli_flush (&analyze_command,
                      job_list_print (&a->jobs, STDOUT_FILENO));
}

static int analyze (struct analysis *a)
{
    struct build_result result;
    int status;

    if ((status = analyze_check_options (a)) != 0 ||
        (status = analyze_find (a)) != 0)
        return status;
    if (a->opt.list_jobs)
        return list_jobs (a);
    if ((status = choose_output (a)) != 0 ||
        (status = analyze_plan (a)) != 0 || (status = expect_ranks (a)) != 0)
        return status;
    status = analyze_build (a, &result);
    if (status == ANALYZE_CHOOSE)
        return build_some (a);
    return status != 0 ? status : finish_job (a, &result);
}

static void verb_analyze_fini (struct analysis *a)
{
    cli_derive_fini (&a->derive);
    publish_close (&a->out);
    select_free (a->items, a->found.n);
    free (a->items);
    free (a->recalled);
    free (a->raw);
    jobs_fini (&a->jobs);
    free (a->job_of);
    find_free (&a->found);
    roster_fini (&a->roster);
}

int verb_analyze (int argc, char **argv)
{
    struct analysis a = { .ndirs = 0 };
    struct err err = { "" };
    int rest, status;

    if (!cli_options (&analyze_command, argc, argv, &a.opt, &rest, &status))
        return status;
    capture_world_max = a.opt.max_ranks;
    if (a.opt.world_size > capture_world_max)
        return FAIL (EXIT_USAGE, "--world-size is more than --max-ranks");
    cli_progress_begin (&a.progress);
    a.progress.shown = a.progress.shown && !a.opt.quiet;
    if (rest == argc)
        return FAIL (EXIT_USAGE, "no directory was given (usage: %s %s)",
                     analyze_command.name, analyze_command.usage);
    if (a.opt.steps && steps_parse (a.opt.steps, &a.steps, &err) < 0)
        return FAIL (EXIT_USAGE, "--steps: %s", err.text);
    a.opt.own_threads = a.opt.threads == 0;
    if (a.opt.own_threads)
        a.opt.threads = cli_processors ();
    for (int i = rest; i < argc; i++) {
        size_t n = strlen (argv[i]);

        while (n > 1 && argv[i][n - 1] == '/')      // for tidy messages
            argv[i][--n] = '\0';
    }
    a.dirs = argv + rest;
    a.ndirs = argc - rest;
    team_tell_binding (&analyze_command, a.opt.own_threads ? 0 : a.opt.threads);
    cli_catch_signals ();
    status = analyze (&a);
    verb_analyze_fini (&a);
    return status;
}
