/* node_agent/spool/spool_commit.c - transactions, and what each of them writes:
 * states of items, advice, tallies
 */
#include "spool/spool_private.h"

#include "base/counter.h"
#include "base/fault.h"

#include <string.h>

/* ---- states of items ---- */

int item_find (struct spool *s, uint64_t id, struct item_row *r,
               struct err *err)
{
    return db_one (spool_rows (s, err, "SELECT capture, size, kind, state, "
                               "number, own, at FROM item WHERE id=?1", id),
                   r->capture, r->size, r->kind, r->state, r->number, r->own,
                   r->at);
}

/* Durable, and kept: spool_kept.c. */
static void kept_move (struct spool *s, const struct item_row *r, int to,
                       uint64_t at)
{
    struct spool_tally *t = &s->kept[r->kind];

    if (r->state == SPOOL_DURABLE && r->at != 0) {
        t->items--;
        t->bytes -= (uint64_t)r->size;
    }
    if (to == SPOOL_DURABLE && at != 0) {
        t->items++;
        t->bytes += (uint64_t)r->size;
    }
}

static void tally_move (struct spool *s, const struct item_row *r,
                        int to, uint64_t at)
{
    struct spool_tally *from_tally, *to_tally;

    if (r->kind < 0 || r->kind >= SPOOL_KINDS || r->state < 0 ||
        r->state >= SPOOL_STATES)
        return;                 // damaged; spool_recount will find it
    from_tally = &s->tally[r->kind][r->state];
    to_tally = &s->tally[r->kind][to];
    from_tally->items--;
    from_tally->bytes -= (uint64_t)r->size;
    to_tally->items++;
    to_tally->bytes += (uint64_t)r->size;
    kept_move (s, r, to, at);
}

int item_move (struct spool *s, uint64_t id, const struct item_row *r,
               enum spool_event event, uint64_t at, const char *why,
               struct err *err)
{
    int state = event == SPOOL_ROW_DAMAGED ? SPOOL_NO_ROW : r->state, rc;

    if (!spool_change (s, SPOOL_TABLE_ITEM, id, NULL, &state, event, why))
        return 1;
    rc = spool_do (s, err, "UPDATE item SET state=?2, at=?3, why=?4, sum="
                   ITEM_SUM ("?2", "?3", "?4") " WHERE id=?1", id, state, at,
                   why);
    if (rc == 0)
        tally_move (s, r, state, at);
    return rc;
}

int item_let_go (struct spool *s, uint64_t id, struct err *err)
{
    struct item_row r;
    int rc = item_find (s, id, &r, err);

    if (rc <= 0 || r.state != SPOOL_DURABLE)
        return rc < 0 ? rc : 0;
    rc = spool_do (s, err, "UPDATE item SET at=0, sum="
                   ITEM_SUM ("state", "0", "why") " WHERE id=?1", id);
    if (rc == 0)
        kept_move (s, &r, SPOOL_DURABLE, 0);
    return rc;
}

/* ---- advice ---- */

/* Write the advice, within a transaction. */
static int write_advice (struct spool *s, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < s->nadvice && rc >= 0; i++) {
        const struct advice *a = &s->advice[i];
        struct item_row r;

        rc = item_find (s, a->id, &r, err);
        if (rc > 0)
            rc = item_move (s, a->id, &r, a->event, a->offset, "", err);
    }
    return rc < 0 ? rc : 0;
}

void item_advise (struct spool *s, uint64_t id, enum spool_event event,
                  uint64_t offset)
{
    for (size_t i = 0; i < s->nadvice; i++) {
        if (s->advice[i].id == id) {
            s->advice[i].event = event;
            s->advice[i].offset = offset;
            return;
        }
    }
    if (s->nadvice == ADVICE_MAX && (spool_ledger_begin (s, NULL) < 0 ||
        spool_ledger_finish (s, 0, "agent.spool.advice.commit", NULL) < 0))
        return;                 // it is only advice
    s->advice[s->nadvice++] = (struct advice){ id, offset, event };
}

/* ---- tallies ---- */

static int tally_write (struct spool *s, int kind, int state, struct err *err)
{
    const struct spool_tally *t = &s->tally[kind][state];

    return spool_do (s, err, "INSERT OR REPLACE INTO tally VALUES (?1,?2,?3,"
                     "?4,row_sum('t',?1,?2,?3,?4))", kind, state, t->items,
                     t->bytes);
}

static int tally_save (struct spool *s, struct err *err)
{
    int rc = 0;

    // unordered rows would be there twice
    if (s->recounted)
        rc = spool_do (s, err, "DELETE FROM tally");
    for (int kind = 0; kind < SPOOL_KINDS; kind++) {
        for (int state = 0; state < SPOOL_STATES && rc == 0; state++) {
            if (s->recounted ||
                memcmp (&s->tally[kind][state], &s->saved[kind][state],
                        sizeof (struct spool_tally)) != 0)
                rc = tally_write (s, kind, state, err);
        }
    }
    return rc;
}

