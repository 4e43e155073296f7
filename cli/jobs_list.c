/* cli/jobs_list.c - the jobs of a root, for the verbs that list them */
#include "jobs_list.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/utf8.h"
#include "builder/build.h"
#include "postgres/facts.h"
#include "shared/unbuilt.h"
#include "store/fileio.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

int cli_filter_read (const struct command_spec *c, const struct cli_filter *f,
                     struct catalogue_filter *ret)
{
    *ret = (struct catalogue_filter){ .user = f->user, .tag = f->tag,
                                      .host = f->host, .where = f->where };
    if (f->where && !*f->where)
        return cli_fail (c, EXIT_USAGE, "--where is empty");
    if (f->tag && !ledger_valid_tag (f->tag))
        return cli_fail (c, EXIT_USAGE, "--tag: \"%s\" is not a tag: "
                         FACT_TAG_RULE, f->tag);
    if (f->since &&
        catalogue_since (f->since, clock_wall_ns (), &ret->since_ns) < 0)
        return cli_fail (c, EXIT_USAGE, "--since: \"%s\" is neither a date "
                         "(2026-11-01, 2026-11-01T09:30Z) nor how long ago "
                         "(90m, 12h, 7d, 4w)", f->since);
    return 0;
}

/* ---- errors ---- */

int cli_jobs_failed (const struct command_spec *c, int rc,
                     const struct err *err)
{
    bool comma = strstr (err->text, "row value misused") != NULL;

    return rc == -EINVAL || rc == -EINTR
               ? cli_fail (c, EXIT_USAGE, "--where: %s%s", err->text,
                           comma ? " (is a comma to be a decimal point, as in "
                                   "1.5?)" : "")
               : cli_fail (c, EX_IOERR, "%s", err->text);
}

int cli_filter_check (const struct command_spec *c,
                      const struct catalogue_filter *f)
{
    struct catalogue *none = NULL;
    struct err err = { "" };
    int rc = catalogue_open_copy (&none, &err);

    if (rc == 0)
        rc = catalogue_check (none, f, &err);
    catalogue_close (none);
    return rc < 0 ? cli_jobs_failed (c, rc, &err) : 0;
}

/* ---- JSON ---- */

static void put_known (struct json_out *out, const char *key, int64_t v)
{
    json_out_key (out, key);
    if (v < 0)
        json_out_raw (out, "null");
    else
        json_out_int (out, v);
}

static void put_real (struct json_out *out, const char *key, double v)
{
    json_out_key (out, key);
    json_out_real (out, isfinite (v) ? round (v * 1e3) / 1e3 : v);
}

static void put_nonempty (struct json_out *out, const char *key,
                          const char *text)
{
    if (*text) {
        json_out_text_of (out, key, text);
    } else {
        json_out_key (out, key);
        json_out_raw (out, "null");
    }
}

/* "a,b" as a list */
static void put_tags (struct json_out *out, const char *tags)
{
    json_out_open_of (out, "tags", '[');
    for (const char *p = tags; *p;) {
        char tag[FACT_TAG_MAX + 1];
        size_t n = strcspn (p, ",");

        PRINT (tag, "%.*s", (int)n, p);
        json_out_text (out, tag, strlen (tag));
        p += n + (p[n] == ',');
    }
    json_out_close (out, ']');
}

static void put_roll (struct json_out *out, const struct catalogue_job *j)
{
    if (j->present < 0) {
        json_out_key (out, "roll");
        json_out_raw (out, "null");
        return;
    }
    json_out_open_of (out, "roll", '{');
    json_out_int_of (out, "present", j->present);
    json_out_int_of (out, "missing", j->missing);
    json_out_int_of (out, "failed", j->failed);
    json_out_int_of (out, "partial", j->partial);
    json_out_int_of (out, "raw", j->raw);
    json_out_int_of (out, "unexpected", j->unexpected);
    json_out_close (out, '}');
}

/* What its result says. */
static void put_result (struct json_out *out, const struct catalogue_job *j)
{
    put_nonempty (out, "began", j->began);
    put_nonempty (out, "ended", j->ended);
    put_known (out, "hosts", j->hosts);
    put_known (out, "steps", j->steps);
    put_real (out, "step_ms", j->step_ms);
    put_real (out, "longest_ms", j->longest_ms);
    put_real (out, "computing_percent", j->computing_percent);
    put_real (out, "comm_percent", j->comm_percent);
    put_real (out, "free_percent", j->free_percent);
    put_known (out, "findings", j->findings);
    put_known (out, "high", j->high);
    put_known (out, "medium", j->medium);
    put_known (out, "low", j->low);
    put_known (out, "result_bytes", j->result_bytes);
    put_nonempty (out, "built_at", j->built);
    put_nonempty (out, "known_by", j->known_by);
}

/* Why its result is not newer, if its service could not build it. */
static void put_unbuilt (struct json_out *out, const struct json *u)
{
    if (!u)
        return;
    json_out_open_of (out, "unbuilt", '{');
    json_out_text_of (out, "since", json_text (json_get (u, "since"), ""));
    json_out_int_of (out, "tries", cli_number (u, "tries"));
    json_out_text_of (out, "why", json_text (json_get (u, "why"), ""));
    put_nonempty (out, "hint", json_text (json_get (u, "hint"), ""));
    json_out_close (out, '}');
}

