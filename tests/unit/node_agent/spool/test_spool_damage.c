/* tests/unit/node_agent/spool/test_spool_damage.c - a spool with flipped bytes
 *
 * SQLite alone misses a third of them; and what is in the files it does not
 * know at all.
 */
#include "node_agent/spool/spool_check.h"

#include "disk/release.h"
#include "spool/release_rows.h"
#include "spool/spool_private.h"

#include <endian.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct found {
    int n;
    char file[PATH_MAX], what[ERR_TEXT_MAX], done[ERR_TEXT_MAX];
};

static void keep_fault (void *arg, const char *file, const char *what,
                        const char *done)
{
    struct found *found = arg;

    found->n++;
    (void)snprintf (found->file, sizeof (found->file), "%s", file);
    (void)snprintf (found->what, sizeof (found->what), "%s", what);
    (void)snprintf (found->done, sizeof (found->done), "%s", done);
}

static int check (struct fixture *f, bool repair, struct found *found)
{
    struct err err = { "" };
    int rc;

    spool_close (f->s);
    f->s = NULL;
    memset (found, 0, sizeof (*found));
    rc = spool_check (f->spool, repair, keep_fault, found, &err);
    if (rc < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (rc, found->n);
    return rc;
}

static void path_in (struct fixture *f, const char *name, char out[PATH_MAX])
{
    assert_true (fileio_join (out, PATH_MAX, f->spool, name));
}

static void test_clean (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    struct found found;

    (void)spool_put (f, f->raw, "v1", "1234567", "raw", true);
    (void)spool_put (f, "/b", "v1", "another", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    assert_int_equal (spool_keep_report (f->s, 1, "hello", "{}", NULL), 0);
    assert_int_equal (check (f, false, &found), 0);
    assert_int_equal (check (f, true, &found), 0);
    assert_int_equal (spool_check (f->raw, false, NULL, NULL, NULL), -ENOENT);
}

/* Something else where the ledger was: it is set aside, and named. */
static void test_no_ledger (void **state)
{
    static const char *const kinds[] = { "directory", "link", "database" };
    struct fixture *f = *state;
    struct err err = { "" };
    char path[PATH_MAX], away[PATH_MAX];

    path_in (f, SPOOL_LEDGER, path);
    path_in (f, "away", away);
    for (size_t i = 0; i < sizeof (kinds) / sizeof (kinds[0]); i++) {
        sqlite3 *db = NULL;

        (void)spool_put (f, f->raw, "v1", "1234567", NULL, false);
        spool_close (f->s);
        f->s = NULL;
        assert_int_equal (rename (path, away), 0);
        if (i == 0)
            assert_int_equal (mkdir (path, 0700), 0);
        else if (i == 1)
            assert_int_equal (symlink (away, path), 0);
        else
            assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
        if (db)
            assert_int_equal (sqlite3_exec (db, "CREATE TABLE mail (a)", NULL,
                                            NULL, NULL), SQLITE_OK);
        assert_int_equal (sqlite3_close (db), SQLITE_OK);
        if (spool_open (f->spool, &f->s, &err) < 0)
            fail_msg ("%s: %s", kinds[i], err.text);
        assert_non_null (spool_set_aside (f->s));
        assert_non_null (strstr (spool_set_aside (f->s),
                                 i < 2 ? "not a regular file"
                                       : "a database of another program"));
        (void)unlink (away);
    }
}

/* Any byte of a shipment. */
static void test_shipment (void **state)
{
    struct fixture *f = *state;
    struct found found;
    char path[PATH_MAX];
    uint64_t id = spool_put (f, f->raw, "v1", "0123456789", NULL, false);

    (void)spool_put (f, "/b", "v1", "another", NULL, false);
    spool_path_of (f, id, 0, path);
    for (long at = 0; at < 10; at++) {
        spool_flip (path, at, 0x10);
        assert_int_equal (check (f, false, &found), 1);
        assert_non_null (strstr (found.file, "-0"));
        assert_string_equal (found.done, "");
        spool_flip (path, at, 0x10);
    }
    assert_int_equal (check (f, false, &found), 0);
    spool_flip (path, 3, 1);
    assert_int_equal (check (f, true, &found), 1);
    assert_int_equal (check (f, true, &found), 0);
    assert_int_equal (spool_files (f, "quarantine"), 2);
    spool_reopen (f);
    assert_false (spool_knows (f->s, f->raw, "v1"));    // sealed again
    assert_int_equal (spool_undelivered (f->s), 1);     // the other goes on
}

/* SQLite takes a column from an index if that has it: a key that is another one
 * in the row only must not look good where a capture is looked up by it.  It
 * would not be read again, and what is in the spool of it not be delivered.
 */
static void test_key (void **state)
{
    struct fixture *f = *state;
    unsigned char data[65536], needle[] = "12345678a_pt";
    const unsigned char *at;
    char path[PATH_MAX];
    ssize_t size;
    uint64_t key;
    int fd;

    (void)spool_put (f, f->raw, "v1", "1234567", NULL, false);
    key = htobe64 ((uint64_t)db_int (f->s->db, "SELECT key FROM capture", 0));
    memcpy (needle, &key, sizeof (key));        // the name is behind it
    spool_sql (f, "VACUUM");
    path_in (f, "ledger.db", path);
    assert_true ((fd = open (path, O_RDONLY)) >= 0);
    assert_true ((size = read (fd, data, sizeof (data))) > 0);
    (void)close (fd);
    at = memmem (data, (size_t)size, needle, sizeof (needle) - 1);
    assert_non_null (at);
    spool_flip (path, at - data, 0xff);
    spool_reopen (f);
    assert_false (spool_knows (f->s, f->raw, "v1"));
}

static void test_orphan (void **state)
{
    struct fixture *f = *state;
    struct found found;
    char path[PATH_MAX];
    uint64_t id = spool_put (f, f->raw, "v1", "0123456789", NULL, false);

    spool_path_of (f, id + 1, 0, path);
    assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
    assert_int_equal (check (f, true, &found), 1);
    assert_non_null (strstr (found.what, "no row"));
    assert_int_equal (access (path, F_OK), -1);
    assert_int_equal (check (f, false, &found), 0);
    path_in (f, "items/file", path);            // where directories are
    assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
    assert_int_equal (check (f, true, &found), 1);
    assert_string_equal (found.file, "items/file");
    assert_int_equal (check (f, false, &found), 0);
}

/* Each member of a row is covered by its checksum. */
static void test_rows (void **state)
{
    static const char *const damage[] = {
        "UPDATE item SET size=size+1 WHERE kind=1",
        "UPDATE item SET content=zeroblob(32) WHERE kind=1",
        "UPDATE item SET capture=capture+1 WHERE kind=1",
        "UPDATE item SET number=9 WHERE kind=1",
        "UPDATE item SET path='../x' WHERE kind=2",
        "UPDATE item SET state=5 WHERE kind=2",
        "UPDATE item SET sum=sum+1 WHERE kind=1",
        "UPDATE capture SET rank=3",
        "UPDATE capture SET name='b_pt'",
        "UPDATE capture SET path='/elsewhere'",
        "UPDATE capture SET fingerprint='v2'",
        "UPDATE tally SET items=7",
        "DELETE FROM item WHERE kind=1",
        "DELETE FROM capture",
        "UPDATE chunks SET hashes=zeroblob(64)",
        "UPDATE chunks SET first=1024",
    };
    struct fixture *f = *state;
    char *big = malloc ((1 << 20) + 2);

    memset (big, 'x', (1 << 20) + 1);
    big[(1 << 20) + 1] = '\0';
    for (size_t i = 0; i < sizeof (damage) / sizeof (damage[0]); i++) {
        struct found found;
        struct spool_item got;

        (void)spool_put (f, f->raw, "v1", "0123456789", big, true);
        spool_sql (f, damage[i]);
        if (check (f, false, &found) == 0)
            fail_msg ("not noticed: %s", damage[i]);
        assert_true (check (f, true, &found) > 0);
        if (check (f, false, &found) > 0)
            fail_msg ("%s: not repaired: %s: %s", damage[i], found.file,
                      found.what);
        spool_reopen (f);
        // what was not damaged is delivered, then all of it once more
        while (spool_next (f->s, ITEM_ROWS, 0, &got, NULL) > 0)
            assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
        while (spool_next (f->s, ITEM_RAW, 0, &got, NULL) > 0)
            assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
        assert_int_equal (spool_undelivered (f->s), 0);
        spool_close (f->s);
        assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
        spool_reopen_new (f);
    }
    free (big);
}

/* A capture of which the row is removed is sealed again, and what is lost of it
 * then is noted then; one that is not there is not.
 */
static void test_row_of_loss (void **state)
{
    static const struct spool_left_out left_out = { 1, "deep: no" };
    struct fixture *f = *state;
    const char *paths[] = { f->raw, "/b" };
    char file[PATH_MAX];
    struct found found;
    uint64_t id;

    assert_int_equal (fileio_mkdirs (f->raw, 0700, NULL), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal (spool_settle (f->s, paths[i], "v1", &id, NULL), 0);
        assert_int_equal (spool_file (f->s, id, 0, file, NULL), 0);
        assert_int_equal (spool_seal (f->s, id, "a_pt", i, NULL, 0, left_out,
                                      NULL, NULL), 0);
    }
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 2);
    spool_sql (f, "UPDATE capture SET sum=sum+1");
    assert_int_equal (check (f, true, &found), 2);
    spool_reopen (f);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 1);
    assert_false (spool_note (f->s, "lost 1", found.what, sizeof (found.what)));
    assert_true (spool_note (f->s, "lost 2", found.what, sizeof (found.what)));
}

