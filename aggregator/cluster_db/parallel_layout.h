/* aggregator/cluster_db/parallel_layout.h - a rank's place in the parallel job
 *
 * By the sizes of the parallel dimensions, and by the pipelines' groups.
 */
#ifndef ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H
#define ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sizes, as configured in the training framework; 0: not known. */
struct parallel_sizes {
    int64_t tensor, pipeline, data, context, expert, world;
};

/* Whether the indexes of ranks 0 to 'highest' are known: the product of the
 * sizes is the world's, and no rank is outside it.  If the data dimension
 * includes the context dimension, as in some frameworks, that is divided out.
 */
bool parallel_usable (struct parallel_sizes *s, int64_t highest);

struct parallel_index {
    int64_t data, pipeline, tensor;
};

/* The indexes of a rank, in Megatron's order: tensor changes fastest, then
 * context, data, pipeline.
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
    bool any;                   // false: no pipelines are known
};

/* Groups named pp... are pipelines (those that share a rank are one).  Ranks of
 * different pipelines that share another group are in the same stage; a rank of
 * a pipeline without such a group is alone in its stage.  -ENOMEM.
 */
int stages_find (const struct parallel_group *groups, size_t n,
                 struct stages *ret, struct err *err);
void stages_fini (struct stages *s);            // fine for all zero

#endif
