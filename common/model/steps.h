/* common/model/steps.h - which steps are wanted (--steps)
 *
 * A step is named "step13" in the communication tables and "13" in
 * StepTraceTime; both mean the same one here.
 */
#ifndef ROLLCALL_MODEL_STEPS_H
#define ROLLCALL_MODEL_STEPS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEPS_RANGES_MAX 64

struct steps_filter {
    unsigned nranges;           // 0: every step is wanted
    struct {
        int64_t first, last;
    } ranges[STEPS_RANGES_MAX];
};

/* "10,12-15" ; -EINVAL with 'err' naming the part that is wrong. */
int steps_parse (const char *list, struct steps_filter *ret, struct err *err);

/* The id within a step's name: without the prefix "step". */
const char *steps_id (const char *step, size_t n, size_t *id_size);

/* A nameless step ("step", "" or NULL) is wanted only without a filter. */
bool steps_wanted (const struct steps_filter *f, const char *step, size_t n);

#endif
