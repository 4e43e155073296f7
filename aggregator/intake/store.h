/* aggregator/intake/store.h - the bytes that were delivered
 *
 * What fits one chunk is appended to segment files, so that one fdatasync
 * covers many; larger content becomes a file of its own, named by its hash.
 * Nothing here counts until the ledger has its row.
 */
#ifndef ROLLCALL_INTAKE_STORE_H
#define ROLLCALL_INTAKE_STORE_H

#include "intake/ledger.h"

#define STORE_SEGMENT_MAX (UINT64_C (256) << 20)        // bytes, then a new one

struct store;

/* Open or make the store in 'root'.  -ENOTSUP on a shared file system. */
int store_open (const char *root, struct ledger *ledger, struct store **ret,
                struct err *err);
void store_close (struct store *s);     // s may be NULL

/* Append to the current segment. */
int store_append (struct store *s, const void *data, size_t size,
                  struct ledger_place *ret, struct err *err);

/* A file for content that comes in several chunks; the caller writes and
 * closes it, and keeps its 'number'.
 */
int store_incoming (struct store *s, uint64_t *number, struct err *err);
void store_discard (struct store *s, uint64_t number);

/* A complete incoming file, fsynced by the caller, under its name. */
int store_keep (struct store *s, uint64_t number, const struct digest *id,
                struct err *err);

/* fdatasync the segment and fsync the directories, before a ledger commit. */
int store_sync (struct store *s, struct err *err);

/* A descriptor to read content from; to be closed by the caller. */
int store_read (struct store *s, const struct digest *id,
                const struct ledger_place *place, struct err *err);

#endif
