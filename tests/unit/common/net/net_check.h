/* tests/unit/common/net/net_check.h - two ends of connections, in this process
 * and in one loop, over TCP on loopback */
#ifndef ROLLCALL_TESTS_NET_CHECK_H
#define ROLLCALL_TESTS_NET_CHECK_H

#include "base/clock.h"
#include "net/net_private.h"

#define ANY_PORT "tcp://127.0.0.1:*"
#define LIMIT_NS (30 * NS_PER_S)    // for anything to happen

/* One end, and what has happened to it. */
struct end {
    struct net *net;
    unsigned hellos, refused, problems, accepts_failed, no_shares;
    enum net_problem what;      // the last one
    enum refusal reason;
    bool bad;                   // a message that was not understood
    char who[NET_WHO_MAX];
    char text[1024];
};

struct fixture {
    struct loop *loop;
    struct net_security server, client;
    const char *allowed;        // the only key that may connect; NULL: all
    struct end s, c;
};

extern struct fixture f;

/* Setup and teardown of cmocka: keys for both ends, nobody listens yet. */
int net_setup (void **state);
int net_teardown (void **state);

/* A pair of keys, in *s, which has nothing else. */
void make_pair (struct net_security *s);

/* f.s and f.c; NULL: without keys. */
void listen_with (const struct net_security *security);
void connect_with (const struct net_security *security);
void where_it_listens (char out[64]);

/* What f.s and f.c do with a message: see 'struct end'. */
void on_message (void *arg, const struct net_peer *from,
                 const struct message *m, int bad, const struct err *err);

/* What they do when they are told of a problem: it is counted, and the loop ends
 * with 1 when both have one. */
void on_problem (void *arg, enum net_problem what, const char *text);

/* f.c says hello again and again; until something comes of it: 0 welcome, 1
 * problems at both ends, 2 refused. */
int talk (void);

/* Calls of timers: f.c says hello from now on; the loop ends with -ETIMEDOUT. */
void say_hello (void *arg);
void timed_out (void *arg);

#define NET_TEST(name) \
    cmocka_unit_test_setup_teardown (name, net_setup, net_teardown)

#endif

