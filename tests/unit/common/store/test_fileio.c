/* tests/unit/common/store/test_fileio.c - files and directories; trees that are
 * removed are test_fileio_tree's
 *
 * read(2), write(2) and others are wrapped by the linker so that they can be
 * short, interrupted or fail.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/store/dir_check.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what the wrapped calls do ---- */

static struct {
    bool on;
    size_t most;                // bytes per call
    unsigned calls;             // every third one is interrupted
    int fail_after;             // calls that succeed; -1: all
    int fail_errno;
    bool fsync_fails;
    bool rename_fails;
} fault;

ssize_t __real_read (int fd, void *buf, size_t n);
ssize_t __real_write (int fd, const void *buf, size_t n);
ssize_t __real_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __real_pwrite (int fd, const void *buf, size_t n, off_t at);
int __real_fsync (int fd);
int __real_rename (const char *from, const char *to);
ssize_t __wrap_read (int fd, void *buf, size_t n);
ssize_t __wrap_write (int fd, const void *buf, size_t n);
ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at);
ssize_t __wrap_pwrite (int fd, const void *buf, size_t n, off_t at);
int __wrap_fsync (int fd);
int __wrap_rename (const char *from, const char *to);

/* Shortens *n; false when this call must fail (errno is set). */
static bool fault_passes (size_t *n)
{
    if (!fault.on)
        return true;
    if (fault.fail_after == 0) {
        errno = fault.fail_errno;
        return false;
    }
    if (++fault.calls % 3 == 0) {
        errno = EINTR;
        return false;
    }
    if (fault.fail_after > 0)
        fault.fail_after--;
    if (fault.most > 0 && *n > fault.most)
        *n = fault.most;
    return true;
}

ssize_t __wrap_read (int fd, void *buf, size_t n)
{
    return fault_passes (&n) ? __real_read (fd, buf, n) : -1;
}

ssize_t __wrap_write (int fd, const void *buf, size_t n)
{
    return fault_passes (&n) ? __real_write (fd, buf, n) : -1;
}

ssize_t __wrap_pread (int fd, void *buf, size_t n, off_t at)
{
    return fault_passes (&n) ? __real_pread (fd, buf, n, at) : -1;
}

ssize_t __wrap_pwrite (int fd, const void *buf, size_t n, off_t at)
{
    return fault_passes (&n) ? __real_pwrite (fd, buf, n, at) : -1;
}

int __wrap_fsync (int fd)
{
    if (!fault.fsync_fails)
        return __real_fsync (fd);
    errno = EIO;
    return -1;
}

int __wrap_rename (const char *from, const char *to)
{
    if (!fault.rename_fails)
        return __real_rename (from, to);
    errno = EXDEV;
    return -1;
}

static void fault_start (size_t most, int fail_after, int fail_errno)
{
    memset (&fault, 0, sizeof (fault));
    fault.on = true;
    fault.most = most;
    fault.fail_after = fail_after;
    fault.fail_errno = fail_errno;
}

static void fault_stop (void)
{
    memset (&fault, 0, sizeof (fault));
    fault.fail_after = -1;
}

static int setup (void **state)
{
    fault_stop ();
    return dir_setup (state);
}

static int teardown (void **state)
{
    fault_stop ();
    return dir_teardown (state);
}

static int open_dir (void)
{
    int fd = fileio_open_dir_at (AT_FDCWD, dir, NULL);

    assert_true (fd >= 0);
    return fd;
}

/* ---- opening and reading ---- */

