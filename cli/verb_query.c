/* cli/verb_query.c - rollcall query: run queries on a result */
#include "cli.h"
#include "find_result.h"

#include "base/buf.h"
#include "model/capture.h"
#include "model/steps.h"
#include "options/nearest_name.h"
#include "query/absent.h"
#include "query/finished.h"
#include "query/query.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SQL_MAX (1u << 20)      // bytes of --sql -
#define NO_TABLE "no such table"        // as SQLite says it

struct query_options {
    struct result_place place;
    const char *sql, *step;
    int64_t rank, peer, limit, width, timeout_ns;
    bool csv, raw_csv, json, list, print_sql;
};

static const struct option_spec options[] = {
    OPTION_SWITCH ("list", 'l', struct query_options, list,
      "List the names and what each one shows."),
    OPTION (TEXT, "sql", 'q', struct query_options, sql, "TEXT", NULL, NULL,
      "Run this SQL instead: one SELECT, or - for standard input. It may have "
      "the parameters :rank, :peer, :step and :limit."),
    OPTION_NUMBER ("rank", 0, struct query_options, rank, "N", NULL, NULL, 0,
      CAPTURE_WORLD_LIMIT, "Only rows of this rank."),
    OPTION_NUMBER ("peer", 0, struct query_options, peer, "N", NULL, NULL, 0,
      CAPTURE_WORLD_LIMIT,
      "The rank that it is compared with; without it, all others."),
    OPTION (TEXT, "step", 's', struct query_options, step, "STEP", NULL, NULL,
      "Only rows of this step: 13 or step13."),
    OPTION_NUMBER ("limit", 'n', struct query_options, limit, "N", "0", NULL, 0,
      INT64_MAX, "The first N rows only; 0 for all."),
    OPTION_SWITCH ("csv", 0, struct query_options, csv,
      "Print CSV (RFC 4180): NULL is an empty field, an empty text \"\". A "
      "text that a spreadsheet would take for a formula gets an apostrophe in "
      "front: one that begins with =, +, -, @, tab or CR, and is not a "
      "number."),
    OPTION_SWITCH ("raw-csv", 0, struct query_options, raw_csv,
      "The same for programs: texts are not changed."),
    OPTION_SWITCH ("json", 0, struct query_options, json,
      "Print an array of objects, one for each row."),
    CLI_WIDTH_OPTION (struct query_options),
    OPTION (DURATION, "timeout", 't', struct query_options, timeout_ns, "TIME",
      "10m", NULL, "Give up after this much CPU time; 0: never."),
    OPTION_SWITCH ("print-sql", 0, struct query_options, print_sql,
      "Print the SQL of NAME and do not run it: to change it, or to run it "
      "with sqlite3."),
    CLI_RESULT_OPTIONS (struct query_options),
};

static const struct command_spec query_command = {
    "rollcall query", "[OPTION]... NAME|--sql TEXT [" CLI_RESULT_USAGE "]",
    "Query a finished result and print the rows of the answer. It is the one "
    "below the current directory, or that of DIR, FILE or JOB.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&query_command, status, __VA_ARGS__)

static enum grid_format format_of (const struct query_options *opt)
{
    return opt->json      ? GRID_JSON
           : opt->raw_csv ? GRID_RAW_CSV
           : opt->csv     ? GRID_CSV
                          : GRID_TABLE;
}

static struct grid *new_grid (const struct query_options *opt)
{
    return grid_create (stdout, format_of (opt), cli_width (opt->width));
}

static int verb_query_list (const struct query_options *opt)
{
    static const char *const names[] = { "name", "asks", "takes" };
    struct grid *g = new_grid (opt);
    int rc = g ? 0 : -ENOMEM;

    if (g)
        grid_head (g, names, 3);
    for (unsigned i = 0; g && i < query_count; i++) {
        bool rank = strstr (queries[i].sql, ":rank");
        bool step = strstr (queries[i].sql, ":step");
        bool peer = strstr (queries[i].sql, ":peer");

        grid_word (g, queries[i].name);
        grid_word (g, queries[i].brief);
        grid_word (g, peer           ? "--rank --peer --step"
                      : rank && step ? "--rank --step"
                      : rank         ? "--rank"
                      : step         ? "--step"
                                     : NULL);
    }
    if (rc == 0)
        rc = grid_finish (g);
    grid_destroy (g);
    return cli_flush (&query_command, rc);
}

/* Read SQL from standard input to its end. */
static int read_sql (struct buf *b)
{
    char block[4096];
    ssize_t n;

    while ((n = read (STDIN_FILENO, block, sizeof (block))) != 0) {
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0)
            buf_put (b, block, (size_t)n);
    }
    return b->failed ? -EFBIG : 0;
}

static int status_of (int rc)
{
    return rc == -EINVAL ? EXIT_USAGE : rc == -ENOMEM ? EX_OSERR
           : rc == -EBADMSG || rc == -ENODATA ? EX_DATAERR : EX_IOERR;
}

/* Tell below a job's table that there are other jobs beside it. */
static void tell_other_jobs (sqlite3 *db)
{
    char others[4096];

    (void)fflush (stdout);
    if (db_one (db_rows (db, NULL, "SELECT value FROM Job WHERE "
                                   "key='other_jobs'"), others) > 0)
        (void)FAIL (0, "note: %s", others);
}

