/* tests/system/wire_peer.c - the other end of the wire, written by the book
 *
 * Speaks doc/format-wire.md without common/net, under any version's number, so
 * that programs meet peers of other versions, or that are not what they seem.
 *
 *     wire_peer agent ENDPOINT VERSION TYPE EXTRA [FILE]
 *         says HELLO, as that version and type, with EXTRA bytes behind it,
 *         then delivers FILE as a raw file of capture "peer".  Prints one of
 *         welcome, refused TEXT, handshake-failed; and then acknowledged.
 *     wire_peer snoop ENDPOINT FILE
 *         says HELLO of job j, and then messages of every type there may be, also
 *         those that only aggregators say, to be told something; writes all
 *         that it hears into FILE, and prints each type that it has heard
 *     wire_peer aggregator ENDPOINT VERSION TEXT
 *         answers whoever says something with REFUSED in that version, for no
 *         reason that has a number
 *     wire_peer closer PORT N
 *         ends N connections as soon as they are there
 *     wire_peer relay PORT TO_PORT FILE
 *         hands on connections, and writes what passes into FILE
 *     wire_peer replay PORT TO_PORT FILE OLD
 *         the same of what clients say only; before the first message of the first
 *         one the file OLD is sent, as if by it.  Prints "replayed"
 */
#include "base/wire.h"
#include "store/content.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#define LIMIT_MS 30000          // for an answer
#define VERSION 1               // in which the others answer
#define FILE_MAX_BYTES 65536    // of the one that is delivered

enum { HELLO = 1, OFFER = 3, CHUNK = 4, WELCOME = 32, REFUSED = 33, GET = 34,
       ACK = 35 };

static void die (const char *what)
{
    (void)fprintf (stderr, "wire_peer: %s: %s\n", what, zmq_strerror (errno));
    exit (1);
}

static unsigned number (const char *text)
{
    return (unsigned)strtoul (text, NULL, 10);
}

/* ---- agent ---- */

static void *dealer, *monitor;

static void open_agent (const char *endpoint)
{
    void *context = zmq_ctx_new ();
    int zero = 0;

    dealer = zmq_socket (context, ZMQ_DEALER);
    monitor = zmq_socket (context, ZMQ_PAIR);
    (void)zmq_setsockopt (dealer, ZMQ_LINGER, &zero, sizeof (zero));
    if (zmq_socket_monitor (dealer, "inproc://m",
                            ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) < 0 ||
        zmq_connect (monitor, "inproc://m") < 0 ||
        zmq_connect (dealer, endpoint) < 0)
        die (endpoint);
}

/* The next message; its type, after the two numbers that begin it. */
static unsigned receive (struct wire *w)
{
    static uint8_t frame[FILE_MAX_BYTES];
    zmq_pollitem_t items[] = { { .socket = dealer, .events = ZMQ_POLLIN },
                               { .socket = monitor, .events = ZMQ_POLLIN } };
    int n;

    if (zmq_poll (items, 2, LIMIT_MS) <= 0)
        die ("no answer");
    if (!(items[0].revents & ZMQ_POLLIN)) {
        (void)puts ("handshake-failed");
        exit (0);
    }
    if ((n = zmq_recv (dealer, frame, sizeof (frame), 0)) < 0)
        die ("receive");
    *w = wire_reader (frame, (size_t)n);
    if (wire_u16 (w) != VERSION)
        (void)puts ("other-version");
    return wire_u16 (w);
}

static void send_frame (struct buf *b, int flags)
{
    if (b->failed || zmq_send (dealer, b->data, b->size, flags) < 0)
        die ("send");
    buf_clear (b);
}

static void put_head (struct buf *b, unsigned version, unsigned type)
{
    wire_put_u16 (b, (uint16_t)version);
    wire_put_u16 (b, (uint16_t)type);
}

static void say_hello (struct buf *b, unsigned version, unsigned type,
                       unsigned extra)
{
    put_head (b, version, type);
    wire_put_text (b, "j");
    wire_put_text (b, "peer-host");
    wire_put_text (b, "peer-host-key");
    wire_put_i64 (b, 1);
    for (int i = 0; i < 4; i++)         // no clocks
        wire_put_i64 (b, INT64_MIN);
    wire_put_u64 (b, 0);                // no mark
    wire_put_u64 (b, 0);
    for (unsigned i = 0; i < extra; i++)
        wire_put_u8 (b, 0);
    send_frame (b, 0);
}

