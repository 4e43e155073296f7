/* tests/unit/aggregator/transfer/test_transfer_credit.c - who is asked for
 * what, and when */
#include "aggregator/transfer/transfer_check.h"

/* The one that was asked goes away: the other is asked for the rest. */
static void test_source_gone (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 8);
    struct net_peer first = peer (1);

    offer_data (f, 1, 1, &d);
    offer_data (f, 2, 9, &d);
    for (size_t i = 0; i < 2; i++) {    // the list, and a chunk
        struct message get = f->sent[i];

        assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    }
    transfers_forget (f->transfers, &first);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 2);
    check_whole (f, "j c2, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* It died, and nobody says so: a node that was started again is another host
 * to us.  What it offered first is asked of whoever has it now.
 */
static void test_source_dead (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 8);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    f->dead = 1;
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    offer_data (f, 2, 9, &d);
    assert_int_equal (answer_all (f, 0, 2, &d, CODEC_PLAIN), 4);
    check_whole (f, "j c2, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* An agent that does not answer holds one credit at first, and none after a
 * while; whoever answers is not held up.  What comes late is taken.
 */
static void test_stalled (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 9), e = data_of (3 * MIB, 20);
    struct data g = data_of (3 * MIB, 30);
    int64_t now = clock_mono_ns ();

    offer_data (f, 1, 1, &d);
    offer_data (f, 1, 2, &e);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    offer_data (f, 2, 1, &g);
    assert_int_equal (answer_all (f, 0, 2, &g, CODEC_PLAIN), 4);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS - 1);
    transfers_tick (f->transfers, now + TRANSFER_STALL_NS / 2);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    // it is probed, with one credit
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 2);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS - 1);
    // the other one has it, too
    offer_data (f, 2, 2, &d);
    offer_data (f, 2, 3, &e);
    transfers_tick (f->transfers, now + 4 * TRANSFER_STALL_NS);
    transfers_tick (f->transfers, now + 6 * TRANSFER_STALL_NS);
    assert_true (count_sent (f, MESSAGE_GET, 2) > 4);
    free (d.bytes);
    free (e.bytes);
    free (g.bytes);
}

/* What it has does not wait until nobody has anything else any more. */
static void test_stalled_is_probed (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 77);
    struct digest id = d.id;
    int64_t after;

    offer_data (f, 1, 1, &d);
    d.id.bytes[1] ^= 0xff;
    after = clock_mono_ns () + 1;
    while (clock_mono_ns () <= after)
        ;                       // what follows is later
    for (uint8_t i = 2; i < TRANSFER_CREDITS + 30; i++) {
        d.id.bytes[0] = i;      // each has something of its own
        offer_data (f, i, 1, &d);
    }
    assert_int_equal (transfers_credits (f->transfers), 0);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    transfers_tick (f->transfers, after + TRANSFER_STALL_NS);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 2);
    d.id = id;
    free (d.bytes);
}

static void test_late (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (2 * MIB, 40);
    int64_t now = clock_mono_ns ();
    struct message get;

    offer_data (f, 1, 1, &d);
    get = f->sent[0];           // of the list
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    get = f->sent[1];
    transfers_hold (f->transfers, true);
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    check_credits (f);
    assert_int_equal (answer (f, &get, 1, &d, CODEC_PLAIN, 0), 0);
    assert_int_equal (f->nsent, 3);
    transfers_hold (f->transfers, false);
    assert_int_equal (f->sent[3].offset, MIB);
    assert_int_equal (answer_all (f, 3, 1, &d, CODEC_PLAIN), 1);
    check_commit (f, "j c1, ");
    free (d.bytes);
}

// as it is in a service
static struct net_peer peer_of (const char *who, uint8_t n, uint8_t m)
{
    struct net_peer p = peer (n);

    p.id[1] = m;
    (void)snprintf (p.who, sizeof (p.who), "%s", who);
    return p;
}

