/* aggregator/cluster_db/cluster_keys.h - the keys of an index, sorted on disk
 *
 * Each thread collects keys in a buffer and writes it, when it is full, as a
 * sorted run into one temporary file.  In the end one thread merges the runs
 * into the index.  So memory depends neither on the rows nor on the ranks: 4 MiB
 * a thread, and 4 KiB a run.
 */
#ifndef ROLLCALL_CLUSTER_DB_CLUSTER_KEYS_H
#define ROLLCALL_CLUSTER_DB_CLUSTER_KEYS_H

#include "base/texts.h"
#include "cluster_db/cluster_groups.h"
#include "sqlite_pages/sqlite_pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

struct key_run;

/* All keys of an index. */
struct cluster_keys {
    const struct cluster_groups *groups;
    bool by_rank;               // (step, group, rank, op, band), or else
                                // (group, step, op)
    int fd;
    pthread_mutex_t lock;       // over the rest
    off_t end;
    struct key_run *runs;
    size_t nruns;
};

/* 'path' must not exist, and nobody will see it.  'groups' is borrowed. */
int cluster_keys_create (struct cluster_keys *k, const char *path,
                         const struct cluster_groups *groups, bool by_rank,
                         struct err *err);
void cluster_keys_fini (struct cluster_keys *k);

/* Merge all keys into the index, when all buffers are closed.  The texts of
 * steps that these had must still be there.  -EINTR ('cancel', which may be
 * NULL, became true), -ENOMEM, -EIO, -ENOSPC.
 */
int cluster_keys_write (const struct cluster_keys *k, struct page_writer *x,
                        const atomic_bool *cancel, struct err *err);

/* ---- one thread's ---- */

struct key_buffer {
    struct cluster_keys *keys;
    const struct texts *steps;
    struct map places;          // of the keys: where they belong in the index
    uint32_t place;             // of the last key
    uint32_t last;              // its offset
    uint32_t used, nkeys;       // bytes, keys
    uint8_t *bytes;
};

/* 'keys' and 'steps' are borrowed; the steps of keys are numbers of texts
 * there.  -ENOMEM.
 */
int key_buffer_open (struct key_buffer *b, struct cluster_keys *keys,
                     const struct texts *steps, struct err *err);

/* Add the key of a row.  'op' has no NUL and at most CLUSTER_NAME_MAX bytes;
 * 'band' is a short text, or "".  Rowids ascend; their upper half is the rank.
 * 'same': all but the rowid is as in the call before.
 */
int key_buffer_add (struct key_buffer *b, uint32_t step, uint32_t group,
                    const char *op, size_t size, const char *band,
                    int64_t rowid, bool same, struct err *err);

/* Write what is left, unless 'rc', the result so far, says that nobody needs
 * it.  Closes in any case; fine for all zero.
 */
int key_buffer_close (struct key_buffer *b, int rc, struct err *err);

#endif
