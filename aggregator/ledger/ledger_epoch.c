/* aggregator/ledger/ledger_epoch.c - detect a ledger that went back in time */
#include "ledger/ledger_private.h"

#include <errno.h>
#include <sys/random.h>

#define EPOCHS_MAX 1024         // older ones are forgotten: what they
                                // acknowledged is requested again

void ledger_note_mark (struct ledger *l)
{
    l->mark.seq = (uint64_t)ledger_last_seq (l);
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
    int64_t number;
    int rc;

    if (m->epoch == 0 || db_number (ledger_rows (l, NULL, "SELECT id FROM epoch"
                                    " ORDER BY number DESC LIMIT 1"), 0) ==
                             (int64_t)m->epoch)
        return 0;
    number = db_number (ledger_rows (l, NULL, "SELECT ifnull(max(number), 0) + "
                                              "1 FROM epoch"), 1);
    rc = ledger_do (l, err, "INSERT INTO epoch VALUES (?1,?2,?3,?4)", number,
                    m->epoch, m->seq,
                    ledger_epoch_sum (number, m->epoch, m->seq));
    return rc < 0 ? rc : ledger_do (l, err, "DELETE FROM epoch WHERE "
                                    "number<=?1", number - EPOCHS_MAX);
}

struct ledger_mark ledger_mark (const struct ledger *l)
{
    return l->mark;
}

int ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                    struct err *err)
{
    int64_t end = 0;
    int rc;

    if (mark->epoch == l->mark.epoch)
        return mark->seq <= l->mark.seq;
    // up to the start of the next epoch, if there is one
    rc = db_one (ledger_rows (l, err, "SELECT ifnull((SELECT n.began FROM "
                              "epoch n WHERE n.number>e.number ORDER BY "
                              "n.number LIMIT 1), ?2) FROM epoch e WHERE "
                              "e.id=?1", mark->epoch, l->mark.seq), end);
    return rc == 1 ? mark->seq <= (uint64_t)end : rc;
}
