/* aggregator/store/store.h - the delivered data
 *
 * Everything is appended to segment files, so that one fdatasync covers many:
 * chunks of at most 1 MiB, packed as they arrived, and each chunk once; lists
 * of the chunks of larger contents; and items, which give a content its names.
 * Nothing here counts until the ledger has its row.
 *
 * This folder: the delivered data, in segments, and the root's lock.
 */
#ifndef ROLLCALL_STORE_STORE_H
#define ROLLCALL_STORE_STORE_H

#include "ledger/ledger.h"
#include "model/capture.h"
#include "store/byte_source.h"
#include "store/record.h"

#include <limits.h>
#include <stdatomic.h>

#ifdef ROLLCALL_FAULTS
#define STORE_SEGMENT_MAX (UINT64_C (64) << 10)         // so that tests get
#else                                                   // beyond it
#define STORE_SEGMENT_MAX (UINT64_C (256) << 20)        // bytes, then a new one
#endif

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
 * one) are entered; an incomplete end is cut off.  -ENOTSUP on a shared file
 * system.
 */
int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err);
struct store_recovered store_recovered (const struct store *s);

/* Open an existing one, only to read contents. */
int store_open_read (const char *root, struct store **ret, struct err *err);

/* The same for a root that is not here, from its object store only
 * (segments_create_far), which is not waited for long.  -ENOMEM.
 */
int store_open_far (const struct object_place *place, const char *root_id,
                    struct store **ret, struct err *err);
void store_close (struct store *s);     // s may be NULL
const char *store_root (const struct store *s);  // as store_open was given it

/* Its segments, to read them (store/segment.h). */
struct segments *store_segments (const struct store *s);

/* Append a chunk of 'size' bytes, in a codec, with this id, which is not checked
 * here; or the list of the chunks of a content of 'size' bytes.  'ret' gets its
 * place.
 */
int store_put_chunk (struct store *s, const struct digest *id, uint64_t size,
                     enum chunk_codec codec, const void *stored, size_t n,
                     struct ledger_place *ret, struct err *err);
int store_put_list (struct store *s, const struct digest *id, uint64_t size,
                    const struct digest *chunks, size_t n,
                    struct ledger_place *ret, struct err *err);

/* Take back what was appended last, with its record: it is damaged. */
void store_take_back (struct store *s, const struct ledger_place *last);

/* Whether a commit should not wait for more to be appended. */
bool store_is_crowded (const struct store *s);

/* Append a record: of an item, whose content is or will be here; of a claim
 * about a job; of the assignment of a version to a job; of the binding of a key
 * to a host; of a fact about a job; of a deletion.
 */
int store_put_item (struct store *s, const struct ledger_item *item,
                    struct err *err);
int store_note_claim (struct store *s, const char *job,
                      const struct size_claim *word, struct err *err);

int store_note_assignment (struct store *s,
                           const struct ledger_assignment *a, struct err *err);
int store_note_bound (struct store *s, const struct ledger_bound *b,
                      struct err *err);
int store_note_fact (struct store *s, const struct ledger_fact *f,
                     struct err *err);
int store_note_deletion (struct store *s, const struct ledger_deletion *d,
                         struct err *err);

/* Append any of these, and enter a record of any kind in the ledger, in a
 * transaction: 1 if it says something new (claims: always 0), or 0.  An item
 * without content is not entered.
 */
int store_note (struct store *s, const struct record *r, struct err *err);
int store_enter (struct store *s, struct ledger *ledger,
                 const struct record *r, struct err *err);

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

/* Files that somebody removed, cut or replaced while they are in use. */
struct store_extent {
    int64_t segment;
    uint64_t end;
};

struct store_lost {
    struct store_extent *segments;      // with the bytes that remain of each
    size_t nsegments;
    bool records;               // records were lost with a segment
};

/* Whether the open segment still has its name and all committed bytes; and
 * whether the bytes at a place are still there, and those of the chunks of a
 * list.  An error of the disk does not make them false.
 */
bool store_is_there (const struct store *s);
bool store_has_place (const struct store *s, const struct ledger_place *place);
bool store_has (const struct store *s, struct ledger *ledger,
                const struct digest *id, const struct ledger_place *place);

/* Check the open segment, and some other segments in turn; all of them if any
 * is missing, or with 'all'.  1: losses are in 'ret', which
 * store_lost_fini frees; 0: none; or negative.  Commit everything before.
 */
int store_look (struct store *s, bool all, struct store_lost *ret,
                struct err *err);
void store_lost_fini (struct store_lost *lost);

/* Forget, in a transaction, contents of which the ledger lacks a chunk, or whose
 * list is damaged: their chunks stay.
 */
int store_drop_broken (const struct store *s, struct ledger *ledger,
                       struct err *err);

/* Record losses in the ledger, in one transaction, also of contents of which a
 * chunk is lost, with new records of all items in a new segment if some were
 * lost.  'fn' as in ledger_note_loss; 1 if
 * content was lost (call ledger_begin_epoch); 0; negative: nothing has changed,
 * try again.
 */
int store_repair (struct store *s, struct ledger *ledger,
                  const struct store_lost *lost,
                  void (*fn) (void *arg, const struct ledger_item *item),
                  void *arg, struct err *err);

/* What a check has set aside has a reason in this directory of the root.  The
 * name of bytes of a segment that are no record; whether a name is there.
 */
#define STORE_QUARANTINE "quarantine"
void store_gap_name (const struct ledger_place *gap, char out[64]);
bool store_is_aside (const char *root, const char *name);

/* The segments behind number 'after' that are sealed and committed, with their
 * sizes, in order: they never change.  A negative result of 'fn' ends it and is
 * returned.
 */
