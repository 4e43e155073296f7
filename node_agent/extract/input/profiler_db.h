/* node_agent/extract/input/profiler_db.h - open a database that the profiler
 * wrote
 *
 * The file is foreign: it is opened read-only and immutable, so nothing is
 * written beside it; its triggers and views are never run; and the file's size
 * limits the cost of a query.
 *
 * Select columns by name: viewers add some, and old profilers lack some.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_PROFILER_DB_H
#define ROLLCALL_EXTRACT_INPUT_PROFILER_DB_H

#include "extract/input/capture_file.h"
#include "extract/sink/source.h"

#include <limits.h>
#include <sqlite3.h>

struct profiler_db {
    struct capture_file file;   // file.name is borrowed
    sqlite3 *sql;
    char copy[PATH_MAX];        // a private copy's directory, or ""
    uint64_t bad_utf8, long_texts;          // in the table that is read
    uint64_t size;              // bytes, with its journal
    uint64_t rows, text, steps; // taken up to now
    uint64_t steps_of_byte;     // of SQLite's machine; may be raised for joins
};

/* The database 'name' in the directory 'dir' (both are borrowed). */
enum reading profiler_db_open (struct source *src, int dir, const char *name,
                               struct profiler_db **ret, struct err *err);
void profiler_db_close (struct profiler_db *db);        // db may be NULL

/* SQLite's last error, prefixed with the file's name. */
enum reading profiler_db_damaged (struct profiler_db *db, struct err *err);

/* It yields more than its bytes can hold: its pages form a cycle. */
enum reading profiler_db_endless (struct profiler_db *db, struct err *err);

/* Which of the named columns a table has: have[i] for names[i].
 * READING_ABSENT without the table.
 */
enum reading profiler_db_columns (struct profiler_db *db, const char *table,
                                  const char *const *names, unsigned n,
                                  bool *have, struct err *err);

/* The text of a value into a batch: repaired where it is not UTF-8 and cut
 * where it is too long, both of which are counted.
 */
uint32_t profiler_db_text (struct profiler_db *db, sqlite3_value *v,
                           struct batch *b);

/* After the last row of a table: damage by bytes that were repaired or cut, or
 * by a file that changed.
 */
enum reading profiler_db_verdict (struct profiler_db *db, const char *table,
                                  struct err *err);

#endif