/* Deliver a file of one chunk, and wait for the acknowledgement. */
static void deliver (struct buf *b, const char *path)
{
    static uint8_t data[FILE_MAX_BYTES];
    struct content_hash h = { 0 };
    struct digest id;
    struct wire w;
    unsigned type;
    int fd = open (path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read (fd, data, sizeof (data));

    if (n < 0 || content_hash_add (&h, data, (size_t)n) < 0 ||
        content_hash_end (&h, &id) < 0)
        die (path);
    put_head (b, VERSION, OFFER);
    wire_put_u64 (b, 7);
    wire_put_u8 (b, 2);
    buf_put (b, id.bytes, DIGEST_SIZE);
    wire_put_u64 (b, (uint64_t)n);
    wire_put_i64 (b, 0);
    wire_put_text (b, "peer");
    wire_put_text (b, "file");
    wire_put_i64 (b, 0);
    wire_put_text (b, "");
    wire_put_u32 (b, 0100644);          // the facts of a file
    wire_put_i64 (b, 1);
    wire_put_i64 (b, -1);
    wire_put_i64 (b, -1);
    send_frame (b, 0);
    while ((type = receive (&w)) != ACK) {
        if (type != GET)
            continue;
        put_head (b, VERSION, CHUNK);
        wire_put_u64 (b, 7);
        wire_put_u8 (b, 0);
        wire_put_u64 (b, 0);
        wire_put_u8 (b, 0);
        send_frame (b, ZMQ_SNDMORE);
        buf_put (b, data, (size_t)n);
        send_frame (b, 0);
    }
    (void)puts ("acknowledged");
}

static int be_agent (char **args, int n)
{
    char text[1024];
    struct buf b;
    struct wire w;

    buf_init (&b, 2 * FILE_MAX_BYTES);
    open_agent (args[0]);
    say_hello (&b, number (args[1]), number (args[2]), number (args[3]));
    if (receive (&w) == REFUSED) {
        wire_text (&w, text, sizeof (text));
        (void)printf ("refused %s\n", text);
    } else {
        (void)puts ("welcome");
        if (n > 4)
            deliver (&b, args[4]);
    }
    buf_fini (&b);
    return 0;
}

/* A message that asks for bytes of an item, in the words of an aggregator; and
 * the same with more behind it.
 */
static void ask_for_bytes (struct buf *b, unsigned type, unsigned extra)
{
    put_head (b, VERSION, type);
    wire_put_u64 (b, 7);
    wire_put_u8 (b, 0);
    wire_put_u64 (b, 0);
    wire_put_u32 (b, 1 << 20);
    for (unsigned i = 0; i < extra; i++)
        wire_put_u8 (b, 0);
    send_frame (b, 0);
}

static int be_snoop (char **args)
{
    bool heard[64] = { false };
    FILE *f = fopen (args[1], "w");
    struct wire w;
    struct buf b;
    unsigned type, welcomes = 0;

    if (!f)
        die (args[1]);
    buf_init (&b, 2 * FILE_MAX_BYTES);
    open_agent (args[0]);
    for (type = 0; type < 64; type++) {
        say_hello (&b, VERSION, HELLO, 0);
        ask_for_bytes (&b, type, 0);
        ask_for_bytes (&b, type, 300);
    }
    // each HELLO but those among the types is answered, the last one last
    while (welcomes < 64) {
        type = receive (&w);
        welcomes += type == WELCOME;
        heard[type % 64] = true;
        (void)fwrite (w.at, 1, (size_t)(w.end - w.at), f);
    }
    for (type = 0; type < 64; type++) {
        if (heard[type])
            (void)printf ("%u\n", type);
    }
    buf_fini (&b);
    return fclose (f);
}

/* ---- aggregator ---- */

static int be_aggregator (char **args)
{
    void *router = zmq_socket (zmq_ctx_new (), ZMQ_ROUTER);
    char id[64], rest[4096];
    struct buf b;
    int n;

    if (zmq_bind (router, args[0]) < 0)
        die (args[0]);
    buf_init (&b, 4096);
    while ((n = zmq_recv (router, id, sizeof (id), 0)) >= 0 &&
           zmq_recv (router, rest, sizeof (rest), 0) >= 0) {
        put_head (&b, number (args[1]), REFUSED);
        wire_put_text (&b, args[2]);
        wire_put_u8 (&b, 0);
        if (zmq_send (router, id, (size_t)n, ZMQ_SNDMORE) < 0 ||
            zmq_send (router, b.data, b.size, 0) < 0)
            die ("answer");
        buf_clear (&b);
    }
    return 0;
}

/* ---- relay ---- */

static struct sockaddr_in loopback (const char *port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons ((uint16_t)number (port)),
        .sin_addr = { .s_addr = htonl (INADDR_LOOPBACK) },
    };
}

