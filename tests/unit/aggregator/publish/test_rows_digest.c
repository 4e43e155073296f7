/* tests/unit/aggregator/publish/test_rows_digest.c - which results are equal */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/rows_digest.h"
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURES 40             // of three pieces

static char path[64];
static sqlite3 *db;

static void sql (const char *text)
{
    struct err err = { "" };

    if (db_exec (db, text, &err) < 0)
        fail_msg ("%s", err.text);
}

/* A result with rows of captures 1, 3, 5 ..., at id << 32. */
static void make (void)
{
    char text[1024];

    sql ("CREATE TABLE Job (key TEXT PRIMARY KEY, value TEXT);"
         "CREATE TABLE Capture (id INTEGER PRIMARY KEY, rank INTEGER);"
         "CREATE TABLE Ops (name TEXT, size NUMERIC, wait NUMERIC);"
         "CREATE TABLE Nobody (x);"
         "INSERT INTO Job VALUES ('job','j'), ('built_at','yesterday'),"
         " ('inputs','/here'), ('rollcall_version','1');BEGIN");
    for (int i = 0; i < CAPTURES; i++) {
        (void)snprintf (text, sizeof (text), "INSERT INTO Capture VALUES "
                        "(%d,%d);WITH n(k) AS (SELECT 0 UNION ALL SELECT k+1 "
                        "FROM n WHERE k<9) INSERT INTO Ops (rowid, name, size, "
                        "wait) SELECT (%d<<32)+k, printf ('op%%.*c', k*30, "
                        "'x'), k*1.5, NULL FROM n", 2 * i + 1, i, 2 * i + 1);
        sql (text);
    }
    sql ("COMMIT");
}

static int start (void **state)
{
    int fd;

    (void)state;
    (void)snprintf (path, sizeof (path), "/tmp/test_rows_digest-XXXXXX");
    if ((fd = mkstemp (path)) < 0)
        return -1;
    (void)close (fd);
    if (db_open (path, SQLITE_OPEN_READWRITE, &db) != SQLITE_OK)
        return -1;
    make ();
    return 0;
}

static int end (void **state)
{
    (void)state;
    (void)sqlite3_close (db);
    return unlink (path);
}

static struct digest digest (unsigned threads)
{
    struct err err = { "" };
    struct digest d;

    if (rows_digest (path, threads, NULL, &d, &err) < 0)
        fail_msg ("%s", err.text);
    return d;
}

/* Whether a change changes the digest. */
static bool matters (const char *change)
{
    struct digest before = digest (1), after;

    sql (change);
    after = digest (1);
    return !digest_is (&before, &after);
}

static void test_threads (void **state)
{
    struct digest one = digest (1);

    (void)state;
    for (unsigned n = 2; n <= 5; n++) {
        struct digest other = digest (n);

        assert_true (digest_is (&one, &other));
    }
}

/* What was built elsewhere, later, and into other pages is the same. */
static void test_same (void **state)
{
    (void)state;
    assert_false (matters ("UPDATE Job SET value='x' WHERE key IN ('built_at',"
                           "'inputs','rollcall_version')"));
    assert_false (matters ("DELETE FROM Job WHERE key='inputs'"));
    assert_false (matters ("DELETE FROM Ops;INSERT INTO Ops (rowid, name, "
                           "size, wait) SELECT (2*i+1<<32)+k, printf ('op%.*c',"
                           " k*30, 'x'), k*1.5, NULL FROM (SELECT rank AS i "
                           "FROM Capture ORDER BY 1 DESC), (WITH n(k) AS "
                           "(SELECT 0 UNION ALL SELECT k+1 FROM n WHERE k<9) "
                           "SELECT k FROM n)"));
}

static void test_other (void **state)
{
    (void)state;
    assert_true (matters ("UPDATE Ops SET size=size+1e-9 WHERE rowid=(7<<32)"
                          "+3"));
    assert_true (matters ("UPDATE Ops SET rowid=(8<<32) WHERE rowid=(7<<32)"));
    assert_true (matters ("UPDATE Ops SET name=CAST(name AS BLOB) WHERE "
                          "rowid=(9<<32)"));
    assert_true (matters ("DELETE FROM Ops WHERE rowid=(79<<32)+9"));
    assert_true (matters ("INSERT INTO Nobody VALUES (NULL)"));
    assert_true (matters ("UPDATE Job SET value='k' WHERE key='job'"));
    assert_true (matters ("ALTER TABLE Ops RENAME TO Others"));
}

/* A row that does not fit into a buffer counts with all of its bytes. */
static void test_large (void **state)
{
    (void)state;
    sql ("INSERT INTO Ops VALUES (zeroblob (300000), 1, 2)");
    assert_true (matters ("UPDATE Ops SET name=zeroblob (299999)||'x' WHERE "
                          "wait=2"));
    test_threads (state);
}

/* Blocks that are known are not read, and all that were found are given back. */
static void test_blocks (void **state)
{
    struct rows_blocks b = { NULL, 0 };
    struct digest whole = digest (1), d;
    size_t n, kept;

    (void)state;
    assert_int_equal (rows_digest_blocks (path, 1, NULL, &b, &d, NULL), 0);
    assert_true (digest_is (&d, &whole) && b.n > 40);
    n = b.n;
    for (unsigned threads = 1; threads <= 3; threads++) {
        for (size_t i = kept = 0; i < n; i++) {
            if (i % 3 != threads % 3)           // the others are not known
                b.list[kept++] = b.list[i];
        }
        b.n = kept;
        assert_int_equal (rows_digest_blocks (path, threads, NULL, &b, &d,
                                              NULL), 0);
        assert_true (digest_is (&d, &whole));
        assert_int_equal (b.n, n);
    }
    sql ("UPDATE Ops SET size=size+1 WHERE rowid=(7<<32)+3");
    assert_int_equal (rows_digest_blocks (path, 1, NULL, &b, &d, NULL), 0);
    assert_true (digest_is (&d, &whole));
    b.n = 0;
    assert_int_equal (rows_digest_blocks (path, 1, NULL, &b, &d, NULL), 0);
    assert_false (digest_is (&d, &whole));
    free (b.list);
}

static void test_cancel (void **state)
{
    atomic_bool cancel = true;
    struct err err;
    struct digest d;

    (void)state;
    assert_int_equal (rows_digest (path, 2, &cancel, &d, &err), -EINTR);
}

static void test_damaged (void **state)
{
    static const char zeros[512];
    int fd = open (path, O_WRONLY | O_CLOEXEC);
    off_t size = lseek (fd, 0, SEEK_END);
    struct err err = { "" };
    struct digest d;

    (void)state;
    // the beginning of the last page, which has rows of Ops
    assert_int_equal (pwrite (fd, zeros, sizeof (zeros), size - 4096),
                      sizeof (zeros));
    assert_int_equal (rows_digest (path, 2, NULL, &d, &err), -EBADMSG);
    assert_non_null (strstr (err.text, path));
    // half of a file; SQLite reads its schema
    assert_int_equal (ftruncate (fd, size / 2), 0);
    assert_int_equal (close (fd), 0);
    assert_int_equal (rows_digest (path, 2, NULL, &d, &err), -EIO);
    assert_non_null (strstr (err.text, path));
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)
    const struct CMUnitTest tests[] = {
        TEST (test_threads), TEST (test_same),   TEST (test_other),
        TEST (test_large),   TEST (test_blocks), TEST (test_cancel),
        TEST (test_damaged),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
