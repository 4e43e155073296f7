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

/* Ignore what a late WELCOME says about an earlier mark.  Without a mark the
 * aggregator cannot tell what it has lost.
 */
static void check_mark (struct ship *s, const struct message *m)
{
    bool lost = m->lost || spool_lacks_mark (s->spool, s->copy);

    if (m->sent_ns <= s->lost_ns)
        return;
    // as old as the question: the answer may have waited here
    s->confirmed_ns = lost ? 0 : m->sent_ns;
    s->loss_unrecorded = false;
    if (!lost)
        return;
    ship_commit (s);       // or what came before would look newer
    s->events.lost (s->events.arg, s->copy);
    s->loss_unrecorded = spool_mark (s->spool, s->copy).epoch != 0 ||
                         spool_lacks_mark (s->spool, s->copy);
    s->lost_ns = clock_mono_ns ();
    s->is_done = s->done_due = false;   // nor does it know what was sent
    s->next_said = 0;
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

static struct ship *find_copy (const struct ship *s, unsigned copy)
{
    struct ship *c = s->first;

    while (c->copy != copy)
        c = c->next;
    return c;
}

void ship_world (struct ship *s, int64_t world_size)
{
    for EACH_COPY (c, s)
        c->hello.world_size = world_size;
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
    for EACH_COPY (c, s)
        c->codec = codec;
}

void ship_hold (struct ship *s, bool held)
{
    for EACH_COPY (c, s)
        c->held = held;
}

void ship_have (struct ship *s, unsigned copy, const struct message *m)
{
    (void)ship_say (find_copy (s, copy), m);
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
    for EACH_COPY (c, s) {
        c->left.type = MESSAGE_PING;
        c->left.left_captures = captures;
    }
}

bool ship_confirmed (const struct ship *s, int64_t since_ns)
{
    bool all = true;

    for EACH_COPY (c, s)
        all = all && c->confirmed_ns > since_ns;
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
        all = c->heard_ns < all ? c->heard_ns : all;
    return all;
}

int64_t ship_copy_heard_ns (const struct ship *s, unsigned copy)
{
    return find_copy (s, copy)->heard_ns;
}

bool ship_is_heard (const struct ship *s, unsigned copy)
{
    return ship_hears (find_copy (s, copy));
}

bool ship_is_silent (const struct ship *s, unsigned copy)
{
    return ship_hears_nothing (find_copy (s, copy));
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

int ship_add_copy (struct ship *s, const char *endpoint,
                   const struct net_security *security, struct err *err)
{
    struct ship *last = s->first, *made = make (s->loop, s->spool, &s->events);
    int rc;

    if (!made)
        return err_set (err, ENOMEM, "no memory to ship");
    while (last->next)
        last = last->next;
    made->hello = s->first->hello;
    made->first = s->first;
    made->copy = last->copy + 1;
    if ((rc = begin (made, endpoint, security, err)) < 0) {
        destroy_one (made);
        return rc;
    }
    last->next = made;
    return 0;
}

int ship_move (struct ship *s, unsigned copy, const char *endpoint,
               const struct net_security *security, struct err *err)
{
    struct ship *c = find_copy (s, copy);

    ship_commit (c);            // what was acknowledged is
    ship_stop_words (c);
    ship_stop_answers (c);
    // all begin with the same items again, or some might wait for each other
    for EACH_COPY (o, s) {
        ship_forget_offers (o);
        if (o != c)
            ship_offer_more (o);
    }
    net_close (c->net);
    c->net = NULL;
    c->nqueue = c->next_said = 0;
    c->welcomed = c->full = c->loss_unrecorded = c->done_heard = false;
    c->confirmed_ns = c->lost_ns = c->done_ns = c->wanted_ns = 0;
    c->unanswered = c->codecs = 0;
    c->waits[0] = '\0';
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