#define HANDSHAKE 266           // bytes of a client before it shows its key

/* As if the client had said it, between two of its messages. */
static void replay (int to, const char *old)
{
    char data[65536];
    int fd = open (old, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        die (old);
    while ((n = read (fd, data, sizeof (data))) > 0 && write (to, data,
                                                              (size_t)n) == n)
        ;
    (void)close (fd);
    (void)puts ("replayed");
}

static int pass_on (int from, int to, int out)
{
    char data[65536];
    ssize_t n = read (from, data, sizeof (data));

    return n > 0 && write (to, data, (size_t)n) == n &&
                   (out < 0 || write (out, data, (size_t)n) == n)
               ? (int)n : -1;
}

/* 'old': what is replayed once, or NULL: then answers are written, too. */
static void hand_on (int client, const char *port, int out, const char *old)
{
    int n, passed = 0;
    struct sockaddr_in to = loopback (port);
    int server = socket (AF_INET, SOCK_STREAM, 0);
    struct pollfd p[] = { { .fd = client, .events = POLLIN },
                          { .fd = server, .events = POLLIN } };

    if (connect (server, (struct sockaddr *)&to, sizeof (to)) < 0)
        return;
    while (poll (p, 2, -1) > 0) {
        // it has waited for the end of the handshake: no frame is under way
        if (p[0].revents && old && *old && passed > HANDSHAKE) {
            replay (server, old);
            old = "";
        }
        if (p[0].revents) {
            if ((n = pass_on (client, server, out)) < 0)
                return;
            passed += n;
        }
        if (p[1].revents && pass_on (server, client, old ? -1 : out) < 0)
            return;
    }
}

static int listen_on (const char *port)
{
    struct sockaddr_in at = loopback (port);
    int listener = socket (AF_INET, SOCK_STREAM, 0), one = 1;

    (void)setsockopt (listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    if (bind (listener, (struct sockaddr *)&at, sizeof (at)) < 0 ||
        listen (listener, 16) < 0)
        die (port);
    return listener;
}

static int be_relay (char **args, const char *old)
{
    int out = open (args[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
    int listener = listen_on (args[0]), client;

    if (out < 0)
        die (args[2]);
    (void)signal (SIGCHLD, SIG_IGN);
    while ((client = accept (listener, NULL, NULL)) >= 0) {
        if (fork () == 0) {
            (void)close (listener);
            hand_on (client, args[1], out, old);
            _exit (0);
        }
        if (old)                // those that come again are left alone
            old = "";
        (void)close (client);
    }
    return 1;
}

static int be_closer (char **args)
{
    int listener = listen_on (args[0]), client;

    for (unsigned i = 0; i < number (args[1]); i++) {
        if ((client = accept (listener, NULL, NULL)) < 0)
            die ("accept");
        (void)close (client);
    }
    return 0;
}

int main (int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";

    (void)setvbuf (stdout, NULL, _IOLBF, 0);
    if (strcmp (part, "agent") == 0 && argc >= 6)
        return be_agent (argv + 2, argc - 2);
    if (strcmp (part, "snoop") == 0 && argc == 4)
        return be_snoop (argv + 2);
    if (strcmp (part, "aggregator") == 0 && argc == 5)
        return be_aggregator (argv + 2);
    if (strcmp (part, "relay") == 0 && argc == 5)
        return be_relay (argv + 2, NULL);
    if (strcmp (part, "replay") == 0 && argc == 6)
        return be_relay (argv + 2, argv[5]);
    if (strcmp (part, "closer") == 0 && argc == 4)
        return be_closer (argv + 2);
    (void)fprintf (stderr, "wire_peer: which part?\n");
    return 2;
}
