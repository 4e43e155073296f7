/* node_agent/spool/spool_private.h - the spool, between its files
 *
 * Each calls those above it only:
 *
 * spool_dir.c            the directory: paths of files, quarantine
 * spool_ledger.c         the database: schema, statements, damage
 * spool_states.c         tables of states, and each transition
 * spool_commit.c         transactions, and what each writes: states of items,
 *                        advice, tallies
 * wrapper_reports.c      reports of wrappers, and notes
 * losses.c               what will not be delivered
 * release_rows.c         captures that may be removed later
 * spool_marks.c          how far acknowledgements are valid
 * spool_captures.c       captures: seen, settled, sealed
 * spool_items.c          items: next, durable, gone, set aside
 * redeliver.c            acknowledged data that the aggregator may have lost
 * spool_kept.c           data that only one of two aggregators has acknowledged
 * redelivery_requests.c  that data, where it is no longer here
 * spool_wanted.c         raw files that the aggregator wants, or does not
 * spool.c                opening, recovery
 * spool_presence.c       files that are removed while it is in use
 * check_spool.c          spool_check
 */
#ifndef ROLLCALL_SPOOL_SPOOL_PRIVATE_H
#define ROLLCALL_SPOOL_SPOOL_PRIVATE_H

#include "spool/spool.h"

#include "store/db_presence.h"
#include "store/db_rows.h"

#define SPOOL_SCHEMA 1          // PRAGMA user_version
#define SPOOL_LEDGER "ledger.db"
#define SPOOL_ITEMS "items"
#define SPOOL_QUARANTINE "quarantine"
#define FILES_SHIFT 10          // captures in one directory: 1024, so that
                                // searching one takes milliseconds
#define ADVICE_MAX 1024         // kept in memory; then a transaction
#define SINCE_MAX 1024          // rows of a table, of which it is known since
                                // when they are in their state
#define PATH_SHORT (PATH_MAX - 64)      // of a spool: its files have room

struct advice {
    uint64_t id, offset;
    enum spool_event event;
};

enum spool_table {
    SPOOL_TABLE_CAPTURE,
    SPOOL_TABLE_ITEM,
    SPOOL_TABLE_RELEASE,
    SPOOL_TABLES
};

struct spool_since {
    uint64_t id;
    int64_t since_ns;           // monotonic; 0: unknown
};

/* How far the acknowledgements of one copy are valid. */
struct copy_mark {
    struct ledger_mark last;    // recorded, unless it is due
    bool due;
    bool known;                 // one is recorded, perhaps of epoch 0
};

struct spool {
    char dir[PATH_SHORT];
    int lock;                   // descriptor, locked
    sqlite3 *db;
    struct db_there there;      // identities of its files
    struct spool_tally tally[SPOOL_KINDS][SPOOL_STATES];
    struct spool_tally saved[SPOOL_KINDS][SPOOL_STATES];        // in the ledger
    bool recounted;             // write all tallies with the next commit
    struct advice advice[ADVICE_MAX];
    size_t nadvice;
    struct spool_since since[SPOOL_TABLES][SINCE_MAX];  // by id % SINCE_MAX
    enum log_level level;       // of transitions of sealed captures
    uint64_t made_dir;          // in items/, and fsynced; 0: none
    spool_reseal_fn *again;
    void *again_arg;
    char set_aside[ERR_TEXT_MAX];
    struct copy_mark marks[SPOOL_COPIES_ALL];
    struct spool_keepers keepers;       // see spool_keep
    unsigned ledgers[SPOOL_KINDS];      // whose positions are in the ledger, as
                                // spool_kept.c says
    uint64_t revised, revise_to;        // items, by spool_revise
    uint64_t revised_capture;   // the last one that it has counted
    struct spool_tally kept[SPOOL_KINDS], kept_saved[SPOOL_KINDS];
    uint64_t redeliver;         // captures of items up to this one; 0: none
    bool in_doubt;              // it is unknown whether they are lost
    bool only_gone;             // 'redeliver' is of spool_ask_gone
    bool in_use;                // spool_open has ended
    char damage[ERR_TEXT_MAX];  // "": none
    char host[MESSAGE_NAME_MAX];        // of spool_divide; "": a single job
};

