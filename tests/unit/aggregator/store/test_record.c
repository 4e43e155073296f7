/* tests/unit/aggregator/store/test_record.c - what stands before a content in a
 * segment
 */
#include "aggregator/ledger/ledger_check.h"

#include "store/record.h"

#define SUM_SIZE 8              // of a SHA-256, behind all

static void encode (struct buf *b)
{
    struct record r = { .kind = RECORD_ITEM,
                        .item = true_item ("a", "bytes") };

    buf_init (b, RECORD_MAX + 1);
    assert_int_equal (record_encode (&r, b), 0);
}

/* Its size and its sum, as they are for 'b' without its sum. */
static void close_record (struct buf *b)
{
    struct digest sum;

    for (unsigned i = 0; i < 4; i++)
        b->data[4 + i] = (uint8_t)((b->size + SUM_SIZE) >> (8 * i));
    assert_int_equal (digest_of (b->data, b->size, &sum), 0);
    buf_put (b, sum.bytes, SUM_SIZE);
}

static void test_round_trip (void **state)
{
    struct ledger_item want = true_item ("a", "bytes");
    struct record r;
    struct buf b;

    (void)state;
    encode (&b);
    assert_int_equal (record_decode (&r, b.data, b.size, NULL), 0);
    assert_int_equal (r.size, b.size);
    assert_int_equal (r.kind, RECORD_ITEM);
    assert_string_equal (r.item.capture, "a");
    assert_int_equal (r.item.rank, want.rank);
    assert_memory_equal (&r.item.content, &want.content, sizeof (want.content));
    b.size -= SUM_SIZE;         // the same, by ourselves
    close_record (&b);
    assert_int_equal (record_decode (&r, b.data, b.size, NULL), 0);
    buf_fini (&b);
}

/* Of a chunk and a list; sizes that cannot be are none. */
static void test_contents (void **state)
{
    struct record want = { .kind = RECORD_CHUNK, .id = root_digest ("x"),
                           .place = { .size = 9, .stored = 7,
                                      .form = FORM_LZ4 } };
    struct record r;
    struct buf b;

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        if (i == 1)
            want.place.form = FORM_PLAIN;       // has 9 bytes
        if (i == 2)
            want.place.form = FORM_LIST;
        if (i == 3)
            want.place = (struct ledger_place){ .size = 3 * CONTENT_CHUNK,
                                                .stored = 3 * DIGEST_SIZE,
                                                .form = FORM_LIST };
        if (i == 4)
            want.kind = RECORD_LIST;
        buf_init (&b, RECORD_MAX);
        assert_int_equal (record_encode (&want, &b), 0);
        assert_int_equal (record_decode (&r, b.data, b.size, NULL),
                          i == 0 || i == 4 ? 0 : -EBADMSG);
        buf_fini (&b);
    }
    assert_int_equal (r.place.size, want.place.size);
    assert_int_equal (record_inside (&r), want.place.stored);
    assert_memory_equal (&r.id, &want.id, sizeof (r.id));
}

/* A record that has more in it than is known here is one of a later program: to
 * take a part of it for all would lose the rest.
 */
static void test_more_than_known (void **state)
{
    struct err err = { "" };
    struct record r;
    struct buf b;

    (void)state;
    encode (&b);
    b.size -= SUM_SIZE;
    for (unsigned more = 1; more < 10; more++) {
        buf_put (&b, "", 1);
        close_record (&b);
        assert_int_equal (record_decode (&r, b.data, b.size, &err), -EBADMSG);
        assert_non_null (strstr (err.text, "unknown form"));
        b.size -= SUM_SIZE;
    }
    buf_fini (&b);
}

/* No byte can change, and no end be missing, unseen. */
static void test_damage (void **state)
{
    struct record r;
    struct buf b;

    (void)state;
    encode (&b);
    for (size_t i = 0; i < b.size; i++) {
        b.data[i] ^= (uint8_t)(1u << (i % 8));
        assert_true (record_decode (&r, b.data, b.size, NULL) < 0);
        b.data[i] ^= (uint8_t)(1u << (i % 8));
        assert_int_equal (record_decode (&r, b.data, i, NULL), -ENODATA);
    }
    buf_fini (&b);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_round_trip),
        cmocka_unit_test (test_contents),
        cmocka_unit_test (test_more_than_known),
        cmocka_unit_test (test_damage),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
