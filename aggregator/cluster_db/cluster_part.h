/* aggregator/cluster_db/cluster_part.h - one big table of cluster_analysis.db
 *
 * A thread makes each of the three in its own file.  One statement for each
 * rank copies rows from analysis.db and converts them with SQL functions of
 * ours.  Their sums become the rank's total rows, after its others.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_PART_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_PART_H

#include "cluster_db/cluster_groups.h"
#include "cluster_db/cluster_names.h"
#include "sums/sums.h"

#include <stdatomic.h>

#define CLUSTER_TOTAL "Total Op Info"   // name of the rows that are sums
#define CLUSTER_CLEAN(name) \
    "CASE WHEN needs_sanitizing() THEN clean(" name ") ELSE " name " END"
#define CLUSTER_LOOKUPS 64              // groups of a rank that are remembered

struct cluster_part;

/* The key of a sum: step and group are in its first word. */
struct cluster_key {
    uint64_t word[3];
};

/* The description of a table. */
struct cluster_table {
    const char *source;         // its table in analysis.db
    const char *name;
    const char *create, *index; // the same for all copies of the table
    const char *insert;         // a rank's rows: rowid from ?1 to ?2
    const char *insert_total;   // a row: ?1 rank, ?2 step, ?3 group, and what
                                // 'finish' binds
    // take(...): whether this row becomes one, and what of it is added
    int take_args;
    bool (*take) (struct cluster_part *p, sqlite3_value **row);
    // what has been taken of the rank, as total rows
    int (*finish) (struct cluster_part *p, struct err *err);
    int (*finish_table) (struct cluster_part *p, struct err *err); // or NULL
    size_t sum_bytes;           // of a record of p->sums
    size_t state_bytes;         // of p->state
    void (*fini) (void *state);
};

extern const struct cluster_table cluster_time, cluster_bandwidth,
    cluster_matrix;

struct cluster_part {
    const struct cluster_table *table;
    const struct cluster_groups *groups;
    sqlite3 *db;
    sqlite3_stmt *insert;       // a rank's rows
    sqlite3_stmt *total;        // a total row
    void *state;                // the table's own
    int64_t rank;
    const struct texts *known_steps;    // of StepTraceTime
    struct texts steps;         // of all ranks, as they are in the table
    struct map sums;            // of the rank; they begin with a cluster_key
    uint8_t *used;              // by group
    uint8_t *strays;            // bits: ranks with ops of no group
    bool no_memory;
    uint64_t left_out;          // rows that could not become one
    // what the row has that is being taken
    uint32_t step, group;
    char step_text[64];         // as it was, of 'step'; "": none
    bool needs_sanitizing;      // its names have what viewers refuse
    double src, dst;            // of links
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

/* Create a database file without journal or fsync; analysis.db is attached to
 * it as 'a', read-only.  The caller owns *ret, even on failure.
 */
int cluster_part_open (const char *path, const char *analysis_db,
                       const atomic_bool *cancel, sqlite3 **ret,
                       struct err *err);

/* ---- for take functions: set p->step and p->group ---- */

bool cluster_part_take (struct cluster_part *p, sqlite3_value *rank,
                        sqlite3_value *op, sqlite3_value *group,
                        sqlite3_value *step);

/* ---- for finish functions ---- */

/* Insert a total row for each sum, in the order of step (as a number), group,
 * and the rest of its key.  'bind' binds its values to p->total, from ?4 on.
 */
int cluster_part_totals (struct cluster_part *p,
                         void (*bind) (struct cluster_part *p,
                                       const void *sum),
                         struct err *err);

/* Bind to p->total by position. */
void cluster_part_bind_sum (struct cluster_part *p, int i,
                            const struct sum *s);

/* The sum of the row's step and group, and two words, in a map of such keys.
 * NULL: no memory, which p records.
 */
void *cluster_part_sum (struct cluster_part *p, struct map *m, uint64_t b,
                        uint64_t c, bool *is_new);

#endif
