/* tests/unit/common/store/test_tree.c - a directory that is held
 *
 * Every test works in a directory of its own: tree/ with a file, a directory
 * and links in it, and outside/ beside it, which nothing may reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/db.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tree tree;
static char top[64];

static void put (const char *path, const char *text)
{
    assert_int_equal (fileio_replace (path, text, strlen (text), 0600, NULL),
                      0);
}

static int setup (void **state)
{
    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/test_tree-XXXXXX");
    assert_non_null (mkdtemp (top));
    assert_int_equal (chdir (top), 0);
    assert_int_equal (mkdir ("outside", 0700), 0);
    assert_int_equal (mkdir ("tree", 0700), 0);
    assert_int_equal (mkdir ("tree/dir", 0700), 0);
    put ("outside/secret", "secret");
    put ("tree/file", "file");
    put ("tree/dir/file", "file");
    assert_int_equal (symlink ("file", "tree/link"), 0);
    assert_int_equal (symlink ("dir", "tree/dirlink"), 0);
    assert_int_equal (symlink ("../outside", "tree/out"), 0);
    assert_int_equal (symlink ("tree", "typed"), 0);
    return tree_open (&tree, "typed", NULL);    // as its user may name it
}

static int teardown (void **state)
{
    (void)state;
    tree_close (&tree);
    return chdir ("/") == 0 ? fileio_remove_tree (top, NULL) : -1;
}

typedef int open_fn (int dirfd, const char *path, int flags, mode_t mode,
                     bool one_mount);

static void check_open (open_fn *fn, const char *path, int flags, int expected)
{
    int fd = fn (tree.fd, path, flags, 0600, false);

    if (fd >= 0)
        assert_int_equal (close (fd), 0);
    if ((expected == 0) != (fd >= 0) || (expected < 0 && fd != expected))
        fail_msg ("%s: %d, not %d", path, fd, expected);
}

/* With the kernel's help and without it the same. */
static void test_open (void **state)
{
    static open_fn *const ways[] = { tree_openat, tree_walk_openat };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        check_open (ways[i], "file", O_RDONLY, 0);
        check_open (ways[i], "dir/file", O_RDONLY, 0);
        check_open (ways[i], "dir//file", O_RDONLY, 0);
        check_open (ways[i], ".", O_RDONLY | O_DIRECTORY, 0);
        check_open (ways[i], "dir", O_RDONLY | O_DIRECTORY, 0);
        check_open (ways[i], "dir", O_PATH | O_DIRECTORY, 0);
        check_open (ways[i], "absent", O_RDONLY, -ENOENT);
        check_open (ways[i], "file/x", O_RDONLY, -ENOTDIR);
        check_open (ways[i], "file", O_RDONLY | O_DIRECTORY, -ENOTDIR);
        check_open (ways[i], "link", O_RDONLY, -ELOOP);
        check_open (ways[i], "link", O_RDWR | O_CREAT, -ELOOP);
        check_open (ways[i], "dirlink", O_RDONLY | O_DIRECTORY, -ELOOP);
        check_open (ways[i], "dirlink/file", O_RDONLY, -ELOOP);
        check_open (ways[i], "out/secret", O_RDONLY, -ELOOP);
        check_open (ways[i], "out/new", O_WRONLY | O_CREAT, -ELOOP);
        check_open (ways[i], "../outside/secret", O_RDONLY, -EXDEV);
        check_open (ways[i], "/etc/passwd", O_RDONLY, -EXDEV);
        check_open (ways[i], "new", O_WRONLY | O_CREAT | O_EXCL, 0);
        check_open (ways[i], "new", O_WRONLY | O_CREAT | O_EXCL, -EEXIST);
        assert_int_equal (unlink ("tree/new"), 0);
    }
    assert_int_not_equal (access ("outside/new", F_OK), 0);
}

