/* aggregator/store/store.h - the bytes that were delivered
 *
 * What fits one chunk is appended to segment files, so that one fdatasync
 * covers many; larger content becomes a file of its own, named by its hash.
 * A record in a segment says of each item what it is.  Nothing here counts
 * until the ledger has its row.
 *
 * This folder: the bytes that were delivered: segments and blobs, and who
 * has the root.
 */
#ifndef ROLLCALL_STORE_STORE_H
#define ROLLCALL_STORE_STORE_H

#include "ledger/ledger.h"

#include <limits.h>

#ifdef ROLLCALL_FAULTS
#define STORE_SEGMENT_MAX (UINT64_C (64) << 10)         // so that tests get
#else                                                   // beyond it
#define STORE_SEGMENT_MAX (UINT64_C (256) << 20)        // bytes, then a new one
#endif
#define STORE_LEASE_S (7 * 86400)       // so long an unfinished file is kept:
                                        // a node may be away for a weekend

struct store;

/* Bytes of segments that the ledger had not accounted for. */
struct store_recovered {
    uint64_t records, entered;  // whole ones, and how many bytes they are
    uint64_t between;           // no whole records, but such are behind them:
                                // they stay, and a check names them
    uint64_t cut;               // none, and nothing whole behind them
};

/* Open or make the store in 'root', for the one that has its lock.  What
 * stands in a segment and not in the ledger, since a former life did not
 * commit it or the ledger is an older one, is entered if it is whole; what is
 * not, and has nothing whole behind it, is cut off.  Unfinished files are kept
 * as far as the ledger knows them.  -ENOTSUP on a shared file system.
 */
int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err);
struct store_recovered store_recovered (const struct store *s);

/* Open one that is there, only for store_read. */
int store_open_read (const char *root, struct store **ret, struct err *err);
void store_close (struct store *s);     // s may be NULL

/* Append the record of an item and its content, whose place is put into the
 * item; or the record of an item whose content is at item->place; or what was
 * said of a job; or to which job a version of a capture was given; or to which
 * host a key is bound.
 */
int store_append (struct store *s, struct ledger_item *item, const void *data,
                  size_t size, struct err *err);
int store_refer (struct store *s, const struct ledger_item *item,
                 struct err *err);
int store_note_claim (struct store *s, const char *job,
                      const struct size_claim *word, struct err *err);

int store_note_assignment (struct store *s,
                           const struct ledger_assignment *a, struct err *err);
int store_note_bound (struct store *s, const struct ledger_bound *b,
                      struct err *err);

/* Content that comes in several chunks, in a file of this name; how many bytes
 * of it there are (0: no file).  -ESTALE: what is before 'offset' is not
 * there any more, it has to come again.
 */
int store_incoming_write (struct store *s, const struct digest *name,
                          const void *data, size_t size, uint64_t offset,
                          struct err *err);
int store_incoming_sync (struct store *s, const struct digest *name,
                         struct err *err);
uint64_t store_incoming_size (struct store *s, const struct digest *name);
void store_discard (struct store *s, const struct digest *name);

/* A complete incoming file, synced, becomes a content. */
int store_keep (struct store *s, const struct digest *name,
                const struct digest *id, struct err *err);

/* fdatasync the segment and fsync the directories, before a ledger commit:
 * -ESTALE if the segment is not the file of its name any more, or was cut;
 * then, in its transaction, how far segments are accounted for; then one of
 * these: what was appended counts, or is forgotten.
 */
int store_sync (struct store *s, struct err *err);
int store_account (struct store *s, struct ledger *ledger, struct err *err);
void store_committed (struct store *s);
void store_revert (struct store *s);

/* Write a record for every item that the ledger has, into a new segment: for
 * items whose own one is damaged or was never written.
 */
int store_describe (struct store *s, struct ledger *ledger, struct err *err);

/* What tells the rows of an item from others (ledger_item.rows), when a key is
 * known: the metadata, which say who read them, have no part in it.  0: there
 * is nothing to be told, or it cannot be read.
 */
int64_t store_sum_rows (struct store *s, const struct ledger_item *item);

/* What was removed, or cut, or replaced, by somebody else while it is used. */
struct store_extent {
    int64_t segment;
    uint64_t end;
};

struct store_lost {
    struct store_extent *segments;      // with what there still is of each
    size_t nsegments;
    struct digest *blobs;
    size_t nblobs;
    bool records;               // lost with a segment
};

/* Whether the open segment is the file of its name, with all that is committed;
 * and whether a content is where it was put.  Both are false only for what is
 * known not to be there: an error of the disk is none.
 */
bool store_is_there (const struct store *s);
bool store_has (const struct store *s, const struct digest *id,
                const struct ledger_place *place);

/* Look at the open segment, and at some of the others and of the blobs in turn;
 * at all of them if any is missing, or with 'all': 1, something is lost and in
 * 'ret', which store_lost_fini frees; 0; or negative.  Nothing may wait for a
 * commit.
 */
int store_look (struct store *s, struct ledger *ledger, bool all,
                struct store_lost *ret, struct err *err);
void store_lost_fini (struct store_lost *lost);

/* Let the ledger know of it, in one transaction, with new records of all items
 * in a new segment if some were lost.  'fn' as in ledger_note_loss; 1 if any
 * content was lost, then ledger_begin_epoch is to follow; 0; negative: nothing
 * has changed, it may be tried again.
 */
int store_repair (struct store *s, struct ledger *ledger,
                  const struct store_lost *lost,
                  void (*fn) (void *arg, const struct ledger_item *item),
                  void *arg, struct err *err);

/* A descriptor to read content from; to be closed by the caller. */
int store_read (struct store *s, const struct digest *id,
                const struct ledger_place *place, struct err *err);

/* Paths below a root; in tools that look at it. */
void store_segment_path (const char *root, int64_t n, char out[PATH_MAX]);
void store_blob_path (const char *root, const struct digest *id,
                      char out[PATH_MAX]);

#endif
