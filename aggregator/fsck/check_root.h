/* aggregator/fsck/check_root.h - check that all acknowledged data is intact
 *
 * Checks the hash of every chunk, the ledger against the records in the
 * segments, and the rows of results.  A repair copies damaged data to
 * ROOT/quarantine/, rebuilds the ledger from the records, and lets the next
 * aggregator build damaged results.
 */
#ifndef ROLLCALL_FSCK_CHECK_ROOT_H
#define ROLLCALL_FSCK_CHECK_ROOT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_report {
    // one sentence for each thing that was found or done; may be NULL
    void (*say) (void *arg, const char *sentence);
    void *arg;
    size_t items, contents;     // intact ones; of contents, chunks and lists
    uint64_t bytes;             // stored, that were checked
    size_t results;             // that have the rows that were built
    size_t away;                // chunks, of the contents: they are only in an
    uint64_t away_bytes;        // object store, and were not read
    size_t damaged;             // damaged things
    size_t leftovers;           // never acknowledged: harmless
    size_t repaired;            // of the damaged ones: set aside, rebuilt
};

/* Check a root that no aggregator serves (else -EBUSY).  0 if it could be
 * checked, whatever was found.  After 'repair' an aggregator can serve it, and
 * a second check finds nothing.
 */
int store_check (const char *root, bool repair, struct check_report *report,
                 struct err *err);

#endif
