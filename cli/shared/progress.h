/* cli/shared/progress.h - a progress line, on a terminal only
 *
 * It goes to standard error, is overwritten by the next one, and cleared at the
 * end.
 */
#ifndef ROLLCALL_SHARED_PROGRESS_H
#define ROLLCALL_SHARED_PROGRESS_H

#include "builder/build.h"

#include <stdbool.h>
#include <stdint.h>

struct cli_progress {
    int64_t began_ns;           // monotonic
    bool shown;                 // standard error is a terminal
};

void cli_progress_begin (struct cli_progress *p);

/* "PHASE ... "; "" clears the line.  'p' is a struct cli_progress. */
void cli_progress_phase (const struct cli_progress *p, const char *phase);

/* For struct build_job, with a struct cli_progress. */
void cli_progress_build (void *p, const struct build_progress *b);

#endif
