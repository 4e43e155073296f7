/* tests/unit/aggregator/ledger/test_ledger_deletions.c - what was removed stays
 * removed
 */
#include "aggregator/ledger/ledger_check.h"

#include "ledger/ledger_private.h"
#include "store/db.h"
#include "store/record.h"

/* A version of a capture, delivered at a time. */
static struct ledger_item version (const char *capture, const char *bytes,
                                   int64_t newest_ns)
{
    struct ledger_item i = true_item (capture, bytes);

    i.newest_ns = newest_ns;
    i.received_ns = 1;
    return i;
}

static struct ledger_deletion deletion (const struct ledger_item *i,
                                        int64_t at_ns)
{
    struct ledger_deletion d;

    ledger_deletion_of (i, &d);
    d.at_ns = at_ns;
    (void)snprintf (d.by, sizeof (d.by), "me");
    return d;
}

static int delete (struct root *r, const struct ledger_item *i, int64_t at_ns)
{
    struct ledger_deletion d = deletion (i, at_ns);

    return ledger_delete (r->l, &d, NULL);
}

/* The version and all older ones go, and none comes back; a newer one does. */
static void test_versions (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10), b = version ("c", "b", 20),
                       c = version ("c", "c", 30), d = version ("d", "d", 10);
    struct ledger_deletion found;
    int64_t last;

    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (enter (r, b, "b"), 1);
    assert_int_equal (enter (r, d, "d"), 1);
    last = ledger_newest (r->l, "j", ITEM_RAW);
    assert_int_equal (delete (r, &b, 5), 1);
    assert_int_equal (delete (r, &b, 5), 0);
    assert_int_equal (count_all (r).n, 1);
    assert_int_equal (ledger_has_item (r->l, &a, NULL), 1);
    assert_int_equal (ledger_has_item (r->l, &b, NULL), 1);
    assert_int_equal (ledger_add_item (r->l, &a, NULL), 0);
    assert_int_equal (ledger_add_item (r->l, &b, NULL), 0);
    assert_int_equal (ledger_find_deletion (r->l, &b, &found, NULL), 1);
    assert_string_equal (found.by, "me");
    assert_int_equal (ledger_find_deletion (r->l, &c, NULL, NULL), 0);
    assert_int_equal (ledger_find_deletion (r->l, &d, NULL, NULL), 0);
    assert_int_equal (enter (r, c, "c"), 1);
    assert_int_equal (count_all (r).n, 2);
    // no number is given twice
    assert_true (ledger_newest (r->l, "j", ITEM_RAW) > last + 1);
    root_close (r);
    root_open (r);              // all is verified
    assert_int_equal (count_all (r).n, 2);
}

/* Without a date nobody knows what is older: what had arrived before goes, what
 * arrives later is refused only by a deletion without a date.
 */
static void test_undated (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 0), b = version ("c", "b", 20);

    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (enter (r, b, "b"), 1);
    assert_int_equal (delete (r, &b, 5), 1);
    assert_int_equal (count_all (r).n, 0);
    assert_int_equal (ledger_find_deletion (r->l, &a, NULL, NULL), 0);
    a.received_ns = 4;
    assert_int_equal (ledger_date_arrival (r->l, &a, NULL), 0);
    assert_int_equal (a.received_ns, 6);
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (delete (r, &a, 6), 1);
    assert_int_equal (count_all (r).n, 0);
    assert_int_equal (ledger_find_deletion (r->l, &a, NULL, NULL), 1);
}

/* One whose job was unknown on arrival. */
static struct ledger_item of_scope (const char *bytes, int64_t newest_ns)
{
    struct ledger_item i = version ("c", bytes, newest_ns);

    (void)snprintf (i.scope, sizeof (i.scope), "s");
    (void)snprintf (i.job, sizeof (i.job), "s");
    memset (i.dir, 'a', sizeof (i.dir) - 1);
    return i;
}