static void test_open (void **state)
{
    struct err err = { "untouched" };
    struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = "sock" };
    int d = open_dir (), fd, sock = socket (AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    put_file ("file", "text");
    assert_int_equal (mkdir ("folder", 0700), 0);
    assert_int_equal (symlink ("file", "link"), 0);
    assert_int_equal (symlink ("nowhere", "dangling"), 0);
    assert_int_equal (mkfifo ("fifo", 0600), 0);
    assert_int_equal (bind (sock, (struct sockaddr *)&addr, sizeof (addr)), 0);

    // asking for what is absent is no event worth a sentence
    assert_int_equal (fileio_open_at (d, "absent", &err), -ENOENT);
    assert_string_equal (err.text, "untouched");
    fd = fileio_open_at (d, "file", &err);
    assert_true (fd >= 0);
    assert_true (fcntl (fd, F_GETFD) & FD_CLOEXEC);
    (void)close (fd);
    assert_int_equal (fileio_open_at (d, "link", &err), -ELOOP);
    assert_non_null (strstr (err.text, "link"));
    assert_int_equal (fileio_open_at (d, "dangling", &err), -ELOOP);
    assert_int_equal (fileio_open_at (d, "folder", &err), -EINVAL);
    assert_int_equal (fileio_open_at (d, "fifo", &err), -EINVAL);   // no hang
    assert_non_null (strstr (err.text, "but a pipe: remove it"));
    assert_int_equal (fileio_open_at (d, "sock", &err), -EINVAL);
    assert_non_null (strstr (err.text, "sock is not a regular file but a "
                                       "socket"));
    (void)close (sock);
    (void)close (d);
}

static void test_open_dir (void **state)
{
    struct err err = { "" };
    int d = open_dir (), fd;

    (void)state;
    put_file ("file", "text");
    assert_int_equal (mkdir ("folder", 0700), 0);
    assert_int_equal (symlink ("folder", "link"), 0);
    fd = fileio_open_dir_at (d, "folder", &err);
    assert_true (fd >= 0);
    (void)close (fd);
    assert_true (fileio_open_dir_at (d, "link", &err) < 0);
    assert_true (err.text[0] != '\0');
    assert_true (fileio_open_dir_at (d, "file", &err) < 0);
    assert_int_equal (fileio_open_dir_at (d, "absent", &err), -ENOENT);
    (void)close (d);
}

static char *make_big (size_t n)
{
    char *big = malloc (n);

    assert_non_null (big);
    for (size_t i = 0; i < n; i++)
        big[i] = (char)(i * 31 + (i >> 8));
    return big;
}

static void check_read (int d, size_t size, size_t max, int want)
{
    char *big = make_big (size + 1);
    struct err err = { "" };
    struct buf b;
    int rc;

    buf_init (&b, max);
    buf_put (&b, "had", 3);             // appended, not replaced
    assert_int_equal (fileio_replace ("big", big, size, 0600, NULL), 0);
    fault.on = fault.most > 0;
    rc = fileio_read_at (d, "big", &b, &err);
    fault.on = false;
    assert_int_equal (rc, want);
    if (want == 0) {
        assert_int_equal (b.size, size + 3);
        assert_memory_equal (b.data, "had", 3);
        assert_memory_equal (b.data + 3, big, size);
        assert_false (b.failed);
    } else {
        assert_non_null (strstr (err.text, "big"));
    }
    buf_fini (&b);
    free (big);
}

static void test_read (void **state)
{
    int d = open_dir ();
    struct buf b;

    (void)state;
    check_read (d, 0, 1000, 0);
    check_read (d, 10, 1000, 0);
    check_read (d, 65536, 1 << 20, 0);
    check_read (d, 200000, 1 << 20, 0);
    // exactly the maximum is not "larger than the maximum"
    check_read (d, 997, 1000, 0);
    check_read (d, 0, 3, 0);
    check_read (d, 998, 1000, -EFBIG);
    check_read (d, 200000, 1000, -EFBIG);
    check_read (d, 131072 + 1, 131072 + 3, -EFBIG);
    check_read (d, 131072, 131072 + 3, 0);
    buf_init (&b, 10);
    assert_int_equal (fileio_read_at (d, "absent", &b, NULL), -ENOENT);
    buf_fini (&b);
    (void)close (d);
}

/* Short and interrupted reads give the same bytes. */
static void test_read_short (void **state)
{
    int d = open_dir ();

    (void)state;
    fault_start (1, -1, 0);
    fault.on = false;
    check_read (d, 300, 1000, 0);
    check_read (d, 998, 1000, -EFBIG);
    check_read (d, 997, 1000, 0);
    fault.most = 7;
    check_read (d, 70000, 1 << 20, 0);
    (void)close (d);
}

