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

/* Read all tables of the analysis.db at 'path', which nobody may write
 * meanwhile, by so many threads, 1 at least.  'cancel' may be NULL.  Returns 0
 * or, with a sentence, -EBADMSG: rows are damaged; -EINTR: cancelled; -ENOMEM, an
 * error of open(2) or pread(2); -EIO also if SQLite cannot read the schema, or
 * if it has no table Capture.
 */
int rows_digest (const char *path, unsigned threads, const atomic_bool *cancel,
                 struct digest *ret, struct err *err);

#endif
