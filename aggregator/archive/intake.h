/* aggregator/archive/intake.h - put into a root what no agent delivers
 *
 * For verbs: captures of a directory, jobs of another root.  Contents come
 * first, then the records that name them; what was put is durable after
 * intake_flush, and not before.  Putting something again changes nothing, so
 * that whatever was interrupted is repeated.
 *
 * If no aggregator serves the root, it is locked, and the records are appended
 * here.  Otherwise they go into files of ROOT/incoming, whole batches of
 * records as in a segment, and the aggregator is asked over control.sock to take
 * each (request.h).  That is as durable as what agents deliver, needs neither
 * keys nor a port, and there is one way to enter records.
 *
 * Any thread may call these functions.
 */
#ifndef ROLLCALL_ARCHIVE_INTAKE_H
#define ROLLCALL_ARCHIVE_INTAKE_H

#include "json/json.h"
#include "store/record.h"
#include "store/store.h"

#define INTAKE_DIR "incoming"           // in a root
#define INTAKE_BATCH (16u << 20)        // bytes of a file there, and a chunk

struct intake;

struct intake_sums {
    uint64_t chunks, bytes;     // that were new, as they are stored
    uint64_t items;             // that were put, new or not
    bool served;                // an aggregator has the root
};

/* Begin, in a root that is locked here or served by an aggregator; 'make': it
 * need not exist.  -EBUSY: another process has it; -EPERM: this is root, and
 * the root belongs to another user; -ENOENT; -EBADMSG: it is damaged; or what
 * opening says.
 */
int intake_open (const char *root, bool make, struct intake **ret,
                 struct err *err);

/* Begin in an open root: for its owner. */
int intake_begin (struct ledger *ledger, struct store *store,
                  struct intake **ret, struct err *err);

void intake_close (struct intake *in);  // drops what was not flushed; NULL: ok

/* From now on, contents that are known are read, and those that are damaged count
 * as not here: putting them again repairs all that has them.
 */
void intake_verify (struct intake *in);

/* Whether a content is here, or was put: 1, 0. */
int intake_has (struct intake *in, const struct digest *id, struct err *err);

/* Put a chunk of 'size' bytes, packed in 'codec' to 'n' bytes; or the list of
 * the chunks of a content, which are here.  Nothing happens if it is here.
 * Their ids are not checked.  -ENOSPC: the disk is full, or nearly.
 */
int intake_put_chunk (struct intake *in, const struct digest *id,
                      uint64_t size, enum chunk_codec codec, const void *bytes,
                      size_t n, struct err *err);
int intake_put_list (struct intake *in, const struct digest *id, uint64_t size,
                     const struct digest *chunks, size_t n, struct err *err);

/* Put a record that is no content; -ENOENT: the content of an item is not here.
 * An item that was removed on purpose is there again; the assignment of its
 * version comes before it.
 */
int intake_put_record (struct intake *in, const struct record *r,
                       struct err *err);

/* Make all of it durable. */
int intake_flush (struct intake *in, struct err *err);

/* The job that an item has, or would have, in the root. */
int intake_find_job (struct intake *in, struct ledger_item *item,
                     struct err *err);

/* Whether captures were assigned to the job without evidence that they are of
 * it; false if that cannot be read.
 */
bool intake_is_assumed (struct intake *in, const char *job);

/* Whether the root has the item's content under its name in its job, of whatever
 * date: 1, 0; and how many items a job has there that are not lost.
 */
int intake_has_same (struct intake *in, const struct ledger_item *item,
                     struct err *err);
int intake_count_items (struct intake *in, const char *job, uint64_t *ret,
                        struct err *err);

/* Whether the root has said something of what a fact or a claim is about: 1, 0.
 */
int intake_knows (struct intake *in, const struct record *r, struct err *err);

/* Make an empty directory in the root for what is unpacked: fileio_remove_tree
 * removes it, or a later intake if its process was killed.
 */
int intake_scratch (struct intake *in, char path[PATH_MAX], struct err *err);

/* Execute a request (request.h), as control_ask, after what was flushed. */
int intake_ask (struct intake *in, struct json *request, struct json **answer,
                struct err *err);

struct intake_sums intake_sums (struct intake *in);

/* Take the batch that 'asked', the request "take", names, for the user whom it
 * names.  'answer' gets "jobs": those that have something new.  -EBADMSG: it is no
 * whole batch, and nothing of it is taken.
 */
int intake_take (struct ledger *ledger, struct store *store,
                 const struct json *asked, struct json *answer,
                 struct err *err);

#endif
