/* tests/unit/aggregator/archive/test_archive_items.c - lists of the items of a
 * job
 */
#include "aggregator/ledger/ledger_check.h"
#include "archive/archive_items.h"

static struct ledger_item raw_item (int64_t rank, const char *path)
{
    struct ledger_item i = true_item ("c", path);

    i.kind = ITEM_RAW;
    i.rank = rank;
    i.facts = (struct file_facts){ S_IFREG | 0604, -5, 7, 8 };
    PRINT (i.path, "%s", path);
    PRINT (i.host, "n%lld", (long long)rank);
    PRINT (i.who, "key");
    i.newest_ns = 12;
    return i;
}

/* "rank/path" of each, in the order of the list. */
static void check_order (const struct archive_items *l, const char *want)
{
    struct ledger_item i;
    char got[256] = "";

    for (size_t k = 0; k < l->n; k++) {
        size_t used = strlen (got);

        archive_item (l, k, &i);
        (void)snprintf (got + used, sizeof (got) - used, "%lld/%.20s ",
                        (long long)i.rank, i.path);
    }
    assert_string_equal (got, want);
}

static struct archive_items list (struct archive *a, const int64_t *rank)
{
    struct archive_items l;

    assert_int_equal (archive_list (a, "j", rank, &l, NULL), 0);
    return l;
}

static void test_order (void **state)
{
    const int64_t four = 4;
    struct root *r = *state;
    struct archive_items l;
    struct digest id = root_digest ("a");
    struct ledger_item i;
    struct archive a;

    (void)enter (r, raw_item (4, "b"), "b");
    (void)enter (r, raw_item (2, "a"), "a");
    (void)enter (r, true_item ("c", "rows"), "rows");
    (void)enter (r, raw_item (4, "a"), "a");
    assert_int_equal (archive_open (r->dir, &a, NULL), 0);
    l = list (&a, NULL);
    check_order (&l, "4/ 4/b 2/a 4/a ");
    archive_sort_by_rank (&l);
    check_order (&l, "2/a 4/ 4/b 4/a ");
    archive_item (&l, 0, &i);
    assert_true (i.kind == ITEM_RAW && i.newest_ns == 12 && i.seq == 2);
    assert_true (i.facts.mode == (S_IFREG | 0604) && i.facts.mtime_ns == -5 &&
                 i.facts.uid == 7 && i.facts.gid == 8);
    assert_true (i.shared_name && !i.superseded && !i.lost);
    assert_string_equal (i.job, "j");
    assert_string_equal (i.capture, "c");
    assert_string_equal (i.host, "n2");
    assert_string_equal (i.who, "key");
    assert_int_equal (i.place.size, 1);
    assert_true (digest_is (&i.content, &id));
    archive_items_fini (&l);
    l = list (&a, &four);
    check_order (&l, "4/ 4/b 4/a ");
    archive_items_fini (&l);
    archive_close (&a);
}

/* What others have added to a job since the list of jobs was made is not for
 * its user.
 */
static void test_visible (void **state)
{
    struct ledger_fact f = { .job = "j", .key = FACT_USER, .value = "me",
                             .at_ns = 1 };
    struct root *r = *state;
    struct archive_items l;
    struct archive a;

    (void)enter (r, true_item ("a", "mine"), "mine");
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_set_fact (r->l, &f, NULL), 1);
    assert_int_equal (ledger_set_built (r->l, "j", ledger_newest (
                                        r->l, "j", ITEM_ROWS), NULL, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    assert_int_equal (archive_open (r->dir, &a, NULL), 0);
    a.visible_to = "me";
    l = list (&a, NULL);
    assert_int_equal (l.n, 1);
    archive_items_fini (&l);
    (void)enter (r, true_item ("b", "theirs"), "theirs");
    l = list (&a, NULL);
    assert_int_equal (l.n, 0);
    archive_items_fini (&l);
    archive_close (&a);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_order), ROOT_TEST (test_visible),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
