/* aggregator/builder/former.h - a result whose rows are used again
 *
 * If only some captures of a job are new, the rows of the others are those of
 * the result that is to be replaced.  They are copied as they are stored, each
 * page being compared with its sum, instead of being read from captures.  All
 * else is made as in any build.  Whatever is not as expected is a reason not to
 * use it.
 */
#ifndef ROLLCALL_BUILDER_FORMER_H
#define ROLLCALL_BUILDER_FORMER_H

#include "builder/build.h"
#include "builder/part.h"

#include <sqlite3.h>

struct former;

/* The result in place, if job->state is its own, and all its captures are among
 * the sorted items with the same rowids and contents.  These are marked as
 * 'kept'.  NULL: it is of no use.
 */
struct former *former_open (const struct publish *out,
                            const struct build_job *job);

/* NULL is allowed. */
void former_close (struct former *f);

/* One thread's way through its rows. */
struct former_reader;

/* It begins before this rowid.  -ENOMEM, -EBADMSG: a page was changed. */
int former_reader_create (const struct former *f, int64_t first,
                          struct former_reader **ret, struct err *err);
void former_reader_destroy (struct former_reader *r);   // NULL is allowed

/* Copy all rows up to this rowid.  Errors also as page_writer_row. */
int former_copy (struct former_reader *r, struct part *p, int64_t last,
                 struct err *err);

/* Whether rows of these items depend on nothing but their captures, and what is
 * derived of them on nothing but groups.  Call when all captures are read.
 */
bool former_is_plain (const struct build_job *job, size_t nconflicts);

/* Make it the schema 'former' of a database, outside of a transaction. */
int former_attach (const struct former *f, sqlite3 *db, struct err *err);

/* Add to CommGroup for what kept captures used them.  -ESTALE: it has other
 * groups.
 */
int former_groups (sqlite3 *db, struct err *err);

/* Of the blocks of a result, keep those of large tables, which stay the same in
 * the next one if that keeps all its captures.
 */
void former_keep_blocks (struct rows_blocks *blocks);

#endif
