/* aggregator/builder/previous_result.h - captures only in the replaced result
 *
 * A result only covers captures that still exist.  If one was removed, or lost
 * with a file of a root, the new result must say so.  The roster cannot: it
 * does not know a rank's second capture, nor ranks that nothing else names.
 */
#ifndef ROLLCALL_BUILDER_PREVIOUS_RESULT_H
#define ROLLCALL_BUILDER_PREVIOUS_RESULT_H

#include "builder/build.h"

/* Add a note to the roster if this job's result in the output directory has
 * rows of captures that the job no longer has.  Ignores a result that it cannot
 * read.
 */
void previous_result_note_missing (const struct publish *p,
                                   const struct build_job *job);

#endif
