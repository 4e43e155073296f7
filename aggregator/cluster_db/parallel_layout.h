/* aggregator/cluster_db/parallel_layout.h - where a rank is in the parallel job
 *
 * By the sizes of its parallel dimensions, and by the groups of its pipelines.
 */
#ifndef ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H
#define ROLLCALL_CLUSTER_DB_PARALLEL_LAYOUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sizes, as the training framework was told them; 0: not known. */
struct parallel_sizes {
    int64_t tensor, pipeline, data, context, expert, world;
};

/* Whether indexes can be told for ranks 0 to 'highest': the sizes multiply to
 * the world's, and no rank is outside it.  Where the data dimension was said to
 * hold the context dimension, which some frameworks do, it no longer does.
 */
bool parallel_usable (struct parallel_sizes *s, int64_t highest);

struct parallel_index {
    int64_t data, pipeline, tensor;
};

/* Of a rank, in Megatron's order: tensor changes fastest, then context, data,
 * pipeline.
 */
struct parallel_index parallel_of (const struct parallel_sizes *s,
                                   int64_t rank);

/* ---- stages of pipelines ---- */

struct parallel_group {
    const char *pg_name;        // what the program calls it
    bool p2p;                   // has no op but sends and receives
    const int32_t *ranks;
    uint32_t nranks;
};

struct stages {
    int32_t *of;                // by rank: the lowest rank of its stage; -1
    uint32_t nranks;
    bool any;                   // false: nobody says that there are pipelines
};

/* Groups named pp... are pipelines (those that share a rank are one).  Ranks of
 * which no two are in one pipeline, and that are in one other group, are in the
 * same stage; a rank of a pipeline without such a group is alone in its stage.
 * -ENOMEM.
 */
int stages_find (const struct parallel_group *groups, size_t n,
                 struct stages *ret, struct err *err);
void stages_fini (struct stages *s);            // fine for all zero

#endif