static void test_real (void **state)
{
    char real[PATH_MAX], typed[PATH_MAX];
    int fd;

    (void)state;
    (void)snprintf (real, sizeof (real), "%s/tree/dir", top);
    (void)snprintf (typed, sizeof (typed), "%s/typed/dir", top);
    fd = tree_open_real (real, O_RDONLY | O_DIRECTORY);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
    assert_int_equal (tree_open_real (typed, O_RDONLY | O_DIRECTORY), -ELOOP);
}

/* /proc is another mount than / wherever these tests run. */
static void test_mount (void **state)
{
    static open_fn *const ways[] = { tree_openat, tree_walk_openat };
    struct tree root;

    (void)state;
    assert_int_equal (tree_open (&root, "/", NULL), 0);
    for (size_t i = 0; i < 2; i++) {
        int fd = ways[i](root.fd, "proc", O_RDONLY | O_DIRECTORY, 0, false);

        assert_true (fd >= 0);
        assert_int_equal (close (fd), 0);
        assert_int_equal (ways[i](root.fd, "proc", O_RDONLY | O_DIRECTORY, 0,
                                  true), -EXDEV);
    }
    tree_close (&root);
}

/* In mount and user namespaces of its own.  What is wrong, 0, or SKIPPED. */
#define SKIPPED 77

static int look_at_bound (void)
{
    static open_fn *const ways[] = { tree_openat, tree_walk_openat };
    struct tree t;
    int flags = geteuid () == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;

    if (unshare (flags) < 0 ||
        mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount ("outside", "tree/dir", NULL, MS_BIND, NULL) < 0 ||
        mount ("outside/secret", "tree/file", NULL, MS_BIND, NULL) < 0)
        return SKIPPED;
    if (tree_open (&t, "tree", NULL) < 0)
        return 1;
    for (int i = 0; i < 2; i++) {
        if (ways[i](t.fd, "dir/secret", O_RDONLY, 0, false) < 0)
            return 2;
        if (ways[i](t.fd, "dir", O_RDONLY, 0, true) != -EXDEV ||
            ways[i](t.fd, "dir/secret", O_RDWR, 0, true) != -EXDEV ||
            ways[i](t.fd, "file", O_RDWR, 0, true) != -EXDEV)
            return 3;
    }
    if (tree_make_dirs (&t, "dir/a/b", 0700, NULL) != -EXDEV ||
        access ("outside/a", F_OK) == 0)
        return 4;
    return 0;
}

/* The device does not tell: part of a file system may be mounted in itself, and
 * what is made or removed there would be elsewhere.
 */
static void test_bind_mount (void **state)
{
    int status = -1;
    pid_t pid = fork ();

    (void)state;
    if (pid == 0)
        _exit (look_at_bound ());
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_true (WIFEXITED (status));
    if (WEXITSTATUS (status) == SKIPPED) {
        print_message ("SKIPPED: mounting is not permitted here\n");
        skip ();
    }
    assert_int_equal (WEXITSTATUS (status), 0);
}

/* Its name may lead elsewhere by now. */
static void test_held (void **state)
{
    struct tree sub;
    bool made = false;
    int fd;

    (void)state;
    assert_int_equal (tree_open_in (&sub, &tree, "new", 0700, &made, NULL), 0);
    assert_true (made);
    assert_string_equal (sub.path, "typed/new");
    assert_int_equal (rename ("tree/new", "tree/moved"), 0);
    assert_int_equal (symlink ("../outside", "tree/new"), 0);
    fd = tree_openat (sub.fd, "x", O_WRONLY | O_CREAT | O_EXCL, 0600, true);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
    assert_int_equal (access ("tree/moved/x", F_OK), 0);
    assert_int_equal (access ("outside/x", F_OK), -1);
    tree_close (&sub);
    tree_close (&sub);
    assert_int_equal (tree_open_in (&sub, &tree, "new", 0700, NULL, NULL),
                      -ELOOP);
    assert_int_equal (tree_open_in (&sub, &tree, "file", 0700, NULL, NULL),
                      -ENOTDIR);
    assert_int_equal (tree_open_in (&sub, &tree, "absent", 0, NULL, NULL),
                      -ENOENT);
    tree_close (&sub);
}

