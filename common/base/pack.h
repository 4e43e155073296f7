/* common/base/pack.h - LZ4 frames (the only door to lz4frame.h)
 *
 * Frames carry their content size and a checksum of every block and of the
 * whole, so that `lz4 -d` opens them and damage is noticed.
 */
#ifndef ROLLCALL_BASE_PACK_H
#define ROLLCALL_BASE_PACK_H

#include "base/buf.h"
#include "base/err.h"

/* Append a frame with 'size' bytes of 'data' to 'out'.  Returns 0, or -ENOMEM
 * if 'out' cannot grow enough.
 */
int pack_frame (const void *data, size_t size, struct buf *out,
                struct err *err);

/* Open one frame that must hold exactly 'raw_size' bytes, into 'raw' (which has
 * that much room).  Returns 0, or -EBADMSG if the frame is damaged, too short,
 * too long or followed by other bytes: sending it again may help.
 */
int pack_open (const void *frame, size_t size, void *raw, size_t raw_size,
               struct err *err);

const char *pack_version (void);        // of LZ4; borrowed for ever

#endif
