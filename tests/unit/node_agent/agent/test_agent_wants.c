/* tests/unit/node_agent/agent/test_agent_wants.c - what an agent says of raw
 * files that are wanted
 *
 * Its spool is real; its ship, sealer and watch are this file's own, and the
 * clock stands still.
 */
#include "node_agent/spool/spool_check.h"

#include "agent/agent_private.h"

#include "agent/agent_captures.h"

static int64_t now_ns, acked_ns;
static struct message said;     // the last HAVE
static unsigned nsaid, nqueued, nchecked;
static struct seal_wanted *queued;      // what the sealer has
static uint64_t queued_id;
static bool queued_again;
static bool seals_raw;
static unsigned unsettled;

int64_t __wrap_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void)
{
    return now_ns;
}

void __wrap_ship_have (struct ship *s, unsigned copy,
                       const struct message *m);
void __wrap_ship_have (struct ship *s, unsigned copy, const struct message *m)
{
    (void)s;
    (void)copy;
    said = *m;
    nsaid++;
}

int64_t __wrap_ship_acked_ns (const struct ship *s);
int64_t __wrap_ship_acked_ns (const struct ship *s)
{
    (void)s;
    return acked_ns;
}

void __wrap_ship_kick (struct ship *s);
void __wrap_ship_kick (struct ship *s)
{
    (void)s;
}

void __wrap_ship_withdraw (struct ship *s, uint64_t item);
void __wrap_ship_withdraw (struct ship *s, uint64_t item)
{
    (void)s;
    (void)item;
}

void __wrap_sealer_set_raw (struct sealer *s, bool raw);
void __wrap_sealer_set_raw (struct sealer *s, bool raw)
{
    (void)s;
    seals_raw = raw;
}

size_t __wrap_sealer_pending (const struct sealer *s);
size_t __wrap_sealer_pending (const struct sealer *s)
{
    (void)s;
    return queued != NULL;
}

static void drop (struct seal_wanted *w)
{
    if (w)
        spool_raw_list_fini (&w->known);
    free (w);
}

int __wrap_sealer_add_wanted (struct sealer *s, const char *path, uint64_t id,
                              const char *file, bool again,
                              struct seal_wanted *wanted);
int __wrap_sealer_add_wanted (struct sealer *s, const char *path, uint64_t id,
                              const char *file, bool again,
                              struct seal_wanted *wanted)
{
    (void)s;
    (void)path;
    (void)file;
    queued_again = again;
    assert_null (queued);       // one at a time
    queued = wanted;
    queued_id = id;
    nqueued++;
    return 0;
}

size_t __wrap_watch_unsettled (const struct watch *w);
size_t __wrap_watch_unsettled (const struct watch *w)
{
    (void)w;
    return unsettled;
}

void __wrap_watch_hand_on_again (struct watch *w, const char *path);
void __wrap_watch_hand_on_again (struct watch *w, const char *path)
{
    (void)w;
    assert_null (path);
}

static void check (struct agent *a)
{
    (void)a;
    nchecked++;
}

struct giving {
    struct agent_options opt;
    struct agent a;
};

static void begin (struct giving *g, struct fixture *f, bool raw)
{
    memset (g, 0, sizeof (*g));
    g->opt.raw = raw;
    g->a.opt = &g->opt;
    g->a.spool = f->s;
    g->a.search.looked = true;
    g->a.end.check = check;
    now_ns = g->a.life.began_ns = 1000 * NS_PER_S;
    acked_ns = 0;
    nsaid = nqueued = nchecked = unsettled = 0;
    queued = NULL;
    seals_raw = raw;
    agent_recall_raw (&g->a);
}

static void end (struct giving *g)
{
    drop (queued);
    agent_close_wants (&g->a);
}

/* ---- which raw files are wanted ---- */

