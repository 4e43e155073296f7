/* aggregator/publish/rows_digest.h - one SHA-256 over all rows of a result
 *
 * Two results of the same captures have the same digest, whoever built them, in
 * how many threads and in which order: the rows and their rowids are the same.
 * doc/format-analysis-db.md defines it.
 */
#ifndef ROLLCALL_PUBLISH_ROWS_DIGEST_H
#define ROLLCALL_PUBLISH_ROWS_DIGEST_H

#include "base/digest.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_BLOCK_BITS 32      // of a rowid: within its rank
#define ROWS_TABLE_MAX 32       // bytes of a table's name, with its NUL

/* The rows of a rank in a table, hashed. */
struct rows_block {
    char table[ROWS_TABLE_MAX];
    uint64_t number;            // rowid >> ROWS_BLOCK_BITS: the rank + 1
    struct digest digest;
};

/* In the order in which they are hashed: by table, then by number. */
struct rows_blocks {
    struct rows_block *list;
    size_t n;
};

/* Read all tables of the analysis.db at 'path', which nobody may write
 * meanwhile, by so many threads, 1 at least.  'cancel' may be NULL.  Returns 0
 * or, with a sentence, -EBADMSG: rows are damaged; -EINTR: cancelled; -ENOMEM, an
 * error of open(2) or pread(2); -EIO also if SQLite cannot read the schema, or
 * if it has no table Capture.
 */
int rows_digest (const char *path, unsigned threads, const atomic_bool *cancel,
                 struct digest *ret, struct err *err);

/* The same, but the rows of blocks that *blocks already has are not read.  On
 * success *blocks has all, but those of tables with longer names.
 */
int rows_digest_blocks (const char *path, unsigned threads,
                        const atomic_bool *cancel, struct rows_blocks *blocks,
                        struct digest *ret, struct err *err);

#endif
