/* common/model/beside.h - files that a profiler leaves beside its capture
 *
 * torch_npu writes arguments of operators into a directory beside the capture,
 * CAPTURE_op_arg or CAPTURE_op_args.  It is delivered and released with the
 * capture: the paths of its files begin with its name, other paths are within
 * the capture.  A directory of such a name inside a capture is not delivered,
 * so paths are unambiguous.
 */
#ifndef ROLLCALL_MODEL_BESIDE_H
#define ROLLCALL_MODEL_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

#define BESIDE_MAX 2            // directories of one capture

/* "_op_arg", "_op_args": sorted. */
extern const char *const beside_ends[BESIDE_MAX];

/* Whether the first part of 'path' has a name of such a directory of capture
 * 'name'.
 */
bool beside_begins (const char *name, const char *path);

/* The bytes of that part, if there are others behind it; 0: 'path' is within
 * the capture.
 */
size_t beside_size (const char *name, const char *path);

#endif
