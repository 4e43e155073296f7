/* tests/unit/aggregator/builder/test_build_state.c - what one build leaves for the
 * next
 */
#include "common/store/dir_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/build_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t sums[] = { 1, 2, UINT64_MAX };
static struct rows_block blocks[2];

static struct build_capture captures[] = { { .id = 7, .rows_max = 9 } };

static const struct build_state want = {
    .pages = { 4096, 3, sums }, .captures = captures, .ncaptures = 1,
    .blocks = { blocks, 2 } };

/* Whether there is one. */
static bool read_state (struct build_state *s, const struct tree *t)
{
    build_state_read (s, t);
    return s->pages.n > 0;
}

static struct tree open_dir (void)
{
    struct tree t = { .fd = -1 };

    assert_int_equal (tree_open (&t, dir, NULL), 0);
    return t;
}

static void test_same (void **state)
{
    struct tree t = open_dir ();
    struct build_state s;

    (void)state;
    assert_false (read_state (&s, &t));
    PRINT (blocks[1].table, "Link");
    blocks[1].number = 5;
    build_state_write (&want, &t);
    assert_true (read_state (&s, &t));
    assert_int_equal (s.ncaptures, 1);
    assert_memory_equal (s.captures, captures, sizeof (captures));
    assert_int_equal (s.pages.page_size, 4096);
    assert_int_equal (s.pages.n, 3);
    assert_memory_equal (s.pages.sums, sums, sizeof (sums));
    assert_int_equal (s.blocks.n, 2);
    assert_memory_equal (s.blocks.list, blocks, sizeof (blocks));
    build_state_fini (&s);
    build_state_write (&s, &t);         // none is left
    assert_int_equal (faccessat (t.fd, "build_state", F_OK, 0), -1);
    tree_close (&t);
}

/* Whatever happens to the file, it is of no use then. */
static void test_damaged (void **state)
{
    struct tree t = open_dir ();
    struct build_state s;
    struct stat st;
    uint8_t byte;
    int fd;

    (void)state;
    build_state_write (&want, &t);
    fd = open ("build_state", O_RDWR | O_CLOEXEC);
    assert_int_equal (fstat (fd, &st), 0);
    for (off_t at = 0; at < st.st_size; at++) {
        assert_int_equal (pread (fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal (pwrite (fd, &byte, 1, at), 1);
        assert_false (read_state (&s, &t));
        assert_null (s.pages.sums);
        byte ^= 0x10;
        assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    }
    assert_true (read_state (&s, &t));
    build_state_fini (&s);
    for (off_t n = st.st_size - 1; n >= 0; n--) {
        assert_int_equal (ftruncate (fd, n), 0);
        assert_false (read_state (&s, &t));
    }
    (void)close (fd);
    tree_close (&t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_same, dir_setup, dir_teardown),
        cmocka_unit_test_setup_teardown (test_damaged, dir_setup,
                                         dir_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