/* It waits a moment for what the aggregator says; the next agent knows it. */
static void test_policy (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin (&g, f, true);
    assert_true (agent_gives_raw (&g.a));
    assert_true (agent_awaits_policy (&g.a));
    now_ns += AGENT_POLICY_NS;
    assert_false (agent_awaits_policy (&g.a));
    g.opt.once = true;          // it has no other work
    assert_true (agent_awaits_policy (&g.a));
    now_ns += AGENT_POLICY_ONCE_NS - AGENT_POLICY_NS;
    assert_false (agent_awaits_policy (&g.a));
    g.opt.once = false;
    agent_on_raw (&g.a, RAW_ON_DEMAND, now_ns);
    assert_false (agent_gives_raw (&g.a));
    assert_false (seals_raw);
    end (&g);
    begin (&g, f, true);
    assert_false (agent_awaits_policy (&g.a));
    assert_false (agent_gives_raw (&g.a));
    agent_on_raw (&g.a, RAW_ALL, now_ns);
    assert_true (agent_gives_raw (&g.a));
    assert_true (seals_raw);
    end (&g);
    begin (&g, f, false);       // it may not give them in any case
    assert_false (agent_awaits_policy (&g.a));
    agent_on_raw (&g.a, RAW_ALL, now_ns);
    assert_false (agent_gives_raw (&g.a));
    assert_false (seals_raw);
    end (&g);
}

/* What was sealed before is given up once: later it may be wanted. */
static void test_unwanted (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    (void)spool_put (f, f->raw, "1/3/0/0", "rows", "raw", false);
    begin (&g, f, true);
    agent_on_raw (&g.a, RAW_UNDECIDED, now_ns);
    assert_int_equal (spool_undelivered (f->s), 1);
    (void)spool_put (f, "/other/b_pt", "1/3/0/0", "rows", NULL, false);
    agent_on_raw (&g.a, RAW_ON_DEMAND, now_ns);
    assert_int_equal (spool_undelivered (f->s), 2);
    end (&g);
}

/* An agent ends when no WANT is to come, but not because of an answer that is
 * older than what was acknowledged; and it does not wait for ever.
 */
static void test_decision (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin (&g, f, true);
    agent_on_raw (&g.a, RAW_ALL, now_ns);
    acked_ns = now_ns + 1;
    assert_false (agent_awaits_wants (&g.a));
    agent_on_raw (&g.a, RAW_ON_DEMAND, now_ns);
    assert_true (nchecked > 0);
    assert_true (agent_awaits_wants (&g.a));
    agent_on_raw (&g.a, RAW_ON_DEMAND, acked_ns + 1);
    assert_false (agent_awaits_wants (&g.a));
    now_ns += 10 * NS_PER_S;
    agent_on_raw (&g.a, RAW_UNDECIDED, now_ns);
    assert_true (agent_awaits_wants (&g.a));
    now_ns += AGENT_DECISION_NS - 1;
    agent_on_raw (&g.a, RAW_UNDECIDED, now_ns);
    assert_true (agent_awaits_wants (&g.a));
    now_ns++;
    assert_false (agent_awaits_wants (&g.a));
    acked_ns = now_ns;          // something else was delivered
    assert_true (agent_awaits_wants (&g.a));
    end (&g);
    begin (&g, f, false);
    agent_on_raw (&g.a, RAW_UNDECIDED, now_ns);
    assert_false (agent_awaits_wants (&g.a));
    end (&g);
}

/* ---- what becomes of a WANT ---- */

static void want (struct giving *g, uint64_t id, const char *path)
{
    struct message m = { .type = MESSAGE_WANT, .item = id, .rank = 2,
                         .capture = "a_pt" };

    PRINT (m.path, "%s", path);
    agent_on_want (&g->a, 0, &m);
}

/* The sealer has sealed this file, or none (NULL), and left out so many. */
static void sealed (struct giving *g, const char *name, uint64_t skipped)
{
    struct sealed s = { .what = { .path = "/a_pt" }, .id = queued_id,
                        .skipped = skipped, .skipped_why = { "left out" } };
    struct spool_new *items = calloc (1, sizeof (*items));
    char path[PATH_MAX];

    assert_non_null (items);
    PRINT (s.file, "/none/%llu-0", (unsigned long long)queued_id);
    if (name) {
        PRINT (path, "%s", name);
        items->kind = ITEM_RAW;
        items->number = queued->known.next_number;
        items->path = path;
        content_hash_init (&items->hash);
        s.nitems = 1;
    }
    s.items = items;
    s.wanted = queued;
    queued = NULL;              // it may take the next one
    agent_take_wanted (&g->a, &s);
    drop (s.wanted);
    content_hash_fini (&items->hash);
    free (items);
}

