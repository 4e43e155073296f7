/* tests/unit/aggregator/fsck/test_check_flips.c - a bit that is wrong anywhere
 * in a root is found, and mended */
#include "aggregator/fsck/fsck_check.h"
#include "rounds.h"

#define STEP ROUNDS (1, 21, 21) // bytes
#define REPAIR 7                // repairs: they take some syncs of the disk

/* Every byte of a segment: found; and at most the item that it belongs to is
 * lost (that of a record not even then: the ledger knows it, too).
 */
static void test_flip_segment (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    off_t size;

    fsck_copy (f);
    store_segment_path (f->copy, 1, path);
    size = fsck_size (path);
    for (off_t at = 0; at < size; at += STEP) {
        struct check_report r;
        char got[16];

        fsck_flip (path, at);
        r = fsck_check (f, f->copy, false);
        if (r.damaged == 0)
            fail_msg ("byte %lld was not noticed", (long long)at);
        if (at % REPAIR != 0) {
            fsck_flip (path, at);
            continue;
        }
        fsck_mended (f, NULL);
        fsck_whole (f->copy, got);
        if (strlen (got) < ITEMS - 1)
            fail_msg ("byte %lld: only %s are left", (long long)at, got);
        fsck_copy (f);
    }
}

/* Bytes all over the ledger (with ROLLCALL_EVERY_BYTE all of them: minutes):
 * found, or without effect on what is read; and everything is there after a
 * repair.
 */
static void test_flip_ledger (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX], got[16];
    bool every = getenv ("ROLLCALL_EVERY_BYTE") != NULL;
    unsigned found = 0, harmless = 0;
    off_t size;

    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->root);
    size = fsck_size (path);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    for (off_t at = 0; at < size; at += every ? 1 : 1999) {
        struct ledger *l = NULL;

        fsck_copy (f);
        fsck_flip (path, at);
        if (ledger_open_read (path, &l, NULL) < 0) {
            if (!every || found % 97 == 0)
                fsck_mended (f, "0123");
            found++;
            continue;
        }
        ledger_close (l);
        harmless++;
        fsck_whole (f->copy, got);
        assert_string_equal (got, "0123");
    }
    assert_true (found > 0);
    assert_true (harmless > 0);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, fsck_setup, fsck_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_flip_segment), TEST (test_flip_ledger),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
