/* tests/unit/common/net/test_ask.c - a question, and an aggregator that answers
 * it well, or with whatever it likes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/net/net_check.h"
#include "net/ask.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_NS (60 * NS_PER_S)

/* What the other side does. */
enum deed {
    ANSWERS, REFUSES, LIES_ABOUT_HASH, LIES_ABOUT_SIZE, SKIPS,
    SENDS_A_LARGE_PIECE, SAYS_ANOTHER_THING, WAS_STARTED_AGAIN, ONLY_LIVES,
    ONLY_SAYS_WHY,
};

struct other {
    enum deed deed;
    size_t pieces;              // of an answer
    uint64_t sent, granted;
    bool asked;
    char question[64];
};

static struct other o;
static atomic_size_t mores;             // that have come

static void say (enum message_type type, const struct net_peer *to,
                 struct message m, const void *data, size_t size)
{
    m.type = type;
    m.item = 1;
    m.data = data;
    m.data_size = size;
    (void)net_send (f.s.net, to, &m);
}

static void say_end (const struct net_peer *to, int status, const char *text)
{
    struct digester *d = digester_create ();
    struct message m = { .status = status };
    char piece[ANSWER_PIECE_MAX];

    memset (piece, 'x', sizeof (piece));
    for (uint64_t n = 0; n < o.sent; n += sizeof (piece))
        assert_int_equal (digest_add (d, piece, sizeof (piece)), 0);
    assert_int_equal (digest_end (d, &m.content), 0);
    digester_destroy (d);
    m.size = o.sent;
    m.size += o.deed == LIES_ABOUT_SIZE;
    m.content.bytes[0] ^= o.deed == LIES_ABOUT_HASH;
    if (o.deed == WAS_STARTED_AGAIN)
        m.size = 0;
    PRINT (m.text, "%s", text);
    say (MESSAGE_END, to, m, NULL, 0);
}

static void say_piece (const struct net_peer *to)
{
    static char piece[ANSWER_PIECE_MAX + 1];
    struct message m = { .offset = o.sent + (o.deed == SKIPS) };

    memset (piece, 'x', sizeof (piece));
    say (MESSAGE_OUTPUT, to, m, piece,
         ANSWER_PIECE_MAX + (o.deed == SENDS_A_LARGE_PIECE));
    o.sent += ANSWER_PIECE_MAX;
}

static void other (void *arg, const struct net_peer *from,
                   const struct message *m, int bad, const struct err *err)
{
    struct message none = { .reason = REFUSAL_OTHER };

    (void)arg;
    (void)bad;
    (void)err;
    if (!m)
        return;
    if (m->type == MESSAGE_ASK) {
        o.asked = true;
        PRINT (o.question, "%.*s", (int)m->data_size, (const char *)m->data);
        PRINT (none.text, "no room");
        if (o.deed == REFUSES)
            say (MESSAGE_REFUSED, from, none, NULL, 0);
        if (o.deed == SAYS_ANOTHER_THING)
            say (MESSAGE_WELCOME, from, none, NULL, 0);
        return;
    }
    o.granted = m->size;
    atomic_fetch_add (&mores, 1);
    if (o.deed == ONLY_LIVES)
        say (MESSAGE_OUTPUT, from, none, "", 0);
    if (o.deed == ONLY_SAYS_WHY) {
        none.stream = ANSWER_SAID;
        say (MESSAGE_OUTPUT, from, none, "x", 1);
        say_end (from, 66, "");
        o.deed = SAYS_ANOTHER_THING;    // that was all
    }
    if (o.deed >= SAYS_ANOTHER_THING && o.deed != WAS_STARTED_AGAIN)
        return;
    while (o.sent < o.pieces * ANSWER_PIECE_MAX &&
           o.sent + ANSWER_PIECE_MAX <= o.granted)
        say_piece (from);
    if (o.sent == o.pieces * ANSWER_PIECE_MAX)
        say_end (from, o.deed == WAS_STARTED_AGAIN ? 75 : 3, "what \x1b it says");
}

static void *serve (void *arg)
{
    (void)arg;
    (void)loop_run (f.loop);
    return NULL;
}

static atomic_bool stops, gone;
static size_t wanted_mores;             // before a piece is taken

static void look_for_the_end (void *arg)
{
    (void)arg;
    if (stops)
        loop_stop (f.loop, 0);
    else
        (void)loop_add_timer (f.loop, NS_PER_MS, look_for_the_end, NULL);
}

static int take (void *arg, enum answer_stream stream, const void *data,
                 size_t size)
{
    if (size == 0)
        return atomic_load (&gone) ? -EPIPE : 0;
    if (atomic_load (&mores) < wanted_mores)
        return -EAGAIN;
    assert_int_equal (((const char *)data)[size - 1], 'x');
    if (stream == ANSWER_OUT)
        *(size_t *)arg += size;
    return 0;
}

static int ask (enum deed deed, size_t pieces, int64_t longest_ns,
                struct ask_end *end, struct err *err)
{
    pthread_t thread;
    size_t came = 0;
    char at[64];
    int rc;

