/* tests/kit/hostile_aggregator.c - an aggregator that talks nonsense
 *
 *     hostile_aggregator ENDPOINT SEED MANNER MESSAGES CANARY
 *
 * Welcomes whoever comes, sends so many messages, and ends; earlier when it
 * is told to (SIGTERM), or after a minute.  MANNER:
 *
 *     nonsense  members at their bounds, damaged frames, ROLL, STOP, REFUSED
 *     liar      acknowledges all that is offered, and says that it has it
 *     greedy    asks for everything, beyond the end, again and again
 *
 * What is sent to it must not have the text CANARY in it, nor be longer than a
 * chunk.  Prints "sent N offers N chunks N leaks N"; status 1 with leaks.
 */
#include "nonsense.h"

#include "base/clock.h"
#include "base/pack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define LIMIT_NS (60 * NS_PER_S)
#define ITEMS_MAX 256
#define FRAME_MAX (CONTENT_CHUNK + 65536)
#define BURST 4                 // unasked, each millisecond

enum manner { NONSENSE, LIAR, GREEDY };

static void *router;
static enum manner manner;
static uint8_t id[64], frame[FRAME_MAX], raw[CONTENT_CHUNK];
static size_t id_size;
static struct { uint64_t id, size; } items[ITEMS_MAX];
static size_t nitems;
static const char *canary;
static volatile sig_atomic_t over;
static unsigned long sent, offers, chunks, leaks;

static void say (struct message *m, bool damaged)
{
    struct buf b;

    buf_init (&b, 65536);
    message_encode (m, &b);
    if (damaged)
        nonsense_damage (&b);
    if (b.size > 0 && damaged)
        sent += nonsense_send (router, id, id_size, &b, false);
    else if (b.size > 0 &&
             zmq_send (router, id, id_size, ZMQ_DONTWAIT | ZMQ_SNDMORE) >= 0 &&
             zmq_send (router, b.data, b.size, ZMQ_DONTWAIT) >= 0)
        sent++;
    buf_fini (&b);
}

static void welcome (const struct message *hello)
{
    struct message m = { .type = MESSAGE_WELCOME, .sent_ns = hello->sent_ns,
                         .codecs = nonsense_draw (256),
                         .wall_ns = clock_wall_ns () };

    m.lost = manner == NONSENSE && nonsense_draw (8) == 0;
    say (&m, false);
}

static uint64_t some_item (void)
{
    return nitems ? items[nonsense_draw ((uint32_t)nitems)].id : 1;
}

static void acknowledge (uint64_t item)
{
    struct message m = { .type = MESSAGE_ACK, .item = item,
                         .mark = { 7, 7 } };

    say (&m, false);
}

static void ask (void)
{
    struct message m = { .type = MESSAGE_GET, .item = some_item (),
                         .length = CONTENT_CHUNK };

    m.offset = nonsense_draw (2) ? nonsense_draw (64)
                                 : (uint64_t)1 << nonsense_draw (64);
    m.offset *= nonsense_draw (2) ? CONTENT_CHUNK : 1;
    if (nonsense_draw (8) == 0)
        m.part = PART_LIST;
    if (nonsense_draw (4) == 0)
        m.length = nonsense_draw (CONTENT_CHUNK + 1);
    if (nitems > 0 && nonsense_draw (2)) {      // one that is there
        size_t i = nonsense_draw ((uint32_t)nitems);
        uint64_t size = items[i].size;

        m.item = items[i].id;
        m.offset = size > CONTENT_CHUNK ? CONTENT_CHUNK : 0;
        size -= size > 2 * CONTENT_CHUNK ? CONTENT_CHUNK : m.offset;
        m.length = (uint32_t)size;
    }
    say (&m, false);
}

