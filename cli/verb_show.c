/* cli/verb_show.c - rollcall show: what is known of a job of an aggregator */
#include "jobs_list.h"
#include "several/job_copies.h"
#include "shared/unbuilt.h"

#include "base/clock.h"
#include "options/shell.h"
#include "base/units.h"
#include "base/utf8.h"
#include "findings/finding_list.h"
#include "html_page/html_page.h"
#include "query/labels.h"
#include "summary/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_SHOWN 16          // that are not present; query missing has all
#define PARTS_SHOWN 64          // hosts in a line of text
#define FINDINGS_SHOWN 10       // rollcall findings has all

struct show_options {
    struct cli_where where;
    const char *root;
    bool json;
};

static const struct option_spec options[] = {
    CLI_WHERE_OPTIONS (struct show_options, where),
    OPTION_SWITCH ("json", 0, struct show_options, json,
      "Print one JSON object."),
};

static const struct command_spec show_command = {
    "rollcall show", "[OPTION]... JOB",
    "Show what is known of a job of an aggregator: who started it, on which "
    "hosts, its ranks, steps, links and findings, and where its report is.",
    options, sizeof (options) / sizeof (options[0]),
};

#define FAIL(status, ...) cli_fail (&show_command, status, __VA_ARGS__)

/* What is shown: the job's row, and its result if that can be read. */
struct shown {
    const struct cli_jobs *jobs;
    const struct catalogue_job *j;
    char db[PATH_MAX], page[PATH_MAX];  // "": there is none
    bool elsewhere;             // another aggregator has rows and roll
    bool rows;                  // some are here, of which a result is built
    bool read;
    struct summary summary;
    struct finding_list findings;
    FILE *f;
    size_t n;                   // parts in this line so far
};

static void look (struct shown *s)
{
    struct err err;
    char *slash;

    s->db[0] = s->page[0] = '\0';
    if (strcmp (s->j->result, "none") == 0 ||
        !cli_result_path (s->jobs, s->j->job, s->db)) {
        s->db[0] = '\0';
        return;
    }
    PRINT (s->page, "%s", s->db);
    if ((slash = strrchr (s->page, '/')))
        (void)snprintf (slash + 1, sizeof (s->page) - (size_t)(slash + 1 -
                                                               s->page),
                        PAGE_NAME);
    if (access (s->page, F_OK) < 0)
        s->page[0] = '\0';
    s->read = summary_read_back (s->db, &s->summary, &err) == 0;
    if (finding_list_read (s->db, NULL, &s->findings, &err) < 0)
        s->findings.n = 0;
}

/* ---- text ---- */

/* A line "label         text", if there is a text. */
static void line (FILE *f, const char *label, const char *text)
{
    if (*text)
        (void)fprintf (f, "%-13s %s\n", label, text);
}

static int print_mark (void *arg, const struct ledger_fact *f)
{
    struct shown *s = arg;
    char at[CLOCK_TEXT_MAX], by[FACT_BY_MAX + 8] = "";

    if (f->gone)
        return 0;
    if (strcmp (f->key, FACT_HOME) == 0) {
        line (s->f, "rows at", f->value);
        s->elsewhere = true;
    }
    if (strcmp (f->key, FACT_RAW_AT) == 0)
        line (s->f, "raw files at", f->value);
    if (strcmp (f->key, FACT_TAG) != 0 && strcmp (f->key, FACT_PIN) != 0)
        return 0;
    clock_text (f->at_ns, at);
    if (*f->by)
        PRINT (by, ", by %s", f->by);
    (void)fprintf (s->f, "%-13s %s%s%.10s%s\n",
                   strcmp (f->key, FACT_TAG) == 0 ? "tag" : "pinned",
                   strcmp (f->key, FACT_TAG) == 0 ? f->value : "",
                   strcmp (f->key, FACT_TAG) == 0 ? ", since " : "since ", at,
                   by);
    return 0;
}

static void print_who (struct shown *s)
{
    const struct catalogue_job *j = s->j;
    char text[512] = "";

    (void)fprintf (s->f, "%-13s %s%s\n", "job", j->job,
                   strcmp (j->id, "given") == 0     ? ""
                   : strcmp (j->id, "hand") == 0    ? " (captures were "
                                                      "assigned by hand)"
                   : strcmp (j->id, "assumed") == 0 ? " (nothing shows that "
                                                      "all captures are of it)"
                                                    : " (recognised by its "
                                                      "captures)");
    line (s->f, "user", j->user);
    line (s->f, "scheduler id", j->scheduler_id);
    line (s->f, "command", j->command);
    (void)ledger_each_fact (s->jobs->ledger, j->job, 0, print_mark, s, NULL);
    if (*j->began)
        PRINT (text, "%s%s%s", j->began, *j->ended ? " to " : "", j->ended);
    line (s->f, "ran", text);
    PRINT (text, "%s to %s", j->first_received, j->last_received);
    line (s->f, "received", text);
}