static void offer_of (struct fixture *f, const struct net_peer *p,
                      uint64_t item, const char *content)
{
    struct message m = { .type = MESSAGE_OFFER, .item = item, .kind = ITEM_RAW,
                         .rank = 1, .size = MIB, .capture = "c" };

    (void)snprintf (m.path, sizeof (m.path), "%u", (unsigned)item);
    m.content = root_digest (content);
    assert_int_equal (transfers_offer (f->transfers, p, "j", "n0", &m, NULL),
                      0);
}

/* However many connections one key has that never answer, and however new each
 * is: those of others are asked at once, also new ones.
 */
static void test_new_of_one_key (void **state)
{
    struct fixture *f = *state;
    struct net_peer other = peer_of ("k2", 250, 0);
    int64_t now = clock_mono_ns ();
    char content[32];

    transfers_share (f->transfers);
    for (unsigned i = 0; i < 200; i++) {
        struct net_peer p = peer_of ("k1", (uint8_t)(i + 1), 0);

        (void)snprintf (content, sizeof (content), "content %u", i);
        offer_of (f, &p, 1, content);
    }
    assert_int_equal (f->nsent, TRANSFER_KEY_NEW_CREDITS);
    offer_of (f, &other, 1, "another's");
    assert_int_equal (count_sent (f, MESSAGE_GET, 250), 1);
    // the others of the key have their turns
    f->nsent = 0;
    transfers_tick (f->transfers, now + 2 * TRANSFER_STALL_NS);
    assert_true (f->nsent >= TRANSFER_KEY_NEW_CREDITS);
    for (unsigned i = 0; i < 200; i++) {
        struct net_peer p = peer_of ("k1", (uint8_t)(i + 1), 0);

        transfers_forget (f->transfers, &p);
    }
    transfers_forget (f->transfers, &other);
    check_credits (f);
}

/* All of them deliver, however many begin at once: bodies that wait for those of
 * their key were never asked for, since each that answered let one go that could
 * not be asked for just then.
 */
#define CROWD 20u
#define CROWD_ITEMS 16u

static void test_crowd_of_one_key (void **state)
{
    struct fixture *f = *state;
    struct data d[CROWD][CROWD_ITEMS];

    transfers_share (f->transfers);
    for (unsigned i = 0; i < CROWD * CROWD_ITEMS; i++) {
        unsigned n = i / CROWD_ITEMS, item = i % CROWD_ITEMS;
        struct net_peer p = peer_of ("k1", (uint8_t)(n + 1), 2);
        struct message m = { .type = MESSAGE_OFFER, .item = item, .rank = 1,
                             .kind = ITEM_RAW, .size = 1000 + i,
                             .capture = "c" };

        d[n][item] = data_of (1000 + i, (uint8_t)i);
        m.content = d[n][item].id;
        (void)snprintf (m.path, sizeof (m.path), "%u", i);
        assert_int_equal (transfers_offer (f->transfers, &p, "j", "n0", &m,
                                           NULL), 0);
    }
    for (size_t i = 0; i < f->nsent; i++) {     // more come of each answer
        const struct message get = f->sent[i];

        assert_int_equal (get.type, MESSAGE_GET);
        assert_int_equal (answer (f, &get, f->to[i],
                                  &d[f->to[i] - 1][get.item], CODEC_PLAIN, 0),
                          0);
    }
    assert_int_equal (f->nsent, CROWD * CROWD_ITEMS);
    f->nsent = 0;
    for (unsigned i = 0; i < CROWD * CROWD_ITEMS; i++)
        free (d[i / CROWD_ITEMS][i % CROWD_ITEMS].bytes);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    check_credits (f);
}

/* Nor do its offers take all the room that there is for offers. */
static void test_items_of_one_key (void **state)
{
    const unsigned peers = TRANSFER_ITEMS / TRANSFER_AGENT_ITEMS + 8;
    struct fixture *f = *state;
    struct net_peer other = peer_of ("k2", 250, 250);
    struct ledger_item first;
    char content[32];

    transfers_share (f->transfers);
    for (unsigned i = 0; i < peers * TRANSFER_AGENT_ITEMS; i++) {
        unsigned n = i / TRANSFER_AGENT_ITEMS;
        struct net_peer p = peer_of ("k1", (uint8_t)n, (uint8_t)(n >> 8));

        (void)snprintf (content, sizeof (content), "content %u", i);
        offer_of (f, &p, i % TRANSFER_AGENT_ITEMS, content);
    }
    offer_of (f, &other, 1, "another's");
    assert_int_equal (count_sent (f, MESSAGE_GET, 250), 1);
    assert_int_equal (transfers_offered (f->transfers, &other, &first),
                      1);
}