static void talk (void)
{
    struct message m;

    if (id_size == 0 || (nitems == 0 && nonsense_draw (1000)))
        return;                 // it has nothing to be asked for
    nonsense_message (&m, false);
    if (manner == NONSENSE) {
        if (nonsense_draw (3) == 0)
            m.item = some_item ();
        // most of these end an agent, rightly
        if ((m.type == MESSAGE_REFUSED || m.type == MESSAGE_ROLL) &&
            nonsense_draw (300))
            m.type = MESSAGE_GET;
        say (&m, nonsense_draw (500) == 0);
    } else if (manner == GREEDY) {
        ask ();
    }
}

static void look_for_canary (const uint8_t *data, size_t size)
{
    leaks += memmem (data, size, canary, strlen (canary)) != NULL ||
             size > CONTENT_CHUNK;
}

/* What travels packed does not say how long it is. */
static void on_chunk (const struct message *m, size_t size)
{
    size_t n = m->codec == CODEC_LZ4 ? CONTENT_CHUNK : 0;

    chunks++;
    look_for_canary (frame, size);
    memset (raw, 0, sizeof (raw));
    if (n > 0) {
        (void)pack_open (frame, size, raw, n, NULL);
        look_for_canary (raw, n);
    }
}

static void on_message (const struct message *m)
{
    switch (m->type) {
    case MESSAGE_HELLO:
        welcome (m);
        break;
    case MESSAGE_OFFER:
        offers++;
        if (nitems < ITEMS_MAX)
            items[nitems].id = m->item, items[nitems++].size = m->size;
        if (manner == LIAR)
            acknowledge (m->item);
        break;
    default:
        break;
    }
}

static bool take (void)
{
    struct message m;
    struct err err;
    int n = zmq_recv (router, id, sizeof (id), ZMQ_DONTWAIT), more = 1;
    size_t size = sizeof (more);

    if (n < 0)
        return false;
    id_size = (size_t)n;
    n = zmq_recv (router, frame, sizeof (frame), 0);
    (void)zmq_getsockopt (router, ZMQ_RCVMORE, &more, &size);
    if (n < 0 || message_decode (&m, frame, (size_t)n, &err) < 0) {
        leaks++;                // an agent sends nothing else
        return true;
    }
    if (more && (n = zmq_recv (router, frame, sizeof (frame), 0)) >= 0)
        on_chunk (&m, (size_t)n);
    else
        on_message (&m);
    return true;
}

static void end (int signo)
{
    (void)signo;
    over = 1;
}

static int open_router (const char *endpoint)
{
    static const int zero = 0;

    router = zmq_socket (zmq_ctx_new (), ZMQ_ROUTER);
    if (zmq_setsockopt (router, ZMQ_LINGER, &zero, sizeof (zero)) < 0 ||
        zmq_bind (router, endpoint) < 0) {
        perror (endpoint);
        return -1;
    }
    (void)puts ("ready");
    (void)fflush (stdout);
    return 0;
}

int main (int argc, char **argv)
{
    int64_t until = clock_mono_ns () + LIMIT_NS;
    unsigned long wanted;

    if (argc != 6) {
        (void)fputs ("usage: hostile_aggregator ENDPOINT SEED MANNER MESSAGES "
                     "CANARY\n", stderr);
        return 2;
    }
    nonsense_seed (strtoull (argv[2], NULL, 10));
    manner = *argv[3] == 'l' ? LIAR : *argv[3] == 'g' ? GREEDY : NONSENSE;
    wanted = strtoul (argv[4], NULL, 10);
    canary = argv[5];
    if (open_router (argv[1]) < 0)
        return 1;
    (void)signal (SIGTERM, end);
    while (!over && sent < wanted && clock_mono_ns () < until) {
        zmq_pollitem_t item = { .socket = router, .events = ZMQ_POLLIN };

        (void)zmq_poll (&item, 1, 1);
        while (take ())
            ;
        for (int i = 0; i < BURST; i++)
            talk ();
    }
    (void)printf ("sent %lu offers %lu chunks %lu leaks %lu\n", sent, offers,
                  chunks, leaks);
    return leaks > 0;
}
