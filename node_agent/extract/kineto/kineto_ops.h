/* node_agent/extract/kineto/kineto_ops.h - the communication ops of a trace
 *
 * Shared by the files that read and write them:
 *
 *   kineto_ops.c      ops: collected, sorted, numbered
 *   kineto_op_rows.c  their rows in the three tables
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_OPS_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_OPS_H

#include "extract/kineto/kineto.h"

struct op {
    int64_t start, dur, order;  // ns; 'order' is that of launching
    const struct comm_record *record;       // NULL: none
    const struct kineto_group *group;       // NULL: not known
    int64_t number;             // in the op's name
    uint32_t again;             // counts ops of that number, from 1
    uint16_t step;
    uint8_t coll;
    uint8_t range;              // enum comm_range, if it is a range of the host
};

struct ops {
    struct kineto *k;
    struct op *v;
    size_t n, cap;
    uint64_t outside;           // ops outside of all steps
    uint64_t ungrouped, unsized;
    uint64_t uncounted;         // ops whose group has an unknown size
    uint64_t unlinked, even;    // ops in a step; those with truncated splits
    struct batch time, bandwidth, matrix;
};

/* The key of its group; "" if that is not known. */
static inline const char *kineto_op_key (const struct op *op)
{
    return op->group ? op->group->key : "";
}

/* Order ops by step, group and kind; 0: all of these are equal. */
int kineto_op_compare (const struct op *a, const struct op *b);

/* Send rows of all ops in their order, if these tables are wanted; count what
 * is not known of them.  False: the capture is stopped.
 */
bool kineto_put_ops (struct ops *o);

/* Send rows of the links; ops of the same kind must be adjacent. */
bool kineto_put_links (struct ops *o);

#endif
