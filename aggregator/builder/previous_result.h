/* aggregator/builder/previous_result.h - captures only in the replaced result
 *
 * A result is made of existing captures.  If one was removed, or lost with a
 * file of a root, the result that lacks it says so: the roster knows neither a
 * rank's second capture nor ranks that nothing else names.
 */
#ifndef ROLLCALL_BUILDER_PREVIOUS_RESULT_H
#define ROLLCALL_BUILDER_PREVIOUS_RESULT_H

#include "builder/build.h"

/* Add a note to the roster if this job's result in the output directory has
 * rows of captures that the job no longer has.  An unreadable result is
 * ignored.
 */
void previous_result_note_missing (const struct publish *p,
                                   const struct build_job *job);

#endif
