/* aggregator/archive/archive_stream.h - items of an archive in a pipe
 *
 * What rollcall archive get gives to a user who cannot read the root: the
 * service's process reads and checks the items, and the user's own one writes
 * the files.
 */
#ifndef ROLLCALL_ARCHIVE_ARCHIVE_STREAM_H
#define ROLLCALL_ARCHIVE_ARCHIVE_STREAM_H

#include "archive/archive.h"

/* Write an item to stdout.  One that cannot be read is told to the reader, who
 * names it: 0; or an error of stdout.
 */
int archive_stream_put (struct archive *a, const struct ledger_item *item);

/* Read the next item, all but its place and its time of arrival, and how many
 * ranks somebody says that its job has (0: nobody does): 1; 0: there are no more;
 * -EPROTO: that is no item.
 */
int archive_stream_next (FILE *f, struct ledger_item *item, int64_t *world_size,
                         struct err *err);

/* Write its bytes to a descriptor, which 'f' points to a FILE for
 * (archive_fill_fn); or pass over them if nobody has.  -EBADMSG, or another
 * reason for which it could not be read there; -EPROTO: the stream has ended.
 */
int archive_stream_fill (void *f, int out, struct err *err);

#endif
