/* aggregator/store/record.h - the header of a content in a segment
 *
 * Segments describe themselves: the ledger can be rebuilt from them.
 * doc/format-store.md has the format.
 */
#ifndef ROLLCALL_STORE_RECORD_H
#define ROLLCALL_STORE_RECORD_H

#include "ledger/ledger.h"

#include <stdatomic.h>

#define RECORD_MAX 4096                 // bytes, without the content

enum record_kind {
    RECORD_CONTENT = 1,         // an item, whose content follows
    RECORD_REFER = 2,           // an item, whose content is at item.place
    RECORD_JOB = 3,             // a claim about a job
    RECORD_ASSIGN = 4,          // a version of a capture is assigned to a job
    RECORD_BOUND = 5,           // a key speaks for a host
};

struct record {
    enum record_kind kind;
    struct ledger_item item;    // for a claim: only the job's name
    struct size_claim word;     // of RECORD_JOB
    struct ledger_assignment assignment;
    struct ledger_bound bound;
    size_t size;                // bytes of the record; the content follows
};

/* Append the record; 0 or -ENOMEM. */
int record_encode (const struct record *r, struct buf *out);

/* Parse the record at the start of 'bytes'.  -ENODATA: cut short; -EBADMSG:
 * none, or damaged.
 */
int record_decode (struct record *r, const void *bytes, size_t size,
                   struct err *err);

/* Read the records in [from, to) of a segment, in order.  'fn' gets each with
 * the place of its content, and with 'bad' 0, or -EBADMSG if the content's hash
 * is wrong.  Bytes that are not a record are given with 'r' NULL and their
 * extent in 'gap', and the search goes on behind them.  A negative result of
 * 'fn' ends it and is returned.  -EIO, -ENOMEM.
 */
typedef int record_fn (void *arg, const struct record *r, int bad,
                       const struct ledger_place *gap);
int record_scan (int fd, int64_t segment, uint64_t from, uint64_t to,
                 record_fn *fn, void *arg, struct err *err);

/* Compute the id of fd[offset..+size): 0, -ENODATA: cut short, -EIO, -ENOMEM.
 */
int record_hash (int fd, const struct ledger_place *place,
                 struct digest *ret);

/* Copy fd[offset..+size) to 'to' and check that it has this id: 0, -EBADMSG: it
 * is damaged, or another error; -EINTR once *cancel is true ('cancel' may be
 * NULL).
 */
int record_copy (int fd, const struct ledger_place *place, int to,
                 const struct digest *id, const atomic_bool *cancel);

/* Check that fd[offset..+size) has this id: 0, -EBADMSG or -EIO. */
int record_check_content (int fd, const struct digest *id,
                          const struct ledger_place *place, struct err *err);

#endif
