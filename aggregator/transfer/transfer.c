/* aggregator/transfer/transfer.c - receive offers and chunks */
#include "transfer/transfer_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// after so many damaged chunks in a row, the agent is treated as one that does
// not answer
#define DAMAGED_MAX 8

struct transfers *transfers_create (transfer_send_fn *send, void *arg,
                                    struct ledger *ledger,
                                    struct store *store)
{
    struct transfers *t = calloc (1, sizeof (*t));

    if (!t || !(t->hasher = hasher_create ())) {
        free (t);
        return NULL;
    }
    t->send = send;
    t->arg = arg;
    t->ledger = ledger;
    t->store = store;
    for (unsigned i = 0; i < PACES; i++) {
        TAILQ_INIT (&t->turns[i][0]);
        TAILQ_INIT (&t->turns[i][1]);
    }
    TAILQ_INIT (&t->complete);
    TAILQ_INIT (&t->appended);
    return t;
}

void transfers_set_stored (struct transfers *t, transfer_stored_fn *fn,
                           void *arg)
{
    t->stored = fn;
    t->stored_arg = arg;
}

void transfers_set_room (struct transfers *t, const struct transfer_room *room)
{
    t->room = *room;
}

void transfers_share (struct transfers *t)
{
    t->shared = true;
}

static size_t bucket_of (const struct sender *s, uint64_t id)
{
    return (size_t)(id + ((uintptr_t)s >> 6)) % TRANSFER_BUCKETS;
}

static struct transfer *find_item (struct transfers *t,
                                       const struct net_peer *from, uint64_t id)
{
    struct sender *s = transfer_sender (t, from, false);
    struct transfer *x = s ? LIST_FIRST (&t->by_id[bucket_of (s, id)]) : NULL;

    while (x && (x->id != id || x->sender != s))
        x = LIST_NEXT (x, same_bucket);
    return x;
}

/* Attach an item to its sender, or detach it: it may be complete. */
static void give_sender (struct transfers *t, struct transfer *x,
                         struct sender *s)
{
    x->sender = s;
    LIST_INSERT_HEAD (&s->items, x, of_sender);
    LIST_INSERT_HEAD (&t->by_id[bucket_of (s, x->id)], x, same_bucket);
    s->nitems++;
    s->key->nitems++;
}

static void transfer_complete (struct transfers *t, struct transfer *x,
                               enum item_event event)
{
    (void)transfer_change (x, event);
    x->body = NULL;
    TAILQ_INSERT_TAIL (&t->complete, x, of_body);
    t->ncomplete++;
}

void transfer_throw_away (struct transfers *t, struct body *b)
{
    while (!TAILQ_EMPTY (&b->offers))
        transfer_drop (t, TAILQ_FIRST (&b->offers), ITEM_WRONG);
    transfer_end_body (t, b);
}

void transfers_destroy (struct transfers *t)
{
    if (!t)
        return;
    while (!LIST_EMPTY (&t->all_senders))
        transfer_end_sender (t, LIST_FIRST (&t->all_senders));
    while (!TAILQ_EMPTY (&t->complete))
        transfer_drop (t, TAILQ_FIRST (&t->complete), ITEM_CLOSED);
    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        while (!LIST_EMPTY (&t->bodies[i]))
            transfer_end_body (t, LIST_FIRST (&t->bodies[i]));
    }
    transfer_end_pending (t, true);
    hasher_destroy (t->hasher);
    free (t);
}

void transfers_forget (struct transfers *t, const struct net_peer *from)
{
    struct sender *s = transfer_sender (t, from, false);

    if (s)
        transfer_end_sender (t, s);
    transfer_grant (t);
}

void transfers_gone (struct transfers *t, const struct net_peer *from,
                     uint64_t item)
{
    struct transfer *x = find_item (t, from, item);
    struct body *b = x ? x->body : NULL;
    struct sender *s = x ? x->sender : NULL;

    if (!b)
        return;
    counter_add (COUNTER_ITEMS_GONE, 1);
    transfer_drop (t, x, ITEM_CHANGED);
    if (TAILQ_EMPTY (&b->offers))
        transfer_throw_away (t, b);      // its file changed: never sent again
    transfer_queue_all (t, s);  // the next body waited for its credit
    transfer_grant (t);
}

