/* cli/verb_trend.c - rollcall trend: how an aggregator's jobs change */
#include "jobs/facts_of_all.h"
#include "jobs_list.h"

#include "base/clock.h"
#include "base/units.h"
#include "export/outfile.h"
#include "postgres/facts_lines.h"
#include "query/grid.h"
#include "trend/trend.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct trend_options {
    struct cli_where where;
    const char *root, *by, *html;
    struct cli_filter filter;
    struct cli_postgres postgres;
    bool json, foreign, facts;
};

static const struct option_spec options[] = {
    CLI_WHERE_OPTIONS (struct trend_options, where),
    OPTION (TEXT, "by", 'b', struct trend_options, by, "KEY", "week", NULL,
      "One row for each: day, week, month, tag, user or host."),
    CLI_FILTER_OPTIONS (struct trend_options, filter),
    CLI_POSTGRES_OPTIONS (struct trend_options, postgres),
    OPTION (TEXT, "html", 0, struct trend_options, html, "FILE", NULL, NULL,
      "Write one page with charts that link to the report of each job. It "
      "replaces FILE."),
    CLI_FOREIGN_OPTION (struct trend_options, foreign),
    OPTION_SWITCH ("json", 0, struct trend_options, json,
      "Print one JSON object."),
    OPTION_SWITCH ("facts", 0, struct trend_options, facts,
      "Print what the numbers are made of, for trend of several aggregators."),
};

static const struct command_spec trend_command = {
    "rollcall trend", "[OPTION]...",
    "Show how the jobs of an aggregator change over weeks: step time, "
    "communication, bandwidth, and what is slow again and again.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&trend_command, status, __VA_ARGS__)

/* ---- text ---- */

static void day_of (int64_t ns, char out[CLOCK_TEXT_MAX])
{
    clock_text (ns, out);
    out[ns > 0 ? 10 : 0] = '\0';
}

static void print_summary (const struct trend *t)
{
    char first[CLOCK_TEXT_MAX], last[CLOCK_TEXT_MAX];

    day_of (t->first_ns, first);
    day_of (t->last_ns, last);
    (void)printf ("%lld job%s, %lld with steps, of %lld user%s", (long long)
                  t->jobs, units_s ((uint64_t)t->jobs),
                  (long long)t->with_result, (long long)t->users,
                  units_s ((uint64_t)t->users));
    if (t->jobs > 0)
        (void)printf (", from %s to %s", first, last);
    (void)puts ("");
}

static void put_number (struct grid *g, double v, int decimals)
{
    if (isfinite (v))
        grid_fixed (g, v, decimals);
    else
        grid_null (g);
}

static int print_rows (const struct trend *t, enum trend_by by)
{
    char gbps[TREND_TRANSPORTS][64];
    const char *names[5 + TREND_TRANSPORTS + 1] = {
        trend_by_names[by], "jobs", "step_ms", "comp_%", "comm_%",
    };
    struct grid *g = grid_create (stdout, GRID_TABLE, cli_width (-1));
    unsigned n = 5;
    int rc;

    if (!g)
        return -ENOMEM;
    for (size_t i = 0; i < t->ntransports; i++) {
        PRINT (gbps[i], "%.40s_GB/s", t->transports[i]);
        names[n++] = gbps[i];
    }
    names[n++] = "high";
    grid_head (g, names, n);
    for (size_t i = 0; i < t->nrows; i++) {
        const struct trend_row *r = &t->rows[i];

        grid_word (g, r->key);
        grid_int (g, r->jobs);
        put_number (g, r->step_ms, 3);
        put_number (g, r->computing_percent, 1);
        put_number (g, r->comm_percent, 1);
        for (size_t k = 0; k < t->ntransports; k++)
            put_number (g, r->gbps[k], 2);
        grid_int (g, r->high);
    }
    rc = grid_finish (g);
    grid_destroy (g);
    return rc;
}

static int print_back (const struct trend *t)
{
    static const char *const names[] = { "slow again", "what", "jobs", "of",
                                         "first", "last", "step_%", "latest" };
    char first[CLOCK_TEXT_MAX], last[CLOCK_TEXT_MAX];
    struct grid *g = grid_create (stdout, GRID_TABLE, cli_width (-1));
    int rc;

    if (!g)
        return -ENOMEM;
    grid_head (g, names, sizeof (names) / sizeof (names[0]));
    for (size_t i = 0; i < t->nback; i++) {
        const struct trend_back *b = &t->back[i];

        day_of (b->first_ns, first);
        day_of (b->last_ns, last);
        grid_word (g, b->kind);
        grid_word (g, b->what);
        grid_int (g, b->jobs);
        grid_int (g, b->of);
        grid_word (g, first);
        grid_word (g, last);
        put_number (g, b->percent, 1);
        grid_word (g, b->latest);
    }
    rc = grid_finish (g);
    grid_destroy (g);
    return rc;
}

static int print_text (const struct trend *t, enum trend_by by)
{
    int rc;

    print_summary (t);
    if (t->jobs == 0)
        return 0;
    (void)puts ("");
    if ((rc = print_rows (t, by)) < 0)
        return rc;
    (void)puts ("");
    if (t->nback > 0)
        return print_back (t);
    (void)puts ("No device, link or host is slow in more than one of them.");
    return 0;
}

/* ---- JSON ---- */

static void put_real (struct json_out *out, const char *key, double v)
{
    json_out_key (out, key);
    json_out_real (out, v);
}

static void put_time (struct json_out *out, const char *key, int64_t ns)
{
    char text[CLOCK_TEXT_MAX];

    clock_text (ns, text);
    json_out_text_of (out, key, text);
}

static void put_row (struct json_out *out, const struct trend *t,
                     const struct trend_row *r)
{
    json_out_open_line (out, '{');
    json_out_text_of (out, "key", r->key);
    json_out_int_of (out, "jobs", r->jobs);
    put_time (out, "first", r->first_ns);
    put_time (out, "last", r->last_ns);
    put_real (out, "step_ms", r->step_ms);
    put_real (out, "computing_percent", r->computing_percent);
    put_real (out, "comm_percent", r->comm_percent);
    json_out_open_of (out, "gbps", '{');
    for (size_t k = 0; k < t->ntransports; k++)
        put_real (out, t->transports[k], r->gbps[k]);
    json_out_close (out, '}');
    json_out_int_of (out, "high", r->high);
    json_out_close (out, '}');
}

static void put_back (struct json_out *out, const struct trend_back *b)
{
    json_out_open_line (out, '{');
    json_out_text_of (out, "kind", b->kind);
    json_out_text_of (out, "what", b->what);
    json_out_int_of (out, "jobs", b->jobs);
    json_out_int_of (out, "of", b->of);
    put_time (out, "first", b->first_ns);
    put_time (out, "last", b->last_ns);
    put_real (out, "effect_percent", b->percent);
    json_out_text_of (out, "latest", b->latest);
    json_out_close (out, '}');
}

/* 'j': of several aggregators, or NULL */
static int print_trend_json (const struct trend *t, enum trend_by by,
                             const struct job_copies *j)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": " };

    json_out_open (&out, '{');
    json_out_int_of (&out, "jobs", t->jobs);
    json_out_int_of (&out, "with_steps", t->with_result);
    json_out_int_of (&out, "users", t->users);
    json_out_text_of (&out, "by", trend_by_names[by]);
    json_out_open_of (&out, "rows", '[');
    for (size_t i = 0; i < t->nrows; i++)
        put_row (&out, t, &t->rows[i]);
    json_out_close (&out, ']');
    json_out_open_of (&out, "slow_again", '[');
    for (size_t i = 0; i < t->nback; i++)
        put_back (&out, &t->back[i]);
    json_out_close (&out, ']');
    if (j)
        job_copies_silent (j, &out);
    json_out_close (&out, '}');
    return fputc ('\n', stdout) == EOF ? -errno : 0;
}

