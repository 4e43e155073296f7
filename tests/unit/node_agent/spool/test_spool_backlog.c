/* tests/unit/node_agent/spool/test_spool_backlog.c - a million items in the
 * spool
 *
 * Starting must not depend on how much there is to deliver.  The numbers are
 * printed; the limits asserted are the promised ones.
 */
#include "node_agent/spool/spool_check.h"

#include "base/clock.h"
#include "disk/release.h"
#include "rounds.h"
#include "spool/manifest.h"
#include "spool/release_rows.h"
#include "spool/spool_private.h"

#include <dirent.h>
#include <sys/wait.h>

#define ITEMS ROUNDS (1000000, 100000, 100000)
#define START_MAX_NS NS_PER_S
#define RSS_MAX_KB 65536
#define DESCRIPTORS_MAX 64

/* Copies of the one capture and the one item that there are, straight into the
 * ledger.  Their checksums are copied, so that an offer of one would be
 * refused: what is measured here is finding it.
 */
static const char fill_sql[] =
    "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF; PRAGMA cache_size=-65536;"
    "BEGIN;"
    "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<%d)"
    "INSERT INTO capture SELECT i, path||'/'||i, fingerprint, key+i, name,"
    " rank, state, open, sum FROM n, capture WHERE id=1;"
    "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i+1 FROM n WHERE i<%d)"
    "INSERT INTO item SELECT i, i, number, kind, own, path, size, content,"
    " state, at, why, sum, mode, mtime_ns, uid, gid FROM n, item WHERE id=1;"
    "COMMIT;";

static void fill (struct fixture *f, char *sql)
{
    char path[PATH_MAX];
    sqlite3 *db;

    assert_true (fileio_join (path, sizeof (path), f->spool, "ledger.db"));
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    if (sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg ("%s", sqlite3_errmsg (db));
    (void)sqlite3_close (db);
    sqlite3_free (sql);
}

/* Peak of this program alone; getrusage's is also that of the one before. */
static long peak_kb (void)
{
    FILE *f = fopen ("/proc/self/status", "r");
    char line[128];
    long kb = 0;

    while (f && fgets (line, sizeof (line), f)) {
        if (strncmp (line, "VmHWM:", 6) == 0)
            kb = strtol (line + 6, NULL, 10);
    }
    if (f)
        (void)fclose (f);
    return kb;
}

static int open_descriptors (void)
{
    DIR *dir = opendir ("/proc/self/fd");
    int n = 0;

    while (dir && readdir (dir))
        n++;
    if (dir)
        (void)closedir (dir);
    return n - 3;               // ".", ".." and the directory's own
}

/* In a program of its own, whose memory is that of the spool: 0 if all is as
 * promised.
 */
static int start (const char *dir)
{
    int64_t began = clock_mono_ns (), took;
    struct spool_item got;
    struct spool *s;
    uint64_t undelivered;

    if (spool_open (dir, &s, NULL) < 0 ||
        spool_next (s, ITEM_ROWS, 0, &got, NULL) != 1)
        return 1;
    undelivered = spool_undelivered (s);
    took = clock_mono_ns () - began;
    (void)printf ("%llu items to deliver: started in %.1f ms, peak memory "
                  "%.1f MiB, %d descriptors\n", (unsigned long long)undelivered,
                  (double)took / NS_PER_MS, (double)peak_kb () / 1024,
                  open_descriptors ());
    (void)fflush (stdout);
    spool_close (s);
    if (undelivered != ITEMS)
        return 2;
    return took > START_MAX_NS ? 3 : peak_kb () > RSS_MAX_KB ? 4
           : open_descriptors () > DESCRIPTORS_MAX ? 5 : 0;
}

static void test_start (void **state)
{
    struct fixture *f = *state;
    pid_t child;
    int status;

    (void)spool_put (f, "/capture", "v1", "0123456789", NULL, false);
    spool_close (f->s);
    fill (f, sqlite3_mprintf (fill_sql, ITEMS, ITEMS));
    spool_reopen_new (f);       // once more, for the tallies
    assert_int_equal (spool_recount (f->s, NULL), 0);
    spool_close (f->s);
    f->s = NULL;
    if ((child = fork ()) == 0) {
        (void)execl ("/proc/self/exe", "start", f->spool, NULL);
        _exit (127);
    }
    assert_true (child > 0);
    assert_int_equal (waitpid (child, &status, 0), child);
    assert_int_equal (status, 0);
}

/* ---- what may be released ---- */

#define SEALED 20               // captures that are offered
#define WAITING 20000           // more that are not
#define DELIVERED 17            // with as many on their way before it
#define AHEAD 40                // sealed by a clock that was, and then these
#define RIGHT 2
#define STEPS 100               // of SQLite's machine, counted at once

static const char release_sql[] =
    "PRAGMA synchronous=OFF; BEGIN;"
    "WITH RECURSIVE n(i) AS (SELECT %d+1 UNION ALL SELECT i+1 FROM n WHERE "
    "i<%d+%d) INSERT INTO item SELECT i, i, number, kind, own, path, size,"
    " content, state, at, why, sum, mode, mtime_ns, uid, gid FROM n, item WHERE id=1;"
    "WITH RECURSIVE n(i) AS (SELECT %d+1 UNION ALL SELECT i+1 FROM n WHERE "
    "i<%d+%d) INSERT INTO release SELECT i, path||'/'||i, i, i, sealed_ns,"
    " manifest, state, sum FROM n, release WHERE id=1;"
    "COMMIT;";

static int count_steps (void *arg)
{
    ++*(unsigned *)arg;
    return 0;
}

static int next_release (struct fixture *f, struct released *r)
{
    int rc = spool_next_release (f->s, RELEASE_KEPT, 0, INT64_MAX, r, NULL);

    if (rc > 0)
        buf_fini (&r->manifest);
    return rc;
}

/* An idle agent asks every second which capture may go: that must not take
 * longer the more there are that may not.
 */
static void test_release (void **state)
{
    struct fixture *f = *state;
    struct spool_item got = { .id = 0 };
    struct released r;
    struct buf manifest;
    unsigned steps = 0;

    buf_init (&manifest, MANIFEST_MAX);
    buf_printf (&manifest, "of a test");
    for (int i = 0; i < SEALED; i++) {
        char path[32];

        (void)snprintf (path, sizeof (path), "/capture%d", i);
        (void)spool_put (f, path, "v1", "0123456789", NULL, false);
        assert_int_equal (spool_add_release (f->s, path, RELEASE_ALL_SEALED,
                                             1, &manifest, 1, NULL), 0);
    }
    buf_fini (&manifest);
    assert_int_equal (next_release (f, &r), 0);
    for (int i = 0; i <= DELIVERED; i++)
        assert_int_equal (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL), 1);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    assert_int_equal (next_release (f, &r), 1);
    assert_null (r.why);
    assert_string_equal (r.path, "/capture17");
    assert_int_equal (spool_change_release (f->s, &r, RELEASE_REMOVED, NULL,
                                            NULL), -EINVAL);
    assert_int_equal (spool_change_release (f->s, &r, RELEASE_REMOVE, NULL,
                                            NULL), 0);
    assert_int_equal (spool_change_release (f->s, &r, RELEASE_REMOVED, NULL,
                                            NULL), 0);
    spool_close (f->s);
    fill (f, sqlite3_mprintf (release_sql, SEALED, SEALED, WAITING, SEALED,
                              SEALED, WAITING));
    spool_reopen_new (f);
    sqlite3_progress_handler (f->s->db, STEPS, count_steps, &steps);
    assert_int_equal (next_release (f, &r), 0);
    assert_int_equal (spool_date_releases (f->s, RELEASE_KEPT, 1, NULL), 0);
    sqlite3_progress_handler (f->s->db, 0, NULL, NULL);
    print_message ("%u00 steps to find none of %d\n", steps, WAITING);
    assert_true (steps < 50);
}