size_t transfers_offered (struct transfers *t, const struct net_peer *from,
                          struct ledger_item *first)
{
    struct sender *s = transfer_sender (t, from, false);
    struct transfer *x = s ? LIST_FIRST (&s->items) : NULL;
    uint64_t least = 0;
    size_t n = 0;

    for (; x; x = LIST_NEXT (x, of_sender)) {
        if (n++ == 0 || x->id < least) {
            least = x->id;
            *first = x->item;
        }
    }
    return n;
}

bool transfers_any (const struct transfers *t,
                    bool (*is) (void *arg, const struct ledger_item *item),
                    void *arg)
{
    const struct sender *s;
    const struct transfer *x;

    LIST_FOREACH (s, &t->all_senders, all) {
        LIST_FOREACH (x, &s->items, of_sender) {
            if (is (arg, &x->item))
                return true;
        }
    }
    return false;
}

/* ---- offers ---- */

static struct transfer *transfer_start (struct transfers *t, struct sender *s,
                                        const char *job, const char *host,
                                        const struct message *m)
{
    struct transfer *x = calloc (1, sizeof (*x));

    if (!x)
        return NULL;
    state_begin (&x->state, ITEM_OFFERED);
    x->peer = s->peer;
    x->id = m->item;
    x->item.kind = m->kind;
    x->item.rank = m->rank;
    x->item.newest_ns = m->newest_ns;
    x->item.facts = m->facts;
    x->item.content = m->content;
    x->item.received_ns = clock_wall_ns ();
    memcpy (x->item.capture, m->capture, sizeof (x->item.capture));
    memcpy (x->item.path, m->path, sizeof (x->item.path));
    (void)strncpy (x->item.job, job, sizeof (x->item.job) - 1);
    memcpy (x->item.who, s->peer.who, sizeof (x->item.who));
    memcpy (x->item.dir, m->place, sizeof (x->item.dir));
    if (*m->place)              // the job is decided later
        memcpy (x->item.scope, x->item.job, sizeof (x->item.scope));
    (void)strncpy (x->item.host, host, sizeof (x->item.host) - 1);
    give_sender (t, x, s);
    t->nitems++;
    return x;
}

/* Queue an offer; a sender of wrong content comes after all others. */
static void line_up (struct transfers *t, struct body *b, struct transfer *x)
{
    struct transfer *first = TAILQ_FIRST (&b->offers);

    if (first && first->sender->wrong && !x->sender->wrong) {
        transfer_unqueue (t, b);
        transfer_release (t, b);
        TAILQ_INSERT_HEAD (&b->offers, x, of_body);
    } else {
        TAILQ_INSERT_TAIL (&b->offers, x, of_body);
    }
    transfer_queue (t, b);
}

/* Whether there is room for a body that nobody offers yet. */
static bool has_room (struct transfers *t, struct body *b,
                      const struct ledger_item *item)
{
    if (!t->room.ask)
        return true;
    b->promised = transfer_missing (b);
    b->promise = t->room.ask (t->room.arg, item, b->promised);
    if (b->promise >= 0)
        return true;
    b->promise = 0;
    if (b->missing == b->n)
        transfer_end_body (t, b);
    return false;
}

static int join_body (struct transfers *t, struct transfer *x, uint64_t size,
                      struct err *err)
{
    struct body *b = transfer_body (t, &x->item.content, size);

    if (!b)
        return err_set (err, ENOMEM, "no memory for a transfer");
    if (b->state.now == CONTENT_WHOLE) {
        x->item.place = b->place;
        transfer_complete (t, x, ITEM_IS_HERE);
        return 0;
    }
    if (TAILQ_EMPTY (&b->offers)) {
        if (!has_room (t, b, &x->item))
            return -EAGAIN;        // no disk says that
        b->kind = x->item.kind;
    }
    (void)transfer_change (x, ITEM_IS_ABSENT);
    x->body = b;
    line_up (t, b, x);
    return 0;
}

