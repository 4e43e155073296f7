/* node_agent/ship/ship_says.c - what is sent, and repeated until it arrives */
#include "ship/ship_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REPEAT_NS (2 * NS_PER_S)        // for messages that may be lost
#define UNANSWERED_MAX 5                // HELLOs, two seconds apart
#define ROOM_NS (10 * NS_PER_MS)        // when the socket has no room

int ship_say (struct ship *s, const struct message *m)
{
    int rc = s->nowhere ? -EHOSTUNREACH : net_send (s->net, NULL, m);

    if (rc == -EAGAIN && !s->full) {
        s->full = true;
        net_when_room (s->net, s->on_room, s);
    }
    return rc;
}

int ship_say_gone (struct ship *s, uint64_t item, const char *why)
{
    struct message m = { .type = MESSAGE_GONE, .item = item };

    PRINT (m.text, "%s", why);
    return ship_say (s, &m);
}

bool ship_hears (const struct ship *s)
{
    return s->heard_ns > 0 && s->welcomed && !ship_hears_nothing (s);
}

bool ship_hears_nothing (const struct ship *s)
{
    return s->unanswered > UNANSWERED_MAX;
}

/* A thousand agents whose aggregator comes back must not all send at once. */
static int64_t jittered (struct ship *s, int64_t ns)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return ns - ns / 4 + (int64_t)(s->random % (uint64_t)(ns / 2));
}

void ship_say_offers (struct ship *s)
{
    struct message m;

    for (size_t i = 0; i < OFFERS_MAX && s->welcomed && !s->full; i++) {
        struct offer *o = &s->offers[i];

        if (o->state.now != OFFER_DUE && o->state.now != OFFER_AGAIN)
            continue;
        offer_message (o, &m);
        if (ship_say (s, &m) < 0)
            return;
        if (o->state.now == OFFER_AGAIN)
            counter_add (COUNTER_OFFERS_REPEATED, 1);
        (void)offer_change (o, OFFER_WAS_SAID);
    }
}

static void say_hello (struct ship *s)
{
    s->hello.sent_ns = clock_mono_ns ();
    s->hello.wall_ns = clock_wall_ns ();
    s->hello.mark = spool_mark (s->spool, s->copy);
    (void)ship_say (s, &s->hello);
    if (s->welcomed && s->divided.type == MESSAGE_DIVIDED)
        (void)ship_say (s, &s->divided);
}

void ship_say_kept (struct ship *s)
{
    struct message m = { .type = MESSAGE_KEPT, .hurry = s->first->hurry };

    if (s->welcomed && (s->alone || (s->keeps && spool_kept (s->spool) > 0)))
        (void)ship_say (s, &m);
}

/* Reports are for those that have rows. */
static bool reports (const struct ship *s)
{
    return s->copy < SPOOL_RAW_COPY;
}

/* The answer to this HELLO says that everything sent before it has arrived. */
static int say_done (struct ship *s)
{
    int rc = ship_say (s, &s->done);

    if (rc == 0 && s->done_ns == 0) {
        s->done_ns = clock_mono_ns ();
        say_hello (s);
    }
    return rc;
}

/* Send what was not sent in this round, as far as the socket has room: it takes
 * few messages at a time, and a node has many ranks.  DONE comes last.
 */
static void say_rest (void *arg)
{
    struct ship *s = arg;
    int rc = 0;

    if (!s->welcomed)
        return;
    while (reports (s) && s->next_said < s->nsaid &&
           (rc = ship_say (s, s->said[s->next_said])) == 0)
        s->next_said++;
    // not before what was found later
    if (rc == 0 && s->done_due && spool_undelivered (s->spool) == 0 &&
        (rc = say_done (s)) == 0)
        s->done_due = false;
    if (rc < 0)
        (void)loop_add_timer (s->loop, ROOM_NS, say_rest, s);
}

/* An aggregator whose disk is full answers, but requests nothing. */
static void tell_ignored (struct ship *s)
{
    unsigned n = offers_ignored (s->offers, OFFERS_MAX, ship_hears (s),
                                 clock_mono_ns (), &s->wanted_ns);

    if (n > 0)
        log_warn ("no-requests", "%u item%s %s on offer, but the aggregator "
                  "has asked for none for a minute: others may come first, or "
                  "its disk may be below its --disk-floor (its log says so); "
                  "all are kept, and offered again", n, units_s (n),
                  units_are (n));
}

static void say_left (struct ship *s)
{
    s->left.left_items = spool_undelivered (s->spool);
    if (s->left.type == MESSAGE_PING && s->welcomed)
        (void)ship_say (s, &s->left);
}

