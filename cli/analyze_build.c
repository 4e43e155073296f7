/* cli/analyze_build.c - build the result from the rows of captures */
#include "analyze.h"
#include "mpi/team_verb.h"

#include "base/buf.h"
#include "base/units.h"

#include <errno.h>

#define SEEN_CAPTURES 16        // that others look for, whether they are the same

/* ---- steps that do not exist ---- */

/* Read the captures again, to give a helpful message. */
static int tell_steps (const struct analysis *a)
{
    const struct row_sink sink = row_sink_none (&cli_cancelled);
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < a->nitems; i++) {
        size_t source = a->items[i].source;
        struct capture c;
        int64_t step;

        capture_init (&c);
        (void)extract_capture (a->found.items[source].path, NULL, &sink, &c,
                                NULL);
        for (uint32_t k = 0; k < c.nsteps; k++) {
            if (units_int (c.steps[k], 0, INT64_MAX, &step) < 0)
                continue;
            first = step < first ? step : first;
            last = step > last ? step : last;
        }
        capture_fini (&c);
    }
    if (atomic_load (&cli_cancelled))
        return cli_interrupted (&analyze_command, "nothing was written");
    if (last < first)
        return FAIL (EX_DATAERR, "no capture has any of the steps %s: their "
                     "steps have no numbers; nothing was "
                     "written", a->opt.steps);
    return FAIL (EX_DATAERR, "no capture%s%s has any of the steps %s: there "
                 "are steps %lld to %lld; nothing was written",
                 a->jobs.n > 1 ? " of job " : "",
                 a->jobs.n > 1 ? a->job_name : "", a->opt.steps,
                 (long long)first, (long long)last);
}

/* ---- building ---- */

/* Complete a capture, read here or by another process. */
static int took (void *arg, size_t source, struct capture *c, struct err *err)
{
    const struct analysis *a = arg;

    (void)err;
    analyze_recall (a, source, c);
    analyze_tell_raw (a, source, c);
    return 0;
}

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    const struct analysis *a = arg;
    int rc = extract_capture (a->found.items[source].path, &a->steps, sink, c,
                              err);

    return rc < 0 ? rc : took (arg, source, c, err);
}

/* ---- with other processes ---- */

static int settings (void *arg, struct buf *out, struct err *err)
{
    const char *some[SEEN_CAPTURES];
    const struct analysis *a = arg;
    size_t n = a->found.n < SEEN_CAPTURES ? a->found.n : SEEN_CAPTURES;

    (void)err;
    for (size_t i = 0; i < n; i++)
        some[i] = a->found.items[i].path;
    analyze_put_settings (out, a->dirs, (size_t)a->ndirs, some, n, a->opt.steps);
    return 0;
}

static int order (void *arg, size_t source, struct buf *out, struct err *err)
{
    const struct analysis *a = arg;

    (void)err;
    analyze_put_order (out, a->found.items[source].path);
    return 0;
}

static void say (void *arg, const char *sentence)
{
    const struct analysis *a = arg;

    cli_progress_phase (&a->progress, "");
    (void)FAIL (0, "%s", sentence);
}

static struct build_job job_of (struct analysis *a)
{
    a->remote = (struct build_remote){
        .team = cli_team, .settings = settings, .order = order, .took = took,
        .own_threads = a->opt.own_threads,
    };
    return (struct build_job){
        .remote = cli_team ? &a->remote : NULL,
        .items = a->items, .nitems = a->nitems, .roster = &a->roster,
        .threads = (unsigned)a->opt.threads, .feed = feed, .feed_arg = a,
        .decide = analyze_decide, .decide_arg = a,
        .progress = a->progress.shown ? cli_progress_build : NULL,
        .progress_arg = &a->progress, .say = say, .say_arg = a,
        .cancel = &cli_cancelled,
        .steps = a->opt.steps, .derive = &a->derive.options,
        .job_id = a->job_name, .others = a->others, .assumed = &a->assumed,
    };
}

int analyze_look (struct analysis *a)
{
    struct build_job job = job_of (a);
    struct err err = { "" };
    int rc = build_look (&job, &err);

    cli_progress_phase (&a->progress, "");
    if (rc == -EINTR)
        return cli_interrupted (&analyze_command, "the captures could not be "
                                "divided into jobs");
    return rc < 0 && !a->choosing ? FAIL (EX_OSERR, "%s", err.text) : 0;
}

int analyze_build (struct analysis *a, struct build_result *result)
{
    struct build_job job = job_of (a);
    struct buf inputs;
    struct err err = { "" };
    int rc;

    buf_init (&inputs, 1 << 20);
    for (int i = 0; i < a->ndirs; i++)
        buf_printf (&inputs, "%s%s", i ? "\n" : "", a->dirs[i]);
    job.inputs = buf_text (&inputs);

    rc = build_run (&job, &a->out, result, &err);
    buf_fini (&inputs);
    cli_progress_phase (&a->progress, "");
    if (a->choosing) {
        a->choosing = false;
        return ANALYZE_CHOOSE;
    }
    if (rc == -ENODATA)
        return tell_steps (a);
    if (rc == -EINTR)
        return cli_interrupted (&analyze_command, "nothing was written");
    if (rc < 0)
        return FAIL (cli_output_status (rc), "cannot write "
                     BUILD_DB_NAME " into %s: %s", a->out.dir.path, err.text);
    return 0;
}

int analyze_build_others (struct analysis *a,
                          const struct build_result *result)
{
    struct err err = { "" };
    int rc;

    cli_progress_phase (&a->progress, RESULTS_PHASE);
    rc = results_make (a->wanted, &a->out, (unsigned)a->opt.threads,
                       &cli_cancelled, &a->beside, &err);
    cli_progress_phase (&a->progress, "");
    if (rc == -EINTR)
        return cli_interrupted (&analyze_command, BUILD_DB_NAME " is written, "
                                "but not all files that are made from it");
    if (rc < 0)
        return FAIL (cli_output_status (rc), "%s was written, but not all "
                     "files that are made from it: %s", result->path, err.text);
    return 0;
}