/* ---- spool_dir.c ---- */

int spool_lock_dir (struct spool *s, struct err *err);
int spool_make_dirs (struct spool *s, struct err *err);

/* "items/GROUP" and "items/GROUP/ID-NUMBER" below the spool. */
void spool_group_path (const struct spool *s, uint64_t id,
                       char out[PATH_MAX]);
void spool_file_path (const struct spool *s, uint64_t id, unsigned number,
                      char out[PATH_MAX]);

/* Move a file to quarantine (it may be absent), with the reason. */
int spool_set_file_aside (struct spool *s, const char *file, const char *name,
                          const char *why, struct err *err);

/* Remove every file of a capture. */
int spool_remove_files (struct spool *s, uint64_t id, struct err *err);

/* Make the next spool_open set the ledger aside, by a file with this path. */
void spool_mark_damaged (struct spool *s, const char *why);
void spool_condemned_path (const struct spool *s, char out[PATH_MAX]);

/* ---- spool_ledger.c ---- */

/* Open the file ledger.db in s->dir; it may be empty, or new.  -EBADMSG if it
 * is damaged.
 */
int spool_ledger_connect (struct spool *s, bool *empty, struct err *err);
void spool_ledger_close (struct spool *s);

/* Create the tables of SPOOL_SCHEMA. */
int ledger_create (struct spool *s, struct err *err);

/* As db_error, but -EBADMSG for damage and for tables that are not ours. */
int ledger_error (struct spool *s, struct err *err);

/* As ledger_error, for our own errors: 'rc' and 'why'.  Both record damage for
 * spool_damage, as does each failing statement, so that ignored failures are
 * recorded, too.
 */
int ledger_fail (struct spool *s, int rc, const char *why, struct err *err);

/* As db_rows_kept and db_do (store/db_rows.h); failures are as ledger_error. */
#define spool_rows(s, err, ...) spool_rows_of (s, err, DB_VALUES (__VA_ARGS__))
#define spool_do(s, err, ...) db_finish (spool_rows (s, err, __VA_ARGS__))
struct db_rows spool_rows_of (struct spool *s, struct err *err,
                              const struct db_value *values);

/* ---- spool_states.c ---- */

/* Take an event for a row, with its reason (NULL or "": the event's name is
 * enough): set *state and log the change, as that of 'path' (NULL: of the
 * number 'id').  False, and nothing is changed, if there is no such edge; a
 * number that is no state has none.  The caller writes the row.  The log is
 * written before the commit: if that fails, the row has its old state again.
 */
bool spool_change (struct spool *s, enum spool_table table, uint64_t id,
                   const char *path, int *state, unsigned event,
                   const char *why);

/* ---- spool_commit.c ---- */

/* As spool_ledger_connect, with its tables and tallies. */
int spool_ledger_open (struct spool *s, struct err *err);

/* Begin and end a transaction.  The end commits if 'rc' is not negative;
 * otherwise, or if the commit fails, it rolls back and returns the failure.
 * 'point' is the name of the commit's fault point.
 */
int spool_ledger_begin (struct spool *s, struct err *err);
int spool_ledger_finish (struct spool *s, int rc, const char *point,
                         struct err *err);

struct item_row {
    uint64_t capture;
    int64_t size;
    int kind, state;
    unsigned number;
    bool own;
    uint64_t at;
};

/* 1 found, 0 not found. */
int item_find (struct spool *s, uint64_t id, struct item_row *r,
               struct err *err);

/* Take an event for an item, within a transaction: its row and the tallies
 * change.  1: its state has no edge for it, and stays.
 */
int item_move (struct spool *s, uint64_t id, const struct item_row *r,
               enum spool_event event, uint64_t at, const char *why,
               struct err *err);

/* A durable item is kept no longer (spool_keep), within a transaction: its file
 * may go when that is committed.
 */
int item_let_go (struct spool *s, uint64_t id, struct err *err);

/* Have the next transaction take an event; if there is no room for more events,
 * do it now.
 */
void item_advise (struct spool *s, uint64_t id, enum spool_event event,
                  uint64_t offset);

/* Read the tallies from their table; count them from all items. */
int tally_load (struct spool *s, struct err *err);
int tally_count (struct spool *s, struct err *err);

