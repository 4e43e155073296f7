/* tests/unit/common/net/test_net.c - who gets a connection, and who is told why
 * not; strangers are in test_net_strangers
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counter.h"
#include "common/net/net_check.h"
#include "net/keys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
    refused_at_both_ends (NET_NOT_ALIKE, "encrypt",
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
    // libzmq looks up no name to listen on
    assert_int_equal (net_listen ("tcp://nohost.test:1", -1, &insecure,
                                  &f.s.net, &err), -EADDRNOTAVAIL);
    assert_non_null (strstr (err.text, "names of hosts are not looked up"));
}

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
        NET_TEST (test_back_off),       NET_TEST (test_next_server_key),
        NET_TEST (test_reach),          NET_TEST (test_reach_plain),
        NET_TEST (test_reach_nobody),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
