/* common/store/sorter.h - sort any number of records
 *
 * A sorter takes records of a few 64-bit words and returns them in the order of
 * their first words; equal ones keep their order.  What exceeds SORTER_MEMORY
 * goes to an unnamed file in $TMPDIR as sorted runs, which are merged when
 * records are returned.  Input that is nearly sorted, as a profiler's tables
 * are, costs no sorting and few runs.
 *
 * ORDER BY of a database would do the same within the same memory, but takes
 * several times as long for each row.
 */
#ifndef ROLLCALL_STORE_SORTER_H
#define ROLLCALL_STORE_SORTER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SORTER_MEMORY (4u << 20)        // bytes of records; twice as many while
                                        // sorting
#define SORTER_WORDS_MAX 8u

struct sorter;

/* Create a sorter for records of 'words' words, of which the first 'keys' are
 * signed keys.  NULL: no memory.
 */
struct sorter *sorter_create (unsigned words, unsigned keys);
void sorter_destroy (struct sorter *s);         // s may be NULL

/* Add a copy of a record.  Returns 0, -ENOMEM, or an error of the file.  After
 * a failure all calls fail.
 */
int sorter_add (struct sorter *s, const int64_t *record, struct err *err);

/* End the input: the next sorter_next returns the first record. */
int sorter_finish (struct sorter *s, struct err *err);

/* Get the next record: 1; 0 after the last one; or negative as above. */
int sorter_next (struct sorter *s, int64_t *record, struct err *err);

#endif
