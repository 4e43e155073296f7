/* common/store/sorter.h - records in order, however many there are
 *
 * Takes records of a few 64-bit words and hands them out in the order of their
 * first words; equal ones keep their order.  What exceeds SORTER_MEMORY goes to
 * an unnamed file in $TMPDIR as sorted runs, which are merged when the records
 * are taken.  Input that is in order, or nearly so, as a profiler's tables are,
 * costs no sorting and few runs.
 *
 * A database's own ORDER BY would do the same in the same bounds, at several
 * times the cost for each row.
 */
#ifndef ROLLCALL_STORE_SORTER_H
#define ROLLCALL_STORE_SORTER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SORTER_MEMORY (4u << 20)        // bytes of records; twice to sort
#define SORTER_WORDS_MAX 8u

struct sorter;

/* Records of 'words' words, the first 'keys' of which are signed keys. */
struct sorter *sorter_create (unsigned words, unsigned keys);
void sorter_destroy (struct sorter *s);         // s may be NULL

/* Take a copy of the record.  0, -ENOMEM, or what the file said; a failure
 * sticks.
 */
int sorter_add (struct sorter *s, const int64_t *record, struct err *err);

/* No more come: the next sorter_next gives the first one. */
int sorter_finish (struct sorter *s, struct err *err);

/* 1 with the next record, 0 behind the last one, negative as above. */
int sorter_next (struct sorter *s, int64_t *record, struct err *err);

#endif
