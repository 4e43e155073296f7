/* aggregator/ledger/ledger_epoch.c - whether a ledger is what it was */
#include "ledger/ledger_private.h"

#include <errno.h>
#include <sys/random.h>

#define EPOCHS_MAX 1024         // more are forgotten: what was acknowledged in
                                // them is asked for again

void ledger_note_mark (struct ledger *l)
{
    sqlite3_stmt *st = l->st[LAST_ITEM];

    if (ledger_has_row (l, st, NULL) == 1)
        l->mark.seq = (uint64_t)sqlite3_column_int64 (st, 0);
    (void)sqlite3_reset (st);
}

int ledger_begin_epoch (struct ledger *l, struct err *err)
{
    uint64_t id;

    if (getrandom (&id, sizeof (id), 0) != sizeof (id))
        return err_sys (err, errno, "cannot draw a random number");
    l->mark.epoch = id | 1;     // 0 is none
    ledger_note_mark (l);
    return 0;
}

int ledger_enter_epoch (struct ledger *l, struct err *err)
{
    const struct ledger_mark *m = &l->mark;
    int64_t id = (int64_t)m->epoch, began = (int64_t)m->seq, number;

    if (id == 0 || db_int (l->db, "SELECT id FROM epoch ORDER BY number DESC "
                                  "LIMIT 1", 0) == id)
        return 0;
    number = db_int (l->db, "SELECT ifnull(max(number), 0) + 1 FROM epoch", 1);
    return db_execf (l->db, err, "INSERT INTO epoch VALUES (%lld,%lld,%lld,"
                     "%lld);DELETE FROM epoch WHERE number<=%lld",
                     (long long)number, (long long)id, (long long)began,
                     (long long)ledger_epoch_sum (number, m->epoch, m->seq),
                     (long long)(number - EPOCHS_MAX));
}

struct ledger_mark ledger_mark (const struct ledger *l)
{
    return l->mark;
}

int ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                    struct err *err)
{
    sqlite3_stmt *st = l->st[FIND_EPOCH];
    uint64_t end = 0;
    int rc;

    if (mark->epoch == l->mark.epoch)
        return mark->seq <= l->mark.seq;
    (void)sqlite3_bind_int64 (st, 1, (int64_t)mark->epoch);
    if ((rc = ledger_has_row (l, st, err)) == 1)        // NULL: no later one
        end = sqlite3_column_type (st, 0) == SQLITE_NULL
                  ? l->mark.seq : (uint64_t)sqlite3_column_int64 (st, 0);
    (void)sqlite3_reset (st);
    return rc == 1 ? mark->seq <= end : rc;
}
