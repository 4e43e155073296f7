/* cli/verb_status.c - rollcall status: what the daemons of this machine, or several
 * aggregators, are doing
 *
 * Each daemon writes status.json into its spool or root (doc/architecture.md).
 * Status looks for these files below the directory of runs and where services
 * keep theirs, or in a given place.
 */
#include "cli.h"
#include "run/run.h"
#include "several/ask_places.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "options/shell.h"
#include "json/json.h"
#include "json/json_out.h"
#include "json/status.h"
#include "ledger/ledger.h"
#include "query/grid.h"
#include "spool/spool.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 4             // STATE/JOB/HOST/spool/status.json
#define STATUS_NAME "status.json"
#define HISTORY_NS (3600 * NS_PER_S)    // an agent that is gone is shown so long

struct status_options {
    struct cli_where where;
    const char *state, *root, *agents;
    bool json;
};

static const struct option_spec options[] = {
    CLI_STATE_OPTION (struct status_options, state,
      "Local directory of runs, as in rollcall run."),
    CLI_WHERE_OPTIONS (struct status_options, where),
    OPTION (TEXT, "agents", 0, struct status_options, agents, "DIR",
      SPOOL_STATE_DEFAULT, SPOOL_STATE_VARIABLE,
      "The --state of agents that are services."),
    OPTION_SWITCH ("json", 0, struct status_options, json,
      "Print one JSON object, with every counter of each daemon."),
};

