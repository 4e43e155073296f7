/* tests/unit/agent/test_spool_migrate.c - spools of older versions */
#include "spool_check.h"

#include "guard/manifest.h"
#include "spool/releases.h"

#include <sqlite3.h>
#include <sys/stat.h>

/* As version 1 made it; the contents are those of "0123456789" and "raw". */
static const char old_sql[] =
    "CREATE TABLE sealed (capture_path TEXT, fingerprint TEXT,"
    " PRIMARY KEY (capture_path, fingerprint));"
    "CREATE TABLE item (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " kind INTEGER NOT NULL, rank INTEGER NOT NULL, capture TEXT NOT NULL,"
    " path TEXT NOT NULL, file TEXT NOT NULL, size INTEGER NOT NULL,"
    " content BLOB NOT NULL, state TEXT NOT NULL, why TEXT);"
    "CREATE INDEX item_state ON item(state, id);"
    "CREATE TABLE said (rank INTEGER, type TEXT, packet TEXT,"
    " PRIMARY KEY (rank, type));"
    "INSERT INTO said VALUES (4, 'hello', '{}');"
    "INSERT INTO sealed VALUES ('/done_pt', 'v1'), ('%w', 'v1'),"
    " ('/lost_pt', 'v1');"
    "INSERT INTO item VALUES"
    " (1, 1, 0, 'done_pt', '', '%w/shipment-1-0', 10, x'%w', 'durable', NULL),"
    " (2, 1, 4, 'capture', '', '%w/shipment-1-1', 10, x'%w', 'sealed', NULL),"
    " (3, 2, 4, 'capture', 'x', '%w/x', 3, x'%w', 'sealed', NULL),"
    " (4, 1, 5, 'lost_pt', '', '%w/shipment-1-2', 10, x'%w', 'sealed', NULL);"
    "PRAGMA user_version=1;";

static void id_of (const char *text, char hex[DIGEST_HEX_SIZE])
{
    struct content_hash h;
    struct digest id;

    content_hash_init (&h);
    assert_int_equal (content_hash_add (&h, text, strlen (text)), 0);
    assert_int_equal (content_hash_end (&h, &id), 0);
    digest_hex (&id, hex);
    content_hash_fini (&h);
}

static void make_old (struct fixture *f)
{
    char path[PATH_MAX], rows[DIGEST_HEX_SIZE], raw[DIGEST_HEX_SIZE];
    sqlite3 *db;
    char *sql;

    spool_close (f->s);
    f->s = NULL;
    assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
    assert_int_equal (mkdir (f->spool, 0700), 0);
    id_of ("0123456789", rows);
    id_of ("raw", raw);
    sql = sqlite3_mprintf (old_sql, f->raw, f->spool, rows, f->spool, rows,
                           f->raw, raw, f->spool, rows);
    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close (db);
    sqlite3_free (sql);
    assert_true (fileio_join (path, sizeof (path), f->spool, "shipment-1-1"));
    assert_int_equal (fileio_replace (path, "0123456789", 10, 0600, NULL), 0);
    assert_true (fileio_join (path, sizeof (path), f->raw, "x"));
    assert_int_equal (fileio_replace (path, "raw", 3, 0600, NULL), 0);
}

static void nothing_to_say (void *arg, int64_t rank, const char *packet)
{
    (void)packet;
    *(int64_t *)arg = rank;
}

/* What was to be delivered is, from its new place; what was delivered is known;
 * of what is lost the capture is sealed again.
 */
static void test_migrate (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    int64_t rank = 0;

    make_old (f);
    spool_reopen_new (f);
    assert_null (spool_set_aside (f->s));
    assert_int_equal (spool_undelivered (f->s), 2);
    assert_true (spool_knows (f->s, "/done_pt", "v1"));
    assert_true (spool_knows (f->s, f->raw, "v1"));
    assert_false (spool_knows (f->s, "/lost_pt", "v1"));
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_string_equal (got.capture, "capture");
    assert_int_equal (got.rank, 4);
    assert_int_equal (access (got.file, F_OK), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 1);
    assert_int_equal (access (got.file, F_OK), 0);
    assert_int_equal (spool_files (f, "."), 4);  // lock, ledger, WAL, shipment
    assert_int_equal (spool_each_said (f->s, nothing_to_say, &rank, NULL), 0);
    assert_int_equal (rank, 4);
    spool_close (f->s);
    f->s = NULL;
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), 0);
}

