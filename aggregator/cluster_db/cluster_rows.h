/* aggregator/cluster_db/cluster_rows.h - one big table of cluster_analysis.db
 *
 * Each of the three tables is made from one of analysis.db, rank by rank: a
 * thread reads the rank's rows page by page, converts each, and writes it as
 * pages and its key.  The rank's total rows, which sum them up, follow.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_ROWS_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_ROWS_H

#include "cluster_db/cluster_keys.h"
#include "cluster_db/cluster_names.h"
#include "model/schema.h"
#include "sqlite_pages/page_scan.h"
#include "row_sums/rank_rows.h"
#include "row_sums/sums.h"

#define CLUSTER_TOTAL "Total Op Info"   // name of the total rows
#define CLUSTER_COLUMNS_MAX 12
#define CLUSTER_LOOKUPS 64              // groups of a rank that are cached

struct cluster_rows;

/* The key of a sum; its first word holds step and group. */
struct cluster_key {
    uint64_t word[3];
};

/* The description of a table. */
struct cluster_table {
    enum table_id source;       // in analysis.db; its first columns are the
                                // op and the group
    unsigned step;              // column of it
    const char *name, *index;
    const char *create;         // both
    bool has_rank;              // a column, and in the index
    // adds the current row to the sums and sets its values: 1; 0: it does not
    // belong in the table
    int (*take) (struct cluster_rows *r, struct err *err);
    // writes what 'take' has summed for the rank, as total rows
    int (*finish) (struct cluster_rows *r, struct err *err);
    size_t sum_bytes;           // size of a record of r->sums
    size_t state_bytes;         // size of r->state
    void (*begin) (void *state);        // or NULL
    void (*fini) (void *state);
};

extern const struct cluster_table cluster_time, cluster_bandwidth,
    cluster_matrix;

/* SQL that adds up several rows of one link and op: two ranks report the link,
 * or one rank reports it twice.  No known profiler writes such rows.
 */
extern const char cluster_matrix_merge[];

/* A table that is being made. */
struct cluster_part {
    const struct cluster_table *table;
    const struct page_source *source;
    uint32_t root;              // of its source; 0: there is none
    struct rank_rows *ranks;
    size_t nranks;
    struct page_tree *rows, *index;
    struct cluster_keys keys;
};

/* A text of the row before. */
struct last_text {
    char bytes[CLUSTER_NAME_SIZE];
    size_t size;                // SIZE_MAX: none
};

/* The state of one thread. */
struct cluster_rows {
    const struct cluster_groups *groups;
    const struct texts *known_steps;    // steps in StepTraceTime
    struct cluster_part *part;  // NULL: none
    struct page_writer *writer;
    struct key_buffer keys;
    void *state;                // private to the table
    struct map sums;            // of this rank, by a cluster_key and more
    struct texts steps;         // of all ranks, named as in the tables
    int64_t *numbers;           // of these steps, or -1
    uint8_t *used;              // by group
    uint8_t *strays;            // bits: ranks with ops without a group
    uint64_t left_out;          // rows that could not be converted
    bool again;                 // a link of an op had more than one row
    int64_t rank, rowid;        // the next row's
    // of the current row
    struct page_scan scan;
    uint32_t step, group;
    bool same_op, same_place;   // as the row before that was taken; its step
                                // and group
    struct last_text step_text, group_text, op_text; // as they are there
    char op[CLUSTER_NAME_SIZE]; // clean
    size_t op_size;
    const char *group_name;
    uint32_t group_size;
    struct page_value values[CLUSTER_COLUMNS_MAX];
    unsigned nvalues;
    const char *band;           // the last column of the index, or ""
    const char *last_band;      // of the row before
    struct {
        char name[32];
        uint32_t size, group;   // size 0: none
    } lookups[CLUSTER_LOOKUPS];
};

int cluster_rows_init (struct cluster_rows *r,
                       const struct cluster_groups *groups,
                       const struct texts *known_steps, struct err *err);
void cluster_rows_fini (struct cluster_rows *r);        // fine for all zero

/* End the table that the thread was at, and begin with another (NULL: with
 * none), which many threads may fill.
 */
int cluster_rows_switch (struct cluster_rows *r, struct cluster_part *part,
                         struct err *err);

/* Leave the table, if the thread is at one, because the build has failed.  Call
 * it before the table's file is closed.
 */
void cluster_rows_stop (struct cluster_rows *r);

/* Write ranks [first, first + n) of the table; nobody else writes one of them.
 */
int cluster_rows_write (struct cluster_rows *r, size_t first, size_t n,
                        struct err *err);

/* ---- for take functions, which first call this ---- */

/* Find op, step and group of the row, and set the values of these columns: 1;
 * 0: the row does not belong to the rank.
 */
int cluster_rows_take (struct cluster_rows *r, struct err *err);

/* Whether the text is that of the row before; if not, it is kept. */
bool cluster_again (struct last_text *t, const char *s, size_t n);

/* Append a value. */
static inline void cluster_put (struct cluster_rows *r, struct page_value v)
{
    r->values[r->nvalues++] = v;
}

/* A number of the current row; NaN: NULL. */
static inline double cluster_number_at (const struct cluster_rows *r,
                                        unsigned column)
{
    return page_scan_real (&r->scan, column);
}

/* NULL is 0. */
static inline double cluster_known (double v)
{
    return v == v ? v : 0;
}

/* part / (part + rest) and MB / ms: NULL (NaN) if an argument is not known. */
double cluster_ratio (double part, double rest);
double cluster_rate (double mb, double ms);

/* Find or create the sum, in a map of such keys, for the row's step and group
 * and two more words.  NULL without memory.
 */
void *cluster_rows_sum (struct cluster_rows *r, struct map *m, uint64_t b,
                        uint64_t c, bool *is_new);

/* ---- for finish functions ---- */

/* Write a total row for each sum, sorted by step (as a number), group, and the
 * rest of the key.  'put' appends its values behind those of step and group.
 */
int cluster_rows_totals (struct cluster_rows *r,
                         void (*put) (struct cluster_rows *r,
                                      const void *sum),
                         struct err *err);

/* The sum, or NULL (NaN) if nothing was added. */
double cluster_sum (const struct sum *s);

#endif