static const struct command_spec status_command = {
    "rollcall status", "[OPTION]... [JOB|DIR]...",
    "Show what the agents and aggregators of this machine are doing: those of "
    "runs and services, of one run, or those with their spool or root below "
    "DIR; or what several aggregators are doing.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&status_command, status, __VA_ARGS__)

/* What was printed, how much, and what could not be read. */
struct found {
    bool json;
    struct grid *g;             // of a text
    size_t n;
    int status;
};

/* "full in 12 days", of the growth of some hours. */
static void put_growth (struct grid *g, const struct json *j)
{
    char rate[16], line[256];
    double disk = 0, quota = 0;
    bool on_disk = json_number (json_get (j, "disk_full_in_days"), &disk);
    bool has_quota = json_number (json_get (j, "quota_full_in_days"), &quota);
    int64_t hours = cli_number (j, "hours");

    units_bytes_text ((uint64_t)cli_number (j, "bytes_a_day"), rate);
    PRINT (line, "%s a day in the last %s", rate, hours > 24 ? "7 days"
                                                             : "24 hours");
    if (on_disk)
        PRINT (line, "%s a day in the last %s: the disk is full in %.1f days",
               rate, hours > 24 ? "7 days" : "24 hours", disk);
    grid_line (g, line);
    if (has_quota) {
        PRINT (line, "--quota-root is reached in %.1f days at that rate",
               quota);
        grid_line (g, line);
    }
}

/* What a service holds, when it is full, and what waits for that. */
static void put_forecast (struct grid *g, const struct json *j)
{
    const struct json *growth = json_get (j, "growth"), *k;
    char size[16], line[1200];

    if (!json_get (j, "stored_bytes"))
        return;
    units_bytes_text ((uint64_t)cli_number (j, "stored_bytes"), size);
    PRINT (line, "%s are stored%s", size,
           json_get (json_first (growth), "bytes_a_day")
               ? "" : "; how soon the disk is full is not known yet");
    grid_line (g, line);
    for (k = json_first (growth); k; k = json_next (k)) {
        if (json_get (k, "bytes_a_day"))
            put_growth (g, k);
    }
    if ((k = json_get (json_get (j, "retention"), "waits"))) {
        PRINT (line, "retention waits: %s", json_text (k, ""));
        grid_line (g, line);
    }
    if ((k = json_get (j, "retention")) && json_get (k, "next")) {
        units_bytes_text ((uint64_t)cli_number (k, "bytes"), size);
        PRINT (line, "retention removes job %s (%s) next, at %s: %s",
               json_text (json_get (k, "next"), "?"), size,
               json_text (json_get (k, "next_at"), "?"),
               json_text (json_get (k, "why"), ""));
        grid_line (g, line);
    }
    for (k = json_first (json_get (j, "waits")); k; k = json_next (k)) {
        PRINT (line, "job %s: %s; %s", json_text (json_get (k, "job"), ""),
               json_text (json_get (k, "why"), ""),
               json_text (json_get (k, "hint"), ""));
        grid_line (g, line);
    }
}

/* What a service still has to push into PostgreSQL. */
static void put_postgres (struct grid *g, const struct json *j)
{
    const char *why = json_text (json_get (j, "why"), "");
    int64_t n = cli_number (j, "backlog"), s = cli_number (j, "oldest_s");
    char line[1200];

    if (!j)
        return;
    if (n == 0)
        PRINT (line, "PostgreSQL %s", json_is_true (json_get (j, "known"))
                                          ? "is up to date"
                                          : "has not answered yet");
    else
        PRINT (line, "PostgreSQL lacks %lld job%s, the first since %lld s",
               (long long)n, units_s ((uint64_t)n), (long long)s);
    grid_line (g, line);
    if (*why)
        grid_line (g, why);
}

/* What segments have here, of a root that lets some go. */
static void put_cache (struct grid *g, const struct json *j)
{
    uint64_t most = (uint64_t)cli_number (j, "cache_bytes");
    uint64_t local = (uint64_t)cli_number (j, "local_bytes");
    long long linked = (long long)cli_number (j, "linked");
    char have[16], limit[16], line[160];

    if (most == 0)
        return;
    units_bytes_text (local, have);
    units_bytes_text (most, limit);
    PRINT (line, "%s of segments are here, %s is the limit; %lld let go since the start",
           have, limit, (long long)cli_number (j, "evicted"));
    grid_line (g, line);
    if (linked > 0) {
        PRINT (line, "%lld segment%s stay here: a backup has links to them",
               linked, units_s ((uint64_t)linked));
        grid_line (g, line);
    }
}

/* What an object store has, and what waits for it. */
static void put_store (struct grid *g, const struct json *j)
{
    const char *why = json_text (json_get (j, "why"), "");
    int64_t waiting = cli_number (j, "waiting");
    char size[16], line[1200];

    if (!j)
        return;
    units_bytes_text ((uint64_t)cli_number (j, "stored_bytes"), size);
    PRINT (line, "%s has %lld segment%s (%s)",
           json_text (json_get (j, "url"), "?"),
           (long long)cli_number (j, "stored"),
           units_s ((uint64_t)cli_number (j, "stored")), size);
    grid_line (g, line);
    put_cache (g, j);
    if (waiting > 0) {
        units_bytes_text ((uint64_t)cli_number (j, "waiting_bytes"), size);
        PRINT (line, "%lld segment%s (%s) %s for upload since %s%s%s",
               (long long)waiting, units_s ((uint64_t)waiting), size,
               waiting == 1 ? "waits" : "wait",
               json_text (json_get (j, "since"), "?"), *why ? ": " : "", why);
        grid_line (g, line);
    } else if (*why) {
        grid_line (g, why);
    }
}

static void print_text (struct found *f, const struct json *j, bool alive)
{
    static const char *const names[] = { "program", "pid", "state", "unread",
                                         "undelivered", "spool bytes", "job" };
    // what stopped it is of no use when it is gone
    const char *why = alive ? json_text (json_get (j, "why"), "")
                            : "it was killed; start it again, it continues";
    struct grid *g = f->g;

    if (f->n == 0)
        grid_head (g, names, sizeof (names) / sizeof (names[0]));
    grid_word (g, json_text (json_get (j, "program"), "?"));
    grid_int (g, cli_number (j, "pid"));
    grid_word (g, alive ? json_text (json_get (j, "state"), "?") : "gone");
    grid_int (g, cli_number (j, "unsettled") + cli_number (j, "sealing"));
    grid_int (g, cli_number (j, "undelivered"));
    grid_int (g, cli_number (j, "spool_bytes"));
    grid_word (g, json_text (json_get (j, "job"), ""));
    if (*why)
        grid_line (g, why);
    put_forecast (g, j);
    put_postgres (g, json_get (j, "postgres"));
    put_store (g, json_get (j, "store"));
}

/* {"path": ..., "alive": ..., "status": what the daemon wrote} */
static void print_json (const char *path, bool alive, const char *status,
                        bool first)
{
    struct json *j = json_object ();
    size_t n = strlen (status);
    char *head;

    while (n > 0 && status[n - 1] == ' ')       // these keep room on the disk
        n--;
    json_add_text (j, "path", path);
    json_add_bool (j, "alive", alive);
    if ((head = json_print (j, false)))
        (void)printf ("%s%.*s,\"status\":%.*s}", first ? "" : ",\n",
                      (int)strlen (head) - 1, head,
                      (int)n, status);
    free (head);
    json_free (j);
}

/* Whether it is an agent that was killed long ago and left nothing behind:
 * nobody needs to see it.  An aggregator is always shown, because agents may
 * wait for its successor.
 */
static bool is_history (const char *path, const struct json *j)
{
    const char *program = json_text (json_get (j, "program"), "");
    struct stat st;
    int64_t ns;

    if (strcmp (program, "rollcall-agent") != 0 || stat (path, &st) < 0 ||
        cli_number (j, "undelivered") + cli_number (j, "unsettled") +
                cli_number (j, "sealing") + cli_number (j, "kept") > 0)
        return false;
    ns = clock_wall_ns () - clock_ns (&st.st_mtim);
    return ns > HISTORY_NS;
}

/* Show one file.  If its process is gone, it was killed: it would have removed
 * the file.
 */
static void show (struct found *f, const char *path)
{
    struct json *j = NULL;
    struct buf text;
    bool alive = false;

    buf_init (&text, STATUS_MAX);
    if (fileio_read_at (AT_FDCWD, path, &text, NULL) == 0)
        j = json_parse ((const char *)text.data, text.size, NULL);
    if (j)
        alive = status_start_time ((pid_t)cli_number (j, "pid")) ==
                cli_number (j, "start_time");
    if (j && (alive || !is_history (path, j))) {
        if (!f->json)
            print_text (f, j, alive);
        else
            print_json (path, alive, buf_text (&text), f->n == 0);
        f->n++;
    }
    json_free (j);
    buf_fini (&text);
}

static void verb_status_search (struct found *f, const char *dir,
                                unsigned depth)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *d = opendir (dir);

    if (!d && errno == EACCES)
        f->status = FAIL (EX_NOPERM, "this user cannot read %s: daemons there "
                          "are not shown", dir);
    while (d && (e = readdir (d))) {
        if (e->d_name[0] == '.' ||
            !fileio_join (path, sizeof (path), dir, e->d_name))
            continue;
        if (strcmp (e->d_name, STATUS_NAME) == 0)
            show (f, path);
        else if (depth > 0 && (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN))
            verb_status_search (f, path, depth - 1);
    }
    fileio_close_dir (d);
}