/* Without fsck: a row that is not to be believed is never offered. */
static void test_next (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;

    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    (void)spool_put (f, "/b", "v1", "another", NULL, false);
    spool_sql (f, "UPDATE item SET size=9 WHERE id=1");
    spool_reopen (f);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_int_equal (got.size, 7);
    assert_int_equal (f->again, 1);
    assert_string_equal (f->again_path, f->raw);
    assert_false (spool_knows (f->s, f->raw, "v1"));
}

/* A ledger that was found to be damaged is not believed by a later start, also
 * if the one before could not set it aside.
 */
static void test_condemned (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct spool *s = NULL;
    struct rlimit was, nothing;

    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    spool_close (f->s);
    f->s = NULL;
    path_in (f, "condemned", path);
    assert_int_equal (fileio_replace (path, "bad", 3, 0600, NULL), 0);
    assert_int_equal (getrlimit (RLIMIT_FSIZE, &was), 0);
    nothing = (struct rlimit){ 0, was.rlim_max };
    (void)signal (SIGXFSZ, SIG_IGN);
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &nothing), 0);
    assert_true (spool_open (f->spool, &s, NULL) < 0);  // no reason written
    assert_int_equal (setrlimit (RLIMIT_FSIZE, &was), 0);
    spool_reopen_new (f);
    assert_non_null (spool_set_aside (f->s));
    assert_false (spool_knows (f->s, f->raw, "v1"));
    spool_reopen (f);
    assert_null (spool_set_aside (f->s));
}

