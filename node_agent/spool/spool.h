/* node_agent/spool/spool.h - data to be delivered, on local disk
 *
 * A directory with a ledger and the shipments; doc/format-spool.md describes
 * both.  A capture is seen, settled, then sealed: its items then have a fixed
 * content, named by its hash.  An item is offered, transferred, durable
 * (fsynced by the aggregator) and released (its file here is removed).  A
 * restart needs only the directory.
 *
 * Not thread-safe, except that any thread may write files that spool_file
 * names.  Unless stated otherwise, functions return 0, or a negative errno
 * after which nothing has changed: -ENOSPC and -EIO of the disk, -EBADMSG if
 * the ledger is damaged (see spool_damage).
 *
 * This folder: the durable queue: its ledger and files, manifests of captures,
 * losses and redelivery.
 */
#ifndef ROLLCALL_SPOOL_SPOOL_H
#define ROLLCALL_SPOOL_SPOOL_H

#include "net/endpoints.h"
#include "net/message.h"
#include "spool/spool_states.h"

#include <limits.h>

/* Where a service's agent keeps spools: STATE/spool-JOB. */
#define SPOOL_STATE_DEFAULT "/var/lib/rollcall-agent"
#define SPOOL_STATE_VARIABLE "ROLLCALL_STATE"
#define SPOOL_PREFIX "spool-"

#define SPOOL_COPIES_MAX ENDPOINT_COPIES_MAX

/* Copies have numbers: those below SPOOL_COPIES_MAX are of rows, and of raw
 * files, too, unless these go elsewhere: then SPOOL_RAW_COPY is the first of
 * them.
 */
#define SPOOL_RAW_COPY SPOOL_COPIES_MAX
#define SPOOL_COPIES_ALL (2 * SPOOL_COPIES_MAX)

#define SPOOL_NO_COPY SPOOL_COPIES_ALL

#define SPOOL_KINDS 3           // ITEM_ROWS, ITEM_RAW, and an unused 0
#define SPOOL_SEGMENT 1024              // chunk hashes that are read at once

struct spool;

struct spool_item {
    uint64_t id;
    uint64_t capture_id;
    enum item_kind kind;
    enum spool_state state;
    bool own;                           // 'file' is in the spool
    bool here;                          // 'file' may have the bytes
    int64_t rank;
    uint64_t size;
    int64_t newest_ns;                  // of this version of the capture
    struct file_facts facts;            // of a raw file
    struct digest content;
    char capture[MESSAGE_NAME_MAX];
    char place[MESSAGE_PLACE_MAX];      // see spool_divide; else ""
    char path[MESSAGE_PATH_MAX];        // within the capture, "" for rows
    char file[PATH_MAX];                // where the bytes are
};

/* Open or create the spool, and complete what an earlier agent left unfinished.
 * Time and memory do not depend on its size.  -ENOTSUP on a shared file system,
 * where locks are not safe, or for a ledger of another version; -EBUSY if
 * another agent has it.
 */
int spool_open (const char *dir, struct spool **ret, struct err *err);
void spool_close (struct spool *s);     // s may be NULL

/* Log transitions of sealed captures at this level; LOG_LEVEL_DEBUG unless it
 * is called.
 */
void spool_log_captures (struct spool *s, enum log_level level);

/* Why spool_open began a new ledger, or NULL. */
const char *spool_set_aside (const struct spool *s);

/* The damage of the ledger that any function has found since spool_open, even
 * if it returned no error; NULL: none.  After damage, close this spool: the
 * next spool_open always sets the ledger aside and begins a new one.
 */
const char *spool_damage (const struct spool *s);

/* Check that the spool's files still have their names: call it every second,
 * outside of transactions.  0: they have; 1: the ledger was removed or
 * replaced, and was restored completely; 'aside' names what was in its place,
 * or "". -ENODEV: close this spool, for the next agent to open: its directory
 * was removed or replaced, or cannot be opened.  Other errors: the ledger
 * cannot be restored yet.
 */
int spool_look (struct spool *s, char aside[PATH_MAX], struct err *err);

/* Called when a capture has to be sealed again because its sealed data is
 * damaged; 'why' names the file.  An empty path: the capture is unknown, so
 * check all of them.
 */
typedef void spool_reseal_fn (void *arg, const char *capture_path,
                              const char *why);
void spool_on_reseal (struct spool *s, spool_reseal_fn *fn, void *arg);

/* The jobs of the captures are unknown here: captures of one name and rank in
 * two directories are two captures, not versions of one.  'host' identifies
 * this host.  Call it before anything is sealed or offered.
 */
void spool_divide (struct spool *s, const char *host);