/* " (it is a job of ROOT: ...)", or "" if it is none, or not known. */
static const char *job_text (const char *root, const char *what,
                             char out[PATH_MAX])
{
    char path[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    struct ledger *l = NULL;

    out[0] = '\0';
    if (cli_valid_job (what) &&
        fileio_join (path, sizeof (path), root, "ledger.db") &&
        ledger_open_quick (path, &l, NULL) == 0 && ledger_has_job (l, what))
        (void)snprintf (out, PATH_MAX, " (it is a job of %s: rollcall show %s)",
                        root, shell_word (what, word));
    ledger_close (l);
    return out;
}

static void tell_none (const char *what, bool run)
{
    char word[SHELL_WORD (PATH_MAX)];

    if (run)
        (void)printf ("%s is over: rollcall wait %s prints its summary\n",
                      what, shell_word (what, word));
    else
        (void)printf ("no daemon is running in %s\n", what);
}

/* JOB below the directory of runs, or otherwise DIR. */
static int search_for (struct found *f, const struct status_options *opt,
                       const char *state, const char *what)
{
    char path[PATH_MAX], text[PATH_MAX];
    bool run = *state && !strchr (what, '/') && what[0] != '.' &&
               fileio_join (path, sizeof (path), state, what) &&
               access (path, F_OK) == 0;
    size_t before = f->n;

    if (!run && access (what, F_OK) < 0 && errno == EACCES)
        return FAIL (EX_NOPERM, "this user cannot read %s", what);
    if (!run && access (what, F_OK) < 0)
        return FAIL (EX_NOINPUT, "%s is neither a job below %s nor a directory"
                     "%s", what, *state ? state : "that of runs",
                     job_text (opt->root, what, text));
    verb_status_search (f, run ? path : what, run ? DEPTH_MAX - 1 : DEPTH_MAX);
    if (f->n == before && f->status == 0 && !f->json)
        tell_none (what, run);
    return 0;
}

/* A service's root and spools, unless they were found below 'state', which is
 * empty if it cannot be used.
 */
static void search_services (struct found *f, const struct status_options *opt,
                             const char *state)
{
    const char *const dirs[] = { opt->root, opt->agents };
    size_t n = strlen (state);
    char path[PATH_MAX];

    for (unsigned i = 0; i < 2; i++) {
        if (realpath (dirs[i], path) &&
            (n == 0 || strncmp (path, state, n) != 0 ||
             (path[n] && path[n] != '/')))
            verb_status_search (f, path, i);    // ROOT/, STATE/spool-JOB/
    }
}

/* ---- several places ---- */

struct place_status {
    const struct cli_place *place;
    struct place_answer *answer;        // NULL: it is a root of this host
    struct json *doc;           // of the answer
    int status;                 // not 0: it cannot be shown; and why
    char why[ERR_TEXT_MAX];
};

static void look_at (struct place_status *s)
{
    struct place_answer *a = s->answer;

    if (!a && access (s->place->name, R_OK | X_OK) < 0) {
        s->status = errno == EACCES ? EX_NOPERM : EX_NOINPUT;
        PRINT (s->why, "%s", strerror (errno));
    } else if (a && a->status != 0) {
        s->status = place_answer_status (a);
        PRINT (s->why, "%s", place_answer_why (a));
    } else if (a) {
        s->doc = json_parse ((const char *)a->out.data, a->out.size, NULL);
        if (json_is_array (json_get (s->doc, "daemons")) &&
            a->out.data[0] == '{')
            return;
        s->status = EX_DATAERR;
        PRINT (s->why, "its answer is damaged, or none");
    }
}

/* The aggregator of a root. */
static void show_root (struct found *f, const char *root)
{
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), root, STATUS_NAME))
        show (f, path);
}

