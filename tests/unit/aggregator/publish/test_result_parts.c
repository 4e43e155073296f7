/* tests/unit/aggregator/publish/test_result_parts.c - rows of ops in several
 * files, read as one table
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/result_parts.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define ID "0123456789abcdef"
#define RANKS 6                 // even ones in part 1, odd ones in part 2
#define ROWS 700                // of a rank

static char dir[64], main_db[128], part_db[2][192];
static sqlite3 *db;

static void run_sql (sqlite3 *to, const char *text)
{
    struct err err = { "" };

    if (db_exec (to, text, &err) < 0)
        fail_msg ("%s: %s", text, err.text);
}

static sqlite3 *open_new (const char *path)
{
    sqlite3 *made = NULL;

    assert_int_equal (db_open (path, SQLITE_OPEN_READWRITE |
                                         SQLITE_OPEN_CREATE, &made), 0);
    run_sql (made, "PRAGMA page_size=4096;PRAGMA application_id=0x524f4c4c;"
                   "BEGIN;" PARTS_SCHEMA);
    return made;
}

static void make_tables (sqlite3 *to)
{
    char columns[1024], sql[1200];

    for (unsigned t = 0; t < PARTS_TABLES; t++) {
        parts_columns (t, columns, sizeof (columns));
        (void)snprintf (sql, sizeof (sql), "CREATE TABLE %s (%s)",
                        parts_tables[t], columns);
        run_sql (to, sql);
    }
}

static void add_rank (sqlite3 *to, int rank)
{
    char sql[600];

    (void)snprintf (
        sql, sizeof (sql), "WITH n(k) AS (SELECT 0 UNION ALL SELECT k+1 FROM n "
        "WHERE k<%d) INSERT INTO CommAnalyzerTime (rowid, hccl_op_name, "
        "elapse_time, step, rank) SELECT (%lld<<32)+k, 'op'||k, k*1.5, "
        "'step'||(k%%3), %d FROM n", ROWS - 1, rank + 1LL, rank);
    run_sql (to, sql);
}

static void make_part (int part)
{
    sqlite3 *to = open_new (part_db[part]);
    char sql[200];

    make_tables (to);
    for (int rank = part; rank < RANKS; rank += 2)
        add_rank (to, rank);
    (void)snprintf (sql, sizeof (sql), "INSERT INTO Part (part, id) VALUES "
                    "(%d, '" ID "');COMMIT", part + 1);
    run_sql (to, sql);
    (void)sqlite3_close (to);
}

static long long size_of (const char *path)
{
    struct stat st;

    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

static void sum_of (const char *path, char hex[DIGEST_HEX_SIZE])
{
    struct page_sums sums = { .n = 0 };
    struct err err = { "" };

    if (publish_check_db (path, 1, &sums, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (parts_sum (&sums, hex), 0);
    page_sums_fini (&sums);
}

static void make_main (void)
{
    sqlite3 *to = open_new (main_db);
    char sql[400], sum[DIGEST_HEX_SIZE];

    for (int part = 0; part < 2; part++) {
        sum_of (part_db[part], sum);
        (void)snprintf (sql, sizeof (sql), "INSERT INTO Part (part, file, id, "
                        "bytes, sum, ranks) VALUES (%d, '%s', '" ID "', %lld, "
                        "'%s', '%d,...')", part + 1,
                        strrchr (part_db[part], '/') + 1,
                        size_of (part_db[part]), sum, part);
        run_sql (to, sql);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        (void)snprintf (sql, sizeof (sql), "INSERT INTO PartRange VALUES "
                        "(%d<<32, (%d<<32)-1, %d)", rank + 1, rank + 2,
                        rank % 2 + 1);
        run_sql (to, sql);
    }
    run_sql (to, "CREATE VIEW Ops AS SELECT rank, elapse_time FROM "
                 "CommAnalyzerTime;COMMIT");
    (void)sqlite3_close (to);
}

static int start (void **state)
{
    (void)state;
    (void)strcpy (dir, "/tmp/test_parts-XXXXXX");
    if (!mkdtemp (dir))
        return -1;
    (void)snprintf (main_db, sizeof (main_db), "%s/analysis.db", dir);
    for (int part = 0; part < 2; part++) {
        char name[NAME_MAX + 1];

        parts_name (name, ID, (unsigned)part + 1);
        (void)snprintf (part_db[part], sizeof (part_db[part]), "%s/%.60s", dir,
                        name);
        make_part (part);
    }
    make_main ();
    return 0;
}

static int end (void **state)
{
    (void)state;
    (void)sqlite3_close (db);
    db = NULL;
    return fileio_remove_tree (dir, NULL);
}

static void open_main (void)
{
    struct err err = { "" };

    (void)sqlite3_close (db);
    assert_int_equal (db_open (main_db, SQLITE_OPEN_READONLY, &db), 0);
    db_harden (db);
    (void)sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
    if (part_tables_add (db, &err) < 0)
        fail_msg ("%s", err.text);
}

static void answers (const char *sql, int64_t want)
{
    assert_int_equal (db_int (db, sql, -1), want);
}

static void statements_see_one_table (void **state)
{
    (void)state;
    open_main ();
    answers ("SELECT count(*) FROM CommAnalyzerTime", RANKS * ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank=3", ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank='3'", ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank=2.5", 0);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank IN (1, 4)",
             2 * ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank>1 AND rank<=4",
             3 * ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank>=1 AND rank<4",
             3 * ROWS);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank<0 OR rank>9", 0);
    answers ("SELECT min(rank) FROM CommAnalyzerTime WHERE rank>2", 3);
    answers ("SELECT count(*) FROM Ops WHERE rank=5 AND elapse_time>=3",
             ROWS - 2);
    answers ("SELECT count(*) FROM LinkRow", 0);
}

static void rowids_are_those_of_one_file (void **state)
{
    (void)state;
    open_main ();
    answers ("SELECT rank FROM CommAnalyzerTime WHERE rowid=(4<<32)+7", 3);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rowid=(4<<32)+700",
             0);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rowid BETWEEN "
             "(3<<32)-1 AND (4<<32)", ROWS + 1);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rowid>(6<<32)+697",
             2);
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rowid<(1<<32)+5", 5);
    answers ("SELECT rowid FROM CommAnalyzerTime ORDER BY rowid LIMIT 1 OFFSET "
             "1500", (INT64_C (3) << 32) + 100);
    answers ("SELECT max(rowid) FROM CommAnalyzerTime WHERE rank=2",
             (INT64_C (3) << 32) + ROWS - 1);
    // the order without ORDER BY
    answers ("SELECT count(*) FROM (SELECT rowid AS r, lag(rowid) OVER () AS b "
             "FROM CommAnalyzerTime) WHERE r<=b", 0);
}

static void fails (const char *sql, const char *what)
{
    struct err err = { "" };
    struct db_rows r = db_rows (db, &err, sql);

    while (db_step (&r))
        ;
    assert_true (db_end (&r) < 0);
    if (!strstr (err.text, what))
        fail_msg ("no \"%s\" in: %s", what, err.text);
}

static void check_says (const char *what)
{
    struct err err = { "" };

    assert_int_equal (parts_check (main_db, 1, &err), -EBADMSG);
    if (!strstr (err.text, what) || !strstr (err.text, ".part-0002.db"))
        fail_msg ("no \"%s\" in: %s", what, err.text);
}

/* Part 1 still answers. */
static void part_2_fails (const char *what)
{
    open_main ();
    fails ("SELECT count(*) FROM CommAnalyzerTime WHERE rank=3", what);
    fails ("SELECT count(*) FROM CommAnalyzerTime", ".part-0002.db");
    answers ("SELECT count(*) FROM CommAnalyzerTime WHERE rank=2", ROWS);
}