/* Identify the directory that contains a capture, on this host. */
void spool_place (const char *host, const char *capture_path,
                  char out[MESSAGE_PLACE_MAX]);

/* ---- captures ---- */

/* Add these captures in one transaction; known ones are skipped. */
int spool_seen (struct spool *s, const char *const *paths, size_t n,
                struct err *err);

/* Call 'fn' for each capture that was seen and no longer exists.  The caller
 * finds out where it is, then calls spool_vanished or spool_moved.
 */
int spool_find_gone (struct spool *s,
                     void (*fn) (void *arg, const char *capture_path),
                     void *arg, struct err *err);

/* This capture no longer exists.  1: it was only seen, and is vanished now; 0:
 * it was read or is being read; or negative.
 */
int spool_vanished (struct spool *s, const char *capture_path,
                    struct err *err);

/* It no longer exists at this path, and is known by another one. */
int spool_moved (struct spool *s, const char *capture_path, struct err *err);

/* Whether this version of a capture has been sealed before. */
bool spool_knows (struct spool *s, const char *capture_path,
                  const char *fingerprint);

/* Whether this version of a capture is being sealed. */
bool spool_settles (struct spool *s, const char *capture_path,
                    const char *fingerprint);

/* Begin to seal a version of a capture; its files in the spool are named by
 * 'id'.
 */
int spool_settle (struct spool *s, const char *capture_path,
                  const char *fingerprint, uint64_t *id, struct err *err);

/* Stop sealing it: remove its files; it is only seen now. */
void spool_unsettle (struct spool *s, uint64_t id);

/* The path for file 'number' of a settled capture: 0 is the shipment, others
 * are links to raw files.  Its directory exists.
 */
int spool_file (struct spool *s, uint64_t id, unsigned number,
                char path[PATH_MAX], struct err *err);

struct spool_new {
    enum item_kind kind;
    unsigned number;            // of its file, unique within the capture
    bool own;                   // that file exists
    char *path;                 // within the capture, "" for rows
    uint64_t size;
    struct file_facts facts;    // of a raw file
    struct content_hash hash;   // of all its chunks
};

struct spool_left_out {         // raw files and directories
    uint64_t n;
    const char *first;          // path and reason of one; NULL if there is none
};

/* Whether a capture may be released when it is delivered (release_rows.h). */
struct spool_releasable {
    const char *path;           // of its directory
    enum release_event sealed;  // RELEASE_ALL_SEALED or RELEASE_ROWS_SEALED
    const struct buf *manifest; // its files; NULL: it may not, nor may an older
                                // version of it
    int64_t now_ns;             // wall clock
};

/* Seal all items of a settled capture or none, and record in the same transaction
 * what was left out, and whether it may be released; 'release' is NULL: what is
 * known of an older version stays.  Files of rows (the shipment) must be fsynced
 * already.  Losses of earlier versions are forgotten.  Of two versions of a name
 * and rank with the same date, the one that is sealed later is newer.
 */
int spool_seal (struct spool *s, uint64_t id, const char *capture,
                int64_t rank, const struct spool_new *items, size_t n,
                struct spool_left_out left_out,
                const struct spool_releasable *release, struct err *err);

/* Whether another directory had a capture with the name and rank of 'id' but
 * other content: the two look like versions of one (not after spool_divide). 1,
 * its path is in 'path'; 0, or negative.
 */
int spool_find_name_collision (struct spool *s, uint64_t id,
                               char path[PATH_MAX],
                               struct err *err);

/* ---- items ---- */

/* Find the first item of a kind after 'id' that is open or asked (SPOOL_ASKED:
 * its bytes are here only if 'here' is set).  Damaged ones are set aside.  1
 * found, 0 none, negative on failure: ret->id is one that could not be set aside,
 * or 0.
 */
int spool_next (struct spool *s, enum item_kind kind, uint64_t id,
                struct spool_item *ret, struct err *err);

/* Read the hashes of up to SPOOL_SEGMENT chunks from 'first' on (a multiple of
 * it), of an item that has more than one chunk.  Returns their number, or
 * -EBADMSG: they are damaged, and the item has to be set aside.
 */
int spool_hashes (struct spool *s, uint64_t id, uint64_t first,
                  struct digest out[SPOOL_SEGMENT], struct err *err);

/* Record the progress of an item.  This is only information: it is kept in
 * memory until the next transaction, or until there are ADVICE_MAX.
 */
void spool_offered (struct spool *s, uint64_t id);
void spool_transferring (struct spool *s, uint64_t id, uint64_t offset);

/* Make items durable: the ledger first, in one transaction, then their files in
 * the spool are removed.  Repeating it is harmless.
 */
