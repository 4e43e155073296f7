/* common/store/content.h - identify content by its hash
 *
 * The id of at most 1 MiB is the SHA-256 of the bytes.  That of more is the
 * SHA-256 of the list of SHA-256s of its 1 MiB chunks, each bit inverted: each
 * chunk can be checked when it arrives, and equal chunks of different contents
 * have one id.  No chunk can be made that has the id of a list.
 */
#ifndef ROLLCALL_STORE_CONTENT_H
#define ROLLCALL_STORE_CONTENT_H

#include "base/digest.h"
#include "base/err.h"

#include <sys/types.h>

#define CONTENT_CHUNK (1u << 20)        // bytes; the last one may be shorter
#define CONTENT_SMALL (CONTENT_CHUNK / 16)      // bytes; smaller contents are
                                                // sent many at a time
#define CONTENT_SIZE_MAX (UINT64_C (1) << 40)   // 1 TiB, which no capture has

/* The hashes of chunks, in order. */
struct content_hash {
    struct digest *chunks;
    size_t n;
};

void content_hash_init (struct content_hash *h);
void content_hash_fini (struct content_hash *h);
int content_hash_add (struct content_hash *h, const void *chunk, size_t size);
int content_hash_end (const struct content_hash *h, struct digest *id);

/* The id of a content of several chunks: 0, or -ENOMEM. */
int content_list_id (const struct digest *chunks, size_t n, struct digest *id);

/* Called before each chunk, so that it can pause: a file can take hours.  A
 * negative result ends the hashing, which returns it.
 */
typedef int content_rest_fn (void *arg);

/* Hash the chunks of fd[0..size) into 'h', which is empty.  Pages that were
 * read are dropped from the page cache, so that hashing does not displace pages
 * of the job.  'rest' may be NULL. -ENODATA: the file is shorter.
 */
int content_hash_file (int fd, uint64_t size, struct content_hash *h,
                       content_rest_fn *rest, void *arg, struct err *err);

/* As content_hash_file, for the id only. */
int content_id_of_file (int fd, uint64_t size, struct digest *id,
                        struct err *err);

/* How many chunks a content of this size has. */
uint64_t content_chunks (uint64_t size);

#endif