    o = (struct other){ .deed = deed, .pieces = pieces };
    stops = false;
    atomic_store (&mores, 0);
    f.s.net->fn = other;
    look_for_the_end (NULL);
    assert_int_equal (pthread_create (&thread, NULL, serve, NULL), 0);
    where_it_listens (at);
    rc = net_ask (at, &f.client, "{\"do\": \"view\"}", longest_ns, take, &came,
                  end, err);
    stops = true;
    assert_int_equal (pthread_join (thread, NULL), 0);
    if (rc == 0)
        assert_int_equal (came, pieces * ANSWER_PIECE_MAX);
    return rc;
}

static void good (size_t pieces)
{
    struct ask_end end;
    struct err err = { "" };

    listen_with (&f.server);
    if (ask (ANSWERS, pieces, LONG_NS, &end, &err) != 0)
        fail_msg ("%s", err.text);
    assert_int_equal (end.status, 3);
    assert_string_equal (end.text, "what \\x1b it says");
    assert_string_equal (o.question, "{\"do\": \"view\"}");
}

static void test_nothing (void **state)
{
    (void)state;
    good (0);
}

/* More than a window, so that it has to be asked for. */
static void test_much (void **state)
{
    (void)state;
    good (400);
    assert_true (o.granted > o.sent);
    assert_true (o.granted - o.sent <= 1 << 20);
}

static void bad (enum deed deed, int rc)
{
    struct ask_end end;
    struct err err = { "" };

    listen_with (&f.server);
    assert_int_equal (ask (deed, 3, LONG_NS, &end, &err), rc);
    assert_non_null (strstr (err.text, "tcp://127.0.0.1:"));
}

#define BAD(name, deed, rc) \
    static void name (void **state) \
    { \
        (void)state; \
        bad (deed, rc); \
    }

BAD (test_refused, REFUSES, -EAGAIN)
BAD (test_hash, LIES_ABOUT_HASH, -EBADMSG)
BAD (test_size, LIES_ABOUT_SIZE, -EBADMSG)
BAD (test_gap, SKIPS, -EBADMSG)
BAD (test_large_piece, SENDS_A_LARGE_PIECE, -EBADMSG)
BAD (test_another, SAYS_ANOTHER_THING, -EBADMSG)
BAD (test_again, WAS_STARTED_AGAIN, -EAGAIN)

/* It lives, and comes to no end. */
static void test_endless (void **state)
{
    struct ask_end end;
    struct err err = { "" };

    (void)state;
    listen_with (&f.server);
    assert_int_equal (ask (ONLY_LIVES, 1, NS_PER_S / 2, &end, &err),
                      -ETIMEDOUT);
    assert_non_null (strstr (err.text, "comes to no end"));
}

/* A verb that fails prints nothing but why. */
static void test_why (void **state)
{
    struct ask_end end;
    struct err err = { "" };

    (void)state;
    listen_with (&f.server);
    assert_int_equal (ask (ONLY_SAYS_WHY, 0, LONG_NS, &end, &err), 0);
    assert_int_equal (end.status, 66);
}

/* Who reads stands still: the other side hears that this one lives, and may not
 * send more than before.
 */
static void test_full (void **state)
{
    (void)state;
    wanted_mores = 20;
    (void)alarm (60);
    good (30);
    (void)alarm (0);
    wanted_mores = 0;
    assert_true (o.granted <= o.sent + (1 << 20));
}

/* Whoever takes it has gone: it does not matter whether something comes. */
static void test_gone (void **state)
{
    struct ask_end end;
    struct err err = { "" };

    (void)state;
    listen_with (&f.server);
    atomic_store (&gone, true);
    assert_int_equal (ask (ONLY_LIVES, 1, LONG_NS, &end, &err), -EPIPE);
    atomic_store (&gone, false);
}

static void test_nobody (void **state)
{
    struct ask_end end;
    struct err err = { "" };
    size_t came = 0;

    (void)state;
    assert_int_equal (net_ask ("tcp://127.0.0.1:9", &f.client, "{}", LONG_NS,
                               take, &came, &end, &err), -EHOSTUNREACH);
    assert_non_null (strstr (err.text, "nobody listens there"));
}

static void test_unknown_key (void **state)
{
    struct ask_end end;
    struct err err = { "" };

    (void)state;
    f.allowed = f.server.public_key;
    listen_with (&f.server);
    assert_int_equal (ask (ANSWERS, 1, LONG_NS, &end, &err), -EACCES);
    assert_false (o.asked);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST (test_nothing),     NET_TEST (test_much),
        NET_TEST (test_refused),     NET_TEST (test_hash),
        NET_TEST (test_size),        NET_TEST (test_gap),
        NET_TEST (test_large_piece),
        NET_TEST (test_another),     NET_TEST (test_again),
        NET_TEST (test_endless),     NET_TEST (test_nobody),
        NET_TEST (test_unknown_key), NET_TEST (test_why),
        NET_TEST (test_gone),        NET_TEST (test_full),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
