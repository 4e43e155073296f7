/* aggregator/store/store_private.h - shared by the store's parts */
#ifndef ROLLCALL_STORE_STORE_PRIVATE_H
#define ROLLCALL_STORE_STORE_PRIVATE_H

#include "base/pace.h"
#include "store/store.h"

#define STORE_FULL_MAX 1024     // segments filled between two commits; a commit
#define STORE_CROWDED 8         // is due after so many, and needs room itself

struct store {
    char root[PATH_MAX - 128];  // room for the names below it
    int segment_fd;             // -1: none open
    int64_t segment;            // its number, from 1
    uint64_t end;               // where the next record goes
    size_t head;                // bytes of the last record, without those
                                // behind it
    uint64_t committed;         // as the ledger knows it
    struct {
        int64_t segment;
        uint64_t end;
    } full[STORE_FULL_MAX];     // segments to be entered in the ledger
    size_t nfull;
    bool segment_dirty;         // written since the last store_sync
    bool names_dirty;           // a segment was created
    bool distrusted;            // an fsync of it or its name failed: it is
                                // never written to again
    bool cannot_commit;         // its uncommitted bytes are lost, so the next
                                // commit fails
    struct store_recovered recovered;   // when it was opened
    struct store_extent *sealed;        // segments before the open one, with
                                        // their minimum sizes
    size_t nsealed;
    size_t looked;              // the next of them to be checked: an index
    int64_t since_ns;           // (monotonic) the open one has bytes; 0: none
    struct segments *segments;  // to read with
    bool unsummed;              // some items may lack the checksum of their rows
    int64_t sum_ns;             // (monotonic) not before this are they looked for
    struct pace sums;
};

/* Open or create a segment; if that fails, the current one stays open. */
int store_open_segment (struct store *s, int64_t n, struct err *err);

/* Create a segment: the first number from 'n' on that no file has.  None that
 * is there is ever written over, whatever the ledger knows of it.
 */
int store_create_segment (struct store *s, int64_t n, struct err *err);

/* Begin an empty segment, the first from 'n' on, or the next one.  The current one
 * is sealed at its committed end, or stays open if that fails.
 */
int store_open_from (struct store *s, int64_t n, struct err *err);
int store_open_next (struct store *s, struct err *err);

/* Create the directories. */
int store_make_dirs (const struct store *s, struct err *err);

/* Record the extents that the ledger has of segments before the open one. */
int store_load_sealed (struct store *s, struct ledger *ledger,
                       struct err *err);
int store_add_extent (struct store_extent **list, size_t *n, int64_t segment,
                      uint64_t end, struct err *err);

/* A sealed segment is removed on purpose: nobody looks for it. */
void store_forget_segment (struct store *s, int64_t segment);

/* store_read.c: the chunks of a list, in order, with their places: 0, -ENOENT:
 * the ledger lacks one, as store_find_chunks, or what 'fn' says.
 */
typedef int store_chunk_fn (void *arg, const struct store_chunk *chunk);
int store_each_chunk (const struct store *s, struct ledger *ledger,
                      const struct digest *id,
                      const struct ledger_place *place, store_chunk_fn *fn,
                      void *arg, struct err *err);

/* store_recover.c: write records of all items into a new segment, then in a
 * transaction its extent.
 */
int store_write_all (struct store *s, struct ledger *ledger, struct err *err);
int store_account_all (struct store *s, struct ledger *ledger,
                       struct err *err);

#endif
