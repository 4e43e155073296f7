/* cli/verb_export.c - rollcall export: a result for other tools */
#include "cli.h"
#include "find_result.h"

#include "base/units.h"
#include "export/dump.h"
#include "export/outfile.h"
#include "export/trace.h"
#include "model/capture.h"
#include "model/steps.h"
#include "query/finished.h"
#include "store/db.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct export_options {
    struct result_place place;
    const char *perfetto, *chrome, *csv, *step;
    int64_t rank;
    bool raw_csv, raw_clocks, foreign, quiet;
};

static const struct option_spec options[] = {
    OPTION (TEXT, "perfetto", 'p', struct export_options, perfetto, "FILE",
      NULL, NULL,
      "Write a trace of all ranks' communication ops, which ui.perfetto.dev "
      "opens. Compressed if FILE ends in .gz; - is standard output."),
    OPTION (TEXT, "chrome", 0, struct export_options, chrome, "FILE", NULL,
      NULL, "The same file, which chrome://tracing opens, too."),
    OPTION (TEXT, "csv", 'c', struct export_options, csv, "DIR", NULL, NULL,
      "Write all tables as CSV, one file for each, and schema.json, which has "
      "types and units. DIR is new or empty. A text that a spreadsheet would "
      "take for a formula gets an apostrophe in front."),
    OPTION_SWITCH_BESIDE ("csv", "raw-csv", struct export_options, raw_csv,
      "With --csv, for programs: texts are not changed."),
    OPTION_NUMBER ("rank", 0, struct export_options, rank, "N", NULL, NULL, 0,
      CAPTURE_WORLD_LIMIT, "With a trace: only this rank."),
    OPTION (TEXT, "step", 's', struct export_options, step, "STEP", NULL, NULL,
      "With a trace: only this step, 13 or step13."),
    OPTION_SWITCH ("raw-clocks", 0, struct export_options, raw_clocks,
      "Leave times as they were recorded: do not subtract known offsets of the "
      "ranks' clocks."),
    OPTION_SWITCH ("quiet", 0, struct export_options, quiet,
      "Do not say what was written."),
    CLI_FOREIGN_OPTION (struct export_options, foreign),
    CLI_RESULT_OPTIONS (struct export_options),
};

