/* tests/fuzz/fuzz_db.h - databases that inputs are made into */
#ifndef ROLLCALL_FUZZ_DB_H
#define ROLLCALL_FUZZ_DB_H

#include "fuzz_dir.h"

/* A database that is well formed, in memory. */
struct fuzz_base {
    uint8_t *data;
    size_t size;
};

/* Make one of SQL. */
struct fuzz_base fuzz_base_of_sql (const char *sql);

/* Write the database NAME that an input describes.  Its first byte modulo 4
 * says how; the rest is
 *     0   the file itself
 *     1   changes to the base: a place (two bytes, times 2), a length (one
 *         byte), so many bytes; and so on
 *     2   lines of SQL, run on the base; those that fail do nothing
 *     3   the same, left in a write-ahead log beside the file
 */
void fuzz_db_write (const char *name, struct fuzz_base base,
                    const uint8_t *data, size_t size);

#endif
