/* cli/verb_report.c - rollcall report: write a result as one page */
#include "cli.h"
#include "find_result.h"
#include "several/result_cache.h"

#include "html_page/html_page.h"
#include "query/finished.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct report_options {
    struct result_place place;
    const char *output;
    bool foreign;
};

static const struct option_spec options[] = {
    OPTION (TEXT, "output", 'o', struct report_options, output, "FILE", NULL,
      NULL,
      "Where to write the page, instead of " PAGE_NAME " beside the result (of "
      "one that an aggregator sent: report-JOB.html here); - for standard "
      "output."),
    CLI_FOREIGN_OPTION (struct report_options, foreign),
    CLI_RESULT_OPTIONS (struct report_options),
};

static const struct command_spec report_command = {
    "rollcall report", "[OPTION]... [" CLI_RESULT_USAGE "]",
    "Make one HTML page of a finished result, to look at in any browser. It "
    "needs no network. The result is the one below the current directory, or "
    "that of DIR, FILE or JOB.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&report_command, status, __VA_ARGS__)

/* Split the path into the directory and the name of the page. */
static int verb_report_split (const char *path, char dir[PATH_MAX],
                              char name[NAME_MAX + 1])
{
    const char *slash = strrchr (path, '/');
    const char *base = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) : 1;

    if (!*base || strlen (base) > NAME_MAX || n >= PATH_MAX)
        return -EINVAL;
    (void)snprintf (dir, PATH_MAX, "%.*s", (int)(n ? n : 1),
                    slash ? path : ".");
    (void)snprintf (name, NAME_MAX + 1, "%s", base);
    return 0;
}

static int failed (int rc, int no_output, const struct err *err)
{
    if (rc == -EINTR)
        return cli_interrupted (&report_command, "no page was written");
    return FAIL (rc == -EBADMSG ? EX_DATAERR : no_output, "%s", err->text);
}

/* Write the page to standard output and nothing else there. */
static int verb_report_print (const char *db)
{
    struct err err = { "" };
    char *text;
    size_t size;
    int rc;

    cli_catch_signals ();
    rc = page_text (db, &cli_cancelled, &text, &size, &err);
    if (rc < 0)
        return failed (rc, rc == -ENOMEM ? EX_OSERR : EX_IOERR, &err);
    (void)fwrite (text, 1, size, stdout);
    free (text);
    return cli_flush (&report_command, 0);
}

static int make (const char *db, const struct report_options *opt)
{
    const char *output = opt->output;
    char dir[PATH_MAX], name[NAME_MAX + 1], kept[PATH_MAX] = "";
    struct err err = { "" };
    struct publish p;
    struct stat st;
    int rc;

    // publishing would rename the old file: not possible for /dev/stdout
    if (verb_report_split (output ? output : db, dir, name) < 0 ||
        (output && stat (output, &st) == 0 && !S_ISREG (st.st_mode)))
        return FAIL (EXIT_USAGE, "\"%s\": --output takes the name of a file, "
                     "not of a directory, device or pipe",
                     output ? output : db);
    if (stat (dir, &st) == 0 && !S_ISDIR (st.st_mode))
        return FAIL (EX_CANTCREAT, "cannot write %s: %s is not a directory",
                     output ? output : db, dir);
    cli_catch_signals ();
    if ((rc = publish_open_dir (&p, dir, opt->foreign, &err)) == 0)
        rc = page_make (&p, db, output ? name : PAGE_NAME, &cli_cancelled,
                        kept, &err);
    publish_close (&p);
    if (rc < 0)
        return failed (rc, cli_output_status (rc), &err);
    (void)printf ("written       %s/%s\n", dir, output ? name : PAGE_NAME);
    if (*kept)
        (void)printf ("kept          %s, which is another tool's\n", kept);
    return cli_flush (&report_command, 0);
}

/* Nobody looks into the cache, and the page of the next job would replace it. */
static const char *page_here (const char *job, char out[PATH_MAX])
{
    if (!job || !cli_valid_job (job))
        return PAGE_NAME;
    (void)snprintf (out, PATH_MAX, "report-%s.html", job);
    return out;
}

int verb_report (int argc, char **argv)
{
    struct report_options opt = { .output = NULL };
    char db[PATH_MAX], here[PATH_MAX];
    sqlite3 *open = NULL;
    int rest, status;

    if (!cli_options (&report_command, argc, argv, &opt, &rest, &status))
        return status;
    status = cli_find_operand (&report_command, argc - rest, argv + rest,
                               &opt.place, db);
    // else it would look like an output that cannot be written
    if (status == 0 &&
        (status = cli_open_result (&report_command, db, false, &open)) == 0)
        (void)sqlite3_close (open);
    if (status)
        return status;
    if (!opt.output && result_cache_has (db))
        opt.output = page_here (argv[rest], here);
    return opt.output && strcmp (opt.output, "-") == 0 ? verb_report_print (db)
                                                       : make (db, &opt);
}
