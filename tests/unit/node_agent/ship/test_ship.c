/* tests/unit/node_agent/ship/test_ship.c - what an agent believes, and what it
 * says
 *
 * Without a network, and with a clock that stands still.
 */
#include "node_agent/spool/spool_check.h"

#include "base/clock.h"
#include "net/net.h"
#include "ship/ship_private.h"

#define SAID_MAX 64

static int64_t now_ns;
static net_fn *hear;            // what the ship does with a message
static void *hearer;
static net_fn *hear_second;     // the same of the connection that was made last,
static void *second_hearer;     // if there was another one before
static unsigned connections;    // that were made; a net is the number of one
static struct message said[SAID_MAX];
static uintptr_t said_to[SAID_MAX];
static unsigned nsaid;
static unsigned room;           // so many are taken
static loop_fn *tell_room;      // who waits for more
static void *waits_for_room;
static int64_t repeat_ns;       // until all is said again

int64_t __wrap_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void)
{
    return now_ns;
}

int __wrap_net_connect (const char *endpoint,
                        const struct net_security *security, struct net **ret,
                        struct err *err);
int __wrap_net_connect (const char *endpoint,
                        const struct net_security *security, struct net **ret,
                        struct err *err)
{
    (void)endpoint;
    (void)security;
    (void)err;
    *ret = (struct net *)(uintptr_t)++connections;
    return 0;
}

void __wrap_net_close (struct net *n);
void __wrap_net_close (struct net *n)
{
    (void)n;
}

int __wrap_net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg);
int __wrap_net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg)
{
    (void)l;
    if ((uintptr_t)n == 1) {
        hear = fn;
        hearer = arg;
    } else {
        hear_second = fn;
        second_hearer = arg;
    }
    return 0;
}

void __wrap_net_watch (struct net *n, net_problem_fn *fn, void *arg);
void __wrap_net_watch (struct net *n, net_problem_fn *fn, void *arg)
{
    (void)n;
    (void)fn;
    (void)arg;
}

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m);
int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m)
{
    (void)to;
    free (m->owned);
    if (room == 0)
        return -EAGAIN;
    room--;
    said_to[nsaid % SAID_MAX] = (uintptr_t)n;
    said[nsaid++ % SAID_MAX] = *m;
    return 0;
}

void __wrap_net_when_room (struct net *n, loop_fn *fn, void *arg);
void __wrap_net_when_room (struct net *n, loop_fn *fn, void *arg)
{
    (void)n;
    tell_room = fn;
    waits_for_room = arg;
}

int __real_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg);
int __wrap_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg);
int __wrap_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg)
{
    if (fn == ship_repeat)
        repeat_ns = after_ns;
    return __real_loop_add_timer (l, after_ns, fn, arg);
}

static void ignore (void *arg)
{
    (void)arg;
}

static void ignore_copy (void *arg, unsigned copy)
{
    (void)arg;
    (void)copy;
}

static unsigned losses[SPOOL_COPIES_ALL], heard_done;

static void on_said (void *arg)
{
    (void)arg;
    heard_done++;
}

static void on_lost (void *arg, unsigned copy)
{
    (void)arg;
    losses[copy]++;
}

static enum raw_wanted raw;     // as the last WELCOME said
static int64_t raw_asked_ns;
static struct message wanted;   // the last WANT

static void on_raw (void *arg, enum raw_wanted which, int64_t asked_ns)
{
    (void)arg;
    raw = which;
    raw_asked_ns = asked_ns;
}

static void on_want (void *arg, unsigned copy, const struct message *m)
{
    (void)arg;
    assert_int_equal (copy, 0);
    wanted = *m;
}

struct shipping {
    struct loop *loop;
    struct ship *ship;
};

