/* aggregator/transfer/transfer_chunks.c - what of a content is here
 *
 * A chunk counts as soon as it is appended, whoever sent it and whatever it
 * belongs to; it is never appended twice.
 */
#include "transfer/transfer_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- what was appended ---- */

static size_t bucket_of (const struct digest *id)
{
    return (size_t)digest_number (id) % TRANSFER_BUCKETS;
}

static struct pending *find_pending (struct transfers *t,
                                     const struct digest *id)
{
    struct pending *p;

    LIST_FOREACH (p, &t->pending[bucket_of (id)], same_bucket) {
        if (digest_is (&p->id, id))
            return p;
    }
    return NULL;
}

int transfer_find (struct transfers *t, const struct digest *id,
                   struct ledger_place *ret, bool *durable, struct err *err)
{
    struct pending *p = find_pending (t, id);
    int rc;

    *durable = !p;
    if (p) {
        *ret = p->place;
        return 1;
    }
    rc = ledger_find_content (t->ledger, id, ret, err);
    return rc == 1 && !store_has_place (t->store, ret) ? 0 : rc;
}

/* An only chunk is a content, of which there is one body: it can only have come
 * meanwhile as a part of another content.
 */
int transfer_find_chunk (struct transfers *t, struct body *b, size_t i,
                         bool *durable, struct err *err)
{
    *durable = false;
    if (b->n == 1 && b->parts_came == t->parts_came)
        return 0;
    b->parts_came = t->parts_came;
    return transfer_find (t, &b->ids[i], &b->place, durable, err);
}

int transfer_append (struct transfers *t, const struct digest *id,
                     const struct ledger_place *place, struct err *err)
{
    struct pending *p = malloc (sizeof (*p));

    if (!p)
        return err_set (err, ENOMEM, "no memory for a transfer");
    p->id = *id;
    p->place = *place;
    LIST_INSERT_HEAD (&t->pending[bucket_of (id)], p, same_bucket);
    TAILQ_INSERT_TAIL (&t->appended, p, in_order);
    t->uncommitted += place->stored;
    return 0;
}

int transfer_enter_pending (struct transfers *t, struct err *err)
{
    struct pending *p;
    int rc = 0;

    TAILQ_FOREACH (p, &t->appended, in_order) {
        if ((rc = ledger_add_content (t->ledger, &p->id, &p->place, err)) < 0)
            break;
    }
    return rc;
}

/* All chunks that are in state 'from'. */
static void move_all (struct body *b, enum chunk_state from,
                      enum chunk_state to)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->chunks[i] == from)
            b->chunks[i] = (uint8_t)to;
    }
}

/* Look for the chunks in this state again, from the first one on. */
static void look_again (struct transfers *t, struct body *b,
                        enum chunk_state from)
{
    transfer_unqueue (t, b);
    move_all (b, from, CHUNK_ABSENT);
    b->missing = b->here = 0;
    for (size_t i = 0; i < b->n; i++) {
        b->missing += b->chunks[i] < CHUNK_HERE;
        b->here += b->chunks[i] == CHUNK_HERE;
    }
    b->next = 0;
    b->looked = false;
    transfer_settle (t, b);
    transfer_queue (t, b);
}

void transfer_end_pending (struct transfers *t, bool durable)
{
    struct pending *p;
    struct body *b;

    while ((p = TAILQ_FIRST (&t->appended))) {
        TAILQ_REMOVE (&t->appended, p, in_order);
        LIST_REMOVE (p, same_bucket);
        free (p);
    }
    t->uncommitted = 0;
    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        LIST_FOREACH (b, &t->bodies[i], same_bucket) {
            if (b->here > 0 && b->state.now != CONTENT_WHOLE && !durable)
                look_again (t, b, CHUNK_HERE);
            else if (b->here > 0)
                move_all (b, CHUNK_HERE, CHUNK_DURABLE);
            b->here = 0;
        }
    }
}

