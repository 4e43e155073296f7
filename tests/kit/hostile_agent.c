/* tests/kit/hostile_agent.c - an enrolled agent that talks nonsense
 *
 *     hostile_agent ENDPOINT SEED MESSAGES CORPUS KEY SERVER_KEY
 *
 * Sends so many: messages at the bounds of what is allowed, frames that were
 * recorded (the files of CORPUS), most of them damaged, in any order, with
 * frames too few and too many.  It says a right HELLO in between, asks to be
 * asked, and answers with what was not asked for.  Whenever it is thrown out,
 * and sometimes otherwise, it connects again.  Prints "sent N connections N
 * answers N".
 */
#include "nonsense.h"

#include "net/keys.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define CORPUS_MAX 256
#define FRAME_MAX 4096
#define PATIENCE 2000           // tries of 1 ms to send one, then a new start

static struct recorded {
    uint8_t bytes[FRAME_MAX];
    size_t size;
} corpus[CORPUS_MAX];
static size_t ncorpus;
static void *context, *dealer;
static const char *endpoint;
static struct net_security keys;
static unsigned long sent, connections, answers;

static void die (const char *what)
{
    perror (what);
    exit (1);
}

static void read_corpus (const char *dir)
{
    DIR *d = opendir (dir);
    struct dirent *e;

    while (d && (e = readdir (d)) && ncorpus < CORPUS_MAX) {
        int fd = openat (dirfd (d), e->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t n = read (fd, corpus[ncorpus].bytes, FRAME_MAX);

        if (n > 0)
            corpus[ncorpus++].size = (size_t)n;
        if (fd >= 0)
            (void)close (fd);
    }
    if (ncorpus == 0)
        die (dir);
    (void)closedir (d);
}

static void say_hello (void)
{
    struct message m = { .type = MESSAGE_HELLO, .world_size = 4,
                         .host = "evil",
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };
    struct buf b;

    (void)snprintf (m.job, sizeof (m.job), nonsense_draw (2) ? "j" : "evil");
    (void)snprintf (m.host_key, sizeof (m.host_key), "evil-%u",
                    nonsense_draw (4));
    buf_init (&b, FRAME_MAX);
    message_encode (&m, &b);
    (void)zmq_send (dealer, b.data, b.size, ZMQ_DONTWAIT);
    buf_fini (&b);
}

static void begin (void)
{
    static const int linger = 5000, few = 8;

    if (dealer)
        (void)zmq_close (dealer);
    if (!(dealer = zmq_socket (context, ZMQ_DEALER)) ||
        zmq_setsockopt (dealer, ZMQ_LINGER, &linger, sizeof (linger)) < 0 ||
        zmq_setsockopt (dealer, ZMQ_SNDHWM, &few, sizeof (few)) < 0 ||
        zmq_setsockopt (dealer, ZMQ_CURVE_SERVERKEY, keys.server_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_setsockopt (dealer, ZMQ_CURVE_PUBLICKEY, keys.public_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_setsockopt (dealer, ZMQ_CURVE_SECRETKEY, keys.secret_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_connect (dealer, endpoint) < 0)
        die (endpoint);
    connections++;
    if (nonsense_draw (5))
        say_hello ();
}

/* What is asked for is answered, in a way. */
static void listen_to (struct buf *b)
{
    uint8_t bytes[FRAME_MAX];
    struct message get, m;
    zmq_pollitem_t item = { .socket = dealer, .events = ZMQ_POLLIN };
    struct err err;
    int n;

    (void)zmq_poll (&item, 1, 1);
    while ((n = zmq_recv (dealer, bytes, sizeof (bytes), ZMQ_DONTWAIT)) >= 0) {
        answers++;
        if ((size_t)n > sizeof (bytes) ||
            message_decode (&get, bytes, (size_t)n, &err) < 0 ||
            get.type != MESSAGE_GET)
            continue;
        nonsense_message (&m, true);
        m.type = MESSAGE_CHUNK;
        m.item = get.item;
        m.part = nonsense_draw (8) ? get.part : PART_LIST - get.part;
        m.offset = nonsense_draw (4) ? get.offset : m.offset;
        m.codec = (enum chunk_codec)nonsense_draw (2);
        buf_clear (b);
        message_encode (&m, b);
        sent += nonsense_send (dealer, NULL, 0, b, true);
    }
}

static bool make (struct buf *b)
{
    const struct recorded *r = &corpus[nonsense_draw ((uint32_t)ncorpus)];
    struct message m;

    buf_clear (b);
    nonsense_message (&m, true);
    if (nonsense_draw (3) == 0) {       // an offer that is taken
        m.type = MESSAGE_OFFER;
        m.kind = ITEM_RAW;
        m.rank = nonsense_draw (4);
        m.size = nonsense_draw (3000000);
        (void)snprintf (m.capture, sizeof (m.capture), "evil_%u_ascend_pt",
                        nonsense_draw (9));
        (void)snprintf (m.path, sizeof (m.path), "file%u", nonsense_draw (9));
    }
    if (nonsense_draw (3))
        message_encode (&m, b);
    else
        buf_put (b, r->bytes, r->size);
    nonsense_damage (b);
    return b->size > 2 && message_has_data ((enum message_type)b->data[2]);
}

int main (int argc, char **argv)
{
    unsigned long wanted, tries = 0;
    struct err err = { "" };
    struct buf b;

    if (argc != 7) {
        (void)fputs ("usage: hostile_agent ENDPOINT SEED MESSAGES CORPUS KEY "
                     "SERVER_KEY\n", stderr);
        return 2;
    }
    endpoint = argv[1];
    nonsense_seed (strtoull (argv[2], NULL, 10));
    wanted = strtoul (argv[3], NULL, 10);
    read_corpus (argv[4]);
    if (key_client (argv[5], argv[6], &keys, &err) < 0) {
        (void)fprintf (stderr, "%s\n", err.text);
        return 1;
    }
    context = zmq_ctx_new ();
    buf_init (&b, FRAME_MAX * 2);
    begin ();
    while (sent < wanted) {
        bool data = make (&b);

        for (tries = 0; tries < PATIENCE &&
                        !nonsense_send (dealer, NULL, 0, &b, data); tries++)
            (void)poll (NULL, 0, 1);
        sent += tries < PATIENCE;
        listen_to (&b);
        if (tries == PATIENCE || nonsense_draw (60) == 0)
            begin ();
    }
    (void)printf ("sent %lu connections %lu answers %lu\n", sent, connections,
                  answers);
    buf_fini (&b);
    (void)zmq_close (dealer);
    (void)zmq_ctx_term (context);
    return 0;
}