static struct shipping begin (struct fixture *f)
{
    static const struct ship_identity who = { .job = "j", .host = "h",
                                              .host_key = "k" };
    const struct ship_events events = { .welcome = ignore_copy,
                                        .delivered = ignore,
                                        .said = on_said,
                                        .lost = on_lost, .raw = on_raw,
                                        .want = on_want };
    struct shipping s = { .loop = loop_create () };

    now_ns = 100 * NS_PER_S;
    nsaid = connections = 0;
    memset (losses, 0, sizeof (losses));
    heard_done = 0;
    room = UINT_MAX;
    assert_non_null (s.loop);
    assert_int_equal (ship_create (s.loop, f->s, "tcp://127.0.0.1:1", &who,
                                   &events, &s.ship, NULL), 0);
    return s;
}

static void end (struct shipping *s)
{
    ship_destroy (s->ship);
    loop_destroy (s->loop);
}

/* The answer to a HELLO of that time is read now. */
static void welcome (int64_t asked_ns)
{
    const struct message m = { .type = MESSAGE_WELCOME, .sent_ns = asked_ns };

    hear (hearer, NULL, &m, 0, NULL);
}

static unsigned count (enum message_type type)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nsaid && i < SAID_MAX; i++)
        n += said[i].type == type;
    return n;
}

/* An agent that was stopped for a minute reads what the aggregator said before
 * its root went: captures would be removed that are nowhere else any more.
 */
