/* cli/verb_jobs.c - rollcall jobs: list what an aggregator's root has of each
 * job
 */
#include "jobs/jobs_of_all.h"
#include "jobs/jobs_table.h"
#include "jobs_list.h"
#include "run/run.h"
#include "run/run_list.h"
#include "shared/unbuilt.h"

#include "archive/root_control.h"
#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "builder/build.h"
#include "query/grid.h"
#include "store/fileio.h"
#include "summary/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct jobs_options {
    struct cli_where where;
    const char *root, *job, *state;
    struct cli_filter filter;
    struct cli_postgres postgres;
    int64_t expect;             // -1: not said
    int64_t width;
    bool json;
};

static const struct option_spec options[] = {
    CLI_WHERE_OPTIONS (struct jobs_options, where),
    OPTION (TEXT, "job", 'j', struct jobs_options, job, "ID", NULL, NULL,
      "Only this job, with the sources of its expected number of ranks."),
    OPTION_NUMBER_BESIDE ("job", "expect", struct jobs_options, expect, "N",
      "-1", NULL,
      -1, CAPTURE_WORLD_LIMIT,
      "With --job: expect ranks 0 to N-1 from now on, whatever nodes, options "
      "and captures report. 0 undoes that, -1 changes nothing."),
    CLI_FILTER_OPTIONS (struct jobs_options, filter),
    CLI_POSTGRES_OPTIONS (struct jobs_options, postgres),
    CLI_STATE_OPTION (struct jobs_options, state,
      "Local directory of runs, as in rollcall run."),
    CLI_WIDTH_OPTION (struct jobs_options),
    OPTION_SWITCH ("json", 0, struct jobs_options, json,
      "Print one JSON object, whose member jobs has one for each job."),
};

