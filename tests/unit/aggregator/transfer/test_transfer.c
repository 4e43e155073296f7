/* tests/unit/aggregator/transfer/test_transfer.c - what is offered comes whole,
 * of whoever has it, and nothing else does */
#include "aggregator/transfer/transfer_check.h"

#include "base/counter.h"
#include "store/store_private.h"
#include "transfer/transfer_private.h"

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
        assert_int_equal (answer_all (f, 1, 1, &large, codec), 11);
        check_commit (f, "j c1, ");
        assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 2);
        check_credits (f);
        check_stored (f, &small);
        check_stored (f, &large);
    }
    free (small.bytes);
    free (large.bytes);
}

/* The answer to the GET at this position. */
static int answer_at (struct fixture *f, size_t i, uint8_t who,
                      const struct data *d)
{
    struct message get = f->sent[i];

    return answer (f, &get, who, d, CODEC_PLAIN, 0);
}

/* What was damaged on its way is asked for again, and nothing of it is kept:
 * neither in the ledger nor in a segment.
 */
static void test_damaged (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (2 * MIB, 3);
    struct message first;
    uint64_t end;

    offer_data (f, 1, 1, &d);
    assert_int_equal (f->nsent, 1);
    assert_int_equal (f->sent[0].part, PART_LIST);
    first = f->sent[0];
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 1), -EBADMSG);
    assert_int_equal (answer_at (f, 1, 1, &d), 0);
    assert_int_equal (f->nsent, 4);
    first = f->sent[2];
    end = f->root.s->end;
    assert_int_equal (answer (f, &first, 1, &d, CODEC_LZ4, 1), -EBADMSG);
    assert_int_equal (f->sent[4].offset, 0);
    // so is one that has more bytes than were asked for
    first.length++;
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 0), -EBADMSG);
    assert_int_equal (f->sent[6].offset, 0);
    // and one with other bytes
    first.length--;
    assert_int_equal (answer (f, &first, 1, &d, CODEC_PLAIN, 1), -EBADMSG);
    assert_int_equal (f->root.s->end, end);
    assert_false (transfers_pending (f->transfers));
    assert_int_equal (answer_all (f, 8, 1, &d, CODEC_LZ4), 2);
    check_whole (f, "j c1, ", &d);
    check_credits (f);
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
    assert_int_equal (answer_at (f, 0, 1, &d), 0);
    assert_int_equal (answer_at (f, 0, 1, &d), 0);
    assert_int_equal (answer_at (f, 1, 1, &d), 0);
    assert_int_equal (answer_at (f, 1, 1, &d), 0);
    assert_int_equal (answer_all (f, 2, 1, &d, CODEC_PLAIN), 2);
    check_whole (f, "j c1, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* Of equal chunks one comes, and one is stored: of one content, of two that come
 * at once, and of one that is here.
 */
static void test_equal_chunks (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 40), e = data_of (5 * MIB, 41);
    uint64_t end;

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    f->nsent = 0;
    offer_data (f, 1, 2, &e);   // has two chunks of it, not yet committed
    assert_int_equal (answer_all (f, 0, 1, &e, CODEC_PLAIN), 1 + 3);
    assert_int_equal (f->sent[1].offset, 2 * MIB);
    check_whole (f, "j c1, j c1, ", &d);
    check_stored (f, &e);
    memset (e.bytes, 41, e.size);       // one chunk, five times
    free (d.bytes);
    d = data_of (MIB, 41);
    memcpy (e.bytes, d.bytes, MIB);
    end = f->root.s->end;
    f->nsent = 0;
    offer_data (f, 2, 1, &d);
    assert_int_equal (f->nsent, 0);     // it is here
    check_commit (f, "j c2, ");
    assert_true (f->root.s->end - end < 1000);
    check_credits (f);
    free (d.bytes);
    free (e.bytes);
}