/* Whether the table equals 'tally'. */
bool tally_is_true (struct spool *s);

/* ---- spool.c ---- */

struct spool *spool_new_struct (const char *dir, struct err *err);

/* Captures with a wrong number of items that are open or asked. */
#define SPOOL_SHORT_CAPTURES \
    "SELECT c.id FROM capture c LEFT JOIN (SELECT capture AS id, count(*) AS " \
    "n FROM item WHERE state<6 GROUP BY capture) i ON " \
    "i.id=c.id WHERE c.open<>ifnull(i.n, 0)"

/* Find one of those: 1, or 0 if there is none. */
int capture_find_short (struct spool *s, uint64_t *id, struct err *err);

/* Take an event for a capture, in a transaction: its row gets the state and
 * this version (NULL: it stays). 1: its state has no edge for it, and stays.
 */
int capture_move (struct spool *s, uint64_t id, enum spool_event event,
                  const char *fingerprint, const char *why, struct err *err);

/* Have a capture sealed again: spool_knows no longer finds its row; call it in
 * a transaction.  'why' says what happened to the sealed data; NULL: nothing is
 * lost.  Its path goes to 'path', "" if that is damaged.
 */
int capture_forget (struct spool *s, uint64_t id, const char *why,
                    char path[PATH_MAX], struct err *err);

/* An item of the capture is no longer open: with the last one the capture
 * becomes durable.  More 'items' are undelivered, by SPOOL_ASK_AGAIN or
 * SPOOL_IS_WANTED: 1, or 0 if its state has no edge for that, or its row is
 * damaged.  One exists nowhere: the capture is lost.  Call them in a
 * transaction.
 */
int capture_close_one (struct spool *s, uint64_t id, struct err *err);
int capture_reopen (struct spool *s, uint64_t id, enum spool_event event,
                    unsigned items, struct err *err);

/* The version counts as one without raw files, in a transaction. */
int capture_forget_raw (struct spool *s, uint64_t id, struct err *err);
int capture_lose (struct spool *s, uint64_t id, struct err *err);

/* ---- spool_captures.c, spool_items.c ---- */

/* Members of a row, in the order of its checksum. */
#define CAPTURE_SUM(fingerprint, key, name, rank, state, open) \
    "row_sum('c', id, path, " fingerprint ", " key ", " name ", " rank ", " \
    state ", " open ")"
#define ITEM_SUM(state, at, why) \
    "row_sum('i', id, capture, number, kind, own, path, size, content, " \
    state ", " at ", " why ", mode, mtime_ns, uid, gid)"
#define RELEASE_SUM_AT(sealed_ns, state) \
    "row_sum('r', path, first_item, last_item, " sealed_ns ", manifest, " \
    state ")"
#define RELEASE_SUM(state) RELEASE_SUM_AT ("sealed_ns", state)

/* The captures 'b' of other directories with the name and rank of the capture
 * 'a'; and the path of one that looks like a version of it but is not a copy.
 */
#define OTHERS_OF(id) \
    "capture a JOIN capture b ON b.name=a.name AND b.rank=a.rank AND " \
    "b.path<>a.path WHERE a.id=" id
#define SUM_OF(fingerprint) \
    "substr(" fingerprint ", instr(" fingerprint ", '=') + 1, 16)"
#define COLLISION_OF(id) \
    "SELECT b.path FROM " OTHERS_OF (id) " AND b.state BETWEEN 3 AND 7 AND " \
    "is_one_capture(a.path, b.path) AND " SUM_OF ("b.fingerprint") "<>" SUM_OF ("a.fingerprint") \
    " LIMIT 1"

/* Those of the others that are copies and have not vanished. */
#define COPIES_OF(id) \
    OTHERS_OF (id) " AND b.state IN (3, 6, 10, 11) AND " \
    "instr(a.fingerprint, '=')>0 AND " \
    SUM_OF ("b.fingerprint") "=" SUM_OF ("a.fingerprint")

#define CAPTURE_IS_GOOD \
    "sum=" CAPTURE_SUM ("fingerprint", "key", "name", "rank", "state", "open")

