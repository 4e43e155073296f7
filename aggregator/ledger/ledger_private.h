/* aggregator/ledger/ledger_private.h - shared by the ledger's parts */
#ifndef ROLLCALL_LEDGER_LEDGER_PRIVATE_H
#define ROLLCALL_LEDGER_LEDGER_PRIVATE_H

#include "ledger/ledger.h"
#include "store/db_presence.h"
#include "store/db_rows.h"

#include <sys/types.h>

#define LEDGER_SCHEMA 1         // PRAGMA user_version

/* Sums over all items, jobs, assignments, facts and deletions: they detect
 * missing rows.
 */
struct ledger_total {
    uint64_t rows, sum;
};

struct ledger {
    char path[PATH_MAX - 64];   // files beside it need longer names
    struct db_there there;      // for a writer
    sqlite3 *db;
    struct ledger_total total, committed;
    struct ledger_mark mark;    // as of the last commit
    bool reader;
    bool quick;                 // a reader that does not verify all rows
    bool any_lost;              // some items have lost their content
    bool any_deleted;           // there are rows of deletions
    bool marking;               // contents that are found or entered are marked
};

/* Statements stay prepared as long as the ledger is open. */
#define ledger_rows(l, err, ...) db_rows_kept ((l)->db, err, __VA_ARGS__)
#define ledger_do(l, err, ...) db_finish (ledger_rows (l, err, __VA_ARGS__))

/* ---- ledger.c ---- */

/* Run 'fn' in the current transaction, or in one of its own. */
int ledger_within (struct ledger *l, int (*fn) (struct ledger *l, void *arg,
                                                struct err *err),
                   void *arg, struct err *err);

/* ---- ledger_schema.c ---- */

/* Check the tables, or create them in a new ledger.  -EBADMSG: damaged;
 * -ENOTSUP: another version; -EAGAIN: for a reader, while another process
 * creates it.
 */
int ledger_prepare (struct ledger *l, const char *path, struct err *err);

/* ---- ledger_rows.c ---- */

/* The stored checksum of a row; that of a superseded item is the
 * complement.
 */
int64_t ledger_item_sum (const struct ledger_item *item);
int64_t ledger_content_sum (const struct digest *id,
                            const struct ledger_place *place);
int64_t ledger_job_sum (const char *id, int64_t world_size, int64_t built,
                        const struct digest *rows);
int64_t ledger_claim_sum (const char *job, const struct size_claim *word);
int64_t ledger_segment_sum (int64_t segment, uint64_t end);
int64_t ledger_total_sum (const struct ledger_total *t);
int64_t ledger_assignment_sum (const struct ledger_assignment *a);
int64_t ledger_bound_sum (const struct ledger_bound *b);
int64_t ledger_epoch_sum (int64_t number, uint64_t id, uint64_t began);
int64_t ledger_fact_sum (const struct ledger_fact *f);
int64_t ledger_deletion_sum (const struct ledger_deletion *d);

/* Read the current row of a query with these columns; false: it is damaged. */
#define LEDGER_CLAIM "job, by, who, host, world_size, sum"
bool ledger_read_claim (sqlite3_stmt *st, struct size_claim *ret);
#define LEDGER_ASSIGNMENT \
    "scope, place, rank, capture, newest_ns, job, at_ns, assumed, why, sum"
bool ledger_read_assignment (sqlite3_stmt *st, struct ledger_assignment *a);
#define LEDGER_BOUND "who, host, since_ns, sum"
bool ledger_read_bound (sqlite3_stmt *st, struct ledger_bound *b);
#define LEDGER_FACT "seq, job, key, value, at_ns, by, gone, sum"
bool ledger_read_fact (sqlite3_stmt *st, struct ledger_fact *f);
#define LEDGER_DELETION \
    "seq, scope, place, rank, capture, newest_ns, job, at_ns, by, gone, sum"
bool ledger_read_deletion (sqlite3_stmt *st, struct ledger_deletion *d);

/* The same for a query that begins with these columns and whose kind is known:
 * checks its own sum, and that of its content's row.
 */
#define LEDGER_FACTS_OF(of) \
    of "mode, " of "mtime_ns, " of "uid, " of "gid"
#define LEDGER_FACTS(i) \
    (i)->facts.mode, (i)->facts.mtime_ns, (i)->facts.uid, (i)->facts.gid
#define LEDGER_ITEM \
    "SELECT i.rank, i.capture, i.path, i.host, i.content, i.superseded, " \
    "i.received_ns, i.sum, c.id IS NULL, c.segment, c.offset, c.stored, " \
    "c.size, c.form, c.sum, i.newest_ns, i.job, i.scope, i.place, i.who, " \
    "i.rows, " LEDGER_FACTS_OF ("i.") ", i.seq"
#define LEDGER_ITEM_COLUMNS 26
bool ledger_read_row (sqlite3_stmt *st, struct ledger_item *i);
bool ledger_read_item (sqlite3_stmt *st, struct ledger_item *i);

int ledger_damaged (struct err *err);

/* The identity of an item: values, or columns. */
#define LEDGER_NAME(i) (i)->job, (i)->kind, (i)->rank, (i)->capture, (i)->path

/* Verify everything: SQLite's own structure, each row's checksum, and that no
 * row is missing.  -EBADMSG.
 */
int ledger_verify (struct ledger *l, struct err *err);

/* ---- the others ---- */

/* ledger_epoch.c: the mark, after a commit. */
void ledger_note_mark (struct ledger *l);

/* ledger_deletions.c: note whether there are any; and the last number that an
 * item or a deletion ever had: none is given twice, since results, marks and
 * readers compare them.
 */
int ledger_note_deleted (struct ledger *l, struct err *err);
int64_t ledger_last_seq (struct ledger *l);

/* ledger_assign.c: when an item with a place was entered or forgotten, decide
 * which versions of its path count in the job.  A capture may have very many
 * files: the others are not looked at.
 */
int ledger_settle_path (struct ledger *l, const char *job, const char *dir,
                        int64_t rank, const char *capture, const char *path,
                        struct err *err);

/* content_restored.c: record which items have lost their content, and that some
 * of it is here again.
 */
int ledger_note_lost (struct ledger *l, struct err *err);
int ledger_content_restored (struct ledger *l, const struct digest *content,
                             struct err *err);

/* ledger_heard.c: copy the readable rows of another ledger. */
int ledger_copy_heard (struct ledger *l, sqlite3 *from, struct err *err);

#endif
