/* tests/unit/common/net/test_net.c - who gets a connection, and who is told why
 * not
 *
 * Both ends are in this process and in one loop, over TCP on loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counter.h"
#include "net/keys.h"
#include "net/net_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_NS (30 * NS_PER_S)
#define ANY_PORT "tcp://127.0.0.1:*"

/* One end, and what has happened to it. */
struct end {
    struct net *net;
    struct loop *loop;
    unsigned hellos, refused, problems, accepts_failed, no_shares;
    enum net_problem what;      // the last one
    enum refusal reason;
    bool bad;                   // a message that was not understood
    char who[NET_WHO_MAX];
    char text[1024];
};

static struct fixture {
    struct loop *loop;
    struct net_security server, client;
    const char *allowed;        // the only key that may connect; NULL: all
    struct end s, c;
    bool stop_at_problem;       // of both ends
} f;

static void timed_out (void *arg)
{
    (void)arg;
    loop_stop (f.loop, -ETIMEDOUT);
}

static int allow (void *arg, const char *key, char who[NET_WHO_MAX],
                  struct err *why)
{
    (void)arg;
    if (f.allowed && strcmp (f.allowed, key) != 0)
        return err_set (why, ENOKEY, "that key is not allowed");
    (void)snprintf (who, NET_WHO_MAX, "node-1");
    return 0;
}

static void on_problem (void *arg, enum net_problem what, const char *text)
{
    struct end *e = arg;

    e->problems++;
    e->accepts_failed += what == NET_ACCEPT_FAILED;
    e->no_shares += what == NET_NO_SHARE;
    e->what = what;
    (void)snprintf (e->text, sizeof (e->text), "%s", text);
    if (f.s.problems && f.c.problems)
        loop_stop (f.loop, 1);
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct end *e = arg;
    struct message welcome = { .type = MESSAGE_WELCOME };

    (void)err;
    e->bad = bad != 0;
    if (from)
        (void)snprintf (e->who, sizeof (e->who), "%s", from->who);
    if (m && m->type == MESSAGE_HELLO) {
        e->hellos++;
        (void)net_send (e->net, from, &welcome);
    } else if (m && m->type == MESSAGE_WELCOME) {
        loop_stop (f.loop, 0);
    } else if (m && m->type == MESSAGE_REFUSED) {
        e->refused++;
        e->reason = m->reason;
        (void)snprintf (e->text, sizeof (e->text), "%s", m->text);
        loop_stop (f.loop, 2);
    }
}

static void say_hello (void *arg)
{
    struct message hello = { .type = MESSAGE_HELLO, .job = "j", .host = "h",
                             .host_key = "k" };

    (void)net_send (f.c.net, NULL, &hello);
    (void)loop_add_timer (f.loop, 50 * NS_PER_MS, say_hello, arg);
}

static void make_pair (struct net_security *s)
{
    struct key_file k;

    assert_int_equal (key_make ("k", &k, NULL), 0);
    memset (s, 0, sizeof (*s));
    memcpy (s->public_key, k.public_key, NET_KEY_SIZE);
    memcpy (s->secret_key, k.secret_key, NET_KEY_SIZE);
}

static int setup (void **state)
{
    (void)state;
    memset (&f, 0, sizeof (f));
    f.loop = loop_create ();
    make_pair (&f.server);
    f.server.allow = allow;
    make_pair (&f.client);
    memcpy (f.client.server_key, f.server.public_key, NET_KEY_SIZE);
    f.allowed = f.client.public_key;
    return f.loop ? 0 : -1;
}

static int teardown (void **state)
{
    (void)state;
    net_close (f.c.net);
    net_close (f.s.net);
    loop_destroy (f.loop);
    return 0;
}

static void listen_with (const struct net_security *security)
{
    struct err err = { "" };
    int rc = net_listen (ANY_PORT, -1, security, &f.s.net, &err);

    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (net_attach (f.s.net, f.loop, on_message, &f.s), 0);
    net_watch (f.s.net, on_problem, &f.s);
}

/* libzmq writes 127.0.0.1 in a way of its own. */
static void where_it_listens (char out[64])
{
    char endpoint[128];
    size_t size = sizeof (endpoint);

    assert_int_equal (zmq_getsockopt (f.s.net->main.socket, ZMQ_LAST_ENDPOINT,
                                      endpoint, &size), 0);
    (void)snprintf (out, 64, "tcp://127.0.0.1%s", strrchr (endpoint, ':'));
}

static void connect_with (const struct net_security *security)
{
    char endpoint[64];

    where_it_listens (endpoint);
    assert_int_equal (net_connect (endpoint, security, &f.c.net, NULL), 0);
    assert_int_equal (net_attach (f.c.net, f.loop, on_message, &f.c), 0);
    net_watch (f.c.net, on_problem, &f.c);
}

