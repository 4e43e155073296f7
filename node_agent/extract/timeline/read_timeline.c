/* node_agent/extract/timeline/read_timeline.c - read trace_view.json and the
 * timelines of msprof
 *
 * Usually one pass is enough.  There is a second one if the name of a process,
 * or a step, came after its events, and another one for overlap rows if there
 * are more than can be kept: see timeline.h.
 */
#include "extract/timeline/read_timeline.h"
#include "extract/input/capture_file.h"
#include "extract/timeline/timeline.h"

#include "base/units.h"
#include "store/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define COMM_SET \
    (1u << TABLE_TIME | 1u << TABLE_BANDWIDTH | 1u << TABLE_MATRIX)
#define STEP_SET (1u << TABLE_STEP | 1u << TABLE_STEP_EXTRA)

/* One file; what comes of it is in 'how' if it is not whole. */
static enum reading read_file (struct timeline *t, const char *name,
                               struct err *err)
{
    struct capture_file file;
    enum reading how = capture_file_open (&file, t->src, timeline_dir (t->src),
                                          name,
                                          err);
    int rc = 0;

    if (how != READING_WHOLE)
        return how;
    if ((inflate_is_gzip (file.fd) &&
         !(file.gz = inflate_open (file.fd))) ||
        scan_init (&t->scan.s, capture_file_read, &file) < 0) {
        rc = -ENOMEM;
    } else {
        trace_scan_begin (&t->scan, timeline_wanted, t);
        while (rc == 0 && trace_scan_next (&t->scan, &t->event))
            rc = timeline_event (t);
    }
    if (rc < 0)
        t->src->stopped = err_set (err, -rc, "%s%s", t->why.text[0]
                                   ? t->why.text : "no memory to read ",
                                   t->why.text[0] ? "" : name);
    how = capture_file_verdict (&file, &t->scan.s, err);
    if (how == READING_WHOLE && t->limit) {
        err_set (err, EBADMSG, "%s: byte %llu: more %s than can be kept", name,
                 (unsigned long long)t->limit_at, t->limit);
        how = READING_DAMAGED;
    }
    scan_fini (&t->scan.s);
    inflate_close (file.gz);
    capture_file_close (&file);
    return how;
}

/* Read all files.  The first damage is reported, and the other files are still
 * read.
 */
static enum reading read_files (struct timeline *t,
                                const struct timeline_files *f,
                                struct err *err)
{
    enum reading how = READING_WHOLE;

    for (uint32_t i = 0; i < f->n && !t->src->stopped; i++) {
        struct err why = { "" };
        enum reading one = read_file (t, f->names[i], &why);

        if (one == READING_ABSENT) {
            err_set (&why, EBADMSG, "%s has vanished", f->names[i]);
            one = READING_DAMAGED;
        }
        if (one != READING_WHOLE && how != READING_STOPPED &&
            (how == READING_WHOLE || one == READING_STOPPED)) {
            *err = why;
            how = one;
        }
    }
    if (how == READING_WHOLE && f->gap) {
        err_set (err, EBADMSG, "slice %u of the timeline is missing",
                 f->missing);
        how = READING_DAMAGED;
    }
    return how;
}

/* If this file exists, it has better steps than the tasks. */
#define KERNELS "kernel_details.csv"

static bool is_there (const struct source *src, const char *name)
{
    return src->out >= 0 && faccessat (src->out, name, F_OK,
                                       AT_SYMLINK_NOFOLLOW) == 0;
}

