/* aggregator/store/record.h - the records in segments
 *
 * Segments describe themselves: the ledger can be rebuilt from them.
 * doc/format-store.md has the format.
 */
#ifndef ROLLCALL_STORE_RECORD_H
#define ROLLCALL_STORE_RECORD_H

#include "ledger/ledger.h"
#include "store/segment.h"

#define RECORD_MAX 4096                 // bytes, without the content
#define RECORD_STORED_MAX (CONTENT_CHUNK - 1)   // bytes of a packed chunk

enum record_kind {
    RECORD_CHUNK = 1,           // its bytes follow
    RECORD_LIST = 2,            // the ids of a content's chunks follow
    RECORD_ITEM = 3,            // it refers to a content
    RECORD_JOB = 4,             // a claim about a job
    RECORD_ASSIGN = 5,          // a version of a capture is assigned to a job
    RECORD_BOUND = 6,           // a key speaks for a host
    RECORD_FACT = 7,            // a fact about a job, or that it is gone
    RECORD_DELETION = 8,        // a version of a capture was removed
};

struct record {
    enum record_kind kind;
    struct digest id;           // of a chunk or list, and where its bytes are
    struct ledger_place place;
    uint32_t sum;               // of those bytes (checksum.h)
    struct ledger_item item;    // without place; for a claim: the job's name
    struct size_claim word;     // of RECORD_JOB
    struct ledger_assignment assignment;
    struct ledger_bound bound;
    struct ledger_fact fact;
    struct ledger_deletion deletion;
    size_t size;                // bytes of the record, without those behind it
};

/* Append the record; 0 or -ENOMEM. */
int record_encode (const struct record *r, struct buf *out);

/* Parse the record at the start of 'bytes'.  -ENODATA: cut short; -EBADMSG:
 * none, or damaged.
 */
int record_decode (struct record *r, const void *bytes, size_t size,
                   struct err *err);

/* The bytes behind a record. */
static inline uint64_t record_inside (const struct record *r)
{
    return r->kind == RECORD_CHUNK || r->kind == RECORD_LIST ? r->place.stored
                                                             : 0;
}

/* Buffers to read chunks with. */
struct record_reader {
    void *stored, *plain;       // of CONTENT_CHUNK bytes, and a record
};

int record_reader_init (struct record_reader *b);       // -ENOMEM
void record_reader_fini (struct record_reader *b);

/* Read a chunk, and unpack it: *ret gets its place->size bytes, in one of the
 * buffers.  -ENODATA: cut short; -EBADMSG: it does not unpack, or ('id' is not
 * NULL) it has another id; -EIO, -EREMOTEIO: as segment_read.
 */
int record_read (struct record_reader *b, struct segment *f,
                 const struct ledger_place *place, const struct digest *id,
                 const void **ret);

/* Read a list of chunks, which the caller frees, and check its id: as
 * record_read, or -ENOMEM.
 */
int record_read_list (struct segment *f, const struct ledger_place *place,
                      const struct digest *id, struct digest **ret);

/* Check that the bytes at a place have this id: 0, -EBADMSG, -EIO, -EREMOTEIO,
 * -ENOMEM.
 */
int record_check (struct record_reader *b, struct segment *f,
                  const struct ledger_place *place, const struct digest *id);

/* Check that the record of this id and place is before it, and that the bytes at
 * the place have its checksum; nothing is unpacked.  So they are as they were
 * written: 0, -EBADMSG, -EIO, -ENOMEM.
 */
int record_check_stored (struct record_reader *b, struct segment *f,
                         const struct ledger_place *place,
                         const struct digest *id);

#define RECORD_CONTENT_SIZE 70          // bytes of the record of a content

/* Read the records in [from, to) of a segment, in order.  'fn' gets each with
 * its place, and with 'bad' 0, or -EBADMSG if the bytes behind it are damaged:
 * have another checksum or, if 'deep', another id; those that are only in a
 * store are not read, unless f->check_far.
 * Bytes that are not a record are given with 'r' NULL and their extent in
 * 'gap' (segment, offset, stored), and the search goes on behind them.  A
 * negative result of 'fn' ends it and is returned.  -EIO, -ENOMEM.
 */
typedef int record_fn (void *arg, const struct record *r, int bad,
                       const struct ledger_place *gap);
int record_scan (struct segment *f, uint64_t from, uint64_t to, bool deep,
                 record_fn *fn, void *arg, struct err *err);

/* How many of the records in the first 'size' bytes are damaged, or are none:
 * record_scan, deep.
 */
int record_count_bad (struct segment *f, uint64_t size, size_t *ret,
                      struct err *err);

#endif