static void test_make_dirs (void **state)
{
    struct err err = { "" };
    int fd;

    (void)state;
    fd = tree_make_dirs (&tree, "dir/a//b", 0700, &err);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
    assert_int_equal (access ("tree/dir/a/b", F_OK), 0);
    fd = tree_make_dirs (&tree, "", 0700, &err);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
    assert_int_equal (tree_make_dirs (&tree, "out/a", 0700, &err), -ELOOP);
    assert_non_null (strstr (err.text, "typed/out/a is a symbolic link"));
    assert_int_equal (tree_make_dirs (&tree, "../outside/a", 0700, &err),
                      -EXDEV);
    assert_int_equal (tree_make_dirs (&tree, "file/a", 0700, &err), -ENOTDIR);
    assert_int_equal (access ("outside/a", F_OK), -1);
}

static void test_remove (void **state)
{
    struct stat file, dir;

    (void)state;
    assert_int_equal (stat ("tree/dir/file", &file), 0);
    assert_int_equal (stat ("tree/dir", &dir), 0);
    assert_int_equal (tree_remove (tree.fd, "file", &file), -ESTALE);
    assert_int_equal (tree_remove (tree.fd, "absent", &file), -ENOENT);
    assert_int_equal (tree_remove (tree.fd, "dirlink", &dir), -ESTALE);
    assert_int_equal (tree_remove (tree.fd, "dir", &dir), -ENOTEMPTY);
    assert_int_equal (unlink ("tree/dir/file"), 0);
    assert_int_equal (tree_remove (tree.fd, "dir", &dir), 0);
    assert_int_equal (access ("tree/file", F_OK), 0);
}

/* ---- held paths ---- */

static void test_paths (void **state)
{
    char held[TREE_HELD_MAX], long_name[NAME_MAX + 60];
    struct err err = { "" };
    int fd;

    (void)state;
    assert_int_equal (tree_can_hold (&tree, &err), 0);
    assert_int_equal (tree_hold (&tree, "file", held, &err), 0);
    assert_true (tree_is_held (held));
    assert_false (tree_is_held ("tree/file"));
    assert_int_equal (rename ("tree", "moved"), 0);
    assert_int_equal (symlink ("outside", "tree"), 0);
    fd = open (held, O_RDONLY | O_NOFOLLOW);
    assert_true (fd >= 0);
    assert_int_equal (close (fd), 0);
    (void)err_set (&err, EIO, "cannot read %s, nor %s-wal", held, held);
    tree_tell (&tree, &err);
    assert_string_equal (err.text,
                         "cannot read typed/file, nor typed/file-wal");
    assert_int_equal (tree_hold (&tree, "", held, &err), 0);
    (void)err_set (&err, EBUSY, "%s is locked, %s0 is not", held, held);
    tree_tell (&tree, &err);
    assert_memory_equal (err.text, "typed is locked, /proc/", 23);
    memset (long_name, 'x', sizeof (long_name));
    long_name[sizeof (long_name) - 1] = '\0';
    assert_int_equal (tree_hold (&tree, long_name, held, &err), -ENAMETOOLONG);
}

static sqlite3 *open_db (const char *name, int flags, int expected)
{
    char held[TREE_HELD_MAX];
    sqlite3 *db = NULL;
    int code;

    assert_int_equal (tree_hold (&tree, name, held, NULL), 0);
    code = db_open (held, flags, &db);
    if (code == SQLITE_OK)
        code = sqlite3_exec (db, "SELECT count(*) FROM sqlite_schema", NULL,
                             NULL, NULL);
    assert_int_equal (code, expected);
    return db;
}

#define NEW (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)

/* SQLite itself would resolve the name and follow it. */
static void test_db_link (void **state)
{
    (void)state;
    assert_int_equal (symlink ("../outside/db", "tree/db"), 0);
    assert_int_equal (sqlite3_close (open_db ("db", NEW, SQLITE_CANTOPEN)),
                      SQLITE_OK);
    assert_int_equal (access ("outside/db", F_OK), -1);
}

