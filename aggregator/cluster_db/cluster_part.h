/* aggregator/cluster_db/cluster_part.h - one big table of cluster_analysis.db
 *
 * Each of the three tables is made by a thread, in its own file.  For each
 * rank, one statement copies rows from analysis.db and converts them with SQL
 * functions defined here.  The rank's total rows, which sum them up, follow.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_PART_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_PART_H

#include "cluster_db/cluster_groups.h"
#include "cluster_db/cluster_names.h"
#include "sums/sums.h"

#include <stdatomic.h>

#define CLUSTER_TOTAL "Total Op Info"   // name of the total rows
#define CLUSTER_CLEAN(name) \
    "CASE WHEN needs_sanitizing() THEN clean(" name ") ELSE " name " END"
#define CLUSTER_LOOKUPS 64              // groups of a rank that are cached

struct cluster_part;

/* The key of a sum; its first word holds step and group. */
struct cluster_key {
    uint64_t word[3];
};

/* The description of a table. */
struct cluster_table {
    const char *source;         // its table in analysis.db
    const char *name;
    const char *create, *index; // the declaration, the same for all copies
    const char *insert;         // a rank's rows: rowid from ?1 to ?2
    const char *insert_total;   // a row: ?1 rank, ?2 step, ?3 group,
                                // and the values that 'finish' binds
    // take(...): adds the row to the sums; whether it belongs in the table
    int take_args;
    bool (*take) (struct cluster_part *p, sqlite3_value **row);
    // writes what 'take' has summed for the rank, as total rows
    int (*finish) (struct cluster_part *p, struct err *err);
    int (*finish_table) (struct cluster_part *p, struct err *err); // or NULL
    size_t sum_bytes;           // size of a record of p->sums
    size_t state_bytes;         // size of p->state
    void (*fini) (void *state);
};

extern const struct cluster_table cluster_time, cluster_bandwidth,
    cluster_matrix;

struct cluster_part {
    const struct cluster_table *table;
    const struct cluster_groups *groups;
    sqlite3 *db;
    sqlite3_stmt *insert;       // copies the rows of a rank
    sqlite3_stmt *total;        // inserts a total row
    void *state;                // private to the table
    int64_t rank;
    const struct texts *known_steps;    // steps in StepTraceTime
    struct texts steps;         // steps of all ranks, named as in the table
    struct map sums;            // of this rank, by a cluster_key and more
    uint8_t *used;              // by group
    uint8_t *strays;            // bits: ranks with ops without a group
    bool no_memory;
    uint64_t left_out;          // rows that could not be converted
    // of the current row
    uint32_t step, group;
    char step_text[64];         // original text of 'step'; "": none
    bool needs_sanitizing;      // viewers refuse some of its names
    double src, dst;            // ends of a link
    const char *transport;
    struct {
        char name[32];          // "": none
        uint32_t group;
    } lookups[CLUSTER_LOOKUPS];
};

/* Make the table in a new file at 'path'. */
int cluster_part_make (struct cluster_part *p, const char *path,
                       const char *analysis_db, const atomic_bool *cancel,
                       struct err *err);
void cluster_part_close (struct cluster_part *p);       // its file only
void cluster_part_fini (struct cluster_part *p);        // fine for all zero

/* Create a database file without journal or fsync and attach analysis.db to it
 * as 'a', read-only.  The caller owns *ret, even on failure.
 */
int cluster_part_open (const char *path, const char *analysis_db,
                       const atomic_bool *cancel, sqlite3 **ret,
                       struct err *err);

/* ---- for take functions, which must set p->step and p->group ---- */

bool cluster_part_take (struct cluster_part *p, sqlite3_value *rank,
                        sqlite3_value *op, sqlite3_value *group,
                        sqlite3_value *step);

/* ---- for finish functions ---- */

/* Insert a total row for each sum, sorted by step (as a number), group, and the
 * rest of the key.  'bind' binds its values to p->total, from ?4 on.
 */
int cluster_part_totals (struct cluster_part *p,
                         void (*bind) (struct cluster_part *p,
                                       const void *sum),
                         struct err *err);

/* Bind to p->total by position. */
void cluster_part_bind_sum (struct cluster_part *p, int i,
                            const struct sum *s);

/* Find or create the sum, in a map of such keys, for the row's step and group
 * and two more words.  NULL without memory, which p records.
 */
void *cluster_part_sum (struct cluster_part *p, struct map *m, uint64_t b,
                        uint64_t c, bool *is_new);

#endif
