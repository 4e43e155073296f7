/* tests/unit/aggregator/store/test_gc.c - what nothing refers to goes, and
 * nothing else
 */
#include "aggregator/ledger/ledger_check.h"

#include "base/clock.h"
#include "ledger/ledger_private.h"
#include "store/gc.h"
#include "store/store_private.h"

#include <sys/stat.h>

static const struct gc_options all = { .grace_s = 0, .least_percent = 0,
                                       .now_ns = INT64_MAX };

static void remove_it (struct root *r, const struct ledger_item *i)
{
    remove_item (r, i, 5);
}

static struct gc_report collect (struct root *r, const struct gc_options *opt,
                                 int want)
{
    struct gc_report report;
    struct err err = { "" };

    assert_int_equal (gc_run (r->l, r->s, opt, &report, &err), want);
    return report;
}

static bool has_segment (struct root *r, int64_t n)
{
    char path[PATH_MAX];

    store_segment_path (r->dir, n, path);
    return access (path, F_OK) == 0;
}

static struct ledger_item dated (const char *capture, const char *bytes)
{
    struct ledger_item i = true_item (capture, bytes);

    i.newest_ns = 10;
    i.received_ns = 1;
    return i;
}

/* What was removed goes with its segment; what stays has a new place. */
static void test_collect (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa"), b = dated ("b", "bb");
    struct ledger_fact tag = { .at_ns = 3 };
    struct gc_options plan = all;
    struct gc_report report;
    struct ledger_place place;

    (void)snprintf (tag.job, sizeof (tag.job), "j");
    (void)snprintf (tag.key, sizeof (tag.key), FACT_TAG);
    (void)snprintf (tag.value, sizeof (tag.value), "t");
    assert_int_equal (enter (r, a, "aaaa"), 1);
    assert_int_equal (store_note_fact (r->s, &tag, NULL), 0);
    assert_int_equal (ledger_set_fact (r->l, &tag, NULL), 1);
    assert_int_equal (enter (r, b, "bb"), 1);
    report = collect (r, &all, 0);
    assert_int_equal (report.unused, 0);
    remove_it (r, &a);
    plan.plan = true;
    report = collect (r, &plan, 0);
    assert_int_equal (report.unused, 4);
    assert_int_equal (report.copied, 2);
    assert_int_equal (report.removed, 0);
    report = collect (r, &all, 0);
    assert_int_equal (report.freed, 4);
    assert_int_equal (report.removed, 1);
    assert_false (has_segment (r, 1));
    assert_int_equal (ledger_find_content (r->l, &a.content, &place, NULL), 0);
    check_bytes (r, &b.content, "bb");
    root_close (r);
    root_open (r);
    check_bytes (r, &b.content, "bb");
    assert_int_equal (collect (r, &all, 0).unused, 0);
}

/* A chunk that another item has stays. */
static void test_shared (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "same"), b = dated ("b", "same");

    assert_int_equal (enter (r, a, "same"), 1);
    assert_int_equal (ledger_add_item (r->l, &b, NULL), 1);
    remove_it (r, &a);
    assert_int_equal (collect (r, &all, 0).unused, 0);
    check_bytes (r, &b.content, "same");
}

/* A content of three chunks, the last of which is its own. */
static struct ledger_item large (struct root *r, const char *capture, char own)
{
    const char fill[3] = { 'a', 'b', own };
    struct ledger_item i = dated (capture, "");

    enter_large (r, &i, fill);
    return i;
}

/* Of a large content go the list and the chunks that no other one has; nobody
 * finds its list without them.
 */
