/* tests/fuzz/fuzz_capture_db.h - a capture that is one database */
#ifndef ROLLCALL_TESTS_FUZZ_CAPTURE_DB_H
#define ROLLCALL_TESTS_FUZZ_CAPTURE_DB_H

#include "fuzz_db.h"

/* Read a capture whose only result is the database 'name' that 'base' and the
 * input make (fuzz_db.h).  It has to get a state, and a reason if it is not
 * complete, and nothing may be written beside it.  How many rows it gave;
 * *bytes is the size of its files.
 */
uint64_t fuzz_capture_of_db (const char *name, struct fuzz_base base,
                             const uint8_t *data, size_t size, uint64_t *bytes);

#endif
