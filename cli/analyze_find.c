/* cli/analyze_find.c - find captures and examine them before they are read */
#include "analyze.h"

#include "base/thread.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define LOOKED_AT_ONCE 32       // captures: fewer than that need no thread

/* Name the first directory that was not searched, and count the others. */
static void tell_problems (const struct analysis *a)
{
    size_t unsearched = 0;

    for (size_t i = 0; i < a->found.nproblems; i++) {
        const char *text = a->found.problems[i];

        if (!find_is_unsearched (text) || unsearched++ == 0 || a->opt.verbose)
            (void)FAIL (0, "%s", text);
    }
    if (unsearched > 1 && !a->opt.verbose)
        (void)FAIL (0, "%zu more were not searched: --verbose lists them",
                    unsearched - 1);
}

int analyze_find (struct analysis *a)
{
    struct err err = { "" };

    for (int i = 0; i < a->ndirs; i++) {
        int rc = find_captures (a->dirs[i], &a->found, &err);

        if (rc < 0)
            return FAIL (rc == -ENOENT || rc == -ENOTDIR ? EX_NOINPUT
                         : rc == -EACCES                 ? EX_NOPERM
                                                         : EX_OSERR,
                         "%s", err.text);
    }
    tell_problems (a);
    if (a->found.n == 0)
        return FAIL (EX_NOINPUT, "no captures below %s: a capture is a "
                     "directory named *_ascend_pt, or one with a "
                     "profiler_info*.json or ASCEND_PROFILER_OUTPUT in it, "
                     "or a trace of torch.profiler", a->dirs[0]);
    return 0;
}

void analyze_recall (const struct analysis *a, size_t source,
                     struct capture *c)
{
    recall_fill (&a->recalled[source], c);
    if (!*c->host)
        PRINT (c->host, "%s", a->recalled[source].host);
}

static int look_at (struct analysis *a, size_t i, struct err *err)
{
    struct extract_look look;
    struct capture *c = &a->items[i].capture;
    int rc;

    capture_init (c);
    if ((rc = extract_glance (a->found.items[i].path, c, &look, err)) < 0)
        return rc;
    a->items[i].launcher_size = a->recalled[i].world_size;
    a->items[i].agent_host = a->recalled[i].host;
    a->items[i].host_is_agents = c->host[0] == '\0';
    analyze_recall (a, i, c);
    a->items[i].weight = look.work_bytes;
    a->items[i].source = i;
    a->items[i].skip = c->state != CAPTURE_COMPLETE;
    capture_drop_groups (c);            // reading brings them again
    return 0;
}

/* A piece of work.  The state is the analysis; all threads share it. */
static int look_at_some (void *state, size_t piece, struct err *err)
{
    struct analysis *a = state;
    size_t end = (piece + 1) * LOOKED_AT_ONCE;
    int rc = 0;

    for (size_t i = piece * LOOKED_AT_ONCE; i < end && i < a->found.n &&
         rc == 0; i++)
        rc = atomic_load (&cli_cancelled) ? err_set (err, EINTR, "interrupted")
                                          : look_at (a, i, err);
    return rc;
}

static int looked (int rc, const struct err *err)
{
    if (rc == -EINTR)
        return cli_interrupted (&analyze_command, "nothing was written");
    return rc < 0 ? FAIL (EX_OSERR, "%s", err->text) : 0;
}

static void recall_all (struct analysis *a)
{
    struct job_marks marks = { .last[0].is = false };
    struct err broken;
    bool told = false;
    char dir[PATH_MAX];

    for (size_t i = 0; i < a->found.n; i++) {
        const struct found *f = &a->found.items[i];
        size_t n = (size_t)(f->name - f->path);
        int above;

        PRINT (dir, "%.*s", n > 0 ? (int)n : 1, n > 0 ? f->path : ".");
        above = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        recall_capture (&marks, above, f->name, &a->recalled[i]);
        fileio_close (above);
        if (!told && recall_broken (&a->recalled[i], f->path, &broken)) {
            (void)FAIL (0, "%s", broken.text);
            told = true;
        }
    }
    job_marks_fini (&marks);
}

static int look_at_all (struct analysis *a)
{
    struct thread_pieces pieces = {
        .n = (a->found.n + LOOKED_AT_ONCE - 1) / LOOKED_AT_ONCE,
        .work = look_at_some,
    };
    unsigned threads = (unsigned)a->opt.threads;
    void *states[BUILD_THREADS_MAX];
    struct err err = { "" };

    a->items = calloc (a->found.n, sizeof (*a->items));
    a->recalled = calloc (a->found.n, sizeof (*a->recalled));
    if (!a->items || !a->recalled)
        return FAIL (EX_OSERR, "no memory for %zu captures", a->found.n);
    recall_all (a);
    a->nitems = a->found.n;
    if (threads > pieces.n)
        threads = (unsigned)pieces.n;
    for (unsigned t = 0; t < threads; t++)
        states[t] = a;
    return looked (thread_each (&pieces, states, threads, &err), &err);
}

/* ---- captures that were never analysed ---- */

static void analyze_find_tell (const char *text)
{
    (void)FAIL (0, "%s", text);
}

void analyze_tell_raw (const struct analysis *a, size_t source,
                       struct capture *c)
{
    for (size_t i = 0; i < a->nraw; i++) {
        if (a->raw[i].index == source && a->raw[i].how != ANALYSED_NOT)
            analyser_tell (c, a->raw[i].why,
                           a->raw[i].how != ANALYSED_WELL);
    }
}

static int look_again (struct analysis *a)
{
    int status = 0;

    for (size_t i = 0; i < a->nraw && status == 0; i++) {
        size_t k = a->raw[i].index;
        struct capture *c = &a->items[k].capture, before = *c;
        struct err err = { "" };

        status = looked (look_at (a, k, &err), &err);
        analyser_keep (c, &before);
        a->items[k].skip = c->state != CAPTURE_COMPLETE;
        if (a->items[k].skip)
            analyze_tell_raw (a, k, c);
        capture_fini (&before);
    }
    return status;
}

static int analyse_raw (struct analysis *a)
{
    char logs[PATH_MAX + 16];
    struct analyser_options opt = {
        .set = a->opt.analyse, .log_dir = logs, .log_in = &a->out.dir,
    };
    struct err err = { "" };
    int rc;

    PRINT (logs, "%s/analyses", a->out.dir.path);
    if (!(a->raw = calloc (a->found.n, sizeof (*a->raw))))
        return FAIL (EX_OSERR, "no memory for %zu captures", a->found.n);
    for (size_t i = 0; i < a->found.n; i++) {
        const struct capture *c = &a->items[i].capture;
        enum own_analysis own = own_analysis_of (c->framework);

        if (c->state == CAPTURE_RAW && analyze_raw_wants (&opt, own))
            a->raw[a->nraw++] = (struct raw_capture){
                .path = a->found.items[i].path, .own = own, .index = i,
                .how = ANALYSED_NOT };
    }
    if (a->nraw == 0)
        return 0;
    rc = analyze_raw (a->raw, a->nraw, &opt, analyze_find_tell, &cli_cancelled,
                      &err);
    if (rc == -EINTR)
        return cli_interrupted (&analyze_command, "nothing was written");
    if (rc < 0)
        return FAIL (EX_OSERR, "%s", err.text);
    return look_again (a);
}

int analyze_plan (struct analysis *a)
{
    int status = look_at_all (a);

    if (status == 0 && !a->opt.list_jobs)
        status = analyse_raw (a);
    if (status == 0)
        select_plan (a->items, a->found.n);
    return status;
}
