/* aggregator/interchange/content_writer.h - read contents, and put their chunks into a root
 *
 * A writer belongs to a thread.  Each chunk is hashed, and packed only if the
 * root does not have it.
 */
#ifndef ROLLCALL_INTERCHANGE_CONTENT_WRITER_H
#define ROLLCALL_INTERCHANGE_CONTENT_WRITER_H

#include "archive/intake.h"
#include "base/pack.h"

struct content_writer;

int content_writer_create (struct intake *in, enum chunk_codec codec,
                           struct content_writer **ret, struct err *err);
void content_writer_destroy (struct content_writer *w); // w may be NULL

/* For the caller of a thread. */
void content_writer_set_arg (struct content_writer *w, void *arg);
void *content_writer_arg (const struct content_writer *w);

/* Put what comes in parts; 'pack' its chunks unless that makes them larger.
 * After content_writer_end it is in the root, with this id and size.  Negative:
 * the root failed, as intake_put_chunk.
 */
void content_writer_begin (struct content_writer *w, bool pack);
int content_writer_add (struct content_writer *w, const void *data, size_t n,
                        struct err *err);
int content_writer_end (struct content_writer *w, struct digest *id,
                        uint64_t *size, struct err *err);

/* Put fd[0..size) as a whole.  '*bad' is 0, or why it cannot be read: -EAGAIN,
 * it is shorter than that; -errno.
 */
int content_writer_put (struct content_writer *w, int fd, uint64_t size,
                        bool pack, struct digest *id, int *bad,
                        struct err *err);

/* A new file without a name in 'dir' (NULL: TMPDIR), which the caller closes, or
 * -errno.
 */
int content_temp (const char *dir, struct err *err);

#endif
