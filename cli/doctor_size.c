/* cli/doctor_size.c - how much disk a root needs, from what one has seen */
#include "cli.h"
#include "jobs_list.h"

#include "archive/archive.h"
#include "archive/stored_bytes.h"
#include "base/map.h"
#include "base/texts.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum part { PART_OF_ROWS, PART_OF_RAW, PART_OF_RESULTS };
#define PARTS (PART_OF_RESULTS + 1)

static const char *const part_names[PARTS] = { "rows", "raw", "results" };

struct seen {
    int64_t jobs;               // that have ranks and steps
    double rank_steps;
    double bytes[PARTS];
    struct texts known;         // these jobs
};

/* A job that had no steps says nothing of the bytes of a step. */
static int add_job (void *arg, const struct catalogue_job *j)
{
    struct seen *s = arg;

    if (j->steps <= 0 || j->ranks <= 0)
        return 0;
    if (texts_intern (&s->known, j->job, strlen (j->job)) == TEXTS_NONE)
        return -ENOMEM;
    s->jobs++;
    s->rank_steps += (double)j->steps * (double)j->ranks;
    s->bytes[PART_OF_RESULTS] += j->result_bytes > 0
                                     ? (double)j->result_bytes : 0;
    return 0;
}

static int add_bytes (void *arg, const struct ledger_item *i, uint64_t bytes)
{
    struct seen *s = arg;

    if (texts_find (&s->known, i->job, strlen (i->job)) != TEXTS_NONE)
        s->bytes[i->kind == ITEM_ROWS ? PART_OF_ROWS
                                      : PART_OF_RAW] += (double)bytes;
    return 0;
}

static int look (const struct command_spec *c, const char *root,
                 struct seen *s)
{
    const struct catalogue_filter all = { .job = NULL };
    struct err err = { "" };
    struct cli_jobs jobs;
    struct archive a;
    int status = cli_jobs_open (c, root, &jobs), rc;

    if (status)
        return status;
    rc = catalogue_each (jobs.catalogue, &all, add_job, s, &err);
    cli_jobs_close (&jobs);
    if (rc == 0 && (status = cli_open_archive (c, root, &a)) != 0)
        return status;
    if (rc == 0) {
        rc = stored_bytes_each (a.ledger, a.store, add_bytes, s, &err);
        archive_close (&a);
    }
    return rc < 0 ? cli_fail (c, EX_IOERR, "%s", err.text) : 0;
}

/* What is asked about, in rank and steps; 0: nothing. */
static double wanted (const struct doctor_size *s)
{
    return (double)s->ranks * (double)s->steps * (double)s->jobs_per_day *
           (double)s->keep_days;
}

static void print_text (const struct doctor_size *s, const struct seen *seen)
{
    double need = wanted (s), sum = 0;
    char each[16], all[16];

    (void)printf ("%-13s %lld job%s with steps, %.0f ranks and steps\n", s->root,
                  (long long)seen->jobs, units_s ((uint64_t)seen->jobs),
                  seen->rank_steps);
    for (int i = 0; i < PARTS; i++) {
        double one = seen->bytes[i] / seen->rank_steps;

        sum += one;
        units_bytes_text ((uint64_t)one, each);
        units_bytes_text ((uint64_t)(one * need), all);
        (void)printf ("%-13s %s a rank and step%s%s\n", part_names[i], each,
                      need > 0 ? ": " : "", need > 0 ? all : "");
    }
    units_bytes_text ((uint64_t)(sum * need), all);
    if (need > 0)
        (void)printf ("%-13s %s for %lld job%s a day of %lld ranks and %lld "
                      "steps, kept for %lld days\n", "disk", all,
                      (long long)s->jobs_per_day,
                      units_s ((uint64_t)s->jobs_per_day), (long long)s->ranks,
                      (long long)s->steps, (long long)s->keep_days);
}

static int print_json (const struct doctor_size *s, const struct seen *seen)
{
    struct json *j = json_object (), *k;
    double need = wanted (s), sum = 0;

    json_add_text (j, "root", s->root);
    json_add_int (j, "jobs", seen->jobs);
    json_add_real (j, "ranks_and_steps", seen->rank_steps);
    k = json_add_object (j, "bytes_per_rank_and_step");
    for (int i = 0; i < PARTS; i++) {
        json_add_real (k, part_names[i], seen->bytes[i] / seen->rank_steps);
        sum += seen->bytes[i] / seen->rank_steps;
    }
    if (need > 0) {
        json_add_int (j, "ranks", s->ranks);
        json_add_int (j, "steps", s->steps);
        json_add_int (j, "jobs_per_day", s->jobs_per_day);
        json_add_int (j, "keep_days", s->keep_days);
        json_add_real (j, "bytes", sum * need);
    }
    return cli_print_json (j);
}

int doctor_size (const struct command_spec *c, const struct doctor_size *s)
{
    struct seen seen = { .jobs = 0 };
    int status = look (c, s->root, &seen), rc = 0;

    texts_fini (&seen.known);
    if (status)
        return status;
    if (seen.jobs == 0)
        return cli_fail (c, EX_NOINPUT, "%s has no job with steps: nothing can "
                         "be said of their size", s->root);
    if (s->json)
        rc = print_json (s, &seen);
    else
        print_text (s, &seen);
    return cli_flush (c, rc);
}