static void test_read_fails (void **state)
{
    int d = open_dir ();
    struct err err = { "" };
    struct buf b;

    (void)state;
    put_file ("file", "0123456789");
    buf_init (&b, 1000);
    fault_start (4, 2, EIO);
    assert_int_equal (fileio_read_at (d, "file", &b, &err), -EIO);
    fault_stop ();
    assert_non_null (strstr (err.text, "file"));
    assert_true (b.size <= 10);         // no bytes that were never read
    buf_fini (&b);
    (void)close (d);
}

/* ---- all of it, or not ---- */

static void test_write_all (void **state)
{
    char *big = make_big (5000), *back = malloc (5000);
    int fd = open ("out", O_RDWR | O_CREAT, 0600);

    (void)state;
    assert_non_null (back);
    assert_true (fd >= 0);
    fault_start (13, -1, 0);
    assert_int_equal (fileio_write_all (fd, big, 5000), 0);
    assert_int_equal (fileio_pread_all (fd, back, 5000, 0), 0);
    assert_memory_equal (back, big, 5000);
    assert_int_equal (fileio_pwrite_all (fd, big, 1000, 4500), 0);
    assert_int_equal (fileio_pread_all (fd, back, 1000, 4500), 0);
    assert_memory_equal (back, big, 1000);
    // a file that is too short is an error of its own, not zeros
    assert_int_equal (fileio_pread_all (fd, back, 2, 5499), -ENODATA);
    assert_int_equal (fileio_pread_all (fd, back, 1, 9999), -ENODATA);
    assert_int_equal (fileio_pread_all (fd, back, 0, 9999), 0);
    fault_start (13, 3, ENOSPC);
    assert_int_equal (fileio_write_all (fd, big, 5000), -ENOSPC);
    fault_start (13, 3, ENOSPC);
    assert_int_equal (fileio_pwrite_all (fd, big, 5000, 0), -ENOSPC);
    fault_start (13, 3, EIO);
    assert_int_equal (fileio_pread_all (fd, back, 5000, 0), -EIO);
    fault_stop ();
    (void)close (fd);
    assert_int_equal (fileio_write_all (fd, "x", 1), -EBADF);
    free (big);
    free (back);
}

/* ---- directories ---- */

static void test_mkdirs (void **state)
{
    struct err err = { "" };
    char path[PATH_MAX + 32], *huge;
    struct stat st;

    (void)state;
    (void)snprintf (path, sizeof (path), "%s/a/b/c", dir);
    assert_int_equal (fileio_mkdirs (path, 0750, &err), 0);
    assert_int_equal (stat (path, &st), 0);
    assert_true (S_ISDIR (st.st_mode));
    assert_int_equal (fileio_mkdirs (path, 0750, &err), 0);     // again
    assert_int_equal (fileio_mkdirs ("r/s/", 0750, &err), 0);
    assert_true (exists ("r/s"));
    assert_int_equal (fileio_mkdirs ("/", 0750, &err), 0);
    put_file ("file", "text");
    assert_true (fileio_mkdirs ("file", 0750, &err) < 0);
    assert_true (err.text[0] != '\0');
    assert_true (fileio_mkdirs ("file/below", 0750, NULL) < 0);
    assert_file ("file", "text");
    assert_true (fileio_mkdirs ("", 0750, NULL) < 0);
    huge = malloc (2 * PATH_MAX);
    assert_non_null (huge);
    memset (huge, 'x', 2 * PATH_MAX - 1);
    huge[2 * PATH_MAX - 1] = '\0';
    assert_int_equal (fileio_mkdirs (huge, 0750, NULL), -ENAMETOOLONG);
    free (huge);
}

/* A directory whose name could not be synced is not there: else the next one
 * who makes it would take it for durable.
 */
static void test_mkdirs_sync (void **state)
{
    (void)state;
    fault.fsync_fails = true;
    assert_int_equal (fileio_mkdirs ("new/below", 0750, NULL), -EIO);
    assert_false (exists ("new"));
    fault.fsync_fails = false;
    assert_int_equal (fileio_mkdirs ("new", 0750, NULL), 0);
    fault.fsync_fails = true;
    assert_int_equal (fileio_mkdirs ("new/below", 0750, NULL), -EIO);
    assert_false (exists ("new/below"));
}