/* A row that is damaged does not say whose it is: of nobody's, or of another
 * capture's.  That one is to be delivered as before.
 */
static void test_stray (void **state)
{
    static const char *const damage[] = {
        "UPDATE item SET capture=-4 WHERE id=1",
        "UPDATE item SET capture=2 WHERE id=1",
    };
    struct fixture *f = *state;
    struct spool_item got;
    struct found found;

    for (size_t i = 0; i < sizeof (damage) / sizeof (damage[0]); i++) {
        (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
        (void)spool_put (f, "/b", "v1", "another", NULL, false);
        spool_sql (f, damage[i]);
        spool_reopen (f);
        f->again = 0;
        assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
        assert_int_equal (got.size, 7);
        assert_int_equal (f->again, 1);
        assert_string_equal (f->again_path, f->raw);
        assert_false (spool_knows (f->s, f->raw, "v1"));
        assert_true (spool_knows (f->s, "/b", "v1"));
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
        assert_int_equal (spool_undelivered (f->s), 0);
        // its file is left, of which fsck knows what to do
        assert_int_equal (check (f, true, &found), 1);
        assert_int_equal (check (f, false, &found), 0);
        spool_close (f->s);
        assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
        spool_reopen_new (f);
    }
}

/* One bit makes an item that waits one that was delivered, and nobody asks for
 * it any more: the tallies tell that one is missing.
 */
static void test_looks_delivered (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;

    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    spool_sql (f, "UPDATE item SET state=6 WHERE id=1");
    spool_reopen (f);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 0);
    assert_true (spool_undelivered (f->s) > 0);
    assert_int_equal (spool_recount (f->s, NULL), 0);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (f->again, 1);
    assert_string_equal (f->again_path, f->raw);
    assert_false (spool_knows (f->s, f->raw, "v1"));
    assert_int_equal (spool_recount (f->s, NULL), 0);
    assert_int_equal (f->again, 1);
}

static int release (struct fixture *f)
{
    const struct release_policy p = { .kind = RELEASE_SHIPPED,
                                      .rows_suffice = true };
    char path[PATH_MAX];

    return release_next (f->s, &p, false, 9, path, NULL);
}

/* A capture is only removed by rows that are as they were written: with one
 * flipped bit an item that nobody has looks delivered, or none is asked for.
 */
