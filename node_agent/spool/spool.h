/* node_agent/spool/spool.h - what is to be delivered, on local disk
 *
 * A directory with a ledger and the shipments.  An item is sealed (its content
 * is fixed and named by its hash), then durable (the aggregator has it, fsynced
 * on its side).  Every change is one synchronous transaction; starting again
 * needs nothing but the directory.
 */
#ifndef ROLLCALL_SPOOL_SPOOL_H
#define ROLLCALL_SPOOL_SPOOL_H

#include "net/message.h"

#include <limits.h>

struct spool;

struct spool_item {
    uint64_t id;
    enum item_kind kind;
    int64_t rank;
    uint64_t size;
    struct digest content;
    char capture[MESSAGE_NAME_MAX];
    char path[MESSAGE_PATH_MAX];        // within the capture, "" for rows
    char file[PATH_MAX];                // where the bytes are
};

/* Open or make the spool.  -ENOTSUP on a shared file system, where locks are
 * not safe; -EBUSY when another agent has it; -EIO if the ledger is damaged.
 */
int spool_open (const char *dir, struct spool **ret, struct err *err);
void spool_close (struct spool *s);     // s may be NULL

/* Whether this version of a capture has been sealed before. */
bool spool_knows (struct spool *s, const char *capture_path,
                  const char *fingerprint);

/* The path for a new shipment file, in the spool. */
int spool_temp (struct spool *s, char path[PATH_MAX], struct err *err);

/* Seal the items of one version of a capture, all or none.  Files of rows (the
 * shipment) must be fsynced already.
 */
int spool_seal (struct spool *s, const char *capture_path,
                const char *fingerprint, const struct spool_item *items,
                size_t n, struct err *err);

/* The first item after 'id' that is not durable, rows before raw files when
 * they were sealed together.  1 found, 0 none, negative on failure.
 */
int spool_next (struct spool *s, uint64_t id, struct spool_item *ret,
                struct err *err);

/* It is durable: ledger first, then the shipment file is removed. */
int spool_durable (struct spool *s, const struct spool_item *item,
                   struct err *err);

/* It cannot be delivered (the file vanished): kept in the ledger as such. */
int spool_gone (struct spool *s, uint64_t id, const char *why,
                struct err *err);

uint64_t spool_undelivered (struct spool *s);

/* Whether a capture of this rank was ever sealed. */
bool spool_has_rank (struct spool *s, int64_t rank);

/* Keep what a wrapper said (one packet of each type), for the next life. */
int spool_keep_said (struct spool *s, int64_t rank, const char *type,
                     const char *packet, struct err *err);

/* Everything that was kept: hellos first, then ends. */
int spool_each_said (struct spool *s,
                     void (*fn) (void *arg, int64_t rank, const char *packet),
                     void *arg, struct err *err);

#endif
