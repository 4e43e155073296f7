/* tests/unit/intake/test_ledger.c - ledger and store of the aggregator */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fileio.h"
#include "intake/store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX / 2], db[PATH_MAX];
    struct ledger *l;
    struct store *s;
};

static void open_both (struct fixture *f)
{
    assert_int_equal (ledger_open (f->db, &f->l, NULL), 0);
    assert_int_equal (store_open (f->dir, f->l, &f->s, NULL), 0);
}

static void close_both (struct fixture *f)
{
    store_close (f->s);
    ledger_close (f->l);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-ledger-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->db, sizeof (f->db), "%s/ledger.db", f->dir);
    open_both (f);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    close_both (f);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static struct ledger_item item_of (const char *capture, uint8_t content)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .rank = 4 };

    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (item.host, sizeof (item.host), "n0");
    memset (item.content.bytes, content, DIGEST_SIZE);
    return item;
}

/* Store some bytes as an item, committed; whether it was new. */
static int enter (struct fixture *f, struct ledger_item item,
                  const char *bytes)
{
    int rc;

    assert_int_equal (store_append (f->s, &item, bytes, strlen (bytes), NULL),
                      0);
    assert_int_equal (store_sync (f->s, NULL), 0);
    assert_int_equal (ledger_begin (f->l, NULL), 0);
    assert_int_equal (ledger_add_content (f->l, &item.content, &item.place,
                                          NULL), 0);
    rc = ledger_add_item (f->l, &item, NULL);
    assert_true (rc >= 0);
    assert_int_equal (store_account (f->s, f->l, NULL), 0);
    assert_int_equal (ledger_commit (f->l, NULL), 0);
    store_committed (f->s);
    return rc;
}

static int deliver (struct fixture *f, const char *capture, uint8_t content,
                    const char *bytes)
{
    return enter (f, item_of (capture, content), bytes);
}

struct count {
    unsigned n, superseded;
};

static int count_item (void *arg, const struct ledger_item *item)
{
    struct count *c = arg;

    c->n++;
    c->superseded += item->superseded;
    return 0;
}

static struct count count_all (struct fixture *f)
{
    struct count c = { 0, 0 };

    assert_int_equal (ledger_each (f->l, "j", ITEM_ROWS, count_item, &c, NULL),
                      0);
    return c;
}

/* Sending anything again is harmless. */
static void test_twice (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (deliver (f, "a", 1, "bytes"), 1);
    assert_int_equal (deliver (f, "a", 1, "bytes"), 0);
    assert_int_equal (count_all (f).n, 1);
}

/* A capture that was analysed again supersedes its older self, and may come
 * back to what it was.
 */
static void test_supersede (void **state)
{
    struct fixture *f = *state;
    struct count c;

    (void)deliver (f, "a", 1, "old");
    (void)deliver (f, "a", 2, "new");
    (void)deliver (f, "b", 3, "other");
    c = count_all (f);
    assert_int_equal (c.n, 3);
    assert_int_equal (c.superseded, 1);
    (void)deliver (f, "a", 1, "old");
    c = count_all (f);
    assert_int_equal (c.n - c.superseded, 2);
}

/* One version of a capture: its content, and when it was written to. */
static int deliver_version (struct fixture *f, uint8_t content,
                            int64_t newest_ns)
{
    struct ledger_item item = item_of ("a", content);

    item.newest_ns = newest_ns;
    return enter (f, item, "bytes");
}

struct counting {
    uint8_t content;            // of the one that counts
    unsigned n, rows;
};

static int note_counting (void *arg, const struct ledger_item *item)
{
    struct counting *c = arg;

    c->rows++;
    if (!item->superseded) {
        c->n++;
        c->content = item->content.bytes[0];
    }
    return 0;
}