/* The directory gets another name, and a link has the old one, while a database
 * is open: journal, log, attached databases and VACUUM stay.
 */
static void test_db_moved (void **state)
{
    sqlite3 *db = open_db ("db", NEW, SQLITE_OK);
    char held[TREE_HELD_MAX];

    (void)state;
    assert_int_equal (rename ("tree", "moved"), 0);
    assert_int_equal (symlink ("outside", "tree"), 0);
    assert_int_equal (db_exec (db, "CREATE TABLE t(a);BEGIN;"
                               "INSERT INTO t VALUES(1)", NULL), 0);
    assert_int_equal (access ("moved/db-journal", F_OK), 0);
    assert_int_equal (db_exec (db, "COMMIT;PRAGMA journal_mode=WAL;"
                               "INSERT INTO t VALUES(2)", NULL), 0);
    assert_int_equal (access ("moved/db-wal", F_OK), 0);
    assert_int_equal (tree_hold (&tree, "other", held, NULL), 0);
    assert_int_equal (db_execf (db, NULL, "ATTACH %Q AS o;"
                                "CREATE TABLE o.t(a);VACUUM", held), 0);
    assert_int_equal (access ("moved/other", F_OK), 0);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    assert_int_equal (unlink ("outside/secret"), 0);
    assert_int_equal (rmdir ("outside"), 0);    // nothing else is in there
}

static void put_number (FILE *f, unsigned n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        assert_true (fputc ((int)(n >> shift & 0xff), f) != EOF);
}

/* A journal that has no pages, of a commit in several files, whose list has
 * this name.
 */
