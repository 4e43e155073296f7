/* tests/unit/node_agent/ship/test_offer.c - the bytes of an item, and when they
 * are not believed */
#include "node_agent/spool/spool_check.h"

#include "base/clock.h"
#include "common/base/states_check.h"
#include "ship/offer.h"

#include <fcntl.h>
#include <sys/resource.h>

static uint8_t out[CONTENT_CHUNK];

/* Offer what the spool has of 'kind' next. */
static void offer_next (struct fixture *f, enum item_kind kind,
                        struct offer *o)
{
    struct spool_item item;

    assert_int_equal (spool_next (f->s, kind, 0, &item, NULL), 1);
    offer_begin (o, &item);
}

static enum offer_read read_it (struct fixture *f, struct offer *o,
                                const char *bytes)
{
    enum offer_read how = offer_chunk (o, f->s, 0, (uint32_t)strlen (bytes),
                                       out);

    if (how == OFFER_READ)
        assert_memory_equal (out, bytes, strlen (bytes));
    return how;
}

static void raw_path (struct fixture *f, char path[PATH_MAX])
{
    (void)snprintf (path, PATH_MAX, "%s/x", f->raw);
}

/* The aggregator compares, and asks again: then it has to be found out here
 * that the file is to blame, or it would ask for ever.
 */
static void test_raw_that_changed (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", false);
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_READ);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_READ);
    offer_sent (&o, 0);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_READ);
    raw_path (f, path);
    spool_flip (path, 3, 1);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_CHANGED);
    offer_end (&o);

    // not sent in this life: it is the aggregator that will notice
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (offer_chunk (&o, f->s, 0, 9, out), OFFER_READ);
    offer_sent (&o, 0);
    assert_int_equal (offer_chunk (&o, f->s, 0, 9, out), OFFER_CHANGED);
    offer_end (&o);
}

/* What the spool keeps itself nobody else may change: never sent. */
static void test_rows_that_are_damaged (void **state)
{
    struct fixture *f = *state;
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", NULL, false);
    offer_next (f, ITEM_ROWS, &o);
    assert_int_equal (read_it (f, &o, "rows"), OFFER_READ);
    spool_flip (o.item.file, 0, 4);
    assert_int_equal (read_it (f, &o, "rows"), OFFER_DAMAGED);
    offer_end (&o);
}

static void test_raw_that_is_gone (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", false);
    offer_next (f, ITEM_RAW, &o);
    raw_path (f, path);
    assert_int_equal (truncate (path, 3), 0);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_CHANGED);
    offer_end (&o);
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_VANISHED);
    offer_end (&o);
}

/* A moment in which nothing can be opened, or a disk that fails once, is no
 * reason to give up a file for good.
 */
static void test_cannot_be_read_now (void **state)
{
    struct fixture *f = *state;
    struct rlimit limit, none;
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", true);
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_ASTRAY);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &limit), 0);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_READ);
    offer_end (&o);

    // the beginning of this one is an I/O error, always
    offer_next (f, ITEM_RAW, &o);
    o.item.own = false;
    (void)strcpy (o.item.file, "/proc/self/mem");
    for (int i = 0; i < 3; i++)
        assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_ASTRAY);
    assert_int_equal (read_it (f, &o, "raw bytes"), OFFER_VANISHED);
    offer_end (&o);
}