/* However many do not answer, there are credits for one that does. */
static void test_many_stalled (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (3 * MIB, 50), g = data_of (3 * MIB, 60);
    int64_t now = clock_mono_ns ();
    struct digest id = d.id;

    for (uint8_t i = 0; i < 200; i++) {
        d.id.bytes[0] = i;      // each has something of its own
        offer_data (f, (uint8_t)(i + 1), 1, &d);
    }
    assert_int_equal (transfers_credits (f->transfers), 0);
    for (int i = 1; i < 8; i++)
        transfers_tick (f->transfers, now + 2 * i * TRANSFER_STALL_NS);
    assert_true (transfers_credits (f->transfers) >=
                 TRANSFER_CREDITS - TRANSFER_PROBES);
    offer_data (f, 250, 1, &g);
    assert_int_equal (answer_all (f, 0, 250, &g, CODEC_PLAIN), 4);
    d.id = id;
    free (d.bytes);
    free (g.bytes);
}

/* Some that answer at first, and then hold all that there is. */
static void hold_all (struct fixture *f)
{
    for (uint8_t i = 0; i < 8; i++) {
        struct data d = { NULL, 16 * MIB, { { 0 } } };

        for (uint8_t k = 1; k <= TRANSFER_AGENT_CREDITS; k++) {
            struct data small = data_of (1000u + i * 16u + k, 100);
            struct message get;

            offer_data (f, (uint8_t)(i + 1), k, &small);
            get = f->sent[f->nsent - 1];
            assert_int_equal (answer (f, &get, (uint8_t)(i + 1), &small,
                                      CODEC_PLAIN, 0), 0);
            free (small.bytes);
        }
        for (uint8_t k = 1; k <= TRANSFER_AGENT_CREDITS; k++) {
            d.id.bytes[0] = i;  // each has something of its own
            d.id.bytes[1] = k;
            offer_data (f, (uint8_t)(i + 1), 100u + k, &d);
        }
    }
    assert_int_equal (transfers_credits (f->transfers), 0);
}

/* Those that take more than a second for a chunk do not hold up one that is
 * new, nor one that is quick: without an own share these would wait for the
 * next chunk of any other.
 */
static void test_slow (void **state)
{
    struct fixture *f = *state;
    struct data g = data_of (20 * MIB, 60);
    size_t before;

    hold_all (f);
    offer_data (f, 20, 1, &g);
    assert_int_equal (count_sent (f, MESSAGE_GET, 20), 1);      // it is new
    transfers_tick (f->transfers, clock_mono_ns () + 2 * TRANSFER_SLOW_NS);
    before = f->nsent;
    assert_int_equal (answer_all (f, 0, 20, &g, CODEC_PLAIN), 21);
    // who is slow keeps what it was asked for, and is asked for no more
    assert_int_equal (f->nsent, before + 20);
    assert_int_equal (transfers_credits (f->transfers), 0);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    check_stored (f, &g);
    free (g.bytes);
}

/* One whose chunk comes soon is as quick as ever. */
static void test_slow_for_once (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (20 * MIB, 120);

    offer_data (f, 1, 1, &d);
    transfers_tick (f->transfers, clock_mono_ns () + 2 * TRANSFER_SLOW_NS);
    assert_int_equal (answer (f, &f->sent[0], 1, &d, CODEC_PLAIN, 0), 0);
    assert_true (count_sent (f, MESSAGE_GET, 1) > 2);
    assert_int_equal (answer_all (f, 1, 1, &d, CODEC_PLAIN), 20);
    check_whole (f, "j c1, ", &d);
    check_credits (f);
    free (d.bytes);
}

/* Who has gone from what it is asked for is asked for the next at once, and not
 * when it offers something again.
 */