/* Until something comes of it: 0 welcome, 1 problems at both ends, 2 refused
 */
static int talk (void)
{
    assert_int_equal (loop_add_timer (f.loop, LIMIT_NS, timed_out, NULL), 0);
    say_hello (NULL);
    return loop_run (f.loop);
}

static void test_invited (void **state)
{
    (void)state;
    listen_with (&f.server);
    connect_with (&f.client);
    assert_int_equal (talk (), 0);
    assert_string_equal (f.s.who, "node-1");
    // what becomes of the self-test's strangers is nobody's problem
    if (f.s.problems + f.c.problems > 0)
        fail_msg ("listening: %s; connecting: %s", f.s.text, f.c.text);
}

static void test_plain (void **state)
{
    (void)state;
    listen_with (NULL);
    connect_with (NULL);
    assert_int_equal (talk (), 0);
    assert_string_equal (f.s.who, "");
}

/* Nothing is said to an agent that did not get in; both ends say so. */
static void refused_at_both_ends (enum net_problem what, const char *here,
                                  const char *there)
{
    uint64_t before = counter_get (COUNTER_PEERS_REFUSED);

    assert_int_equal (talk (), 1);
    assert_int_equal (f.s.hellos, 0);
    // one side may hang up before the other has seen how it speaks
    if (what != NET_NOT_ALIKE || f.c.what != NET_CLOSED)
        assert_int_equal (f.c.what, what);
    if (what != NET_NOT_ALIKE || f.s.what != NET_PEER_LEFT)
        assert_int_equal (f.s.what, NET_PEER_REFUSED);
    if (!strstr (f.c.text, here) || !strstr (f.s.text, there))
        fail_msg ("\"%s\" and \"%s\"", f.c.text, f.s.text);
    if (what == NET_KEY_REFUSED)        // for certain only then
        assert_non_null (strstr (f.s.text, "127.0.0.1"));
    if (f.s.what == NET_PEER_REFUSED)
        assert_true (counter_get (COUNTER_PEERS_REFUSED) > before);
}

static void test_unknown_key (void **state)
{
    (void)state;
    f.allowed = f.server.public_key;
    listen_with (&f.server);
    connect_with (&f.client);
    refused_at_both_ends (NET_KEY_REFUSED, "refuses this key", "not allowed");
}

static void test_wrong_server_key (void **state)
{
    (void)state;
    memcpy (f.client.server_key, f.client.public_key, NET_KEY_SIZE);
    listen_with (&f.server);
    connect_with (&f.client);
    refused_at_both_ends (NET_CLOSED, "--server-key", "key for this");
}

#define ENDS 3                  // that are told, in a row

static void on_end (void *arg, enum net_problem what, const char *text)
{
    on_problem (arg, what, text);
    if (f.c.problems == ENDS)
        loop_stop (f.loop, 1);
}

/* ---- an aggregator's key is replaced ---- */

static void write_servers (const char *path, const char *key,
                           const char *former, int64_t until)
{
    struct key_file k = { .name = "server", .former_until = until };

    memcpy (k.public_key, key, NET_KEY_SIZE);
    if (former)
        memcpy (k.former_key, former, NET_KEY_SIZE);
    assert_int_equal (key_write (path, &k, NULL), 0);
}

/* Whatever the order in which file and aggregator are replaced the agent finds
 * the other key by itself, and nobody is told of a wrong one.
 */
static void test_next_server_key (void **state)
{
    int64_t now = clock_wall_ns () / NS_PER_S;
    char path[] = "/tmp/test_net.XXXXXX";
    struct net_security other;

    (void)state;
    assert_int_not_equal (close (mkstemp (path)), -1);
    make_pair (&other);
    f.client.server_file = path;
    // the aggregator has not been started again
    write_servers (path, other.public_key, f.server.public_key, now + 600);
    memcpy (f.client.server_key, other.public_key, NET_KEY_SIZE);
    listen_with (&f.server);
    connect_with (&f.client);
    assert_int_equal (talk (), 0);
    if (f.c.problems > 0)
        fail_msg ("%s", f.c.text);
    net_close (f.c.net);
    // it has, and the file is a new one
    write_servers (path, f.server.public_key, other.public_key, now + 600);
    connect_with (&f.client);
    assert_int_equal (talk (), 0);
    assert_int_equal (f.c.problems, 0);
    net_close (f.c.net);
    // the former one is not good any more
    write_servers (path, other.public_key, f.server.public_key, now - 1);
    net_watch (f.s.net, NULL, NULL);
    connect_with (&f.client);
    net_watch (f.c.net, on_end, &f.c);
    assert_int_equal (talk (), 1);
    assert_int_equal (f.c.what, NET_CLOSED);
    assert_int_equal (unlink (path), 0);
}

/* ---- whether somebody is there, without a loop ---- */

