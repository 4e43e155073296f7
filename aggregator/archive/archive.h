/* aggregator/archive/archive.h - the content of an aggregator's root
 *
 * Works while an aggregator serves the root: nothing is locked, and nothing is
 * written but a lease, if possible.
 *
 * This folder: the content of a root: read, divided into jobs, put in, removed,
 * changed by hand.
 */
#ifndef ROLLCALL_ARCHIVE_ARCHIVE_H
#define ROLLCALL_ARCHIVE_ARCHIVE_H

#include "base/map.h"
#include "ledger/ledger.h"
#include "model/job_mark.h"
#include "store/lease.h"
#include "store/store.h"
#include "store/tree.h"

#define ARCHIVE_THREADS 8       // at most, of a large item

struct archive {
    char root[PATH_MAX];
    struct ledger *ledger;
    struct store *store;
    bool deep;                  // archive_check and archive_verify unpack
    const char *visible_to;     // a user: only his jobs are there; or NULL
    struct lease lease;         // nothing is collected while it is open; or none
    struct map checked;         // chunks, and the result of their check
    uint64_t read;              // bytes that archive_check has read
    struct store_content content;       // the last one that was read, ...
    struct store_reader *in;    // ... by this, whose buffers stay; and by
    struct store_reader *more[ARCHIVE_THREADS - 1];     // these of threads
    unsigned threads;           // of archive_get; 0: one for each CPU
};

/* Whose capture that of an item is, by its job's name and number of ranks (0:
 * unknown); no job for one that is not assigned to any.
 */
void archive_mark (const struct ledger_item *item, const char *job,
                   int64_t world_size, struct job_mark *ret);

/* The reason for an item whose content a check had moved away, of ROOT. */
#define ARCHIVE_SET_ASIDE "it was damaged and set aside, see %s/quarantine"

/* -ENOENT: not a root; -EBADMSG: its ledger is damaged. */
int archive_open (const char *root, struct archive *a, struct err *err);

/* The same, but without a lease: for lists, since contents may be collected.  A
 * large ledger takes long to open.
 */
int archive_open_lists (const char *root, struct archive *a, struct err *err);
void archive_close (struct archive *a);

/* The names of all jobs that are visible, sorted; the caller frees each and the
 * list.  Their items: archive_items.h.
 */
int archive_jobs (struct archive *a, char ***names, size_t *n,
                  struct err *err);

/* Check that the bytes of an item exist (else -ENOENT) and are as they were
 * written, with their records, and if a->deep have its hash (else -EBADMSG).  A
 * chunk is read once, of however many items it is: 40 bytes of
 * memory for each, until the archive is closed.
 */
int archive_check (struct archive *a, const struct ledger_item *item,
                   struct err *err);

/* Write an item to a new file (else -EEXIST) of a tree, byte for byte, with its
 * mode and time, and with its owner if that is known and wanted (-EPERM);
 * directories above it are made, and symbolic links are not followed (-ELOOP).
 * The file appears whole, after its hash was checked, or not at all.  -EPERM also
 * if this user may not read a segment; -EBADMSG also if the disk does not give
 * its bytes.
 */
int archive_get (struct archive *a, const struct ledger_item *item,
                 const struct tree *to, const char *path, bool owner,
                 struct err *err);

/* The same for bytes from elsewhere: 'fill' writes them to the descriptor. */
typedef int archive_fill_fn (void *arg, int out, struct err *err);
int archive_write (const struct tree *to, const char *path,
                   const struct file_facts *facts, bool owner,
                   archive_fill_fn *fill, void *arg, struct err *err);

/* Give the bytes of an item to 'fn', in order, each chunk after its check: as
 * archive_check, or what 'fn' says.
 */
int archive_read (struct archive *a, const struct ledger_item *item,
                  store_bytes_fn *fn, void *arg, struct err *err);

#endif
