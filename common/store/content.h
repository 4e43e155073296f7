/* common/store/content.h - the name of a piece of content
 *
 * The SHA-256 of the list of the SHA-256s of its 1 MiB chunks: each chunk can
 * be checked when it arrives, and resuming needs no rehashing.
 */
#ifndef ROLLCALL_STORE_CONTENT_H
#define ROLLCALL_STORE_CONTENT_H

#include "base/digest.h"
#include "base/err.h"

#include <sys/types.h>

#define CONTENT_CHUNK (1u << 20)        // bytes; the last one may be shorter
#define CONTENT_SMALL (CONTENT_CHUNK / 16)      // not more: many go together
#define CONTENT_SIZE_MAX (UINT64_C (1) << 43)   // 8 TiB: no capture has that

/* Collects chunk hashes, in order. */
struct content_hash {
    struct digest *chunks;
    size_t n;
};

void content_hash_init (struct content_hash *h);
void content_hash_fini (struct content_hash *h);
int content_hash_add (struct content_hash *h, const void *chunk, size_t size);
int content_hash_put (struct content_hash *h, const struct digest *chunk);
int content_hash_end (const struct content_hash *h, struct digest *id);

/* Called before each chunk, to rest: a file can take hours.  Negative: end now,
 * with this error.
 */
typedef int content_rest_fn (void *arg);

/* The chunks of fd[0..size) into 'h', which is empty.  Pages that were read are
 * dropped from the page cache again, so that hashing does not push the job's
 * own pages out.  'rest' may be NULL.  -ENODATA if the file is shorter.
 */
int content_hash_file (int fd, uint64_t size, struct content_hash *h,
                       content_rest_fn *rest, void *arg, struct err *err);

/* The same, of which only the id is of interest. */
int content_id_of_file (int fd, uint64_t size, struct digest *id,
                        struct err *err);

/* How many chunks a size has. */
uint64_t content_chunks (uint64_t size);

#endif
