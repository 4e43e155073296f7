/* aggregator/intake/ledger_epoch.c - whether a ledger is what it was */
#include "intake/ledger_inside.h"

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

static int add_epoch (struct ledger *l, void *arg, struct err *err)
{
    const struct ledger_mark *m = arg;
    int64_t number = db_int (l->db, "SELECT ifnull(max(number), 0) + 1 FROM "
                                    "epoch", 1);

    return db_execf (l->db, err, "INSERT INTO epoch VALUES (%lld,%lld,%lld,"
                     "%lld);DELETE FROM epoch WHERE number<=%lld",
                     (long long)number, (long long)m->epoch, (long long)m->seq,
                     (long long)ledger_epoch_sum (number, m->epoch, m->seq),
                     (long long)(number - EPOCHS_MAX));
}

int ledger_begin_epoch (struct ledger *l, struct err *err)
{
    struct ledger_mark m;
    int rc;

    if (getrandom (&m.epoch, sizeof (m.epoch), 0) != sizeof (m.epoch))
        return err_sys (err, errno, "cannot draw a random number");
    m.epoch |= 1;               // 0 is none
    ledger_note_mark (l);
    m.seq = l->mark.seq;
    if ((rc = ledger_within (l, add_epoch, &m, err)) == 0)
        l->mark.epoch = m.epoch;
    return rc;
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