static int place_to_text (const struct place_status *s, bool first)
{
    struct found f = { .g = grid_create (stdout, GRID_TABLE, cli_width (-1)) };
    const struct json *list = json_get (s->doc, "daemons");
    int rc;

    if (!f.g)
        return -ENOMEM;
    (void)printf ("%s%s\n", first ? "" : "\n", s->place->name);
    if (!s->answer)
        show_root (&f, s->place->name);
    for (const struct json *d = json_first (list); d; d = json_next (d)) {
        print_text (&f, json_get (d, "status"),
                    json_is_true (json_get (d, "alive")));
        f.n++;
    }
    if (f.n == 0)
        (void)printf ("no daemon is running there\n");
    rc = f.n > 0 ? grid_finish (f.g) : 0;
    grid_destroy (f.g);
    return rc;
}

static int place_to_json (const struct place_status *s, bool first)
{
    const struct buf *out = s->answer ? &s->answer->out : NULL;
    const char *name = s->place->name;
    struct found f = { .json = true };

    if (!first)
        (void)fputs (",\n", stdout);
    if (out) {
        place_put_object (name, (const char *)out->data,
                          out->size - (out->data[out->size - 1] == '\n'),
                          stdout);
        return 0;
    }
    (void)fputs ("{\"at\": ", stdout);
    json_out_string (stdout, name, strlen (name));
    (void)fputs (", \"daemons\": [", stdout);
    show_root (&f, name);
    (void)fputs ("]}", stdout);
    return 0;
}

static void put_silent (const struct place_status *list, size_t n)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": ",
                            .more = true };

    json_out_open_of (&out, "not_answered", '[');
    for (size_t i = 0; i < n; i++) {
        if (list[i].status == 0)
            continue;
        json_out_open (&out, '{');
        json_out_text_of (&out, "at", list[i].place->name);
        json_out_text_of (&out, "reason", list[i].why);
        json_out_close (&out, '}');
    }
    json_out_close (&out, ']');
}

/* A block for each; the status is the worst. */
static int show_list (struct place_status *list, size_t n, bool json)
{
    char shown[UTF8_ESCAPED (ERR_TEXT_MAX)];
    int worst = 0, rc = 0;
    bool first = true;

    if (json)
        (void)fputs ("{\"places\": [", stdout);
    for (size_t i = 0; i < n && rc == 0; i++) {
        look_at (&list[i]);
        if (list[i].status != 0) {
            worst = list[i].status > worst ? list[i].status : worst;
            (void)FAIL (0, "%s has not answered: %s", list[i].place->name,
                        utf8_escape (list[i].why, UTF8_LINES, shown));
            continue;
        }
        rc = (json ? place_to_json : place_to_text) (&list[i], first);
        first = false;
    }
    if (json) {
        (void)fputs ("]", stdout);
        put_silent (list, n);
        (void)fputs ("}\n", stdout);
    }
    rc = cli_flush (&status_command, rc);
    return rc ? rc : worst;
}