int spool_durable (struct spool *s, const uint64_t *ids, size_t n,
                   struct err *err);

/* Which copy alone has acknowledged items of a kind that become durable from now
 * on: their files are kept, and the captures they are of (spool_next_release),
 * until spool_stored.  SPOOL_NO_COPY: they have all copies that they need; so it
 * is before the first call.  'two': as many are needed.  0, or negative: nothing
 * has changed.
 */
struct spool_keepers {
    bool two;
    unsigned of[SPOOL_KINDS];   // an unused one is SPOOL_NO_COPY
};
int spool_keep (struct spool *s, const struct spool_keepers *k,
                struct err *err);

/* All that the aggregator of this copy had in its ledger up to 'seq' has a second
 * copy: items that it keeps by such a mark are let go, unless a redelivery is under
 * way.  Which ledger it is, the caller knows (ship.h).
 */
int spool_stored (struct spool *s, unsigned copy, uint64_t seq,
                  struct err *err);

/* Items that are kept so, and the bytes of shipments among them; from memory. */
uint64_t spool_kept (const struct spool *s);
uint64_t spool_kept_bytes (const struct spool *s);

/* Whether anything was delivered to another copy alone than now keeps, and has to
 * be offered again; and do a part of it: 1 there is more, 0 that was all.  What is
 * kept is asked, with its bytes; a capture whose items are let go is to be sealed
 * again, if it is still here.  If one copy is enough, all is let go.  *captures
 * grows by how many these are.  -EAGAIN: a redelivery comes first.
 */
bool spool_has_to_revise (const struct spool *s);
int spool_revise (struct spool *s, uint64_t *captures, struct err *err);

/* Which copies there are: a bit for each number (1 unless it is called).  Each
 * has a mark; those of others are forgotten.  1: one of them was of raw files, so
 * a redelivery has begun (spool_redelivers), as these may be nowhere else; 0; or
 * negative.  The caller waits for all copies of an item before it calls
 * spool_durable.
 */
int spool_copies (struct spool *s, unsigned copies, struct err *err);

/* Record the mark of the acknowledgements of a copy with the next
 * spool_durable; epoch 0 means none.  spool_mark returns the latest one, with
 * epoch 0 if there was none.
 */
void spool_set_mark (struct spool *s, unsigned copy,
                     const struct ledger_mark *mark);
struct ledger_mark spool_mark (const struct spool *s, unsigned copy);

/* Whether anything was ever acknowledged; and whether that was without a mark
 * of this copy: the aggregator's version had none, there was no such copy, or
 * the note is damaged.
 */
bool spool_has_delivered (const struct spool *s);
bool spool_lacks_mark (const struct spool *s, unsigned copy);

/* A raw file cannot be delivered: SPOOL_HAS_CHANGED or SPOOL_IS_GONE. */
int spool_gone (struct spool *s, uint64_t id, enum spool_event event,
                const char *why, struct err *err);

/* The aggregator has lost these items that were asked about, in one
 * transaction.  That part of their captures is lost until these are sealed
 * again.
 */
int spool_lost (struct spool *s, const uint64_t *ids, size_t n,
                struct err *err);

/* An item's sealed data is damaged: move its file to quarantine, with a file
 * that has the reason, and have its capture sealed again.
 */
int spool_quarantine (struct spool *s, const struct spool_item *item,
                      const char *why, struct err *err);

/* ---- delivered, and lost by the aggregator ---- */

/* The aggregator of this copy lost what was acknowledged until now, or never had
 * it: all captures have to be sealed or asked about again, by this or a later
 * agent.  Afterwards there is no mark of it, and none is missing.  If one was
 * missing, it is unknown whether they are lost.
 */
int spool_begin_redelivery (struct spool *s, unsigned copy, struct err *err);

/* Whether a redelivery is unfinished; and do a part of it: 1 there is more, 0
 * that was the last.  Afterwards check all captures: spool_knows no longer
 * knows these, and they are not released.  If a capture no longer exists here,
 * its acknowledged items are asked: see spool_next.  Items that are not yet
 * durable are not affected.
 */
struct spool_redelivery {
    uint64_t at;                // zeros at first, kept between calls
    uint64_t captures;          // that exist
    uint64_t gone;              // that do not exist, not even elsewhere
    uint64_t last_gone;         // the id of the last of them
    bool in_doubt;              // whether any is lost is unknown
    bool only_gone;             // of spool_ask_gone
};

bool spool_redelivers (const struct spool *s);
int spool_redeliver (struct spool *s, struct spool_redelivery *r,
                     struct err *err);

/* Ask again about all that does not exist here: a redelivery that leaves alone what
 * does, and ends with this process.  Nothing if one is unfinished.
 */
