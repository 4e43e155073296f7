/* tests/system/greedy_agent.c - a node that is enrolled, and wants everything
 *
 *     greedy_agent ENDPOINT KEY SERVER_KEY jobs N
 *         N connections, each of which opens a job of its own
 *     greedy_agent ENDPOINT KEY SERVER_KEY agents N
 *         N connections, each another host of one job
 *     greedy_agent ENDPOINT KEY SERVER_KEY ranks N BYTES
 *         one connection with N ranks, that say a text of so many bytes
 *
 * Prints "welcome N refused N" when all have been answered, and stays until its
 * standard input ends.
 */
#include "net/keys.h"
#include "net/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#define WAIT_MS 60000           // for one answer
#define AHEAD 64                // messages of one socket that wait here

static void *context;
static const char *endpoint;
static struct net_security keys;
static unsigned long welcome, refused;

static void die (const char *what)
{
    (void)fprintf (stderr, "greedy_agent: %s: %s\n", what,
                   zmq_strerror (zmq_errno ()));
    exit (1);
}

static void *connect_one (void)
{
    static const int no = 0, ahead = AHEAD, wait = WAIT_MS;
    void *s = zmq_socket (context, ZMQ_DEALER);

    if (!s || zmq_setsockopt (s, ZMQ_LINGER, &no, sizeof (no)) < 0 ||
        zmq_setsockopt (s, ZMQ_SNDHWM, &ahead, sizeof (ahead)) < 0 ||
        zmq_setsockopt (s, ZMQ_SNDTIMEO, &wait, sizeof (wait)) < 0 ||
        zmq_setsockopt (s, ZMQ_RCVTIMEO, &wait, sizeof (wait)) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_SERVERKEY, keys.server_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_PUBLICKEY, keys.public_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_setsockopt (s, ZMQ_CURVE_SECRETKEY, keys.secret_key,
                        NET_KEY_SIZE) < 0 ||
        zmq_connect (s, endpoint) < 0)
        die ("connect");
    return s;
}

static void say (void *s, const struct message *m)
{
    struct buf b;

    buf_init (&b, 8192);
    message_encode (m, &b);
    if (zmq_send (s, b.data, b.size, 0) < 0)
        die ("send");
    buf_fini (&b);
}

static void hello (void *s, const char *job, const char *host)
{
    struct message m = { .type = MESSAGE_HELLO, .world_size = 4,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "%s", job);
    (void)snprintf (m.host, sizeof (m.host), "greedy");
    (void)snprintf (m.host_key, sizeof (m.host_key), "%s", host);
    say (s, &m);
}

/* Until HELLO is answered. */
static void hear (void *s)
{
    uint8_t bytes[4096];
    struct message m;
    struct err err;
    int n;

    for (;;) {
        if ((n = zmq_recv (s, bytes, sizeof (bytes), 0)) < 0)
            die ("no answer");
        if ((size_t)n > sizeof (bytes) ||
            message_decode (&m, bytes, (size_t)n, &err) < 0)
            continue;
        welcome += m.type == MESSAGE_WELCOME;
        refused += m.type == MESSAGE_REFUSED;
        if (m.type == MESSAGE_WELCOME || m.type == MESSAGE_REFUSED)
            return;
    }
}

static void want_many (unsigned long n, bool jobs)
{
    for (unsigned long i = 0; i < n; i++) {
        char job[32] = "greedy", host[32];
        void *s = connect_one ();       // open until the end

        (void)snprintf (host, sizeof (host), "greedy-%lu", i);
        if (jobs)
            (void)snprintf (job, sizeof (job), "greedy-%lu", i);
        hello (s, job, host);
        hear (s);
    }
}

static void want_ranks (unsigned long n, size_t bytes)
{
    struct message m = { .type = MESSAGE_RANK, .phase = RANK_ENDED,
                         .status = 1, .local_rank = -1 };
    void *s = connect_one ();

    memset (m.text, 'x', bytes < sizeof (m.text) ? bytes
                                                 : sizeof (m.text) - 1);
    hello (s, "greedy", "greedy");
    hear (s);
    for (unsigned long i = 0; i < n; i++) {
        m.rank = (int64_t)i;
        say (s, &m);
    }
    hello (s, "greedy", "greedy");      // behind all of these
    hear (s);
}

int main (int argc, char **argv)
{
    struct err err = { "" };
    const char *what = argc > 5 ? argv[4] : "";
    unsigned long n = argc > 5 ? strtoul (argv[5], NULL, 10) : 0;
    char byte;

    if (n == 0 || (strcmp (what, "jobs") != 0 && strcmp (what, "agents") != 0 &&
                   (strcmp (what, "ranks") != 0 || argc != 7))) {
        (void)fputs ("usage: greedy_agent ENDPOINT KEY SERVER_KEY jobs N | "
                     "agents N | ranks N BYTES\n", stderr);
        return 2;
    }
    endpoint = argv[1];
    if (key_client (argv[2], argv[3], &keys, &err) < 0) {
        (void)fprintf (stderr, "%s\n", err.text);
        return 1;
    }
    if (!(context = zmq_ctx_new ()))
        die ("context");
    (void)zmq_ctx_set (context, ZMQ_MAX_SOCKETS, 65000);
    if (strcmp (what, "ranks") == 0)
        want_ranks (n, strtoul (argv[6], NULL, 10));
    else
        want_many (n, strcmp (what, "jobs") == 0);
    (void)printf ("welcome %lu refused %lu\n", welcome, refused);
    (void)fflush (stdout);
    while (read (STDIN_FILENO, &byte, 1) > 0)
        continue;
    _exit (0);                  // the kernel closes what is open
}