static void test_sync_dir (void **state)
{
    struct err err = { "" };

    (void)state;
    assert_int_equal (fileio_sync_dir (dir, &err), 0);
    assert_int_equal (fileio_sync_dir (".", &err), 0);
    assert_int_equal (fileio_sync_dir ("absent", &err), -ENOENT);
    assert_non_null (strstr (err.text, "absent"));
    fault.fsync_fails = true;
    assert_int_equal (fileio_sync_dir (dir, &err), -EIO);
}

static void test_rename (void **state)
{
    char from[PATH_MAX + 8], to[PATH_MAX + 8];
    struct err err = { "" };

    (void)state;
    put_file ("a", "A");
    assert_int_equal (fileio_rename ("a", "b", &err), 0);   // no slash
    assert_file ("b", "A");
    assert_false (exists ("a"));
    (void)snprintf (from, sizeof (from), "%s/b", dir);
    (void)snprintf (to, sizeof (to), "%s/c", dir);
    assert_int_equal (fileio_rename (from, to, &err), 0);
    assert_file ("c", "A");
    assert_int_equal (fileio_rename ("absent", "c", &err), -ENOENT);
    assert_file ("c", "A");
}

/* ---- replace ---- */

static void test_replace (void **state)
{
    struct stat st;
    struct err err = { "" };

    (void)state;
    assert_int_equal (fileio_replace ("f", "first", 5, 0600, &err), 0);
    assert_file ("f", "first");
    assert_int_equal (fileio_replace ("f", "2nd", 3, 0640, &err), 0);
    assert_file ("f", "2nd");
    assert_int_equal (stat ("f", &st), 0);
    assert_int_equal (st.st_mode & 0777, 0640);     // whatever the umask
    assert_int_equal (fileio_replace ("f", NULL, 0, 0640, &err), 0);
    assert_file ("f", "");
    assert_int_equal (count_entries ("."), 1);
    // a link is replaced; what it points to is not written
    put_file ("target", "kept");
    assert_int_equal (symlink ("target", "link"), 0);
    assert_int_equal (fileio_replace ("link", "new", 3, 0600, &err), 0);
    assert_file ("target", "kept");
    assert_file ("link", "new");
}

static void check_replace_fails (int want)
{
    struct err err = { "" };
    int rc = fileio_replace ("f", "0123456789", 10, 0600, &err);

    fault_stop ();
    assert_int_equal (rc, want);
    assert_true (err.text[0] != '\0');
    assert_file ("f", "old");
    assert_int_equal (count_entries ("."), 1);      // no temporary file stays
}

static void test_replace_fails (void **state)
{
    (void)state;
    put_file ("f", "old");
    fault_start (4, 0, ENOSPC);
    check_replace_fails (-ENOSPC);
    fault_start (4, 2, ENOSPC);                     // half of it was written
    check_replace_fails (-ENOSPC);
    fault.fsync_fails = true;
    check_replace_fails (-EIO);
    fault.rename_fails = true;
    check_replace_fails (-EXDEV);
    assert_int_equal (fileio_replace ("absent/f", "x", 1, 0600, NULL),
                      -ENOENT);
    assert_int_equal (mkdir ("folder", 0700), 0);
    assert_true (fileio_replace ("folder", "x", 1, 0600, NULL) < 0);
    assert_int_equal (count_entries ("."), 2);
}

/* The temporary name is predictable: a link there must not be followed. */
static void test_replace_planted_link (void **state)
{
    char temp[64];

    (void)state;
    put_file ("victim", "kept");
    (void)snprintf (temp, sizeof (temp), "f.tmp.%ld", (long)getpid ());
    assert_int_equal (symlink ("victim", temp), 0);
    assert_true (fileio_replace ("f", "x", 1, 0600, NULL) < 0);
    assert_file ("victim", "kept");
    assert_false (exists ("f"));
}