/* ---- the page ---- */

/* The directory of a file, resolved; "" if that fails. */
static void dir_of (const char *file, char dir[PATH_MAX])
{
    char text[PATH_MAX];
    const char *slash = strrchr (file, '/');

    PRINT (text, "%.*s", slash ? (int)(slash - file) : 1, slash ? file : ".");
    if (!realpath (*text ? text : "/", dir))
        dir[0] = '\0';
}

static int write_page (const struct trend_options *opt, const struct trend *t,
                       struct catalogue *c, enum trend_by by, struct err *err)
{
    char dir[PATH_MAX];
    struct outfile o;
    int rc = outfile_open (&o, opt->html, opt->foreign, NULL, err);

    if (rc < 0)
        return rc;
    dir_of (opt->html, dir);
    if ((rc = trend_page (o.f, t, c, by, dir)) < 0) {
        int lost = outfile_close (&o, false, err);

        return lost < 0 ? lost : err_sys (err, -rc, "cannot make the page");
    }
    return outfile_close (&o, true, err);
}

/* ---- the verb ---- */

static int find_by (const char *name, enum trend_by *ret)
{
    for (unsigned i = 0; i < TREND_KEYS; i++) {
        if (strcmp (name, trend_by_names[i]) == 0) {
            *ret = i;
            return 0;
        }
    }
    return FAIL (EXIT_USAGE, "--by \"%s\": use day, week, month, tag, user or "
                 "host", name);
}

static int show (const struct trend_options *opt, struct cli_jobs *jobs,
                 const struct catalogue_filter *filter, enum trend_by by,
                 const struct job_copies *j)
{
    struct err err = { "" };
    struct trend t;
    int rc = trend_read (jobs->catalogue, filter, by, opt->html, &t, &err);

    if (rc < 0)
        return cli_jobs_failed (&trend_command, rc, &err);
    if (opt->html && (rc = write_page (opt, &t, jobs->catalogue, by, &err)) <
                         0) {
        trend_fini (&t);
        return FAIL (cli_output_status (rc), "%s", err.text);
    }
    if (opt->json)
        rc = print_trend_json (&t, by, j);
    else if (!opt->html)
        rc = print_text (&t, by);
    else if (strcmp (opt->html, "-") != 0)
        (void)printf ("written       %s: %lld job%s\n", opt->html, (long long)t.jobs,
                      units_s ((uint64_t)t.jobs));
    trend_fini (&t);
    return cli_flush (&trend_command, rc);
}

