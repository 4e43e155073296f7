/* tests/unit/aggregator/builder/test_team_words.c - what the processes of a build
 * tell each other
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/team_words.h"
#include "model/owned_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LIST 5000u              // ranks

static struct buf out;
static struct rank_lists said, all;
static struct team_heard heard;

static struct wire written (void)
{
    assert_false (out.failed);
    return wire_reader (out.data, out.size);
}

static void test_pass (void **state)
{
    struct team_pass p = { .rows = true, .page_size = 16384, .probe = 7,
                           .nonce = { 1, 2, 255 }, .threads = 3,
                           .world_max = 7000 }, got;
    uint8_t answer[TEAM_PROBE];
    struct buf settings;
    struct wire w;

    (void)state;
    PRINT (p.path, "/a/b c");
    buf_init (&settings, 100);
    wire_put_u32 (&settings, 42);
    team_put_pass (&out, &p, &settings);
    w = written ();
    team_get_pass (&w, &got);
    assert_true (wire_ended (&w));
    assert_true (got.rows);
    assert_string_equal (got.path, "/a/b c");
    assert_int_equal (got.page_size, 16384);
    assert_int_equal (got.probe, 7);
    assert_int_equal (got.threads, 3);
    assert_int_equal (got.world_max, 7000);
    assert_memory_equal (got.nonce, p.nonce, sizeof (p.nonce));
    assert_int_equal (wire_u32 (&got.settings), 42);
    assert_true (wire_ended (&got.settings));
    // each rank answers in a place of its own, behind the bytes
    assert_int_equal (team_probe_offset (&p, 1), 2 * TEAM_PROBE);
    assert_int_equal (team_probe_offset (&p, 1022), 1023 * TEAM_PROBE);
    assert_int_equal (team_probe_offset (&p, 1023), TEAM_PROBE);
    team_probe_answer (&p, answer);
    assert_int_equal (answer[0], 254);
    assert_int_equal (answer[2], 0);
    buf_fini (&settings);
}

static void test_item (void **state)
{
    const struct select_item item = {
        .source = 5, .rank = 3, .id = 4, .first_row = INT64_C (4) << 32,
        .rows_max = UINT64_C (1) << 31,
    };
    struct select_item got;
    struct wire w, order;
    struct buf b;
    size_t index;

    (void)state;
    buf_init (&b, 100);
    wire_put_text (&b, "which");
    team_put_item (&out, 9, &item, &b);
    w = written ();
    team_get_item (&w, &index, &got, &order);
    assert_true (wire_ended (&w));
    assert_int_equal (index, 9);
    assert_int_equal (got.source, 5);
    assert_int_equal (got.rank, 3);
    assert_int_equal (got.id, 4);
    assert_true (got.first_row == item.first_row);
    assert_true (got.rows_max == item.rows_max);
    assert_int_equal (wire_u32 (&order), 5);
    buf_fini (&b);
}

/* All that a process alone would know of it, also what a shipment leaves out. */
static void put_capture (void)
{
    const struct row_span span = { 3, 77, { 1, 2, 3 } };
    const struct part_group used[2] = { { (char *)"123", true, false },
                                        { (char *)"45", false, true } };
    int32_t *members = calloc (2, sizeof (*members));
    struct capture c;
    struct err err;

    capture_init (&c);
    c.rank = 3;
    c.state = CAPTURE_PARTIAL;
    PRINT (c.name, "n0_ascend_pt");
    c.transient_error = -EMFILE;
    c.owner = 1000;
    c.many_owners = true;
    c.whole_tables = 5;
    c.order_ns = INT64_C (1764000000000000001);
    capture_reason (&c, "one thing; \"another\"");
    assert_int_equal (capture_note_step (&c, "12", 2), 0);
    assert_non_null (members);
    members[1] = 3;
    assert_int_equal (capture_add_group (&c, "group_name_0", "tp", members, 2,
                                         &err), 0);
    team_put_capture (&out, &said, 8, &c, &span, used, 2);
    capture_fini (&c);
}

