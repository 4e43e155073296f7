/* tests/unit/common/net/test_net_strangers.c - connections of those that are no
 * agent of ours, or too many
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/net_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- versions, spoken by a socket that knows nothing of ours ---- */

static void *foreign (void **context)
{
    static const int zero = 0;
    char endpoint[64];
    void *socket;

    *context = zmq_ctx_new ();
    socket = zmq_socket (*context, ZMQ_DEALER);
    (void)zmq_setsockopt (socket, ZMQ_LINGER, &zero, sizeof (zero));
    where_it_listens (endpoint);
    assert_int_equal (zmq_connect (socket, endpoint), 0);
    return socket;
}

static void stop_when_heard (void *arg)
{
    struct end *e = arg;

    if (e->hellos || e->bad)
        loop_stop (f.loop, 0);
    else
        (void)loop_add_timer (f.loop, NS_PER_MS, stop_when_heard, arg);
}

static void exchange (const void *frame, size_t size, uint8_t *answer,
                      size_t max)
{
    void *context, *socket = foreign (&context);
    int limit = 10000, n;

    assert_int_equal (loop_add_timer (f.loop, LIMIT_NS, timed_out, NULL), 0);
    stop_when_heard (&f.s);
    assert_int_equal (zmq_send (socket, frame, size, 0), size);
    assert_int_equal (loop_run (f.loop), 0);
    (void)zmq_setsockopt (socket, ZMQ_RCVTIMEO, &limit, sizeof (limit));
    memset (answer, 0, max);
    if (f.s.hellos) {
        n = zmq_recv (socket, answer, max, 0);
        assert_true (n > 0);
    }
    (void)zmq_close (socket);
    (void)zmq_ctx_term (context);
}

static const uint8_t hello_bytes[] = {
    1, 0, 1, 0, 1, 0, 0, 0, 'j', 1, 0, 0, 0, 'h', 1, 0, 0, 0, 'k',
    4, 0, 0, 0, 0, 0, 0, 0,                     // world size
    [27 + 8 * 6] = 0,                           // no clocks, no mark; one more
};

#define HELLO_SIZE (sizeof (hello_bytes) - 1)

/* The bytes of a HELLO are as they are written down. */
static void test_bytes (void **state)
{
    static const uint8_t welcome[] = { 1, 0, 32, 0 };
    uint8_t answer[64];

    (void)state;
    listen_with (NULL);
    exchange (hello_bytes, HELLO_SIZE, answer, sizeof (answer));
    assert_int_equal (f.s.hellos, 1);
    assert_memory_equal (answer, welcome, sizeof (welcome));
}

static void test_version_unknown (void **state)
{
    uint8_t frame[sizeof (hello_bytes)], answer[64];

    (void)state;
    listen_with (NULL);
    memcpy (frame, hello_bytes, sizeof (hello_bytes));
    frame[0] = 2;
    exchange (frame, HELLO_SIZE, answer, sizeof (answer));
    assert_true (f.s.bad);
    f.s.bad = false;
    frame[0] = 1;
    exchange (frame, sizeof (frame), answer, sizeof (answer));  // one more byte
    assert_true (f.s.bad);
    f.s.bad = false;
    frame[2] = 99;
    exchange (frame, HELLO_SIZE, answer, sizeof (answer));
    assert_true (f.s.bad);
    assert_int_equal (f.s.hellos, 0);
}

/* ---- few descriptors ---- */

#define STRANGERS 300
#define ROOM 80                 // descriptors of the listener
#define FAILURES_MAX 100        // libzmq had ten thousands of them

/* Connections that say nothing, held for as long as this process lives. */
static bool hold_connections (const char *endpoint)
{
    struct sockaddr_in to = { .sin_family = AF_INET };

    to.sin_port = htons ((uint16_t)atoi (strrchr (endpoint, ':') + 1));
    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    for (int i = 0; i < STRANGERS; i++) {
        int fd = socket (AF_INET, SOCK_STREAM, 0);

        if (fd < 0 || connect (fd, (struct sockaddr *)&to, sizeof (to)) < 0)
            return false;
    }
    return true;
}

