/* tests/unit/intake/test_job_build.c - where the raw files of a job go */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fileio.h"
#include "intake/job_build.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    char dir[PATH_MAX / 4], out[PATH_MAX / 2];
    struct ledger *l;
    struct store *s;
    uint8_t content;            // last one
};

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));
    char path[PATH_MAX];

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-raw-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->out, sizeof (f->out), "%s/captures", f->dir);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->dir);
    assert_int_equal (ledger_open (path, &f->l, NULL), 0);
    assert_int_equal (store_open (f->dir, f->l, &f->s, NULL), 0);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    store_close (f->s);
    ledger_close (f->l);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static void deliver (struct fixture *f, int64_t rank, const char *capture,
                     const char *path, const char *bytes)
{
    struct ledger_item item = { .kind = ITEM_RAW, .rank = rank };

    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (item.path, sizeof (item.path), "%s", path);
    memset (item.content.bytes, ++f->content, DIGEST_SIZE);
    assert_int_equal (store_append (f->s, &item, bytes, strlen (bytes), NULL),
                      0);
    assert_int_equal (ledger_add_content (f->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (f->l, &item, NULL), 1);
}

static void build (struct fixture *f, size_t files)
{
    struct err err = { "" };
    size_t n = 0;

    if (job_build_raw_tree (f->l, f->s, "j", f->out, &n, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (n, files);
}

static void check_file (struct fixture *f, const char *name, const char *want)
{
    char path[PATH_MAX];
    struct buf b;

    assert_true (fileio_join (path, sizeof (path), f->out, name));
    buf_init (&b, 1024);
    if (fileio_read_at (AT_FDCWD, path, &b, NULL) != 0)
        fail_msg ("%s is not there", name);
    assert_string_equal (buf_text (&b), want);
    buf_fini (&b);
}

/* Names that only one rank has need nothing more. */
static void test_own_names (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "a0");
    deliver (f, 1, "b", "x", "b1");
    deliver (f, 1, "b", "sub/y", "b1y");
    build (f, 3);
    check_file (f, "a/x", "a0");
    check_file (f, "b/x", "b1");
    check_file (f, "b/sub/y", "b1y");
}

/* A name that several have: each is below its rank, whoever came first. */
static void test_shared_name (void **state)
{
    struct fixture *f = *state;

    deliver (f, 12, "prof", "x", "of 12");
    deliver (f, 0, "prof", "x", "of 0");
    deliver (f, -1, "prof", "x", "of none");
    deliver (f, 0, "prof", "only/here", "too");
    deliver (f, 3, "alone", "x", "of 3");
    build (f, 5);
    check_file (f, "rank12/prof/x", "of 12");
    check_file (f, "rank0/prof/x", "of 0");
    check_file (f, "rank0/prof/only/here", "too");
    check_file (f, "no-rank/prof/x", "of none");
    check_file (f, "alone/x", "of 3");
}

/* Captures that are called as the directories between. */
static void test_rank_names (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "prof", "x", "of 0");
    deliver (f, 1, "prof", "x", "of 1");
    deliver (f, 2, "rank0", "prof/x", "of 2");
    deliver (f, 3, "no-rank", "prof/x", "of 3");
    deliver (f, 4, "rank0_ascend_pt", "x", "of 4");
    build (f, 5);
    check_file (f, "rank0/prof/x", "of 0");
    check_file (f, "rank1/prof/x", "of 1");
    check_file (f, "rank2/rank0/prof/x", "of 2");
    check_file (f, "rank3/no-rank/prof/x", "of 3");
    check_file (f, "rank0_ascend_pt/x", "of 4");
}

/* Of a capture that came again the newer files are there. */
static void test_again (void **state)
{
    struct fixture *f = *state;

    deliver (f, 0, "a", "x", "older and longer");
    build (f, 1);
    deliver (f, 0, "a", "x", "newer");
    build (f, 1);
    check_file (f, "a/x", "newer");
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_own_names), TEST (test_shared_name), TEST (test_rank_names),
        TEST (test_again),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