static void test_lists (void **state)
{
    struct root *r = *state;
    struct ledger_item a = large (r, "a", 'x');
    struct ledger_item b = large (r, "b", 'y');
    struct gc_options few = all;
    struct ledger_place place;

    remove_it (r, &a);
    few.grace_s = 3600;         // it was complete: there is no grace
    few.now_ns = clock_wall_ns ();
    assert_int_equal (collect (r, &few, 0).freed,
                      CONTENT_CHUNK + 3 * DIGEST_SIZE);
    assert_int_equal (ledger_find_content (r->l, &a.content, &place, NULL), 0);
    assert_int_equal (ledger_find_content (r->l, &b.content, &place, NULL), 1);
    assert_int_equal (store_check_content (r->s, r->l, &b.content, &place,
                                           NULL), 0);
    assert_int_equal (collect (r, &few, 0).unused, 0);
}

/* A chunk without an item may still get one, until its segment is old. */
static void test_grace (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "part");
    struct gc_options young = all;
    struct ledger_place place;

    young.grace_s = 3600;
    young.now_ns = clock_wall_ns ();
    assert_int_equal (store_put_chunk (r->s, &a.content, 4, CODEC_PLAIN,
                                       "part", 4, &place, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &a.content, &place, NULL), 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    assert_int_equal (collect (r, &young, 0).unused, 0);
    young.now_ns += 3601 * NS_PER_S;
    assert_int_equal (collect (r, &young, 0).freed, 4);
}

/* What was asked for since it began stays, although it was doomed. */
static void test_offered (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa");
    struct ledger_place place;
    struct gc *g;
    int rc = 1;

    assert_int_equal (enter (r, a, "aaaa"), 1);
    remove_it (r, &a);
    assert_int_equal (gc_begin (r->l, r->s, &all, &g, NULL), 0);
    while (rc == 1 && gc_report (g).unused == 0)
        rc = gc_step (g, NULL);
    assert_int_equal (rc, 1);
    assert_int_equal (ledger_find_content (r->l, &a.content, &place, NULL), 1);
    while (rc == 1)
        rc = gc_step (g, NULL);
    gc_end (g);
    assert_int_equal (rc, 0);
    assert_false (has_segment (r, 1));
    check_bytes (r, &a.content, "aaaa");
}

static void run_to_the_end (struct gc *g, uint64_t unused)
{
    int rc;

    do
        rc = gc_step (g, NULL);
    while (rc == 1);
    assert_int_equal (rc, 0);
    assert_int_equal (gc_report (g).unused, unused);
    gc_end (g);
}

static void check_large (struct root *r, const struct ledger_item *i)
{
    struct ledger_place place;

    assert_int_equal (ledger_find_content (r->l, &i->content, &place, NULL),
                      1);
    assert_int_equal (store_check_content (r->s, r->l, &i->content, &place,
                                           NULL), 0);
}

/* A list that was only asked for before its item is met is walked, too. */
static void test_asked_list (void **state)
{
    struct root *r = *state;
    struct ledger_item a = large (r, "a", 'x');
    struct ledger_place place;
    struct gc *g;

    assert_int_equal (gc_begin (r->l, r->s, &all, &g, NULL), 0);
    assert_int_equal (ledger_find_content (r->l, &a.content, &place, NULL), 1);
    run_to_the_end (g, 0);
    check_large (r, &a);
}

/* Of a list that gets an item again after it was doomed, the chunks stay. */
static void test_list_again (void **state)
{
    struct root *r = *state;
    struct ledger_item a = large (r, "a", 'x'), b = a;
    struct gc *g;
    int rc = 1;

    remove_it (r, &a);
    assert_int_equal (gc_begin (r->l, r->s, &all, &g, NULL), 0);
    while (rc == 1 && gc_report (g).unused == 0)
        rc = gc_step (g, NULL);
    assert_int_equal (rc, 1);
    b.newest_ns++;
    b.received_ns = 6;
    assert_int_equal (ledger_add_item (r->l, &b, NULL), 1);
    run_to_the_end (g, gc_report (g).unused);
    check_large (r, &b);
}

