/* aggregator/ledger/ledger.c - transactions of the ledger */
#include "ledger/ledger_private.h"

#include "base/fault.h"

void ledger_end_read (struct ledger *l)
{
    if (l->reader)
        ledger_rollback (l);
}

int ledger_begin_read (struct ledger *l, struct err *err)
{
    return !l->reader || !sqlite3_get_autocommit (l->db)
               ? 0 : db_exec (l->db, "BEGIN", err);
}

int ledger_begin (struct ledger *l, struct err *err)
{
    return db_exec (l->db, "BEGIN IMMEDIATE", err);
}

static int write_total (struct ledger *l, struct err *err)
{
    const struct ledger_total *t = &l->total;

    if (t->rows == l->committed.rows && t->sum == l->committed.sum)
        return 0;
    return ledger_do (l, err, "INSERT OR REPLACE INTO total (id, rows, total, "
                      "sum) VALUES (1,?1,?2,?3)", t->rows, t->sum,
                      ledger_total_sum (t));
}

int ledger_commit (struct ledger *l, struct err *err)
{
    int rc = write_total (l, err);

    if (rc == 0 && (rc = FAULT ("aggregator.ledger.commit")) < 0)
        rc = err_sys (err, -rc, "ledger");
    if (rc == 0)
        rc = db_exec (l->db, "COMMIT", err);
    if (rc == 0) {
        l->committed = l->total;
        ledger_note_mark (l);
    }
    return rc;
}

void ledger_rollback (struct ledger *l)
{
    if (!sqlite3_get_autocommit (l->db))
        (void)sqlite3_exec (l->db, "ROLLBACK", NULL, NULL, NULL);
    l->total = l->committed;
}

int ledger_finish (struct ledger *l, int rc, struct err *err)
{
    int committed = rc < 0 ? rc : ledger_commit (l, err);

    if (committed < 0) {
        ledger_rollback (l);
        return committed;
    }
    return rc;
}

int ledger_within (struct ledger *l, int (*fn) (struct ledger *l, void *arg,
                                                struct err *err),
                   void *arg, struct err *err)
{
    bool alone = sqlite3_get_autocommit (l->db);
    int rc = alone ? ledger_begin (l, err) : 0;

    if (rc < 0)
        return rc;
    rc = fn (l, arg, err);
    return alone ? ledger_finish (l, rc, err) : rc;
}