static struct ledger_assignment assignment (const struct ledger_item *i,
                                            int64_t at_ns)
{
    struct ledger_assignment g = { .rank = i->rank, .newest_ns = i->newest_ns,
                                   .at_ns = at_ns };

    memcpy (g.scope, i->scope, sizeof (g.scope));
    memcpy (g.dir, i->dir, sizeof (g.dir));
    memcpy (g.capture, i->capture, sizeof (g.capture));
    (void)snprintf (g.job, sizeof (g.job), "j");
    return g;
}

/* Of a place it is one version, whatever job has it; its assignment goes. */
static void test_place (void **state)
{
    struct root *r = *state;
    struct ledger_item a = of_scope ("a", 10), b = of_scope ("b", 20);
    struct ledger_assignment g = assignment (&b, 0);

    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (enter (r, b, "b"), 1);
    assert_int_equal (ledger_assign (r->l, &g, NULL), 1);
    assert_int_equal (count_all (r).n, 1);
    assert_int_equal (delete (r, &b, 5), 1);
    assert_int_equal (count_all (r).n, 0);
    assert_int_equal (ledger_find_assignment (r->l, &g, NULL), 0);
    assert_int_equal (ledger_find_deletion (r->l, &a, NULL, NULL), 0);
    assert_int_equal (ledger_count_open (r->l, "s"), 1);
    root_close (r);
    root_open (r);
}

/* The older version was added again after the newer one was removed: it counts,
 * though collecting has moved the record of the deletion behind it.
 */
static void test_place_settled (void **state)
{
    struct root *r = *state;
    struct ledger_item a = of_scope ("a", 10), b = of_scope ("b", 20);
    struct ledger_assignment ga = assignment (&a, 7), gb = assignment (&b, 2);

    a.received_ns = 7;
    assert_int_equal (enter (r, b, "b"), 1);
    assert_int_equal (ledger_assign (r->l, &gb, NULL), 1);
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (ledger_assign (r->l, &ga, NULL), 1);
    assert_int_equal (count_all (r).superseded, 1);
    assert_int_equal (delete (r, &b, 5), 1);
    assert_int_equal (count_all (r).n, 1);
    assert_int_equal (count_all (r).superseded, 0);
    root_close (r);
    root_open (r);
}

/* It was assigned again when the deletion was withdrawn, whose record collecting
 * has moved behind that.
 */
static void test_place_again (void **state)
{
    struct root *r = *state;
    struct ledger_item a = of_scope ("a", 10);
    struct ledger_assignment was = assignment (&a, 2), is = assignment (&a, 7);
    struct ledger_deletion back = deletion (&a, 6);

    back.gone = true;
    a.received_ns = 7;
    assert_int_equal (ledger_assign (r->l, &was, NULL), 1);
    assert_int_equal (ledger_assign (r->l, &is, NULL), 0);
    assert_int_equal (ledger_assign (r->l, &was, NULL), 0);
    assert_int_equal (ledger_delete (r->l, &back, NULL), 1);
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (count_all (r).n, 1);
    root_close (r);
    root_open (r);
}

/* A later word counts, in whatever order they come. */
static void test_withdrawn (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10);
    struct ledger_deletion d = deletion (&a, 5), back = deletion (&a, 6);

    back.gone = true;
    a.received_ns = 7;
    assert_int_equal (ledger_delete (r->l, &back, NULL), 1);
    assert_int_equal (ledger_delete (r->l, &d, NULL), 0);
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (delete (r, &a, 7), 1);
    assert_int_equal (ledger_delete (r->l, &back, NULL), 0);
    assert_int_equal (count_all (r).n, 0);
}

/* ---- records in any order ---- */

struct told {                   // what a record says
    struct ledger_item item;
    struct ledger_deletion deletion;    // of a job, else it is the item
};

static struct told item_told (const char *path, const char *bytes,
                              int64_t newest_ns, int64_t received_ns)
{
    struct told t = { .item = version ("c", bytes, newest_ns) };

    t.item.kind = ITEM_RAW;
    t.item.received_ns = received_ns;
    (void)snprintf (t.item.path, sizeof (t.item.path), "%s", path);
    return t;
}