void spool_ask_gone (struct spool *s);

/* Whether an item is asked and not answered yet. */
bool spool_asks (const struct spool *s);

/* ---- raw files on demand ---- */

/* A version of a capture that was sealed. */
struct spool_version {
    uint64_t id;
    int64_t newest_ns;          // as in struct spool_item
    char path[PATH_MAX];
};

/* Find the latest sealed version with this name, rank and place ("": not after
 * spool_divide).  1, 0: there is none, or negative.
 */
int spool_find_version (struct spool *s, const char *name, int64_t rank,
                        const char *place, struct spool_version *ret,
                        struct err *err);

/* The raw items of a version, one for each path, in the order of paths. */
struct spool_raw {
    char *path;
    enum spool_state state;
    char why[128];              // of a state without delivery, shortened
};

struct spool_raw_list {
    struct spool_raw *files;
    size_t n;
    uint64_t first;             // the lowest id, 0: there is none
    unsigned next_number;       // that no file of the version has
};

/* List them from the item 'from' on (0: all; an earlier list's 'first' saves
 * time).  The caller calls spool_raw_list_fini in any case.  0 or negative.
 */
int spool_list_raw (struct spool *s, uint64_t version, uint64_t from,
                    struct spool_raw_list *ret, struct err *err);
void spool_raw_list_fini (struct spool_raw_list *l);

/* Add raw files, which were hashed as for spool_seal, to a sealed version: they
 * are offered from now on, and the version is not released before they are
 * delivered.  -ESTALE: it was set aside meanwhile.
 */
int spool_add_raw (struct spool *s, uint64_t version,
                   const struct spool_new *items, size_t n, struct err *err);

/* A version is sealed without the raw files that it was settled with: it is
 * sealed again when they are wanted after all.  0 or as spool_settle.
 */
int spool_forget_raw (struct spool *s, uint64_t capture, struct err *err);

/* Give up all raw items that are open, since the aggregator wants raw files on
 * demand only, except those whose file exists only here.  'fn' is called for
 * each that was given up.  0 or negative: call it again.
 */
int spool_drop_raw (struct spool *s, void (*fn) (void *arg, uint64_t item),
                    void *arg, struct err *err);

/* ---- counts ---- */

struct spool_tally {
    uint64_t items, bytes;
};

/* Count items of a kind in a state; from memory. */
struct spool_tally spool_tally (const struct spool *s, enum item_kind kind,
                                enum spool_state state);

/* Bytes of the shipments in the spool. */
uint64_t spool_bytes (const struct spool *s);

/* Items of a kind that are open or asked; and of both. */
uint64_t spool_undelivered_of (const struct spool *s, enum item_kind kind);
uint64_t spool_undelivered (const struct spool *s);

/* Nothing is open although spool_undelivered is not 0: count again, and repair
 * the indexes.
 */
int spool_recount (struct spool *s, struct err *err);

/* Whether a capture of this rank was ever sealed. */
bool spool_has_rank (struct spool *s, int64_t rank);

/* ---- what will not be delivered ---- */

#define SPOOL_LOSS_MAX 900              // bytes of the text

/* Call 'fn' (or NULL) for each capture with a loss, found by this or an earlier
 * agent: it vanished before it was read, or raw files of it vanished, changed
 * or were left out; or ('again') its sealed data is damaged or was lost by the
 * aggregator, and it was not sealed again yet.  Returns their number, or
 * negative.
 */
typedef void spool_lost_fn (void *arg, const char *capture_path, bool again,
                            const char *text);
int spool_each_lost (struct spool *s, spool_lost_fn *fn, void *arg,
                     struct err *err);

/* The same for captures that the aggregator acknowledged and lost, and that did
 * not exist here when it reported this.
 */
int spool_each_lost_there (struct spool *s, spool_lost_fn *fn, void *arg,
                           struct err *err);

/* ---- what else is kept for the next agent ---- */

/* Keep a wrapper's report (one packet of each type), for the next agent. */
int spool_keep_report (struct spool *s, int64_t rank, const char *type,
                       const char *packet, struct err *err);

/* Call 'fn' for all reports that were kept: hellos first, then ends. */
int spool_each_report (struct spool *s,
                       void (*fn) (void *arg, int64_t rank, const char *packet),
                       void *arg, struct err *err);

/* Keep a text under a name, for people and the next agent. */
int spool_keep_note (struct spool *s, const char *name, const char *text,
                     struct err *err);
bool spool_note (struct spool *s, const char *name, char *out, size_t size);

/* The note of who has acknowledged what another aggregator is asked about: then
 * that one lacks it, and has not lost it.  "": the same one.
 */
#define SPOOL_FORMER "former"

#endif