/* fsck brings a ledger to this version, too: what waits is still delivered. */
static void test_check_first (void **state)
{
    struct fixture *f = *state;

    make_old (f);
    assert_true (spool_check (f->spool, false, NULL, NULL, NULL) >= 0);
    spool_reopen_new (f);
    assert_int_equal (spool_undelivered (f->s), 2);
    assert_true (spool_knows (f->s, f->raw, "v1"));
}

/* Version 1 that is not what it was: set aside, not believed. */
static void test_not_old (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    sqlite3 *db;

    make_old (f);
    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, "DROP TABLE sealed", NULL, NULL, NULL),
                      SQLITE_OK);
    (void)sqlite3_close (db);
    spool_reopen_new (f);
    assert_non_null (spool_set_aside (f->s));
    assert_int_equal (spool_undelivered (f->s), 0);
}

/* A delivered capture that may be released, with a raw file or without one, as
 * versions before 4 noted it; then 'change'.
 */
static void put_release (struct fixture *f, const char *raw,
                         const char *change)
{
    static const enum item_kind kinds[] = { ITEM_ROWS, ITEM_RAW };
    struct spool_item got;
    struct buf manifest;
    char path[PATH_MAX];
    sqlite3 *db;

    (void)spool_put (f, f->raw, "v1", "0123456789", raw, false);
    buf_init (&manifest, MANIFEST_MAX);
    buf_printf (&manifest, "of a test");
    assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_KEPT,
                                         raw ? 2 : 1, &manifest, 1, NULL), 0);
    buf_fini (&manifest);
    for (int i = 0; i < (raw ? 2 : 1); i++) {
        assert_int_equal (spool_next (f->s, kinds[i], 0, &got, NULL), 1);
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    }
    spool_close (f->s);
    f->s = NULL;
    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, change, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close (db);
}

/* That it is kept so, and is to be believed if 'good'. */
static void expect_kept (struct fixture *f, enum release_state kept,
                         bool good)
{
    const enum release_state other =
        kept == RELEASE_KEPT ? RELEASE_KEPT_ROWS : RELEASE_KEPT;
    struct released r;

    for (int i = 0; i < 2; i++) {       // also when it has been migrated
        spool_reopen_new (f);
        assert_null (spool_set_aside (f->s));
        assert_int_equal (spool_next_release (f->s, other, 0, 9, &r, NULL), 0);
        assert_int_equal (spool_next_release (f->s, kept, 0, 9, &r, NULL), 1);
        assert_int_equal (r.why == NULL, good);
        assert_string_equal (r.path, f->raw);
        buf_fini (&r.manifest);
        spool_close (f->s);
        f->s = NULL;
    }
}

#define AS_VERSION_3 "DROP INDEX capture_name; PRAGMA user_version=3"
#define AS_VERSION_2 "ALTER TABLE release DROP COLUMN sum; " AS_VERSION_3 "; " \
    "PRAGMA user_version=2"

/* What may be released in a spool of an older version may be in this one: with
 * --raw only that of which the raw files were delivered.
 */
static void test_version_2 (void **state)
{
    put_release (*state, NULL, AS_VERSION_2);
    expect_kept (*state, RELEASE_KEPT_ROWS, true);
}

static void test_version_2_raw (void **state)
{
    put_release (*state, "raw", AS_VERSION_2);
    expect_kept (*state, RELEASE_KEPT, true);
}

static void test_version_3 (void **state)
{
    put_release (*state, NULL, AS_VERSION_3);
    expect_kept (*state, RELEASE_KEPT_ROWS, true);
}

static void test_version_3_raw (void **state)
{
    put_release (*state, "raw", AS_VERSION_3);
    expect_kept (*state, RELEASE_KEPT, true);
}

/* Migrating must not make a damaged row one that is believed. */
static void test_version_3_damaged (void **state)
{
    put_release (*state, NULL, "UPDATE release SET sealed_ns=0; "
                 AS_VERSION_3);
    expect_kept (*state, RELEASE_KEPT, false);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_migrate), TEST (test_check_first), TEST (test_not_old),
        TEST (test_version_2),
        TEST (test_version_2_raw), TEST (test_version_3),
        TEST (test_version_3_raw), TEST (test_version_3_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