int store_each_sealed (const struct store *s, int64_t after,
                       int (*fn) (void *arg, const struct store_extent *e),
                       void *arg);

/* The committed size of one that is not open; 0: there is no such segment. */
uint64_t store_sealed_end (const struct store *s, int64_t segment);

/* The open segment, with its committed bytes, which never change, too. */
struct store_extent store_open_extent (const struct store *s);

/* ---- reading: any thread may, with a reader of its own ---- */

/* The chunks of a content, in order. */
struct store_chunk {
    struct digest id;
    struct ledger_place place;
};

struct store_content {
    uint64_t size;
    size_t n;
    struct store_chunk one, *list;      // the list if there are several
};

/* Find the chunks of a content, at its place in the ledger, in the thread that
 * owns the ledger: -ENOENT if one is not here; -EBADMSG if the list is damaged;
 * -ENOMEM, -EIO.  store_content_fini frees 'ret'.
 */
int store_find_chunks (const struct store *s, struct ledger *ledger,
                       const struct digest *id,
                       const struct ledger_place *place,
                       struct store_content *ret, struct err *err);
void store_content_fini (struct store_content *c);

/* Open a content to read it; 'c' and 's' have to last as long, and 'c' may become
 * another content before a check: -ENOMEM.  Or find its chunks and open it, as
 * store_find_chunks.
 */
struct store_reader;
int store_reader_create (const struct store *s, const struct store_content *c,
                         struct store_reader **ret, struct err *err);
int store_reader_open (const struct store *s, struct ledger *ledger,
                       const struct digest *id,
                       const struct ledger_place *place,
                       struct store_reader **ret, struct err *err);
void store_reader_destroy (struct store_reader *r);     // r may be NULL

/* Who shares a content with other readers takes whole runs of so many chunks, from
 * a multiple of it on: of what is in an object store, a reader asks for more than
 * one at a time, but never beyond its run.  Here: 1.
 */
#define STORE_RUN 8
size_t store_reader_run (struct store_reader *r);

/* Its bytes, not checked except for what does not unpack. */
struct byte_source store_reader_source (struct store_reader *r);

/* What a failed read of these has meant: 'rc' and its sentence in 'err', or that
 * of the segment that could not be opened; or -EREMOTEIO and why the object store
 * did not give the bytes.
 */
int store_reader_why (const struct store_reader *r, int rc, struct err *err);

/* Whether the disk has failed to give bytes that were read last: -EIO is not of
 * whoever took them.
 */
bool store_reader_is_unread (const struct store_reader *r);

/* Read all of it and check the id of each chunk: 0, -EBADMSG: it is damaged,
 * -ENOENT: a segment is not there, -EREMOTEIO: it is only in an object store,
 * which does not give it, another error, or what 'fn' (NULL: only
 * check) says of the bytes, which it gets in order; -EINTR once *cancel is true
 * ('cancel' may be NULL).
 */
typedef int store_bytes_fn (void *arg, const void *bytes, size_t size);
int store_reader_check (struct store_reader *r, store_bytes_fn *fn, void *arg,
                        const atomic_bool *cancel, struct err *err);

/* A chunk of a content; and a check of one of what is open, as above. */
const struct store_chunk *store_chunk_at (const struct store_content *c,
                                          size_t i);
int store_reader_check_chunk (struct store_reader *r, size_t i,
                              const void **bytes, struct err *err);

/* Check that a chunk or a list is stored as it was written, with its record, of
 * whatever content it is: as above, but nothing is unpacked.  And read the
 * records of a part of a segment: record_scan, not deep.
 */
int store_reader_check_stored (struct store_reader *r,
                               const struct store_chunk *chunk,
                               struct err *err);
int store_reader_scan (struct store_reader *r, int64_t segment, uint64_t from,
                       uint64_t to, record_fn *fn, void *arg, struct err *err);

/* The same for a content that is read once: check it in both ways; read the
 * metadata of a shipment, as shipment_read_meta.
 */
int store_check_content (const struct store *s, struct ledger *ledger,
                         const struct digest *id,
                         const struct ledger_place *place, struct err *err);
int store_read_meta (const struct store *s, struct ledger *ledger,
                     const struct digest *id,
                     const struct ledger_place *place, struct capture *ret,
                     struct err *err);

/* The checksum of an item's rows (ledger_item.rows), if a key is known, without
 * metadata, which depend on the reader.  0: none, or it cannot be read: then
 * store_sum_later computes it, if that is because an object store is away.
 */
int64_t store_sum_rows (struct store *s, struct ledger *ledger,
                        const struct ledger_item *item,
                        const struct ledger_place *place);

/* Set it, in a transaction, for all items that have none: their contents were
 * met after them.
 */
int store_sum_all_rows (struct store *s, struct ledger *ledger,
                        struct err *err);

/* The same, if some could not be computed, also before a restart, and the object
 * store is not known to be away; call it from time to time.  It takes 0.1 s and one
 * item at most, and a tenth of the time.
 */
void store_sum_needed (struct store *s);
int store_sum_later (struct store *s, struct ledger *ledger, struct err *err);

/* The numbers of the files of segments in a root, whatever a ledger says, in
 * order; *numbers is the caller's.  -ENOENT: it is no root; -ENOMEM, or the
 * system's error.
 */
int store_list_segments (const char *root, int64_t **numbers, size_t *n,
                         struct err *err);

/* Begin another segment if the open one has had committed bytes for so long: then it
 * is sealed.  1: it was; 0; 2: not yet, as something waits for a commit; negative.
 */
int store_seal_after (struct store *s, int64_t age_ns, struct err *err);

/* The last segment with something committed; 0: there is none. */
int64_t store_last_used (const struct store *s);

/* The path of a segment, for tools. */
void store_segment_path (const char *root, int64_t n, char out[PATH_MAX]);

#endif
