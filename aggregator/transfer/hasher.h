/* aggregator/transfer/hasher.h - hash a chunk while it is being written
 *
 * One thread, one chunk at a time: hashing a MiB takes as long as copying it
 * to the page cache, and both are done at once.
 */
#ifndef ROLLCALL_TRANSFER_HASHER_H
#define ROLLCALL_TRANSFER_HASHER_H

#include "base/digest.h"

struct hasher;

/* NULL without memory, or if no thread can be started. */
struct hasher *hasher_create (void);
void hasher_destroy (struct hasher *h);         // h may be NULL

/* Begin with data[0..size), which stays as it is until hasher_end; one at a
 * time.
 */
void hasher_begin (struct hasher *h, const void *data, size_t size);

/* Its digest: 0, or -ENOMEM.  If the thread has had no time for it yet, it is
 * made here: no caller waits for a thread that is not running.
 */
int hasher_end (struct hasher *h, struct digest *out);

#endif