static struct told deletion_told (int64_t at_ns, bool gone)
{
    struct told t = item_told ("", "", 20, 0);

    t.deletion = deletion (&t.item, at_ns);
    t.deletion.gone = gone;
    return t;
}

struct seen {
    char text[256];
};

static int see (void *arg, const struct ledger_item *i)
{
    struct seen *s = arg;
    size_t n = strlen (s->text);

    if (!i->superseded)
        (void)snprintf (s->text + n, sizeof (s->text) - n, "%s%lld ", i->path,
                        (long long)i->received_ns);
    return 0;
}

static void tell (struct root *r, const struct told *t, size_t n,
                  const size_t *order, const char *want)
{
    struct seen seen = { "" };

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        const struct told *one = &t[order[i]];
        int rc = *one->deletion.job
                     ? ledger_delete (r->l, &one->deletion, NULL)
                     : ledger_add_item (r->l, &one->item, NULL);

        assert_true (rc >= 0);
    }
    assert_int_equal (ledger_each (r->l, "j", ITEM_RAW, see, &seen, NULL), 0);
    assert_string_equal (seen.text, want);
    assert_int_equal (ledger_finish (r->l, -ECANCELED, NULL), -ECANCELED);
}

static void each_order (struct root *r, const struct told *t, size_t n,
                        size_t *order, size_t at, const char *want)
{
    if (at == n)
        tell (r, t, n, order, want);
    for (size_t i = at; i < n; i++) {
        size_t first = order[at];

        order[at] = order[i];
        order[i] = first;
        each_order (r, t, n, order, at + 1, want);
        order[i] = order[at];
        order[at] = first;
    }
}

/* All orders of records; and without the first one, which is a deletion that was
 * withdrawn: it is not kept.
 */
static void all_orders (struct root *r, const struct told *t, size_t n,
                        const char *want)
{
    size_t order[8];

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    each_order (r, t, n, order, 0, want);
    for (size_t i = 0; i + 1 < n; i++)
        order[i] = i;
    each_order (r, t + 1, n - 1, order, 0, want);
}

/* Collecting moves records: what was added again after a removal is there, and
 * nothing else, in whatever order they are met.
 */
static void test_any_order (void **state)
{
    struct root *r = *state;
    const struct told again[] = {
        deletion_told (5, false), deletion_told (6, true),
        item_told ("a", "x", 20, 3), item_told ("a", "x", 20, 7),
        item_told ("b", "y", 20, 3),
    };
    const struct told older[] = {       // the content of then is another one
        deletion_told (5, false), deletion_told (6, true),
        item_told ("a", "x", 20, 3), item_told ("a", "z", 10, 7),
    };
    const struct told newer[] = {
        deletion_told (5, false), deletion_told (6, true),
        item_told ("a", "x", 10, 3), item_told ("a", "x", 20, 7),
    };
    const struct told twice[] = {
        deletion_told (5, false), deletion_told (6, true),
        item_told ("a", "x", 20, 3), item_told ("a", "x", 20, 7),
        deletion_told (8, false),
    };

    const struct told dated[] = {       // first it came without a date
        deletion_told (5, false), item_told ("a", "x", 0, 3),
        item_told ("a", "x", 20, 4), item_told ("b", "y", 0, 3),
        item_told ("c", "z", 0, 6),
    };

    all_orders (r, again, 5, "a7 ");
    all_orders (r, older, 4, "a7 ");
    all_orders (r, newer, 4, "a7 ");
    all_orders (r, twice, 5, "");
    each_order (r, dated, 5, (size_t[]){ 0, 1, 2, 3, 4 }, 0, "c6 ");
    each_order (r, dated, 2, (size_t[]){ 0, 1 }, 0, "");
}

/* What arrives is dated after the withdrawal that lets it in, and what was
 * removed is entered at no time.
 */
