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
    if (s->events.clock && (!s->clock_told || off != s->clock_off))
        s->events.clock (s->events.arg, &s->clock);
    s->clock_told = true;
    s->clock_off = off;
}

/* Ignore what a late WELCOME says about an earlier mark.  Without a mark the
 * aggregator cannot tell what it has lost.
 */
static void check_mark (struct ship *s, const struct message *m)
{
    bool lost = m->lost || spool_lacks_mark (s->spool);

    if (m->sent_ns <= s->lost_ns)
        return;
    // as old as the question: the answer may have waited here
    s->confirmed_ns = lost ? 0 : m->sent_ns;
    s->loss_unrecorded = false;
    if (!lost)
        return;
    ship_commit (s);       // or what came before would look newer
    s->events.lost (s->events.arg);
    s->loss_unrecorded = !spool_redelivers (s->spool);
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
    return s->waits;
}

static void on_welcome (struct ship *s, const struct message *m)
{
    measure_clock (s, m);
    if (s->events.raw && m->sent_ns > 0)        // else it answers no HELLO
        s->events.raw (s->events.arg, m->raw, m->sent_ns);
    if (m->sent_ns > 0)
        hear_waits (s, m->text);
    check_mark (s, m);
    s->codecs = m->codecs;
    // it answers a later HELLO: everything sent before has arrived
    if (s->is_done && s->done_ns > 0 && m->sent_ns >= s->done_ns &&
        s->events.said)
        s->events.said (s->events.arg);
    if (s->welcomed)
        return;
    s->welcomed = true;
    ship_repeat (s);
    if (s->events.welcome)
        s->events.welcome (s->events.arg);
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
            s->events.refused (s->events.arg, REFUSAL_VERSION, err->text);
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
            s->events.want (s->events.arg, m);
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
        s->events.refused (s->events.arg, m->reason, m->text);
        break;
    default:
        break;
    }
}

void ship_world (struct ship *s, int64_t world_size)
{
    s->hello.world_size = world_size;
}

void ship_limit (struct ship *s, int64_t bytes_per_s)
{
    // at first no more than the smallest piece that is requested
    bucket_init (&s->rate, bytes_per_s, CONTENT_CHUNK, clock_mono_ns ());
}

void ship_pack (struct ship *s, enum chunk_codec codec)
{
    s->codec = codec;
}

void ship_hold (struct ship *s, bool held)
{
    s->held = held;
}

void ship_kick (struct ship *s)
{
    ship_offer_more (s);
}

void ship_have (struct ship *s, const struct message *m)
{
    (void)ship_say (s, m);
}

int64_t ship_acked_ns (const struct ship *s)
{
    return s->acked_ns;
}

void ship_left (struct ship *s, uint64_t captures)
{
    s->left.type = MESSAGE_PING;
    s->left.left_captures = captures;
}

bool ship_confirmed (const struct ship *s, int64_t since_ns)
{
    return s->confirmed_ns > since_ns || !spool_has_delivered (s->spool);
}

const struct clock_sync *ship_clock (const struct ship *s)
{
    return &s->clock;
}

int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err)
{
    struct ship *s = calloc (1, sizeof (*s));
    int rc;

    if (s) {
        buf_init (&s->packed, PACKED_MAX);
        s->hello_ns = HELLO_NS;
        if (getrandom (&s->random, sizeof (s->random), 0) < 0)
            s->random = (uint64_t)clock_mono_ns ();
        s->random |= 1;         // a state of 0 would stay so
        s->queue = calloc (QUEUE_MAX, sizeof (*s->queue));
    }
    if (!s || !s->queue) {
        ship_destroy (s);
        return err_set (err, ENOMEM, "no memory to ship");
    }
    s->loop = loop;
    s->spool = spool;
    s->events = *events;
    s->on_room = ship_on_room;
    s->hello.type = MESSAGE_HELLO;
    s->hello.world_size = who->world_size;
    s->hello.clock_offset_ns = s->hello.clock_error_ns = MESSAGE_NO_CLOCK;
    PRINT (s->hello.job, "%s", who->job);
    PRINT (s->hello.host, "%s", who->host);
    PRINT (s->hello.host_key, "%s", who->host_key);
    s->done.type = MESSAGE_DONE;
    rc = net_connect (endpoint, who->security, &s->net, err);
    if (rc == 0 && net_attach (s->net, loop, on_message, s) < 0)
        rc = err_set (err, ENOMEM, "no memory to ship");
    if (rc < 0) {
        ship_destroy (s);
        return rc;
    }
    net_watch (s->net, events->problem, events->arg);
    ship_repeat (s);
    // from the loop: callbacks may need '*ret'
    (void)loop_add_timer (loop, 0, ship_offer_more, s);
    *ret = s;
    return 0;
}

void ship_destroy (struct ship *s)
{
    if (!s)
        return;
    if (s->loop) {
        ship_stop_words (s);
        ship_stop_offers (s);
        ship_stop_answers (s);
    }
    net_close (s->net);
    for (size_t i = 0; i < s->nsaid; i++)
        free (s->said[i]);
    free (s->said);
    buf_fini (&s->packed);
    free (s->queue);
    free (s->chunk);
    free (s);
}
