/* node_agent/ship/ship.c - deliver what the spool holds */
#include "ship/ship_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define PACKED_MAX (CONTENT_CHUNK + 65536)      // LZ4F_compressFrameBound

static void measure_clock (struct ship *s, const struct message *m)
{
    bool off;

    if (!clock_sync_take (&s->clock, m->sent_ns, clock_mono_ns (),
                          clock_wall_ns (), m->wall_ns))
        return;
    s->hello.clock_offset_ns = s->clock.offset_ns;
    s->hello.clock_error_ns = s->clock.error_ns;
    off = clock_sync_is_off (&s->clock);
    if (s->copy == 0 && s->events.clock &&
        (!s->clock_told || off != s->clock_off))
        s->events.clock (s->events.arg, &s->clock);
    s->clock_told = true;
    s->clock_off = off;
}

/* Whether anything was acknowledged of what this copy delivers. */
static bool has_delivered (const struct ship *s)
{
    uint64_t n = 0;

    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        if (s->kinds >> kind & 1)
            n += spool_tally (s->spool, kind, SPOOL_DURABLE).items +
                 spool_tally (s->spool, kind, SPOOL_RELEASED).items;
    }
    return n > 0;
}

static bool lacks_mark (const struct ship *s)
{
    return has_delivered (s) && spool_lacks_mark (s->spool, s->copy);
}

/* It lacks something.  Until the spool has recorded that, no ACK sets a mark. */
static void lose (struct ship *s)
{
    s->confirmed_ns = 0;
    ship_commit (s);       // or what came before would look newer
    s->events.lost (s->events.arg, s->copy);
    s->loss_unrecorded = spool_mark (s->spool, s->copy).epoch != 0 ||
                         lacks_mark (s);
    s->doubted = s->doubted && s->loss_unrecorded;
    s->lost_ns = clock_mono_ns ();
    s->is_done = s->done_due = false;   // nor does it know what was sent
    s->next_said = 0;
}

/* Ignore what a late WELCOME says about an earlier mark.  Without a mark the
 * aggregator cannot tell what it has lost.
 */
static void check_mark (struct ship *s, const struct message *m)
{
    if (m->sent_ns <= s->lost_ns)
        return;
    s->loss_unrecorded = false;
    if (m->lost || s->doubted || lacks_mark (s))
        lose (s);
    else        // as old as the question: the answer may have waited here
        s->confirmed_ns = m->sent_ns;
}

/* Logged when it changes. */
static void hear_waits (struct ship *s, const char *why)
{
    if (strcmp (s->waits, why) == 0)
        return;
    if (*why)
        log_warn ("delivery-waits", "%s; all is kept, and offered again", why);
    else
        log_info ("delivery-goes-on", "the aggregator has room again");
    PRINT (s->waits, "%s", why);
}

const char *ship_waits (const struct ship *s)
{
    for EACH_COPY (c, s) {
        if (*c->waits)
            return c->waits;
    }
    return "";
}

static void on_welcome (struct ship *s, const struct message *m)
{
    measure_clock (s, m);
    if (s->copy == 0 && s->events.raw && m->sent_ns > 0)        // else it
                                                        // answers no HELLO
        s->events.raw (s->events.arg, m->raw, m->sent_ns);
    if (m->sent_ns > 0)
        hear_waits (s, m->text);
    check_mark (s, m);
    s->codecs = m->codecs;
    // it answers a later HELLO: everything sent before has arrived
    if (s->is_done && s->done_ns > 0 && m->sent_ns >= s->done_ns)
        ship_word_heard (s);
    if (s->welcomed)
        return;
    s->welcomed = true;
    ship_repeat (s);
    if (s->events.welcome)
        s->events.welcome (s->events.arg, s->copy);
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct ship *s = arg;

    (void)from;
    if (!m) {
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
        if (bad == -EPROTONOSUPPORT && s->events.refused)
            s->events.refused (s->events.arg, s->copy, REFUSAL_VERSION,
                               err->text);
        return;
    }
    if (m->type != MESSAGE_REFUSED) {
        s->heard_ns = clock_mono_ns ();
        s->unanswered = 0;
    }
    switch (m->type) {
    case MESSAGE_WELCOME:
        on_welcome (s, m);
        break;
    case MESSAGE_GET:
        ship_on_get (s, m);
        break;
    case MESSAGE_ACK:
        ship_on_ack (s, m);
        break;
    case MESSAGE_STORED:
        ship_on_stored (s, m);
        break;
    case MESSAGE_WANT:
        if (s->events.want)
            s->events.want (s->events.arg, s->copy, m);
        break;
    case MESSAGE_STOP:
        s->events.stop (s->events.arg, m->text);
        break;
    case MESSAGE_ROLL:
        s->over = true;
        ship_commit (s);        // what was acknowledged before this
        s->events.roll (s->events.arg, m->complete, m->text);
        break;
    case MESSAGE_REFUSED:
        s->events.refused (s->events.arg, s->copy, m->reason, m->text);
        break;
    default:
        break;
    }
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    struct ship *s = arg;

    s->events.problem (s->events.arg, s->copy, what, text);
}