static void fails (struct giving *g)
{
    struct sealed s = { .what = { .path = "/a_pt" }, .id = queued_id,
                        .rc = -ENOSPC, .wanted = queued };

    queued = NULL;
    agent_take_wanted (&g->a, &s);
    drop (s.wanted);
}

static void deliver (struct fixture *f, enum item_kind kind)
{
    struct spool_item got;

    assert_int_equal (spool_next (f->s, kind, 0, &got, NULL), 1);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
}

/* Its spool has the rows of one version, which were delivered. */
static void begin_with_rows (struct giving *g, struct fixture *f)
{
    (void)spool_put (f, f->raw, "1/3/0/0", "rows", NULL, false);
    deliver (f, ITEM_ROWS);
    begin (g, f, true);
}

static void says (enum have_state have, uint64_t files, uint64_t came,
                  uint64_t gone)
{
    assert_int_equal (said.have, have);
    assert_int_equal (said.files, files);
    assert_int_equal (said.came, came);
    assert_int_equal (said.gone, gone);
}

static void test_want (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 7, "");
    assert_int_equal (said.item, 7);
    says (HAVE_BUSY, 0, 0, 0);
    want (&g, 7, "");           // it is repeated
    assert_true (nqueued == 1 && nsaid == 2);
    sealed (&g, "x", 0);
    says (HAVE_BUSY, 1, 0, 0);
    assert_int_equal (spool_undelivered (f->s), 1);
    deliver (f, ITEM_RAW);
    agent_answer_wants (&g.a);
    says (HAVE_ALL_SAID, 1, 1, 0);
    nsaid = 0;
    agent_answer_wants (&g.a);  // that was said
    assert_int_equal (nsaid, 0);
    end (&g);
    // the next agent finds out what there is
    begin (&g, f, true);
    want (&g, 7, "");
    says (HAVE_BUSY, 1, 1, 0);
    assert_int_equal (queued->known.n, 1);
    sealed (&g, NULL, 0);
    says (HAVE_ALL_SAID, 1, 1, 0);
    end (&g);
}

/* One after the other, and each has an answer of its own. */
static void test_two (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "x");
    want (&g, 2, "nothing");
    says (HAVE_BUSY, 0, 0, 0);
    sealed (&g, "x", 0);
    assert_int_equal (nqueued, 2);
    assert_string_equal (queued->pattern, "nothing");
    sealed (&g, NULL, 0);
    assert_int_equal (said.item, 2);
    says (HAVE_ALL_SAID, 0, 0, 0);
    assert_non_null (strstr (said.text, "never had such a file"));
    deliver (f, ITEM_RAW);
    agent_answer_wants (&g.a);
    assert_int_equal (said.item, 1);
    says (HAVE_ALL_SAID, 1, 1, 0);
    end (&g);
}

static void test_gone (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "");
    sealed (&g, "x", 1);        // another one was left out
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 1);
    assert_int_equal (spool_gone (f->s, got.id, SPOOL_HAS_CHANGED,
                                  "it changed", NULL), 0);
    agent_answer_wants (&g.a);
    says (HAVE_ALL_SAID, 2, 0, 2);
    assert_string_equal (said.text, "x: it changed");
    end (&g);
}

/* What came is not all of a capture that is gone, unless nothing else was
 * wanted.
 */
static void test_removed (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "x");
    sealed (&g, "x", 0);
    deliver (f, ITEM_RAW);
    assert_int_equal (fileio_remove_tree (f->raw, NULL), 0);
    want (&g, 1, "x");
    says (HAVE_ALL_SAID, 1, 1, 0);
    want (&g, 2, "");
    says (HAVE_ALL_SAID, 2, 1, 1);
    assert_non_null (strstr (said.text, "it was moved or removed"));
    assert_int_equal (nqueued, 1);
    end (&g);
}

/* What was sealed comes also if the capture is removed meanwhile. */
static void test_removed_late (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    (void)spool_put (f, f->raw, "1/3/0/0", "rows", NULL, false);
    deliver (f, ITEM_ROWS);
    begin (&g, f, true);
    want (&g, 1, "");
    assert_int_equal (fileio_remove_tree (f->raw, NULL), 0);
    want (&g, 1, "");           // the sealer may have links to all of it
    says (HAVE_BUSY, 0, 0, 0);
    sealed (&g, "x", 0);
    says (HAVE_BUSY, 1, 0, 0);
    deliver (f, ITEM_RAW);
    want (&g, 1, "");
    says (HAVE_ALL_SAID, 1, 1, 0);
    assert_int_equal (nqueued, 1);
    end (&g);
}

