/* aggregator/builder/previous_result.h - what a replaced result had
 *
 * A result is made of the captures that are there.  Whoever has removed one, or
 * lost it with a file of a root, is told so by the result that lacks it: the
 * roster does not know of a second capture of a rank, nor of ranks of which
 * nothing else speaks.
 */
#ifndef ROLLCALL_BUILDER_PREVIOUS_RESULT_H
#define ROLLCALL_BUILDER_PREVIOUS_RESULT_H

#include "builder/build.h"

/* Put a note into the roster if captures with rows of the result of this job
 * that stands in the output directory are not among the job's.  What cannot be
 * read is no reason to build nothing.
 */
void previous_result_note_missing (const struct publish *p,
                                   const struct build_job *job);

#endif
