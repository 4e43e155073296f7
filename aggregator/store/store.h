/* aggregator/store/store.h - the delivered data
 *
 * Content of up to one chunk is appended to segment files, so that one
 * fdatasync covers many; larger content becomes its own file, named by its
 * hash.  A record in a segment describes each item.  Nothing here counts until
 * the ledger has its row.
 *
 * This folder: the delivered data, as segments and blobs, and the root's lock.
 */
#ifndef ROLLCALL_STORE_STORE_H
#define ROLLCALL_STORE_STORE_H

#include "ledger/ledger.h"
#include "model/capture.h"

#include <limits.h>

#ifdef ROLLCALL_FAULTS
#define STORE_SEGMENT_MAX (UINT64_C (64) << 10)         // so that tests get
#else                                                   // beyond it
#define STORE_SEGMENT_MAX (UINT64_C (256) << 20)        // bytes, then a new one
#endif
#define STORE_LEASE_S (7 * 86400)       // so long an unfinished file is kept:
                                        // a node may be away for a weekend

struct store;

/* Bytes of segments that the ledger did not have. */
struct store_recovered {
    uint64_t records, entered;  // whole records, and their bytes
    uint64_t between;           // damaged bytes before a whole record: they
                                // stay, and a check reports them
    uint64_t cut;               // bytes behind the last whole record
};

/* Open or create the store in 'root', whose lock the caller has.  Whole records
 * of segments that the ledger lacks (not committed, or the ledger is an older
 * one) are entered; an incomplete end is cut off.  Unfinished files are kept if
 * the ledger knows them.  -ENOTSUP on a shared file system.
 */
int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err);
struct store_recovered store_recovered (const struct store *s);

/* Open an existing one, only for store_read. */
int store_open_read (const char *root, struct store **ret, struct err *err);
void store_close (struct store *s);     // s may be NULL

/* Append a record: of an item with its content, setting item->place; of an item
 * whose content is already at item->place; of a claim about a job; of the
 * assignment of a version to a job; of the binding of a key to a host.
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

/* Write content of several chunks to an incoming file; return the bytes that it
 * has (0: no file).  -ESTALE: bytes before 'offset' are missing, or the file
 * was replaced by another one: they have to be sent again.
 */
int store_incoming_write (struct store *s, const struct digest *name,
                          const void *data, size_t size, uint64_t offset,
                          struct err *err);
int store_incoming_sync (struct store *s, const struct digest *name,
                         struct err *err);
uint64_t store_incoming_size (struct store *s, const struct digest *name);
void store_discard (struct store *s, const struct digest *name);

/* Turn a complete and synced incoming file into a content.  -ESTALE: the file
 * had been replaced by another one, and was removed: request all again.
 */
int store_keep (struct store *s, const struct digest *name,
                const struct digest *id, struct err *err);

/* Before a ledger commit: fdatasync the segment and fsync the directories,
 * -ESTALE if the segment was removed, replaced or cut.  In the transaction:
 * record the extent of segments.  Afterwards one of these: keep what was
 * appended, or drop it.
 */
int store_sync (struct store *s, struct err *err);
int store_account (struct store *s, struct ledger *ledger, struct err *err);
void store_committed (struct store *s);
void store_revert (struct store *s);

/* Write a record for every item of the ledger into a new segment, for items
 * whose record is damaged or was never written.
 */
int store_describe (struct store *s, struct ledger *ledger, struct err *err);

/* The checksum of an item's rows (ledger_item.rows), if a key is known, without
 * metadata, which depend on the reader.  0: none, or it cannot be read.
 */
int64_t store_sum_rows (struct store *s, const struct ledger_item *item);

/* Files that somebody removed, cut or replaced while they are in use. */
struct store_extent {
    int64_t segment;
    uint64_t end;
};

struct store_lost {
    struct store_extent *segments;      // with the bytes that remain of each
    size_t nsegments;
    struct digest *blobs;
    size_t nblobs;
    bool records;               // records were lost with a segment
};

/* Whether the open segment still has its name and all committed bytes; and
 * whether a content is still in place.  An error of the disk does not make them
 * false.
 */
bool store_is_there (const struct store *s);
bool store_has (const struct store *s, const struct digest *id,
                const struct ledger_place *place);

/* Check the open segment, and some other segments and blobs in turn; all of
 * them if any is missing, or with 'all'.  1: losses are in 'ret', which
 * store_lost_fini frees; 0: none; or negative.  Commit everything before.
 */
int store_look (struct store *s, struct ledger *ledger, bool all,
                struct store_lost *ret, struct err *err);
void store_lost_fini (struct store_lost *lost);

/* Record losses in the ledger, in one transaction, with new records of all
 * items in a new segment if some were lost.  'fn' as in ledger_note_loss; 1 if
 * content was lost (call ledger_begin_epoch); 0; negative: nothing has changed,
 * try again.
 */
int store_repair (struct store *s, struct ledger *ledger,
                  const struct store_lost *lost,
                  void (*fn) (void *arg, const struct ledger_item *item),
                  void *arg, struct err *err);

/* A descriptor to read content from; to be closed by the caller. */
int store_read (struct store *s, const struct digest *id,
                const struct ledger_place *place, struct err *err);

/* Check the hash of a content: 0, or as record_check_content or store_read; and
 * read the metadata of a shipment, as shipment_read_meta.
 */
int store_check_content (struct store *s, const struct digest *id,
                         const struct ledger_place *place, struct err *err);
int store_read_meta (struct store *s, const struct digest *id,
                     const struct ledger_place *place, struct capture *ret,
                     struct err *err);

/* Paths below a root, for tools. */
void store_segment_path (const char *root, int64_t n, char out[PATH_MAX]);
void store_blob_path (const char *root, const struct digest *id,
                      char out[PATH_MAX]);
void store_path (const char *root, const struct digest *id,
                 const struct ledger_place *place, char out[PATH_MAX]);

#endif