static void wrong_parts_are_refused (void **state)
{
    sqlite3 *to = NULL;
    struct err err = { "" };
    long long size = size_of (part_db[1]);

    (void)state;
    assert_int_equal (parts_check (main_db, 2, &err), 0);
    // part 1 in its place, which has the same size
    assert_int_equal (size, size_of (part_db[0]));
    assert_int_equal (unlink (part_db[1]), 0);
    assert_int_equal (link (part_db[0], part_db[1]), 0);
    part_2_fails ("is not the part");
    check_says ("is not what was built");
    assert_int_equal (unlink (part_db[1]), 0);
    part_2_fails ("is missing: put it back");
    check_says ("is missing: put it back");
    // of another build
    make_part (1);
    assert_int_equal (db_open (part_db[1], SQLITE_OPEN_READWRITE, &to), 0);
    run_sql (to, "UPDATE Part SET id='fedcba9876543210'");
    (void)sqlite3_close (to);
    part_2_fails ("is not the part");
    check_says ("is not what was built");
    assert_int_equal (truncate (part_db[1], size - 4096), 0);
    part_2_fails (" bytes instead of ");
    check_says (".part-0002.db");
}

static void a_row_that_changed_is_noticed (void **state)
{
    sqlite3 *to = NULL;

    (void)state;
    assert_int_equal (db_open (part_db[1], SQLITE_OPEN_READWRITE, &to), 0);
    run_sql (to, "UPDATE CommAnalyzerTime SET elapse_time=4 WHERE rank=3 AND "
                 "elapse_time=3");
    (void)sqlite3_close (to);
    check_says ("is not what was built");
}

