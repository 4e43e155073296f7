/* tests/unit/node_agent/spool/test_spool_pages.c - a spool of whose ledger
 * SQLite cannot read one page */
#include "node_agent/spool/spool_check.h"

#include "spool/release_rows.h"

#include <sqlite3.h>

static void on_said (void *arg, int64_t rank, const char *packet)
{
    (void)arg;
    (void)rank;
    (void)packet;
}

static void on_vanished (void *arg, const char *path)
{
    (void)arg;
    fail_msg ("%s has vanished", path);
}

/* All that an agent does, most of which says nothing of a failure. */
static void use (struct fixture *f)
{
    static const enum item_kind kinds[] = { ITEM_ROWS, ITEM_RAW };
    const char *const seen[] = { f->raw };
    struct spool_item got = { .id = 0 };
    struct released release = { .id = 1, .state = RELEASE_BEGUN };
    struct digest hashes[SPOOL_SEGMENT];
    uint64_t id;

    (void)spool_find_gone (f->s, on_vanished, NULL, NULL);
    (void)spool_each_lost (f->s, NULL, NULL, NULL);
    (void)spool_each_report (f->s, on_said, NULL, NULL);
    (void)spool_keep_report (f->s, 2, "hello", "{}", NULL);
    (void)spool_keep_note (f->s, "clock", "{}", NULL);
    (void)spool_seen (f->s, seen, 1, NULL);
    (void)spool_knows (f->s, f->raw, "v1");
    (void)spool_has_rank (f->s, 2);
    (void)spool_has_release (f->s, f->raw);
    (void)spool_change_release (f->s, &release, RELEASE_REMOVED, NULL, NULL);
    if (spool_settle (f->s, f->raw, "v2", &id, NULL) == 0) {
        (void)spool_seal (f->s, id, "a_pt", 2, NULL, 0,
                          (struct spool_left_out){ 0 }, NULL, NULL);
        (void)spool_find_name_collision (f->s, id, got.file, NULL);
    }
    for (size_t i = 0; i < 2; i++) {
        while (spool_next (f->s, kinds[i], 0, &got, NULL) > 0 &&
               !spool_damage (f->s)) {
            (void)spool_hashes (f->s, got.id, 0, hashes, NULL);
            (void)spool_durable (f->s, &got.id, 1, NULL);
        }
    }
}

/* The first byte of the page where a table or an index begins is another one,
 * so that SQLite can read nothing of it: 1, or 0 if there is no such 'number'.
 */
static int damage_page (struct fixture *f, int number, char name[64])
{
    char path[PATH_MAX];
    sqlite3_stmt *st;
    sqlite3 *db;
    long at = 0;

    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_prepare_v2 (db,
        "SELECT name, (rootpage - 1) * page_size FROM sqlite_schema, "
        "pragma_page_size WHERE rootpage>0 AND name NOT LIKE 'sqlite%' "
        "ORDER BY name LIMIT 1 OFFSET ?1", -1, &st, NULL), SQLITE_OK);
    (void)sqlite3_bind_int (st, 1, number);
    if (sqlite3_step (st) == SQLITE_ROW) {
        (void)snprintf (name, 64, "%s",
                        (const char *)sqlite3_column_text (st, 0));
        at = (long)sqlite3_column_int64 (st, 1);
    }
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    if (at > 0)
        spool_flip (path, at, 0x80);
    return at > 0;
}

/* Whoever meets the damage, and whether he can say so or not: the spool knows
 * of it, and the next one begins anew.  Else an agent would go on for ever
 * with a ledger that takes nothing.
 */
static void test_pages (void **state)
{
    struct fixture *f = *state;
    char *big = malloc ((1 << 20) + 2), name[64];
    struct buf manifest;
    int n = 0;

    memset (big, 'x', (1 << 20) + 1);
    big[(1 << 20) + 1] = '\0';
    buf_init (&manifest, 8);
    buf_put (&manifest, "x", 1);
    for (;; n++) {
        (void)spool_put (f, f->raw, "v1", "0123", big, false);
        assert_int_equal (spool_add_release (f->s, f->raw, RELEASE_ALL_SEALED,
                                             2, &manifest, 1, NULL), 0);
        spool_close (f->s);
        if (damage_page (f, n, name) == 0)
            break;
        spool_reopen_new (f);
        use (f);
        if (!spool_set_aside (f->s) && !spool_damage (f->s))
            fail_msg ("nobody knows that %s is damaged", name);
        if (!spool_set_aside (f->s)) {
            spool_reopen (f);
            assert_non_null (spool_set_aside (f->s));
        }
        use (f);
        assert_null (spool_damage (f->s));
        spool_reopen (f);       // only once
        assert_null (spool_set_aside (f->s));
        spool_close (f->s);
        assert_int_equal (fileio_remove_tree (f->spool, NULL), 0);
        spool_reopen_new (f);
    }
    f->s = NULL;
    assert_true (n > 12);       // that many tables and indexes there are
    buf_fini (&manifest);
    free (big);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_pages, spool_setup,
                                         spool_teardown),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
