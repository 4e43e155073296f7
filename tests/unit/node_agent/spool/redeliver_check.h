/* tests/unit/node_agent/spool/redeliver_check.h - deliver items, and deliver
 * them again
 */
#ifndef ROLLCALL_TESTS_REDELIVER_CHECK_H
#define ROLLCALL_TESTS_REDELIVER_CHECK_H

#include "node_agent/spool/spool_check.h"

extern const struct ledger_mark mark;

/* Acknowledged, with this mark or another one: so many of the open items of a
 * kind.
 */
void acknowledge (struct fixture *f, enum item_kind kind, unsigned n);
void acknowledge_with (struct fixture *f, const struct ledger_mark *m,
                       enum item_kind kind, unsigned n);

bool mark_is (const struct fixture *f, uint64_t epoch, uint64_t seq);

/* A redelivery to its end. */
void redeliver (struct fixture *f, struct spool_redelivery *r);

/* Make a directory in that of the fixture. */
void path_below (struct fixture *f, const char *name, char out[PATH_MAX]);

unsigned losses (struct fixture *f);

/* What is asked for of this kind: so many items, none of which the aggregator
 * has.
 */
void lose (struct fixture *f, enum item_kind kind, unsigned n);

#endif