static void hostile_lists_are_refused (void **state)
{
    static const char *const lists[] = {
        "UPDATE Part SET file='../../etc/passwd' WHERE part=2",
        "UPDATE Part SET file='analysis." ID ".part-1.db/x' WHERE part=2",
        "UPDATE Part SET part=7 WHERE part=2",
        "UPDATE PartRange SET part=3 WHERE part=2",
        "UPDATE PartRange SET part=0 WHERE part=2",
        "UPDATE PartRange SET last_row=last_row+5 WHERE part=1",
        "UPDATE PartRange SET last_row=first_row-1 WHERE part=1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof (lists) / sizeof (lists[0]); i++) {
        struct err err = { "" };

        assert_int_equal (db_open (main_db, SQLITE_OPEN_READWRITE, &db), 0);
        run_sql (db, "BEGIN");
        run_sql (db, lists[i]);
        run_sql (db, "COMMIT");
        assert_int_equal (part_tables_add (db, &err), -EBADMSG);
        (void)sqlite3_close (db);
        db = NULL;
        assert_int_equal (unlink (main_db), 0);
        make_main ();
    }
}

static void touch (const char *name)
{
    char path[300];

    (void)snprintf (path, sizeof (path), "%s/%s", dir, name);
    assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
}

/* A sentence names the part, not only a page. */
static void damage_is_told_with_the_part (void **state)
{
    int fd = open (part_db[1], O_RDWR | O_CLOEXEC);
    char page[4096] = { 0 };

    (void)state;
    for (off_t at = size_of (part_db[1]) - 4096; at > 4096; at -= 4096)
        assert_int_equal (pwrite (fd, page, sizeof (page), at), sizeof (page));
    part_2_fails (", the part of this result with ranks 1,..., is damaged (");
    check_says ("is damaged (");
    assert_int_equal (pwrite (fd, page, sizeof (page), 0), sizeof (page));
    part_2_fails ("is damaged (");
    (void)close (fd);
}

static void a_link_is_no_part (void **state)
{
    char there[256];

    (void)state;
    (void)snprintf (there, sizeof (there), "%s.moved", part_db[1]);
    assert_int_equal (rename (part_db[1], there), 0);
    assert_int_equal (symlink (there, part_db[1]), 0);
    part_2_fails ("is a symbolic link: put the file itself there");
    check_says ("is a symbolic link: put the file itself there");
    assert_int_equal (unlink (part_db[1]), 0);
    assert_int_equal (mkdir (part_db[1], 0700), 0);
    part_2_fails ("is no file: put it back");
    check_says ("is no file: put it back");
}

/* Neither waits for one who writes. */
static void a_pipe_is_no_part (void **state)
{
    (void)state;
    assert_int_equal (unlink (part_db[1]), 0);
    assert_int_equal (mkfifo (part_db[1], 0600), 0);
    assert_int_equal (db_open (main_db, SQLITE_OPEN_READWRITE, &db), 0);
    run_sql (db, "UPDATE Part SET bytes=0 WHERE part=2");
    part_2_fails ("is no file: put it back");
    check_says ("is no file");
}

