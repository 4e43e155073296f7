/* aggregator/transfer/transfer_commit.c - commit what arrived, as a group */
#include "transfer/transfer_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>

bool transfers_pending (const struct transfers *t)
{
    return !TAILQ_EMPTY (&t->complete) || t->note_due;
}

bool transfers_gather (const struct transfers *t)
{
    return t->small > 0 && t->ncomplete < TRANSFER_COMMIT_ITEMS;
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

/* ---- recording chunks of incomplete content ---- */

static int for_each_to_note (struct transfers *t, size_t least,
                             int (*fn) (struct transfers *t, struct body *b,
                                        struct err *err), struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < TRANSFER_BUCKETS && rc == 0; i++) {
        struct body *b;

        LIST_FOREACH (b, &t->bodies[i], same_bucket) {
            if (b->size > CONTENT_CHUNK && b->hash.n >= b->noted + least &&
                (rc = fn (t, b, err)) < 0)
                break;
        }
    }
    return rc;
}

/* The kernel reports a write error only once: data that failed then may never
 * reach the disk.
 */
static int sync_body (struct transfers *t, struct body *b, struct err *err)
{
    int rc = store_incoming_sync (t->store, &b->incoming, err);

    if (rc < 0 && b->state.now != CONTENT_WHOLE) {
        transfer_restart (t, b);
        transfer_queue (t, b);
    }
    return rc;
}

static int note_body (struct transfers *t, struct body *b, struct err *err)
{
    return ledger_add_incoming (t->ledger, &b->incoming, b->size, &b->hash,
                                b->noted, err);
}

static int count_body (struct transfers *t, struct body *b, struct err *err)
{
    (void)t;
    (void)err;
    b->noted = b->hash.n;
    return 0;
}

/* ---- items ---- */

/* Whether its content is new here. */
static bool is_fresh (const struct transfer *x)
{
    return x->state.now == ITEM_STORED;
}

/* Write records of items whose content was here already, or is a blob. */
static int refer (struct transfers *t, struct transfer *x, struct err *err)
{
    int rc;

    if (is_fresh (x) && x->item.place.segment > 0)
        return 0;
    // of one that was lost, and comes again, a record may say that it is not
    rc = is_fresh (x) ? 0 : ledger_has_item (t->ledger, &x->item, err);
    return rc != 0 ? rc : store_refer (t->store, &x->item, err);
}

static int name_incoming (const struct transfer *x, struct digest *name,
                          struct err *err)
{
    return transfer_name_incoming (&x->item.content, x->item.place.size,
                                   name) < 0
               ? err_set (err, ENOMEM, "no memory to hash") : 0;
}

/* Give a complete large content its final name. */
static int keep_blob (struct transfers *t, const struct transfer *x,
                      struct err *err)
{
    struct digest name;
    int rc = name_incoming (x, &name, err);

    if (rc == 0)
        rc = store_incoming_sync (t->store, &name, err);
    return rc < 0 ? rc : store_keep (t->store, &name, &x->item.content, err);
}

static int forget_incoming (struct transfers *t, const struct transfer *x,
                            struct err *err)
{
    struct digest name;
    int rc = name_incoming (x, &name, err);

    return rc < 0 ? rc : ledger_drop_incoming (t->ledger, &name, err);
}

/* Rename incoming files, and sync bytes and names to the disk. */
static int make_durable (struct transfers *t, size_t least, struct err *err)
{
    struct transfer *x;
    int rc = for_each_to_note (t, least, sync_body, err);

    TAILQ_FOREACH (x, &t->complete, of_body) {
        if (rc == 0 && is_fresh (x) && x->item.place.segment == 0)
            rc = keep_blob (t, x, err);
        if (rc >= 0)
            rc = refer (t, x, err);
        if (rc < 0)
            return rc;
        rc = 0;
    }
    if (rc == 0)
        rc = also (t, TRANSFER_APPEND, err);
    return rc < 0 ? rc : store_sync (t->store, err);
}

/* Compute the checksum that tells an item's rows from those of other keys. */
static int sum_rows (struct transfers *t, struct transfer *x, struct err *err)
{
    int rc = 1;

    if (x->item.kind == ITEM_ROWS && *x->item.who)
        rc = ledger_has_item (t->ledger, &x->item, err);
    if (rc == 0)
        x->item.rows = store_sum_rows (t->store, &x->item);
    return rc < 0 ? rc : 0;
}

static int transfer_commit_enter (struct transfers *t, struct transfer *x,
                                  struct err *err)
{
    int rc = 0;

    if (is_fresh (x))
        rc = ledger_add_content (t->ledger, &x->item.content, &x->item.place,
                                 err);
    if (rc == 0 && is_fresh (x) && x->item.place.segment == 0)
        rc = forget_incoming (t, x, err);
    if (rc == 0)
        rc = sum_rows (t, x, err);
    if (rc == 0)
        rc = ledger_add_item (t->ledger, &x->item, err);
    if (rc < 0)
        return rc;
    (void)transfer_change (x, rc > 0 ? ITEM_IS_NEW : ITEM_IS_OLD);
    return 0;
}

static int write_ledger (struct transfers *t, size_t least, struct err *err)
{
    struct transfer *x;
    int rc = for_each_to_note (t, least, note_body, err);

    if (rc == 0 && !TAILQ_EMPTY (&t->complete))
        rc = ledger_enter_epoch (t->ledger, err);
    TAILQ_FOREACH (x, &t->complete, of_body) {
        if (rc == 0)
            rc = transfer_commit_enter (t, x, err);
    }
    if (rc == 0)
        rc = also (t, TRANSFER_ENTER, err);
    if (rc == 0)
        rc = store_account (t->store, t->ledger, err);
    return rc < 0 ? rc : ledger_commit (t->ledger, err);
}

static int commit_all (struct transfers *t, size_t least, struct err *err)
{
    int rc = make_durable (t, least, err);

    if (rc == 0 && (rc = ledger_begin (t->ledger, err)) == 0 &&
        (rc = write_ledger (t, least, err)) < 0)
        ledger_rollback (t->ledger);
    counter_add (rc < 0 ? COUNTER_COMMITS_FAILED : COUNTER_COMMITS, 1);
    if (rc < 0) {
        store_revert (t->store);
        return rc;
    }
    store_committed (t->store);
    (void)also (t, TRANSFER_COMMITTED, err);
    (void)for_each_to_note (t, least, count_body, err);
    return 0;
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
    size_t least = TRANSFER_NOTE_BYTES / CONTENT_CHUNK;
    int rc = commit_all (t, least, err);
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
    int rc = transfers_pending (t) ? transfers_commit (t, nobody, NULL, err)
                                   : 0;

    return rc < 0 ? rc : commit_all (t, 1, err);
}