static void print_sizes (struct shown *s)
{
    const struct catalogue_job *j = s->j;
    char bytes[16], result[16];

    units_bytes_text ((uint64_t)j->bytes, bytes);
    (void)fprintf (s->f, "%-13s %lld capture%s, %lld item%s, %s", "size",
                   (long long)j->captures, units_s ((uint64_t)j->captures),
                   (long long)j->items, units_s ((uint64_t)j->items), bytes);
    if (j->quarantined > 0)
        (void)fprintf (s->f, "; %lld damaged and set aside",
                       (long long)j->quarantined);
    if (j->result_bytes > 0) {
        units_bytes_text ((uint64_t)j->result_bytes, result);
        (void)fprintf (s->f, "; result %s", result);
    }
    (void)fputc ('\n', s->f);
}

static void begin_part (struct shown *s, const char *label)
{
    if (s->n++ == 0)
        (void)fprintf (s->f, "%-13s ", label);
    else
        (void)fputs (", ", s->f);
}

static int print_host (void *arg, const struct catalogue_part *p)
{
    struct shown *s = arg;

    if (s->n >= PARTS_SHOWN) {
        s->n++;
        return 0;
    }
    begin_part (s, "hosts");
    (void)fprintf (s->f, "%s (%lld rank%s)", p->name, (long long)p->n,
                   units_s ((uint64_t)p->n));
    return 0;
}

static int print_link (void *arg, const struct catalogue_part *p)
{
    struct shown *s = arg;

    begin_part (s, "links");
    (void)fprintf (s->f, "%lld %s at %.1f GB/s", (long long)p->n, p->name,
                   p->value);
    return 0;
}

static int print_group (void *arg, const struct catalogue_part *p)
{
    struct shown *s = arg;

    begin_part (s, "groups");
    (void)fprintf (s->f, "%lld %s (%.0f %% waiting)", (long long)p->n, p->name,
                   p->value > 0 ? 100 * p->other / p->value : 0);
    return 0;
}

static void print_parts (struct shown *s, enum catalogue_part_kind kind,
                         int (*fn) (void *arg, const struct catalogue_part *p))
{
    s->n = 0;
    (void)catalogue_each_part (s->jobs->catalogue, s->j->job, kind, fn, s,
                               NULL);
    if (kind == CATALOGUE_HOSTS && s->n > PARTS_SHOWN)
        (void)fprintf (s->f, ", and %zu more", s->n - PARTS_SHOWN);
    if (s->n > 0)
        (void)fputc ('\n', s->f);
}

static void print_ranks (struct shown *s)
{
    const struct summary *sum = &s->summary;
    char roll[CATALOGUE_ROLL_MAX], text[64];
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];

    catalogue_roll (s->j, roll);
    PRINT (text, s->rows ? "%lld have delivered" : "raw files of %lld have come",
           (long long)s->j->ranks);
    line (s->f, "ranks", *roll ? roll : text);
    for (size_t i = 0; s->read && i < sum->nothers && i < RANKS_SHOWN; i++) {
        const struct summary_rank *r = &sum->others[i];

        (void)fprintf (s->f, "  rank %lld: %s%s%s\n", (long long)r->rank,
                       r->state, r->reason ? ": " : "",
                       r->reason ? r->reason : "");
    }
    if (s->read && sum->nothers > RANKS_SHOWN)
        (void)fprintf (s->f, "  and %zu more: rollcall query missing %s\n",
                       sum->nothers - RANKS_SHOWN,
                       shell_word (s->j->job, word));
}

static void print_steps (struct shown *s)
{
    const struct catalogue_job *j = s->j;

    if (!isfinite (j->step_ms))
        return;
    (void)fprintf (s->f, "%-13s %lld of %.3f ms (the longest: %.3f ms): "
                   "computing %.1f %%, communication %.1f %%, free %.1f %%\n",
                   "steps", (long long)j->steps, j->step_ms, j->longest_ms,
                   j->computing_percent, j->comm_percent, j->free_percent);
}

static void print_findings (struct shown *s)
{
    const struct finding_list *l = &s->findings;
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];

    if (!s->read)
        return;
    if (l->n == 0)
        line (s->f, "findings", "none");
    for (size_t i = 0; i < l->n && i < FINDINGS_SHOWN; i++)
        (void)fprintf (s->f, "%-13s %s: %s\n", i == 0 ? "findings" : "",
                       l->items[i].severity, l->items[i].text);
    if (l->n > FINDINGS_SHOWN)
        (void)fprintf (s->f, "%-13s and %zu more: rollcall findings %s\n", "",
                       l->n - FINDINGS_SHOWN, shell_word (s->j->job, word));
}

