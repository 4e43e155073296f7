/* node_agent/ship/ship_answers.c - which GET is answered next */
#include "ship/ship_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/fault.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

#define RETRY_NS (10 * NS_PER_MS)       // when the socket has no room
#define HOLD_NS (250 * NS_PER_MS)       // between checks whether it is over
// progress of an item is recorded so often
#define NOTE_BYTES ((uint64_t)64 * CONTENT_CHUNK)

/* If the spool cannot set the item aside now, the fault is found again when it
 * is offered again.
 */
static void give_up (struct ship *s, struct offer *o, enum offer_read how)
{
    const char *why = how == OFFER_CHANGED
        ? "the file was written to after it was sealed"
        : how == OFFER_VANISHED ? "the file vanished after it was sealed"
                                : "its data in the spool is damaged";
    struct spool_item item = o->item;
    char note[MESSAGE_TEXT_MAX];
    struct err err = { "" };
    int rc;

    // so that it is requested when offered again
    if (o->state.now == OFFER_DUE)
        (void)ship_say_gone (s, item.id, why);
    ship_end_all (s, item.id, why);
    if (how == OFFER_DAMAGED)
        rc = spool_quarantine (s->spool, &item, why, &err);
    else
        rc = spool_gone (s->spool, item.id,
                         how == OFFER_CHANGED ? SPOOL_HAS_CHANGED
                                              : SPOOL_IS_GONE, why, &err);
    if (rc < 0) {
        ship_spool_failed (s, rc, &err);
        return;
    }
    if (how != OFFER_DAMAGED) {
        PRINT (note, "%s/%.600s was not delivered: %s", item.capture, item.path,
               why);
        log_warn ("raw-file-gone", "%s", note);
        (void)ship_note (s, note);
    }
    ship_next_items (s);
}

/* Raw files are sent packed if that makes them smaller; shipments are packed
 * already.
 */
static void pack_answer (struct ship *s, struct offer *o, struct message *m)
{
    enum chunk_codec codec = s->codecs >> s->codec & 1 ? s->codec : CODEC_LZ4;

    if (o->item.kind == ITEM_RAW &&
        pack_smaller (&o->packing, m->offset / CONTENT_CHUNK, codec, m->data,
                      m->data_size, &s->packed)) {
        m->codec = codec;
        m->data = s->packed.data;
        m->data_size = s->packed.size;
    }
}

/* ... and its bytes are not here. */
static bool is_asked (const struct offer *o)
{
    return o && o->item.state == SPOOL_ASKED && !o->item.here;
}

/* We only asked whether the aggregator has it, and it has not. */
static bool learn_lost (struct ship *s, struct offer *o)
{
    if (ship_say_gone (s, o->item.id, "it was acknowledged before, and is no "
                       "longer here") < 0)
        return false;
    (void)offer_change (o, OFFER_NOT_HERE);
    ship_commit_soon (s);
    return true;
}

/* The bytes of the item that was asked for, into s->chunk, which is made if the
 * last one was sent.
 */
static enum offer_read read_part (struct ship *s, struct offer *o,
                                  const struct get *get)
{
    if (!s->chunk && !(s->chunk = malloc (CONTENT_CHUNK)))
        return OFFER_ASTRAY;
    return get->part == PART_LIST
               ? offer_list (o, s->spool, get->offset, get->length, s->chunk)
               : offer_chunk (o, s->spool, get->offset, get->length, s->chunk);
}

static void count_sent (struct ship *s, struct offer *o,
                        const struct message *m)
{
    if (m->part == PART_BYTES)
        offer_sent (o, m->offset);
    counter_add (COUNTER_CHUNKS_SENT, 1);
    counter_add (COUNTER_BYTES_SENT, m->data_size);
    bucket_spend (&s->rate, (int64_t)m->data_size, clock_mono_ns ());
}

