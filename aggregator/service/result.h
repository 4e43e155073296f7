/* aggregator/service/result.h - how a run ended: the document that its wrapper
 * and `rollcall wait` read
 *
 * <run dir>/result.json; its members are in rollcall-run(1), "FILES".
 */
#ifndef ROLLCALL_SERVICE_RESULT_H
#define ROLLCALL_SERVICE_RESULT_H

#include "base/err.h"
#include "builder/results.h"
#include "service/job.h"

#define RESULT_NAME "result.json"

struct result {
    const struct job *job;
    const char *out, *path, *kept;
    const char *newer;          // the job whose result stays in 'out', or ""
    const struct results *results;      // beside 'path', or NULL
    const char *error;          // why nothing could be built, or NULL
    int error_code;             // negative errno behind it
    bool any_rows;
    bool complete;              // every rank is present, and all that it had
                                // is in the result; if not, the notes say what
};

/* Write the document; *status is the exit status for the roll (a failed COMMAND
 * does not count).
 */
int result_write (const char *run_dir, const struct result *r, int *status,
                  struct err *err);

#endif