static const struct command_spec jobs_command = {
    "rollcall jobs",
    "[OPTION]... [merge JOB OTHER... | split JOB CAPTURE|RANK...]",
    "List the jobs of an aggregator, and correct their expected number of "
    "ranks and which captures they have.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&jobs_command, status, __VA_ARGS__)

static void date (int64_t ns, char out[32])
{
    time_t t = (time_t)(ns / NS_PER_S);
    struct tm tm;

    out[0] = '\0';
    if (gmtime_r (&t, &tm))
        (void)strftime (out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static bool is_narrow (const struct jobs_options *opt)
{
    return jobs_table_is_narrow (cli_width (opt->width));
}

/* ---- runs of this machine ---- */

struct runs_listing {
    struct grid *g;
    struct json *array;         // or NULL: a table
    bool narrow;
    size_t n;
};

static int list_run (void *arg, const struct runs_one *r)
{
    struct runs_listing *l = arg;
    const char *db = *r->db && !r->replaced ? r->db : NULL;
    char ended[32], size[16];
    struct json *o;

    l->n++;
    date (r->ended_ns, ended);
    units_bytes_text (r->bytes, size);
    if (l->array) {
        o = json_push_object (l->array);
        json_add_text (o, "job", r->job);
        json_add_text (o, "state", runs_state_text (r));
        json_add_text (o, "last_written", ended);
        json_add_int (o, "bytes", (int64_t)r->bytes);
        json_add_text (o, "dir", r->dir);
        json_add_nonempty (o, "roll", r->roll);
        json_add_text (o, "analysis_db", db);
        return 0;
    }
    grid_word (l->g, r->job);
    jobs_table_time (l->g, ended, l->narrow);
    grid_word (l->g, runs_state_text (r));
    grid_word (l->g, *r->roll ? r->roll : NULL);
    if (!l->narrow)
        grid_word (l->g, db);
    else if (db)
        grid_line (l->g, db);
    return 0;
}

/* Print a table, or add member "runs" to 'doc'.  'below': after the jobs of a
 * service, so print nothing if there are no runs.
 */
static int put_runs (const struct jobs_options *opt, const char *state,
                     struct json *doc, bool below, struct err *err)
{
    // those of several aggregators are perhaps of other hosts
    const char *const names[] = { cli_asks_several (&opt->where)
                                      ? "run of this host" : "run",
                                  "last written", "state", "ranks", "result" };
    struct runs_listing l = { .narrow = is_narrow (opt) };
    int rc;

    if (doc)
        l.array = json_add_array (doc, "runs");
    else if (!(l.g = grid_create (stdout, GRID_TABLE, cli_width (opt->width))))
        return err_set (err, ENOMEM, "no memory for a table");
    if (l.g) {
        grid_head (l.g, names, l.narrow ? 4 : 5);
        grid_keep_whole (l.g, 0);
        grid_keep_whole (l.g, 1);
        if (!l.narrow)
            grid_keep_whole (l.g, 4);
    }
    rc = runs_each (state, list_run, &l, err);
    if (l.g && rc == 0 && below && l.n > 0)
        (void)fputc ('\n', stdout);
    if (l.g && rc == 0 && (!below || l.n > 0))
        rc = grid_finish (l.g);
    grid_destroy (l.g);
    return rc;
}

/* Whether the root is that of a run: it is below the directory of runs. */
static bool is_of_run (const char *root, const char *state)
{
    char path[PATH_MAX];
    size_t n = strlen (state);

    return realpath (root, path) && strncmp (path, state, n) == 0 &&
           (path[n] == '/' || path[n] == '\0');
}

static bool is_filtered (const struct jobs_options *opt)
{
    const struct cli_filter *f = &opt->filter;

    return f->where || f->since || f->user || f->tag || f->host;
}

/* Users of a service have runs, too.  An error in reading these does not fail
 * the list of jobs.
 */
static void add_runs (const struct jobs_options *opt, struct json *doc)
{
    char state[PATH_MAX], path[PATH_MAX];
    struct err err = { "" };

    if (opt->job || is_filtered (opt) || cli_is_view () ||
        opt->postgres.uri ||
        run_state_dir (opt->state, state, NULL) < 0 ||
        !realpath (state, path) || is_of_run (opt->root, path))
        return;
    if (put_runs (opt, path, doc, true, &err) < 0 && err.text[0])
        (void)FAIL (0, "%s", err.text);
}

/* ---- jobs of a root ---- */

struct listing {
    const struct cli_jobs *jobs;
    size_t n;
    struct jobs_table *table;   // or NULL: JSON
    char last[2 * MESSAGE_NAME_MAX];    // of PostgreSQL: perhaps CLUSTER/NAME
    struct json_out *out;
};

static void to_json (const struct listing *l, const struct catalogue_job *j)
{
    json_out_open_line (l->out, '{');
    cli_job_to_json (l->out, l->jobs, j);
    cli_claims_to_json (l->out, l->jobs, j->job);
    json_out_close (l->out, '}');
}

static int list_job (void *arg, const struct catalogue_job *j)
{
    struct listing *l = arg;

    l->n++;
    PRINT (l->last, "%s", j->job);
    if (l->table)
        jobs_table_row (l->table, j, NULL,
                        unbuilt_find (l->jobs->status, j->job));
    else
        to_json (l, j);
    return 0;
}

static int count_job (void *arg, const struct catalogue_job *j)
{
    (void)j;
    ++*(size_t *)arg;
    return 0;
}

static int list_table (const struct jobs_options *opt, struct listing *l,
                       const struct catalogue_filter *f, struct err *err)
{
    struct catalogue_filter brief = *f;
    struct jobs_table table;
    char why[64] = "";
    int64_t n;
    int rc, failed;

    if (jobs_table_begin (&table, cli_width (opt->width),
                          catalogue_has_users (l->jobs->catalogue),
                          catalogue_has_tags (l->jobs->catalogue), false) < 0)
        return err_set (err, ENOMEM, "no memory for a table");
    l->table = &table;
    brief.brief = true;
    rc = catalogue_each (l->jobs->catalogue, &brief, list_job, l, err);
    if (rc == 0 && l->n == 0 && is_filtered (opt)) {
        n = catalogue_count (l->jobs->catalogue);
        PRINT (why, "none of %lld job%s matches", (long long)n,
               units_s ((uint64_t)n));
    }
    failed = rc == 0 && (!opt->job || l->n > 0)
                 ? grid_finish_why (table.g, *why ? why : NULL) : 0;
    grid_destroy (table.g);
    if (rc == 0 && failed == 0)
        add_runs (opt, NULL);
    if (rc == 0 && failed == 0 && opt->job && l->n == 1)
        rc = cli_print_claims (l->jobs, l->last, err);
    return failed < 0 ? err_sys (err, -failed, "cannot print the list") : rc;
}

static int list_json (const struct jobs_options *opt, struct listing *l,
                      const struct catalogue_filter *f, struct err *err)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": " };
    struct json *runs = json_object ();
    int rc;

    l->out = &out;
    json_out_open (&out, '{');
    json_out_open_of (&out, "jobs", '[');
    rc = catalogue_each (l->jobs->catalogue, f, list_job, l, err);
    json_out_close (&out, ']');
    add_runs (opt, runs);
    jobs_end_json (&out, runs);
    json_free (runs);
    return rc;
}

/* Without output if --job or --where is wrong. */
static int list_all (const struct jobs_options *opt,
                     const struct catalogue_filter *f,
                     const struct cli_jobs *jobs)
{
    struct err err = { "" };
    struct listing l = { .jobs = jobs };
    size_t n = 0;
    int rc = opt->job ? catalogue_each (jobs->catalogue, f, count_job, &n, &err)
                      : catalogue_check (jobs->catalogue, f, &err);

    if (rc == 0 && opt->job && n == 0 && opt->postgres.uri)
        return FAIL (EX_NOINPUT, "no job %s there", opt->job);
    if (rc == 0 && opt->job && n == 0)
        return cli_no_job (&jobs_command, opt->root, opt->job,
                           f->where || f->since_ns || f->user || f->tag ||
                                   f->host ? " that is asked for" : "");
    if (rc == 0)
        rc = opt->json ? list_json (opt, &l, f, &err)
                       : list_table (opt, &l, f, &err);
    return rc < 0 ? cli_jobs_failed (&jobs_command, rc, &err)
                  : cli_flush (&jobs_command, 0);
}

static const char *when_built (bool served)
{
    return served ? "its result is built again"
                  : "the next aggregator, or rollcall build, builds it again";
}

static int expect (const struct jobs_options *opt)
{
    struct json *request = json_object (), *answer;
    bool served;
    int status;

    json_add_text (request, "do", "expect");
    json_add_text (request, "job", opt->job);
    json_add_int (request, "world_size", opt->expect);
    if ((status = cli_ask (&jobs_command, opt->root, request, &answer, &served)) != 0)
        return status;
    if (opt->json)
        return cli_flush (&jobs_command, cli_print_json (answer));
    json_free (answer);
    if (opt->expect > 0)
        (void)printf ("expected      %lld rank%s of job %s",
                      (long long)opt->expect, units_s ((uint64_t)opt->expect),
                      opt->job);
    else
        (void)printf ("expected      the number that others report for job "
                      "%s", opt->job);
    (void)printf ("; %s\n", when_built (served));
    return cli_flush (&jobs_command, 0);
}

/* ---- which captures a job has ---- */

/* Print the outcome, and how the result will be built. */
static int tell_given (const struct jobs_options *opt, const char *what,
                       struct json *answer, bool served)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    int64_t n = cli_number (answer, "captures");

    if (opt->json)
        return cli_print_json (answer);
    (void)printf ("%-13s %lld capture%s into job %s; %s%s\n", what,
                  (long long)n, units_s ((uint64_t)n),
                  utf8_escape (json_text (json_get (answer, "job"), ""),
                               UTF8_COLUMN, job), when_built (served),
                  served ? " in 2 s" : "");
    json_free (answer);
    return 0;
}

