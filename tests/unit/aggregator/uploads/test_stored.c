/* tests/unit/aggregator/uploads/test_stored.c - how far a ledger is in the store,
 * and when the open segment is sealed for it
 */
#include "base/clock.h"
#include "uploads/stored.h"
#include "uploads_check.h"

/* How far the ledger is in the store is known when the segment is, not before. */
static void test_stored (void **state)
{
    struct fixture f = { .u = NULL };
    const char *answers[] = { NOT_THERE, NO_KEY, f.owner, FINE, f.there };
    struct stored s = { .hurry_ns = 0 };
    struct root *r = *state;
    uint64_t seq;

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    fixture_begin (&f, r, answers, 5);
    stored_look (&s, f.u, r->s, r->l);
    assert_true (s.mark.epoch == ledger_mark (r->l).epoch && s.mark.seq == 0);
    (void)enter (r, true_item ("a", "first"), "first");
    seq = ledger_mark (r->l).seq;
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (store_open_next (r->s, NULL), 0);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, 0);
    as_there (&f, r, r->s->sealed[0].end);
    assert_false (uploads_have (f.u, 1));
    assert_int_equal (uploads_offer (f.u, r->s), 0);
    fixture_until (&f, has_first);
    assert_false (uploads_have (f.u, 2));
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, seq);
    (void)enter (r, true_item ("b", "second"), "second");
    stored_look (&s, f.u, r->s, r->l);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, seq);
    // a ledger that went back begins another epoch
    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    stored_look (&s, f.u, r->s, r->l);
    assert_int_equal (s.mark.seq, 0);
    fixture_end (&f);
}

/* The open segment is sealed sooner if somebody waits, and the store goes. */
static void test_hurry (void **state)
{
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    const int64_t hour = 3600 * NS_PER_S, now = hour;

    (void)state;
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), STORED_HURRY_NS);
    assert_int_equal (stored_seal_after (&s, &u, 1, 1, now), 1);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now + hour), hour);
    u.waiting = 1;
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
}

/* Hours in which somebody always waits, as an aggregator is away: so many segments
 * of at most so many bytes a second are sealed.  'latest': the longest that anything
 * waited.
 */
static unsigned seals_of (unsigned hours, uint64_t bytes_a_second,
                          int64_t *latest)
{
    const int64_t hour = 3600 * NS_PER_S, start = 100 * hour;
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    int64_t since = start;
    uint64_t open = 0;
    unsigned n = 0;

    *latest = 0;
    for (int64_t now = start; now < start + hours * hour; now += NS_PER_S) {
        open += bytes_a_second;
        stored_hurry (&s, now);
        if (open < STORE_SEGMENT_MAX &&
            now - since < stored_seal_after (&s, &u, open, hour, now))
            continue;
        stored_sealed (&s, open, now);
        *latest = now - since > *latest ? now - since : *latest;
        since = now;
        open = 0;
        n++;
    }
    return n;
}

static void test_night (void **state)
{
    int64_t latest;

    (void)state;
    // a few at once, then one a minute
    assert_in_range (seals_of (8, 1000, &latest), 480, 480 + STORED_HURRIES);
    assert_true (latest <= STORED_HURRY_EVERY_NS + STORED_HURRY_NS);
    // large ones do not wait: they are few for their bytes
    assert_in_range (seals_of (8, STORED_HURRY_BYTES / 8, &latest), 3500,
                     3600 + 480 + STORED_HURRIES);
    assert_true (latest <= 8 * NS_PER_S);
}

/* Who waits now and then does not wait for a turn. */
static void test_turns (void **state)
{
    const int64_t hour = 3600 * NS_PER_S;
    struct uploads_state u = { .waiting = 0 };
    struct stored s = { .hurry_ns = 0 };
    int64_t now = hour;

    (void)state;
    for (unsigned i = 0; i < STORED_HURRIES; i++) {
        stored_hurry (&s, now);
        assert_int_equal (stored_seal_after (&s, &u, 1, hour, now),
                          STORED_HURRY_NS);
        stored_sealed (&s, 1, now);
    }
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    assert_int_equal (stored_seal_after (&s, &u, STORED_HURRY_BYTES, hour, now),
                      STORED_HURRY_NS);
    stored_sealed (&s, STORED_HURRY_BYTES, now);        // takes no turn
    now += STORED_HURRY_EVERY_NS;
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), STORED_HURRY_NS);
    stored_sealed (&s, 1, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
    now += hour;                // all have come back, and no more
    for (unsigned i = 0; i < STORED_HURRIES; i++)
        stored_sealed (&s, 1, now);
    stored_hurry (&s, now);
    assert_int_equal (stored_seal_after (&s, &u, 1, hour, now), hour);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_stored),
        cmocka_unit_test (test_hurry),
        cmocka_unit_test (test_night),
        cmocka_unit_test (test_turns),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