static void test_stale_answer (void **state)
{
    static const struct ledger_mark mark = { 7, 1 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;
    int64_t asked_ns;

    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    spool_set_mark (f->s, 0, &mark);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    s = begin (f);
    asked_ns = now_ns;
    assert_false (ship_confirmed (s.ship, 0));
    now_ns += 60 * NS_PER_S;
    welcome (asked_ns);
    assert_true (ship_confirmed (s.ship, 0));
    assert_false (ship_confirmed (s.ship, now_ns - 10 * NS_PER_S));
    welcome (now_ns - NS_PER_S);
    assert_true (ship_confirmed (s.ship, now_ns - 10 * NS_PER_S));
    end (&s);
}

static void say_stored (uint64_t epoch, uint64_t seq)
{
    const struct message m = { .type = MESSAGE_STORED, .mark = { epoch, seq } };

    hear (hearer, NULL, &m, 0, NULL);
}

/* What is kept is let go by who has what was acknowledged, and by nobody else. */
static void test_kept (void **state)
{
    static const struct ledger_mark mark = { 7, 3 };
    struct message lost = { .type = MESSAGE_WELCOME, .lost = 1 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    assert_int_equal (spool_keep (f->s, true, NULL), 0);
    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    s = begin (f);
    ship_keep (s.ship, false);
    welcome (now_ns);
    ship_keep (s.ship, true);
    assert_int_equal (count (MESSAGE_KEPT), 0);         // nothing is
    spool_set_mark (f->s, 0, &mark);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    ship_keep (s.ship, false);
    ship_keep (s.ship, false);
    ship_keep (s.ship, true);
    assert_int_equal (count (MESSAGE_KEPT), 2);
    assert_true (said[nsaid - 1].hurry);
    say_stored (0, 100);
    assert_true (ship_lacks_store (s.ship));
    say_stored (8, 2);
    assert_false (ship_lacks_store (s.ship));
    assert_int_equal (spool_kept (f->s), 1);
    lost.sent_ns = ++now_ns;
    hear (hearer, NULL, &lost, 0, NULL);
    say_stored (8, 100);
    assert_int_equal (spool_kept (f->s), 1);
    now_ns += NS_PER_S;
    welcome (now_ns);
    say_stored (8, 3);
    assert_int_equal (spool_kept (f->s), 0);
    end (&s);
}

/* The run would end without what was found behind its last word if that stood
 * until the next round.
 */
static void test_not_done (void **state)
{
    struct fixture *f = *state;
    struct shipping s = begin (f);

    welcome (now_ns);
    ship_left (s.ship, 0);
    ship_done (s.ship, "", 0);
    assert_int_equal (count (MESSAGE_DONE), 1);
    nsaid = 0;
    ship_left (s.ship, 2);
    ship_not_done (s.ship);
    assert_int_equal (nsaid, 1);
    assert_int_equal (said[0].type, MESSAGE_PING);
    assert_int_equal (said[0].left_captures, 2);
    // nor is it said by the words that follow, until it is true again
    assert_int_equal (ship_note (s.ship, "x"), 0);
    assert_int_equal (count (MESSAGE_DONE), 0);
    ship_left (s.ship, 0);
    ship_done (s.ship, "", 0);
    assert_int_equal (count (MESSAGE_DONE), 1);
    end (&s);
}

/* What was acknowledged and is not here any more is offered without its bytes.
 * Wanted, it is lost; and nothing is sent of whatever has its name by now.
 */
static void test_asked (void **state)
{
    static const struct ledger_mark mark = { 7, 1 };
    struct fixture *f = *state;
    struct spool_redelivery r = { 0 };
    struct message get = { .type = MESSAGE_GET, .length = 4 };
    struct message ack = { .type = MESSAGE_ACK, .mark = mark };
    struct message lost = { .type = MESSAGE_WELCOME, .lost = 1,
                            .sent_ns = INT64_MAX };
    struct spool_item item;
    struct shipping s;

    for (unsigned i = 0; i < 2; i++) {
        (void)spool_put (f, i ? "/gone/2_pt" : "/gone/1_pt", "v1", "rows",
                         NULL, false);
        assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
        assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    }
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_int_equal (spool_redeliver (f->s, &r, NULL), 0);
    s = begin (f);
    ship_ask (s.ship);
    nsaid = 0;
    welcome (now_ns);
    assert_int_equal (count (MESSAGE_OFFER), 2);
    ship_hold (s.ship, true);
    get.item = item.id;
    hear (hearer, NULL, &get, 0, NULL);
    assert_int_equal (count (MESSAGE_CHUNK), 0);
    assert_int_equal (count (MESSAGE_GONE), 1);
    ack.item = item.id - 1;
    hear (hearer, NULL, &ack, 0, NULL);
    // both are in the ledger before the next loss is
    assert_true (spool_asks (f->s));
    hear (hearer, NULL, &lost, 0, NULL);
    assert_false (spool_asks (f->s));
    end (&s);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 1);
}

/* A socket takes few messages at a time.  What it had no room for would be said
 * with the next round, two seconds later: here it is as soon as there is some,
 * and each once.
 */
static void test_no_room (void **state)
{
    struct fixture *f = *state;
    struct shipping s;
    uint64_t ids = 0;

    for (unsigned i = 0; i < 40; i++) {
        char path[64];

        (void)snprintf (path, sizeof (path), "/capture%u", i);
        (void)spool_put (f, path, "v1", "rows", NULL, false);
    }
    s = begin (f);
    ship_ask (s.ship);
    welcome (now_ns);
    nsaid = 0;
    now_ns += NS_PER_S;
    ship_ask (s.ship);          // nothing new
    assert_int_equal (nsaid, 0);
    end (&s);

    s = begin (f);
    ship_ask (s.ship);
    room = 3;
    welcome (now_ns);           // HELLO, two OFFERs
    for (unsigned i = 0; i < 19; i++) {
        assert_non_null (tell_room);
        room = 2;
        tell_room (waits_for_room);
    }
    assert_int_equal (count (MESSAGE_OFFER), 40);
    for (unsigned i = 0; i < nsaid; i++)
        ids |= said[i].type == MESSAGE_OFFER ? UINT64_C (1) << said[i].item
                                             : 0;
    assert_int_equal (ids, ((UINT64_C (1) << 40) - 1) << 1);
    room = UINT_MAX;
    tell_room (waits_for_room);
    assert_int_equal (count (MESSAGE_OFFER), 40);
    end (&s);
}

/* Nothing but the ACK of an item itself says that it is on the aggregator's
 * disk: one that was taken for another's would end an item that nobody has, and
 * its capture might be removed.
 */
static void test_unknown_ack (void **state)
{
    struct fixture *f = *state;
    struct message ack = { .type = MESSAGE_ACK };
    struct shipping s;
    uint64_t id = 0;

    for (unsigned i = 0; i < 2; i++)
        id = spool_put (f, i ? "/b" : "/a", "v1", "rows", NULL, false);
    s = begin (f);
    ship_ask (s.ship);
    welcome (now_ns);
    assert_int_equal (count (MESSAGE_OFFER), 2);
    assert_int_equal (spool_undelivered (f->s), 2);
    // no item's; and one that is offered in the same bucket
    for (unsigned i = 0; i < 2; i++) {
        ack.item = i ? id + OFFER_BUCKETS : 4711;
        hear (hearer, NULL, &ack, 0, NULL);
        ship_commit (s.ship);
        assert_int_equal (spool_undelivered (f->s), 2);
    }
    ack.item = id;
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 1);
    end (&s);
}

