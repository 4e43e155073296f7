/* aggregator/builder/tables.h - write the tables beside the profiler's four
 *
 * Capture, Roster, CommGroup, CommGroupMember, Wait, StepExtra, Finding, Job,
 * and the views: see doc/format-analysis-db.md.
 */
#ifndef ROLLCALL_BUILDER_TABLES_H
#define ROLLCALL_BUILDER_TABLES_H

#include "builder/groups.h"
#include "model/result_schema.h"
#include "select/capture_select.h"

#include <sqlite3.h>

int tables_create (sqlite3 *db, struct err *err);
int tables_write_captures (sqlite3 *db, const struct select_item *items,
                           size_t n, struct err *err);

/* The rowids that each capture may have in the tables of rows. */
int tables_write_ranges (sqlite3 *db, const struct select_item *items,
                         size_t n, struct err *err);
int tables_write_roster (sqlite3 *db, const struct roster *r,
                         struct err *err);

/* The captures whose rows do not count in waits, means and findings. */
int tables_write_excluded (sqlite3 *db, const struct select_item *items,
                           size_t n, struct err *err);

/* The content of table Job; texts may be NULL. */
struct tables_job {
    const char *id;
    const char *steps;          // --steps
    const char *inputs;         // what was analysed
    const char *others;         // a sentence about other jobs beside it
    bool assumed;               // all captures are assumed to be of this job
    struct job_origin about;
    const char *began;          // when a run began, a clock_text; or NULL
};

int tables_write_job (sqlite3 *db, const struct tables_job *job,
                      const struct roster *r, struct err *err);

/* Create the indexes, when all rows are final. */
int tables_index (sqlite3 *db, struct err *err);

#endif