/* A crashed program's temporary file is no obstacle. */
static void test_replace_stale (void **state)
{
    char temp[64];

    (void)state;
    (void)snprintf (temp, sizeof (temp), "f.tmp.%ld", (long)getpid ());
    put_file (temp, "a long rest of an earlier try");
    assert_int_equal (fileio_replace ("f", "x", 1, 0600, NULL), 0);
    assert_file ("f", "x");
    assert_int_equal (count_entries ("."), 1);
}

/* Whether each temporary file is its own until it removes it. */
static bool makes_temps (void)
{
    char temp[NAME_MAX + 1];

    for (int n = 0; n < 300; n++) {
        int fd = fileio_create_temp (AT_FDCWD, "f", temp);

        if (fd < 0 || unlink (temp) < 0)
            return false;
        (void)close (fd);
    }
    return true;
}

/* Processes that write to one file at once do not remove each other's. */
static void test_temps_at_once (void **state)
{
    int status;

    (void)state;
    for (int i = 0; i < 4; i++) {
        pid_t pid = fork ();

        assert_true (pid >= 0);
        if (pid == 0)
            _exit (!makes_temps ());
    }
    while (wait (&status) >= 0)
        assert_int_equal (status, 0);
}

/* What killed processes left is removed, and nothing else. */
static void test_temps (void **state)
{
    static const char *const others[] = { "f.tmp.", "f.tmp.notes", "f.tmp.1x",
                                          "f.tmp.1~", "g.tmp.1", "f.1" };
    char temp[NAME_MAX + 1], again[NAME_MAX + 1], name[NAME_MAX + 1];
    int fd, other;

    (void)state;
    for (size_t i = 0; i < sizeof (others) / sizeof (others[0]); i++)
        put_file (others[i], "mine");
    put_file ("f.tmp.1", "left");
    fd = fileio_create_temp (AT_FDCWD, "f", temp);
    assert_true (fd >= 0);
    assert_false (exists ("f.tmp.1"));
    for (size_t i = 0; i < sizeof (others) / sizeof (others[0]); i++)
        assert_file (others[i], "mine");
    // one that is being written
    other = fileio_create_temp (AT_FDCWD, "f", again);
    assert_true (other >= 0);
    assert_string_not_equal (temp, again);
    (void)close (other);
    assert_true (exists (temp));
    (void)close (fd);
    fd = fileio_create_temp (AT_FDCWD, "f", again);
    assert_true (fd >= 0);
    (void)close (fd);
    memset (name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    assert_int_equal (fileio_create_temp (AT_FDCWD, name, temp), -ENAMETOOLONG);
}

/* No descriptor stays open, on any path through the file. */
static void test_no_leak (void **state)
{
    unsigned before = count_entries ("/proc/self/fd");

    test_replace_fails (state);
    test_read (state);
    assert_int_equal (count_entries ("/proc/self/fd"), before);
}

/* ---- names ---- */

static void test_join (void **state)
{
    char out[8];

    (void)state;
    assert_true (fileio_join (out, sizeof (out), "abc", "def"));
    assert_string_equal (out, "abc/def");
    assert_false (fileio_join (out, sizeof (out), "abc", "defg"));
    assert_false (fileio_join (out, sizeof (out), "abcdefgh", ""));
}

static void test_remote_fs (void **state)
{
    (void)state;
    assert_null (fileio_remote_fs ("/proc"));
    assert_null (fileio_remote_fs ("/no/such/place"));
    assert_null (fileio_local_fs ("/proc"));
    assert_null (fileio_local_fs ("/no/such/place"));
    assert_string_equal (fileio_local_fs ("/dev/shm"), "tmpfs");
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_open),
        TEST (test_open_dir),
        TEST (test_read),
        TEST (test_read_short),
        TEST (test_read_fails),
        TEST (test_write_all),
        TEST (test_mkdirs), TEST (test_mkdirs_sync),
        TEST (test_sync_dir),
        TEST (test_rename),
        TEST (test_replace),
        TEST (test_replace_fails),
        TEST (test_replace_planted_link),
        TEST (test_replace_stale),
        TEST (test_temps),
        TEST (test_temps_at_once),
        TEST (test_no_leak),
        TEST (test_join),
        TEST (test_remote_fs),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