static int release_after (struct fixture *f, int64_t wall_ns,
                          char path[PATH_MAX])
{
    const struct release_policy p = { .kind = RELEASE_AFTER, .after_ns = 100 };

    return release_next (f->s, &p, false, wall_ns, path, NULL);
}

/* A clock that was ahead, and was put right, must not hold up releases until
 * the date that it had.  Nothing of this is there: whatever may go "stays".
 */
static void test_clock (void **state)
{
    struct fixture *f = *state;
    struct spool_item got = { .id = 0 };
    struct buf manifest;
    char path[PATH_MAX];

    buf_init (&manifest, MANIFEST_MAX);
    buf_printf (&manifest, "of a test");
    for (int i = 0; i < AHEAD + RIGHT; i++) {
        (void)snprintf (path, sizeof (path), "/capture%d", i);
        (void)spool_put (f, path, "v1", "0123456789", NULL, false);
        assert_int_equal (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL), 1);
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
        assert_int_equal (spool_add_release (f->s, path, RELEASE_ALL_SEALED,
                                             1, &manifest,
                                             i < AHEAD ? 100000 : 10, NULL), 0);
    }
    buf_fini (&manifest);
    // they were sealed by now, as far as anybody knows
    assert_int_equal (release_after (f, 200, path), 0);
    for (int i = 0; i < AHEAD + RIGHT; i++) {
        char expected[32];

        (void)snprintf (expected, sizeof (expected), "/capture%d", i);
        assert_int_equal (release_after (f, 301, path), -ESTALE);
        assert_string_equal (path, expected);
    }
    assert_int_equal (release_after (f, 301, path), 0);
}

int main (int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_release, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_clock, spool_setup,
                                         spool_teardown),
        cmocka_unit_test_setup_teardown (test_start, spool_setup,
                                         spool_teardown),
    };

    if (argc > 1)
        return start (argv[1]);
    return cmocka_run_group_tests (tests, NULL, NULL);
}
