/* node_agent/extract/source.c - what readers tell about an open capture */
#include "extract/source.h"

#include <errno.h>

bool source_flush (struct source *src, struct batch *b, struct err *err)
{
    uint32_t nrows = b->nrows;
    int rc = src->stopped ? src->stopped : batch_flush (b, src->sink, err);

    src->stopped = rc;
    if (rc == 0)
        src->rows[b->table] += nrows;
    return rc == 0;
}

void source_note_device (struct source *src, double device)
{
    if (src->capture->device_id == CAPTURE_NO_DEVICE && device >= 0 &&
        device <= INT32_MAX)
        src->capture->device_id = (int64_t)device;
}

bool source_note_step (struct source *src, const char *step, size_t n,
                       struct err *err)
{
    size_t size;
    const char *id = steps_id (step, n, &size);
    int rc = capture_note_step (src->capture, id, size);

    if (rc == -E2BIG) {         // the rows count, only the list is cut
        if (!src->many_steps)
            capture_reason (src->capture, "it has more than %d steps: those "
                            "of two captures of this rank cannot be told "
                            "apart behind them", CAPTURE_STEPS_MAX);
        src->many_steps = true;
        return true;
    } else if (rc < 0) {
        src->stopped = err_set (err, -rc, "no memory for a step");
        return false;
    }
    return true;
}
