/* tests/unit/common/net/test_partial_message.c - messages that do not end, and ones that
 * wait
 *
 * One end is a TCP connection in a thread, the other the net of this process's
 * loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/net_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_NS (120 * NS_PER_S)
#define MIB (1 << 20)
#define SENDERS_MAX 6

static struct fixture {
    struct loop *loop;
    struct net *net;
    char endpoint[64];
    pthread_t threads[SENDERS_MAX];
    unsigned nthreads;
    atomic_bool over;
    atomic_bool closed;         // the connection of a flood, by this side
    size_t frame;               // bytes of each that is sent
    unsigned frames;            // of a message that does not end; 0: endless
    unsigned messages, problems;        // that came
    unsigned wanted;            // stop at so many messages, or problems
    int64_t slow_ns;            // to take a message
    enum net_problem what;
    char text[1024];
} f;

static void timed_out (void *arg)
{
    (void)arg;
    loop_stop (f.loop, -ETIMEDOUT);
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    (void)arg;
    f.what = what;
    (void)snprintf (f.text, sizeof (f.text), "%s", text);
    if (++f.problems == f.wanted)
        loop_stop (f.loop, 1);
}

/* As an aggregator that is at something else: the loop does not turn. */
static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct timespec t = { .tv_sec = f.slow_ns / NS_PER_S,
                          .tv_nsec = f.slow_ns % NS_PER_S };

    (void)arg;
    (void)from;
    (void)m;
    (void)bad;
    (void)err;
    (void)nanosleep (&t, NULL);
    if (++f.messages == f.wanted)
        loop_stop (f.loop, 0);
}

static int run (void)
{
    assert_int_equal (loop_add_timer (f.loop, LIMIT_NS, timed_out, NULL), 0);
    return loop_run (f.loop);
}

static int setup (void **state)
{
    (void)state;
    memset (&f, 0, sizeof (f));
    f.loop = loop_create ();
    return f.loop ? 0 : -1;
}

static int teardown (void **state)
{
    (void)state;
    f.over = true;
    for (unsigned i = 0; i < f.nthreads; i++)
        (void)pthread_join (f.threads[i], NULL);
    net_close (f.net);
    loop_destroy (f.loop);
    return 0;
}

static void listen_here (void)
{
    char at[128];
    size_t size = sizeof (at);

    assert_int_equal (net_listen ("tcp://127.0.0.1:*", -1, NULL, &f.net, NULL),
                      0);
    assert_int_equal (net_attach (f.net, f.loop, on_message, NULL), 0);
    net_watch (f.net, on_problem, NULL);
    assert_int_equal (zmq_getsockopt (f.net->main.socket, ZMQ_LAST_ENDPOINT,
                                      at, &size), 0);
    (void)snprintf (f.endpoint, sizeof (f.endpoint), "tcp://127.0.0.1%s",
                    strrchr (at, ':'));
}

/* ---- the other ends: libzmq does not send a message before its end ---- */

#define MORE 1                  // flags of a frame
#define LONG 2
#define COMMAND 4