static void print_all (const void *arg, FILE *f)
{
    struct shown *s = (struct shown *)(uintptr_t)arg;
    const struct catalogue_job *j = s->j;
    const struct json *unbuilt = unbuilt_find (s->jobs->status, j->job);
    char why[UNBUILT_TEXT_MAX];

    s->f = f;
    print_who (s);
    print_sizes (s);
    print_parts (s, CATALOGUE_HOSTS, print_host);
    print_ranks (s);
    print_steps (s);
    print_parts (s, CATALOGUE_LINKS, print_link);
    print_parts (s, CATALOGUE_GROUPS, print_group);
    print_findings (s);
    if (unbuilt)
        line (f, "not built", unbuilt_text (unbuilt, why));
    if (!*s->db && s->elsewhere)
        line (f, "result", "where the rows are");
    else if (!*s->db && !s->rows)
        line (f, "result", "none: raw files are here, but no rows, of which it "
                           "is built: they are on their way, or were lost with "
                           "another aggregator");
    else if (!*s->db && unbuilt)
        line (f, "result", "none so far");
    else if (!*s->db)
        line (f, "result", "none so far: a service builds it 2 s after the "
                           "last item; rollcall build does it without one");
    else
        (void)fprintf (f, "%-13s %s%s\n", "result", s->db,
                       strcmp (j->result, "behind") == 0
                           ? " (older than what arrived, or was set, since)"
                       : s->read ? "" : " (cannot be read: rollcall build "
                                        "makes it again)");
    line (f, "report", s->page);
}

/* ---- JSON ---- */

static const struct {
    const char *key, *name, *n, *value, *other;
} part_names[] = {
    [CATALOGUE_HOSTS] = { "by_host", "host", "ranks", "computing_ms",
                          "step_ms" },
    [CATALOGUE_LINKS] = { "links", "transport", "links", "gbps", "mb" },
    [CATALOGUE_GROUPS] = { "groups", "kind", "groups", "elapse_ms",
                           "wait_ms" },
    [CATALOGUE_FINDINGS] = { "findings_by_kind", "kind", "findings",
                             "effect_percent", NULL },
};

struct parts_out {
    struct json_out *out;
    enum catalogue_part_kind kind;
};

static int put_part (void *arg, const struct catalogue_part *p)
{
    const struct parts_out *x = arg;
    struct json_out *out = x->out;

    json_out_open (out, '{');
    json_out_text_of (out, part_names[x->kind].name, p->name);
    if (*p->severity)
        json_out_text_of (out, "severity", p->severity);
    json_out_int_of (out, part_names[x->kind].n, p->n);
    json_out_key (out, part_names[x->kind].value);
    json_out_real (out, p->value);
    if (part_names[x->kind].other) {
        json_out_key (out, part_names[x->kind].other);
        json_out_real (out, p->other);
    }
    json_out_close (out, '}');
    return 0;
}

static int put_mark (void *arg, const struct ledger_fact *f)
{
    struct json_out *out = arg;
    char at[CLOCK_TEXT_MAX];

    if (f->gone)
        return 0;
    clock_text (f->at_ns, at);
    json_out_open (out, '{');
    json_out_text_of (out, "key", f->key);
    json_out_text_of (out, "value", f->value);
    json_out_text_of (out, "at", at);
    json_out_text_of (out, "by", *f->by ? f->by : "captures");
    json_out_close (out, '}');
    return 0;
}

static void put_others (struct json_out *out, const struct shown *s)
{
    json_out_open_of (out, "not_present", '[');
    for (size_t i = 0; s->read && i < s->summary.nothers; i++) {
        const struct summary_rank *r = &s->summary.others[i];

        json_out_open (out, '{');
        json_out_int_of (out, "rank", r->rank);
        json_out_text_of (out, "state", r->state);
        json_out_text_of (out, "host", r->host);
        json_out_text_of (out, "reason", r->reason ? r->reason : "");
        json_out_close (out, '}');
    }
    json_out_close (out, ']');
}

static void put_findings (struct json_out *out, const struct shown *s)
{
    json_out_open_of (out, "finding_texts", '[');
    for (size_t i = 0; i < s->findings.n; i++) {
        const struct finding *f = &s->findings.items[i];

        json_out_open (out, '{');
        json_out_text_of (out, "kind", f->kind);
        json_out_text_of (out, "severity", f->severity);
        json_out_text_of (out, "text", f->text);
        json_out_close (out, '}');
    }
    json_out_close (out, ']');
}

