/* node_agent/extract/kineto/kineto_kinds.h - classify events by category and
 * name
 *
 * Private to the files kineto_*.c.  These functions have no state.
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_KINDS_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_KINDS_H

#include "extract/input/trace_text.h"

enum gpu_kind { GPU_COMPUTING, GPU_COMMUNICATION, GPU_MEMORY, GPU_SYNC };

bool kineto_is_gpu (struct span cat);
enum gpu_kind kineto_gpu_kind (struct span cat, struct span name);

/* Whether it is a call of the runtime or the driver, and whether such a call
 * starts work of the device.  Many other calls have a correlation, too.
 */
bool kineto_is_call (struct span cat);
bool kineto_starts_work (struct span name);

/* Kinds of ranges of the host that show a communication. */
enum comm_range {
    RANGE_NONE,
    RANGE_RECORD,               // record_param_comms
    RANGE_CALL,                 // c10d::...
    RANGE_NCCL,                 // this and the others are of a backend
    RANGE_GLOO,
    RANGE_HCCL,
    RANGE_MPI,
    RANGE_UCC,
};

enum comm_range kineto_comm_range (struct span name);

/* The prefix of names of ops: "gloo". */
const char *kineto_backend (enum comm_range r);

#endif