/* A thousand agents whose aggregator is away would say HELLO ten times a second
 * each: only the first pauses are short.
 */
static void test_hello_slows_down (void **state)
{
    struct fixture *f = *state;
    struct shipping s = begin (f);
    unsigned rounds = 0;

    for (int64_t from = now_ns; now_ns < from + 60 * NS_PER_S; rounds++) {
        now_ns += repeat_ns;
        ship_repeat (s.ship);
    }
    assert_int_equal (count (MESSAGE_HELLO), rounds + 1);
    // 0.1, 0.2, 0.4, 0.8 and 1.6 s, then 2 s, each a quarter more or less
    assert_in_range (rounds, 24, 46);
    assert_in_range (repeat_ns, 3 * NS_PER_S / 2, 5 * NS_PER_S / 2);
    welcome (now_ns);
    now_ns += repeat_ns;
    ship_repeat (s.ship);
    assert_in_range (repeat_ns, 3 * NS_PER_S / 2, 5 * NS_PER_S / 2);
    end (&s);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)

/* A probe answers no HELLO, and says nothing about raw files. */
static void test_raw (void **state)
{
    struct message m = { .type = MESSAGE_WELCOME, .raw = RAW_UNDECIDED };
    struct fixture *f = *state;
    struct shipping s = begin (f);

    raw = RAW_ALL;
    m.sent_ns = now_ns - 1;
    hear (hearer, NULL, &m, 0, NULL);
    assert_int_equal (raw, RAW_UNDECIDED);
    assert_int_equal (raw_asked_ns, now_ns - 1);
    m.raw = RAW_ALL;
    m.sent_ns = 0;
    hear (hearer, NULL, &m, 0, NULL);
    assert_int_equal (raw, RAW_UNDECIDED);
    end (&s);
}

/* A WANT is answered once each time that it is said. */
static void test_want (void **state)
{
    const struct message want = { .type = MESSAGE_WANT, .item = 7, .rank = 2,
                                  .capture = "a_pt", .path = "*.json" };
    const struct message have = { .type = MESSAGE_HAVE, .item = 7,
                                  .have = HAVE_BUSY };
    struct fixture *f = *state;
    struct shipping s = begin (f);

    welcome (now_ns);
    hear (hearer, NULL, &want, 0, NULL);
    assert_true (wanted.item == 7 && wanted.rank == 2);
    assert_string_equal (wanted.path, "*.json");
    ship_have (s.ship, 0, &have);
    assert_int_equal (count (MESSAGE_HAVE), 1);
    ship_repeat (s.ship);
    assert_int_equal (count (MESSAGE_HAVE), 1);
    end (&s);
}

/* The aggregator waits for what is on offer until it learns that it will not
 * come.
 */