/* Find the first item of a kind after 'id' that is open or asked, and its
 * damage, or NULL. 1 found, 0 none, negative on failure.
 */
int item_peek (struct spool *s, enum item_kind kind, uint64_t id,
               struct spool_item *ret, const char **why, struct err *err);

/* Add an item to a capture that is sealed, within a transaction. */
int item_add (struct spool *s, uint64_t capture, const struct spool_new *item,
              struct err *err);

/* Ask about a delivered item, within a transaction. */
int item_ask (struct spool *s, uint64_t id, struct err *err);

/* As item_move, for an event after which the item is no longer open or asked;
 * updates the capture's count of such items.
 */
int item_close (struct spool *s, uint64_t id, enum spool_event event,
                const char *why, struct err *err);

/* Remove the file of a durable item from the spool; its state 'released' is
 * advice.  If the removal fails, the item stays durable.
 */
void item_release (struct spool *s, uint64_t id);

/* The first item after 'id' that is durable, not kept (spool_keep) and not
 * released; 0: none.  And release all of these, as each start does, too.
 */
uint64_t spool_next_durable (struct spool *s, uint64_t id);
void item_release_all (struct spool *s);

/* ---- redeliver.c ---- */

/* Whether the row of a sealed capture is valid, and no later one has replaced it. */
bool capture_is_current (struct spool *s, uint64_t capture);

/* Have a capture sealed again if it is here, within a transaction: 1, or 0. */
int redeliver_if_here (struct spool *s, uint64_t capture, struct err *err);

/* ---- spool_kept.c ---- */

void keepers_load (struct spool *s);    // from the note

/* ---- wrapper_reports.c, losses.c: all within a transaction ---- */

int note_write (struct spool *s, const char *name, const char *text,
                struct err *err);

// its rows in the table 'note'; the text for a damaged one
#define NOTE_OF_LOSS "(note.name>='lost ' AND note.name<'lost!')"
#define LOSS_UNKNOWN "something is lost, and the note of it is damaged"

/* Record a loss: of the whole capture, with a reason; of so many raw files or
 * directories; of one more raw file.  No effect on a version after which
 * another one was sealed.  loss_forget: nothing of the capture is lost, in any
 * version; nor at its old place when it vanished, if its name identifies it;
 * nor of a forgotten copy that no longer exists.
 */
int loss_write (struct spool *s, uint64_t capture, const char *text,
                struct err *err);
int loss_left_out (struct spool *s, uint64_t capture, uint64_t n,
                   const char *first, struct err *err);
int loss_add_raw (struct spool *s, uint64_t capture, uint64_t item,
                  const char *why, struct err *err);
int loss_forget (struct spool *s, uint64_t capture, const char *name,
                 struct err *err);

/* The aggregator has lost the acknowledged rows, or this raw file;
 * loss_clear_there: the loss is asked about again.
 */
int loss_there (struct spool *s, uint64_t capture, const char *capture_path,
                enum item_kind kind, const char *path, struct err *err);
int loss_clear_there (struct spool *s, uint64_t capture, struct err *err);

/* Whether a later version of it was sealed completely. */
bool capture_is_superseded (struct spool *s, uint64_t capture);

/* Whether a copy of it exists in another directory. */
bool capture_is_elsewhere (struct spool *s, uint64_t capture);

/* ---- spool_marks.c: writing is within a transaction ---- */

void marks_load (struct spool *s);

/* Write the marks that are due (they were committed: marks_saved); write this
 * mark.
 */
int marks_save (struct spool *s, struct err *err);
void marks_saved (struct spool *s);
int mark_write (struct spool *s, unsigned copy, const struct ledger_mark *m,
                struct err *err);

/* Record the redelivery: items up to 'last'. */
int redeliver_write (struct spool *s, uint64_t last, bool doubt,
                     struct err *err);

/* Remove damaged notes that may be one of these. */
int marks_drop_bad (struct spool *s, struct err *err);

static inline bool state_is_open (enum spool_state s)
{
    return s >= SPOOL_SEALED && s < SPOOL_DURABLE;
}

/* Whether it is to be offered. */
static inline bool state_is_offered (enum spool_state s)
{
    return state_is_open (s) || s == SPOOL_ASKED;
}

#endif
