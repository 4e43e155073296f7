/* tests/unit/aggregator/ledger/test_ledger_assign.c - what comes without a
 * job's id, and the jobs that it is given to */
#include "aggregator/ledger/ledger_check.h"

#include "ledger/ledger_private.h"
#include "store/db.h"

#define SCOPE "default"
#define A "00000000000000aa"    // places
#define B "00000000000000bb"

static struct ledger_item of_place (const char *dir, const char *capture,
                                    const char *bytes, int64_t newest_ns)
{
    struct ledger_item item = true_item (capture, bytes);

    (void)snprintf (item.job, sizeof (item.job), SCOPE);
    (void)snprintf (item.scope, sizeof (item.scope), SCOPE);
    (void)snprintf (item.dir, sizeof (item.dir), "%s", dir);
    item.newest_ns = newest_ns;
    // all that is in a row's checksum moves with it
    item.facts = (struct file_facts){ .mode = 0100640, .mtime_ns = 5, .uid = 6,
                                      .gid = 7 };
    return item;
}

static int put (struct root *r, const char *dir, const char *capture,
                const char *bytes, int64_t newest_ns)
{
    return enter (r, of_place (dir, capture, bytes, newest_ns), bytes);
}

static struct ledger_assignment to_job (const char *dir, const char *capture,
                                        int64_t newest_ns, const char *job)
{
    struct ledger_assignment a = { .rank = 4, .newest_ns = newest_ns,
                                   .at_ns = 7, .assumed = true };

    (void)snprintf (a.scope, sizeof (a.scope), SCOPE);
    (void)snprintf (a.dir, sizeof (a.dir), "%s", dir);
    (void)snprintf (a.capture, sizeof (a.capture), "%s", capture);
    (void)snprintf (a.job, sizeof (a.job), "%s", job);
    (void)snprintf (a.why, sizeof (a.why), "of a test");
    return a;
}

static int give (struct root *r, const char *dir, const char *capture,
                 int64_t newest_ns, const char *job)
{
    struct ledger_assignment a = to_job (dir, capture, newest_ns, job);
    int rc;

    assert_int_equal (store_note_assignment (r->s, &a, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    rc = ledger_assign (r->l, &a, NULL);
    assert_true (rc >= 0);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
    return rc;
}

static int list (void *arg, const struct ledger_item *item)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 256 - used, "%s %.2s%lld%s, ", item->capture,
                    *item->dir ? item->dir + 14 : "",
                    (long long)item->newest_ns,
                    item->superseded ? " old" : "");
    return 0;
}

static void has (struct root *r, const char *job, const char *want)
{
    char text[256] = "";

    assert_int_equal (ledger_each (r->l, job, ITEM_ROWS, list, text, NULL), 0);
    assert_string_equal (text, want);
}

static void has_of_rank (struct root *r, const char *job, int64_t rank,
                         const char *want)
{
    char text[256] = "";

    assert_int_equal (ledger_each_of_rank (r->l, job, rank, list, text, NULL),
                      0);
    assert_string_equal (text, want);
}

/* Of one name and rank, in two directories or of two dates: nothing is older
 * than anything before both are of one job.
 */
static void test_places (void **state)
{
    struct root *r = *state;

    assert_false (ledger_has_scope (r->l, SCOPE));
    assert_int_equal (put (r, A, "x", "one", 1), 1);
    assert_true (ledger_has_scope (r->l, SCOPE));
    assert_int_equal (put (r, B, "x", "two", 2), 1);
    assert_int_equal (put (r, A, "x", "three", 3), 1);
    assert_int_equal (put (r, A, "x", "one", 1), 0);
    has (r, SCOPE, "x aa1, x bb2, x aa3, ");
    has_of_rank (r, SCOPE, 4, "x bb2, x aa3, ");
    assert_int_equal (ledger_count_open (r->l, SCOPE), 3);
    assert_int_equal (give (r, A, "x", 1, "j"), 1);
    assert_int_equal (give (r, B, "x", 2, "j"), 1);
    has (r, "j", "x aa1, x bb2, ");
    has (r, SCOPE, "x aa3, ");
    assert_int_equal (give (r, A, "x", 3, "k"), 1);
    has (r, "j", "x aa1, x bb2, ");
    has (r, "k", "x aa3, ");
    assert_int_equal (ledger_count_open (r->l, SCOPE), 0);
    assert_int_equal (give (r, A, "x", 3, "j"), 1);     // by hand, say
    has (r, "j", "x aa1 old, x bb2, x aa3, ");
    has (r, "k", "");
    has_of_rank (r, "j", 4, "x bb2, x aa3, ");
    has_of_rank (r, "j", 3, "");
    assert_int_equal (give (r, A, "x", 3, "j"), 0);
    assert_true (ledger_has_scope (r->l, SCOPE));
    assert_false (ledger_has_scope (r->l, "j"));
    assert_int_equal (give (r, A, "x", 1, "k"), 1);
    has (r, "j", "x bb2, x aa3, ");
    has (r, "k", "x aa1, ");
    assert_int_equal (put (r, A, "x", "one", 1), 0);
}

