/* node_agent/spool/spool.h - what is to be delivered, on local disk
 *
 * A directory with a ledger and the shipments; doc/format-spool.md describes
 * both.  A capture is seen, settled, then sealed: its items have a fixed
 * content, named by its hash.  An item is offered, transferred, durable (the
 * aggregator has it, fsynced on its side) and released (nothing of it is left
 * here).  Starting again needs nothing but the directory.
 *
 * Not for several threads; but files that spool_file names may be written by
 * any.  Unless said otherwise functions return 0 or a negative errno, and then
 * nothing has changed: -ENOSPC and -EIO of the disk, -EBADMSG when the ledger
 * is damaged: see spool_damage.
 *
 * This folder: the durable queue: its ledger and files, which files a
 * capture had, what was lost, what is asked for again.
 */
#ifndef ROLLCALL_SPOOL_SPOOL_H
#define ROLLCALL_SPOOL_SPOOL_H

#include "net/message.h"

#include <limits.h>

/* Where an agent that is a service keeps them: STATE/spool-JOB. */
#define SPOOL_STATE_DEFAULT "/var/lib/rollcall-agent"
#define SPOOL_STATE_VARIABLE "ROLLCALL_STATE"
#define SPOOL_PREFIX "spool-"

#define SPOOL_SEGMENT 1024              // chunk hashes that are read at once

/* Of captures and items, in the ledger as these numbers. */
enum spool_state {
    SPOOL_ASKED = 0,            // an item was acknowledged, and is not here any
                                // more: the aggregator is asked whether it is
                                // there
    SPOOL_SEEN = 1,             // a capture is there
    SPOOL_SETTLED = 2,          // it is finished, and being sealed
    SPOOL_SEALED = 3,
    SPOOL_OFFERED = 4,          // this and the next are only advice
    SPOOL_TRANSFERRING = 5,
    SPOOL_DURABLE = 6,          // of a capture: no item of it is open
    SPOOL_RELEASED = 7,
    SPOOL_CHANGED = 8,          // a raw file was written to after sealing
    SPOOL_VANISHED = 9,
    SPOOL_QUARANTINED = 10,     // damaged: set aside, its capture sealed again
    SPOOL_LOST = 11,            // it was acknowledged, and is nowhere any more
    SPOOL_STATES
};

const char *spool_state_name (enum spool_state s);

struct spool;
struct sqlite3;

/* The ledger, for the spool's other files. */
struct sqlite3 *spool_db (struct spool *s);

struct spool_item {
    uint64_t id;
    uint64_t capture_id;
    enum item_kind kind;
    enum spool_state state;
    bool own;                           // 'file' is in the spool
    int64_t rank;
    uint64_t size;
    int64_t newest_ns;                  // of this version of the capture
    struct digest content;
    char capture[MESSAGE_NAME_MAX];
    char place[MESSAGE_PLACE_MAX];      // see spool_divide; else ""
    char path[MESSAGE_PATH_MAX];        // within the capture, "" for rows
    char file[PATH_MAX];                // where the bytes are
};

/* Open or make the spool, and put right what an earlier life left half done.
 * The time and memory that this takes do not depend on how much is in it.
 * -ENOTSUP on a shared file system, where locks are not safe, or for a ledger
 * of a newer version; -EBUSY when another agent has it.
 */
int spool_open (const char *dir, struct spool **ret, struct err *err);
void spool_close (struct spool *s);     // s may be NULL

/* Why spool_open had to begin a new ledger, or NULL. */
const char *spool_set_aside (const struct spool *s);

/* What damage of the ledger any function has met since spool_open, those that
 * have no error to return included; NULL: none.  Then this spool is to be
 * closed: the next spool_open sets the ledger aside, whatever it looks like
 * then, and begins a new one.
 */
const char *spool_damage (const struct spool *s);

/* Not in a transaction, each second: are its files still what has their names?
 * 0: they are; 1: the ledger was removed or replaced, and put back with all that
 * it had; what was in its place is in 'aside', or "".  -ENODEV: this spool is to
 * be closed, and opened again by a next life: its directory is gone or another
 * one, or it cannot be opened.  Others: the ledger cannot be put back yet.
 */
int spool_look (struct spool *s, char aside[PATH_MAX], struct err *err);

/* Called when a capture is to be sealed again because what was sealed of it is
 * damaged; 'why' names the file.  An empty path: nobody knows which capture,
 * so all are to be looked at.
 */
typedef void spool_reseal_fn (void *arg, const char *capture_path,
                              const char *why);