static const struct command_spec export_command = {
    "rollcall export",
    "[OPTION]... --perfetto FILE|--csv DIR [" CLI_RESULT_USAGE "]",
    "Write a result for other tools. It is the one below the current "
    "directory, or that of DIR, FILE or JOB.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&export_command, status, __VA_ARGS__)

/* Print in one line how the clocks were aligned. */
static void say_clocks (const struct export_options *opt,
                        const struct trace_counts *n)
{
    if (opt->raw_clocks)
        (void)printf ("clocks        as recorded (--raw-clocks)\n");
    else if (n->aligned == 0)
        (void)printf ("clocks        as recorded: no offset is known, ranks "
                      "may be shifted against each other\n");
    else
        (void)printf ("clocks        offsets of %lld of %lld ranks "
                      "subtracted, the largest %.3f ms\n",
                      (long long)n->aligned, (long long)n->ranks,
                      n->offset_ms);
}

static void say_trace (const struct export_options *opt, const char *path,
                       const struct trace_counts *n)
{
    int64_t here = n->ranks - n->missing;

    (void)printf ("written       %s: %lld communication op%s and %lld step%s "
                  "of %lld rank%s\n", path, (long long)n->ops,
                  units_s ((uint64_t)n->ops), (long long)n->steps,
                  units_s ((uint64_t)n->steps), (long long)here,
                  units_s ((uint64_t)here));
    say_clocks (opt, n);
    if (n->missing > 0)
        (void)printf ("not present   %lld rank%s, with a mark that has the "
                      "reason\n", (long long)n->missing,
                      units_s ((uint64_t)n->missing));
    if (n->untimed > 0)
        (void)printf ("left out      %lld step%s or ops without a time\n",
                      (long long)n->untimed, units_s ((uint64_t)n->untimed));
    if (n->crowded > 0)
        (void)printf ("overlapping   %lld op%s: the viewer draws each across "
                      "another op of its track\n", (long long)n->crowded,
                      units_s ((uint64_t)n->crowded));
}

static int write_trace (const struct export_options *opt, sqlite3 *db,
                        const char *path)
{
    struct trace_options t = { opt->raw_clocks, opt->rank, NULL };
    struct trace_counts counts;
    struct err err = { "" };
    struct outfile o;
    size_t n;
    int rc, closed;

    if (opt->step)
        t.step = steps_id (opt->step, strlen (opt->step), &n);
    // elsewhere nothing needs cleaning up, and a reader may be stuck
    if (outfile_is_replaced (path))
        cli_catch_signals ();
    if ((rc = outfile_open (&o, path, opt->foreign, &cli_cancelled,
                            &err)) < 0)
        return FAIL (cli_output_status (rc), "%s", err.text);
    db_cancel (db, &cli_cancelled);
    rc = trace_write (db, &t, o.f, &counts, &err);
    db_cancel (db, NULL);
    rc = finished_judge (db, rc, &err);
    closed = outfile_close (&o, rc == 0, rc == 0 ? &err : NULL);
    if (rc == -EINTR || closed == -EINTR)
        return cli_interrupted (&export_command, "%s was not written", path);
    if (rc < 0)
        return FAIL (rc == -ENODATA || rc == -EBADMSG ? EX_DATAERR : EX_IOERR,
                     "%s", err.text);
    if (closed < 0)
        return FAIL (cli_output_status (closed), "%s", err.text);
    if (!opt->quiet && strcmp (path, "-") != 0)
        say_trace (opt, path, &counts);
    return cli_flush (&export_command, 0);
}

static int write_csv (const struct export_options *opt, sqlite3 *db)
{
    struct dump_counts counts;
    struct err err = { "" };
    unsigned how = (opt->raw_csv ? DUMP_RAW : 0) |
                   (opt->foreign ? DUMP_FOREIGN : 0);
    int rc;

    cli_catch_signals ();
    rc = dump_write (db, opt->csv, how, &cli_cancelled, &counts, &err);
    rc = finished_judge (db, rc, &err);
    if (rc == -EINTR)
        return cli_interrupted (&export_command, "nothing was written into %s",
                                opt->csv);
    if (rc < 0)
        return FAIL (rc == -EBADMSG ? EX_DATAERR : cli_output_status (rc), "%s",
                     err.text);
    if (!opt->quiet)
        (void)printf ("written       %s: %lld tables, %lld row%s, and "
                      DUMP_SCHEMA "\n", opt->csv, (long long)counts.tables,
                      (long long)counts.rows,
                      units_s ((uint64_t)counts.rows));
    return cli_flush (&export_command, 0);
}

/* export --perfetto JOB: the file to write was forgotten */
static bool is_dir (const char *path)
{
    struct stat st;

    return path && stat (path, &st) == 0 && S_ISDIR (st.st_mode);
}

static bool is_empty (const char *path)
{
    return path && !*path;
}

int verb_export (int argc, char **argv)
{
    struct export_options opt = { .rank = -1 };
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    int rest, status;

    if (!cli_options (&export_command, argc, argv, &opt, &rest, &status))
        return status;
    if (!opt.perfetto && !opt.chrome && !opt.csv)
        return FAIL (EXIT_USAGE, "give --perfetto FILE, --chrome FILE or --csv "
                     "DIR");
    if (is_empty (opt.perfetto) || is_empty (opt.chrome) ||
        is_empty (opt.csv))
        return FAIL (EXIT_USAGE, "a file name must not be empty");
    if (is_dir (opt.perfetto) || is_dir (opt.chrome))
        return FAIL (EXIT_USAGE, "%s is a directory: --perfetto and --chrome "
                     "take the file to write, and the result comes after it",
                     is_dir (opt.perfetto) ? opt.perfetto : opt.chrome);
    if (opt.csv && strcmp (opt.csv, "-") == 0)
        return FAIL (EXIT_USAGE, "--csv: standard output takes one file, not "
                     "one for each table: name a directory");
    if (!opt.perfetto && !opt.chrome &&
        (opt.rank >= 0 || opt.step || opt.raw_clocks))
        return FAIL (EXIT_USAGE, "--rank, --step and --raw-clocks apply to a "
                     "trace; --csv writes everything");
    opt.place.asked = "...";
    if ((status = cli_find_operand (&export_command, argc - rest, argv + rest,
                                    &opt.place, path)) ||
        (status = cli_open_result (&export_command, path, false, &db)))
        return status;
    if (opt.perfetto)
        status = write_trace (&opt, db, opt.perfetto);
    if (status == 0 && opt.chrome)
        status = write_trace (&opt, db, opt.chrome);
    if (status == 0 && opt.csv)
        status = write_csv (&opt, db);
    (void)sqlite3_close (db);
    return status;
}