static struct question {
    const struct net_security *security;
    int rc;
    atomic_bool over;
} asked;

static void *ask_there (void *arg)
{
    char endpoint[64];

    (void)arg;
    where_it_listens (endpoint);
    asked.rc = net_reach (endpoint, asked.security, LIMIT_NS, LIMIT_NS, NULL);
    asked.over = true;
    return NULL;
}

static void look_for_end (void *arg)
{
    if (asked.over)
        loop_stop (f.loop, 0);
    else
        (void)loop_add_timer (f.loop, 10 * NS_PER_MS, look_for_end, arg);
}

static int reach_with (const struct net_security *security)
{
    pthread_t thread;

    asked.security = security;
    asked.over = false;
    assert_int_equal (pthread_create (&thread, NULL, ask_there, NULL), 0);
    look_for_end (NULL);
    assert_int_equal (loop_run (f.loop), 0);
    assert_int_equal (pthread_join (thread, NULL), 0);
    return asked.rc;
}

/* The probes of a run were told as strangers, who hid the real ones. */
static void test_reach (void **state)
{
    (void)state;
    listen_with (&f.server);
    assert_int_equal (reach_with (&f.client), 0);
    if (f.s.problems > 0)
        fail_msg ("%s", f.s.text);
    f.allowed = f.server.public_key;
    assert_int_equal (reach_with (&f.client), -EACCES);
    assert_int_equal (f.s.what, NET_PEER_REFUSED);
}

static void test_reach_plain (void **state)
{
    (void)state;
    listen_with (NULL);
    assert_int_equal (reach_with (NULL), 0);
    if (f.s.problems > 0)
        fail_msg ("%s", f.s.text);
}

/* The kernel connects for one that is stopped, or was never started. */
static void test_reach_nobody (void **state)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    socklen_t size = sizeof (at);
    int fd = socket (AF_INET, SOCK_STREAM, 0);
    char endpoint[64];

    (void)state;
    assert_int_equal (bind (fd, (struct sockaddr *)&at, sizeof (at)), 0);
    assert_int_equal (getsockname (fd, (struct sockaddr *)&at, &size), 0);
    (void)snprintf (endpoint, sizeof (endpoint), "tcp://127.0.0.1:%d",
                    ntohs (at.sin_port));
    assert_int_equal (net_reach (endpoint, &f.client, LIMIT_NS, LIMIT_NS, NULL),
                      -EHOSTUNREACH);
    assert_int_equal (listen (fd, 8), 0);
    assert_int_equal (net_reach (endpoint, &f.client, LIMIT_NS,
                                 NS_PER_S / 2, NULL), -ETIMEDOUT);
    assert_int_equal (close (fd), 0);
}

/* libzmq came again seven times a second, for ever. */
static void test_back_off (void **state)
{
    int64_t began_ns;

    (void)state;
    memcpy (f.client.server_key, f.client.public_key, NET_KEY_SIZE);
    listen_with (&f.server);
    net_watch (f.s.net, NULL, NULL);
    connect_with (&f.client);
    net_watch (f.c.net, on_end, &f.c);
    began_ns = clock_mono_ns ();
    assert_int_equal (talk (), 1);
    assert_int_equal (f.c.what, NET_CLOSED);
    assert_in_range (clock_mono_ns () - began_ns, 3 * NS_PER_S, LIMIT_NS);
    for (int i = 0; i < 8; i++)         // longer each time, to a minute
        net_retry_later (f.c.net);
    assert_int_equal (f.c.net->retry_ns, 60 * NS_PER_S);
}

static void test_no_client_key (void **state)
{
    (void)state;
    listen_with (&f.server);
    connect_with (NULL);
    refused_at_both_ends (NET_NOT_ALIKE, "encrypted",
                          "does not encrypt");
}

/* A downgrade: what listens there does not encrypt. */
static void test_no_server_key (void **state)
{
    (void)state;
    listen_with (NULL);
    connect_with (&f.client);
    refused_at_both_ends (NET_NOT_ALIKE, "does not encrypt", "encrypt");
}

/* An agent that cannot connect would be silent: libzmq tries for ever. */
static void test_nobody_listens (void **state)
{
    char endpoint[64];

    (void)state;
    listen_with (NULL);
    connect_with (NULL);
    assert_int_equal (talk (), 0);
    where_it_listens (endpoint);
    net_close (f.s.net);
    f.s.net = NULL;
    f.s.problems = 1;           // nobody is there to have one
    assert_int_equal (talk (), 1);
    assert_int_equal (f.c.what, NET_UNREACHED);
    if (!strstr (f.c.text, endpoint) || !strstr (f.c.text, "refused"))
        fail_msg ("%s", f.c.text);
}

/* A refused key may be enrolled later: libzmq would not try again by itself.
 */