void spool_on_reseal (struct spool *s, spool_reseal_fn *fn, void *arg);

/* Of which jobs the captures are is not known here: those of one name and rank
 * in two directories are two captures, not versions of one.  'host' tells this
 * host from others.  To be said before anything is sealed or offered.
 */
void spool_divide (struct spool *s, const char *host);

/* What tells a directory of a host: of the one that the capture lies in. */
void spool_place (const char *host, const char *capture_path,
                  char out[MESSAGE_PLACE_MAX]);

/* ---- captures ---- */

/* These captures are there now; in one transaction.  Known ones are fine. */
int spool_seen (struct spool *s, const char *const *paths, size_t n,
                struct err *err);

/* Captures that were seen and are not there any more, each with a call of 'fn'.
 * Where they are has to be found out: then spool_vanished or spool_moved.
 */
int spool_find_gone (struct spool *s,
                     void (*fn) (void *arg, const char *capture_path),
                     void *arg, struct err *err);

/* This capture is not there any more: 1, it was only seen, and is vanished now;
 * 0, it was read, or is being read; or negative.
 */
int spool_vanished (struct spool *s, const char *capture_path,
                    struct err *err);

/* It is not there any more, and is known by another path. */
int spool_moved (struct spool *s, const char *capture_path, struct err *err);

/* Whether this version of a capture has been sealed before. */
bool spool_knows (struct spool *s, const char *capture_path,
                  const char *fingerprint);

/* A version of a capture is about to be sealed; 'id' is what its files in the
 * spool are named by.
 */
int spool_settle (struct spool *s, const char *capture_path,
                  const char *fingerprint, uint64_t *id, struct err *err);

/* It was not: remove its files; it is only seen now. */
void spool_unsettle (struct spool *s, uint64_t id);

/* The path for file 'number' of a settled capture: 0 is the shipment, others
 * are links to raw files.  The directory of it is there.
 */
int spool_file (struct spool *s, uint64_t id, unsigned number,
                char path[PATH_MAX], struct err *err);

struct spool_new {
    enum item_kind kind;
    unsigned number;            // of its file, unique within the capture
    bool own;                   // that file is there
    char *path;                 // within the capture, "" for rows
    uint64_t size;
    struct content_hash hash;   // of all its chunks
};

struct spool_left_out {         // raw files and directories
    uint64_t n;
    const char *first;          // path and reason of one; NULL if there is none
};

/* Seal the items of a settled capture, all or none, and note what of it is not
 * among them.  Files of rows (the shipment) must be fsynced already.  What was
 * lost of earlier versions is forgotten.  Of two versions of a name and rank
 * that have the same date the one that is sealed later is the newer one.
 */
int spool_seal (struct spool *s, uint64_t id, const char *capture,
                int64_t rank, const struct spool_new *items, size_t n,
                struct spool_left_out left_out, struct err *err);

/* Another directory than that of the capture 'id' had a capture of this name
 * and rank, with other content: the two pass for versions of one (not behind
 * spool_divide).  1, its path is in 'path'; 0, or negative.
 */
int spool_find_name_collision (struct spool *s, uint64_t id,
                               char path[PATH_MAX],
                               struct err *err);

/* ---- items ---- */

/* The first item of a kind after 'id' that is open or asked for (SPOOL_ASKED:
 * there is no file then).  Damaged ones are set aside on the way.  1 found, 0
 * none, negative on failure: ret->id is that of one that could not be set aside,
 * or 0.
 */
int spool_next (struct spool *s, enum item_kind kind, uint64_t id,
                struct spool_item *ret, struct err *err);

/* The hashes of chunks 'first' to 'first' + SPOOL_SEGMENT - 1 of an item that
 * has more than one, as far as there are; 'first' is a multiple of
 * SPOOL_SEGMENT.  How many, or -EBADMSG: damaged, to be set aside.
 */
int spool_hashes (struct spool *s, uint64_t id, uint64_t first,
                  struct digest out[SPOOL_SEGMENT], struct err *err);

/* How far an item is.  Only advice for people: kept in memory until the next
 * transaction, or until ADVICE_MAX of them have gathered.
 */
void spool_offered (struct spool *s, uint64_t id);
void spool_transferring (struct spool *s, uint64_t id, uint64_t offset);

/* They are durable: ledger first, in one transaction, then their files in the
 * spool are removed.  Again is harmless.
 */
int spool_durable (struct spool *s, const uint64_t *ids, size_t n,
                   struct err *err);