/* An id that was given has no part in it, whatever it is. */
static void test_given (void **state)
{
    struct root *r = *state;

    (void)put (r, A, "x", "one", 1);
    (void)give (r, A, "x", 1, "j");
    (void)enter (r, true_item ("x", "given"), "given");
    (void)enter (r, true_item ("x", "again"), "again");
    has (r, "j", "x aa1, x 0 old, x 0, ");
}

/* Raw files follow their rows, those that come later too. */
static void test_raw_follows (void **state)
{
    struct root *r = *state;
    struct ledger_item raw = of_place (A, "x", "raw", 1);

    raw.kind = ITEM_RAW;
    (void)snprintf (raw.path, sizeof (raw.path), "f");
    (void)put (r, A, "x", "one", 1);
    (void)give (r, A, "x", 1, "j");
    (void)enter (r, raw, "raw");
    assert_true (ledger_newest (r->l, "j", ITEM_RAW) >
                 ledger_newest (r->l, "j", ITEM_ROWS));
    (void)give (r, A, "x", 1, "k");
    assert_int_equal (ledger_newest (r->l, "j", ITEM_RAW), 0);
    assert_true (ledger_newest (r->l, "k", ITEM_RAW) > 0);
}

/* Both are to be built again. */
static void test_rebuilds (void **state)
{
    struct root *r = *state;
    struct ledger_summary s;

    (void)put (r, A, "x", "one", 1);
    (void)put (r, B, "y", "two", 2);
    (void)give (r, A, "x", 1, "j");
    (void)give (r, B, "y", 2, "k");
    assert_int_equal (ledger_set_built (r->l, "j", 2, NULL, NULL), 0);
    assert_int_equal (ledger_set_built (r->l, "k", 2, NULL, NULL), 0);
    (void)give (r, A, "x", 1, "k");
    assert_int_equal (ledger_summary (r->l, "k", &s, NULL), 0);
    assert_int_equal (s.captures, 2);
    assert_int_equal (s.divided, 2);
    assert_int_equal (s.assumed, 2);
    assert_true (ledger_has_job (r->l, "j"));
    assert_false (ledger_has_job (r->l, "i"));
}

