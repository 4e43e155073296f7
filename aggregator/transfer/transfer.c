/* aggregator/transfer/transfer.c - receive offers and chunks */
#include "transfer/transfer_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// a compressed frame may be a little larger than its chunk
#define PACKED_MAX (CONTENT_CHUNK + 65536)
// after so many damaged chunks in a row, the agent is treated as one that does
// not answer
#define DAMAGED_MAX 8

struct transfers *transfers_create (transfer_send_fn *send, void *arg,
                                    struct ledger *ledger,
                                    struct store *store)
{
    struct transfers *t = calloc (1, sizeof (*t));

    if (!t || !(t->raw = malloc (CONTENT_CHUNK)) ||
        !(t->hasher = hasher_create ())) {
        if (t)
            free (t->raw);
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
    return t;
}

void transfers_share (struct transfers *t)
{
    t->shared = true;
}

static size_t bucket_of (const struct sender *s, uint64_t id)
{
    return (size_t)(id + ((uintptr_t)s >> 6)) % TRANSFER_BUCKETS;
}

static struct transfer *transfer_find (struct transfers *t,
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

/* Drop a content whose received bytes are useless; agents offer it again. */
static void throw_away (struct transfers *t, struct body *b)
{
    while (!TAILQ_EMPTY (&b->offers))
        transfer_drop (t, TAILQ_FIRST (&b->offers), ITEM_WRONG);
    (void)ledger_drop_incoming (t->ledger, &b->incoming, NULL);
    b->noted = 0;
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
    hasher_destroy (t->hasher);
    free (t->raw);
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
    struct transfer *x = transfer_find (t, from, item);
    struct body *b = x ? x->body : NULL;
    struct sender *s = x ? x->sender : NULL;

    if (!b)
        return;
    counter_add (COUNTER_ITEMS_GONE, 1);
    transfer_drop (t, x, ITEM_CHANGED);
    if (TAILQ_EMPTY (&b->offers))
        throw_away (t, b);      // its file changed: never sent again
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

/* Continue with the chunks that were recorded before a restart. */
static int resume (struct transfers *t, struct body *b, struct err *err)
{
    int rc = ledger_find_incoming (t->ledger, &b->incoming, b->size, &b->hash,
                                   err);

    if (rc <= 0)
        return rc;
    b->received = (uint64_t)b->hash.n * CONTENT_CHUNK;
    if (b->received >= b->size ||
        b->received > store_incoming_size (t->store, &b->incoming)) {
        content_hash_fini (&b->hash);
        b->received = 0;
        rc = ledger_drop_incoming (t->ledger, &b->incoming, err);
    }
    b->asked = b->received;
    b->noted = b->hash.n;
    b->mixed = b->received > 0;
    return rc < 0 ? rc : 0;
}

/* Queue an offer; a sender of wrong content comes after all others. */
static void line_up (struct transfers *t, struct body *b, struct transfer *x)
{
    struct transfer *first = TAILQ_FIRST (&b->offers);

    if (first && first->sender->wrong && !x->sender->wrong) {
        transfer_restart (t, b);
        TAILQ_INSERT_HEAD (&b->offers, x, of_body);
    } else {
        TAILQ_INSERT_TAIL (&b->offers, x, of_body);
    }
    transfer_queue (t, b);
}

static int join_body (struct transfers *t, struct transfer *x, uint64_t size,
                      struct err *err)
{
    struct body *b = transfer_body (t, &x->item.content, size);
    int rc = 0;

    if (!b)
        return err_set (err, ENOMEM, "no memory for a transfer");
    if (b->state.now == CONTENT_WHOLE) {
        x->item.place = b->place;
        transfer_complete (t, x, ITEM_IS_HERE);
        return 0;
    }
    if (TAILQ_EMPTY (&b->offers) && b->received == 0) { // perhaps a new one
        b->kind = x->item.kind;
        if (size > CONTENT_CHUNK && (rc = resume (t, b, err)) < 0) {
            transfer_end_body (t, b);
            return rc;
        }
    }
    (void)transfer_change (x, ITEM_IS_ABSENT);
    x->body = b;
    line_up (t, b, x);
    return 0;
}

/* An empty content has nothing to request. */
static int take_empty (struct transfers *t, struct transfer *x,
                       struct err *err)
{
    struct digest id;
    int rc;

    if (digest_of ("", 0, &id) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (!digest_is (&id, &x->item.content))
        return err_set (err, EBADMSG, "an empty item has a wrong hash");
    if ((rc = store_append (t->store, &x->item, "", 0, err)) == 0)
        transfer_complete (t, x, ITEM_CAME);
    return rc;
}

static int offer_new (struct transfers *t, struct transfer *x,
                      const struct message *m, struct err *err)
{
    int rc = ledger_find_content (t->ledger, &m->content, &x->item.place,
                                  err);

    if (rc == 1 && !store_has (t->store, &m->content, &x->item.place))
        return err_set (err, ESTALE, "the stored data of %s %s, which the "
                        "ledger lists, was removed", m->capture, m->path);
    if (rc < 0)
        return rc;
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
    struct transfer *x = transfer_find (t, from, m->item);
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
    transfer_grant (t);
    return rc;
}

/* ---- chunks ---- */

/* The content's hash was wrong.  If one agent sent all of it, others are asked
 * first; if several did, it is requested from one of them alone.  Without
 * another source it is offered again.
 */
static void transfer_blame (struct transfers *t, struct body *b)
{
    struct transfer *x = TAILQ_FIRST (&b->offers);
    struct sender *s = b->mixed ? NULL : transfer_sender (t, &b->from, false);

    if (!TAILQ_NEXT (x, of_body)) {
        if (s)
            s->wrong = true;
        throw_away (t, b);
        return;
    }
    transfer_restart (t, b);
    b->alone = true;
    if (s) {
        s->wrong = true;
        TAILQ_REMOVE (&b->offers, x, of_body);
        TAILQ_INSERT_TAIL (&b->offers, x, of_body);
    }
    transfer_queue (t, b);
}

/* All chunks have arrived: check the hash. */
static int transfer_finish (struct transfers *t, struct body *b,
                            const void *data,
                            size_t size, struct err *err)
{
    struct transfer *x = TAILQ_FIRST (&b->offers);
    struct digest id;
    int rc = 0;

    if (content_hash_end (&b->hash, &id) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (!digest_is (&id, &b->id)) {
        counter_add (COUNTER_ITEMS_MISMATCHED, 1);
        rc = err_set (err, EBADMSG, "%s %s arrived with other content than "
                      "offered; it is requested again", x->item.capture,
                      x->item.path);
        transfer_blame (t, b);
        return rc;
    }
    b->place = (struct ledger_place){ 0, 0, b->size };
    if (b->size <= CONTENT_CHUNK) {
        rc = store_append (t->store, &x->item, data, size, err);
        if (rc < 0) {
            content_hash_fini (&b->hash);
            b->received = b->asked = 0;
            transfer_pause (t);
            transfer_queue (t, b);
            return rc;
        }
        b->place = x->item.place;
    }
    transfer_unqueue (t, b);
    for (enum item_event e = ITEM_CAME; (x = TAILQ_FIRST (&b->offers));
         e = ITEM_OTHER_CAME) {
        TAILQ_REMOVE (&b->offers, x, of_body);
        x->item.place = b->place;
        transfer_complete (t, x, e);
    }
    b->noted = b->hash.n;       // keep its file
    content_hash_fini (&b->hash);
    (void)transfer_change_content (b, CONTENT_COMPLETE);
    LIST_INSERT_HEAD (&t->whole, b, all_whole);
    return 0;
}

/* Unpack a chunk into *data; false if it is damaged. */
static bool unpack (struct transfers *t, const struct message *m, size_t size,
                    const void **data)
{
    *data = m->data;
    if (m->codec == CODEC_PLAIN)
        return m->data_size == size;
    *data = t->raw;
    return m->data_size <= PACKED_MAX &&
           pack_open (m->data, m->data_size, t->raw, size, NULL) == 0;
}

/* Request a damaged chunk again. */
static int take_damaged (struct transfers *t, struct transfer *x,
                         struct err *err)
{
    struct body *b = x->body;

    counter_add (COUNTER_CHUNKS_DAMAGED, 1);
    transfer_unqueue (t, b);
    transfer_release (t, b);
    if (++b->damaged % DAMAGED_MAX == 0)
        transfer_stalled (t, x->sender);
    transfer_queue (t, b);
    return err_set (err, EBADMSG, "a chunk of %s %s arrived damaged; it is "
                    "requested again", x->item.capture, x->item.path);
}

/* Hash a chunk, and write it meanwhile if the content has several. */
static int transfer_keep (struct transfers *t, struct body *b, const void *data,
                          size_t size, struct err *err)
{
    struct digest digest;
    int rc, hashed;

    if (b->size <= CONTENT_CHUNK) {
        rc = 0;
        hashed = digest_of (data, size, &digest);
    } else {
        hasher_begin (t->hasher, data, size);
        rc = store_incoming_write (t->store, &b->incoming, data, size,
                                   b->received, err);
        hashed = hasher_end (t->hasher, &digest);
    }
    if (rc == 0 &&
        (hashed < 0 || content_hash_put (&b->hash, &digest) < 0))
        rc = err_set (err, ENOMEM, "no memory to hash");
    return rc;
}

static int transfer_take (struct transfers *t, struct transfer *x,
                          const void *data,
                          size_t size, struct err *err)
{
    struct body *b = x->body;
    int64_t now = clock_mono_ns ();
    int rc = transfer_keep (t, b, data, size, err);

    if (rc == -ESTALE) {
        throw_away (t, b);
        return rc;
    }
    if (rc < 0) {
        transfer_unqueue (t, b);
        transfer_release (t, b);
        transfer_pause (t);
        transfer_queue (t, b);
        return rc;
    }
    counter_add (COUNTER_CHUNKS_TAKEN, 1);
    b->mixed = b->mixed ||
               (b->from.size > 0 && !net_peer_is (&b->from, &x->peer));
    b->from = x->peer;
    transfer_arrived (t, b, x->sender);
    b->damaged = 0;
    b->received += size;
    if (b->asked < b->received)
        b->asked = b->received; // it arrived after it was given up
    if ((b->hash.n - b->noted) * (uint64_t)CONTENT_CHUNK >=
            TRANSFER_NOTE_BYTES &&
        now - t->noted_ns >= TRANSFER_NOTE_NS)
        t->note_due = true;
    return b->received < b->size ? 0 : transfer_finish (t, b, data, size, err);
}

int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *m, struct err *err)
{
    struct transfer *x = transfer_find (t, from, m->item);
    struct body *b = x ? x->body : NULL;
    struct sender *s = x ? x->sender : NULL;
    const void *data;
    size_t size;
    int rc;

    if (!b || m->offset != b->received || m->offset >= x->ever_asked ||
        (TAILQ_FIRST (&b->offers) != x && (b->alone || s->wrong))) {
        counter_add (COUNTER_CHUNKS_IGNORED, 1);
        return 0;               // repeated, or requested before a restart
    }
    size = b->size - b->received < CONTENT_CHUNK
               ? (size_t)(b->size - b->received) : CONTENT_CHUNK;
    if (!unpack (t, m, size, &data))
        rc = take_damaged (t, x, err);
    else
        rc = transfer_take (t, x, data, size, err);
    transfer_queue_all (t, s);
    transfer_grant (t);
    return rc;
}