/* A restart in the middle: it goes on where the ledger stood. */
static void test_resume (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (40 * MIB, 6);

    offer_data (f, 1, 1, &d);
    for (size_t i = 0; i < 21; i++)
        assert_int_equal (answer_at (f, i, 1, &d), 0);
    // 20 MiB are more than it takes to be noted
    check_commit (f, "");
    close_all (f);
    open_all (f);
    f->nsent = 0;
    offer_data (f, 1, 7, &d);
    assert_int_equal (answer_at (f, 0, 1, &d), 0);
    assert_int_equal (f->sent[1].offset, 20 * MIB);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_PLAIN), 20);
    check_whole (f, "j c1, ", &d);
    free (d.bytes);
}

/* What two have is asked of one, and acknowledged to both. */
static void test_same_content (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 7);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    assert_int_equal (count_sent (f, MESSAGE_GET, 2), 0);
    check_commit (f, "j c1, j c2, ");
    assert_int_equal (count_sent (f, MESSAGE_ACK, 1), 1);
    assert_int_equal (count_sent (f, MESSAGE_ACK, 2), 1);
    check_stored (f, &d);
    free (d.bytes);
}

/* Somebody cuts what had come: it is not gone on behind a hole, and all of it
 * is asked for again.
 */
static void test_segment_cut (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (4 * MIB, 11);
    char path[PATH_MAX];

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_at (f, 0, 1, &d), 0);
    assert_int_equal (answer_at (f, 1, 1, &d), 0);
    store_segment_path (f->root.dir, 1, path);
    assert_int_equal (truncate (path, 0), 0);
    assert_int_equal (answer_at (f, 2, 1, &d), -ESTALE);
    assert_true (transfers_uncommitted (f->transfers));
    assert_true (transfers_commit (f->transfers, on_entered, f, NULL) < 0);
    f->transfers->paused_until_ns = 0;
    f->nsent = 0;
    offer_data (f, 1, 1, &d);
    assert_int_equal (f->sent[0].offset, 0);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    check_whole (f, "j c1, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* All GETs to 'who' so far, with other bytes; then they are forgotten. */
static void answer_wrong (struct fixture *f, uint8_t who, const struct data *d)
{
    for (size_t i = 0, n = f->nsent; i < n; i++) {
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
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 4);
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

/* One that knows the list, and has other chunks: the other goes on with what is
 * right.
 */
static void test_wrong_chunk (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 90);
    struct message get;

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 2, &d);
    assert_int_equal (answer_at (f, 0, 1, &d), 0);
    assert_int_equal (answer_at (f, 1, 1, &d), 0);
    get = f->sent[2];
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 1), -EBADMSG);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 2);
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
    assert_int_equal (answer_at (f, 1, 2, &d), 0);
    assert_int_equal (answer (f, &get, 1, &lie, CODEC_PLAIN, 0), -EBADMSG);
    assert_int_equal (answer_all (f, 2, 2, &d, CODEC_PLAIN), 3);
    check_whole (f, "j c2, ", &d);
    // of the right size it is known
    offer_data (f, 1, 2, &d);
    check_commit (f, "j c1, ");
    free (d.bytes);
    free (lie.bytes);
}

/* Chunks that are here show that a size is wrong: with it the list would be there
 * for whoever has the content, and nobody could read it.
 */
static void test_wrong_size_of_known (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 100), lie = data_of (2 * MIB, 100);
    struct ledger_place place;

    offer_data (f, 1, 1, &d);
    assert_int_equal (answer_all (f, 0, 1, &d, CODEC_PLAIN), 4);
    check_whole (f, "j c1, ", &d);
    lie.size = MIB + 5;
    f->nsent = 0;
    offer_data (f, 1, 2, &lie);
    lie.size = 2 * MIB;         // of which it has the right list
    assert_int_equal (answer_all (f, 0, 1, &lie, CODEC_PLAIN), 1);
    assert_false (transfers_pending (f->transfers));
    assert_int_equal (ledger_find_content (f->root.l, &lie.id, &place, NULL),
                      0);
    check_credits (f);
    offer_data (f, 1, 3, &lie);
    assert_int_equal (answer_all (f, 1, 1, &lie, CODEC_PLAIN), 1);
    check_whole (f, "j c1, ", &lie);
    free (d.bytes);
    free (lie.bytes);
}

