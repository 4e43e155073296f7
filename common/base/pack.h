/* common/base/pack.h - compressed bytes (the only user of lz4frame.h and zstd.h)
 *
 * A frame has its content size and a checksum, that of LZ4 of each packed block
 * (one of the content would take a third of the time), that of zstd of the
 * content: `lz4 -d` and `zstd -d` read it, and damage is detected.
 */
#ifndef ROLLCALL_BASE_PACK_H
#define ROLLCALL_BASE_PACK_H

#include "base/buf.h"
#include "base/err.h"

/* How the bytes of a chunk are written: a number in messages and segments. */
enum chunk_codec {
    CODEC_PLAIN = 0,
    CODEC_LZ4 = 1,              // a frame of pack_frame
    CODEC_ZSTD = 2,
    CODECS
};

/* Find the codec of a name: lz4, zstd or none.  -EINVAL, -ENOTSUP: this build
 * does not have it; with a sentence about the option --compress.
 */
#define PACK_COMPRESS_HELP \
    "How raw files are packed, on the wire and in the aggregator's store: lz4, " \
    "zstd (smaller, more CPU time) or none. What does not get smaller is not " \
    "packed."
int pack_parse_codec (const char *name, enum chunk_codec *ret,
                      struct err *err);

/* The codecs that this build has, a bit for each: 1 << codec. */
unsigned pack_codecs (void);

/* Append a frame with 'size' bytes of 'data' to 'out'.  Returns 0, or -ENOMEM
 * if 'out' cannot grow enough.
 */
int pack_frame (const void *data, size_t size, struct buf *out,
                struct err *err);

/* Unpack one frame, which must contain exactly 'raw_size' bytes, into 'raw',
 * which has that much room.  Returns 0, or -EBADMSG if the frame is damaged,
 * too short, too long or followed by other bytes: ask the sender for it again.
 */
int pack_open (const void *frame, size_t size, void *raw, size_t raw_size,
               struct err *err);

/* Append the chunk in this codec, as pack_frame; -ENOTSUP: this build does not
 * have it.
 */
int pack_chunk (enum chunk_codec codec, const void *data, size_t size,
                struct buf *out);

/* Whether the chunks of one file get smaller: begins as zeros. */
struct pack_trial {
    uint64_t plain_until;       // chunk from which packing is tried again
    unsigned plain_run;         // chunks left plain after the last trial
};

/* Pack chunk number 'i' of a file if that makes it smaller: true, and it is in
 * 'out', which is emptied first.  Of a file of which the last trial failed, a
 * part is tried first, and the more trials have failed, the fewer chunks are
 * tried: 1 in 32 at least.
 */
bool pack_smaller (struct pack_trial *t, uint64_t i, enum chunk_codec codec,
                   const void *data, size_t size, struct buf *out);

/* Unpack a chunk of 'raw_size' bytes, at most PACK_ROOM, into 'raw', which has
 * PACK_ROOM bytes, whatever the size: LZ4 then needs no buffer in between.  As
 * pack_open; plain bytes are not copied.  Without 'sums' the checksums of LZ4 are
 * not compared: for callers that hash the bytes.  *ret gets the bytes, in 'raw'
 * or in 'stored'.  -ENOTSUP: this build does not have the codec, and nothing is
 * known of the bytes.
 */
#define PACK_ROOM (1u << 20)
int pack_chunk_open (enum chunk_codec codec, const void *stored, size_t size,
                     void *raw, size_t raw_size, bool sums, const void **ret);

const char *pack_version (void);        // of LZ4; a static text

#endif
