/* node_agent/extract/rows/step_rows.c - write rows of StepTraceTime and
 * StepExtra
 */
#include "extract/rows/step_rows.h"

#include <math.h>

#define US 1000.0               // ns in a us

static uint32_t id_text (struct batch *b, const char *id)
{
    return batch_string (b, id && *id ? id : NULL);
}

void step_row_put (struct batch *b, const struct step_sums *s)
{
    double alone = s->communication - s->overlapped;
    double unknown = s->hidden ? NAN : 0;
    uint32_t n = b->nrows++;

    b->real[STEP_DEVICE][n] = s->device;
    b->text[STEP_STEP][n] = id_text (b, s->id);
    b->real[STEP_COMPUTING][n] = s->computing / US + unknown;
    b->real[STEP_NOT_OVERLAPPED][n] = alone / US + unknown;
    b->real[STEP_OVERLAPPED][n] = s->overlapped / US + unknown;
    b->real[STEP_COMMUNICATION][n] = s->communication / US;
    b->real[STEP_FREE][n] = s->idle / US + unknown;
    b->real[STEP_STAGE][n] = (s->span - s->bubble) / US;
    b->real[STEP_BUBBLE][n] = s->bubble / US;
    b->real[STEP_EXCLUDE_RECEIVE][n] =
        fmax (alone - s->bubble, 0) / US + unknown;
    b->real[STEP_PREPARING][n] = s->preparing;
}

void step_extra_put (struct batch *b, const char *id, double device,
                     double host_start, double host_end, double memory_only)
{
    uint32_t n = b->nrows++;

    b->real[EXTRA_DEVICE][n] = device;
    b->text[EXTRA_STEP][n] = id_text (b, id);
    b->real[EXTRA_HOST_START][n] = host_start;
    b->real[EXTRA_HOST_END][n] = host_end;
    b->real[EXTRA_MEMORY_ONLY][n] = memory_only;
}
