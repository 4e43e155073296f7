/* aggregator/fsck/check_root.h - is everything there that was acknowledged?
 *
 * Every hash of every content, the ledger against the records in the segments,
 * and what nobody refers to.  Repairing sets aside what is damaged, into
 * ROOT/quarantine/, and makes the ledger again from the records.
 */
#ifndef ROLLCALL_FSCK_CHECK_ROOT_H
#define ROLLCALL_FSCK_CHECK_ROOT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_QUARANTINE "quarantine"   // in the root

struct check_report {
    // one sentence for each thing that was found or done; may be NULL
    void (*say) (void *arg, const char *sentence);
    void *arg;
    size_t items, contents;     // that are in order
    uint64_t bytes;             // that were hashed
    size_t damaged;             // what is not as it should be
    size_t leftovers;           // what nobody was told of: harmless
    size_t repaired;            // of what was damaged: set aside, made again
};

/* Check the root, which no aggregator may serve meanwhile: -EBUSY.  0 when it
 * could be checked, whatever was found.  With 'repair' an aggregator can serve
 * it afterwards; a second check then finds nothing.
 */
int store_check (const char *root, bool repair, struct check_report *report,
                 struct err *err);

#endif