/* Of a divided job: where the rest of it is. */
static int put_rest (void *arg, const struct ledger_fact *f)
{
    if (facts_is_rest (f))
        json_out_text_of (arg, f->key, f->value);
    return 0;
}

bool cli_result_path (const struct cli_jobs *jobs, const char *job,
                      char ret[PATH_MAX])
{
    char path[PATH_MAX];

    if (!catalogue_result_path (jobs->catalogue, job, ret))
        return false;
    if (cli_is_view () && realpath (ret, path))
        (void)snprintf (ret, PATH_MAX, "%s", path);
    return true;
}

void cli_job_to_json (struct json_out *out, const struct cli_jobs *jobs,
                      const struct catalogue_job *j)
{
    char path[PATH_MAX] = "";

    json_out_text_of (out, "job", j->job);
    json_out_int_of (out, "world_size", j->world_size);
    json_out_int_of (out, "ranks", j->ranks);
    json_out_int_of (out, "captures", j->captures);
    json_out_int_of (out, "items", j->items);
    json_out_int_of (out, "bytes", j->bytes);
    json_out_int_of (out, "quarantined", j->quarantined);
    json_out_text_of (out, "first_received", j->first_received);
    json_out_text_of (out, "last_received", j->last_received);
    json_out_text_of (out, "id", j->id);
    json_out_int_of (out, "assumed", j->assumed);
    json_out_int_of (out, "by_hand", j->by_hand);
    json_out_int_of (out, "expected", j->expected);
    put_roll (out, j);
    put_nonempty (out, "scheduler_id", j->scheduler_id);
    put_nonempty (out, "user", j->user);
    put_nonempty (out, "command", j->command);
    put_tags (out, j->tags);
    json_out_key (out, "pinned");
    json_out_raw (out, j->pinned > 0 ? "true" : "false");
    json_out_text_of (out, "result", j->result);
    if (strcmp (j->result, "none") != 0 &&
        !cli_result_path (jobs, j->job, path))
        path[0] = '\0';
    put_unbuilt (out, unbuilt_find (jobs->status, j->job));
    put_nonempty (out, "analysis_db", path);
    put_result (out, j);
    if (jobs->ledger)
        (void)ledger_each_fact (jobs->ledger, j->job, 0, put_rest, out, NULL);
    else
        (void)facts_each_rest (jobs->catalogue, j->job, put_rest, out, NULL);
}

static const char *by_text (const struct size_claim *w)
{
    return w->by == CLAIM_EXPECT ? "rollcall jobs --expect"
           : w->by == CLAIM_FRONT ? "--world-size"
           : w->by == CLAIM_MPI   ? "MPI"
                                 : "node";
}

static int put_claim (void *arg, const struct size_claim *w)
{
    struct json_out *out = arg;

    if (w->world_size == 0)
        return 0;               // taken back
    json_out_open (out, '{');
    json_out_int_of (out, "world_size", w->world_size);
    json_out_text_of (out, "by", by_text (w));
    put_nonempty (out, "host", w->host);
    put_nonempty (out, "key", w->who);
    json_out_close (out, '}');
    return 0;
}

static int put_clock (void *arg, const struct ledger_clock *c)
{
    struct json_out *out = arg;

    json_out_open (out, '{');
    json_out_text_of (out, "host", c->host);
    json_out_key (out, "offset_s");
    json_out_real (out, (double)c->offset_ns / (double)NS_PER_S);
    json_out_key (out, "error_s");
    json_out_real (out, (double)c->error_ns / (double)NS_PER_S);
    json_out_close (out, '}');
    return 0;
}

static int each_claim (const struct cli_jobs *jobs, const char *job,
                       int (*fn) (void *arg, const struct size_claim *w),
                       void *arg, struct err *err)
{
    return jobs->ledger
               ? ledger_each_claim (jobs->ledger, job, fn, arg, err)
               : facts_each_claim (jobs->catalogue, job, fn, arg, err);
}

void cli_claims_to_json (struct json_out *out, const struct cli_jobs *jobs,
                         const char *job)
{
    json_out_open_of (out, "words", '[');
    (void)each_claim (jobs, job, put_claim, out, NULL);
    json_out_close (out, ']');
    json_out_open_of (out, "clocks", '[');
    if (jobs->ledger)
        (void)ledger_each_clock (jobs->ledger, job, put_clock, out, NULL);
    else
        (void)facts_each_clock (jobs->catalogue, job, put_clock, out, NULL);
    json_out_close (out, ']');
}

/* ---- text ---- */

static int print_claim (void *arg, const struct size_claim *w)
{
    char host[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    bool *headed = arg;

    if (w->world_size <= 0)
        return 0;
    if (!*headed)
        (void)puts ("how many ranks it should have, and who says so:");
    *headed = true;
    (void)printf ("  %lld rank%s: %s%s%s%s%s\n", (long long)w->world_size,
                  units_s ((uint64_t)w->world_size),
                  by_text (w), *w->host ? ", host " : "",
                  utf8_escape (w->host, UTF8_COLUMN, host),
                  *w->who ? ", key " : "", w->who);
    return 0;
}

int cli_print_claims (const struct cli_jobs *jobs, const char *job,
                      struct err *err)
{
    bool headed = false;

    return each_claim (jobs, job, print_claim, &headed, err);
}