static void test_release (void **state)
{
    static const struct {
        unsigned delivered;     // of 2 items
        const char *damage;
    } cases[] = {
        { 1, "UPDATE item SET state=6 WHERE kind=2" },
        { 1, "UPDATE item SET state=7 WHERE kind=2" },
        { 1, "DELETE FROM item WHERE kind=2" },
        { 0, "DELETE FROM item" },
        { 0, "UPDATE release SET first_item=first_item+64" },
        { 0, "UPDATE release SET last_item=last_item-64" },
        { 1, "UPDATE release SET last_item=first_item" },
        { 0, "UPDATE release SET state=1" },
        { 2, "UPDATE release SET sealed_ns=0" },
        { 2, "UPDATE release SET manifest=zeroblob(9)" },
        { 2, "UPDATE release SET path=path || 'x'" },
        { 2, "UPDATE release SET state=5" },
        { 2, "UPDATE release SET sum=sum+1" },
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct found found;

        spool_put_releasable (f, cases[i].delivered);
        spool_sql (f, cases[i].damage);
        if (check (f, false, &found) == 0)
            fail_msg ("not noticed: %s", cases[i].damage);
        spool_reopen (f);
        (void)release_repair (f->s, NULL);
        if (release (f) > 0 || access (f->raw, F_OK) < 0)
            fail_msg ("removed after: %s", cases[i].damage);
        // and it is forgotten, not looked at for ever
        assert_int_equal (release (f), 0);
        assert_false (release_claims (f->s, f->raw, true));
        assert_true (check (f, true, &found) >= 0);
        assert_int_equal (check (f, false, &found), 0);
        assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
        assert_int_equal (fileio_remove_tree (f->raw, NULL), 0);
        spool_reopen_new (f);
    }
    // without damage it goes: else the above shows nothing
    spool_put_releasable (f, 1);
    assert_int_equal (release (f), 0);
    assert_int_equal (access (f->raw, F_OK), 0);
    spool_close (f->s);
    assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
    assert_int_equal (fileio_remove_tree (f->raw, NULL), 0);
    spool_reopen_new (f);
    spool_put_releasable (f, 2);
    assert_int_equal (release (f), 1);
    assert_int_equal (access (f->raw, F_OK), -1);
    assert_int_equal (release (f), 0);
}

/* Garbage instead of a ledger, or one that was condemned: set aside, and the
 * spool is as new.
 */
static void test_ledger (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    spool_mark_damaged (f->s, "test");
    spool_reopen (f);
    assert_non_null (spool_set_aside (f->s));
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_false (spool_knows (f->s, f->raw, "v1"));
    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    spool_reopen (f);
    assert_null (spool_set_aside (f->s));
    assert_int_equal (spool_undelivered (f->s), 1);
    spool_close (f->s);
    path_in (f, "ledger.db", path);
    assert_int_equal (fileio_replace (path, "garbage, and more of it", 23,
                                      0600, NULL), 0);
    spool_reopen_new (f);
    assert_non_null (spool_set_aside (f->s));
    (void)spool_put (f, f->raw, "v1", "0123456789", NULL, false);
    assert_int_equal (spool_undelivered (f->s), 1);
}

/* Every 211th byte of a small ledger (with ROLLCALL_EVERY_BYTE each: minutes),
 * one bit: noticed and repaired, or without effect; no crash, and everything is
 * delivered in the end.
 */
static void test_every_byte (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct buf bytes;
    size_t step = getenv ("ROLLCALL_EVERY_BYTE") ? 1 : 211;
    unsigned noticed = 0, silent = 0;

    (void)spool_put (f, f->raw, "v1", "0123456789", "raw", true);
    (void)spool_put (f, "/b", "v1", "another", NULL, false);
    spool_close (f->s);
    f->s = NULL;
    path_in (f, "ledger.db", path);
    buf_init (&bytes, 1 << 20);
    assert_int_equal (fileio_read_at (AT_FDCWD, path, &bytes, NULL), 0);
    for (size_t at = 0; at < bytes.size; at += step) {
        struct spool_item got = { .id = 0 };
        struct found found = { .n = 0 };
        struct err err = { "" };
        unsigned n = 0;
        int rc;

        assert_int_equal (fileio_replace (path, bytes.data, bytes.size, 0600,
                                          NULL), 0);
        spool_flip (path, (long)at, (unsigned char)(1u << (at % 8)));
        rc = spool_check (f->spool, false, keep_fault, &found, &err);
        noticed += rc != 0;
        if (rc != 0)
            continue;
        silent++;               // then every answer is the right one
        assert_int_equal (spool_open (f->spool, &f->s, NULL), 0);
        while (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL) == 1) {
            assert_true (got.size == 10 || got.size == 7);
            assert_int_equal (got.rank, 2);
            n++;
        }
        if (n != 2)
            fail_msg ("byte %zu: %u items: %s", at, n,
                      spool_set_aside (f->s) ? spool_set_aside (f->s) : "");
        assert_int_equal (spool_undelivered (f->s), 3);
        assert_true (spool_knows (f->s, f->raw, "v1"));
        spool_close (f->s);
        f->s = NULL;
    }
    buf_fini (&bytes);
    print_message ("flips noticed %u, without effect %u\n", noticed, silent);
    assert_true (noticed > 0);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_clean), TEST (test_no_ledger), TEST (test_shipment),
        TEST (test_key),
        TEST (test_orphan),
        TEST (test_rows), TEST (test_row_of_loss), TEST (test_next), TEST (test_stray),
        TEST (test_condemned),
        TEST (test_looks_delivered), TEST (test_release), TEST (test_ledger),
        TEST (test_every_byte),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