/* With 'make' make rows of steps even if the profiler wrote none. */
static enum reading read_all (struct timeline *t, bool make,
                              const struct timeline_files *f, struct err *err)
{
    enum reading how = read_files (t, f, err);
    int rc;

    if (how != READING_STOPPED && t->late) {
        timeline_restart (t);
        how = read_files (t, f, err);
    }
    for (int i = 0; i < 2 && how != READING_STOPPED && (rc = timeline_seek (t));
         i++)
        how = rc < 0 ? READING_STOPPED : read_files (t, f, err);
    t->seeking = false;
    if (how == READING_STOPPED && !t->src->stopped)
        t->src->stopped = err_set (err, ENOMEM, "no memory for kernels");
    if (how == READING_STOPPED)
        return how;
    if (make && timeline_lacks_rows (t) && !is_there (t->src, KERNELS)) {
        t->making = true;
        how = read_files (t, f, err);
        t->making = false;
        if (how != READING_STOPPED && timeline_make_rows (t) < 0)
            how = READING_STOPPED;
        if (how == READING_STOPPED && !t->src->stopped)
            t->src->stopped = err_set (err, ENOMEM, "no memory for the steps");
        if (how == READING_STOPPED)
            return how;
    }
    if (timeline_add_up (t) < 0) {
        t->src->stopped = err_set (err, ENOMEM, "no memory for the steps");
        return READING_STOPPED;
    }
    if (t->overflow) {
        t->summing = true;
        how = read_files (t, f, err);
    }
    return how;
}

/* The tables for which there is any content. */
static unsigned present (const struct timeline *t)
{
    unsigned set = 0;

    if (t->rows > 0)
        set |= 1u << TABLE_STEP;
    if (t->flows.nsteps > 0)
        set |= 1u << TABLE_STEP_EXTRA;
    if (t->nops > 0)
        set |= 1u << TABLE_TIME;
    if (t->gc.n > 0)
        set |= 1u << TABLE_RANGE;
    if (t->nops > 0 && t->tasks > 0)
        set |= 1u << TABLE_BANDWIDTH | 1u << TABLE_MATRIX;
    return set;
}

static void read_tables (struct timeline *t, unsigned want, struct verdict *v,
                         struct err *err)
{
    struct timeline_files files;
    enum reading how;
    struct err why = { "" };
    unsigned have;

    if (timeline_list (t->src, &files) < 0) {
        t->src->stopped = err_set (&why, ENOMEM, "no memory for file names");
        how = READING_STOPPED;
    } else {
        how = read_all (t, want >> TABLE_STEP & 1, &files, &why);
    }
    free (files.names);
    have = want & present (t);
    if (how != READING_STOPPED &&
        ((have & STEP_SET && !timeline_step_rows (t, have, &why)) ||
         (have & COMM_SET && !timeline_comm_rows (t, have, &why)) ||
         (have >> TABLE_RANGE & 1 && !timeline_gc_rows (t, &why))))
        how = READING_STOPPED;
    if (how == READING_WHOLE && t->limit) {
        err_set (&why, EBADMSG, "the timeline has more %s than can be kept",
                 t->limit);
        how = READING_DAMAGED;
    } else if (how == READING_WHOLE && t->impossible > 0) {
        err_set (&why, EBADMSG, "the timeline has %llu event%s with impossible "
                 "times: left out",
                 (unsigned long long)t->impossible, units_s (t->impossible));
        how = READING_DAMAGED;
    }
    // missing tables of a damaged file may follow the damage
    verdict_for_tables (v, how == READING_WHOLE ? have : want, how, &why, err);
}

void read_timeline (struct source *src, unsigned want, struct verdict *v,
                    struct err *err)
{
    const unsigned worth = COMM_SET | 1u << TABLE_STEP;
    struct timeline *t;

    if (!src->collections)      // the file has none
        want &= ~(1u << TABLE_RANGE);
    // the file is large: do not read it only for the times of the host, or to
    // find nothing
    if (!(want >> TABLE_RANGE & 1) &&
        (!(want & worth) ||
         (!(want >> TABLE_STEP & 1) && src->communication_us == 0)))
        return;
    t = malloc (sizeof (*t));
    if (!t || timeline_init (t, src) < 0) {
        struct err why = { "" };

        src->stopped = err_set (&why, ENOMEM, "no memory for a timeline");
        verdict_for_tables (v, want, READING_STOPPED, &why, err);
    } else {
        read_tables (t, want, v, err);
        timeline_fini (t);
    }
    free (t);
}
