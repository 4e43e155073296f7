/* aggregator/transfer/transfer_commit.c - commit what arrived, as a group */
#include "transfer/transfer_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "store/store_commit.h"

#include <errno.h>

bool transfers_pending (const struct transfers *t)
{
    return !TAILQ_EMPTY (&t->complete) || t->note_due;
}

bool transfers_uncommitted (const struct transfers *t)
{
    return transfers_pending (t) || !TAILQ_EMPTY (&t->appended);
}

bool transfers_gather (const struct transfers *t)
{
    return t->small > 0 && t->ncomplete < TRANSFER_COMMIT_ITEMS &&
           !store_is_crowded (t->store);
}

void transfers_set_extra_work (struct transfers *t, transfer_extra_work_fn *fn,
                               void *arg)
{
    t->also = fn;
    t->also_arg = arg;
}

void transfers_due (struct transfers *t)
{
    t->note_due = true;
}

static int also (struct transfers *t, enum transfer_phase phase,
                 struct err *err)
{
    return t->also ? t->also (t->also_arg, phase, err) : 0;
}

/* Write a record of the item, unless there is one.  Of new content there is
 * none, or it had been lost, and another one does no harm.
 */
static int describe (struct transfers *t, struct transfer *x, struct err *err)
{
    int rc = x->state.now == ITEM_STORED
                 ? 0 : ledger_has_item (t->ledger, &x->item, err);

    return rc != 0 ? rc : store_put_item (t->store, &x->item, err);
}

static int append_all (void *arg, struct store *store, struct err *err)
{
    struct transfers *t = arg;
    struct transfer *x;
    int rc = 0;

    TAILQ_FOREACH (x, &t->complete, of_body) {
        if ((rc = describe (t, x, err)) < 0)
            return rc;
    }
    (void)store;
    return also (t, TRANSFER_APPEND, err);
}

/* Compute the checksum that tells an item's rows from those of other keys. */
static int sum_rows (struct transfers *t, struct transfer *x, struct err *err)
{
    int rc = 1;

    if (x->item.kind == ITEM_ROWS && *x->item.who)
        rc = ledger_has_item (t->ledger, &x->item, err);
    if (rc == 0)
        x->item.rows = store_sum_rows (t->store, t->ledger, &x->item,
                                       &x->item.place);
    return rc < 0 ? rc : 0;
}

static int transfer_commit_enter (struct transfers *t, struct transfer *x,
                                  struct err *err)
{
    int rc = sum_rows (t, x, err);

    if (rc == 0)
        rc = ledger_add_item (t->ledger, &x->item, err);
    if (rc < 0)
        return rc;
    (void)transfer_change (x, rc > 0 ? ITEM_IS_NEW : ITEM_IS_OLD);
    return 0;
}

static int enter_all (void *arg, struct ledger *ledger, struct err *err)
{
    struct transfers *t = arg;
    struct transfer *x;
    int rc = transfer_enter_pending (t, err);

    if (rc == 0 && !TAILQ_EMPTY (&t->complete))
        rc = ledger_enter_epoch (ledger, err);
    TAILQ_FOREACH (x, &t->complete, of_body) {
        if (rc == 0)
            rc = transfer_commit_enter (t, x, err);
    }
    return rc < 0 ? rc : also (t, TRANSFER_ENTER, err);
}

static int commit_all (struct transfers *t, struct err *err)
{
    const struct store_change change = { append_all, enter_all, t };
    int rc = store_commit (t->store, t->ledger, &change, err);

    counter_add (rc < 0 ? COUNTER_COMMITS_FAILED : COUNTER_COMMITS, 1);
    transfer_end_pending (t, rc == 0);
    if (rc == 0)
        (void)also (t, TRANSFER_COMMITTED, err);
    return rc;
}

/* Nothing was acknowledged, so agents offer everything again. */
static void give_up (struct transfers *t)
{
    while (!TAILQ_EMPTY (&t->complete))
        transfer_drop (t, TAILQ_FIRST (&t->complete), ITEM_COMMIT_FAILED);
    transfer_pause (t);
}

int transfers_commit (struct transfers *t,
                      void (*entered) (void *arg,
                                       const struct ledger_item *item),
                      void *arg, struct err *err)
{
    int rc = commit_all (t, err);
    struct transfer *x;

    t->note_due = false;
    t->noted_ns = clock_mono_ns ();
    // the ledger has these contents, or they must be sent again
    while (!LIST_EMPTY (&t->whole))
        transfer_end_body (t, LIST_FIRST (&t->whole));
    if (rc < 0) {
        give_up (t);
        return rc;
    }
    while ((x = TAILQ_FIRST (&t->complete))) {
        struct message m = { .type = MESSAGE_ACK, .item = x->id,
                             .mark = ledger_mark (t->ledger) };

        if (x->sender)
            (void)t->send (t->arg, &x->peer, &m);
        counter_add (x->state.now == ITEM_ENTERED ? COUNTER_ITEMS_ENTERED
                                                  : COUNTER_ITEMS_KNOWN, 1);
        if (x->state.now == ITEM_ENTERED)
            entered (arg, &x->item);
        transfer_drop (t, x, ITEM_COMMITTED);
    }
    (void)ledger_each_restored (t->ledger, entered, arg, err);
    transfer_grant (t);
    return 0;
}

static void nobody (void *arg, const struct ledger_item *item)
{
    (void)arg;
    (void)item;
}

int transfers_note_all (struct transfers *t, struct err *err)
{
    return transfers_uncommitted (t)
               ? transfers_commit (t, nobody, NULL, err) : 0;
}
