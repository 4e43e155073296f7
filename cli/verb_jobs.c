/* cli/verb_jobs.c - rollcall jobs: list what an aggregator's root has of each
 * job
 */
#include "cli.h"
#include "run/run.h"
#include "run/run_list.h"

#include "archive/archive.h"
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
    const char *root, *job, *state;
    int64_t expect;             // -1: not said
    bool json;
};

static const struct option_spec options[] = {
    CLI_ROOT_OPTION (struct jobs_options),
    OPTION (TEXT, "job", 'j', struct jobs_options, job, "ID", NULL, NULL,
      "Only this job, with the sources of its expected number of ranks."),
    OPTION_NUMBER ("expect", 0, struct jobs_options, expect, "N", "-1", NULL,
      -1, CAPTURE_WORLD_MAX,
      "With --job: expect ranks 0 to N-1 from now on, whatever nodes, options "
      "and captures report. 0 undoes that, -1 changes nothing."),
    CLI_STATE_OPTION (struct jobs_options, state,
      "Local directory of runs, as in rollcall run."),
    OPTION_SWITCH ("json", 0, struct jobs_options, json,
      "Print one JSON object, whose member jobs has one for each job."),
};

static const struct command_spec jobs_command = {
    "rollcall jobs",
    "[OPTION]... [merge JOB OTHER... | split JOB CAPTURE|rankN...]",
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

/* ROOT/jobs/JOB/..., or the place to which the run that owns the root wrote it.
 */
static bool find_db (const struct archive *a, const char *job,
                     char path[PATH_MAX])
{
    char dir[PATH_MAX];

    if (fileio_join (dir, sizeof (dir), a->root, "jobs") &&
        snprintf (path, PATH_MAX, "%s/%s/" PUBLISH_OUTPUT_DIR "/"
                  BUILD_DB_NAME, dir, job) < PATH_MAX &&
        publish_is_our_db (path))
        return true;
    return fileio_join (dir, sizeof (dir), a->root, "..") &&
           run_result_db (dir, path) == 0 && publish_is_our_db (path);
}

/* "built", "behind" (rows arrived since), "none" */
static const char *result_state (const struct archive *a,
                                 const struct ledger_job *j,
                                 char path[PATH_MAX])
{
    if (!find_db (a, j->id, path)) {
        path[0] = '\0';
        return "none";
    }
    return ledger_newest (a->ledger, j->id, ITEM_ROWS) > j->built ? "behind"
                                                                  : "built";
}

/* The result that was built for a job; 'read' is false if there is none or it
 * cannot be read.
 */
struct built {
    const char *state;
    char path[PATH_MAX];
    bool read;
    struct summary result;
};

static void look_at_result (const struct archive *a, const struct ledger_job *j,
                            struct built *b)
{
    b->state = result_state (a, j, b->path);
    b->read = *b->path && summary_read_back (b->path, &b->result, NULL) == 0;
}

/* The number of expected ranks; if nobody gave it, the captures tell. */
static int64_t expected_ranks (const struct ledger_summary *s,
                               const struct built *b)
{
    return s->world_size > 0 || !b->read ? s->world_size : b->result.expected;
}

/* How it is known which captures belong to the job. */
static const char *kind_of (const struct ledger_summary *s)
{
    return s->divided == 0   ? "given"
           : s->by_hand > 0 ? "hand"
           : s->assumed > 0 ? "assumed"
                            : "shown";
}

/* ---- runs of this machine ---- */

struct runs_listing {
    struct grid *g;
    struct json *array;         // or NULL: a table
    size_t n;
};

static int list_run (void *arg, const struct runs_one *r)
{
    struct runs_listing *l = arg;
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
        json_add_text (o, "analysis_db", *r->db && !r->replaced ? r->db
                                                                : NULL);
        return 0;
    }
    grid_word (l->g, r->job);
    grid_word (l->g, ended);
    grid_word (l->g, runs_state_text (r));
    grid_word (l->g, *r->roll ? r->roll : NULL);
    grid_word (l->g, *r->db && !r->replaced ? r->db : NULL);
    return 0;
}

/* Print a table, or add member "runs" to 'doc'.  'below': after the jobs of a
 * service, so print nothing if there are no runs.
 */
static int put_runs (const char *state, struct json *doc, bool below,
                     struct err *err)
{
    static const char *const names[] = { "run", "last written", "state",
                                         "ranks", "result" };
    struct runs_listing l = { .n = 0 };
    int rc;

