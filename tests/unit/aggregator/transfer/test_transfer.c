/* tests/unit/aggregator/transfer/test_transfer.c - what is offered comes whole,
 * of whoever has it, and nothing else does */
#include "aggregator/transfer/transfer_check.h"

#include "base/counter.h"

/* An item of one chunk and one of several, plain and packed. */
static void test_chunks (void **state)
{
    struct fixture *f = *state;
    struct data small = data_of (1000, 1), large = data_of (9 * MIB + 7, 2);

    for (enum chunk_codec codec = CODEC_PLAIN; codec <= CODEC_LZ4; codec++) {
        close_all (f);
        (void)fileio_remove_tree (f->root.dir, NULL);
        assert_int_equal (fileio_mkdirs (f->root.dir, 0700, NULL), 0);
        f->nsent = 0;
        open_all (f);
        offer_data (f, 1, 1, &small);
        assert_int_equal (answer_all (f, 0, 1, &small, codec), 1);
        check_commit (f, "j c1, ");
        offer_data (f, 1, 2, &large);
        assert_int_equal (answer_all (f, 1, 1, &large, codec), 10);
        check_commit (f, "j c1, ");
        assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 2);
        check_credits (f);
        check_stored (f, &small);
        check_stored (f, &large);
    }
    free (small.bytes);
    free (large.bytes);
}

/* A frame that was damaged on its way is asked for again, and nothing of it is
 * kept.
 */
static void test_damaged (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (2 * MIB, 3);
    struct message first;

    offer_data (f, 1, 1, &d);
    assert_int_equal (f->nsent, 1);
    first = f->sent[0];
    assert_int_equal (answer (f, &first, 1, &d, CODEC_LZ4, 1), -EBADMSG);
    assert_int_equal (f->nsent, 2);
    assert_int_equal (f->sent[1].offset, 0);
    // so is one that has more bytes than were asked for
    first.length++;
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 0), -EBADMSG);
    assert_int_equal (f->nsent, 3);
    assert_int_equal (f->sent[2].offset, 0);
    assert_int_equal (answer_all (f, 2, 1, &d, CODEC_LZ4), 2);
    // plain bytes are found out at the end, and all of it thrown away
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
    d = data_of (2 * MIB, 4);
    f->nsent = 0;
    offer_data (f, 1, 2, &d);
    first = f->sent[0];
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 1), 0);
    assert_int_equal (answer (f, &f->sent[1], 1, &d, CODEC_PLAIN, 0),
                      -EBADMSG);
    assert_false (transfers_pending (f->transfers));
    check_credits (f);
    f->nsent = 0;
    offer_data (f, 1, 2, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 2);
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
}

/* A chunk that was not asked for, or comes twice, changes nothing. */
static void test_ignored (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 5);
    struct message get = { .type = MESSAGE_GET, .item = 1, .offset = MIB,
                           .length = MIB };

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    get = f->sent[0];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_PLAIN), 2);
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
}

/* A restart in the middle: it goes on where the ledger stood. */
static void test_resume (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (40 * MIB, 6);
    struct digest name;

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < 20; i++) {
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    }
    // 20 MiB are more than it takes to be noted
    check_commit (f, "");
    close_all (f);
    open_all (f);
    f->nsent = 0;
    offer_data (f, 1, 7, &d);
    assert_int_equal (f->sent[0].offset, 20 * MIB);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 20);
    check_whole (f, "j c1, ", &d);
    name = incoming_of (&d);
    assert_false (ledger_knows_incoming (f->root.l, &name));
    free (d.bytes);
}

/* What two have is asked of one, and acknowledged to both. */
static void test_same_content (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 7);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 3);
    assert_int_equal (count_sent (f, MESSAGE_GET, 2), 0);
    check_commit (f, "j c1, j c2, ");
    assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 1);
    assert_int_equal (count_sent (f, MESSAGE_ACK, 2), 1);
    check_stored (f, &d);
    free (d.bytes);
}

/* Somebody removes what had come: it is not gone on behind a hole. */
static void test_incoming_lost (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (4 * MIB, 11);
    struct digest name;
    struct message get;

    offer_data (f, 1, 1, &d);
    get = f->sent[0];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    name = incoming_of (&d);
    store_discard (f->root.s, &name);
    get = f->sent[1];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), -ESTALE);
    f->nsent = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
}

/* All GETs to 'who' so far, with other bytes; then they are forgotten. */
static void answer_wrong (struct fixture *f, uint8_t who, const struct data *d)
{
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        if (get.type == MESSAGE_GET && f->to[i] == who)
            (void)answer (f, &get, who, d, CODEC_PLAIN, 1);
    }
}

/* One that sends other bytes than it offers does not keep another from being
 * asked, however often it comes back.
 */
static void test_wrong_bytes (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 80), small = data_of (100, 81);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 2, &d);
    answer_wrong (f, 1, &d);
    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 3);
    check_whole (f, "j c2, j c1, ", &d);
    // alone it had been first: whoever comes then is asked
    f->nsent = 0;
    offer_data (f, 1, 3, &small);
    answer_wrong (f, 1, &small);
    offer_data (f, 1, 3, &small);
    offer_data (f, 2, 4, &small);
    assert_int_equal (answer_all (f, 0, 2, &small, CODEC_PLAIN), 1);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    check_stored (f, &small);
    check_credits (f);
    free (d.bytes);
    free (small.bytes);
}

/* It began with other bytes, and somebody else went on: nobody is blamed, and
 * all of it is asked of one.
 */
static void test_wrong_beginning (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 90);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 2, &d);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 1), 0);
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    for (size_t i = 0; i < f->nsent; i++) {
        struct message get = f->sent[i];

        if (f->to[i] == 2)
            (void)answer (f, &get, 2, &d, CODEC_PLAIN, 0);
    }
    check_whole (f, "j c2, j c1, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* A wrong size, of one that answers now and then, neither keeps another away
 * nor gets its bytes among the other's: both are asked, as if it were two
 * contents.
 */
static void test_wrong_size (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 100), lie = data_of (40 * MIB, 110);
    struct message get;

    lie.id = d.id;
    offer_data (f, 1, 1, &lie);
    get = f->sent[0];
    offer_data (f, 2, 2, &d);
    assert_int_equal (answer (f, &f->sent[1], 2, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer (f, &get, 1, &lie, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer_all (f, 2, 2, &d, CODEC_PLAIN), 2);
    check_whole (f, "j c2, ", &d);
    // of the right size it is known
    offer_data (f, 1, 2, &d);
    check_commit (f, "j c1, ");
    free (d.bytes);
    free (lie.bytes);
}

/* More than its share is not taken now. */
static void test_too_many (void **state)
{
    struct fixture *f = *state;
    uint64_t before = counter_get (COUNTER_OFFERS_DEFERRED);

    for (unsigned i = 0; i < TRANSFER_AGENT_ITEMS + 3; i++)
        offer (f, "j", "x", (uint8_t)i);
    assert_true (counter_get (COUNTER_OFFERS_DEFERRED) == before + 3);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST (test_chunks), TRANSFER_TEST (test_damaged),
        TRANSFER_TEST (test_ignored), TRANSFER_TEST (test_resume),
        TRANSFER_TEST (test_same_content), TRANSFER_TEST (test_incoming_lost),
        TRANSFER_TEST (test_wrong_bytes), TRANSFER_TEST (test_wrong_beginning),
        TRANSFER_TEST (test_wrong_size), TRANSFER_TEST (test_too_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
