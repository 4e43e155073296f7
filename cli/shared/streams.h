/* cli/shared/streams.h - output of other processes, as it comes */
#ifndef ROLLCALL_SHARED_STREAMS_H
#define ROLLCALL_SHARED_STREAMS_H

#include <poll.h>
#include <stddef.h>

#define STREAM(descriptor) { (descriptor), POLLIN, 0 }

/* Takes what has come of the stream with this index; without bytes: its end.  A
 * positive result: no more of this stream; a negative one: no more at all.
 */
typedef int stream_fn (void *arg, size_t stream, const void *data, size_t size);

/* Read all of them until each has ended, whichever has something, since who is not
 * read would be waited for; -1 has ended before.  All are closed at the end.  0;
 * -ECANCELED: cli_cancelled was set; the negative result of 'fn'; -errno.
 */
int streams_read (struct pollfd *streams, size_t n, stream_fn *fn, void *arg);

#endif
