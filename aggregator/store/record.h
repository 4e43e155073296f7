/* aggregator/store/record.h - what stands before a content in a segment
 *
 * Segments describe themselves: the ledger can be made again from them.  The
 * bytes are in doc/format-store.md.
 */
#ifndef ROLLCALL_STORE_RECORD_H
#define ROLLCALL_STORE_RECORD_H

#include "ledger/ledger.h"

#define RECORD_MAX 4096                 // bytes, without the content

enum record_kind {
    RECORD_CONTENT = 1,         // an item, whose content follows
    RECORD_REFER = 2,           // an item, whose content is at item.place
    RECORD_JOB = 3,             // what was said of a job
    RECORD_ASSIGN = 4,          // a version of a capture was given to a job
    RECORD_BOUND = 5,           // a key speaks for a host
};

struct record {
    enum record_kind kind;
    struct ledger_item item;    // of a job: its name only
    struct size_claim word;     // of a job
    struct ledger_assignment assignment;
    struct ledger_bound bound;
    size_t size;                // bytes of the record; the content follows
};

/* Append the record; 0 or -ENOMEM. */
int record_encode (const struct record *r, struct buf *out);

/* Read the record at the beginning of 'bytes'.  -ENODATA: cut short; -EBADMSG:
 * there is none, or it is damaged.
 */
int record_decode (struct record *r, const void *bytes, size_t size,
                   struct err *err);

/* Look at the records in [from, to) of a segment, in order.  'fn' gets each
 * with the place of its content, and with 'bad' 0, or -EBADMSG when the content
 * does not have its hash.  Bytes that are no record are given with 'r' NULL
 * and their extent in 'gap'; what follows them is looked for.  Stops when fn
 * is negative, and returns that.  -EIO, -ENOMEM.
 */
typedef int record_fn (void *arg, const struct record *r, int bad,
                       const struct ledger_place *gap);
int record_scan (int fd, int64_t segment, uint64_t from, uint64_t to,
                 record_fn *fn, void *arg, struct err *err);

/* The id of what is at fd[offset..+size): 0, -ENODATA: it is cut short, -EIO,
 * -ENOMEM.
 */
int record_hash (int fd, const struct ledger_place *place,
                 struct digest *ret);

/* The content at fd[offset..+size) has this id: 0, -EBADMSG or -EIO. */
int record_check_content (int fd, const struct digest *id,
                          const struct ledger_place *place, struct err *err);

#endif
