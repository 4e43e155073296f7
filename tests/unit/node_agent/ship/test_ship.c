/* tests/unit/node_agent/ship/test_ship.c - what an agent believes, and what it
 * says */
#include "ship_check.h"

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

    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    s = begin (f);
    ship_copies (s.ship, 2);
    assert_int_equal (ship_judge (s.ship), 0);
    assert_int_equal (ship_keeper (s.ship, ITEM_ROWS), 0);
    welcome (now_ns);
    ship_hurry (s.ship, true);
    assert_int_equal (count (MESSAGE_KEPT), 0);         // nothing is
    spool_set_mark (f->s, 0, &mark);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    ship_hurry (s.ship, false);
    ship_hurry (s.ship, false);
    ship_hurry (s.ship, true);
    assert_int_equal (count (MESSAGE_KEPT), 2);
    assert_true (said[nsaid - 1].hurry);
    say_stored (0, 100);
    assert_int_equal (ship_store (s.ship, 0), SHIP_STORE_NONE);
    say_stored (8, 2);
    assert_int_equal (ship_store (s.ship, 0), SHIP_STORE_THERE);
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

/* A probe answers no HELLO, and says nothing about raw files. */
static void test_raw (void **state)
{
    struct message m = { .type = MESSAGE_WELCOME, .raw = RAW_UNDECIDED };
    struct fixture *f = *state;
    struct shipping s = begin (f);

    raw_heard = RAW_ALL;
    m.sent_ns = now_ns - 1;
    hear (hearer, NULL, &m, 0, NULL);
    assert_int_equal (raw_heard, RAW_UNDECIDED);
    assert_int_equal (raw_asked_ns, now_ns - 1);
    m.raw = RAW_ALL;
    m.sent_ns = 0;
    hear (hearer, NULL, &m, 0, NULL);
    assert_int_equal (raw_heard, RAW_UNDECIDED);
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

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_stale_answer), TEST (test_kept), TEST (test_not_done), TEST (test_asked),
        TEST (test_no_room), TEST (test_unknown_ack),
        TEST (test_hello_slows_down), TEST (test_raw), TEST (test_want),
        TEST (test_withdraw), TEST (test_withdraw_unheard),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