/* While somebody has a lease, nothing is removed; the dead have none. */
static void test_lease (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa");
    char who[LEASE_TEXT_MAX], path[PATH_MAX];
    struct lease lease;
    FILE *f;

    assert_int_equal (enter (r, a, "aaaa"), 1);
    remove_it (r, &a);
    assert_int_equal (lease_count (r->dir, who, NULL), 0);
    assert_int_equal (lease_take (r->dir, "a test", &lease, NULL), 0);
    assert_int_equal (lease_count (r->dir, who, NULL), 1);
    assert_non_null (strstr (who, "a test, process "));
    assert_non_null (strstr (collect (r, &all, -EAGAIN).held, "a test"));
    assert_true (has_segment (r, 1));
    lease_end (&lease);
    (void)snprintf (path, sizeof (path), "%s/" LEASE_DIR "/dead", r->dir);
    assert_non_null (f = fopen (path, "w"));
    (void)fclose (f);
    assert_int_equal (collect (r, &all, 0).removed, 1);
    assert_int_equal (access (path, F_OK), -1);
    assert_false (has_segment (r, 1));
}

/* Somebody reads, but nothing has to go: nobody keeps anything. */
static void test_lease_of_nothing (void **state)
{
    struct root *r = *state;
    struct lease lease;

    assert_int_equal (enter (r, dated ("a", "aaaa"), "aaaa"), 1);
    assert_int_equal (lease_take (r->dir, "a test", &lease, NULL), 0);
    assert_string_equal (collect (r, &all, 0).held, "");
    lease_end (&lease);
}

#define LISTS 60                // the shorter half of which is removed ...
#define CHUNKS 500              // ... and more, all of them the same

static void enter_lists (struct root *r, struct ledger_item items[LISTS])
{
    static char bytes[CONTENT_CHUNK];
    struct digest ids[CHUNKS + LISTS];
    struct ledger_place place;
    char name[16];

    assert_int_equal (digest_of (bytes, sizeof (bytes), &ids[0]), 0);
    for (size_t i = 1; i < CHUNKS + LISTS; i++)
        ids[i] = ids[0];
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (store_put_chunk (r->s, &ids[0], sizeof (bytes),
                                       CODEC_PLAIN, bytes, sizeof (bytes),
                                       &place, NULL), 0);
    assert_int_equal (ledger_add_content (r->l, &ids[0], &place, NULL), 0);
    for (size_t i = 0; i < LISTS; i++) {
        size_t n = CHUNKS + i;

        (void)snprintf (name, sizeof (name), "c%zu", i);
        items[i] = dated (name, "");
        assert_int_equal (content_list_id (ids, n, &items[i].content), 0);
        assert_int_equal (store_put_list (r->s, &items[i].content,
                                          n * CONTENT_CHUNK, ids, n, &place,
                                          NULL), 0);
        assert_int_equal (ledger_add_content (r->l, &items[i].content, &place,
                                              NULL), 0);
        assert_int_equal (store_put_item (r->s, &items[i], NULL), 0);
        assert_int_equal (ledger_add_item (r->l, &items[i], NULL), 1);
    }
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
}

static int count_one (void *arg)
{
    ++*(int64_t *)arg;
    return 0;
}

/* Few items with many chunks are the work of many steps, too. */
static void test_small_steps (void **state)
{
    struct root *r = *state;
    struct ledger_item items[LISTS];
    int64_t n, most = 0, sum = 0;
    struct gc *g;
    int rc;

    enter_lists (r, items);
    for (size_t i = 0; i < LISTS / 2; i++)
        remove_it (r, &items[i]);
    sqlite3_progress_handler (r->l->db, 10, count_one, &n);
    assert_int_equal (gc_begin (r->l, r->s, &all, &g, NULL), 0);
    do {
        n = 0;
        rc = gc_step (g, NULL);
        sum += n;
        most = n > most ? n : most;
    } while (rc == 1);
    assert_int_equal (rc, 0);
    sqlite3_progress_handler (r->l->db, 0, NULL, NULL);
    gc_end (g);
    assert_true (most > 0 && most < sum / 5);
}

