/* cli/jobs/jobs_of_all.c - rollcall jobs of several aggregators */
#include "jobs/jobs_of_all.h"

#include "jobs/jobs_table.h"
#include "json/json_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_MAX 4096             // bytes of the names of places
#define TAGS_MAX 2048

/* ---- a table ---- */

static int64_t number (const struct json *o, const char *key)
{
    int64_t n = -1;

    (void)json_int (json_get (o, key), &n);
    return n;
}

/* As rows of a catalogue have them: "a,b" */
static void join_tags (const struct json *tags, char out[TAGS_MAX])
{
    size_t used = 0;

    out[0] = '\0';
    for (const struct json *t = json_first (tags); t; t = json_next (t)) {
        int n = snprintf (out + used, TAGS_MAX - used, "%s%s", used ? "," : "",
                          json_text (t, ""));

        if (n < 0 || (size_t)n >= TAGS_MAX - used)
            return;
        used += (size_t)n;
    }
}

/* What the columns show. */
static void put_row (struct jobs_table *t, const struct job_copy *c,
                     const char *at)
{
    const struct json *o = c->o, *roll = json_get (o, "roll");
    char tags[TAGS_MAX];
    const struct catalogue_job j = {
        .job = c->job, .user = c->user, .tags = tags,
        .id = json_text (json_get (o, "id"), ""),
        .result = json_text (json_get (o, "result"), ""),
        .first_received = json_text (json_get (o, "first_received"), ""),
        .last_received = json_text (json_get (o, "last_received"), ""),
        .expected = number (o, "expected"), .ranks = c->ranks,
        .captures = c->captures, .bytes = c->bytes, .in_roll = c->in_roll,
        .present = c->present, .missing = number (roll, "missing"),
        .failed = number (roll, "failed"),
        .partial = number (roll, "partial"), .raw = number (roll, "raw"),
        .unexpected = number (roll, "unexpected"),
    };

    join_tags (json_get (o, "tags"), tags);
    jobs_table_row (t, &j, at, json_get (o, "unbuilt"));
}

/* "A, B, C (raw files)": that of which the copy is shown first. */
static void join_places (const struct job_copies *j, size_t i, size_t end,
                         char out[AT_MAX])
{
    size_t used = 0;

    out[0] = '\0';
    for (; i < end && used < AT_MAX; i++) {
        int n = snprintf (out + used, AT_MAX - used, "%s%s%s",
                          used ? ", " : "", j->list[i].place->name,
                          j->list[i].raw_only ? " (raw files)" : "");

        used += n > 0 ? (size_t)n : 0;
    }
}

static int put_table (const struct job_copies *j, int64_t width)
{
    struct jobs_table t;
    bool users = false, tags = false;
    char at[AT_MAX];
    int rc;

    for (size_t i = 0; i < j->n; i++) {
        users |= *j->list[i].user != '\0';
        tags |= json_count (json_get (j->list[i].o, "tags")) > 0;
    }
    if (jobs_table_begin (&t, cli_width (width), users, tags,
                          j->nplaces > 1) < 0)
        return -ENOMEM;
    for (size_t i = 0, end; i < j->n; i = end) {
        end = job_copies_next (j, i);
        join_places (j, i, end, at);
        put_row (&t, &j->list[i], at);
    }
    rc = grid_finish (t.g);
    grid_destroy (t.g);
    return rc;
}

/* ---- JSON ---- */

/* Where each copy is; and what differs, if it does. */
static void put_copies (struct json_out *out, const struct job_copies *j,
                        size_t i, size_t end)
{
    enum copies_differ worst = COPIES_SAME;

    json_out_text_of (out, "at", j->list[i].place->name);
    json_out_open_of (out, "copies", '[');
    for (size_t k = i; k < end; k++) {
        const struct job_copy *c = &j->list[k];
        enum copies_differ d = job_copies_compare (&j->list[i], c);

        worst = d > worst ? d : worst;
        json_out_open (out, '{');
        json_out_text_of (out, "at", c->place->name);
        json_out_int_of (out, "ranks", c->ranks);
        json_out_int_of (out, "captures", c->captures);
        json_out_text_of (out, "built_at", c->built);
        json_out_key (out, "whole");
        json_out_raw (out, c->whole ? "true" : "false");
        json_out_key (out, "raw_only");
        json_out_raw (out, c->raw_only ? "true" : "false");
        json_out_close (out, '}');
    }
    json_out_close (out, ']');
    json_out_text_of (out, "copies_are",
                      worst == COPIES_SAME      ? "the same"
                      : worst == COPIES_DIVIDED ? "divided"
                      : worst == COPIES_LACK ? "not all whole"
                                             : "contradictory");
}

/* The members as they came, but paths of another host. */
static int put_members (struct json_out *out, const struct job_copy *c)
{
    for (const struct json *m = json_first (c->o); m; m = json_next (m)) {
        bool path = c->place->security &&
                    strcmp (json_key (m), "analysis_db") == 0;
        char *text = path ? strdup ("null") : json_print (m, false);

        if (!text)
            return -ENOMEM;
        if (strcmp (json_key (m), "at") != 0 &&
            strncmp (json_key (m), "copies", 6) != 0) {
            json_out_key (out, json_key (m));
            json_out_raw (out, text);
        }
        free (text);
    }
    return 0;
}

void jobs_end_json (struct json_out *out, const struct json *runs)
{
    char *text = json_print (json_get (runs, "runs"), false);

    if (text) {
        json_out_key (out, "runs");
        json_out_raw (out, text);
    }
    json_out_close (out, '}');
    (void)fputc ('\n', out->f);
    free (text);
}

static int put_json (const struct job_copies *j, const struct json *runs)
{
    struct json_out out = { .f = stdout, .comma = ", ", .colon = ": " };
    int rc = 0;

    json_out_open (&out, '{');
    json_out_open_of (&out, "jobs", '[');
    for (size_t i = 0, end; i < j->n && rc == 0; i = end) {
        end = job_copies_next (j, i);
        json_out_open_line (&out, '{');
        rc = put_members (&out, &j->list[i]);
        put_copies (&out, j, i, end);
        json_out_close (&out, '}');
    }
    json_out_close (&out, ']');
    job_copies_silent (j, &out);
    jobs_end_json (&out, runs);
    return rc;
}

/* ---- the list ---- */

int jobs_of_all (const struct command_spec *c, const struct cli_places *p,
                 const struct json *request, const char *job, bool json,
                 int64_t width, const struct json *runs)
{
    struct job_copies j = { .n = 0 };
    int status = job_copies_ask (c, p, request, &j), rc = 0;
    bool contradict = false;

    if (status == 0 && job && j.n == 0) {
        status = cli_fail (c, j.away > 0 ? EX_UNAVAILABLE : EX_NOINPUT,
                           "no aggregator that answers lists a job %s",
                           job);
    } else if (status == 0) {
        rc = json ? put_json (&j, runs) : put_table (&j, width);
        status = cli_flush (c, rc);
        contradict = job_copies_tell (c, &j) > 0;
    }
    if (status == 0 && (j.away > 0 || contradict))
        status = EXIT_NOT_ALL;
    job_copies_fini (&j);
    return status;
}