/* A death behind the records, and the ledger made again of them. */
static void test_records (void **state)
{
    struct root *r = *state;
    struct ledger_assignment a = to_job (A, "x", 1, "k");

    (void)put (r, A, "x", "one", 1);
    (void)put (r, B, "x", "two", 2);
    (void)give (r, A, "x", 1, "j");
    assert_int_equal (store_note_assignment (r->s, &a, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    root_close (r);
    root_open (r);
    has (r, "j", "");
    has (r, "k", "x aa1, ");
    has (r, SCOPE, "x bb2, ");
    memset (a.why, 0, sizeof (a.why));
    assert_int_equal (ledger_find_assignment (r->l, &a, NULL), 1);
    assert_string_equal (a.why, "of a test");
    assert_true (a.assumed && a.at_ns == 7);
}

/* ---- whose rows ---- */

static void put_rows (struct root *r, const char *who, const char *dir,
                      const char *capture, const char *bytes, int64_t rows)
{
    struct ledger_item item = of_place (dir, capture, bytes, 1);

    item.rows = rows;
    (void)snprintf (item.who, sizeof (item.who), "%s", who);
    (void)snprintf (item.host, sizeof (item.host), "host of %s", who);
    assert_int_equal (enter (r, item, bytes), 1);
}

static void put_by (struct root *r, const char *who, const char *dir,
                    const char *capture, const char *bytes)
{
    put_rows (r, who, dir, capture, bytes, 0);
}

static int list_sender (void *arg, const struct ledger_sender *s)
{
    char *text = arg;
    size_t used = strlen (text);

    (void)snprintf (text + used, 256 - used, "%lld %s of %.40s, then %s of "
                    "%.40s; ", (long long)s->rank, s->former, s->former_host,
                    s->who, s->host);
    return 0;
}

static void changed (struct root *r, const char *job, const char *want)
{
    struct ledger_sender s;
    char text[256] = "", one[256] = "";

    assert_int_equal (ledger_each_sender (r->l, job, list_sender, text, NULL),
                      0);
    assert_string_equal (text, want);
    if (ledger_changed_sender (r->l, job, 4, &s, NULL) == 1)
        (void)list_sender (one, &s);
    assert_string_equal (one, want);
    assert_int_equal (ledger_changed_sender (r->l, job, 3, &s, NULL), 0);
}

/* Whose rows a rank has in a job is known once they are given to it. */
static void test_senders (void **state)
{
    static const char both[] = "4 k1 of host of k1, then k2 of host of k2; ";
    struct root *r = *state;

    put_by (r, "k1", A, "x", "one");
    put_by (r, "k2", B, "y", "two");
    changed (r, SCOPE, both);
    (void)give (r, A, "x", 1, "j");
    (void)give (r, B, "y", 1, "k");
    changed (r, "j", "");
    changed (r, "k", "");
    (void)give (r, B, "y", 1, "j");     // by hand
    changed (r, "j", both);
    changed (r, "k", "");
    root_close (r);
    root_open (r);
    changed (r, "j", both);
}

/* Two agents that see one shared directory send the same: no rows changed. */
static void test_shared_directory (void **state)
{
    struct root *r = *state;

    put_by (r, "k1", A, "x", "one");
    put_by (r, "k2", B, "x", "one");
    (void)give (r, A, "x", 1, "j");
    (void)give (r, B, "x", 1, "j");
    changed (r, "j", "");
    // on which host it was read is in it, too: only the rows count
    put_rows (r, "k1", A, "y", "read here", 7);
    put_rows (r, "k2", B, "y", "read there", 7);
    (void)give (r, A, "y", 1, "k");
    (void)give (r, B, "y", 1, "k");
    changed (r, "k", "");
}

/* Other rows of a version that was given already: they are of its job at once.
 */
static void test_sender_of_given (void **state)
{
    struct root *r = *state;

    put_by (r, "k1", A, "x", "one");
    (void)give (r, A, "x", 1, "j");
    put_by (r, "k2", A, "x", "two");
    changed (r, "j", "4 k1 of host of k1, then k2 of host of k2; ");
    put_by (r, "k1", A, "x", "three");
    changed (r, "j", "4 k2 of host of k2, then k1 of host of k1; ");
}

static void change (const char *db, const char *sql)
{
    sqlite3 *s = NULL;

    assert_int_equal (sqlite3_open (db, &s), SQLITE_OK);
    if (sqlite3_exec (s, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (s));
    (void)sqlite3_close (s);
}

/* A row that is another one, or gone, is noticed. */
static void test_damage (void **state)
{
    static const char *const damage[] = {
        "UPDATE assignment SET job='l'", "DELETE FROM assignment",
        "UPDATE item SET job='l'", "UPDATE item SET place='" B "'",
        "UPDATE item SET scope='l'", "UPDATE item SET who='l'",
        "UPDATE item SET rows=7",
    };
    struct root *r = *state;

    for (size_t i = 0; i < sizeof (damage) / sizeof (damage[0]); i++) {
        put_by (r, "k1", A, "x", "one");
        (void)give (r, A, "x", 1, "j");
        root_close (r);
        change (r->db, damage[i]);
        r->s = NULL;
        r->l = NULL;
        assert_int_equal (ledger_open (r->db, &r->l, NULL), -EBADMSG);
        root_remove (r);
        root_make (r);
    }
}

static int count_step (void *arg)
{
    ++*(unsigned *)arg;
    return 0;
}

/* Enter 'n' files of one capture; what the last one costs, in instructions of
 * SQLite.
 */
static unsigned cost_of_file (struct root *r, struct ledger_item *item,
                              unsigned n)
{
    unsigned entered = 0, steps = 0;

    assert_int_equal (ledger_begin (r->l, NULL), 0);
    while (entered < n) {
        steps = 0;
        (void)snprintf (item->path, sizeof (item->path), "f%u", entered++);
        sqlite3_progress_handler (r->l->db, 1, count_step, &steps);
        assert_int_equal (ledger_add_item (r->l, item, NULL), 1);
        sqlite3_progress_handler (r->l->db, 0, NULL, NULL);
    }
    ledger_rollback (r->l);
    return steps;
}

/* A capture of 20,000 files would take hours if each file looked at all. */
static void test_many_files (void **state)
{
    struct root *r = *state;
    struct ledger_item item = of_place (A, "c", "one", 9);
    unsigned few;

    item.kind = ITEM_RAW;
    assert_int_equal (give (r, A, "c", 9, "job"), 1);
    few = cost_of_file (r, &item, 20);
    assert_true (few > 0);
    assert_true (cost_of_file (r, &item, 500) < 2 * few);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_places), ROOT_TEST (test_given),
        ROOT_TEST (test_raw_follows), ROOT_TEST (test_rebuilds),
        ROOT_TEST (test_records), ROOT_TEST (test_damage),
        ROOT_TEST (test_senders), ROOT_TEST (test_shared_directory),
        ROOT_TEST (test_sender_of_given), ROOT_TEST (test_many_files),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