static void test_arrival (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10);
    struct ledger_deletion d = deletion (&a, 5);

    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    a.received_ns = 9;
    assert_int_equal (ledger_date_arrival (r->l, &a, NULL), 1);
    assert_int_equal (ledger_has_item (r->l, &a, NULL), 1);
    assert_int_equal (ledger_add_item (r->l, &a, NULL), 0);
    d.gone = true;
    d.at_ns = 12;
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    a.received_ns = 9;
    assert_int_equal (ledger_date_arrival (r->l, &a, NULL), 0);
    assert_int_equal (a.received_ns, 13);
    assert_int_equal (ledger_add_item (r->l, &a, NULL), 1);
}

static int note_time (void *arg, const struct ledger_deletion *d)
{
    *(int64_t *)arg = d->at_ns;
    return 0;
}

/* A deletion is later than its items, and than the one of before. */
static void test_least_time (void **state)
{
    struct root *r = *state;
    const struct ledger_choice all = { "j", -1, "" };
    struct ledger_item a = version ("c", "a", 10);
    struct ledger_deletion d = deletion (&a, 8);
    int64_t at_ns = 0;

    d.gone = true;
    a.received_ns = 9;
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (ledger_each_version (r->l, &all, 9, note_time, &at_ns,
                                           NULL), 0);
    assert_int_equal (at_ns, 9);
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    assert_int_equal (ledger_each_version (r->l, &all, 9, note_time, &at_ns,
                                           NULL), 0);
    assert_int_equal (at_ns, 9);
    d.at_ns = 20;               // it forgets the item, which comes again
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    a.received_ns = 21;
    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (ledger_each_version (r->l, &all, 9, note_time, &at_ns,
                                           NULL), 0);
    assert_int_equal (at_ns, 21);
}

/* What arrived again has a record of then: a removal is later, also if the clock
 * stepped back since.
 */
static void test_later_than_renewed (void **state)
{
    struct root *r = *state;
    const struct ledger_choice all = { "j", -1, "" };
    struct ledger_item a = version ("c", "a", 10), b = version ("c", "a", 20);
    int64_t at_ns = 0;

    b.received_ns = 9;
    assert_int_equal (enter (r, a, "a"), 1);
    (void)enter (r, b, "a");
    assert_int_equal (ledger_each_version (r->l, &all, 9, note_time, &at_ns,
                                           NULL), 0);
    assert_int_equal (at_ns, 9);
    b.received_ns = 11;         // twice in one commit
    (void)enter (r, b, "a");
    assert_int_equal (ledger_each_version (r->l, &all, 9, note_time, &at_ns,
                                           NULL), 0);
    assert_int_equal (at_ns, 11);
    root_close (r);
    root_open (r);
}

/* The commit was not finished: the next start removes what the record says. */
static void test_recovered (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10);
    struct ledger_deletion d = deletion (&a, 5);

    assert_int_equal (enter (r, a, "a"), 1);
    assert_int_equal (store_note_deletion (r->s, &d, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    root_close (r);
    root_open (r);
    assert_int_equal (count_all (r).n, 0);
    assert_int_equal (ledger_find_deletion (r->l, &a, NULL, NULL), 1);
}

/* Marks that agents have from before are not of a ledger that went back. */
static void test_marks (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10);
    struct ledger_mark mark;

    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    assert_int_equal (ledger_enter_epoch (r->l, NULL), 0);
    assert_int_equal (enter (r, a, "a"), 1);
    mark = ledger_mark (r->l);
    assert_int_equal (delete (r, &a, 5), 1);
    root_close (r);
    root_open (r);
    assert_int_equal (ledger_begin_epoch (r->l, NULL), 0);
    assert_int_equal (ledger_enter_epoch (r->l, NULL), 0);
    assert_int_equal (ledger_reaches (r->l, &mark, NULL), 1);
    assert_int_equal (ledger_lost_since (r->l, &mark, "j", "", NULL), 0);
}

