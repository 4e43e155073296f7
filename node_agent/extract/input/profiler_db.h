/* node_agent/extract/input/profiler_db.h - open a database that the profiler
 * wrote
 *
 * The file is not trusted: it is opened read-only and immutable, so nothing is
 * written beside it; its triggers and views never run; and its size limits the
 * cost of a query.
 *
 * Select columns by name: viewers add columns, and old profilers lack some.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_PROFILER_DB_H
#define ROLLCALL_EXTRACT_INPUT_PROFILER_DB_H

#include "base/texts.h"
#include "extract/input/capture_file.h"
#include "extract/sink/source.h"

#include <limits.h>
#include <sqlite3.h>

struct profiler_db {
    struct capture_file file;   // file.name is borrowed
    sqlite3 *sql;               // NULL: not connected
    bool connected, usable;     // it was tried, and succeeded
    struct err why;             // if not
    bool has_log;               // it has a write-ahead log
    bool has_schema;            // 'schema' has the names of tables and columns
    struct texts schema;
    char copy[PATH_MAX];        // directory of a private copy, or ""
    uint64_t bad_utf8, long_texts;          // counts in the current table
    uint64_t size;              // bytes, with its journal
    uint64_t rows, text, steps; // used so far
    uint64_t steps_of_byte;     // limit of SQLite's instructions; raised for
                                // joins
};

/* Open the file 'name' in the directory 'dir', which are both borrowed, without
 * SQLite, if nobody is writing to it.  profiler_db_close closes it.
 */
enum reading profiler_db_open_file (struct source *src, int dir,
                                    const char *name,
                                    struct profiler_db **ret, struct err *err);

/* Open it with SQLite, unless that was done: db->sql.  READING_WHOLE or
 * READING_DAMAGED.
 */
enum reading profiler_db_connect (struct profiler_db *db, struct err *err);

/* Both. */
enum reading profiler_db_open (struct source *src, int dir, const char *name,
                               struct profiler_db **ret, struct err *err);
void profiler_db_close (struct profiler_db *db);        // db may be NULL

/* Return READING_DAMAGED with the last error of SQLite, after the name of the
 * file.
 */
enum reading profiler_db_damaged (struct profiler_db *db, struct err *err);

/* Return READING_DAMAGED for a file that yields more than its bytes can
 * contain: its pages form a cycle.
 */
enum reading profiler_db_endless (struct profiler_db *db, struct err *err);

/* Find which of the named columns a table has: have[i] for names[i].
 * READING_ABSENT: there is no such table.
 */
enum reading profiler_db_columns (struct profiler_db *db, const char *table,
                                  const char *const *names, unsigned n,
                                  bool *have, struct err *err);

/* Add a text to a batch.  It is repaired if it is not UTF-8 and cut if it is
 * too long; both are counted.
 */
uint32_t profiler_db_text (struct profiler_db *db, const char *s, size_t n,
                           struct batch *b);

/* The verdict after the last row of a table: it is damaged if texts were
 * repaired or cut, or if the file has changed.
 */
enum reading profiler_db_verdict (struct profiler_db *db, const char *table,
                                  struct err *err);

#endif