/* 'named': a named query, whose ranks and steps refer to an analysis.db. */
static int run_query (const struct query_options *opt, sqlite3 *db,
                      const char *sql, bool named)
{
    struct query_values v = { opt->rank, opt->peer, NULL, opt->limit, NULL };
    char why[ABSENT_WHY_MAX];
    struct finished_limit limit;
    sqlite3_stmt *st = NULL;
    struct err err = { "" };
    struct grid *g = NULL;
    size_t n;
    int rc;

    if (opt->step)
        v.step = steps_id (opt->step, strlen (opt->step), &n);
    finished_limit (db, opt->timeout_ns, &limit);
    rc = query_prepare (db, sql, &v, &st, &err);
    if (rc == 0 && named)
        rc = absent_check (db, v.rank, v.step, &err);
    if (rc == 0 && named && v.peer >= 0)
        rc = absent_check (db, v.peer, NULL, &err);
    if (rc == 0 && named && *absent_why (db, sql, v.rank, why))
        v.none = why;
    if (rc == 0 && !(g = new_grid (opt)))
        rc = err_set (&err, ENOMEM, "no memory for a table");
    if (rc == 0)
        rc = query_print (st, &v, g, &err);
    (void)sqlite3_finalize (st);
    grid_destroy (g);
    if (rc == 0 && named && format_of (opt) == GRID_TABLE)
        tell_other_jobs (db);
    if (rc == -EINTR)
        return FAIL (EX_TEMPFAIL, "the query took longer than --timeout: the "
                     "output is not complete");
    if (rc < 0)
        return FAIL (status_of (rc), "%s%s%s", named ? "" : "--sql: ", err.text,
                     !named && strncmp (err.text, NO_TABLE,
                                        strlen (NO_TABLE)) == 0
                         ? "; rollcall query tables lists those of an "
                           "analysis.db" : "");
    return cli_flush (&query_command, 0);
}

/* 'named' is the query that 'sql' is of; NULL: it is that of --sql. */
static int verb_query_ask (const struct query_options *opt, const char *what,
                           const struct query *named, const char *sql)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    int status;

    if ((status = cli_find_result (&query_command, what, &opt->place, path)) ||
        (status = cli_open_result (&query_command, path, !named, &db)))
        return status;
    status = run_query (opt, db, sql, named != NULL);
    (void)sqlite3_close (db);
    return status;
}

static int ask_sql (const struct query_options *opt, const char *what)
{
    struct buf text;
    const char *sql = opt->sql;
    int rc = 0, status;

    buf_init (&text, SQL_MAX);
    if (strcmp (sql, "-") == 0) {
        rc = read_sql (&text);
        sql = buf_text (&text);
    }
    status = rc < 0 ? FAIL (EX_IOERR, "cannot read standard input: %s",
                            strerror (-rc))
                    : verb_query_ask (opt, what, NULL, sql);
    buf_fini (&text);
    return status;
}

static int no_query (const char *name)
{
    struct nearest near = { .meant = name, .size = strlen (name) };
    char names[1024] = "";

    for (unsigned i = 0; i < query_count; i++)
        nearest_consider (&near, queries[i].name);
    if (near.best)
        return FAIL (EXIT_USAGE, "there is no query \"%s\": did you mean %s? "
                     "--list shows what each does, --sql takes your own", name,
                     near.best);

    for (unsigned i = 0, used = 0; i < query_count && used < sizeof (names);
         i++)
        used += (unsigned)snprintf (names + used, sizeof (names) - used,
                                    "%s%s", i ? ", " : "", queries[i].name);
    return FAIL (EXIT_USAGE, "there is no query \"%s\"; there are %s; --list "
                 "shows what each does, --sql takes your own", name, names);
}

static int ask_named (const struct query_options *opt, const char *name,
                      const char *what)
{
    const struct query *q = query_find (name);

    if (!q && what && query_find (what))
        return FAIL (EXIT_USAGE, "the question comes first: rollcall query %s "
                     "%s", what, name);
    if (!q)
        return no_query (name);
    if (opt->print_sql) {
        (void)printf ("%s;\n", q->sql);
        return cli_flush (&query_command, 0);
    }
    return verb_query_ask (opt, what, q, q->sql);
}

int verb_query (int argc, char **argv)
{
    struct query_options opt = { .rank = -1, .peer = -1, .width = -1 };
    int rest, status, left, wanted;

    if (!cli_options (&query_command, argc, argv, &opt, &rest, &status))
        return status;
    left = argc - rest;
    wanted = opt.sql ? 0 : 1;
    if ((opt.csv || opt.raw_csv) && opt.json)
        return FAIL (EXIT_USAGE, "CSV or --json, not both");
    if (opt.list && (left > 0 || opt.sql))
        return FAIL (EXIT_USAGE, "--list takes no arguments");
    if (opt.list)
        return verb_query_list (&opt);
    if (left < wanted)
        return FAIL (EXIT_USAGE, "name a query: --list has their names, --sql "
                     "takes your own");
    if (left > wanted + 1)
        return FAIL (EXIT_USAGE, "unexpected argument \"%s\"",
                     argv[rest + wanted + 1]);
    if (opt.sql && opt.print_sql)
        return FAIL (EXIT_USAGE, "--print-sql is for queries with a name");
    const char *what = left > wanted ? argv[argc - 1] : ".";
    opt.place.asked = opt.sql ? "--sql ..." : argv[rest];

    return opt.sql ? ask_sql (&opt, what) : ask_named (&opt, argv[rest], what);
}
