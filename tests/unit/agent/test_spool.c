/* tests/unit/agent/test_spool.c - what is sealed stays, whatever happens */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fileio.h"
#include "spool/spool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX - 64];
    struct spool *s;
};

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-spool-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    assert_int_equal (spool_open (f->dir, &f->s, NULL), 0);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    spool_close (f->s);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static void reopen (struct fixture *f)
{
    spool_close (f->s);
    assert_int_equal (spool_open (f->dir, &f->s, NULL), 0);
}

/* Two items of one capture: its shipment, and a raw file that is not ours. */
static void seal_two (struct fixture *f, char raw[PATH_MAX])
{
    struct spool_item items[2];

    memset (items, 0, sizeof (items));
    items[0].kind = ITEM_ROWS;
    items[0].size = 7;
    items[0].rank = 2;
    memset (items[0].content.bytes, 1, DIGEST_SIZE);
    (void)snprintf (items[0].capture, sizeof (items[0].capture), "a_pt");
    assert_int_equal (spool_temp (f->s, items[0].file, NULL), 0);
    assert_int_equal (fileio_replace (items[0].file, "1234567", 7, 0600, NULL),
                      0);
    items[1] = items[0];
    items[1].kind = ITEM_RAW;
    (void)snprintf (items[1].path, sizeof (items[1].path), "x/y");
    (void)snprintf (raw, PATH_MAX, "%s/raw", f->dir);
    (void)snprintf (items[1].file, sizeof (items[1].file), "%s", raw);
    assert_int_equal (fileio_replace (raw, "1234567", 7, 0600, NULL), 0);
    assert_int_equal (spool_seal (f->s, "/a_pt", "v1", items, 2, NULL), 0);
}

/* Starting again needs nothing but the directory. */
static void test_survives (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    char raw[PATH_MAX];

    seal_two (f, raw);
    reopen (f);
    assert_int_equal (spool_undelivered (f->s), 2);
    assert_true (spool_knows (f->s, "/a_pt", "v1"));
    assert_false (spool_knows (f->s, "/a_pt", "v2"));
    assert_int_equal (spool_next (f->s, 0, &got, NULL), 1);
    assert_int_equal (got.kind, ITEM_ROWS);
    assert_int_equal (got.rank, 2);
    assert_int_equal (got.content.bytes[31], 1);
    assert_string_equal (got.capture, "a_pt");
    assert_int_equal (spool_next (f->s, got.id, &got, NULL), 1);
    assert_int_equal (got.kind, ITEM_RAW);
    assert_string_equal (got.path, "x/y");
    assert_int_equal (spool_next (f->s, got.id, &got, NULL), 0);
}

/* Acknowledged: our own file goes, the user's stays, and it is never offered
 * again, not even after a restart.
 */
static void test_durable (void **state)
{
    struct fixture *f = *state;
    struct spool_item rows, file;
    char raw[PATH_MAX];

    seal_two (f, raw);
    assert_int_equal (spool_next (f->s, 0, &rows, NULL), 1);
    assert_int_equal (spool_next (f->s, rows.id, &file, NULL), 1);
    assert_int_equal (spool_durable (f->s, &rows, NULL), 0);
    assert_int_equal (spool_durable (f->s, &rows, NULL), 0);    // twice
    assert_int_equal (access (rows.file, F_OK), -1);
    assert_int_equal (spool_durable (f->s, &file, NULL), 0);
    assert_int_equal (access (raw, F_OK), 0);
    reopen (f);
    assert_int_equal (spool_undelivered (f->s), 0);
    assert_int_equal (spool_next (f->s, 0, &rows, NULL), 0);
}

static void test_gone (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    char raw[PATH_MAX];

    seal_two (f, raw);
    assert_int_equal (spool_next (f->s, 0, &got, NULL), 1);
    assert_int_equal (spool_gone (f->s, got.id, "it vanished", NULL), 0);
    assert_int_equal (spool_undelivered (f->s), 1);
}

/* Two agents on one spool would give one number to two items. */
static void test_locked (void **state)
{
    struct fixture *f = *state;
    struct spool *second = NULL;
    struct err err = { "" };

    assert_int_equal (spool_open (f->dir, &second, &err), -EBUSY);
    assert_null (second);
    assert_non_null (strstr (err.text, f->dir));
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_survives), TEST (test_durable), TEST (test_gone),
        TEST (test_locked),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