/* false: it is over, or that connection was ended. */
static bool put (int fd, const void *data, size_t size)
{
    const char *at = data;

    while (size > 0 && !f.over) {
        ssize_t n = send (fd, at, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            return false;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return size == 0;
}

static bool put_frame (int fd, int flags, const void *data, size_t size)
{
    uint8_t head[9] = { (uint8_t)(flags | LONG) };

    for (int i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)((uint64_t)size >> (56 - 8 * i));
    return put (fd, head, sizeof (head)) && put (fd, data, size);
}

static bool get (int fd, uint8_t *out, size_t size)
{
    size_t at = 0;

    while (at < size && !f.over) {
        ssize_t n = recv (fd, out + at, size - at, 0);

        if (n == 0 || (n < 0 && errno != EAGAIN))
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return at == size;
}

/* The handshake where nothing is encrypted; READY is a short frame there. */
static bool greet (int fd, const char *type)
{
    uint8_t greeting[64] = { 0xff, [9] = 0x7f, 3, 0, 'N', 'U', 'L', 'L' };
    uint8_t there[256], ready[64] = "\5READY\13Socket-Type\0\0\0";
    size_t n = 6 + 12 + 3, size = strlen (type);
    struct timeval patience = { .tv_usec = 10000 };

    (void)setsockopt (fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
                      sizeof (patience));
    (void)setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                      sizeof (patience));
    ready[n++] = (uint8_t)size;
    memcpy (ready + n, type, size);
    return put (fd, greeting, sizeof (greeting)) &&
           put_frame (fd, COMMAND, ready, n + size) &&
           get (fd, there, sizeof (greeting) + 2) &&
           get (fd, there, there[sizeof (greeting) + 1]);
}

/* Many frames of a message whose end never comes. */
static void flood (int fd)
{
    char *data = calloc (1, f.frame);
    uint8_t word;

    for (unsigned i = 0; data && (f.frames == 0 || i < f.frames); i++) {
        if (!put_frame (fd, MORE, data, f.frame))
            break;
    }
    while (get (fd, &word, 1))
        ;
    f.closed = !f.over;
    free (data);
}

static int connect_there (void)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    int fd = socket (AF_INET, SOCK_STREAM, 0);

    to.sin_port = htons ((uint16_t)atoi (strrchr (f.endpoint, ':') + 1));
    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    if (connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0)
        return -1;
    return fd;
}

static void *flooding_agent (void *arg)
{
    int fd = connect_there ();

    if (greet (fd, "DEALER"))
        flood (fd);
    (void)close (fd);
    return arg;
}

/* As an agent does: head and data. */
static void *chunks (void *arg)
{
    int fd = connect_there ();
    struct message m = { .type = MESSAGE_CHUNK };
    char *data = calloc (1, f.frame);
    struct buf b;

    buf_init (&b, 4096);
    message_encode (&m, &b);
    if (data && greet (fd, "DEALER")) {
        while (put_frame (fd, MORE, b.data, b.size) &&
               put_frame (fd, 0, data, f.frame))
            ;
    }
    buf_fini (&b);
    free (data);
    (void)close (fd);
    return arg;
}

/* Floods whoever comes, one after the other. */
static void *flooding_aggregator (void *arg)
{
    int listener = *(int *)arg;
    struct pollfd p = { .fd = listener, .events = POLLIN };

    while (!f.over) {
        int fd = poll (&p, 1, 10) > 0 ? accept (listener, NULL, NULL) : -1;

        if (fd >= 0 && greet (fd, "ROUTER"))
            flood (fd);
        if (fd >= 0)
            (void)close (fd);
    }
    (void)close (listener);
    return NULL;
}

static void start (void *(*fn) (void *), void *arg)
{
    assert_int_equal (pthread_create (&f.threads[f.nthreads++], NULL, fn, arg),
                      0);
}

static void connect_to_flood (void)
{
    static int listener;
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t size = sizeof (at);

    at.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    listener = socket (AF_INET, SOCK_STREAM, 0);
    assert_int_equal (bind (listener, (struct sockaddr *)&at, size), 0);
    assert_int_equal (listen (listener, 4), 0);
    assert_int_equal (getsockname (listener, (struct sockaddr *)&at, &size),
                      0);
    start (flooding_aggregator, &listener);
    (void)snprintf (f.endpoint, sizeof (f.endpoint), "tcp://127.0.0.1:%u",
                    ntohs (at.sin_port));
    assert_int_equal (net_connect (f.endpoint, NULL, &f.net, NULL), 0);
    assert_int_equal (net_attach (f.net, f.loop, on_message, NULL), 0);
    net_watch (f.net, on_problem, NULL);
}

/* ---- tests ---- */

/* It grew in the aggregator's memory for as long as it was sent. */
static void test_endless (void **state)
{
    (void)state;
    listen_here ();
    f.frame = MIB;
    f.wanted = 1;
    start (flooding_agent, NULL);
    assert_int_equal (run (), 1);
    assert_int_equal (f.what, NET_PEER_REFUSED);
    if (!strstr (f.text, "127.0.0.1:") || !strstr (f.text, "do not complete one"))
        fail_msg ("%s", f.text);
    assert_int_equal (f.messages, 0);
}

/* Each by itself is small enough. */
static void test_endless_of_many (void **state)
{
    (void)state;
    listen_here ();
    f.frame = MIB;
    f.frames = 60;
    f.wanted = 1;
    for (int i = 0; i < 5; i++)
        start (flooding_agent, NULL);
    assert_int_equal (run (), 1);
    assert_non_null (strstr (f.text, "do not complete one"));
}

/* An honest agent is never ended, however much of it waits: libzmq has as much
 * of it as it takes while the loop does something else, again and again.
 */
static void test_busy (void **state)
{
    (void)state;
    listen_here ();
    f.frame = MIB;
    f.wanted = 12;
    f.slow_ns = NS_PER_S / 2;
    start (chunks, NULL);
    start (chunks, NULL);
    assert_int_equal (run (), 0);
    f.slow_ns = 0;
    f.wanted = 500;
    assert_int_equal (run (), 0);
    if (f.problems > 0)
        fail_msg ("%s", f.text);
}

/* The same of an aggregator, in whose answers nothing is large. */
static void test_endless_answer (void **state)
{
    (void)state;
    f.frame = 8192;
    f.wanted = 1;
    connect_to_flood ();
    assert_int_equal (run (), 1);
    assert_int_equal (f.what, NET_CLOSED);
    if (!strstr (f.text, "do not complete one"))
        fail_msg ("%s", f.text);
}

static void stop_when_closed (void *arg)
{
    if (f.closed)
        loop_stop (f.loop, 0);
    else
        (void)loop_add_timer (f.loop, NS_PER_MS, stop_when_closed, arg);
}

/* A thousand of a megabyte each could wait while an agent reads a capture. */
static void test_large_answer (void **state)
{
    (void)state;
    f.frame = MIB;
    f.frames = 1;
    connect_to_flood ();
    stop_when_closed (NULL);
    assert_int_equal (run (), 0);
    assert_int_equal (f.messages, 0);
}

#define UNREAD_TEST(name) \
    cmocka_unit_test_setup_teardown (name, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        UNREAD_TEST (test_endless),     UNREAD_TEST (test_endless_of_many),
        UNREAD_TEST (test_busy),        UNREAD_TEST (test_endless_answer),
        UNREAD_TEST (test_large_answer),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
