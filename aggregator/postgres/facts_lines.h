/* aggregator/postgres/facts_lines.h - facts of jobs as lines, from one catalogue
 * into another
 *
 * For who asks several roots as one: each prints the facts of its jobs, and those
 * that are wanted become a catalogue in memory.  A line is a JSON array of texts:
 * a table of facts_tables, the number of a job, and the columns, null for NULL.
 * Lines of "job" come before others, and the first line is ["facts", VERSION].
 */
#ifndef ROLLCALL_POSTGRES_FACTS_LINES_H
#define ROLLCALL_POSTGRES_FACTS_LINES_H

#include "base/map.h"
#include "postgres/facts.h"

#include <stdio.h>

#define FACTS_LINES_VERSION "1" // raise it when facts_tables change
#define FACTS_LINES_MAX ((uint64_t)512 << 20)   // bytes of lines of one root that are
                                // taken: of 100,000 jobs on 50 hosts each

/* Print those that a list and 'use' need of the jobs of a filter; but where their
 * results are, which means nothing elsewhere.  As catalogue_choose.
 */
int facts_lines_print (struct catalogue *c, const struct catalogue_filter *f,
                       enum facts_use use, FILE *to, struct err *err);

/* Whether a job is wanted, and the path of its result here, or NULL; borrowed
 * until the next call.
 */
typedef bool facts_wanted_fn (void *arg, const char *job, const char **path);

struct facts_lines {
    sqlite3 *db;
    facts_wanted_fn *wanted;
    void *arg;
    struct facts_insert into[FACTS_TABLES];     // as they are needed
    struct map ids;             // numbers there and here, of this root
    int64_t last;               // number that was given
    uint64_t bytes;             // of its lines that were taken
    bool begun;                 // its first line was read
};

/* Into a catalogue that is empty (catalogue_open_copy), which is borrowed.  Errors:
 * -EBADMSG: a line is none, or is of another version; -EFBIG: there are more than
 * FACTS_LINES_MAX; -ENOMEM; as db_run.  At the
 * end call facts_lines_end in any case: 0 or as db_exec.
 */
int facts_lines_begin (struct facts_lines *x, struct catalogue *c,
                       facts_wanted_fn *wanted, void *arg, struct err *err);
int facts_lines_end (struct facts_lines *x, struct err *err);

/* The lines of one root, between these two; what did not come whole leaves nothing.
 */
int facts_lines_begin_root (struct facts_lines *x, struct err *err);
int facts_lines_take (struct facts_lines *x, const char *line,
                      struct err *err);
int facts_lines_end_root (struct facts_lines *x, bool whole, struct err *err);

#endif