/* ---- an older ledger, from before something was collected ---- */

static void put_back (struct root *r, bool back)
{
    char command[3 * PATH_MAX];

    (void)snprintf (command, sizeof (command), back ? "cp '%s.old' '%s'"
                                                    : "cp '%s' '%s.old'",
                    r->db, r->db);
    root_close (r);
    assert_int_equal (system (command), 0);
    root_open (r);
}

/* Enter an item whose content is here. */
static void enter_known (struct root *r, const struct ledger_item *i)
{
    assert_int_equal (store_put_item (r->s, i, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_add_item (r->l, i, NULL), 1);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
}

/* Contents are behind their items now: all that was acknowledged is entered. */
static void test_older_ledger (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa"), b, d, c = dated ("c", "cccc"),
                       e = dated ("e", "eeee");

    assert_int_equal (enter (r, e, "eeee"), 1);
    put_back (r, false);
    assert_int_equal (store_open_next (r->s, NULL), 0);
    assert_int_equal (enter (r, a, "aaaa"), 1);
    assert_int_equal (enter (r, c, "cccc"), 1);
    b = large (r, "b", 'x');
    assert_int_equal (store_open_next (r->s, NULL), 0);
    a = dated ("a2", "aaaa");
    enter_known (r, &a);
    d = large (r, "d", 'y');      // its list is before its chunks then
    remove_it (r, &c);
    remove_it (r, &b);
    assert_int_equal (collect (r, &all, 0).removed, 1);
    assert_false (has_segment (r, 2));
    put_back (r, true);
    assert_int_equal (count_all (r).n, 4);
    check_bytes (r, &a.content, "aaaa");
    check_bytes (r, &e.content, "eeee");
    check_large (r, &d);
    root_close (r);
    root_open (r);
}

/* The last segment that it knows was collected. */
static void test_older_ledger_collected (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa"), b = dated ("b", "bb");

    assert_int_equal (enter (r, a, "aaaa"), 1);
    assert_int_equal (enter (r, b, "bb"), 1);
    put_back (r, false);
    remove_it (r, &a);
    assert_int_equal (collect (r, &all, 0).removed, 1);
    assert_false (has_segment (r, 1));
    put_back (r, true);
    assert_false (has_segment (r, 1));
    assert_int_equal (count_all (r).n, 1);
    check_bytes (r, &b.content, "bb");
}

/* A damaged segment stays, for a check. */
static void test_damaged (void **state)
{
    struct root *r = *state;
    struct ledger_item a = dated ("a", "aaaa"), b = dated ("b", "bb");
    struct ledger_place place;
    char path[PATH_MAX];
    FILE *f;

    assert_int_equal (enter (r, a, "aaaa"), 1);
    assert_int_equal (enter (r, b, "bb"), 1);
    remove_it (r, &a);
    assert_int_equal (ledger_find_content (r->l, &b.content, &place, NULL), 1);
    store_segment_path (r->dir, 1, path);
    assert_non_null (f = fopen (path, "r+"));
    assert_int_equal (fseek (f, (long)place.offset, SEEK_SET), 0);
    assert_int_equal (fputc ('x', f), 'x');
    assert_int_equal (fclose (f), 0);
    assert_int_equal (collect (r, &all, 0).damaged, 1);
    assert_true (has_segment (r, 1));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_collect),
        ROOT_TEST (test_shared),
        ROOT_TEST (test_lists),
        ROOT_TEST (test_grace),
        ROOT_TEST (test_offered),
        ROOT_TEST (test_asked_list),
        ROOT_TEST (test_list_again),
        ROOT_TEST (test_lease),
        ROOT_TEST (test_lease_of_nothing),
        ROOT_TEST (test_small_steps),
        ROOT_TEST (test_older_ledger),
        ROOT_TEST (test_older_ledger_collected),
        ROOT_TEST (test_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