/* Append a chunk, for the next commit. */
static int put_chunk (struct transfers *t, const struct digest *id,
                      uint64_t size, enum chunk_codec codec,
                      const void *stored, size_t n, struct ledger_place *ret,
                      struct err *err)
{
    int rc = store_put_chunk (t->store, id, size, codec, stored, n, ret, err);

    return rc < 0 ? rc : transfer_append (t, id, ret, err);
}

/* An empty content has nothing to request. */
static int take_empty (struct transfers *t, struct transfer *x,
                       struct err *err)
{
    struct digest id;
    bool durable;
    int rc;

    if (digest_of ("", 0, &id) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (!digest_is (&id, &x->item.content))
        return err_set (err, EBADMSG, "an empty item has a wrong hash");
    rc = transfer_find (t, &id, &x->item.place, &durable, err);
    if (rc == 0)
        rc = put_chunk (t, &id, 0, CODEC_PLAIN, "", 0, &x->item.place, err);
    if (rc < 0)
        return rc;
    transfer_complete (t, x, ITEM_CAME);
    return 0;
}

static int offer_new (struct transfers *t, struct transfer *x,
                      const struct message *m, struct err *err)
{
    int rc = ledger_date_arrival (t->ledger, &x->item, err);

    if (rc > 0)                 // acknowledged, and never entered
        transfer_complete (t, x, ITEM_IS_HERE);
    if (rc != 0)
        return rc;
    rc = ledger_find_content (t->ledger, &m->content, &x->item.place, err);
    if (rc == 1 && !store_has (t->store, t->ledger, &m->content,
                               &x->item.place))
        return err_set (err, ESTALE, "the stored data of %s %s, which the "
                        "ledger lists, was removed", m->capture, m->path);
    if (rc < 0)
        return rc;
    if (rc > 0 && x->item.place.size != m->size)
        return err_set (err, EPROTO, "%s %s has another size than its content",
                        m->capture, m->path);
    if (rc > 0) {
        transfer_complete (t, x, ITEM_IS_HERE);
        return 0;
    }
    return m->size == 0 ? take_empty (t, x, err)
                        : join_body (t, x, m->size, err);
}

/* Whether an agent may have one more item: the second half of all is reserved
 * for agents with few items, and a key must leave as many for others as it then
 * has.
 */
static bool has_share (const struct transfers *t, const struct sender *s)
{
    size_t left = TRANSFER_ITEMS - t->nitems;
    const struct sharer *k = s->key;

    if (s->nitems >= (left > TRANSFER_ITEMS / 2 ? TRANSFER_AGENT_ITEMS
                                                : TRANSFER_AGENT_FEW))
        return false;
    return t->shared && *k->who ? k->nitems + 1 < left : left > 0;
}

int transfers_offer (struct transfers *t, const struct net_peer *from,
                     const char *job, const char *host,
                     const struct message *m, struct err *err)
{
    struct transfer *x = find_item (t, from, m->item);
    struct sender *s;
    int rc;

    if (t->hold) {
        counter_add (COUNTER_OFFERS_HELD, 1);
        return 0;
    }
    if (x) {
        counter_add (COUNTER_OFFERS_REPEATED, 1);
        if (x->body)
            transfer_prefer (t, x);
        transfer_grant (t);
        return 0;
    }
    if (!(s = transfer_sender (t, from, true)))
        return err_set (err, ENOMEM, "no memory for a transfer");
    if (!has_share (t, s)) {
        counter_add (COUNTER_OFFERS_DEFERRED, 1);
        return 0;               // the agent offers it again
    }
    if (!(x = transfer_start (t, s, job, host, m)))
        return err_set (err, ENOMEM, "no memory for a transfer");
    if ((rc = offer_new (t, x, m, err)) < 0)
        transfer_drop (t, x, ITEM_FAILED);
    if (rc == -EAGAIN) {
        counter_add (COUNTER_OFFERS_DEFERRED, 1);
        rc = 0;
    }
    transfer_grant (t);
    return rc;
}

/* ---- chunks ---- */

/* Put the content's source behind the other offers, if it sent what is wrong. */
static void transfer_blame (struct transfers *t, struct body *b,
                            struct transfer *x)
{
    x->sender->wrong = true;
    if (TAILQ_FIRST (&b->offers) != x || !TAILQ_NEXT (x, of_body))
        return;
    transfer_unqueue (t, b);
    transfer_release (t, b);
    TAILQ_REMOVE (&b->offers, x, of_body);
    TAILQ_INSERT_TAIL (&b->offers, x, of_body);
}

/* What came is damaged, or not what was offered: request it again. */
static int take_wrong (struct transfers *t, struct transfer *x, int rc,
                       struct err *err)
{
    struct body *b = x->body;
    bool other = rc == -EILSEQ;