    if (doc)
        l.array = json_add_array (doc, "runs");
    else if (!(l.g = grid_create (stdout, GRID_TABLE, cli_width (-1))))
        return err_set (err, ENOMEM, "no memory for a table");
    if (l.g)
        grid_head (l.g, names, sizeof (names) / sizeof (names[0]));
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

/* Users of a service have runs, too.  An error in reading these does not fail
 * the list of jobs.
 */
static void add_runs (const struct jobs_options *opt, struct json *doc)
{
    char state[PATH_MAX], path[PATH_MAX];
    struct err err = { "" };

    if (opt->job || run_state_dir (opt->state, state, NULL) < 0 ||
        !realpath (state, path) || is_of_run (opt->root, path))
        return;
    if (put_runs (path, doc, true, &err) < 0 && err.text[0])
        (void)FAIL (0, "%s", err.text);
}

/* ---- jobs of a root ---- */

struct listing {
    struct archive *a;
    const char *job;            // NULL: all
    size_t n;
    struct json *array;         // or NULL: a table
    struct grid *g;
    struct err *err;
};

static int push_clock (void *arg, const struct ledger_clock *c)
{
    struct json *o = json_push_object (arg);

    json_add_text (o, "host", c->host);
    json_add_real (o, "offset_s", (double)c->offset_ns / (double)NS_PER_S);
    json_add_real (o, "error_s", (double)c->error_ns / (double)NS_PER_S);
    return 0;
}

static const char *by_text (const struct size_claim *w)
{
    return w->by == CLAIM_EXPECT ? "rollcall jobs --expect"
           : w->by == CLAIM_FRONT ? "--world-size"
           : w->by == CLAIM_MPI   ? "MPI"
                                 : "node";
}

static int push_claim (void *arg, const struct size_claim *w)
{
    struct json *o;

    if (w->world_size == 0)
        return 0;               // taken back
    o = json_push_object (arg);
    json_add_int (o, "world_size", w->world_size);
    json_add_text (o, "by", by_text (w));
    json_add_nonempty (o, "host", w->host);
    json_add_nonempty (o, "key", w->who);
    return 0;
}

static int print_claim (void *arg, const struct size_claim *w)
{
    char host[UTF8_ESCAPED (MESSAGE_NAME_MAX)];

    (void)arg;
    if (w->world_size > 0)
        (void)printf ("  %lld rank%s: %s%s%s%s%s\n", (long long)w->world_size,
                      units_s ((uint64_t)w->world_size),
                      by_text (w), *w->host ? ", host " : "",
                      utf8_escape (w->host, UTF8_COLUMN, host),
                      *w->who ? ", key " : "", w->who);
    return 0;
}

/* Who is present, who started the job and with which command, from its result.
 */
static void add_result (struct json *o, const struct built *b)
{
    static const struct job_origin none = { .user = "" };
    const struct job_origin *a = b->read ? &b->result.about : &none;

    if (b->read)
        summary_roll_to_json (&b->result, json_add_object (o, "roll"));
    json_add_nonempty (o, "scheduler_id", a->scheduler_id);
    json_add_nonempty (o, "user", a->user);
    json_add_nonempty (o, "command", a->command);
}

static void to_json (struct listing *l, const struct ledger_job *j,
                     const struct ledger_summary *s, const struct built *b)
{
    struct json *o = json_push_object (l->array);
    char text[32];

    json_add_text (o, "job", j->id);
    json_add_int (o, "world_size", s->world_size);
    json_add_int (o, "ranks", s->ranks);
    json_add_int (o, "captures", s->captures);
    json_add_int (o, "items", s->items);
    json_add_int (o, "bytes", (int64_t)s->bytes);
    json_add_int (o, "quarantined", s->lost);
    date (s->first_ns, text);
    json_add_text (o, "first_received", text);
    date (s->last_ns, text);
    json_add_text (o, "last_received", text);
    json_add_text (o, "id", kind_of (s));
    json_add_int (o, "assumed", s->assumed);
    json_add_int (o, "by_hand", s->by_hand);
    json_add_int (o, "expected", expected_ranks (s, b));
    add_result (o, b);
    json_add_text (o, "result", b->state);
    json_add_nonempty (o, "analysis_db", b->path);
    (void)ledger_each_claim (l->a->ledger, j->id, push_claim,
                             json_add_array (o, "words"), NULL);
    (void)ledger_each_clock (l->a->ledger, j->id, push_clock,
                             json_add_array (o, "clocks"), NULL);
}

static void to_row (struct grid *g, const struct ledger_job *j,
                    const struct ledger_summary *s, const struct built *b)
{
    char first[32], last[32], roll[SUMMARY_ROLL_MAX] = "";
    char result[SUMMARY_ROLL_MAX + 16];
    int64_t ranks = expected_ranks (s, b);

    date (s->first_ns, first);
    date (s->last_ns, last);
    if (b->read)
        summary_roll (&b->result, roll);
    PRINT (result, "%s%s%s", b->state, *roll ? ": " : "", roll);
    grid_word (g, j->id);
    grid_int (g, s->ranks);
    if (ranks > 0)
        grid_int (g, ranks);
    else
        grid_null (g);          // nobody has said
    grid_int (g, s->captures);
    grid_int (g, (int64_t)s->bytes);
    grid_word (g, first);
    grid_word (g, last);
    grid_word (g, kind_of (s));
    grid_word (g, result);
}

static int list_job (void *arg, const struct ledger_job *j)
{
    struct listing *l = arg;
    struct ledger_summary s;
    struct built b;
    int rc;

    if (l->job && strcmp (l->job, j->id) != 0)
        return 0;
    l->n++;
    if ((rc = ledger_summary (l->a->ledger, j->id, &s, l->err)) < 0)
        return rc;
    look_at_result (l->a, j, &b);
    if (l->array)
        to_json (l, j, &s, &b);
    else
        to_row (l->g, j, &s, &b);
    if (b.read)
        summary_fini (&b.result);
    return 0;
}

static int list_all (const struct jobs_options *opt, struct archive *a)
{
    static const char *const names[] = { "job", "ranks", "expected",
                                         "captures", "bytes", "first", "last",
                                         "id", "result" };
    struct err err = { "" };
    struct listing l = { .a = a, .job = opt->job, .err = &err };
    struct json *doc = opt->json ? json_object () : NULL;
    int rc, failed = 0;

    if (opt->json) {
        l.array = json_add_array (doc, "jobs");
    } else if ((l.g = grid_create (stdout, GRID_TABLE, cli_width (-1)))) {
        grid_head (l.g, names, sizeof (names) / sizeof (names[0]));
    } else {
        return FAIL (EX_OSERR, "no memory for a table");
    }
    rc = ledger_each_job (a->ledger, ITEM_RAW, list_job, &l, &err);
    if (rc == 0 && l.g && (!opt->job || l.n > 0))
        failed = grid_finish (l.g);
    grid_destroy (l.g);
    if (rc == 0 && failed == 0)
        add_runs (opt, doc);
    if (rc == 0 && l.g && opt->job)     // who says how many ranks it has
        rc = ledger_each_claim (a->ledger, opt->job, print_claim, NULL, &err);
    if (rc < 0) {
        json_free (doc);
        return FAIL (EX_IOERR, "%s", err.text);
    }
    if (opt->job && l.n == 0) {
        json_free (doc);
        return FAIL (EX_NOINPUT, "%s has nothing of a job %s", opt->root,
                     opt->job);
    }
    return cli_flush (&jobs_command, opt->json ? cli_print_json (doc)
                                               : failed);
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
static int tell_given (const struct jobs_options *opt, struct json *answer,
                       bool served)
{
    char job[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    int64_t n = cli_number (answer, "captures");

    if (opt->json)
        return cli_print_json (answer);
    (void)printf ("given         %lld capture%s to job %s; %s\n",
                  (long long)n, units_s ((uint64_t)n),
                  utf8_escape (json_text (json_get (answer, "job"), ""),
                               UTF8_COLUMN, job), when_built (served));
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
    return status ? status : tell_given (opt, answer, served);
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
    return status ? status : tell_given (opt, answer, served);
}

static int correct (const struct jobs_options *opt, int argc, char **argv)
{
    const bool merges = strcmp (argv[0], "merge") == 0;
    int status = 0;

    if (!merges && strcmp (argv[0], "split") != 0)
        return FAIL (EXIT_USAGE, "unknown command jobs %s: use merge or split "
                     "(%s --help says more)", argv[0], jobs_command.name);
    if (opt->job || opt->expect >= 0)
        return FAIL (EXIT_USAGE, "%s: --job and --expect cannot be used with "
                     "it",
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
        rc = put_runs (state, doc, false, &err);
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

int verb_jobs (int argc, char **argv)
{
    struct jobs_options opt = { .root = NULL };
    struct archive a;
    int rest, status;

    if (!cli_options (&jobs_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest != argc)
        return correct (&opt, argc - rest, argv + rest);
    if (opt.job && !cli_valid_job (opt.job))
        return FAIL (EXIT_USAGE, "--job: \"%s\" is not the name of a job",
                     opt.job);
    if (opt.expect >= 0 && !opt.job)
        return FAIL (EXIT_USAGE, "--expect needs --job");
    if (opt.expect >= 0)
        return expect (&opt);
    if (has_no_service (&opt))
        return list_runs (&opt);
    if ((status = cli_open_archive (&jobs_command, opt.root, &a)) != 0)
        return status;
    status = list_all (&opt, &a);
    archive_close (&a);
    return status;
}
