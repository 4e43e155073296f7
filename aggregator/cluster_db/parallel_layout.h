/* aggregator/cluster_db/parallel_layout.h - a rank's place in the parallel job
 *
 * It follows from the sizes of the parallel dimensions, or from pipeline
 * groups.
 */
#ifndef ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H
#define ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sizes configured in the training framework; 0: not known. */
struct parallel_sizes {
    int64_t tensor, pipeline, data, context, expert, world;
};

/* Whether the indexes of ranks 0 to 'highest' can be computed: the product of
 * the sizes is the size of the world, and no rank is beyond it.  In some
 * frameworks the data dimension includes the context dimension; then it is
 * divided by it.
 */
bool parallel_usable (struct parallel_sizes *s, int64_t highest);

struct parallel_index {
    int64_t data, pipeline, tensor;
};

/* Compute the indexes of a rank in Megatron's order: tensor changes fastest,
 * then context, data, pipeline.
 */
struct parallel_index parallel_of (const struct parallel_sizes *s,
                                   int64_t rank);

/* ---- stages of pipelines ---- */

struct parallel_group {
    const char *pg_name;        // the program's name for it
    bool p2p;                   // has only sends and receives
    const int32_t *ranks;
    uint32_t nranks;
};

struct stages {
    int32_t *of;                // by rank: the lowest rank of its stage; -1
    uint32_t nranks;
    bool any;                   // false: no pipelines were found
};

/* Groups whose names begin with pp are pipelines; those that share a rank are
 * one pipeline.  Ranks of different pipelines that share another group are in
 * the same stage.  A rank of a pipeline without such a group has a stage of its
 * own. -ENOMEM.
 */
int stages_find (const struct parallel_group *groups, size_t n,
                 struct stages *ret, struct err *err);
void stages_fini (struct stages *s);            // fine for all zero

#endif