static void test_record (void **state)
{
    struct ledger_item a = version ("c", "a", 10);
    struct record r = { .kind = RECORD_DELETION,
                        .deletion = deletion (&a, 5) };
    struct record got;
    struct buf b;

    (void)state;
    r.deletion.gone = true;
    buf_init (&b, RECORD_MAX);
    assert_int_equal (record_encode (&r, &b), 0);
    assert_int_equal (record_decode (&got, b.data, b.size, NULL), 0);
    assert_memory_equal (&got.deletion, &r.deletion, sizeof (got.deletion));
    buf_clear (&b);
    r.deletion.job[0] = '\0';
    assert_int_equal (record_encode (&r, &b), 0);
    assert_int_equal (record_decode (&got, b.data, b.size, NULL), -EBADMSG);
    buf_fini (&b);
}

static void test_verified (void **state)
{
    struct root *r = *state;
    struct ledger_item a = version ("c", "a", 10);
    struct err err = { "" };
    struct ledger *l = NULL;
    sqlite3 *db = NULL;

    assert_int_equal (delete (r, &a, 5), 1);
    root_close (r);
    r->l = NULL;
    r->s = NULL;
    assert_int_equal (sqlite3_open (r->db, &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "UPDATE deletion SET capture='x'", NULL),
                      0);
    assert_int_equal (ledger_open (r->db, &l, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "table deletion"));
    assert_int_equal (db_exec (db, "DELETE FROM deletion", NULL), 0);
    assert_int_equal (ledger_open (r->db, &l, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "rows are missing"));
    (void)sqlite3_close (db);
}

/* ---- what it costs ---- */

#define MANY 2000               // captures
#define FEW_STEPS 1000          // of SQLite's machine: no table is read

static int64_t steps;

static int count_step (void *arg)
{
    (void)arg;
    steps++;
    return 0;
}

static struct ledger_item numbered (const char *job, int n)
{
    struct ledger_item i = version ("c", "a", 10);

    (void)snprintf (i.job, sizeof (i.job), "%s", job);
    (void)snprintf (i.capture, sizeof (i.capture), "c%d", n);
    return i;
}

/* In a job of many captures, and in a root where many others were removed and
 * assigned.
 */
static void enter_many (struct root *r)
{
    struct ledger_assignment g;

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    for (int n = 0; n < MANY; n++) {
        struct ledger_item i = numbered ("j", n), k = numbered ("k", n);
        struct ledger_item s = of_scope ("a", 10 + n);

        assert_int_equal (ledger_add_item (r->l, &i, NULL), 1);
        assert_int_equal (delete (r, &k, 5), 1);
        g = assignment (&s, 1);
        (void)snprintf (g.job, sizeof (g.job), "k");
        assert_int_equal (ledger_assign (r->l, &g, NULL), 1);
    }
}

static int no_assignment (void *arg, const struct ledger_assignment *a)
{
    (void)arg;
    (void)a;
    return -1;
}

static int any_deletion (void *arg, const struct ledger_deletion *d)
{
    (void)arg;
    (void)d;
    return 0;
}

/* No step of a removal, and no build, reads all that there is. */
static void test_cost (void **state)
{
    struct root *r = *state;
    struct ledger_item i = numbered ("j", 7);

    enter_many (r);
    sqlite3_progress_handler (r->l->db, 1, count_step, NULL);
    assert_int_equal (delete (r, &i, 5), 1);
    assert_true (steps > 0 && steps < FEW_STEPS);
    steps = 0;
    assert_int_equal (ledger_each_deletion (r->l, "j", any_deletion, NULL,
                                            NULL), 0);
    assert_int_equal (ledger_each_assignment (r->l, "j", no_assignment, NULL,
                                              NULL), 0);
    assert_true (steps > 0 && steps < FEW_STEPS);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_versions),
        ROOT_TEST (test_undated),
        ROOT_TEST (test_place),
        ROOT_TEST (test_place_settled),
        ROOT_TEST (test_place_again),
        ROOT_TEST (test_withdrawn),
        ROOT_TEST (test_any_order),
        ROOT_TEST (test_arrival),
        ROOT_TEST (test_least_time),
        ROOT_TEST (test_later_than_renewed),
        ROOT_TEST (test_recovered),
        ROOT_TEST (test_marks),
        ROOT_TEST (test_verified),
        ROOT_TEST (test_cost),
        cmocka_unit_test (test_record),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