    counter_add (other ? COUNTER_ITEMS_MISMATCHED : COUNTER_CHUNKS_DAMAGED, 1);
    (void)err_set (err, EBADMSG, other
                       ? "%s %s arrived with other content than offered; it is "
                         "requested again"
                       : "a chunk of %s %s arrived damaged; it is requested "
                         "again", x->item.capture, x->item.path);
    transfer_unqueue (t, b);
    transfer_release (t, b);
    if (other)
        transfer_blame (t, b, x);
    if (++b->damaged % DAMAGED_MAX == 0)
        transfer_stalled (t, x->sender);
    transfer_queue (t, b);
    return -EBADMSG;
}

/* The disk failed: request it again later. */
static void take_failed (struct transfers *t, struct body *b)
{
    transfer_unqueue (t, b);
    transfer_release (t, b);
    transfer_pause (t);
    transfer_queue (t, b);
}

static int put_list (struct transfers *t, struct body *b, struct err *err)
{
    int rc = store_put_list (t->store, &b->id, b->size, b->ids, b->n,
                             &b->place, err);

    return rc < 0 ? rc : transfer_append (t, &b->id, &b->place, err);
}

int transfer_finish (struct transfers *t, struct body *b, struct err *err)
{
    int rc = b->n > 1 ? put_list (t, b, err) : 0;
    struct transfer *x;

    if (rc < 0) {
        transfer_throw_away (t, b);
        return rc;
    }
    transfer_unqueue (t, b);
    for (enum item_event e = ITEM_CAME; (x = TAILQ_FIRST (&b->offers));
         e = ITEM_OTHER_CAME) {
        TAILQ_REMOVE (&b->offers, x, of_body);
        x->item.place = b->place;
        transfer_complete (t, x, e);
    }
    (void)transfer_change_content (b, CONTENT_COMPLETE);
    LIST_INSERT_HEAD (&t->whole, b, all_whole);
    transfer_settle (t, b);
    return 0;
}

/* Some ids of its chunks: 0, -EILSEQ: all together they are not the content. */
static int keep_list (struct transfers *t, struct transfer *x,
                      const struct message *m)
{
    struct body *b = x->body;
    struct digest id;

    transfer_arrived (t, b, x->sender, b->flying > 0);
    memcpy (b->ids + b->listed, m->data, m->data_size);
    b->listed += m->data_size / DIGEST_SIZE;
    if (!transfer_is_listed (b))
        return 0;
    if (content_list_id (b->ids, b->n, &id) == 0 && digest_is (&id, &b->id))
        return 0;
    b->listed = 0;
    return -EILSEQ;
}

static int take_list (struct transfers *t, struct transfer *x,
                      const struct message *m, struct err *err)
{
    struct body *b = x->body;
    uint64_t left = (uint64_t)(b->n - b->listed) * DIGEST_SIZE;
    int rc;

    if (transfer_is_listed (b) || !b->ids || m->offset >= x->list_asked ||
        m->offset != (uint64_t)b->listed * DIGEST_SIZE) {
        counter_add (COUNTER_CHUNKS_IGNORED, 1);
        return 0;
    }
    rc = m->codec == CODEC_PLAIN &&
                 m->data_size == (left < CONTENT_CHUNK ? left : CONTENT_CHUNK)
             ? keep_list (t, x, m) : -EBADMSG;
    if (rc < 0)
        return take_wrong (t, x, rc, err);
    transfer_queue (t, b);
    return 0;
}

/* Check a chunk, and append it meanwhile: what differs is taken back.  -EBADMSG:
 * it does not unpack; -EILSEQ: it is another chunk; or an error of the disk.
 */
static int write_chunk (struct transfers *t, struct body *b, size_t i,
                        const struct hasher_chunk *c, struct err *err)
{
    struct digest got;
    int rc, hashed;

    hasher_begin (t->hasher, c);
    rc = store_put_chunk (t->store, &b->ids[i], c->size, c->codec, c->stored,
                          c->n, &b->place, err);
    hashed = hasher_end (t->hasher, &got);
    if (hashed == 0 && !digest_is (&got, &b->ids[i]))
        hashed = -EILSEQ;
    if (rc == 0 && hashed < 0)
        store_take_back (t->store, &b->place);
    if (hashed == -ENOMEM)
        return err_set (err, ENOMEM, "no memory to hash");
    if (rc < 0 || hashed < 0)
        return hashed < 0 ? hashed : rc;
    t->parts_came += b->n > 1;
    return transfer_append (t, &b->ids[i], &b->place, err);
}

/* The chunk is here: count it, and perhaps all of the content. */
static int have_chunk (struct transfers *t, struct transfer *x, size_t i,
                       bool durable, struct err *err)
{
    struct body *b = x->body;
    bool asked = b->chunks[i] == CHUNK_ASKED;

    counter_add (COUNTER_CHUNKS_TAKEN, 1);
    transfer_arrived (t, b, x->sender, asked);
    transfer_have (b, i, durable ? CHUNK_DURABLE : CHUNK_HERE);
    transfer_settle (t, b);
    b->damaged = 0;
    if (t->uncommitted >= TRANSFER_NOTE_BYTES &&
        clock_mono_ns () - t->noted_ns >= TRANSFER_NOTE_NS)
        t->note_due = true;
    t->note_due = t->note_due || store_is_crowded (t->store);
    return b->missing > 0 ? 0 : transfer_finish (t, b, err);
}

static int take_chunk (struct transfers *t, struct transfer *x, size_t i,
                       const struct message *m, struct err *err)
{
    struct body *b = x->body;
    struct hasher_chunk c = { m->codec, m->data, m->data_size,
                              transfer_chunk_size (b, i) };
    struct ledger_place place = { .size = c.size, .stored = c.n,
                                  .form = (enum ledger_form)c.codec };
    bool durable;
    int rc = transfer_find_chunk (t, b, i, &durable, err);

    if (rc == 1 && b->place.size != c.size)
        return take_wrong (t, x, -EILSEQ, err);
    if (rc == 0) {
        durable = false;
        rc = ledger_valid_form (&place) ? write_chunk (t, b, i, &c, err)
                                        : -EBADMSG;
        if (rc == -EBADMSG || rc == -EILSEQ)
            return take_wrong (t, x, rc, err);
        if (rc == 0 && t->stored)
            t->stored (t->stored_arg, &x->item, c.n);
    }
    if (rc < 0) {
        take_failed (t, b);
        return rc;
    }
    return have_chunk (t, x, i, durable, err);
}

int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *m, struct err *err)
{
    struct transfer *x = find_item (t, from, m->item);
    struct body *b = x ? x->body : NULL;
    struct sender *s = x ? x->sender : NULL;
    size_t i = (size_t)(m->offset / CONTENT_CHUNK);
    int rc;

    if (b && m->part == PART_LIST) {
        rc = take_list (t, x, m, err);
    } else if (!b || !transfer_is_listed (b) || m->offset >= x->ever_asked ||
               m->offset % CONTENT_CHUNK != 0 || i >= b->n ||
               b->chunks[i] >= CHUNK_HERE) {
        counter_add (COUNTER_CHUNKS_IGNORED, 1);
        return 0;               // repeated, or requested before a restart
    } else {
        rc = take_chunk (t, x, i, m, err);
    }
    transfer_queue_all (t, s);
    transfer_grant (t);
    return rc;
}
