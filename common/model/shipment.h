/* common/model/shipment.h - the rows of one capture, packed to travel
 *
 * Rows cross boundaries in this form only.  doc/format-shipment.md has the
 * format: a header, parts (rows, or "forget that table") as LZ4 frames, the
 * capture's metadata, and a footer that locates the metadata.
 */
#ifndef ROLLCALL_MODEL_SHIPMENT_H
#define ROLLCALL_MODEL_SHIPMENT_H

#include "base/err.h"
#include "model/batch.h"
#include "model/capture.h"
#include "store/byte_source.h"

#define SHIPMENT_VERSION 1
#define SHIPMENT_RAW_MAX (8u << 20)     // bytes of one part, unpacked
#define SHIPMENT_META_MAX (64u << 20)   // bytes of the metadata, unpacked

struct shipment_writer;

/* Write to 'fd', which is borrowed and must be at its start. */
struct shipment_writer *shipment_writer_create (int fd);  // NULL: no memory
void shipment_writer_destroy (struct shipment_writer *w);  // w may be NULL

/* Where the rows go. */
const struct row_sink *shipment_sink (struct shipment_writer *w);

/* Write the metadata and the footer; 'size' gets the size of the whole
 * shipment.  Does not fsync.  -errno of the disk, or -ENOMEM.
 */
int shipment_finish (struct shipment_writer *w, const struct capture *c,
                     uint64_t *size, struct err *err);

/* Read only the metadata of the shipment.  -EBADMSG if it is damaged or of an
 * unknown version: set it aside.
 */
int shipment_read_meta (const struct byte_source *from, struct capture *c,
                        struct err *err);

/* The offset of the metadata: the bytes before do not depend on the reader or
 * its host.  -EBADMSG as above.
 */
int shipment_find_meta (const struct byte_source *from, uint64_t *ret,
                        struct err *err);

/* Read all: rows into the sink, metadata into 'c'.  -EBADMSG as above (after
 * the rows before the damage), or the sink's error.
 */
int shipment_replay (const struct byte_source *from,
                     const struct row_sink *sink, struct capture *c,
                     struct err *err);

#endif
