/* aggregator/transfer/hasher.h - unpack and hash a chunk while it is being
 * written
 *
 * One thread, one chunk at a time: hashing a MiB takes as long as copying it
 * to the page cache, and both are done at once.
 */
#ifndef ROLLCALL_TRANSFER_HASHER_H
#define ROLLCALL_TRANSFER_HASHER_H

#include "base/digest.h"
#include "base/pack.h"

struct hasher;

/* A chunk as it came, and its plain size: CONTENT_CHUNK at most. */
struct hasher_chunk {
    enum chunk_codec codec;
    const void *stored;
    size_t n, size;
};

/* NULL without memory, or if no thread can be started. */
struct hasher *hasher_create (void);
void hasher_destroy (struct hasher *h);         // h may be NULL

/* Begin with a chunk, whose bytes stay as they are until hasher_end; one at a
 * time.
 */
void hasher_begin (struct hasher *h, const struct hasher_chunk *chunk);

/* Its digest: 0, -EBADMSG: it does not unpack to its size, or -ENOMEM.  If the
 * thread has had no time for it yet, it is made here: no caller waits for a
 * thread that is not running.
 */
int hasher_end (struct hasher *h, struct digest *out);

#endif