/* ---- what the agent wants of all copies ---- */

/* Only who has rows can have a roll. */
void ship_world (struct ship *s, int64_t world_size)
{
    for EACH_SHIP (c, s)
        c->hello.world_size = c->copy < SPOOL_RAW_COPY ? world_size : 0;
}

void ship_limit (struct ship *s, int64_t bytes_per_s)
{
    int64_t n = 0;

    for EACH_COPY (c, s)
        n++;
    // at first no more than the smallest piece that is requested
    for EACH_COPY (c, s)
        bucket_init (&c->rate, (bytes_per_s + n - 1) / n, CONTENT_CHUNK,
                     clock_mono_ns ());
}

void ship_pack (struct ship *s, enum chunk_codec codec)
{
    for EACH_SHIP (c, s)
        c->codec = codec;
}

void ship_hold (struct ship *s, bool held)
{
    for EACH_SHIP (c, s)
        c->held = held;
}

void ship_have (struct ship *s, unsigned copy, const struct message *m)
{
    (void)ship_say (ship_find_copy (s, copy), m);
}

void ship_doubt (struct ship *s, unsigned copy)
{
    struct ship *c = ship_find_copy (s, copy);

    c->doubted = true;
    lose (c);
}

void ship_divided (struct ship *s, unsigned copy, const char *elsewhere)
{
    struct ship *c = ship_find_copy (s, copy);

    c->divided = (struct message){ .type = *elsewhere ? MESSAGE_DIVIDED : 0,
                                   .home = copy < SPOOL_RAW_COPY };
    PRINT (c->divided.text, "%s", elsewhere);
}

int64_t ship_acked_ns (const struct ship *s)
{
    int64_t last = 0;

    for EACH_COPY (c, s)
        last = c->acked_ns > last ? c->acked_ns : last;
    return last;
}

void ship_left (struct ship *s, uint64_t captures)
{
    for EACH_SHIP (c, s) {
        c->left.type = MESSAGE_PING;
        c->left.left_captures = captures;
    }
}

bool ship_confirmed (const struct ship *s, int64_t since_ns)
{
    bool all = true;

    for EACH_COPY (c, s)
        all = all && (c->confirmed_ns > since_ns || ship_lags (c));
    return all || !spool_has_delivered (s->spool);
}

const struct clock_sync *ship_clock (const struct ship *s)
{
    return &s->first->clock;
}

int64_t ship_heard_ns (const struct ship *s)
{
    int64_t all = INT64_MAX;

    for EACH_COPY (c, s)
        if (c->heard_ns < all && (!ship_lags (c) || s->first->put_off))
            all = c->heard_ns;
    return all;
}

int64_t ship_copy_heard_ns (const struct ship *s, unsigned copy)
{
    return ship_find_copy (s, copy)->heard_ns;
}

void ship_was_deaf (struct ship *s, int64_t ns)
{
    int64_t now = clock_mono_ns ();

    for EACH_COPY (c, s) {
        if (c->heard_ns > 0)
            c->heard_ns = c->heard_ns < now - ns ? c->heard_ns + ns : now;
    }
}

bool ship_is_heard (const struct ship *s, unsigned copy)
{
    return ship_hears (ship_find_copy (s, copy));
}

bool ship_is_silent (const struct ship *s, unsigned copy)
{
    return ship_hears_nothing (ship_find_copy (s, copy));
}

/* ---- set-up ---- */

static struct ship *make (struct loop *loop, struct spool *spool,
                          const struct ship_events *events)
{
    struct ship *s = calloc (1, sizeof (*s));

    if (!s || !(s->queue = calloc (QUEUE_MAX, sizeof (*s->queue)))) {
        free (s);
        return NULL;
    }
    buf_init (&s->packed, PACKED_MAX);
    if (getrandom (&s->random, sizeof (s->random), 0) < 0)
        s->random = (uint64_t)clock_mono_ns ();
    s->random |= 1;             // a state of 0 would stay so
    s->first = s;
    s->kinds = SHIP_ALL;
    s->needed = 1;
    for (int kind = 0; kind < SPOOL_KINDS; kind++)
        s->keepers.of[kind] = SPOOL_NO_COPY;
    s->loop = loop;
    s->spool = spool;
    s->events = *events;
    s->on_room = ship_on_room;
    s->done.type = MESSAGE_DONE;
    return s;
}