static void check_counting (struct fixture *f, uint8_t content, unsigned rows)
{
    struct counting c = { 0, 0, 0 };

    assert_int_equal (ledger_each (f->l, "j", ITEM_ROWS, note_counting, &c,
                                   NULL), 0);
    assert_int_equal (c.n, 1);
    assert_int_equal (c.content, content);
    assert_int_equal (c.rows, rows);
}

/* The latest version counts, in whatever order they come and however often:
 * small ones overtake large ones, acknowledgements get lost.
 */
static void test_versions (void **state)
{
    struct fixture *f = *state;

    assert_int_equal (deliver_version (f, 2, 20), 1);
    assert_int_equal (deliver_version (f, 1, 10), 1);
    check_counting (f, 2, 2);
    assert_int_equal (deliver_version (f, 1, 10), 0);
    assert_int_equal (deliver_version (f, 2, 20), 0);
    check_counting (f, 2, 2);
    assert_int_equal (deliver_version (f, 3, 30), 1);
    assert_int_equal (deliver_version (f, 2, 20), 0);
    check_counting (f, 3, 3);
    // the first one again, but written anew
    assert_int_equal (deliver_version (f, 1, 40), 1);
    check_counting (f, 1, 4);
    // the same, touched: an older one does not come between
    assert_int_equal (deliver_version (f, 1, 60), 0);
    assert_int_equal (deliver_version (f, 4, 50), 1);
    check_counting (f, 1, 5);
    close_both (f);
    open_both (f);              // which verifies all sums
    check_counting (f, 1, 5);
    // an agent that knows no times
    assert_int_equal (deliver_version (f, 5, 0), 1);
    check_counting (f, 1, 6);
}

static struct ledger_item raw_of (const char *path, uint8_t content,
                                  int64_t newest_ns)
{
    struct ledger_item item = item_of ("a", content);

    item.kind = ITEM_RAW;
    item.newest_ns = newest_ns;
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    return item;
}

static int add_path (void *arg, const struct ledger_item *item)
{
    char *paths = arg;

    if (!item->superseded)
        (void)strcat (strcat (paths, item->path), " ");
    return 0;
}

/* A capture comes back with the files of its newest version, not with those
 * that this one does not have any more.
 */
static void test_raw_versions (void **state)
{
    struct fixture *f = *state;
    char paths[64] = "";

    (void)enter (f, raw_of ("same", 1, 10), "same");
    (void)enter (f, raw_of ("gone", 2, 10), "gone");
    (void)enter (f, raw_of ("new", 3, 20), "new");
    (void)enter (f, raw_of ("same", 1, 20), "same");
    assert_int_equal (ledger_each (f->l, "j", ITEM_RAW, add_path, paths,
                                   NULL), 0);
    assert_string_equal (paths, "same new ");
}

/* An item with the hash that its bytes have. */
static struct ledger_item true_item (const char *capture, const char *bytes)
{
    struct ledger_item item = item_of (capture, 0);
    struct content_hash h;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, bytes, strlen (bytes)), 0);
    assert_int_equal (content_hash_end (&h, &item.content), 0);
    content_hash_fini (&h);
    return item;
}

static void check_bytes (struct fixture *f, const struct digest *id,
                         const char *want)
{
    struct ledger_place place;
    char text[64] = "";
    int fd;

    assert_int_equal (ledger_find_content (f->l, id, &place, NULL), 1);
    assert_int_equal (place.size, strlen (want));
    fd = store_read (f->s, id, &place, NULL);
    assert_true (fd >= 0);
    assert_int_equal (fileio_pread_all (fd, text, place.size,
                                        (off_t)place.offset), 0);
    assert_string_equal (text, want);
    (void)close (fd);
}