void ship_repeat (void *arg)
{
    struct ship *s = arg;

    if (s->over)
        return;
    tell_ignored (s);
    s->unanswered += s->hello_ns == REPEAT_NS;
    say_hello (s);
    ship_say_kept (s);
    for (size_t i = 0; i < OFFERS_MAX; i++)
        (void)offer_change (&s->offers[i], OFFER_REPEAT);
    ship_say_offers (s);
    say_left (s);
    if (s->next_said == s->nsaid)       // the last round is over
        s->next_said = 0;
    s->done_due = s->is_done;
    say_rest (s);               // after what delivery needs
    if (s->welcomed)
        s->hello_ns = REPEAT_NS;
    (void)loop_add_timer (s->loop, jittered (s, s->hello_ns), ship_repeat, s);
    if (s->hello_ns < REPEAT_NS)
        s->hello_ns = 2 * s->hello_ns < REPEAT_NS ? 2 * s->hello_ns
                                                  : REPEAT_NS;
}

/* Send it now if nothing waits before it, and in each round from now on. */
static int ship_says_keep (struct ship *s, const struct message *m)
{
    struct message *one;

    for (size_t i = 0; i < s->nsaid; i++) {
        struct message *old = s->said[i];

        if (old->type != m->type)
            continue;
        if (m->type == MESSAGE_RANK ? old->rank == m->rank
                                    : strcmp (old->text, m->text) == 0) {
            *old = *m;
            if (i < s->next_said && ship_say (s, m) < 0)
                s->next_said = i;
            say_rest (s);
            return 0;
        }
    }
    if (m->type == MESSAGE_NOTE && s->nnotes == SHIP_NOTES_MAX) {
        counter_add (COUNTER_NOTES_DROPPED, 1);
        return 0;
    }
    if (!(one = malloc (sizeof (*one))) ||
        vec_push (&s->said, &s->nsaid, &one, sizeof (one)) < 0) {
        free (one);
        return -ENOMEM;
    }
    *one = *m;
    s->nnotes += m->type == MESSAGE_NOTE;
    say_rest (s);
    return 0;
}

static const struct message *said_of_rank (const struct ship *s, int64_t rank)
{
    for (size_t i = 0; i < s->nsaid; i++) {
        if (s->said[i]->type == MESSAGE_RANK && s->said[i]->rank == rank)
            return s->said[i];
    }
    return NULL;
}

/* The same by all copies. */
static int keep_all (struct ship *s, const struct message *m)
{
    int rc = 0;

    for EACH_SHIP (c, s) {
        if (ship_says_keep (c, m) < 0)
            rc = -ENOMEM;
    }
    return rc;
}

int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text,
               const struct command_end *end)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank,
                         .local_rank = local_rank, .phase = phase,
                         .status = status };
    const struct message *before = said_of_rank (s, rank);

    if (end)
        m.command = *end;
    if (before) {
        m.mpi_rank = before->mpi_rank;
        m.mpi_size = before->mpi_size;
    }
    for EACH_SHIP (c, s) {
        if (phase == RANK_RUNNING)      // it joined after the others had ended
            c->is_done = c->done_due = false;
    }
    PRINT (m.text, "%s", text);
    return keep_all (s, &m);
}

void ship_rank_by_mpi (struct ship *s, int64_t rank, int64_t mpi_rank,
                       int64_t mpi_size)
{
    const struct message *before = said_of_rank (s, rank);
    struct message m;

    if (!before)
        return;
    m = *before;
    m.mpi_rank = mpi_rank;
    m.mpi_size = mpi_size;
    (void)keep_all (s, &m);
}

static void forget_rank (struct ship *s, int64_t rank)
{
    for (size_t i = 0; i < s->nsaid; i++) {
        if (s->said[i]->type != MESSAGE_RANK || s->said[i]->rank != rank)
            continue;
        free (s->said[i]);
        s->nsaid--;
        memmove (&s->said[i], &s->said[i + 1],
                 (s->nsaid - i) * sizeof (s->said[i]));
        s->next_said -= i < s->next_said;
        return;
    }
}

void ship_forget_rank (struct ship *s, int64_t rank)
{
    for EACH_SHIP (c, s)
        forget_rank (c, rank);
}

int ship_note (struct ship *s, const char *text)
{
    struct message m = { .type = MESSAGE_NOTE };

    PRINT (m.text, "%s", text);
    return keep_all (s, &m);
}

void ship_stop_words (struct ship *s)
{
    loop_del_timer (s->loop, ship_repeat, s);
    loop_del_timer (s->loop, say_rest, s);
}

void ship_done (struct ship *s, const char *text, uint64_t doubtful)
{
    for EACH_SHIP (c, s) {
        c->is_done = c->done_due = true;
        c->done_heard = false;
        c->done_ns = 0;
        c->done.doubtful = doubtful;
        PRINT (c->done.text, "%s", text);
        say_rest (c);
    }
}

void ship_word_heard (struct ship *s)
{
    bool all = true;

    s->done_heard = true;
    for EACH_COPY (c, s)
        all = all && c->is_done && (c->done_heard || ship_lags (c));
    if (all && s->events.said)
        s->events.said (s->events.arg);
}

void ship_not_done (struct ship *s)
{
    for EACH_SHIP (c, s) {
        c->is_done = c->done_due = false;
        if (!c->over && !c->rests)
            say_left (c);
    }
}