static void test_withdraw (void **state)
{
    const struct message ack = { .type = MESSAGE_ACK, .item = 1 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    s = begin (f);
    assert_true (ship_acked_ns (s.ship) == 0);
    ship_kick (s.ship);
    welcome (now_ns);
    assert_int_equal (count (MESSAGE_OFFER), 1);
    ship_withdraw (s.ship, item.id + 1);        // not on offer
    assert_int_equal (count (MESSAGE_GONE), 0);
    ship_withdraw (s.ship, item.id);
    assert_int_equal (count (MESSAGE_GONE), 1);
    assert_null (ship_find_offer (s.ship, item.id));
    hear (hearer, NULL, &ack, 0, NULL);         // of none
    assert_true (ship_acked_ns (s.ship) == 0);
    end (&s);
}

/* A socket takes a part of the GONEs of hundreds of files.  The aggregator would
 * ask for the rest for ever, and for little else.
 */
static void test_withdraw_unheard (void **state)
{
    struct message get = { .type = MESSAGE_GET, .length = 3 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &item, NULL), 1);
    s = begin (f);
    ship_kick (s.ship);
    welcome (now_ns);
    ship_limit (s.ship, 1);     // a GONE has no bytes
    bucket_spend (&s.ship->rate, 2 * CONTENT_CHUNK, now_ns);
    room = 0;
    ship_withdraw (s.ship, item.id);
    get.item = item.id;
    hear (hearer, NULL, &get, 0, NULL);
    assert_int_equal (count (MESSAGE_GONE), 0);
    room = 1;
    tell_room (waits_for_room);
    assert_int_equal (count (MESSAGE_GONE), 1);
    assert_int_equal (said[nsaid - 1].item, item.id);
    end (&s);
}

/* ---- several copies, and several aggregators ---- */

static void second (const struct message *m)
{
    hear_second (second_hearer, NULL, m, 0, NULL);
}

static void second_welcomes (bool lost)
{
    const struct message m = { .type = MESSAGE_WELCOME, .sent_ns = now_ns,
                               .lost = lost };

    second (&m);
}

static unsigned count_to (uintptr_t net, enum message_type type)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nsaid && i < SAID_MAX; i++)
        n += said[i].type == type && said_to[i] == net;
    return n;
}

static struct shipping begin_two (struct fixture *f)
{
    struct shipping s = begin (f);

    assert_int_equal (spool_copies (f->s, 3, NULL), 0);
    assert_int_equal (ship_add_copy (s.ship, 1, NULL), 0);
    assert_int_equal (ship_move (s.ship, 1, "tcp://127.0.0.1:2", NULL, NULL),
                      0);
    ship_ask (s.ship);
    welcome (now_ns);
    second_welcomes (false);
    return s;
}

/* What only one of two has is not delivered: it would be gone with that one. */
static void test_copies (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };
    struct message ack2 = { .type = MESSAGE_ACK, .mark = { 8, 5 } };
    struct fixture *f = *state;
    struct shipping s;

    for (unsigned i = 0; i < 2; i++)
        ack.item = ack2.item = spool_put (f, i ? "/b" : "/a", "v1", "rows",
                                          NULL, false);
    s = begin_two (f);
    assert_int_equal (count_to (1, MESSAGE_OFFER), 2);
    assert_int_equal (count_to (2, MESSAGE_OFFER), 2);
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 2);
    // nor is it by the same one's word again
    ship_ask (s.ship);
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 2);
    second (&ack2);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 1);
    assert_int_equal (spool_mark (f->s, 0).epoch, 7);
    assert_int_equal (spool_mark (f->s, 1).epoch, 8);
    end (&s);
    spool_reopen (f);
    assert_int_equal (spool_mark (f->s, 1).seq, 5);
    // with one copy nothing is known of a second one any more
    assert_int_equal (spool_copies (f->s, 1, NULL), 0);
    spool_reopen (f);
    assert_int_equal (spool_mark (f->s, 0).epoch, 7);
    assert_true (spool_lacks_mark (f->s, 1));
}