/* What was written, as rank 0 has it; fails, and names it, if it is refused. */
static int hear (const void *bytes, size_t n, struct team_capture *ret)
{
    struct wire w = wire_reader (bytes, n);
    struct err err = { "" };
    size_t index;
    int rc;

    heard.all = &all;
    rc = team_get_capture (&w, &heard, &index, ret, &err);
    if (rc < 0) {
        assert_true (err.text[0]);
        team_free_groups (ret);
    } else {
        assert_true (wire_ended (&w));
        assert_int_equal (index, 8);
    }
    return rc;
}

static void test_capture (void **state)
{
    struct team_capture got;

    (void)state;
    put_capture ();
    assert_int_equal (hear (written ().at, out.size, &got), 0);
    assert_int_equal (got.capture.rank, 3);
    assert_int_equal (got.capture.state, CAPTURE_PARTIAL);
    assert_int_equal (got.capture.transient_error, -EMFILE);
    assert_int_equal (got.capture.owner, 1000);
    assert_true (got.capture.many_owners);
    assert_true (got.capture.order_ns == INT64_C (1764000000000000001));
    assert_string_equal (got.capture.reason, "one thing; \"another\"");
    assert_int_equal (got.capture.nsteps, 1);
    assert_int_equal (got.capture.ngroups, 1);
    assert_string_equal (got.capture.groups[0].id, "group_name_0");
    assert_string_equal (got.capture.groups[0].pg_name, "tp");
    assert_int_equal (got.capture.groups[0].nmembers, 2);
    assert_int_equal (got.capture.groups[0].members[1], 3);
    assert_int_equal (got.span.first, 77);
    assert_int_equal (got.span.rows[2], 3);
    assert_int_equal (got.ngroups, 2);
    assert_string_equal (got.groups[1].name, "45");
    assert_true (got.groups[0].collective && !got.groups[0].p2p);
    assert_true (!got.groups[1].collective && got.groups[1].p2p);
    capture_fini (&got.capture);
    team_free_groups (&got);
}

/* A capture of one group; 'shared': its list belongs to others, too. */
static void put_group (int32_t first, uint32_t n, bool shared)
{
    const struct row_span span = { 3, 77, { 1, 2, 3 } };
    int32_t *ranks = calloc (n + 1, sizeof (*ranks));
    struct rank_list *list;
    struct capture c;
    struct err err;

    capture_init (&c);
    assert_non_null (ranks);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = first + (int32_t)i;
    if (!shared) {
        assert_int_equal (capture_add_group (&c, "id", "name", ranks, n, &err),
                          0);
    } else {
        list = rank_list_of (ranks, n);
        assert_non_null (list);
        assert_int_equal (capture_share_group (&c, "id", "name", list, &err), 0);
        rank_list_drop (list);
    }
    buf_clear (&out);
    team_put_capture (&out, &said, 8, &c, &span, NULL, 0);
    assert_false (out.failed);
    capture_fini (&c);
}

