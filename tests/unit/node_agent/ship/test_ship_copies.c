/* tests/unit/node_agent/ship/test_ship_copies.c - what is delivered to two
 * aggregators, and to one that stands in for another */
#include "ship_check.h"

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
    assert_int_equal (ship_take_lacked (s.ship, 0), 0);
    assert_int_equal (ship_take_lacked (s.ship, 1), 1);
    assert_int_equal (ship_take_lacked (s.ship, 1), 0);
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

/* The second aggregator has the first 'seq' of its ledger in its store; epoch 0: it
 * has none.
 */
static void second_has_stored (uint64_t epoch, uint64_t seq)
{
    const struct message m = { .type = MESSAGE_STORED, .mark = { epoch, seq } };

    second (&m);
}

static void set_away (struct ship *s, unsigned copy, bool away)
{
    ship_set_away (s, copy, away);
    assert_int_equal (ship_judge (s), 0);
}

/* One of two is away: the other one's store has the second copy, if there is one;
 * when it is back, it gets what is here.
 */
static void test_store_stands_in (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 8, 5 } };
    struct message get = { .type = MESSAGE_GET, .length = 4 };
    struct fixture *f = *state;
    struct shipping s;
    uint64_t revised = 0;

    ack.item = spool_put (f, "/a", "v1", "rows", NULL, false);
    s = begin_two (f);
    ship_copies (s.ship, 2);
    set_away (s.ship, 0, false);
    second (&ack);
    ship_commit (ship_find_copy (s.ship, 1));
    set_away (s.ship, 0, true);
    ship_say_kept (ship_find_copy (s.ship, 0));
    ship_say_kept (ship_find_copy (s.ship, 1));
    assert_int_equal (count_to (1, MESSAGE_KEPT), 0);
    assert_int_equal (count_to (2, MESSAGE_KEPT), 1);
    second_has_stored (0, 0);
    assert_int_equal (spool_undelivered (f->s), 1);
    assert_int_equal (ship_keeper (s.ship, ITEM_ROWS), SPOOL_NO_COPY);
    second_has_stored (8, 4);
    assert_int_equal (ship_keeper (s.ship, ITEM_ROWS), 1);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_kept (f->s), 1);
    now_ns += 60 * NS_PER_S;
    second_welcomes (false);
    assert_true (ship_confirmed (s.ship, now_ns - NS_PER_S));
    assert_int_equal (ship_heard_ns (s.ship), now_ns);
    // the first one is back: all that is kept is offered to both, with its bytes
    set_away (s.ship, 0, false);
    assert_false (ship_confirmed (s.ship, now_ns - NS_PER_S));
    second_has_stored (8, 5);
    assert_int_equal (spool_kept (f->s), 1);
    assert_int_equal (spool_revise (f->s, &revised, NULL), 0);
    assert_int_equal (revised, 1);
    nsaid = 0;
    ship_ask (s.ship);
    assert_int_equal (count_to (1, MESSAGE_OFFER), 1);
    assert_int_equal (count_to (2, MESSAGE_OFFER), 1);
    get.item = ack.item;
    hear (hearer, NULL, &get, 0, NULL);
    assert_int_equal (count_to (1, MESSAGE_CHUNK), 1);
    second (&ack);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 1);
    hear (hearer, NULL, &ack, 0, NULL);
    ship_commit (s.ship);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_kept (f->s), 0);
    end (&s);
}

/* What the one that is there has not, the other one may have. */
static void test_away_may_have_it (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 8, 5 } };
    struct message get = { .type = MESSAGE_GET, .length = 4 };
    struct spool_redelivery r = { 0 };
    struct fixture *f = *state;
    struct spool_item item;
    struct shipping s;

    (void)spool_put (f, "/gone/1_pt", "v1", "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
    assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    assert_int_equal (spool_begin_redelivery (f->s, 1, NULL), 0);
    assert_int_equal (spool_redeliver (f->s, &r, NULL), 0);
    s = begin_two (f);
    ship_copies (s.ship, 2);
    set_away (s.ship, 0, true);
    second_has_stored (8, 4);
    assert_int_equal (ship_keeper (s.ship, ITEM_ROWS), 1);
    get.item = ack.item = item.id;
    second (&get);
    ship_commit (ship_find_copy (s.ship, 1));
    assert_true (spool_asks (f->s));
    set_away (s.ship, 0, false);
    assert_int_equal (count_to (1, MESSAGE_OFFER), 2);
    hear (hearer, NULL, &ack, 0, NULL);
    second (&get);
    ship_commit (s.ship);
    assert_false (spool_asks (f->s));
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 0);
    end (&s);
}

static void ask_for_gone (struct fixture *f, unsigned n)
{
    struct spool_redelivery r = { 0 };
    struct spool_item item;
    char path[32];

    for (unsigned i = 0; i < n; i++) {
        (void)snprintf (path, sizeof (path), "/gone/%u_pt", i);
        (void)spool_put (f, path, "v1", "rows", NULL, false);
        assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &item, NULL), 1);
        assert_int_equal (spool_durable (f->s, &item.id, 1, NULL), 0);
    }
    assert_int_equal (spool_begin_redelivery (f->s, 1, NULL), 0);
    while (spool_redeliver (f->s, &r, NULL) > 0)
        continue;
}

static void lose_all (struct ship *c)
{
    struct message get = { .type = MESSAGE_GET, .length = 4 };

    for (size_t i = 0; i < OFFERS_MAX; i++) {
        get.item = c->offers[i].item.id;
        if (c->offers[i].state.now == OFFER_SAID)
            second (&get);
    }
    ship_commit (c);
}

/* As many items as can be on offer are no longer here, and the only aggregator
 * that is there has lost them: it gets what is new, and a process that only
 * delivers does not wait for ever for the other one.
 */
static void test_away_does_not_block (void **state)
{
    struct message ack = { .type = MESSAGE_ACK, .mark = { 8, 5 } };
    struct fixture *f = *state;
    struct shipping s;

    ask_for_gone (f, SMALL_MAX);
    ack.item = spool_put (f, "/new", "v1", "rows", NULL, false);
    s = begin_two (f);
    ship_copies (s.ship, 2);
    set_away (s.ship, 0, true);
    second_has_stored (8, 4);
    now_ns += 90 * NS_PER_S;
    second_welcomes (false);
    assert_int_equal (ship_heard_ns (s.ship), now_ns);
    lose_all (ship_find_copy (s.ship, 1));
    assert_true (spool_asks (f->s));
    assert_true (ship_heard_ns (s.ship) < now_ns - 60 * NS_PER_S);
    assert_non_null (ship_find_offer (ship_find_copy (s.ship, 1), ack.item));
    second (&ack);
    ship_commit (ship_find_copy (s.ship, 1));
    assert_int_equal (spool_undelivered (f->s), SMALL_MAX);
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
        TEST (test_copies), TEST (test_copies_say), TEST (test_copies_asked),
        TEST (test_move), TEST (test_copy_moves),
        TEST (test_moved_offers_the_same), TEST (test_store_stands_in),
        TEST (test_away_may_have_it), TEST (test_away_does_not_block),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