/* The same if the last chunk comes, as an item of its own, after it was asked
 * for: else the list would be entered with a size that nobody can read, and each
 * later offer of the content would be acknowledged.
 */
static void test_wrong_size_of_late_chunk (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (MIB + MIB / 2, 100), lie = d;
    struct data tail = { d.bytes + MIB, MIB / 2, { { 0 } } };
    struct ledger_place place;
    size_t asked;

    assert_int_equal (digest_of (tail.bytes, tail.size, &tail.id), 0);
    lie.size = MIB + 5;
    offer_data (f, 1, 1, &lie);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 0), 0);
    asked = f->nsent;
    assert_int_equal (asked, 3);        // the list, and both chunks
    offer_data (f, 2, 1, &tail);
    assert_int_equal (answer_all (f, asked, 2, &tail, CODEC_PLAIN), 1);
    assert_int_equal (answer (f, &f->sent[1], 1, &lie, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer (f, &f->sent[2], 1, &lie, CODEC_PLAIN, 0),
                      -EBADMSG);
    check_commit (f, "j c2, ");
    assert_int_equal (ledger_find_content (f->root.l, &d.id, &place, NULL), 0);
    offer_data (f, 3, 1, &d);
    (void)answer_all (f, asked, 3, &d, CODEC_PLAIN);
    check_whole (f, "j c3, ", &d);
    lie.size = MIB + 7;         // known, of another size
    assert_int_equal (offer_raw (f, 1, 2, &lie), -EPROTO);
    free (d.bytes);
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

struct room {
    uint64_t asked, promised, most;
};

static int64_t ask_room (void *arg, const struct ledger_item *item,
                         uint64_t bytes)
{
    struct room *r = arg;

    (void)item;
    r->asked = bytes;
    if (bytes > r->most)
        return -1;
    r->promised += bytes;
    return 1;
}

static void change_room (void *arg, int64_t number, int64_t bytes)
{
    struct room *r = arg;

    assert_int_equal (number, 1);
    r->promised += (uint64_t)bytes;
}

/* Room is promised for what is missing, while somebody offers it. */
static void test_room (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * (size_t)CONTENT_CHUNK, 1);
    struct room r = { .most = d.size };
    const struct transfer_room room = { ask_room, change_room, &r };
    struct net_peer one = peer (1);

    transfers_set_room (f->transfers, &room);
    offer_data (f, 1, 1, &d);
    assert_int_equal (r.promised, d.size);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (answer (f, &f->sent[1], 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (r.promised, 2 * CONTENT_CHUNK);
    transfers_forget (f->transfers, &one);
    assert_int_equal (r.promised, 0);
    r.most = 2 * CONTENT_CHUNK;
    f->nsent = 0;
    offer_data (f, 2, 7, &d);
    assert_int_equal (r.asked, 2 * CONTENT_CHUNK);
    (void)answer_all (f, 0, 2, &d, CODEC_PLAIN);
    assert_int_equal (r.promised, 0);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    check_stored (f, &d);
    free (d.bytes);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST (test_chunks), TRANSFER_TEST (test_damaged),
        TRANSFER_TEST (test_ignored), TRANSFER_TEST (test_resume),
        TRANSFER_TEST (test_same_content), TRANSFER_TEST (test_segment_cut),
        TRANSFER_TEST (test_wrong_bytes), TRANSFER_TEST (test_wrong_chunk),
        TRANSFER_TEST (test_equal_chunks), TRANSFER_TEST (test_room),
        TRANSFER_TEST (test_wrong_size_of_known),
        TRANSFER_TEST (test_wrong_size_of_late_chunk),
        TRANSFER_TEST (test_wrong_size), TRANSFER_TEST (test_too_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