static void a_link_leads_to_the_parts (void **state)
{
    char link[80];
    struct err err = { "" };

    (void)state;
    (void)snprintf (link, sizeof (link), "%s/link", dir);
    assert_int_equal (mkdir (link, 0700), 0);
    (void)strcat (link, "/a.db");
    assert_int_equal (symlink (main_db, link), 0);
    if (parts_check (link, 1, &err) < 0)
        fail_msg ("%s", err.text);
}

static void a_result_that_is_replaced_is_opened_again (void **state)
{
    struct err err = { "" };
    char other[160];

    (void)state;
    (void)snprintf (other, sizeof (other), "%s.old", main_db);
    assert_int_equal (db_open (main_db, SQLITE_OPEN_READONLY, &db), 0);
    assert_true (parts_are_beside (db));
    assert_int_equal (rename (main_db, other), 0);
    make_main ();
    assert_int_equal (part_tables_add (db, &err), -EBUSY);
}

static bool is_there (const char *name)
{
    return fileio_has (dir, name);
}

#define DEAD "analysis.00000000000000aa.part-0001.db"   // of a dead build

static const struct parts_names none = { NULL, 0 };

static void only_parts_that_nobody_names_are_removed (void **state)
{
    struct publish p = { .lock = { .held = false } };
    struct err err = { "" };
    char kept[160];

    (void)state;
    (void)snprintf (kept, sizeof (kept), "%s/a copy.db", dir);
    assert_int_equal (rename (main_db, kept), 0);
    touch (DEAD);
    touch ("analysis.mine.part-0001.db");
    assert_int_equal (tree_open (&p.dir, dir, NULL), 0);
    // nobody holds the lock: its build may be alive
    assert_int_equal (parts_clean (&p, &none, &err), 0);
    assert_true (is_there (DEAD));
    p.lock.held = true;
    assert_int_equal (parts_clean (&p, &none, &err), 0);
    assert_false (is_there (DEAD));
    assert_true (is_there ("analysis.mine.part-0001.db"));
    assert_int_equal (access (part_db[0], F_OK), 0);
    assert_int_equal (unlink (kept), 0);
    assert_int_equal (parts_clean (&p, &none, &err), 0);
    assert_int_not_equal (access (part_db[0], F_OK), 0);
    tree_close (&p.dir);
}

/* Also without the lock, and whatever else is there. */
static void parts_of_the_replaced_result_are_removed (void **state)
{
    struct publish p = { .lock = { .held = false } };
    struct parts_names replaced;
    struct err err = { "" };
    char kept[160];

    (void)state;
    (void)snprintf (kept, sizeof (kept), "%s/a copy.db", dir);
    touch (DEAD);
    assert_int_equal (tree_open (&p.dir, dir, NULL), 0);
    parts_note (&p, &replaced);
    assert_int_equal (replaced.n, 2);
    // another file of that name needs them
    assert_int_equal (rename (main_db, kept), 0);
    assert_int_equal (parts_clean (&p, &replaced, &err), 0);
    assert_int_equal (access (part_db[0], F_OK), 0);
    assert_int_equal (unlink (kept), 0);
    assert_int_equal (parts_clean (&p, &replaced, &err), 0);
    assert_int_not_equal (access (part_db[0], F_OK), 0);
    assert_int_not_equal (access (part_db[1], F_OK), 0);
    assert_true (is_there (DEAD));
    parts_names_fini (&replaced);
    tree_close (&p.dir);
}