/* An agent among them: 0 when it is welcome. */
static int play_strangers (const char *endpoint)
{
    if (!hold_connections (endpoint) ||
        net_connect (endpoint, &f.client, &f.c.net, NULL) < 0 ||
        net_attach (f.c.net, f.loop, on_message, &f.c) < 0)
        return 1;
    say_hello (NULL);
    return loop_run (f.loop) == 0 ? 0 : 2;
}

/* A process that plays many.  It is made before this one has threads, and waits
 * for the endpoint at the pipe.
 */
static pid_t start_crowd (int (*play) (const char *endpoint), int told[2])
{
    char endpoint[64] = "";
    pid_t pid = pipe (told) < 0 ? -1 : fork ();

    if (pid != 0)
        return pid;
    (void)close (told[1]);
    if (read (told[0], endpoint, sizeof (endpoint) - 1) <= 0 ||
        !(f.loop = loop_create ()) ||
        loop_add_timer (f.loop, 4 * LIMIT_NS, timed_out, NULL) < 0)
        _exit (9);
    _exit (play (endpoint));
}

static void tell_crowd (int told[2])
{
    char endpoint[64];

    where_it_listens (endpoint);
    assert_true (write (told[1], endpoint, strlen (endpoint)) > 0);
    (void)close (told[0]);
    (void)close (told[1]);
}

static void crowd_ended (void *arg)
{
    (void)arg;
    loop_stop (f.loop, 0);
}

/* Listen with ROOM descriptors until the crowd is satisfied. */
static void serve_crowd (int (*play) (const char *endpoint))
{
    struct rlimit was, few;
    int status = -1, fd, told[2];
    pid_t pid;

    assert_int_equal (getrlimit (RLIMIT_NOFILE, &was), 0);
    assert_true ((pid = start_crowd (play, told)) > 0);
    few = was;
    few.rlim_cur = ROOM;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &few), 0);
    listen_with (&f.server);
    net_share (f.s.net);
    tell_crowd (told);
    fd = (int)syscall (SYS_pidfd_open, pid, 0);
    assert_true (fd >= 0);
    assert_int_equal (loop_add_fd (f.loop, fd, crowd_ended, NULL), 0);
    assert_int_equal (loop_run (f.loop), 0);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &was), 0);
    loop_del_fd (f.loop, fd);
    (void)close (fd);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}

/* Strangers that took all descriptors made a listener turn in circles, and
 * kept an agent waiting until their handshakes had timed out.
 */
static void test_few_descriptors (void **state)
{
    (void)state;
    serve_crowd (play_strangers);
    assert_true (f.s.hellos > 0);
    assert_in_range (f.s.accepts_failed, 1, FAILURES_MAX);
}

/* ---- shares of connections ---- */

#define CROWD 80                // connections of one key
#define REFUSED_MIN 5           // of them, before anybody else comes

static struct net_security other;
static unsigned refused_some;
static bool other_came;

/* Two keys, each with a name of its own. */
static int allow_two (void *arg, const char *key, char who[NET_WHO_MAX],
                      struct err *why)
{
    bool is_other = strcmp (key, other.public_key) == 0;

    (void)arg;
    if (!is_other && strcmp (key, f.client.public_key) != 0)
        return err_set (why, ENOKEY, "that key is not allowed");
    other_came = other_came || is_other;
    (void)snprintf (who, NET_WHO_MAX, "%s", is_other ? "other" : "greedy");
    return 0;
}

static void count_refused (void *arg, const struct net_peer *from,
                           const struct message *m, int bad,
                           const struct err *err)
{
    (void)arg;
    (void)from;
    (void)bad;
    (void)err;
    if (m && m->type == MESSAGE_REFUSED && ++refused_some == REFUSED_MIN)
        loop_stop (f.loop, 0);
}

