/* tests/unit/intake/test_ledger.c - ledger and store of the aggregator */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fileio.h"
#include "intake/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX / 2], db[PATH_MAX];
    struct ledger *l;
    struct store *s;
};

static void open_both (struct fixture *f)
{
    assert_int_equal (ledger_open (f->db, &f->l, NULL), 0);
    assert_int_equal (store_open (f->dir, f->l, &f->s, NULL), 0);
}

static void close_both (struct fixture *f)
{
    store_close (f->s);
    ledger_close (f->l);
}

static int setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-ledger-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->db, sizeof (f->db), "%s/ledger.db", f->dir);
    open_both (f);
    *state = f;
    return 0;
}

static int teardown (void **state)
{
    struct fixture *f = *state;

    close_both (f);
    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static struct ledger_item item_of (const char *capture, uint8_t content)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .rank = 4 };

    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    (void)snprintf (item.host, sizeof (item.host), "n0");
    memset (item.content.bytes, content, DIGEST_SIZE);
    return item;
}

/* Store some bytes under a name, committed. */
static void deliver (struct fixture *f, const char *capture, uint8_t content,
                     const char *bytes)
{
    struct ledger_item item = item_of (capture, content);

    assert_int_equal (store_append (f->s, bytes, strlen (bytes), &item.place,
                                    NULL), 0);
    assert_int_equal (store_sync (f->s, NULL), 0);
    assert_int_equal (ledger_begin (f->l, NULL), 0);
    assert_int_equal (ledger_add_content (f->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (f->l, &item, NULL), 0);
    assert_int_equal (ledger_commit (f->l, NULL), 0);
}

struct count {
    unsigned n, superseded;
};

static int count_item (void *arg, const struct ledger_item *item)
{
    struct count *c = arg;

    c->n++;
    c->superseded += item->superseded;
    return 0;
}

static struct count count_all (struct fixture *f)
{
    struct count c = { 0, 0 };

    assert_int_equal (ledger_each (f->l, "j", ITEM_ROWS, count_item, &c, NULL),
                      0);
    return c;
}

/* Sending anything again is harmless. */
static void test_twice (void **state)
{
    struct fixture *f = *state;

    deliver (f, "a", 1, "bytes");
    deliver (f, "a", 1, "bytes");
    assert_int_equal (count_all (f).n, 1);
}

/* A capture that was analysed again supersedes its older self, and may come
 * back to what it was.
 */
static void test_supersede (void **state)
{
    struct fixture *f = *state;
    struct count c;

    deliver (f, "a", 1, "old");
    deliver (f, "a", 2, "new");
    deliver (f, "b", 3, "other");
    c = count_all (f);
    assert_int_equal (c.n, 3);
    assert_int_equal (c.superseded, 1);
    deliver (f, "a", 1, "old");
    c = count_all (f);
    assert_int_equal (c.n - c.superseded, 2);
}

/* Bytes that no ledger row speaks of (a crash came between) are cut off, and
 * the next content does not lie behind a hole.
 */
static void test_unacknowledged (void **state)
{
    struct fixture *f = *state;
    struct ledger_place place;
    char text[16] = "";
    struct digest id;
    int fd;

    deliver (f, "a", 1, "first");
    assert_int_equal (store_append (f->s, "lost", 4, &place, NULL), 0);
    close_both (f);
    open_both (f);
    deliver (f, "b", 2, "second");
    memset (id.bytes, 2, DIGEST_SIZE);
    assert_int_equal (ledger_find_content (f->l, &id, &place, NULL), 1);
    assert_int_equal (place.offset, 5);
    fd = store_read (f->s, &id, &place, NULL);
    assert_true (fd >= 0);
    assert_int_equal (fileio_pread_all (fd, text, place.size,
                                        (off_t)place.offset), 0);
    assert_string_equal (text, "second");
    (void)close (fd);
}

/* A transaction that fails half way leaves nothing. */
static void test_rollback (void **state)
{
    struct fixture *f = *state;
    struct ledger_item item = item_of ("a", 1);

    assert_int_equal (ledger_begin (f->l, NULL), 0);
    assert_int_equal (ledger_add_content (f->l, &item.content, &item.place,
                                          NULL), 0);
    assert_int_equal (ledger_add_item (f->l, &item, NULL), 0);
    ledger_rollback (f->l);
    ledger_rollback (f->l);
    assert_int_equal (count_all (f).n, 0);
}

/* Larger content gets a file named by its hash, and an unfinished one is gone
 * after a restart.
 */
static void test_incoming (void **state)
{
    struct fixture *f = *state;
    struct ledger_place place = { 0, 0, 3 };
    struct digest id;
    uint64_t kept, lost;
    char path[PATH_MAX];
    int fd = store_incoming (f->s, &kept, NULL);

    assert_true (fd >= 0);
    assert_int_equal (fileio_write_all (fd, "abc", 3), 0);
    (void)close (fd);
    memset (id.bytes, 7, DIGEST_SIZE);
    assert_int_equal (store_keep (f->s, kept, &id, NULL), 0);
    fd = store_incoming (f->s, &lost, NULL);
    assert_true (fd >= 0);
    (void)close (fd);
    close_both (f);
    open_both (f);
    fd = store_read (f->s, &id, &place, NULL);
    assert_true (fd >= 0);
    (void)close (fd);
    (void)snprintf (path, sizeof (path), "%s/incoming/%llu", f->dir,
                    (unsigned long long)lost);
    assert_int_equal (access (path, F_OK), -1);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_twice), TEST (test_supersede), TEST (test_unacknowledged),
        TEST (test_rollback), TEST (test_incoming),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
