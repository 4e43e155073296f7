/* cli/analyze_jobs.c - divide the captures of one directory into jobs */
#include "analyze.h"

#include "base/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHANGED_BYTES 9         // "-" and 8 digits
static int divide (struct analysis *a, struct select_item *items, size_t n,
                   struct err *err)
{
    struct jobs_capture *list = calloc (n + 1, sizeof (*list));
    int rc = list ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && list; i++) {
        list[i] = (struct jobs_capture){ &items[i].capture, &items[i].groups,
                                         items[i].rank, JOBS_NONE };
    }
    if (rc == 0)
        rc = jobs_divide (list, n, JOBS_GAP_NS, &a->jobs, err);
    if (rc == 0 && !(a->job_of = calloc (n + 1, sizeof (*a->job_of))))
        rc = -ENOMEM;
    for (size_t i = 0; i < n && rc == 0; i++)
        a->job_of[items[i].source] = a->jobs.of[i];
    free (list);
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory to tell jobs apart")
                         : rc;
}

static void name_job (struct analysis *a, size_t job)
{
    a->job = job;
    a->assumed = a->jobs.jobs[job].assumed;
    job_list_note (&a->jobs, job, a->dirs[0], a->others);
    PRINT (a->job_name, "%s", a->jobs.jobs[job].name);
}

int analyze_decide (void *arg, struct select_item *items, size_t n,
                    struct err *err)
{
    struct analysis *a = arg;
    int rc = a->divided ? 0 : divide (a, items, n, err);

    if (rc < 0 || a->divided)
        return rc;
    a->divided = true;
    a->choosing = a->jobs.n > 1 || a->opt.all_jobs || a->opt.job;
    if (a->choosing)
        return -EAGAIN;         // which of them is for the caller to say
    name_job (a, 0);
    return 0;
}

void analyze_choose_job (struct analysis *a, size_t job)
{
    size_t n = 0;

    name_job (a, job);
    for (size_t i = 0; i < a->found.n; i++) {
        struct select_item swap = a->items[i];

        if (a->job_of[swap.source] != job)
            continue;
        a->items[i] = a->items[n];
        a->items[n++] = swap;
    }
    a->nitems = n;
    select_plan (a->items, n);
}

/* ---- their names ---- */

/* Make a name for a directory, since a user's id may be any text.  If it has to
 * be changed it also gets a unique number, or "a/b" would replace "a_b".
 */
static void dir_name (const char *job, char out[JOBS_NAME_MAX])
{
    char number[CHANGED_BYTES + 1];
    size_t n = strlen (job);
    bool changed = false;

    (void)snprintf (out, JOBS_NAME_MAX, "%s", job);
    for (char *c = out; *c; c++) {
        if (*c != '/' && !iscntrl ((unsigned char)*c) &&
            (c != out || *c != '.'))
            continue;
        *c = '_';
        changed = true;
    }
    if (!changed)
        return;
    PRINT (number, "-%08" PRIx32, (uint32_t)(evidence_hash (0, job, n) >> 32));
    n = utf8_cut (out, n, JOBS_NAME_MAX - sizeof (number));
    memcpy (out + n, number, sizeof (number));
}

int analyze_open_job (struct analysis *a)
{
    const char *out = a->opt.out ? a->opt.out : a->dirs[0];
    char name[JOBS_NAME_MAX];
    struct err err = { "" };
    int rc;

    dir_name (a->jobs.jobs[a->job].name, name);
    rc = publish_open (&a->out, out, name, a->opt.foreign, &err);
    if (rc < 0)
        return FAIL (cli_output_status (rc), "%s", err.text);
    return 0;
}

void analyze_drop_output (struct analysis *a)
{
    publish_drop (&a->out);     // unless something was there
    if (a->made_out)
        (void)rmdir (a->opt.out);
}
