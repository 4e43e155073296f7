/* tests/unit/common/net/net_check.c - see net_check.h */
#include "common/net/net_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "net/keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct fixture f;

void timed_out (void *arg)
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

void on_problem (void *arg, enum net_problem what, const char *text)
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

void on_message (void *arg, const struct net_peer *from,
                 const struct message *m, int bad, const struct err *err)
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

void say_hello (void *arg)
{
    struct message hello = { .type = MESSAGE_HELLO, .job = "j", .host = "h",
                             .host_key = "k" };

    (void)net_send (f.c.net, NULL, &hello);
    (void)loop_add_timer (f.loop, 50 * NS_PER_MS, say_hello, arg);
}

void make_pair (struct net_security *s)
{
    struct key_file k;

    assert_int_equal (key_make ("k", &k, NULL), 0);
    memset (s, 0, sizeof (*s));
    memcpy (s->public_key, k.public_key, NET_KEY_SIZE);
    memcpy (s->secret_key, k.secret_key, NET_KEY_SIZE);
}

int net_setup (void **state)
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

int net_teardown (void **state)
{
    (void)state;
    net_close (f.c.net);
    net_close (f.s.net);
    loop_destroy (f.loop);
    return 0;
}

void listen_with (const struct net_security *security)
{
    struct err err = { "" };
    int rc = net_listen (ANY_PORT, -1, security, &f.s.net, &err);

    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (net_attach (f.s.net, f.loop, on_message, &f.s), 0);
    net_watch (f.s.net, on_problem, &f.s);
}

/* libzmq writes 127.0.0.1 in a way of its own. */
void where_it_listens (char out[64])
{
    char endpoint[128];
    size_t size = sizeof (endpoint);

    assert_int_equal (zmq_getsockopt (f.s.net->main.socket, ZMQ_LAST_ENDPOINT,
                                      endpoint, &size), 0);
    (void)snprintf (out, 64, "tcp://127.0.0.1%s", strrchr (endpoint, ':'));
}

void connect_with (const struct net_security *security)
{
    char endpoint[64];

    where_it_listens (endpoint);
    assert_int_equal (net_connect (endpoint, security, &f.c.net, NULL), 0);
    assert_int_equal (net_attach (f.c.net, f.loop, on_message, &f.c), 0);
    net_watch (f.c.net, on_problem, &f.c);
}

int talk (void)
{
    assert_int_equal (loop_add_timer (f.loop, LIMIT_NS, timed_out, NULL), 0);
    say_hello (NULL);
    return loop_run (f.loop);
}