/* All is said to both, and both have to have heard it. */
static void test_copies_say (void **state)
{
    struct fixture *f = *state;
    struct shipping s = begin_two (f);

    assert_int_equal (ship_note (s.ship, "x"), 0);
    assert_int_equal (ship_rank (s.ship, 3, 0, RANK_ENDED, 0, "", NULL), 0);
    ship_done (s.ship, "", 0);
    for (uintptr_t net = 1; net <= 2; net++) {
        assert_int_equal (count_to (net, MESSAGE_NOTE), 1);
        assert_int_equal (count_to (net, MESSAGE_RANK), 1);
        assert_int_equal (count_to (net, MESSAGE_DONE), 1);
    }
    assert_int_equal (heard_done, 0);
    welcome (now_ns);
    assert_int_equal (heard_done, 0);
    second_welcomes (false);
    assert_int_equal (heard_done, 1);
    end (&s);
}

/* One of two has what is no longer here: it is not lost, but has one copy. */
static void test_copies_asked (void **state)
{
    struct message get = { .type = MESSAGE_GET, .length = 4 };
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };
    struct spool_redelivery r = { 0 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    (void)spool_put (f, "/gone/1_pt", "v1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    assert_int_equal (spool_redeliver (f->s, &r, NULL), 0);
    s = begin_two (f);
    get.item = ack.item = item.id;
    second (&get);
    ship_commit (s.ship);
    assert_true (spool_asks (f->s));
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 0);
    end (&s);
}

/* Another aggregator has nothing of what the former one has acknowledged, and
 * was told nothing.
 */
static void test_move (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };
    struct fixture *f = *state;
    struct shipping s;

    for (unsigned i = 0; i < 2; i++)
        ack.item = spool_put (f, i ? "/b" : "/a", "v1", "rows", NULL, false);
    s = begin (f);
    ship_ask (s.ship);
    welcome (now_ns);
    assert_int_equal (ship_note (s.ship, "x"), 0);
    hear (hearer, NULL, &ack, 0, NULL);
    nsaid = 0;
    assert_int_equal (ship_move (s.ship, 0, "tcp://127.0.0.1:2", NULL, NULL),
                      0);
    assert_int_equal (spool_undelivered (f->s), 1);
    assert_false (ship_is_heard (s.ship, 0));
    assert_int_equal (said[0].type, MESSAGE_HELLO);
    assert_int_equal (said[0].mark.epoch, 7);   // which it does not know
    assert_int_equal (count (MESSAGE_NOTE), 0);
    ship_kick (s.ship);
    second_welcomes (true);
    assert_int_equal (losses[0], 1);
    assert_false (ship_confirmed (s.ship, 0));
    assert_int_equal (count_to (2, MESSAGE_OFFER), 1);
    assert_int_equal (count_to (2, MESSAGE_NOTE), 1);
    assert_true (ship_is_heard (s.ship, 0));
    end (&s);
}

/* The word of one that is gone is not that of the one that stands in for it. */
static void test_copy_moves (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };
    struct fixture *f = *state;
    struct shipping s;

    ack.item = spool_put (f, "/a", "v1", "rows", NULL, false);
    s = begin_two (f);
    second (&ack);
    assert_int_equal (ship_move (s.ship, 1, "tcp://127.0.0.1:3", NULL, NULL),
                      0);
    ship_kick (s.ship);
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 1);
    second_welcomes (false);
    second (&ack);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 0);
    end (&s);
}

/* Raw files go elsewhere: copy SPOOL_RAW_COPY. */
static struct shipping begin_divided (struct fixture *f)
{
    struct shipping s = begin (f);