/* What this process opens next. */
static int next_fd (void)
{
    int fd = open ("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true (fd >= 0);
    (void)close (fd);
    return fd;
}

/* An agent delivers thousands of items: an item that is over has no descriptor
 * any more, or after a thousand nothing can be opened.
 */
static void test_closes (void **state)
{
    struct fixture *f = *state;
    struct offer o;
    int free_fd;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", false);
    free_fd = next_fd ();
    for (int kind = 0; kind < 2; kind++) {
        offer_next (f, kind ? ITEM_RAW : ITEM_ROWS, &o);
        assert_int_equal (read_it (f, &o, kind ? "raw bytes" : "rows"),
                          OFFER_READ);
        assert_true (next_fd () != free_fd);
        offer_end (&o);
        assert_int_equal (next_fd (), free_fd);
    }
}

static void test_astray (void **state)
{
    struct fixture *f = *state;
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", false);
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (offer_chunk (&o, f->s, 1, 1, out), OFFER_ASTRAY);
    assert_int_equal (offer_chunk (&o, f->s, 0, 10, out), OFFER_ASTRAY);
    assert_int_equal (offer_chunk (&o, f->s, 0, 0, out), OFFER_ASTRAY);
    assert_int_equal (offer_chunk (&o, f->s, CONTENT_CHUNK, 1, out),
                      OFFER_ASTRAY);
    offer_end (&o);
}

/* The list of the hashes, in parts that begin anywhere; of one chunk there is
 * none.
 */
static void test_list (void **state)
{
    struct fixture *f = *state;
    struct offer o;

    (void)spool_put (f, f->raw, "v1", "rows", "raw bytes", false);
    offer_next (f, ITEM_RAW, &o);
    assert_int_equal (offer_list (&o, f->s, 0, DIGEST_SIZE, out),
                      OFFER_ASTRAY);
    o.item.size = 2100ull * CONTENT_CHUNK;
    o.hashes = calloc (SPOOL_SEGMENT, sizeof (*o.hashes));
    o.first = SPOOL_SEGMENT;
    o.nhashes = SPOOL_SEGMENT;
    o.hashes[7].bytes[0] = 77;
    assert_int_equal (offer_list (&o, f->s, (SPOOL_SEGMENT + 6) * DIGEST_SIZE,
                                  3 * DIGEST_SIZE, out), OFFER_READ);
    assert_int_equal (out[0], 0);
    assert_int_equal (out[DIGEST_SIZE], 77);
    assert_int_equal (offer_list (&o, f->s, 1, DIGEST_SIZE, out),
                      OFFER_ASTRAY);
    assert_int_equal (offer_list (&o, f->s, 0, 2101 * DIGEST_SIZE, out),
                      OFFER_ASTRAY);
    // those of the spool are of another item
    assert_int_equal (offer_list (&o, f->s, 0, DIGEST_SIZE, out),
                      OFFER_DAMAGED);
    offer_end (&o);
}

#define IGNORED(n, seconds, heard) \
    assert_int_equal (offers_ignored (offers, 3, heard, (seconds) * NS_PER_S, \
                                      &since), n)

/* Whoever waits for an aggregator with a full disk is told why, once a minute
 * and not after each short pause.
 */
static void test_ignored (void **state)
{
    struct offer offers[3] = { { .state.now = OFFER_DUE },
                               { .state.now = OFFER_SAID },
                               { .state.now = OFFER_FREE } };
    int64_t since = 0;

    (void)state;
    IGNORED (0, 5, true);
    IGNORED (0, 64, true);
    IGNORED (2, 66, true);
    IGNORED (0, 67, true);
    since = 100 * NS_PER_S;     // one was asked for
    IGNORED (0, 150, true);
    offers[0].state.now = offers[1].state.now = OFFER_DURABLE;
    IGNORED (0, 900, true);
    offers[1].state.now = OFFER_AGAIN;  // new ones: their minute begins
    IGNORED (0, 901, true);
    IGNORED (1, 962, true);
    // nobody is there: it has not asked since it came back
    IGNORED (0, 1100, false);
    IGNORED (0, 1101, true);
    IGNORED (0, 1160, true);
    IGNORED (1, 1161, true);
}

/* What is acknowledged and not noted is offered on, as one that was said. */
static void test_states (void **state)
{
    struct states_probe p;

    (void)state;
    states_check_table (&offer_states, OFFER_DUE);
    states_check_document (&offer_states, "## An item on offer");
    states_be_in (&p, &offer_states, OFFER_DUE);
    states_stay (&p, OFFER_REPEAT);     // it was not said yet
    states_go (&p, OFFER_ACKNOWLEDGED, 0, 0, OFFER_DURABLE);
    states_stay (&p, OFFER_NOT_HERE);   // what is here is not lost
    states_go (&p, OFFER_UNRECORDED, 0, 0, OFFER_SAID);
    states_go (&p, OFFER_NOT_HERE, 0, 0, OFFER_LOST);
    states_stay (&p, OFFER_ACKNOWLEDGED);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (test_states),
        cmocka_unit_test_setup_teardown (test_raw_that_changed, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_rows_that_are_damaged,
                                         spool_setup, spool_teardown),
        cmocka_unit_test_setup_teardown (test_raw_that_is_gone, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_cannot_be_read_now, spool_setup,
                                         spool_teardown),
        cmocka_unit_test (test_ignored),
        cmocka_unit_test_setup_teardown (test_closes, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_astray, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_list, spool_setup,
                                         spool_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