static void test_gone (void **state)
{
    struct fixture *f = *state;
    struct data d[3];

    for (uint8_t i = 0; i < 3; i++) {
        d[i] = data_of (MIB, i);
        offer_data (f, 1, i + 1, &d[i]);
    }
    for (unsigned i = 1; i <= 3; i++) {
        struct net_peer from = peer (1);

        assert_int_equal (count_sent (f, MESSAGE_GET, 1), i);
        transfers_gone (f->transfers, &from, f->sent[f->nsent - 1].item);
    }
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 3);
    check_credits (f);
    for (unsigned i = 0; i < 3; i++)
        free (d[i].bytes);
}

/* Files that are small do not wait for each other: one credit is enough to ask
 * for many, and they are gathered for one commit as long as more are coming.
 */
static void test_small (void **state)
{
    struct fixture *f = *state;
    struct data d[TRANSFER_PARTS + 1];
    unsigned n = TRANSFER_PARTS + 1;

    for (unsigned i = 0; i < n; i++) {
        d[i] = data_of (CONTENT_SMALL - i, (uint8_t)i);
        offer_data (f, 1, i + 1, &d[i]);
    }
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), n - 1);
    assert_int_equal (transfers_credits (f->transfers), TRANSFER_CREDITS - 1);
    for (unsigned i = 0; i < n; i++) {
        const struct message get = f->sent[i];

        assert_true (transfers_gather (f->transfers));
        assert_int_equal (answer (f, &get, 1, &d[get.item - 1], CODEC_PLAIN,
                                  0), 0);
        free (d[get.item - 1].bytes);
    }
    assert_false (transfers_gather (f->transfers));
    check_credits (f);
    assert_int_equal (transfers_commit (f->transfers, on_entered, f, NULL), 0);
    assert_int_equal (count_sent (f, MESSAGE_ACK, 1), n);
}

/* A large one is not what others that are complete wait for. */
static void test_large_gathers_nothing (void **state)
{
    struct fixture *f = *state;
    struct data d = data_of (CONTENT_SMALL + 1, 7);

    offer_data (f, 1, 1, &d);
    assert_int_equal (count_sent (f, MESSAGE_GET, 1), 1);
    assert_false (transfers_gather (f->transfers));
    free (d.bytes);
}

/* Agents that offer very many leave room for as many others, which have few: of
 * these each is looked at, though the first wait in vain.
 */
static void test_many_items_leave_room (void **state)
{
    const unsigned greedy = TRANSFER_ITEMS / 2 / TRANSFER_AGENT_ITEMS + 2;
    struct fixture *f = *state;
    struct net_peer other = peer_of ("", 250, 250);
    struct ledger_item first;
    char content[32];

    for (unsigned i = 0; i < greedy * TRANSFER_AGENT_ITEMS; i++) {
        struct net_peer p = peer_of ("", (uint8_t)(i / TRANSFER_AGENT_ITEMS),
                                     1);

        (void)snprintf (content, sizeof (content), "content %u", i);
        offer_of (f, &p, i, content);
    }
    for (unsigned i = 0; i < TRANSFER_AGENT_FEW + 1; i++) {
        (void)snprintf (content, sizeof (content), "another's %u", i);
        offer_of (f, &other, i, content);
    }
    assert_int_equal (transfers_offered (f->transfers, &other, &first),
                      TRANSFER_AGENT_FEW);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST (test_source_gone), TRANSFER_TEST (test_source_dead),
        TRANSFER_TEST (test_stalled), TRANSFER_TEST (test_stalled_is_probed),
        TRANSFER_TEST (test_late), TRANSFER_TEST (test_new_of_one_key),
        TRANSFER_TEST (test_crowd_of_one_key),
        TRANSFER_TEST (test_items_of_one_key),
        TRANSFER_TEST (test_many_stalled),
        TRANSFER_TEST (test_slow), TRANSFER_TEST (test_slow_for_once),
        TRANSFER_TEST (test_gone), TRANSFER_TEST (test_small),
        TRANSFER_TEST (test_large_gathers_nothing),
        TRANSFER_TEST (test_many_items_leave_room),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