/* Rows of kind, state, items, bytes. */
static int tally_read (struct spool *s, const char *sql, struct err *err)
{
    struct db_rows r = spool_rows (s, err, sql);
    struct spool_tally t;
    int kind, state;

    if (r.rc == 0)
        memset (s->tally, 0, sizeof (s->tally));
    while (db_row (&r, kind, state, t.items, t.bytes)) {
        if (kind >= 0 && kind < SPOOL_KINDS && state >= 0 &&
            state < SPOOL_STATES)
            s->tally[kind][state] = t;
        // otherwise the count is wrong, and done again
    }
    return db_end (&r);
}

/* What is durable and kept: spool_kept.c. */
static int kept_read (struct spool *s, struct err *err)
{
    struct db_rows r = spool_rows (s, err, "SELECT kind, count(*), "
                                   "CAST(total(size) AS INTEGER) FROM item "
                                   "INDEXED BY item_durable WHERE state=6 AND "
                                   "at<>0 GROUP BY kind");
    struct spool_tally t;
    int kind;

    memset (s->kept, 0, sizeof (s->kept));
    while (db_row (&r, kind, t.items, t.bytes)) {
        if (kind >= 0 && kind < SPOOL_KINDS)
            s->kept[kind] = t;
    }
    return db_end (&r);
}

/* For a rollback. */
static void save_counts (struct spool *s)
{
    memcpy (s->saved, s->tally, sizeof (s->saved));
    memcpy (s->kept_saved, s->kept, sizeof (s->kept_saved));
}

int tally_load (struct spool *s, struct err *err)
{
    int64_t bad = db_number (spool_rows (s, NULL, "SELECT count(*) FROM tally "
                             "WHERE sum IS NOT row_sum('t', kind, state, "
                             "items, bytes)"), 1);
    int rc = bad ? tally_count (s, err)
                 : tally_read (s, "SELECT kind, state, items, bytes FROM "
                                  "tally", err);

    if (rc == 0 && !bad)
        rc = kept_read (s, err);
    s->recounted = bad != 0;
    save_counts (s);
    return rc;
}

int tally_count (struct spool *s, struct err *err)
{
    // the sum of damaged sizes may exceed an integer
    int rc = tally_read (s, "SELECT kind, state, count(*), "
                            "CAST(total(size) AS INTEGER) FROM item "
                            "NOT INDEXED GROUP BY kind, state", err);

    return rc < 0 ? rc : kept_read (s, err);
}

bool tally_is_true (struct spool *s)
{
    struct spool_tally told[SPOOL_KINDS][SPOOL_STATES];

    memcpy (told, s->tally, sizeof (told));
    return tally_count (s, NULL) == 0 &&
           memcmp (told, s->tally, sizeof (told)) == 0;
}

/* ---- transactions ---- */

int spool_ledger_begin (struct spool *s, struct err *err)
{
    if (sqlite3_exec (s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return ledger_error (s, err);
}

static int commit (struct spool *s, const char *point, struct err *err)
{
    int rc = write_advice (s, err);

    (void)point;                // in a build without fault points
    if (rc == 0)
        rc = tally_save (s, err);
    if (rc == 0 && (rc = FAULT (point)) < 0)
        rc = ledger_fail (s, rc, "cannot commit to the ledger", err);
    if (rc == 0 &&
        sqlite3_exec (s->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        rc = ledger_error (s, err);
    return rc;
}

int spool_ledger_finish (struct spool *s, int rc, const char *point,
                         struct err *err)
{
    if (rc >= 0)
        rc = commit (s, point, err);
    if (rc < 0) {
        (void)sqlite3_exec (s->db, "ROLLBACK", NULL, NULL, NULL);
        memcpy (s->tally, s->saved, sizeof (s->tally));
        memcpy (s->kept, s->kept_saved, sizeof (s->kept));
        return rc;
    }
    counter_add (COUNTER_COMMITS, 1);
    s->nadvice = 0;
    s->recounted = false;
    save_counts (s);
    return 0;
}

/* ---- opening ---- */

int spool_ledger_open (struct spool *s, struct err *err)
{
    char path[PATH_MAX];
    bool empty;
    int rc = spool_ledger_connect (s, &empty, err);

    if (rc == 0 && !empty)
        rc = tally_load (s, err);
    else if (rc == 0 && (rc = spool_ledger_begin (s, err)) == 0)
        rc = spool_ledger_finish (s, ledger_create (s, err),
                                  "agent.spool.create.commit", err);
    PRINT (path, "%s/%s", s->dir, SPOOL_LEDGER);
    if (rc == 0)
        db_there_note (&s->there, path);
    return rc;
}
