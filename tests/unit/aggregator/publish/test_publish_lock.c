/* tests/unit/aggregator/publish/test_publish_lock.c - one publisher at a time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/publish_lock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME ".rollcall.lock"

static const struct publish_caller nobody = { NULL, NULL, NULL };

static struct tree dir;
static int failure;             // of the next flock(2), once; or 0
static bool removed;            // the file, before the next flock(2)

int __real_flock (int fd, int how);
int __wrap_flock (int fd, int how);

int __wrap_flock (int fd, int how)
{
    if (removed)
        (void)unlinkat (dir.fd, NAME, 0);
    removed = false;
    errno = failure;
    return failure ? -1 : __real_flock (fd, how);
}

static int start (void **state)
{
    char path[] = "/tmp/test_publish_lock-XXXXXX";

    (void)state;
    failure = 0;
    removed = false;
    return mkdtemp (path) ? tree_open (&dir, path, NULL) : -1;
}

static int end (void **state)
{
    int rc = fileio_remove_tree (dir.path, NULL);

    (void)state;
    tree_close (&dir);
    return rc;
}

static bool is_there (void)
{
    return faccessat (dir.fd, NAME, F_OK, 0) == 0;
}

static void take (struct publish_lock *l)
{
    struct err err = { "" };

    if (publish_lock_take (l, &dir, &nobody, &err) < 0)
        fail_msg ("%s", err.text);
}

static void the_file_is_there_as_long_as_the_lock (void **state)
{
    struct publish_lock l;

    (void)state;
    take (&l);
    assert_true (l.held);
    assert_true (is_there ());
    publish_lock_drop (&l);
    assert_false (is_there ());
    publish_lock_drop (&l);     // again: fine
}

struct waiting {
    struct publish_lock *first;
    char said[512];
    unsigned times;
};

static void end_first (void *arg, const char *sentence)
{
    struct waiting *w = arg;

    (void)snprintf (w->said, sizeof (w->said), "%s", sentence);
    w->times++;
    publish_lock_drop (w->first);
}

static void the_other_one_is_named_and_waited_for (void **state)
{
    struct publish_lock first, second;
    struct waiting w = { .first = &first };
    const struct publish_caller caller = { NULL, end_first, &w };
    char who[64];

    (void)state;
    take (&first);
    assert_int_equal (publish_lock_take (&second, &dir, &caller, NULL), 0);
    assert_true (second.held);
    assert_int_equal (w.times, 1);
    (void)snprintf (who, sizeof (who), "process %ld on host ", (long)getpid ());
    assert_ptr_equal (strstr (w.said, who), w.said);
    assert_non_null (strstr (w.said, dir.path));
    publish_lock_drop (&second);
    assert_false (is_there ());
}

static void waiting_can_be_interrupted (void **state)
{
    const atomic_bool cancel = true;
    const struct publish_caller caller = { &cancel, NULL, NULL };
    struct publish_lock first, second;
    struct err err = { "" };

    (void)state;
    take (&first);
    assert_int_equal (publish_lock_take (&second, &dir, &caller, &err), -EINTR);
    assert_false (second.held);
    assert_true (is_there ());
    publish_lock_drop (&first);
}

static void the_lock_of_a_dead_one_is_nobodys (void **state)
{
    int fd = openat (dir.fd, NAME, O_WRONLY | O_CREAT, 0600);
    struct publish_lock l;
    char text[128] = "";

    (void)state;
    assert_true (fd >= 0);
    assert_int_equal (write (fd, "process 1 on host gone\n", 23), 23);
    take (&l);
    assert_true (l.held);
    // the file that was there is not written to: it could be any
    assert_int_equal (lseek (fd, 0, SEEK_END), 23);
    assert_int_equal (close (fd), 0);
    assert_true (pread (l.fd, text, sizeof (text) - 1, 0) > 0);
    assert_null (strstr (text, "gone"));
    publish_lock_drop (&l);
}

/* What was locked is the file of one that has just ended. */
static void a_file_without_its_name_is_no_lock (void **state)
{
    struct publish_lock l;

    (void)state;
    removed = true;
    take (&l);
    assert_true (l.held);
    assert_true (is_there ());
    publish_lock_drop (&l);
    // and that of another one is not removed
    take (&l);
    assert_int_equal (unlinkat (dir.fd, NAME, 0), 0);
    assert_int_equal (close (openat (dir.fd, NAME, O_WRONLY | O_CREAT, 0600)),
                      0);
    publish_lock_drop (&l);
    assert_true (is_there ());
}

/* On NFS only who may write to it can lock it, and so wait. */
static void who_may_write_there_may_lock (void **state)
{
    const mode_t modes[][2] = { { 0755, 0644 }, { 02775, 0664 }, { 0777, 0666 } };
    mode_t former = umask (077);
    struct publish_lock l;
    struct stat st;

    (void)state;
    for (size_t i = 0; i < sizeof (modes) / sizeof (modes[0]); i++) {
        assert_int_equal (fchmod (dir.fd, modes[i][0]), 0);
        take (&l);
        assert_int_equal (fstat (l.fd, &st), 0);
        assert_int_equal (st.st_mode & 0777, modes[i][1]);
        publish_lock_drop (&l);
    }
    (void)umask (former);
}

static void without_locks_nothing_is_held (void **state)
{
    const int errors[] = { ENOLCK, ENOSYS, EOPNOTSUPP };
    struct publish_lock l;

    (void)state;
    for (size_t i = 0; i < sizeof (errors) / sizeof (errors[0]); i++) {
        failure = errors[i];
        take (&l);
        assert_false (l.held);
        assert_false (is_there ());
        publish_lock_drop (&l);
    }
}

static void a_file_that_cannot_be_locked_is_told (void **state)
{
    struct publish_lock l;
    struct err err = { "" };

    (void)state;
    failure = EBADF;            // of NFS: it may only be read
    assert_int_equal (publish_lock_take (&l, &dir, &nobody, &err), -EACCES);
    assert_non_null (strstr (err.text, NAME));
    failure = 0;
    (void)unlinkat (dir.fd, NAME, 0);
    assert_int_equal (symlinkat ("/tmp/elsewhere", dir.fd, NAME), 0);
    assert_int_equal (publish_lock_take (&l, &dir, &nobody, &err), -ELOOP);
    assert_false (l.held);
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (the_file_is_there_as_long_as_the_lock),
        TEST (the_other_one_is_named_and_waited_for),
        TEST (waiting_can_be_interrupted),
        TEST (the_lock_of_a_dead_one_is_nobodys),
        TEST (a_file_without_its_name_is_no_lock),
        TEST (who_may_write_there_may_lock),
        TEST (without_locks_nothing_is_held),
        TEST (a_file_that_cannot_be_locked_is_told),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