static int put_all (const struct shown *s)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": " };

    json_out_open (&out, '{');
    cli_job_to_json (&out, s->jobs, s->j);
    cli_claims_to_json (&out, s->jobs, s->j->job);
    json_out_open_of (&out, "facts", '[');
    (void)ledger_each_fact (s->jobs->ledger, s->j->job, 0, put_mark, &out,
                            NULL);
    json_out_close (&out, ']');
    for (unsigned k = CATALOGUE_HOSTS; k <= CATALOGUE_FINDINGS; k++) {
        struct parts_out x = { &out, k };

        json_out_open_of (&out, part_names[k].key, '[');
        (void)catalogue_each_part (s->jobs->catalogue, s->j->job, k, put_part,
                                   &x, NULL);
        json_out_close (&out, ']');
    }
    put_others (&out, s);
    put_findings (&out, s);
    if (*s->page)
        json_out_text_of (&out, "report", s->page);
    json_out_close (&out, '}');
    return fputc ('\n', stdout) == EOF ? -errno : 0;
}

/* ---- the verb ---- */

struct showing {
    const struct show_options *opt;
    const struct cli_jobs *jobs;
    int shown;
};

static int show_job (void *arg, const struct catalogue_job *j)
{
    struct showing *x = arg;
    struct shown s = {
        .jobs = x->jobs, .j = j,
        .rows = ledger_newest (x->jobs->ledger, j->job, ITEM_ROWS) > 0 ||
                ledger_newest (x->jobs->ledger, j->job, ITEM_RAW) == 0,
    };
    int rc;

    look (&s);
    x->shown++;
    rc = x->opt->json ? put_all (&s)
                      : labels_print (STDOUT_FILENO, print_all, &s);
    if (rc == 0 && !x->opt->json) {
        struct err err;

        (void)cli_print_claims (x->jobs, j->job, &err);
    }
    if (s.read)
        summary_fini (&s.summary);
    finding_list_fini (&s.findings);
    return rc;
}

/* From one root: an exit status. */
static int show_of_root (const struct show_options *opt, char *const *job)
{
    struct catalogue_filter filter = { .job = job[0] };
    struct showing x = { .opt = opt };
    struct err err = { "" };
    struct cli_jobs jobs;
    int status, rc;

    if (cli_needs_view (opt->root))
        return cli_view (&show_command, opt->root, opt, 1, job);
    if ((status = cli_jobs_open (&show_command, opt->root, &jobs)) != 0)
        return status;
    x.jobs = &jobs;
    rc = catalogue_each (jobs.catalogue, &filter, show_job, &x, &err);
    if (rc < 0 && !err.text[0])
        (void)err_sys (&err, -rc, "cannot print");
    status = rc < 0 ? cli_jobs_failed (&show_command, rc, &err)
             : x.shown == 0
                 ? cli_no_job (&show_command, opt->root, job[0],
                               ": rollcall jobs lists its jobs")
                 : cli_flush (&show_command, 0);
    cli_jobs_close (&jobs);
    return status;
}

static int show_of_place (struct show_options *opt,
                          const struct cli_place *place, char *const *job)
{
    struct place_view v;
    struct json *request;
    struct err err = { "" };
    int rc;

    opt->root = place->name;
    if (!place->security)
        return show_of_root (opt, job);
    request = cli_view_request (&show_command, opt, 1, job);
    rc = place_begin (place, request, &v, &err);
    json_free (request);
    return rc < 0 ? FAIL (EX_OSERR, "%s", err.text)
                  : place_print (&show_command, &v, 0);
}

/* From the one of several aggregators that has it. */
static int show_of_several (struct show_options *opt, char *const *job)
{
    struct job_copies j = { .n = 0 };
    const struct job_copy *copy;
    struct cli_places p;
    int status = cli_places_open (&show_command, &opt->where, &p);

    if (status == 0)
        status = job_copies_find (&show_command, &p, job[0], false, &j, &copy);
    if (status == 0 && !opt->json) {
        (void)printf ("%-13s %s%s\n", "at", copy->place->name,
                      copy->place->security
                          ? ", where the files below are" : "");
        (void)fflush (stdout);
    }
    if (status == 0)
        status = show_of_place (opt, copy->place, job);
    job_copies_fini (&j);
    cli_places_close (&p);
    return status;
}

int verb_show (int argc, char **argv)
{
    struct show_options opt = { .root = NULL };
    int rest, status;

    if (!cli_options (&show_command, argc, argv, &opt, &rest, &status))
        return status;
    if (rest + 1 != argc)
        return FAIL (EXIT_USAGE, "%s (usage: %s %s)", rest == argc
                         ? "no job was given" : "one job is shown at a time",
                     show_command.name, show_command.usage);
    if (!cli_valid_job (argv[rest]))
        return FAIL (EXIT_USAGE, "\"%s\" is not the name of a job",
                     argv[rest]);
    opt.root = cli_first_root (&opt.where);
    return cli_asks_several (&opt.where) ? show_of_several (&opt, argv + rest)
                                         : show_of_root (&opt, argv + rest);
}