    ship_world (s.ship, 64);
    assert_int_equal (spool_copies (f->s, 1 | 1 << SPOOL_RAW_COPY, NULL), 0);
    assert_int_equal (ship_add_copy (s.ship, SPOOL_RAW_COPY, NULL), 0);
    assert_int_equal (ship_move (s.ship, SPOOL_RAW_COPY, "tcp://127.0.0.1:2",
                                 NULL, NULL), 0);
    ship_take (s.ship, 0, SHIP_ROWS);
    ship_take (s.ship, SPOOL_RAW_COPY, SHIP_RAW);
    ship_divided (s.ship, 0, "tcp://raw:1");
    ship_ask (s.ship);
    welcome (now_ns);
    second_welcomes (false);
    return s;
}

/* The last message of a type to that connection. */
static const struct message *last_to (uintptr_t net, enum message_type type)
{
    const struct message *m = NULL;

    for (unsigned i = 0; i < nsaid && i < SAID_MAX; i++) {
        if (said[i].type == type && said_to[i] == net)
            m = &said[i];
    }
    assert_non_null (m);
    return m;
}

/* Each has its kind, and only one a roll; what the other has acknowledged is no
 * loss there.
 */
static void test_divided (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };
    struct message ack2 = { .type = MESSAGE_ACK, .mark = { 8, 5 } };
    struct fixture *f = *state;
    struct shipping s;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", true);
    s = begin_divided (f);
    assert_int_equal (count_to (1, MESSAGE_OFFER), 1);
    assert_int_equal (count_to (2, MESSAGE_OFFER), 1);
    assert_int_equal (last_to (1, MESSAGE_OFFER)->kind, ITEM_ROWS);
    assert_int_equal (last_to (2, MESSAGE_OFFER)->kind, ITEM_RAW);
    assert_int_equal (last_to (1, MESSAGE_HELLO)->world_size, 64);
    assert_int_equal (last_to (2, MESSAGE_HELLO)->world_size, 0);
    assert_string_equal (last_to (1, MESSAGE_DIVIDED)->text, "tcp://raw:1");
    assert_true (last_to (1, MESSAGE_DIVIDED)->home);
    assert_int_equal (count_to (2, MESSAGE_DIVIDED), 0);
    assert_int_equal (ship_note (s.ship, "x"), 0);
    assert_int_equal (count_to (1, MESSAGE_NOTE), 1);
    assert_int_equal (count_to (2, MESSAGE_NOTE), 0);
    ack.item = last_to (1, MESSAGE_OFFER)->item;
    ack2.item = last_to (2, MESSAGE_OFFER)->item;
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 1);
    second_welcomes (false);
    second (&ack2);
    ship_commit (s.ship->next);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_mark (f->s, SPOOL_RAW_COPY).epoch, 8);
    second_welcomes (false);
    welcome (now_ns);
    assert_int_equal (losses[0] + losses[SPOOL_RAW_COPY], 0);
    assert_true (ship_confirmed (s.ship, 0));
    ship_done (s.ship, "", 0);
    assert_int_equal (count_to (2, MESSAGE_DONE), 1);
    // the first one gets both: it is to be asked whether it has the raw files,
    // and nothing that it acknowledges before that is recorded hides it
    ship_rest (s.ship, SPOOL_RAW_COPY);
    assert_int_equal (spool_copies (f->s, 1, NULL), 1);
    assert_true (spool_redelivers (f->s));
    ship_take (s.ship, 0, SHIP_ALL);
    ship_doubt (s.ship, 0);
    assert_int_equal (losses[0], 1);
    assert_false (ship_confirmed (s.ship, 0));
    now_ns += NS_PER_S;
    welcome (now_ns);
    assert_int_equal (losses[0], 2);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    now_ns += NS_PER_S;
    welcome (now_ns);
    assert_int_equal (losses[0], 3);
    now_ns += NS_PER_S;
    welcome (now_ns);
    assert_int_equal (losses[0], 3);
    assert_true (ship_confirmed (s.ship, 0));
    end (&s);
    spool_reopen (f);
    assert_true (spool_redelivers (f->s));
}