static off_t segment_size (struct fixture *f)
{
    char path[PATH_MAX];
    struct stat st;

    store_segment_path (f->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

static void cut_segment (struct fixture *f, off_t size)
{
    char path[PATH_MAX];

    store_segment_path (f->dir, 1, path);
    assert_int_equal (truncate (path, size), 0);
}

/* What was written whole before a crash came between it and the commit is
 * entered; what was not whole is cut off, and the next content does not lie
 * behind a hole.
 */
static void test_unacknowledged (void **state)
{
    struct fixture *f = *state;
    struct ledger_item a = true_item ("a", "first");
    struct ledger_item b = true_item ("b", "whole");
    struct ledger_item c = true_item ("c", "half"), d = true_item ("d", "new");
    struct ledger_place place;

    (void)enter (f, a, "first");
    assert_int_equal (store_append (f->s, &b, "whole", 5, NULL), 0);
    assert_int_equal (store_append (f->s, &c, "half", 4, NULL), 0);
    cut_segment (f, segment_size (f) - 1);
    close_both (f);
    open_both (f);
    assert_int_equal (count_all (f).n, 2);
    check_bytes (f, &a.content, "first");
    check_bytes (f, &b.content, "whole");
    assert_int_equal (ledger_find_content (f->l, &c.content, &place, NULL),
                      0);
    (void)enter (f, d, "new");
    close_both (f);
    open_both (f);
    assert_int_equal (count_all (f).n, 3);
    check_bytes (f, &d.content, "new");
}

/* What a commit that failed had appended is not found by the next life. */
static void test_revert (void **state)
{
    struct fixture *f = *state;
    struct ledger_item a = true_item ("a", "older"), b = a;

    assert_int_equal (store_append (f->s, &b, "older", 5, NULL), 0);
    store_revert (f->s);
    assert_int_equal (segment_size (f), 0);
    (void)enter (f, true_item ("a", "newer"), "newer");
    close_both (f);
    open_both (f);
    assert_int_equal (count_all (f).n, 1);
}

/* A segment that is shorter than the ledger knows: said, nothing is cut. */
static void test_short_segment (void **state)
{
    struct fixture *f = *state;
    struct err err = { "" };

    (void)enter (f, true_item ("a", "bytes"), "bytes");
    close_both (f);
    cut_segment (f, segment_size (f) - 1);
    assert_int_equal (ledger_open (f->db, &f->l, NULL), 0);
    f->s = NULL;
    assert_int_equal (store_open (f->dir, f->l, &f->s, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "cut short"));
}

/* A ledger that is gone while segments are there: nothing may be cut off as
 * unacknowledged.
 */
static void test_ledger_gone (void **state)
{
    struct fixture *f = *state;
    struct err err = { "" };
    off_t size;

    (void)enter (f, true_item ("a", "bytes"), "bytes");
    close_both (f);
    size = segment_size (f);
    assert_int_equal (unlink (f->db), 0);
    assert_int_equal (ledger_open (f->db, &f->l, NULL), 0);
    f->s = NULL;
    assert_int_equal (store_open (f->dir, f->l, &f->s, &err), -EBADMSG);
    assert_non_null (strstr (err.text, "fsck"));
    assert_int_equal (segment_size (f), size);
}

/* A transaction that fails half way leaves nothing. */
static void test_rollback (void **state)
{
    struct fixture *f = *state;
    struct ledger_item item = item_of ("a", 1);

    assert_int_equal (ledger_begin (f->l, NULL), 0);
    assert_int_equal (ledger_add_content (f->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (f->l, &item, NULL), 1);
    ledger_rollback (f->l);
    ledger_rollback (f->l);
    assert_int_equal (count_all (f).n, 0);
}

/* Larger content gets a file named by its hash; an unfinished one is kept as
 * far as the ledger knows of it.
 */
static void test_incoming (void **state)
{
    struct fixture *f = *state;
    struct ledger_place place = { 0, 0, 3 };
    struct digest kept, known, unknown;
    struct content_hash h;
    int fd;

    memset (kept.bytes, 7, DIGEST_SIZE);
    memset (known.bytes, 8, DIGEST_SIZE);
    memset (unknown.bytes, 9, DIGEST_SIZE);
    assert_int_equal (store_incoming_write (f->s, &kept, "abc", 3, 0, NULL),
                      0);
    assert_int_equal (store_keep (f->s, &kept, NULL), 0);
    assert_int_equal (store_incoming_write (f->s, &known, "de", 2, 0, NULL),
                      0);
    assert_int_equal (store_incoming_write (f->s, &unknown, "f", 1, 0, NULL),
                      0);
    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, "de", 2), 0);
    assert_int_equal (ledger_add_incoming (f->l, &known, 9, &h, 0, NULL), 0);
    assert_int_equal (content_hash_add (&h, "xy", 2), 0);
    assert_int_equal (ledger_add_incoming (f->l, &known, 9, &h, 1, NULL), 0);
    content_hash_fini (&h);
    close_both (f);
    open_both (f);
    fd = store_read (f->s, &kept, &place, NULL);
    assert_true (fd >= 0);
    (void)close (fd);
    assert_int_equal (store_incoming_size (f->s, &known), 2);
    assert_int_equal (store_incoming_size (f->s, &unknown), 0);
    assert_int_equal (ledger_find_incoming (f->l, &known, 9, &h, NULL), 1);
    assert_int_equal (h.n, 2);
    content_hash_fini (&h);
    // of another size it is not the same
    assert_int_equal (ledger_find_incoming (f->l, &known, 8, &h, NULL), 0);
    content_hash_fini (&h);
    assert_int_equal (ledger_drop_older_incoming (f->l, INT64_MAX, NULL), 0);
    assert_false (ledger_knows_incoming (f->l, &known));
}

/* The same item of another job, rank, name or kind. */
static void enter_as (struct fixture *f, const char *job, enum item_kind kind,
                      int64_t rank, const char *capture)
{
    struct ledger_item item = item_of (capture, 1);

    (void)snprintf (item.job, sizeof (item.job), "%s", job);
    item.kind = kind;
    item.rank = rank;
    assert_int_equal (enter (f, item, "bytes"), 1);
}

struct behind {
    char text[128];             // "job behind?, " of each
};

static int list_job (void *arg, const struct ledger_job *j)
{
    struct behind *b = arg;
    size_t used = strlen (b->text);

    (void)snprintf (b->text + used, sizeof (b->text) - used, "%s%s, ", j->id,
                    j->newest > j->built ? " behind" : "");
    return 0;
}

static void check_behind (struct fixture *f, enum item_kind last,
                          const char *want)
{
    struct behind b = { "" };

    assert_int_equal (ledger_each_job (f->l, last, list_job, &b, NULL), 0);
    assert_string_equal (b.text, want);
}

/* What a job's result was built of outlives the process. */
static void test_built (void **state)
{
    struct fixture *f = *state;

    assert_true (ledger_newest (f->l, "a", ITEM_RAW) == 0);
    enter_as (f, "a", ITEM_ROWS, 0, "x");
    enter_as (f, "b", ITEM_ROWS, 0, "x");
    check_behind (f, ITEM_ROWS, "a behind, b behind, ");
    assert_int_equal (ledger_set_built (f->l, "a",
                                        ledger_newest (f->l, "a", ITEM_ROWS),
                                        NULL), 0);
    check_behind (f, ITEM_ROWS, "a, b behind, ");
    close_both (f);
    open_both (f);
    check_behind (f, ITEM_ROWS, "a, b behind, ");
    enter_as (f, "a", ITEM_ROWS, 1, "x");
    check_behind (f, ITEM_ROWS, "a behind, b behind, ");
}

/* Raw files are no reason to build, unless they are part of the result. */
static void test_built_raw (void **state)
{
    struct fixture *f = *state;

    enter_as (f, "a", ITEM_ROWS, 0, "x");
    assert_int_equal (ledger_set_built (f->l, "a",
                                        ledger_newest (f->l, "a", ITEM_ROWS),
                                        NULL), 0);
    enter_as (f, "a", ITEM_RAW, 0, "x");
    enter_as (f, "b", ITEM_RAW, 0, "x");
    check_behind (f, ITEM_ROWS, "a, ");
    check_behind (f, ITEM_RAW, "a behind, b behind, ");
}

/* Who is expected: the largest number that was said, also to a former life. */
static void test_world_size (void **state)
{
    struct fixture *f = *state;

    assert_true (ledger_world_size (f->l, "a") == 0);
    assert_int_equal (ledger_set_world_size (f->l, "a", 8, NULL), 0);
    assert_int_equal (ledger_set_world_size (f->l, "a", 4, NULL), 0);
    assert_int_equal (ledger_set_built (f->l, "a", 1, NULL), 0);
    close_both (f);
    open_both (f);
    assert_true (ledger_world_size (f->l, "a") == 8);
    assert_true (ledger_world_size (f->l, "b") == 0);
}

static void exec (const char *db, const char *sql)
{
    sqlite3 *s = NULL;

    assert_int_equal (sqlite3_open (db, &s), SQLITE_OK);
    if (sqlite3_exec (s, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s: %s", sql, sqlite3_errmsg (s));
    (void)sqlite3_close (s);
}

/* What a ledger was before rows had checksums. */
static const char version1[] =
    "CREATE TABLE c AS SELECT id, segment, offset, size FROM content;"
    "CREATE TABLE i AS SELECT seq, job, kind, rank, capture, path, host, "
    "content, superseded, received_ns FROM item;"
    "DROP TABLE content;DROP TABLE item;DROP TABLE job;DROP TABLE segment;"
    "DROP TABLE total;DROP TABLE incoming;DROP TABLE clock;"
    "CREATE TABLE content (id BLOB PRIMARY KEY, segment INTEGER NOT NULL, "
    "offset INTEGER NOT NULL, size INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE item (seq INTEGER PRIMARY KEY, job TEXT NOT NULL, kind "
    "INTEGER NOT NULL, rank INTEGER NOT NULL, capture TEXT NOT NULL, path "
    "TEXT NOT NULL, host TEXT NOT NULL, content BLOB NOT NULL, superseded "
    "INTEGER NOT NULL DEFAULT 0, received_ns INTEGER NOT NULL);"
    "INSERT INTO content SELECT * FROM c;INSERT INTO item SELECT * FROM i;"
    "DROP TABLE c;DROP TABLE i;PRAGMA user_version=1";

/* A root of version 1 goes on, and describes itself from then on. */
static void test_older_ledger (void **state)
{
    struct fixture *f = *state;
    struct ledger_item a = true_item ("a", "older");
    int64_t segment;
    uint64_t end;

    (void)enter (f, a, "older");
    (void)enter (f, true_item ("a", "newer"), "newer");
    close_both (f);
    exec (f->db, version1);
    open_both (f);
    check_behind (f, ITEM_ROWS, "j behind, ");
    assert_true (ledger_world_size (f->l, "j") == 0);
    assert_int_equal (count_all (f).n, 2);
    assert_int_equal (count_all (f).superseded, 1);
    check_bytes (f, &a.content, "older");
    assert_int_equal (ledger_last_segment (f->l, &segment, &end, NULL), 0);
    assert_int_equal (segment, 2);
    assert_true (end > 0);
    close_both (f);
    open_both (f);
    (void)enter (f, true_item ("b", "other"), "other");
    assert_int_equal (count_all (f).n, 3);
}

static void test_newer_ledger (void **state)
{
    struct fixture *f = *state;
    struct err err = { "" };

    close_both (f);
    exec (f->db, "PRAGMA user_version=3");
    f->s = NULL;
    f->l = NULL;
    assert_int_equal (ledger_open (f->db, &f->l, &err), -ENOTSUP);
    assert_non_null (strstr (err.text, "newer rollcall"));
}

/* Whatever is changed in a row, or left out, is noticed when the ledger is
 * opened: SQLite itself notices none of these.
 */
static void test_damaged_rows (void **state)
{
    static const char *const damage[] = {
        "UPDATE item SET rank=5", "UPDATE item SET superseded=1",
        "UPDATE item SET capture='b'", "UPDATE item SET received_ns=1",
        "DELETE FROM item", "UPDATE content SET offset=offset+1",
        "UPDATE content SET size=3", "UPDATE job SET world_size=2",
        "UPDATE job SET built=9", "DELETE FROM job",
        "UPDATE segment SET end=0", "DELETE FROM total",
        "UPDATE total SET rows=7",
    };
    struct fixture *f = *state;
    char undo[PATH_MAX + 64], sql[128];

    (void)enter (f, true_item ("a", "bytes"), "bytes");
    assert_int_equal (ledger_set_world_size (f->l, "j", 8, NULL), 0);
    close_both (f);
    for (size_t i = 0; i < sizeof (damage) / sizeof (damage[0]); i++) {
        struct err err = { "" };

        (void)snprintf (undo, sizeof (undo), "VACUUM INTO '%s.%zu'", f->db, i);
        exec (f->db, undo);
        (void)snprintf (undo, sizeof (undo), "%s.%zu", f->db, i);
        (void)snprintf (sql, sizeof (sql), "%s", damage[i]);
        exec (undo, sql);
        if (ledger_open (undo, &f->l, &err) != -EBADMSG)
            fail_msg ("not noticed: %s (%s)", damage[i], err.text);
    }
    open_both (f);
}

/* One process writes while another reads what there was when it began. */
static void test_reader (void **state)
{
    struct fixture *f = *state, other = *f;

    assert_int_equal (ledger_open_read ("/nothing/here", &other.l, NULL),
                      -ENOENT);
    (void)enter (f, true_item ("a", "bytes"), "bytes");
    assert_int_equal (ledger_open_read (f->db, &other.l, NULL), 0);
    (void)enter (f, true_item ("b", "more"), "more");
    assert_int_equal (count_all (&other).n, 1);
    ledger_end_read (other.l);
    assert_int_equal (ledger_begin_read (other.l, NULL), 0);
    assert_int_equal (count_all (&other).n, 2);
    ledger_close (other.l);
}

static int list_shared (void *arg, const struct ledger_item *item)
{
    struct behind *b = arg;
    size_t used = strlen (b->text);

    (void)snprintf (b->text + used, sizeof (b->text) - used, "%s%lld%s, ",
                    item->capture, (long long)item->rank,
                    item->shared_name ? " shared" : "");
    return 0;
}

static void test_shared_name (void **state)
{
    struct fixture *f = *state;
    struct behind b = { "" };

    enter_as (f, "j", ITEM_ROWS, 0, "x");
    enter_as (f, "j", ITEM_ROWS, -1, "x");
    enter_as (f, "j", ITEM_ROWS, 0, "y");
    enter_as (f, "j", ITEM_RAW, 1, "y");        // of another kind
    enter_as (f, "k", ITEM_ROWS, 1, "y");       // of another job
    assert_int_equal (ledger_each (f->l, "j", ITEM_ROWS, list_shared, &b,
                                   NULL), 0);
    assert_string_equal (b.text, "x0 shared, x-1 shared, y0, ");
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_twice), TEST (test_supersede), TEST (test_versions),
        TEST (test_raw_versions), TEST (test_unacknowledged),
        TEST (test_rollback), TEST (test_incoming), TEST (test_built),
        TEST (test_built_raw), TEST (test_world_size),
        TEST (test_older_ledger), TEST (test_newer_ledger),
        TEST (test_shared_name), TEST (test_revert),
        TEST (test_short_segment), TEST (test_ledger_gone),
        TEST (test_damaged_rows), TEST (test_reader),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
