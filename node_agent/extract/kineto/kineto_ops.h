/* node_agent/extract/kineto/kineto_ops.h - the communication of a trace,
 * between the files that read and write it
 *
 * kineto_ops.c      ops: collected, put in order, numbered
 * kineto_op_rows.c  their rows in the three tables
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_OPS_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_OPS_H

#include "extract/kineto/kineto.h"

struct op {
    int64_t start, dur, order;  // ns; 'order' is that of launching
    const struct comm_record *record;       // NULL: none
    const struct kineto_group *group;       // NULL: not known
    int64_t number;             // in the op's name
    uint32_t again;             // how many of that number, from 1
    uint16_t step;
    uint8_t coll;
    uint8_t range;              // enum comm_range, if it is one of the host
};

struct ops {
    struct kineto *k;
    struct op *v;
    size_t n, cap;
    uint64_t outside;           // of any step
    uint64_t ungrouped, unsized;
    uint64_t uncounted;         // of a group of nobody knows how many
    uint64_t unlinked, even;    // of a step; whose splits were cut
    struct batch time, bandwidth, matrix;
};

/* "" if its group is not known. */
static inline const char *kineto_op_key (const struct op *op)
{
    return op->group ? op->group->key : "";
}

/* The order of ops by step, group and kind; 0: alike in all of these. */
int kineto_op_compare (const struct op *a, const struct op *b);

/* Rows of all ops in their order, if these tables are wanted; counts what is
 * not known of them.  False: the capture is stopped.
 */
bool kineto_put_ops (struct ops *o);

/* Rows of the links; those of one kind must stand together. */
bool kineto_put_links (struct ops *o);

#endif