static void write_journal (const char *path, unsigned pages, const char *list)
{
    static const char magic[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
    FILE *f = fopen (path, "w");
    unsigned sum = 0;

    assert_non_null (f);
    (void)fwrite (magic, 1, 8, f);
    put_number (f, 0);                  // records
    put_number (f, 0);
    put_number (f, pages);
    put_number (f, 512);                // bytes of a sector, of a page
    put_number (f, 4096);
    for (int i = 28; i < 512; i++)
        (void)fputc (0, f);
    put_number (f, (1u << 30) / 4096 + 1);
    (void)fputs (list, f);
    for (const char *c = list; *c; c++)
        sum += (unsigned)*c;
    put_number (f, (unsigned)strlen (list));
    put_number (f, sum);
    (void)fwrite (magic, 1, 8, f);
    assert_int_equal (fclose (f), 0);
}

/* SQLite removes the file that such a journal names. */
static void test_db_journal (void **state)
{
    sqlite3 *db = open_db ("db", NEW, SQLITE_OK);
    char list[PATH_MAX], held[TREE_HELD_MAX];

    (void)state;
    assert_int_equal (db_exec (db, "CREATE TABLE t(a)", NULL), 0);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    (void)snprintf (list, sizeof (list), "%s/outside/secret", top);
    write_journal ("tree/db-journal", 2, list);
    assert_int_equal (tree_hold (&tree, "db", held, NULL), 0);
    assert_int_equal (db_open (held, SQLITE_OPEN_READWRITE, &db), SQLITE_OK);
    (void)db_exec (db, "BEGIN IMMEDIATE;COMMIT", NULL);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    assert_int_equal (access ("outside/secret", F_OK), 0);
}

/* Each is looked at by its own name: a temporary one that was foreseen, and is a
 * link or another's file, is not written to.
 */
static void test_replace (void **state)
{
    struct stat st;

    (void)state;
    assert_int_equal (tree_replace (&tree, "link", "new", 3, 0640, NULL), 0);
    assert_int_equal (lstat ("tree/link", &st), 0);
    assert_true (S_ISREG (st.st_mode) && (st.st_mode & 07777) == 0640);
    assert_int_equal (st.st_size, 3);
    assert_int_equal (rename ("tree", "moved"), 0);
    assert_int_equal (symlink ("outside", "tree"), 0);
    assert_int_equal (tree_replace (&tree, "secret", "", 0, 0600, NULL), 0);
    assert_int_equal (stat ("outside/secret", &st), 0);
    assert_int_equal (st.st_size, 6);
    assert_int_equal (stat ("moved/secret", &st), 0);
    assert_int_equal (st.st_size, 0);
    assert_int_equal (unlink ("tree"), 0);
    assert_int_equal (rename ("moved", "tree"), 0);
}

static void test_try_file (void **state)
{
    int fd = tree_try_file (&tree);
    struct stat st;

    (void)state;
    assert_true (fd >= 0);
    assert_int_equal (fstat (fd, &st), 0);
    assert_int_equal (st.st_nlink, 0);
    (void)close (fd);
    assert_true ((fd = tree_make_temp (&tree)) >= 0);
    assert_int_equal (fstat (fd, &st), 0);
    assert_int_equal (st.st_nlink, 0);
    (void)close (fd);
}

#define NOBODY 65534

/* What root makes on a file server that takes it for somebody else belongs to
 * that one: by setfsuid(2) it does so here.
 */
static void test_owner (void **state)
{
    struct err err = { "" };

    (void)state;
    if (geteuid () != 0) {
        print_message ("SKIPPED: only root can be another user\n");
        skip ();
    }
    assert_int_equal (tree_check_owner (&tree, false, NULL), 0);
    assert_int_equal (chown (top, NOBODY, NOBODY), 0);
    assert_int_equal (chown ("tree", NOBODY, NOBODY), 0);
    assert_int_equal (tree_check_owner (&tree, false, &err), -EPERM);
    assert_non_null (strstr (err.text, "--foreign-output"));
    assert_int_equal (tree_check_owner (&tree, true, NULL), 0);
    (void)setfsuid (NOBODY);
    assert_int_equal (tree_check_owner (&tree, false, NULL), 0);
    (void)setfsuid (0);
    assert_int_equal (tree_check_owner (&tree, false, NULL), -EPERM);
}

/* The owner of a directory puts links into a path after it was resolved. */
static void test_later (void **state)
{
    char path[PATH_MAX];
    struct tree t;

    (void)state;
    (void)snprintf (path, sizeof (path), "%s/tree/dir/new/deeper", top);
    assert_int_equal (tree_open_later (&t, path, 0700, NULL), 0);
    assert_string_equal (t.path, path);
    tree_close (&t);
    assert_int_equal (access (path, F_OK), 0);
    assert_int_equal (tree_open_later (&t, path, 0700, NULL), 0);
    tree_close (&t);
    // our own link, as of one who moves to another disk
    assert_int_equal (rename ("tree", "outside/tree"), 0);
    assert_int_equal (symlink ("outside/tree", "tree"), 0);
    assert_int_equal (tree_open_later (&t, path, 0700, NULL), 0);
    tree_close (&t);
    if (geteuid () == 0) {
        assert_int_equal (lchown ("tree", NOBODY, NOBODY), 0);
        assert_int_equal (tree_open_later (&t, path, 0700, NULL), -ELOOP);
        assert_string_equal (t.path, "");
        // nor is anything made behind it
        (void)snprintf (path, sizeof (path), "%s/tree/none/new", top);
        assert_int_equal (tree_open_later (&t, path, 0700, NULL), -ELOOP);
        assert_int_equal (access ("outside/tree/none", F_OK), -1);
    }
    assert_int_equal (unlink ("tree"), 0);
    assert_int_equal (rename ("outside/tree", "tree"), 0);
}

int main (void)
{
#define TEST(f) cmocka_unit_test_setup_teardown (f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_replace), TEST (test_try_file), TEST (test_owner),
        TEST (test_later), TEST (test_open), TEST (test_real), TEST (test_mount),
        TEST (test_bind_mount),
        TEST (test_held), TEST (test_make_dirs), TEST (test_remove),
        TEST (test_paths), TEST (test_db_link), TEST (test_db_moved),
        TEST (test_db_journal),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