/* What is no longer here is asked of both. */
static void test_divided_asked (void **state)
{
    struct message get = { .type = MESSAGE_GET, .length = 3 };
    struct message ack = { .type = MESSAGE_ACK, .mark = { 8, 1 } };
    struct spool_redelivery r = { 0 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", true);
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        assert_int_equal (spool_next (f->s, kind, 0, &item, NULL), 1);
        assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    }
    assert_int_equal (fileio_remove_tree (f->raw, NULL), 0);
    assert_int_equal (spool_begin_redelivery (f->s, SPOOL_RAW_COPY, NULL), 0);
    assert_int_equal (spool_redeliver (f->s, &r, NULL), 0);
    s = begin_divided (f);
    assert_int_equal (spool_tally (f->s, ITEM_ROWS, SPOOL_ASKED).items, 1);
    for (unsigned i = 0; i < 2; i++) {  // rows, then raw files
        get.item = ack.item = item.id + i - 1;
        if (i == 0)
            hear (hearer, NULL, &ack, 0, NULL);
        else
            second (&ack);
        ship_commit (s.ship);
        assert_true (spool_asks (f->s));
        if (i == 0)
            second (&get);
        else
            hear (hearer, NULL, &get, 0, NULL);
        ship_commit (s.ship);
    }
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 0);
    end (&s);
}

/* Both acknowledge what is on offer to them. */
static void both_acknowledge (struct ship *s)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 7, 1 } };

    for EACH_COPY (c, s) {
        for (size_t i = 0; i < OFFERS_MAX; i++) {
            ack.item = c->offers[i].item.id;
            if (c->offers[i].state.now == OFFER_SAID)
                ship_on_ack (c, &ack);
        }
    }
    ship_commit (s);
    ship_kick (s);
}

/* One copy has moved while as many items as can be on offer wait for it, and
 * earlier ones are asked about: both have to offer the same.
 */
static void test_moved_offers_the_same (void **state)
{
    char *large = calloc (1, CONTENT_SMALL + 2), path[32];
    struct spool_redelivery r = { 0 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    memset (large, 'r', CONTENT_SMALL + 1);
    for (unsigned i = 0; i < LARGE_MAX; i++) {
        (void)snprintf (path, sizeof (path), "/gone/%u_pt", i);
        (void)spool_put (f, path, "v1", large, NULL, false);
        assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
        assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    }
    for (unsigned i = 0; i < LARGE_MAX; i++) {
        (void)snprintf (path, sizeof (path), "/new/%u_pt", i);
        (void)spool_put (f, path, "v1", large, NULL, false);
    }
    free (large);
    s = begin_two (f);
    assert_int_equal (count_to (2, MESSAGE_OFFER), LARGE_MAX);
    assert_int_equal (spool_begin_redelivery (f->s, 1, NULL), 0);
    while (spool_redeliver (f->s, &r, NULL) > 0)
        continue;
    assert_true (spool_asks (f->s));
    assert_int_equal (ship_move (s.ship, 1, "tcp://127.0.0.1:3", NULL, NULL),
                      0);
    assert_int_equal (count_to (1, MESSAGE_OFFER), 2 * LARGE_MAX);
    ship_kick (s.ship);
    second_welcomes (false);
    for (unsigned i = 0; i < 4; i++)
        both_acknowledge (s.ship);
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_undelivered (f->s), 0);
    end (&s);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_stale_answer), TEST (test_kept), TEST (test_not_done), TEST (test_asked),
        TEST (test_no_room), TEST (test_unknown_ack),
        TEST (test_hello_slows_down), TEST (test_raw), TEST (test_want),
        TEST (test_withdraw), TEST (test_withdraw_unheard), TEST (test_copies),
        TEST (test_copies_say), TEST (test_copies_asked), TEST (test_move),
        TEST (test_moved_offers_the_same),
        TEST (test_divided), TEST (test_divided_asked),
        TEST (test_copy_moves),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