static int32_t *hear_group (int32_t first, uint32_t n)
{
    struct team_capture got;
    const struct comm_group *g;
    int32_t *ranks;

    assert_int_equal (hear (out.data, out.size, &got), 0);
    assert_int_equal (got.capture.ngroups, 1);
    g = &got.capture.groups[0];
    ranks = g->members;
    assert_string_equal (g->id, "id");
    assert_string_equal (g->pg_name, "name");
    assert_int_equal (g->nmembers, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal (ranks[i], first + (int32_t)i);
    capture_fini (&got.capture);
    team_free_groups (&got);
    return ranks;
}

/* A list is said once by a thread, and rank 0 has it once for all threads. */
static void test_lists (void **state)
{
    const int32_t *ranks;
    size_t bytes;

    (void)state;
    put_group (0, 0, true);
    bytes = out.size;
    (void)hear_group (0, 0);
    put_group (0, LIST, false);
    assert_true (out.size >= LIST * sizeof (int32_t));
    ranks = hear_group (0, LIST);
    for (unsigned i = 0; i < 4; i++) {
        put_group (0, LIST, i % 2);
        assert_true (out.size <= bytes);
        assert_ptr_equal (hear_group (0, LIST), ranks);
    }
    put_group (1, LIST, true);
    assert_true (out.size >= LIST * sizeof (int32_t));
    assert_ptr_not_equal (hear_group (1, LIST), ranks);
    assert_int_equal (heard.n, 2);
    // another thread
    rank_lists_fini (&said);
    team_heard_fini (&heard);
    put_group (0, LIST, true);
    assert_true (out.size >= LIST * sizeof (int32_t));
    assert_ptr_equal (hear_group (0, LIST), ranks);
    assert_int_equal (all.map.n, 2);
    // lists that cost no more than a number has
    put_group (0, TEAM_LIST_MIN - 1, true);
    (void)hear_group (0, TEAM_LIST_MIN - 1);
    assert_int_equal (heard.n, 1);
    assert_int_equal (all.map.n, 2);
}

/* Where the number of the list is in 'out', behind the texts of its group. */
static uint8_t *number (void)
{
    static const char before[] = "\4\0\0\0name";
    uint8_t *at = memmem (out.data, out.size, before, sizeof (before) - 1);

    assert_non_null (at);
    return at + sizeof (before) - 1;
}

static void put_u32 (uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

/* A number that was not given, too many ranks, or one that no job has. */
static void test_lies (void **state)
{
    static const struct {
        unsigned at;            // bytes behind the number
        uint32_t is;
    } lies[] = {
        { 0, 2 }, { 0, UINT32_MAX - 1 }, { 4, CAPTURE_WORLD_LIMIT + 1 },
        { 4, LIST + 1000 }, { 4, UINT32_MAX }, { 8, CAPTURE_WORLD_LIMIT },
        { 8 + 4 * (LIST - 1), UINT32_MAX },
    };
    struct team_capture got;

    (void)state;
    put_group (0, LIST, true);
    (void)hear_group (0, LIST);
    for (size_t i = 0; i < sizeof (lies) / sizeof (lies[0]); i++) {
        rank_lists_fini (&said);        // it is said as list 0
        put_group (5, LIST, true);
        put_u32 (number (), 1);
        put_u32 (number () + lies[i].at, lies[i].is);
        assert_int_equal (hear (out.data, out.size, &got), -EBADMSG);
        assert_int_equal (heard.n, 1);
        assert_int_equal (all.map.n, 1);
    }
}

static void forget_lists (void)
{
    rank_lists_fini (&said);
    rank_lists_fini (&all);
    team_heard_fini (&heard);
}

/* Cut anywhere, it is refused. */
static void test_cut (void **state)
{
    struct team_capture got;

    (void)state;
    put_capture ();
    for (size_t n = 0; n < out.size; n++)
        assert_int_equal (hear (out.data, n, &got), -EBADMSG);
    put_group (0, TEAM_LIST_MIN, true);
    for (size_t n = 0; n < out.size; n++) {
        assert_int_equal (hear (out.data, n, &got), -EBADMSG);
        forget_lists ();
    }
}

static void test_leaf (void **state)
{
    const struct page_leaf leaf = { -5, INT64_C (1) << 40, 123 };
    struct page_leaf got;
    struct wire w;

    (void)state;
    team_put_leaf (&out, &leaf);
    w = written ();
    team_get_leaf (&w, &got);
    assert_true (wire_ended (&w));
    assert_true (got.first == leaf.first && got.last == leaf.last);
    assert_int_equal (got.page, 123);
}

static int begin (void **state)
{
    (void)state;
    buf_init (&out, 1 << 20);
    return 0;
}

static int end (void **state)
{
    (void)state;
    buf_fini (&out);
    forget_lists ();
    return 0;
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_pass, begin, end),
        cmocka_unit_test_setup_teardown (test_item, begin, end),
        cmocka_unit_test_setup_teardown (test_capture, begin, end),
        cmocka_unit_test_setup_teardown (test_lists, begin, end),
        cmocka_unit_test_setup_teardown (test_lies, begin, end),
        cmocka_unit_test_setup_teardown (test_cut, begin, end),
        cmocka_unit_test_setup_teardown (test_leaf, begin, end),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
