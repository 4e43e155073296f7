/* tests/unit/node_agent/ship/test_ship_divided.c - rows go to one aggregator, raw
 * files to another */
#include "ship_check.h"

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

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_divided), TEST (test_divided_asked),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