static int merge (const struct jobs_options *opt, const char *job,
                  const char *from)
{
    struct json *request = json_object (), *answer;
    bool served;
    int status;

    json_add_text (request, "do", "merge");
    json_add_text (request, "job", job);
    json_add_text (request, "from", from);
    status = cli_ask (&jobs_command, opt->root, request, &answer, &served);
    return status ? status : tell_given (opt, "merged", answer, served);
}

static int verb_jobs_split (const struct jobs_options *opt, int argc,
                            char **argv)
{
    struct json *request = json_object (), *answer, *list;
    bool served;
    int status;

    json_add_text (request, "do", "split");
    json_add_text (request, "job", argv[0]);
    list = json_add_array (request, "captures");
    for (int i = 1; i < argc; i++)
        json_push_text (list, argv[i]);
    status = cli_ask (&jobs_command, opt->root, request, &answer, &served);
    return status ? status : tell_given (opt, "split", answer, served);
}

static int correct (const struct jobs_options *opt, int argc, char **argv)
{
    const bool merges = strcmp (argv[0], "merge") == 0;
    int status = 0;

    if (!merges && strcmp (argv[0], "split") != 0)
        return FAIL (EXIT_USAGE, "unknown command jobs %s: use merge or split; "
                     "rollcall show JOB has one job (%s --help says more)",
                     argv[0], jobs_command.name);
    if (opt->job || opt->expect >= 0 || opt->postgres.uri)
        return FAIL (EXIT_USAGE, "%s: --job, --expect and --postgres cannot be "
                     "used with it",
                     argv[0]);
    if (argc < 3)
        return FAIL (EXIT_USAGE, merges ? "merge: name two jobs"
                                        : "split: name a job and its captures");
    for (int i = 1; i < (merges ? argc : 2); i++) {
        if (!cli_valid_job (argv[i]))
            return FAIL (EXIT_USAGE, "\"%s\" is not the name of a job",
                         argv[i]);
    }
    for (int i = 2; i < argc && merges && status == 0; i++)
        status = merge (opt, argv[1], argv[i]);
    if (!merges)
        status = verb_jobs_split (opt, argc - 1, argv + 1);
    return status ? status : cli_flush (&jobs_command, 0);
}