static void test_enrolled_later (void **state)
{
    (void)state;
    f.allowed = f.server.public_key;
    listen_with (&f.server);
    connect_with (&f.client);
    assert_int_equal (talk (), 1);
    f.allowed = f.client.public_key;
    assert_int_equal (talk (), 0);
}

/* A key that is revoked counts for a connection that is there already. */
static void test_revoked_later (void **state)
{
    (void)state;
    listen_with (&f.server);
    connect_with (&f.client);
    assert_int_equal (talk (), 0);
    f.s.hellos = 0;
    f.allowed = f.server.public_key;
    for (int i = 0; i < 20 && talk () == 0; i++)
        ;                       // welcomes of earlier hellos
    assert_int_equal (f.c.refused, 1);
    assert_int_equal (f.c.reason, REFUSAL_KEY);
    assert_string_equal (f.c.text, "that key is not allowed");
    assert_int_equal (f.s.what, NET_PEER_REFUSED);
}

/* Nobody answers libzmq's questions any more: it lets everybody in then, but
 * no message of theirs is taken.
 */
static void test_dead_check (void **state)
{
    (void)state;
    listen_with (&f.server);
    loop_del_fd (f.loop, f.s.net->zap.fd);
    loop_del_source (f.loop, &f.s.net->zap);
    (void)zmq_unbind (f.s.net->zap.socket, "inproc://zeromq.zap.01");
    (void)zmq_close (f.s.net->zap.socket);
    f.s.net->zap.socket = NULL;
    connect_with (&f.client);
    assert_int_equal (talk (), 2);
    assert_int_equal (f.s.hellos, 0);
    assert_int_equal (f.c.reason, REFUSAL_KEY);
    assert_non_null (strstr (f.c.text, "never checked"));
    assert_int_equal (f.s.what, NET_PEER_REFUSED);
    assert_non_null (strstr (f.s.text, "never checked"));
}

/* A check that lets strangers in is found out before anything listens. */
static void test_self_test (void **state)
{
    struct err err = { "" };

    (void)state;
    f.allowed = NULL;
    assert_int_equal (net_listen (ANY_PORT, -1, &f.server, &f.s.net, &err),
                      -EKEYREJECTED);
    assert_non_null (strstr (err.text, "unknown key was let in"));
    assert_null (f.s.net);
}

static void test_beyond_loopback (void **state)
{
    const struct net_security insecure = { .insecure = true };
    struct err err = { "" };

    (void)state;
    assert_int_equal (net_listen ("tcp://*:1", -1, NULL, &f.s.net, &err),
                      -ENOKEY);
    assert_non_null (strstr (err.text, "rollcall key new server"));
    assert_int_equal (net_connect ("tcp://192.0.2.1:1", NULL, &f.c.net, &err),
                      -ENOKEY);
    assert_non_null (strstr (err.text, "rollcall key new NODE"));
    assert_int_equal (net_connect ("tcp://192.0.2.1:1", &insecure, &f.c.net,
                                   &err), 0);
}

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

/* One that has the key, and says nothing, held its place for ever. */
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
    assert_int_equal (connection_share_turn (f.s.net), 1);
    assert_int_equal (connection_share_turn (f.s.net), 0);
    while (read (fd, &byte, 1) > 0)
        ;
    (void)close (fd);
    f.s.hellos = 0;
    assert_int_equal (talk (), 0);
    assert_true (f.s.hellos > 0);
}

#define NET_TEST(name) \
    cmocka_unit_test_setup_teardown (name, setup, teardown)

static void test_plain_address (void **state)
{
    (void)state;
    assert_string_equal (net_plain_address ("::ffff:192.0.2.1"), "192.0.2.1");
    assert_string_equal (net_plain_address ("192.0.2.1:7"), "192.0.2.1:7");
    assert_string_equal (net_plain_address ("::ffff:1"), "::ffff:1");
    assert_string_equal (net_plain_address ("fe80::1"), "fe80::1");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_plain_address),
        NET_TEST (test_invited),        NET_TEST (test_plain),
        NET_TEST (test_unknown_key),    NET_TEST (test_wrong_server_key),
        NET_TEST (test_no_client_key),  NET_TEST (test_no_server_key),
        NET_TEST (test_nobody_listens), NET_TEST (test_enrolled_later),
        NET_TEST (test_revoked_later),  NET_TEST (test_dead_check),
        NET_TEST (test_self_test),      NET_TEST (test_beyond_loopback),
        NET_TEST (test_few_descriptors), NET_TEST (test_back_off),
        NET_TEST (test_share_of_connections), NET_TEST (test_silent),
        NET_TEST (test_reach),          NET_TEST (test_reach_plain),
        NET_TEST (test_reach_nobody),   NET_TEST (test_next_server_key),
        NET_TEST (test_bytes),          NET_TEST (test_version_unknown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
