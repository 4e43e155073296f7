/* aggregator/cluster_db/cluster_part.h - one big table of cluster_analysis.db
 *
 * Each of the three is made by a thread, in a file of its own: its rows go
 * from analysis.db to the file by one statement for each rank, which asks
 * functions of ours on the way what a row becomes.  What they add up becomes
 * the rank's total rows, behind its others.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_PART_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_PART_H

#include "cluster_db/cluster_groups.h"
#include "cluster_db/cluster_names.h"
#include "sums/key_index.h"
#include "sums/sums.h"

#include <stdatomic.h>

#define CLUSTER_TOTAL "Total Op Info"   // name of the rows that are sums
#define CLUSTER_CLEAN(name) \
    "CASE WHEN needs_sanitizing() THEN clean(" name ") ELSE " name " END"
#define CLUSTER_LOOKUPS 64              // groups of a rank that are remembered

struct cluster_part;

/* What is particular to a table. */
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
    struct keys keys;           // of what is added up; of the rank
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

/* A new file with a database that can be made fast, and lost; analysis.db is
 * attached to it as 'a', read-only.  *ret is the caller's, also on failure.
 */
int cluster_part_open (const char *path, const char *analysis_db,
                       const atomic_bool *cancel, sqlite3 **ret,
                       struct err *err);

/* ---- for take functions: set p->step and p->group ---- */

bool cluster_part_take (struct cluster_part *p, sqlite3_value *rank,
                        sqlite3_value *op, sqlite3_value *group,
                        sqlite3_value *step);

/* ---- for finish functions ---- */

/* Insert a total row for each key, in the order of step (as a number), group,
 * and the rest.  'bind' binds what the i-th key has to p->total, from ?4 on.
 */
int cluster_part_totals (struct cluster_part *p,
                         void (*bind) (struct cluster_part *p, uint32_t i),
                         struct err *err);

/* Bind to p->total by position. */
void cluster_part_bind_sum (struct cluster_part *p, int i,
                            const struct sum *s);

/* A key of p->keys: step and group are in its first word. */
struct key cluster_part_key (const struct cluster_part *p, uint64_t b,
                             uint64_t c);

/* Room for one more of 'size' bytes behind n of them, zeroed; false: no memory,
 * which p remembers.
 */
bool cluster_part_reserve (struct cluster_part *p, void **list, uint32_t n,
                           size_t size);

#endif