static void a_damaged_result_that_holds_parts_is_named (void **state)
{
    struct publish p = { .lock = { .held = true } };
    struct parts_names replaced;
    struct err err = { "" };
    char damaged[160];
    FILE *f;

    (void)state;
    (void)snprintf (damaged, sizeof (damaged), "%s/damaged.db", dir);
    assert_non_null (f = fopen (damaged, "w"));
    assert_int_equal (fseek (f, 68, SEEK_SET), 0);
    assert_true (fputs ("ROLL", f) >= 0);
    assert_int_equal (fclose (f), 0);
    assert_int_equal (tree_open (&p.dir, dir, NULL), 0);
    // it holds up nothing
    assert_int_equal (parts_clean (&p, &none, &err), 0);
    touch (DEAD);
    parts_note (&p, &replaced);
    assert_int_equal (unlink (main_db), 0);
    assert_int_equal (parts_clean (&p, &replaced, &err), -EIO);
    assert_non_null (strstr (err.text, "1 part of former results stays in "));
    assert_non_null (strstr (err.text, "since damaged.db there is a result "
                             "that cannot be read, and may need it: "));
    assert_true (is_there (DEAD));
    assert_int_not_equal (access (part_db[0], F_OK), 0);
    assert_int_equal (unlink (damaged), 0);
    assert_int_equal (parts_clean (&p, &replaced, &err), 0);
    assert_false (is_there (DEAD));
    parts_names_fini (&replaced);
    tree_close (&p.dir);
}

/* A disk that fails does not make a result another's file. */
static bool unreadable;

ssize_t __real_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at);

ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at)
{
    errno = EIO;
    return unreadable ? -1 : __real_pread (fd, buf, n, at);
}

static void parts_of_an_unreadable_result_stay (void **state)
{
    struct publish p = { .lock = { .held = true } };
    struct parts_names replaced;
    struct err err = { "" };

    (void)state;
    touch (DEAD);
    assert_int_equal (tree_open (&p.dir, dir, NULL), 0);
    unreadable = true;
    assert_int_equal (publish_look_at_db (main_db), -EIO);
    parts_note (&p, &replaced);
    assert_int_equal (replaced.n, 0);
    assert_int_equal (parts_clean (&p, &none, &err), -EIO);
    unreadable = false;
    assert_true (is_there (DEAD));
    assert_int_equal (access (part_db[0], F_OK), 0);
    assert_non_null (strstr (err.text, "3 parts of former results stay in "));
    assert_non_null (strstr (err.text, "since analysis.db there cannot be "
                             "read: Input/output error, and may need "
                             "them: "));
    // a pipe is no result, and cannot be one
    assert_int_equal (unlink (main_db), 0);
    assert_int_equal (mkfifo (main_db, 0600), 0);
    assert_int_equal (publish_look_at_db (main_db), 0);
    assert_int_equal (parts_clean (&p, &none, &err), 0);
    assert_int_not_equal (access (part_db[0], F_OK), 0);
    tree_close (&p.dir);
}

/* That of another user's build is no result. */
static void a_directory_holds_no_parts (void **state)
{
    struct publish p = { .lock = { .held = true } };
    uid_t me = geteuid ();
    struct err err = { "" };
    char build[160];
    int rc;

    (void)state;
    (void)snprintf (build, sizeof (build), "%s/.rollcall-aaaaaa", dir);
    touch (DEAD);
    assert_int_equal (mkdir (build, 0), 0);
    assert_int_equal (chmod (dir, 0777), 0);
    assert_int_equal (tree_open (&p.dir, dir, NULL), 0);
    if (me == 0)                // who may read everything
        assert_int_equal (seteuid (65534), 0);
    rc = parts_clean (&p, &none, &err);
    assert_int_equal (seteuid (me), 0);
    assert_int_equal (rmdir (build), 0);
    assert_int_equal (rc, 0);
    assert_false (is_there (DEAD));
    assert_int_equal (access (part_db[0], F_OK), 0);
    tree_close (&p.dir);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (statements_see_one_table), TEST (rowids_are_those_of_one_file),
        TEST (wrong_parts_are_refused), TEST (a_row_that_changed_is_noticed),
        TEST (hostile_lists_are_refused), TEST (a_pipe_is_no_part),
        TEST (damage_is_told_with_the_part), TEST (a_link_is_no_part),
        TEST (a_link_leads_to_the_parts),
        TEST (a_result_that_is_replaced_is_opened_again),
        TEST (only_parts_that_nobody_names_are_removed),
        TEST (parts_of_the_replaced_result_are_removed),
        TEST (a_damaged_result_that_holds_parts_is_named),
        TEST (parts_of_an_unreadable_result_stay),
        TEST (a_directory_holds_no_parts),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