/* Each says hello again and again: whoever is ended comes back. */
static void say_hello_as (void *net)
{
    struct message hello = { .type = MESSAGE_HELLO, .job = "j", .host = "h",
                             .host_key = "k" };

    (void)net_send (net, NULL, &hello);
    (void)loop_add_timer (f.loop, 200 * NS_PER_MS, say_hello_as, net);
}

/* When some have been refused an agent of another key comes: 0, it is welcome.
 */
static int play_greedy (const char *endpoint)
{
    struct net *n;

    for (int i = 0; i < CROWD; i++) {
        if (net_connect (endpoint, &f.client, &n, NULL) < 0 ||
            net_attach (n, f.loop, count_refused, n) < 0)
            return 1;
        say_hello_as (n);
    }
    if (loop_run (f.loop) != 0)
        return 2;
    if (net_connect (endpoint, &other, &f.c.net, NULL) < 0 ||
        net_attach (f.c.net, f.loop, on_message, &f.c) < 0)
        return 3;
    say_hello (NULL);
    return loop_run (f.loop) == 0 ? 0 : 4;
}

/* One key that took all connections there were kept all others out. */
static void test_share_of_connections (void **state)
{
    size_t greedy = 0;

    (void)state;
    make_pair (&other);
    memcpy (other.server_key, f.server.public_key, NET_KEY_SIZE);
    f.server.allow = allow_two;
    serve_crowd (play_greedy);
    assert_true (other_came);
    assert_true (f.s.no_shares >= REFUSED_MIN);
    for (size_t i = 0; i < f.s.net->nconnections; i++)
        greedy += strcmp (f.s.net->connections[i].who, "greedy") == 0;
    assert_true (greedy <= f.s.net->most * 7 / 8);
}

/* One that says nothing, or nothing more, held its place for ever. */
static void test_silent (void **state)
{
    struct sockaddr_in to = { .sin_family = AF_INET };
    char endpoint[64], byte;
    int fd;

    (void)state;
    listen_with (&f.server);
    where_it_listens (endpoint);
    to.sin_port = htons ((uint16_t)atoi (strrchr (endpoint, ':') + 1));
    to.sin_addr.s_addr = htonl (INADDR_LOOPBACK);
    fd = socket (AF_INET, SOCK_STREAM, 0);
    assert_true (fd >= 0);
    assert_int_equal (connect (fd, (struct sockaddr *)&to, sizeof (to)), 0);
    // one that speaks, and comes later
    connect_with (&f.client);
    assert_int_equal (talk (), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal (connection_share_turn (f.s.net), 0);
    assert_int_equal (talk (), 0);
    assert_int_equal (connection_share_turn (f.s.net), 1);
    assert_int_equal (connection_share_turn (f.s.net), 0);
    while (read (fd, &byte, 1) > 0)
        ;
    (void)close (fd);
    f.s.hellos = 0;
    assert_int_equal (talk (), 0);
    assert_true (f.s.hellos > 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal (connection_share_turn (f.s.net), 0);
    assert_int_equal (connection_share_turn (f.s.net), 1);
}

/* libzmq's heartbeats end the process, see set_options. */
static void test_no_heartbeats (void **state)
{
    const struct net *both[2];

    (void)state;
    listen_with (NULL);
    connect_with (NULL);
    both[0] = f.s.net;
    both[1] = f.c.net;
    for (int i = 0; i < 2; i++) {
        int ms = -1;
        size_t size = sizeof (ms);

        assert_int_equal (zmq_getsockopt (both[i]->main.socket,
                                          ZMQ_HEARTBEAT_IVL, &ms, &size), 0);
        assert_int_equal (ms, 0);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST (test_no_heartbeats),
        NET_TEST (test_bytes),          NET_TEST (test_version_unknown),
        NET_TEST (test_few_descriptors), NET_TEST (test_share_of_connections),
        NET_TEST (test_silent),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
