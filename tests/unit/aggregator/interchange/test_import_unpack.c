/* tests/unit/aggregator/interchange/test_import_unpack.c - an ordinary tar file
 * is unpacked: what is refused, what ends it, and the dates of directories
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "interchange/import_tar.h"

#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_NAME 256           // bytes: no file system takes it
#define DEPTH 64                // names of a path that is taken

struct fixture {
    char dir[64];
    struct tree to;
    struct tar_writer *w;
    int fd;
    char refused[4096];
    struct import_sums sums;
    struct err err;
};

static int make (void **state)
{
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "/tmp/unpack-XXXXXX");
    assert_non_null (mkdtemp (f->dir));
    assert_int_equal (tree_open (&f->to, f->dir, NULL), 0);
    f->fd = memfd_create ("tar", MFD_CLOEXEC);
    assert_int_equal (tar_writer_create (f->fd, &f->w, NULL), 0);
    *state = f;
    return 0;
}

static int clean (void **state)
{
    struct fixture *f = *state;

    tree_close (&f->to);
    assert_int_equal (fileio_remove_tree (f->dir, NULL), 0);
    (void)close (f->fd);
    free (f);
    return 0;
}

static void put (struct fixture *f, const char *name, int64_t seconds)
{
    const struct file_facts facts = { S_IFREG | 0640, seconds * 1000000000, -1,
                                      -1 };

    assert_int_equal (tar_writer_begin (f->w, name, 1, &facts, NULL), 0);
    assert_int_equal (tar_writer_put (f->w, "x", 1, NULL), 0);
}

static void note_refused (void *arg, const char *why)
{
    struct fixture *f = arg;

    (void)strcat (strcat (f->refused, why), "\n");
}

/* Unpack what was put. */
static int unpack (struct fixture *f)
{
    struct tar_member *first = calloc (1, sizeof (*first));
    struct tar_reader *from = NULL;
    int rc;

    assert_int_equal (tar_writer_finish (f->w, NULL), 0);
    tar_writer_destroy (f->w);
    assert_int_equal (lseek (f->fd, 0, SEEK_SET), 0);
    assert_int_equal (tar_reader_create (f->fd, &from, NULL), 0);
    assert_int_equal (import_begin (from, first, &f->sums, NULL), 0);
    rc = import_unpack (from, first, &f->to, false, note_refused, f, NULL,
                        &f->sums, &f->err);
    tar_reader_destroy (from);
    free (first);
    return rc;
}

static bool there (const struct fixture *f, const char *name)
{
    return faccessat (f->to.fd, name, F_OK, 0) == 0;
}

static void test_names (void **state)
{
    char name[2 * LONG_NAME + 8];
    struct fixture *f = *state;

    put (f, "a/file", 1);
    put (f, "a/file", 1);
    put (f, "a/file/below", 1);
    put (f, "a", 1);
    memset (name, 'n', sizeof (name));
    name[LONG_NAME] = '\0';
    put (f, name, 1);
    name[LONG_NAME] = '/';
    name[LONG_NAME + 2] = '\0';
    put (f, name, 1);
    for (size_t i = 0; i < DEPTH; i++)
        memcpy (name + 2 * i, "d/", 3);
    name[2 * DEPTH - 1] = '\0';
    put (f, name, 1);           // as deep as may be
    put (f, strcat (name, "/d"), 1);
    put (f, "b/last", 1);
    assert_int_equal (unpack (f), 0);
    assert_int_equal (f->sums.refused, 6);
    assert_int_equal (f->sums.files, 3);
    assert_non_null (strstr (f->refused, "a/file: another member has that "
                             "name\na/file/below: a directory above it is a "
                             "file\na: another member has that name\nnnn"));
    assert_non_null (strstr (f->refused, "n/n: its name is too long"));
    assert_non_null (strstr (f->refused, "d/d: it is in too many directories"));
    assert_true (there (f, "b/last"));
}

/* A want of the machine is no fault of the member. */
static void test_no_descriptors (void **state)
{
    struct rlimit was, few;
    struct fixture *f = *state;
    int rc, next = dup (f->fd);

    (void)close (next);
    put (f, "a/b/c/file", 1);
    assert_int_equal (getrlimit (RLIMIT_NOFILE, &was), 0);
    few = (struct rlimit){ (rlim_t)next, was.rlim_max };
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &few), 0);
    rc = unpack (f);
    assert_int_equal (setrlimit (RLIMIT_NOFILE, &was), 0);
    assert_int_equal (rc, -EMFILE);
    assert_string_equal (f->refused, "");
}

/* tar -C DIR -cf FILE . begins with a directory without a name. */
static void test_dot (void **state)
{
    struct fixture *f = *state;
    struct tar_member *first = calloc (1, sizeof (*first));
    struct tar_reader *from = NULL;

    put (f, "a/file", 1);
    assert_int_equal (tar_writer_finish (f->w, NULL), 0);
    tar_writer_destroy (f->w);
    assert_int_equal (lseek (f->fd, 0, SEEK_SET), 0);
    assert_int_equal (tar_reader_create (f->fd, &from, NULL), 0);
    first->directory = true;
    assert_int_equal (import_unpack (from, first, &f->to, false, note_refused,
                                     f, NULL, &f->sums, NULL), 0);
    assert_true (there (f, "a/file"));
    tar_reader_destroy (from);
    free (first);
}

static int64_t date_of (const struct fixture *f, const char *name)
{
    struct stat st;

    assert_int_equal (fstatat (f->to.fd, name, &st, 0), 0);
    return st.st_mtim.tv_sec;
}

/* A directory is as old as what is in it, whenever it is unpacked. */
static void test_dates (void **state)
{
    char name[LONG_NAME + 8] = "empty/";
    struct fixture *f = *state;

    put (f, "c/old", 1000);
    put (f, "c/d/e/new", 3000);
    put (f, "c/d/older", -7);
    put (f, "k/before 1970", -7);
    memset (name + 6, 'n', LONG_NAME);
    put (f, name, 5000);        // is refused
    assert_int_equal (unpack (f), 0);
    assert_int_equal (date_of (f, "c"), 3000);
    assert_int_equal (date_of (f, "c/d"), 3000);
    assert_int_equal (date_of (f, "c/d/e"), 3000);
    assert_int_equal (date_of (f, "c/old"), 1000);
    assert_int_equal (date_of (f, "k"), -7);
    assert_int_equal (date_of (f, "empty"), 0);
}

#define TEST(fn) cmocka_unit_test_setup_teardown (fn, make, clean)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_names), TEST (test_no_descriptors), TEST (test_dot),
        TEST (test_dates),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
