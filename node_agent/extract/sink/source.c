/* node_agent/extract/sink/source.c - an open capture, shared by the readers */
#include "extract/sink/source.h"
#include "extract/sink/evidence_rows.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

void verdict_for_tables (struct verdict *v, unsigned want, enum reading how,
                         const struct err *why, struct err *err)
{
    for (unsigned t = 0; t < TABLE_COUNT; t++) {
        if (want >> t & 1)
            v[t] = (struct verdict){ how, *why };
    }
    if (how == READING_STOPPED)
        *err = *why;
}

bool source_retypes (const struct source *src)
{
    return src->form == FORM_MSPROF ||
           strcmp (src->capture->framework, "ascend_ms") == 0;
}

int source_comm_dir (const struct source *src)
{
    return src->form == FORM_MSPROF ? src->analyze : src->out;
}

void source_transient_error (const struct source *src, int rc)
{
    struct capture *c = src->capture;

    if (fileio_trouble (rc) > fileio_trouble (c->transient_error))
        c->transient_error = rc;
}

bool source_has (int dir, const char *name, uint64_t *size)
{
    struct stat st;

    if (dir < 0 || fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    if (size)
        *size = (uint64_t)st.st_size;
    return true;
}

bool source_wants (struct source *src, unsigned tables, const char *step,
                   size_t n)
{
    size_t size;

    if (steps_wanted (src->steps, step, n))
        return true;
    (void)steps_id (step, n, &size);
    src->filtered |= tables;
    src->nameless |= size == 0 ? tables : 0;
    return false;
}

static bool note_steps (struct source *src, const struct batch *b,
                        struct err *err)
{
    int column = schema_table (b->table)->step;

    for (uint32_t i = 0; column >= 0 && i < b->nrows; i++) {
        const uint32_t *refs = b->text[column];
        const char *step;
        size_t n = 0;

        if (i > 0 && refs[i] == refs[i - 1])
            continue;           // most rows have the step of the previous one
        step = batch_text_at (b, refs[i], &n);
        if (!source_note_step (src, step ? step : "", n, err))
            return false;
    }
    return true;
}

/* Record the times of steps.  The first known device counts. */
static void note_step_times (struct source *src, const struct batch *b)
{
    struct capture *c = src->capture;

    if (isnan (src->communication_us))
        src->communication_us = 0;
    for (uint32_t i = 0; i < b->nrows; i++) {
        double device = b->real[STEP_DEVICE][i];

        if (c->device_id == CAPTURE_NO_DEVICE && device >= 0 &&
            device <= INT32_MAX)
            c->device_id = (int64_t)device;
        src->communication_us += b->real[STEP_COMMUNICATION][i];
    }
}

bool source_forget (struct source *src, enum table_id table, struct err *err)
{
    if (!(src->stale >> table & 1) || src->stopped)
        return !src->stopped;
    src->stale &= ~(1u << table);
    src->rows[table] = 0;
    evidence_forget (src, table);
    if (table == TABLE_STEP)
        src->communication_us = 0;
    src->stopped = src->sink->forget (src->sink->arg, table, err);
    return src->stopped == 0;
}

bool source_flush (struct source *src, struct batch *b, struct err *err)
{
    uint32_t nrows = b->nrows;

    if (src->stopped || (nrows == 0 && !b->failed))
        return !src->stopped;
    if (!source_forget (src, b->table, err) || !note_steps (src, b, err) ||
        !evidence_rows (src, b, err))
        return false;
    if (b->table == TABLE_STEP)
        note_step_times (src, b);
    src->stopped = batch_flush (b, src->sink, err);
    if (!src->stopped)
        src->rows[b->table] += nrows;
    return !src->stopped;
}

bool source_finish (struct source *src, struct batch *b, int rc,
                    struct err *err)
{
    if (rc < 0)
        src->stopped = rc;
    else
        (void)source_flush (src, b, err);
    batch_fini (b);
    return !src->stopped;
}

bool source_note_step (struct source *src, const char *step, size_t n,
                       struct err *err)
{
    size_t size;
    const char *id = steps_id (step, n, &size);
    int rc;

    if (src->many_steps)
        return true;            // the list is full
    rc = capture_note_step (src->capture, id, size);
    if (rc == -E2BIG) {         // only the list is truncated, not the rows
        capture_reason (src->capture, "it has more than %d steps: later steps "
                        "of two captures of this rank cannot be told "
                        "apart", CAPTURE_STEPS_MAX);
        src->many_steps = true;
        return true;
    }
    if (rc < 0) {
        src->stopped = err_set (err, -rc, "no memory for a step");
        return false;
    }
    return true;
}