/* True if the request has been handled. */
static bool ship_answers_answer (struct ship *s, const struct get *get)
{
    struct offer *o = ship_find_offer (s, get->item);
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .part = get->part, .offset = get->offset,
                         .data_size = get->length };
    enum offer_read how;

    if (!o)                     // one that has the item ignores this
        return ship_say_gone (s, get->item, "it is not on offer") == 0;
    if (!offer_is_open (o))
        return true;            // acknowledged meanwhile
    if (is_asked (o))
        return learn_lost (s, o);
    how = read_part (s, o, get);
    if (how == OFFER_ASTRAY) {
        counter_add (COUNTER_GETS_ASTRAY, 1);
        return true;
    }
    if (how != OFFER_READ && o->item.state == SPOOL_ASKED)
        return learn_lost (s, o);
    if (how != OFFER_READ) {
        give_up (s, o, how);
        return true;
    }
    m.data = s->chunk;
    if (get->part == PART_BYTES)
        pack_answer (s, o, &m);
    // other bytes are few, or packed: a copy of them is cheaper
    if (m.data == s->chunk && m.data_size > CONTENT_SMALL) {
        m.owned = s->chunk;
        s->chunk = NULL;
    }
    (void)FAULT ("agent.ship.chunk");
    if (ship_say (s, &m) < 0)
        return false;
    count_sent (s, o, &m);
    if (get->part == PART_BYTES && get->offset >= o->noted + NOTE_BYTES) {
        o->noted = get->offset;
        spool_transferring (s->spool, o->item.id, get->offset);
    }
    return true;
}

/* Which request is answered next: rows before raw files, and first those that
 * need no bytes.
 */
static size_t most_urgent (struct ship *s)
{
    for (size_t i = 0; i < s->nqueue; i++) {
        const struct offer *o = ship_find_offer (s, s->queue[i].item);

        if (!o || o->item.kind == ITEM_ROWS || is_asked (o))
            return i;
    }
    return 0;
}

/* How long the request has to wait: for the rate, or while raw files are held
 * back.
 */
static int64_t wait_ns (struct ship *s, const struct get *get)
{
    const struct offer *o = ship_find_offer (s, get->item);

    if (!o || is_asked (o))
        return 0;
    if (s->held && o->item.kind == ITEM_RAW)
        return HOLD_NS;
    return bucket_wait_ns (&s->rate, clock_mono_ns ());
}

static void answer_queue (struct ship *s)
{
    while (s->nqueue > 0 && !s->full) {
        size_t i = most_urgent (s);

        if (wait_ns (s, &s->queue[i]) > 0 ||
            !ship_answers_answer (s, &s->queue[i]))
            return;
        memmove (s->queue + i, s->queue + i + 1,
                 (s->nqueue - i - 1) * sizeof (*s->queue));
        s->nqueue--;
    }
}

static void retry_queue (void *arg)
{
    struct ship *s = arg;

    answer_queue (s);
    if (s->nqueue > 0) {
        int64_t wait = wait_ns (s, &s->queue[most_urgent (s)]);

        (void)loop_add_timer (s->loop, wait > RETRY_NS ? wait : RETRY_NS,
                              retry_queue, s);
    }
}

void ship_on_get (struct ship *s, const struct message *m)
{
    bool asked = false;

    s->wanted_ns = clock_mono_ns ();
    for (size_t i = 0; i < s->nqueue && !asked; i++)    // again, while waiting
        asked = s->queue[i].item == m->item && s->queue[i].part == m->part &&
                s->queue[i].offset == m->offset;
    if (!asked && s->nqueue < QUEUE_MAX)
        s->queue[s->nqueue++] = (struct get){ m->item, m->offset, m->part,
                                              m->length };
    else if (!asked)            // it will be requested again
        counter_add (COUNTER_GETS_ASTRAY, 1);
    retry_queue (s);
}

/* Requested items come first. */
void ship_on_room (void *arg)
{
    struct ship *s = arg;

    s->full = false;
    retry_queue (s);
    ship_say_offers (s);
}

void ship_stop_answers (struct ship *s)
{
    loop_del_timer (s->loop, retry_queue, s);
}
