/* aggregator/summary/job_list.c - list the jobs found in one directory */
#include "summary/job_list.h"

#include "base/units.h"
#include "query/labels.h"

#include <string.h>
#include <time.h>

#define NOTE_NAMED 3            // jobs named in a note

/* "2026-01-01 09:30:00"; "?" if the time is not known. */
static void date_text (int64_t ns, char out[32])
{
    time_t t = (time_t)(ns / 1000000000);
    struct tm tm;

    (void)snprintf (out, 32, "?");
    if (ns > 0 && gmtime_r (&t, &tm))
        (void)strftime (out, 32, "%Y-%m-%d %H:%M:%S", &tm);
}

/* "NAME, 4 ranks, 2026-01-01 09:30:00 to 2026-01-01 09:31:00 UTC" */
static void job_text (const struct jobs_job *j, char *out, size_t max)
{
    char first[32], last[32];

    date_text (j->first_ns, first);
    date_text (j->last_ns, last);
    (void)snprintf (out, max, "%s, %zu rank%s, %s to %s UTC", j->name,
                    j->nranks, units_s (j->nranks), first, last);
}

static void print_why (const struct jobs_job *j, FILE *f)
{
    if (j->why[0])
        (void)fprintf (f, "    another job: %s\n", j->why);
}

static void print_all (const void *jobs, FILE *f)
{
    const struct jobs *j = jobs;
    char text[JOBS_NAME_MAX + 128];

    (void)fprintf (f, "%zu job%s here\n", j->n, units_s (j->n));
    for (size_t i = 0; i < j->n; i++) {
        job_text (&j->jobs[i], text, sizeof (text));
        (void)fprintf (f, "  %zu: %s%s", i + 1, text,
                       j->jobs[i].assumed
                           ? " (assumed: nothing says that all of these "
                             "captures are of one job)" : "");
        if (j->n > 1)
            (void)fprintf (f, " (--job %zu -o DIR builds it)", i + 1);
        (void)fputc ('\n', f);
        print_why (&j->jobs[i], f);
    }
}

int job_list_print (const struct jobs *j, int fd)
{
    return labels_print (fd, print_all, j);
}

void job_list_print_built (const struct jobs *j, size_t built, FILE *f)
{
    char text[JOBS_NAME_MAX + 128];

    if (built == 0)
        (void)fprintf (f, "%zu jobs here; built the newest: %s\n", j->n,
                       j->jobs[0].name);
    else
        (void)fprintf (f, "%zu jobs here; built number %zu: %s\n", j->n,
                       built + 1, j->jobs[built].name);
    if (j->jobs[built].why[0])
        (void)fprintf (f, "  another job: %s\n", j->jobs[built].why);
    for (size_t i = 0; i < j->n; i++) {
        if (i == built)
            continue;
        job_text (&j->jobs[i], text, sizeof (text));
        (void)fprintf (f, "  not built   %zu: %s (--job %zu -o DIR builds "
                       "it)\n", i + 1, text, i + 1);
        print_why (&j->jobs[i], f);
    }
}

void job_list_to_json (const struct jobs *j, size_t built, struct json *list)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct jobs_job *x = &j->jobs[i];
        struct json *o = json_push_object (list);

        json_add_int (o, "index", (int64_t)i + 1);
        json_add_text (o, "job", x->name);
        json_add_bool (o, "built", i == built || built == JOB_LIST_ALL);
        json_add_bool (o, "assumed", x->assumed);
        json_add_int (o, "captures", (int64_t)x->ncaptures);
        json_add_int (o, "ranks", (int64_t)x->nranks);
        json_add_int (o, "first_us", x->first_ns / 1000);
        json_add_int (o, "last_us", x->last_ns / 1000);
        json_add_nonempty (o, "why", x->why);
    }
}

void job_list_note (const struct jobs *j, size_t built, const char *dir,
                    char note[JOB_LIST_NOTE_MAX])
{
    char text[JOBS_NAME_MAX + 128];
    size_t used, named = 0;

    note[0] = '\0';
    if (j->n < 2)
        return;
    used = (size_t)snprintf (note, JOB_LIST_NOTE_MAX, "1 of %zu jobs of "
                             "%.200s; the other%s: ", j->n, dir,
                             units_s (j->n - 1));
    for (size_t i = 0; i < j->n; i++) {
        if (i == built)
            continue;
        job_text (&j->jobs[i], text, sizeof (text));
        if (++named > NOTE_NAMED ||
            used + strlen (text) + 64 > JOB_LIST_NOTE_MAX) {
            (void)snprintf (note + used, JOB_LIST_NOTE_MAX - used,
                            " and %zu more", j->n - named);
            break;
        }
        used += (size_t)snprintf (note + used, JOB_LIST_NOTE_MAX - used,
                                  "%s%s", named > 1 ? "; " : "", text);
    }
}