static int print_facts (struct cli_jobs *jobs,
                        const struct catalogue_filter *filter)
{
    struct err err = { "" };
    int rc = facts_lines_print (jobs->catalogue, filter, FACTS_TREND, stdout,
                                &err);

    return rc < 0 ? cli_jobs_failed (&trend_command, rc, &err)
                  : cli_flush (&trend_command, 0);
}

/* ---- of several aggregators ---- */

/* For rollcall jobs --json of the same jobs. */
static struct json *ask_for_list (const struct cli_filter *f)
{
    const char *const values[][2] = {
        { "--where", f->where }, { "--since", f->since }, { "--user", f->user },
        { "--tag", f->tag }, { "--host", f->host },
    };
    const char *words[2 * sizeof (values) / sizeof (values[0]) + 2] = { "--json" };
    size_t n = 1;

    for (size_t i = 0; i < sizeof (values) / sizeof (values[0]); i++) {
        if (values[i][1]) {
            words[n++] = values[i][0];
            words[n++] = values[i][1];
        }
    }
    return cli_view_words ("jobs", words, NULL);
}

static struct json *ask_for_facts (const struct trend_options *opt)
{
    struct trend_options asked = *opt;

    asked.facts = true;
    asked.json = false;
    asked.html = NULL;
    return cli_view_request (&trend_command, &asked, 0, NULL);
}

static int trend_of_places (const struct trend_options *opt,
                            const struct cli_places *p, enum trend_by by)
{
    const struct catalogue_filter all = { .job = NULL };        // chosen there
    struct json *list = ask_for_list (&opt->filter);
    struct json *facts = ask_for_facts (opt);
    struct job_copies j = { .n = 0 };
    struct cli_jobs jobs;
    bool some = false;
    int status = facts_of_all (&trend_command, p, list, facts, &j, &jobs,
                               &some);

    if (status == 0)
        status = show (opt, &jobs, &all, by, &j);
    cli_jobs_close (&jobs);
    job_copies_fini (&j);
    json_free (facts);
    json_free (list);
    return status ? status : some ? EXIT_NOT_ALL : 0;
}

static int trend_of_all (const struct trend_options *opt,
                         const struct catalogue_filter *filter,
                         enum trend_by by)
{
    struct cli_places p;
    int status = cli_filter_check (&trend_command, filter);

    if (status)
        return status;
    status = cli_places_open (&trend_command, &opt->where, &p);
    if (status == 0)
        status = trend_of_places (opt, &p, by);
    cli_places_close (&p);
    return status;
}

/* ---- of a root, or PostgreSQL ---- */

static int trend_of_one (const struct trend_options *opt,
                         struct catalogue_filter *filter, enum trend_by by)
{
    struct cli_jobs jobs;
    int status = opt->postgres.uri
                     ? cli_jobs_open_postgres (&trend_command, &opt->postgres,
                                               filter, FACTS_TREND, &jobs)
                     : cli_jobs_open (&trend_command, opt->root, &jobs);

    if (status != 0)
        return status;
    status = opt->facts ? print_facts (&jobs, filter)
                        : show (opt, &jobs, filter, by, NULL);
    cli_jobs_close (&jobs);
    return status;
}

/* 0, or an exit status after a message. */
static int check_options (const struct trend_options *opt)
{
    struct stat st;

    if (opt->html && !*opt->html)
        return FAIL (EXIT_USAGE, "--html: FILE is empty");
    if (cli_postgres_alone (&trend_command, &opt->postgres, &opt->where) != 0)
        return EXIT_USAGE;
    if (opt->facts && (opt->html || opt->json || opt->postgres.uri ||
                       cli_asks_several (&opt->where)))
        return FAIL (EXIT_USAGE, "--facts takes one root, and no --html, --json "
                     "or --postgres");
    if (opt->html && stat (opt->html, &st) == 0 && S_ISDIR (st.st_mode))
        return FAIL (EXIT_USAGE, "%s is a directory: give --html a file",
                     opt->html);
    return 0;
}

int verb_trend (int argc, char **argv)
{
    struct trend_options opt = { .root = NULL };
    struct catalogue_filter filter;
    enum trend_by by = TREND_WEEK;
    int rest, status;

    if (!cli_options (&trend_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest != argc)
        return FAIL (EXIT_USAGE, "unexpected argument \"%s\": options such as "
                     "--tag choose jobs, and rollcall show has one", argv[rest]);
    opt.root = cli_first_root (&opt.where);
    if ((status = find_by (opt.by, &by)) != 0 ||
        (status = cli_filter_read (&trend_command, &opt.filter, &filter)) !=
            0 ||
        (status = check_options (&opt)) != 0)
        return status;
    if (cli_asks_several (&opt.where))
        return trend_of_all (&opt, &filter, by);
    if (!opt.html && !opt.postgres.uri && cli_needs_view (opt.root))
        return cli_view (&trend_command, opt.root, &opt, 0, NULL);
    return trend_of_one (&opt, &filter, by);
}