static void test_unknown (void **state)
{
    const struct err full = { "the disk is full" };
    const struct find_id id = { 0 };
    struct fixture *f = *state;
    struct giving g;
    bool first;

    begin (&g, f, true);
    unsettled = 1;              // it may be that one
    want (&g, 1, "");
    assert_int_equal (said.have, HAVE_BUSY);
    unsettled = 0;
    want (&g, 1, "");
    assert_int_equal (said.have, HAVE_NOT_HERE);
    // sealing it is tried again
    assert_non_null (capture_object_fail (&g.a.captures, f->raw, &id, &full,
                                          &first));
    want (&g, 1, "");
    assert_int_equal (said.have, HAVE_BUSY);
    capture_object_forget_all (&g.a.captures);
    end (&g);
}

static void test_without_raw (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    (void)spool_put (f, f->raw, "1/3/0/0", "rows", NULL, false);
    begin (&g, f, false);
    want (&g, 1, "");
    says (HAVE_ALL_SAID, 1, 0, 1);
    assert_non_null (strstr (said.text, "without --raw"));
    assert_int_equal (nqueued, 0);
    end (&g);
}

/* A newer version is another capture: what came of the older one is not it. */
static void test_newer (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "");
    sealed (&g, "x", 0);
    deliver (f, ITEM_RAW);
    (void)spool_put (f, f->raw, "1/3/5/0", "more", NULL, false);
    want (&g, 1, "");
    says (HAVE_BUSY, 0, 0, 0);
    assert_int_equal (nqueued, 2);
    end (&g);
}

/* What the spool calls durable may be what the aggregator has lost, until all of
 * it is sealed again: "all came" would end the want.
 */
static void test_lost (void **state)
{
    struct fixture *f = *state;
    struct spool_redelivery r = { 0 };
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "");
    sealed (&g, "x", 0);
    deliver (f, ITEM_RAW);
    agent_answer_wants (&g.a);
    says (HAVE_ALL_SAID, 1, 1, 0);
    assert_int_equal (spool_begin_redelivery (f->s, 0, NULL), 0);
    want (&g, 1, "");
    says (HAVE_BUSY, 0, 0, 0);
    while (spool_redeliver (f->s, &r, NULL) > 0)
        ;
    unsettled = 1;
    want (&g, 1, "");
    says (HAVE_BUSY, 0, 0, 0);
    unsettled = 0;
    (void)spool_put (f, f->raw, "1/3/0/0", "rows", NULL, false);
    want (&g, 1, "");
    says (HAVE_BUSY, 0, 0, 0);
    assert_int_equal (nqueued, 2);
    end (&g);
}

/* A full disk stays full for a while; another want is not held up. */
static void test_pause (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin_with_rows (&g, f);
    want (&g, 1, "x");
    fails (&g);
    want (&g, 1, "x");
    says (HAVE_BUSY, 0, 0, 0);
    assert_int_equal (nqueued, 1);
    want (&g, 2, "y");
    sealed (&g, "y", 0);
    assert_int_equal (nqueued, 2);
    now_ns += 10 * NS_PER_S;
    want (&g, 1, "x");
    assert_int_equal (nqueued, 3);
    assert_true (queued_again);
    sealed (&g, "x", 0);
    end (&g);
}

/* Whatever a liar wants, memory is bounded. */
static void test_many (void **state)
{
    struct fixture *f = *state;
    struct giving g;

    begin (&g, f, true);
    for (uint64_t i = 1; i <= 1000; i++)
        want (&g, i, "");
    assert_int_equal (nsaid, 1000);
    assert_true (g.a.wants.n <= 64);
    end (&g);
}

int main (void)
{
#define TEST(x) cmocka_unit_test_setup_teardown (x, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_policy), TEST (test_unwanted), TEST (test_decision),
        TEST (test_want), TEST (test_two), TEST (test_gone),
        TEST (test_removed), TEST (test_removed_late), TEST (test_unknown),
        TEST (test_without_raw), TEST (test_newer), TEST (test_lost), TEST (test_pause),
        TEST (test_many),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