/* With the next spool_durable this is noted, too: the mark that came with the
 * acknowledgements; one of epoch 0 is none.  And the latest, of epoch 0 if there
 * was none.
 */
void spool_set_mark (struct spool *s, const struct ledger_mark *mark);
struct ledger_mark spool_mark (const struct spool *s);

/* Whether anything was ever acknowledged; and whether that was without a mark:
 * the aggregator was of a version that has none, or the note of it is damaged.
 */
bool spool_has_delivered (const struct spool *s);
bool spool_lacks_mark (const struct spool *s);

/* A raw file cannot be delivered: SPOOL_CHANGED or SPOOL_VANISHED. */
int spool_gone (struct spool *s, uint64_t id, enum spool_state state,
                const char *why, struct err *err);

/* Items that were asked for are not there either, in one transaction.  What
 * they are of their captures is lost until these come again.
 */
int spool_lost (struct spool *s, const uint64_t *ids, size_t n,
                struct err *err);

/* What is sealed of an item is damaged: its file goes into quarantine, beside
 * a file that says why, and its capture is sealed again.
 */
int spool_quarantine (struct spool *s, const struct spool_item *item,
                      const char *why, struct err *err);

/* ---- delivered, and lost there ---- */

/* What an aggregator has acknowledged until now is lost there: all captures are
 * to be sealed once more, or asked for, in this life or a later one.  There is
 * no mark then, nor does the spool lack one.  If it did nobody knows whether
 * they are lost.
 */
int spool_begin_redelivery (struct spool *s, struct err *err);

/* Whether that is still to be done; and some of it: 1 there is more, 0 that was
 * the last.  Behind that all captures are to be looked at: spool_knows does not
 * know these any more, nor are they released.  Of those that are not there, nor
 * known elsewhere, what was acknowledged is asked for: see spool_next.  What is
 * in the spool and not yet durable stays on its way.
 */
struct spool_redelivery {
    uint64_t at;                // begins as zeros, and is kept between calls
    uint64_t captures;          // that are there
    uint64_t gone;              // that are not, nor elsewhere
    uint64_t last_gone;         // the id of the last of them
    bool in_doubt;              // whether any is lost
};

bool spool_redelivers (const struct spool *s);
int spool_redeliver (struct spool *s, struct spool_redelivery *r,
                     struct err *err);

/* Whether anything is asked for and not answered yet. */
bool spool_asks (const struct spool *s);

/* ---- numbers ---- */

struct spool_tally {
    uint64_t items, bytes;
};

/* Items of a kind in a state; from memory. */
struct spool_tally spool_tally (const struct spool *s, enum item_kind kind,
                                enum spool_state state);

/* Bytes of shipments that are in the spool. */
uint64_t spool_bytes (const struct spool *s);

/* Items of both kinds that are open or asked for. */
uint64_t spool_undelivered (const struct spool *s);

/* Nothing is open although spool_undelivered says so: count again, and put
 * the indexes right.
 */
int spool_recount (struct spool *s, struct err *err);

/* Whether a capture of this rank was ever sealed. */
bool spool_has_rank (struct spool *s, int64_t rank);

/* ---- what will not be delivered ---- */

#define SPOOL_LOSS_MAX 900              // bytes of the text

/* Called for each capture of which something is lost, in this life or a former
 * one: it vanished before it was read, or raw files of it did, were written to
 * or left out; or ('again') what was kept of it is damaged, or lost by the
 * aggregator, and it was not sealed again yet.  'fn' may be NULL.  How many
 * there are, or negative.
 */
typedef void spool_lost_fn (void *arg, const char *capture_path, bool again,
                            const char *text);
int spool_each_lost (struct spool *s, spool_lost_fn *fn, void *arg,
                     struct err *err);

/* The same for those of them that the aggregator had acknowledged and has lost,
 * and that were not there when it said so.
 */
int spool_each_lost_there (struct spool *s, spool_lost_fn *fn, void *arg,
                           struct err *err);

/* ---- what else is to survive ---- */

/* Keep what a wrapper said (one packet of each type), for the next life. */
int spool_keep_report (struct spool *s, int64_t rank, const char *type,
                       const char *packet, struct err *err);

/* Everything that was kept: hellos first, then ends. */
int spool_each_report (struct spool *s,
                       void (*fn) (void *arg, int64_t rank, const char *packet),
                       void *arg, struct err *err);

/* A text under a name, for people and the next life. */
int spool_keep_note (struct spool *s, const char *name, const char *text,
                     struct err *err);
bool spool_note (struct spool *s, const char *name, char *out, size_t size);

#endif
