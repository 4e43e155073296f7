/* common/model/schema.h - the tables of rows, declared once
 *
 * First come the profiler's own four (doc/format-analysis-db.md), with its
 * columns in its order and spelling; then the other data of a capture, as sums.
 * Readers, shipments and the builder all take the columns from here.  A merged
 * table also has 'rank' and 'capture' as its last columns.
 */
#ifndef ROLLCALL_MODEL_SCHEMA_H
#define ROLLCALL_MODEL_SCHEMA_H

#include <stdbool.h>

enum table_id {
    TABLE_TIME,
    TABLE_BANDWIDTH,
    TABLE_MATRIX,
    TABLE_STEP,
    TABLE_STEP_EXTRA,           // the first of what is ours
    TABLE_INFO,
    TABLE_MEMORY,
    TABLE_OPERATOR,
    TABLE_API,
    TABLE_LINK,
    TABLE_RANGE,
    TABLE_FILE,
    TABLE_KERNEL,
    TABLE_COUNT
};

#define TABLE_PROFILER_COUNT 4          // the profiler's own

#define TABLE_COLUMNS_MAX 12

enum column_kind {
    COLUMN_TEXT,                // UTF-8, may be NULL
    COLUMN_REAL,                // SQLite affinity NUMERIC, may be NULL
    COLUMN_INT,                 // SQLite affinity INTEGER, may be NULL
};

struct column {
    const char *name;
    enum column_kind kind;
    const char *unit;           // NULL: text, or a number without one
};

struct table {
    const char *name;
    unsigned ncolumns;
    int step;                   // the column that holds the step, or -1
    struct column columns[TABLE_COLUMNS_MAX];
};

const struct table *schema_table (enum table_id id);
bool schema_is_text (const struct column *c);
const char *schema_affinity (const struct column *c);   // for DDL

/* Columns by position, in the order of the profiler's tables. */
enum { TIME_OP, TIME_GROUP, TIME_START, TIME_ELAPSE, TIME_TRANSIT, TIME_WAIT,
       TIME_SYNC, TIME_IDLE, TIME_STEP, TIME_TYPE };
enum { BW_OP, BW_GROUP, BW_TRANSPORT, BW_SIZE, BW_TIME, BW_BANDWIDTH,
       BW_LARGE, BW_PACKAGE, BW_COUNT, BW_TOTAL, BW_STEP, BW_TYPE };
enum { MATRIX_OP, MATRIX_GROUP, MATRIX_SRC, MATRIX_DST, MATRIX_TRANSPORT,
       MATRIX_SIZE, MATRIX_TIME, MATRIX_BANDWIDTH, MATRIX_STEP, MATRIX_TYPE,
       MATRIX_OP_NAME };
enum { STEP_DEVICE, STEP_STEP, STEP_COMPUTING, STEP_NOT_OVERLAPPED,
       STEP_OVERLAPPED, STEP_COMMUNICATION, STEP_FREE, STEP_STAGE,
       STEP_BUBBLE, STEP_EXCLUDE_RECEIVE, STEP_PREPARING };

/* Ours: doc/format-analysis-db.md, "Other data of a capture". */
enum { EXTRA_DEVICE, EXTRA_STEP, EXTRA_HOST_START, EXTRA_HOST_END,
       EXTRA_MEMORY_ONLY };
enum { INFO_KIND, INFO_NAME, INFO_VALUE };
enum { MEMORY_DEVICE, MEMORY_COMPONENT, MEMORY_KIND, MEMORY_PEAK, MEMORY_AT };
enum { OPERATOR_DEVICE, OPERATOR_TYPE, OPERATOR_CORE, OPERATOR_COUNT,
       OPERATOR_TOTAL, OPERATOR_MIN, OPERATOR_MAX };
enum { API_DEVICE, API_LEVEL, API_NAME, API_COUNT, API_TOTAL, API_MIN,
       API_MAX };
enum { LINK_DEVICE, LINK_TYPE, LINK_COUNTER, LINK_UNIT, LINK_SAMPLES, LINK_MEAN,
       LINK_MAX };
enum { RANGE_KIND, RANGE_DOMAIN, RANGE_NAME, RANGE_COUNT, RANGE_TOTAL,
       RANGE_MIN, RANGE_MAX, RANGE_FIRST };
enum { FILE_PATH, FILE_BYTES };
enum { KERNEL_DEVICE, KERNEL_STEP, KERNEL_NAME, KERNEL_TYPE, KERNEL_CORE,
       KERNEL_SHAPES, KERNEL_COUNT, KERNEL_TOTAL, KERNEL_MIN, KERNEL_MAX,
       KERNEL_METRICS };

#endif