void transfers_recheck (struct transfers *t)
{
    struct body *b;

    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        LIST_FOREACH (b, &t->bodies[i], same_bucket) {
            if (b->state.now != CONTENT_WHOLE && b->chunks)
                look_again (t, b, CHUNK_DURABLE);
        }
    }
}

static void touch (struct transfers *t, const struct body *b)
{
    struct ledger_place place;

    for (size_t i = 0; i < b->n && b->chunks; i++) {
        if (b->chunks[i] == CHUNK_DURABLE)
            (void)ledger_find_content (t->ledger, &b->ids[i], &place, NULL);
    }
}

void transfers_touch (struct transfers *t)
{
    const struct body *b;

    for (size_t i = 0; i < TRANSFER_BUCKETS; i++) {
        LIST_FOREACH (b, &t->bodies[i], same_bucket)
            touch (t, b);
    }
}

/* ---- the chunks of a content ---- */

/* For the ids and states of its chunks. */
static size_t memory_of (const struct body *b)
{
    return b->n * (DIGEST_SIZE + 1);
}

_Static_assert (2 * (CONTENT_SIZE_MAX / CONTENT_CHUNK) * (DIGEST_SIZE + 1) <=
                TRANSFER_LIST_BYTES, "a key may send the largest content");

/* Whether the memory is there, and the key leaves as much for others as it then
 * has.
 */
bool transfer_has_memory (const struct transfers *t, const struct body *b)
{
    const struct sharer *k = TAILQ_FIRST (&b->offers)->sender->key;
    size_t left = TRANSFER_LIST_BYTES - t->list_bytes, need = memory_of (b);

    if (need > left)
        return false;
    return !t->shared || !*k->who || k->list_bytes + need <= left - need;
}

int transfer_begin_list (struct transfers *t, struct body *b)
{
    struct sharer *k = TAILQ_FIRST (&b->offers)->sender->key;
    size_t need = memory_of (b);

    if (b->ids)
        return 0;
    b->ids = malloc (b->n * DIGEST_SIZE);
    b->chunks = calloc (b->n, 1);
    if (!b->ids || !b->chunks) {
        free (b->ids);
        free (b->chunks);
        b->ids = NULL;
        b->chunks = NULL;
        return -ENOMEM;
    }
    b->list_bytes = need;
    b->list_key = k;
    k->list_bytes += need;
    k->nlists++;
    t->list_bytes += need;
    return 0;
}

void transfer_end_list (struct transfers *t, struct body *b)
{
    if (b->n <= 1 || !b->ids)
        return;
    free (b->ids);
    free (b->chunks);
    b->ids = NULL;
    b->chunks = NULL;
    t->list_bytes -= b->list_bytes;
    b->list_key->list_bytes -= b->list_bytes;
    b->list_key->nlists--;
    transfer_leave_key (b->list_key);
    b->list_key = NULL;
    b->list_bytes = b->listed = 0;
}

void transfer_have (struct body *b, size_t i, enum chunk_state how)
{
    b->chunks[i] = (uint8_t)how;
    b->missing--;
    b->here += how == CHUNK_HERE;
}

void transfer_unask (struct body *b)
{
    b->flying = 0;
    if (b->chunks)
        move_all (b, CHUNK_ASKED, CHUNK_ABSENT);
    b->next = 0;
    b->looked = false;
}

int transfer_skip (struct transfers *t, struct body *b, struct err *err)
{
    bool durable;
    int rc;

    while (transfer_is_listed (b) && b->next < b->n) {
        if (b->chunks[b->next] == CHUNK_ABSENT) {
            if (b->looked)
                return 0;
            rc = transfer_find_chunk (t, b, b->next, &durable, err);
            if (rc < 0)
                return rc;
            if (rc == 0) {
                b->looked = true;
                return 0;
            }
            if (b->n > 1 && b->place.size != transfer_chunk_size (b, b->next))
                return -EILSEQ;
            transfer_have (b, b->next, durable ? CHUNK_DURABLE : CHUNK_HERE);
            transfer_settle (t, b);
        }
        b->next++;
        b->looked = false;
    }
    return 0;
}