/* There is no service, and none was asked for: list this machine's runs. */
static int list_runs (const struct jobs_options *opt)
{
    struct err err = { "" };
    struct json *doc = opt->json ? json_object () : NULL;
    char state[PATH_MAX];
    int rc = run_state_dir (opt->state, state, &err);

    if (doc)
        (void)json_add_array (doc, "jobs");
    if (rc == 0)
        rc = put_runs (opt, state, doc, false, &err);
    if (rc < 0) {
        json_free (doc);
        return FAIL (EX_NOINPUT, "%s", err.text);
    }
    if (!opt->json)
        (void)FAIL (0, "%s is not the root of an aggregator: these are the "
                    "runs of this machine, below %s", opt->root, state);
    return cli_flush (&jobs_command, opt->json ? cli_print_json (doc) : rc);
}

/* Whether only runs can be meant: no root was named, and none exists. */
static bool has_no_service (const struct jobs_options *opt)
{
    char path[PATH_MAX];

    return strcmp (opt->root, ROOT_DEFAULT) == 0 && !opt->job &&
           fileio_join (path, sizeof (path), opt->root, "ledger.db") &&
           access (path, F_OK) < 0 && errno == ENOENT;
}

/* ---- of several aggregators ---- */

/* What each is asked: one that has no such job shall list none. */
static struct json *question (const struct jobs_options *opt,
                              struct buf *where)
{
    struct jobs_options asked = *opt;

    asked.json = true;
    asked.width = -1;
    asked.job = NULL;
    if (opt->job &&
        job_copies_where (opt->job, opt->filter.where, where) == 0)
        asked.filter.where = buf_text (where);
    return cli_view_request (&jobs_command, &asked, 0, NULL);
}

static int list_several (const struct jobs_options *opt,
                         const struct catalogue_filter *f)
{
    struct cli_places places;
    struct json *request = NULL, *runs = NULL;
    struct buf where;
    int status = cli_filter_check (&jobs_command, f);

    if (status)
        return status;
    buf_init (&where, CONTROL_LINE_MAX);
    status = cli_places_open (&jobs_command, &opt->where, &places);
    if (status == 0) {
        request = question (opt, &where);
        if (opt->json)
            add_runs (opt, runs = json_object ());
        status = jobs_of_all (&jobs_command, &places, request, opt->job,
                              opt->json, opt->width, runs);
        if (!opt->json && status <= EXIT_NOT_ALL) {
            add_runs (opt, NULL);
            status = cli_flush (&jobs_command, 0) ? EX_IOERR : status;
        }
    }
    json_free (runs);
    json_free (request);
    buf_fini (&where);
    cli_places_close (&places);
    return status;
}

int verb_jobs (int argc, char **argv)
{
    struct jobs_options opt = { .width = -1 };
    struct catalogue_filter filter;
    struct cli_jobs jobs;
    int rest, status;

    if (!cli_options (&jobs_command, argc, argv, &opt, &rest, &status))
        return status;
    opt.root = cli_first_root (&opt.where);
    if (cli_postgres_alone (&jobs_command, &opt.postgres, &opt.where) != 0)
        return EXIT_USAGE;
    if (cli_asks_several (&opt.where) && (rest != argc || opt.expect >= 0))
        return FAIL (EXIT_USAGE, "several aggregators can only be asked for "
                     "their jobs: name one root");
    if (rest != argc)
        return correct (&opt, argc - rest, argv + rest);
    if (opt.job && !cli_valid_job (opt.job))
        return FAIL (EXIT_USAGE, "--job: \"%s\" is not the name of a job",
                     opt.job);
    if (opt.expect >= 0 && opt.postgres.uri)
        return FAIL (EXIT_USAGE, "--expect changes a root, not --postgres");
    if (opt.expect >= 0)
        return expect (&opt);
    if ((status = cli_filter_read (&jobs_command, &opt.filter, &filter)) != 0)
        return status;
    filter.job = opt.job;
    if (cli_asks_several (&opt.where))
        return list_several (&opt, &filter);
    if (!opt.postgres.uri && cli_needs_view (opt.root)) {
        opt.width = (int64_t)cli_width (opt.width);     // of this terminal
        return cli_view (&jobs_command, opt.root, &opt, 0, NULL);
    }
    if (!opt.postgres.uri && has_no_service (&opt) && !is_filtered (&opt))
        return list_runs (&opt);
    status = opt.postgres.uri
                 ? cli_jobs_open_postgres (&jobs_command, &opt.postgres,
                                           &filter, opt.json || opt.job
                                               ? FACTS_CLAIMS : FACTS_LIST,
                                           &jobs)
                 : cli_jobs_open (&jobs_command, opt.root, &jobs);
    if (status != 0)
        return status;
    status = list_all (&opt, &filter, &jobs);
    cli_jobs_close (&jobs);
    return status;
}