static void greet (struct ship *s, const struct ship_identity *who)
{
    s->hello.type = MESSAGE_HELLO;
    s->hello.world_size = who->world_size;
    PRINT (s->hello.job, "%s", who->job);
    PRINT (s->hello.host, "%s", who->host);
    PRINT (s->hello.host_key, "%s", who->host_key);
}

/* Begin with an aggregator of which nothing is known. */
static int begin (struct ship *s, const char *endpoint,
                  const struct net_security *security, struct err *err)
{
    int rc;

    s->nowhere = true;
    s->hello_ns = HELLO_NS;
    s->clock = (struct clock_sync){ .known = false };
    s->hello.clock_offset_ns = s->hello.clock_error_ns = MESSAGE_NO_CLOCK;
    rc = net_connect (endpoint, security, &s->net, err);
    if (rc == 0 && net_attach (s->net, s->loop, on_message, s) < 0)
        rc = err_set (err, ENOMEM, "no memory to ship");
    if (rc < 0)
        return rc;
    s->nowhere = false;
    net_watch (s->net, on_problem, s);
    ship_repeat (s);
    // from the loop: callbacks may need the ship
    (void)loop_add_timer (s->loop, 0, ship_offer_more, s);
    return 0;
}

static void destroy_one (struct ship *s)
{
    ship_stop_words (s);
    ship_stop_offers (s);
    ship_stop_answers (s);
    net_close (s->net);
    for (size_t i = 0; i < s->nsaid; i++)
        free (s->said[i]);
    free (s->said);
    buf_fini (&s->packed);
    free (s->queue);
    free (s->chunk);
    free (s);
}

int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err)
{
    struct ship *s = make (loop, spool, events);
    int rc;

    if (!s)
        return err_set (err, ENOMEM, "no memory to ship");
    greet (s, who);
    if ((rc = begin (s, endpoint, who->security, err)) < 0) {
        destroy_one (s);
        return rc;
    }
    *ret = s;
    return 0;
}

int ship_add_copy (struct ship *s, unsigned copy, struct err *err)
{
    struct ship *last = s->first, *made = make (s->loop, s->spool, &s->events);

    if (!made)
        return err_set (err, ENOMEM, "no memory to ship");
    while (last->next)
        last = last->next;
    made->hello = s->first->hello;
    made->first = s->first;
    made->copy = copy;
    made->rests = made->nowhere = true;
    if (copy >= SPOOL_RAW_COPY)
        made->hello.world_size = 0;
    last->next = made;
    return 0;
}

/* All begin with the same items again, or some might wait for each other. */
static void begin_again (struct ship *s, const struct ship *but)
{
    for EACH_COPY (c, s) {
        ship_forget_offers (c);
        if (c != but)
            ship_offer_more (c);
    }
}

void ship_take (struct ship *s, unsigned copy, unsigned kinds)
{
    struct ship *c = ship_find_copy (s, copy);

    if (c->kinds == kinds)
        return;
    ship_commit (c);            // what was acknowledged is
    c->kinds = kinds;
    begin_again (s, NULL);
}

void ship_rest (struct ship *s, unsigned copy)
{
    struct ship *c = ship_find_copy (s, copy);

    if (!c->rests)
        ship_commit (c);
    ship_stop_words (c);
    ship_stop_answers (c);
    loop_del_timer (c->loop, ship_offer_more, c);
    begin_again (s, c);
    c->rests = c->nowhere = true;
    net_close (c->net);
    c->net = NULL;
    c->nqueue = c->next_said = 0;
    c->welcomed = c->full = c->loss_unrecorded = c->done_heard = false;
    c->confirmed_ns = c->lost_ns = c->done_ns = c->wanted_ns = 0;
    c->unanswered = c->codecs = 0;
    c->lacked = 0;              // another one is asked for all of it
    c->waits[0] = '\0';
    ship_forget_safety (c);
}

int ship_move (struct ship *s, unsigned copy, const char *endpoint,
               const struct net_security *security, struct err *err)
{
    struct ship *c = ship_find_copy (s, copy);

    ship_rest (s, copy);
    c->rests = false;
    return begin (c, endpoint, security, err);
}

void ship_destroy (struct ship *s)
{
    struct ship *next;

    for (struct ship *c = s ? s->first : NULL; c; c = next) {
        next = c->next;
        destroy_one (c);
    }
}