/* Those of other hosts are asked at the same time: NULL if there are none, or
 * without memory.
 */
static struct place_answer *ask_far (const struct cli_places *p,
                                     struct cli_places *far)
{
    struct json *request = json_object ();
    struct place_answer *a;

    far->n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].security)
            far->list[far->n++] = p->list[i];
    }
    json_add_text (request, "do", "view");
    json_add_text (request, "verb", "status");
    json_push_text (json_add_array (request, "options"), "--json");
    (void)json_add_array (request, "operands");
    a = far->n > 0 ? places_ask (far, request) : NULL;
    json_free (request);
    return a;
}

static int show_places (const struct cli_places *p, bool json)
{
    struct place_status *list = calloc (p->n, sizeof (*list));
    struct cli_places far;
    struct place_answer *a = ask_far (p, &far);
    int status;

    for (size_t i = 0, k = 0; list && i < p->n; i++) {
        list[i].place = &p->list[i];
        if (a && p->list[i].security)
            list[i].answer = &a[k++];
    }
    status = !list || (far.n > 0 && !a)
                 ? FAIL (EX_OSERR, "no memory to ask several aggregators")
                 : show_list (list, p->n, json);
    for (size_t i = 0; list && i < p->n; i++)
        json_free (list[i].doc);
    place_answers_free (a, far.n);
    free (list);
    return status;
}

static int status_of_all (const struct status_options *opt)
{
    struct cli_places p;
    int status = cli_places_open (&status_command, &opt->where, &p);

    if (status == 0)
        status = show_places (&p, opt->json);
    cli_places_close (&p);
    return status;
}

/* For who asks over the network: nothing but the root is shown. */
static int status_of_view (const struct status_options *opt)
{
    struct found f = { .json = true };

    if (!opt->json)
        return FAIL (EXIT_USAGE, "ask with --json");
    (void)printf ("{\"daemons\": [");
    show_root (&f, opt->root);
    (void)printf ("]}\n");
    return cli_flush (&status_command, 0);
}

/* ---- this machine ---- */

static int status_of_host (const struct status_options *opt, int n,
                           char **operands)
{
    struct found f = { .json = opt->json };
    char state[PATH_MAX];
    struct err err = { "" };
    int status = 0, rc, runs = 0;
    const bool all = n == 0;

    f.g = grid_create (stdout, GRID_TABLE, cli_width (-1));
    if (!f.g)
        return FAIL (EX_OSERR, "no memory for a table");
    if (run_state_dir (opt->state, state, &err) < 0) {
        runs = FAIL (EX_NOINPUT, "%s", err.text);   // services may be there
        state[0] = '\0';
    }
    if (opt->json)
        (void)printf ("{\"daemons\": [");
    if (all) {
        verb_status_search (&f, state, DEPTH_MAX);
        search_services (&f, opt, state);
    }
    for (int i = 0; i < n && status == 0; i++)
        status = search_for (&f, opt, state, operands[i]);
    if (opt->json)
        (void)printf ("]}\n");
    else if (f.n == 0 && all)
        (void)printf ("no daemon is running below %s, nor in %s (--root) or %s "
                      "(--agents)\n", *state ? state : "(see above)", opt->root,
                      opt->agents);
    rc = f.n > 0 && !opt->json ? grid_finish (f.g) : 0;
    grid_destroy (f.g);
    if (cli_flush (&status_command, rc) != 0)
        return EX_IOERR;
    if (all)                    // other users' services are not an error
        f.status = runs;
    return status != 0 ? status : f.status;
}

int verb_status (int argc, char **argv)
{
    struct status_options opt = { .state = NULL };
    int rest, status;

    if (!cli_options (&status_command, argc, argv, &opt, &rest, &status))
        return status;
    if (cli_empty_dir (&status_command, argc - rest, argv + rest))
        return EXIT_USAGE;
    opt.root = cli_first_root (&opt.where);
    if (cli_is_view ())
        return status_of_view (&opt);
    if (!cli_asks_several (&opt.where))
        return status_of_host (&opt, argc - rest, argv + rest);
    return rest == argc ? status_of_all (&opt)
                        : FAIL (EXIT_USAGE, "of several aggregators only their "
                                "own status is shown: no JOB and no DIR");
}
