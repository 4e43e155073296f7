/* tests/unit/aggregator/publish/test_publish_choose.c - whose result may stand
 * there */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "publish/publish.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_NOON "2026-01-31T12:00:00.000Z"
#define BEFORE "2026-01-31T11:59:59.999Z"
#define LATER "2026-01-31T12:00:00.001Z"

static const struct publish_caller nobody = { NULL, NULL, NULL };

static char out[64];

static int make_out (void **state)
{
    (void)state;
    (void)snprintf (out, sizeof (out), "/tmp/test_publish-XXXXXX");
    return mkdtemp (out) ? 0 : -1;
}

static int remove_out (void **state)
{
    (void)state;
    return fileio_remove_tree (out, NULL);
}

/* The result of a job that is there: 'began' may be NULL. */
static void result_of (const char *job, const char *began)
{
    char path[PATH_MAX];
    sqlite3 *db;

    (void)snprintf (path, sizeof (path), "%s/" PUBLISH_OUTPUT_DIR, out);
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    (void)snprintf (path, sizeof (path), "%s/" PUBLISH_OUTPUT_DIR "/"
                    PUBLISH_DB_NAME, out);
    (void)unlink (path);
    assert_int_equal (db_open (path, SQLITE_OPEN_READWRITE |
                               SQLITE_OPEN_CREATE, &db), SQLITE_OK);
    assert_int_equal (db_execf (db, NULL, "PRAGMA application_id=%d;CREATE "
                                "TABLE Job (key TEXT PRIMARY KEY, value TEXT);"
                                "INSERT INTO Job VALUES ('job',%Q);INSERT INTO "
                                "Job SELECT 'began_at', %Q WHERE %Q NOTNULL",
                                PUBLISH_APPLICATION_ID, job, began, began), 0);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

/* Which job stays, and where this one goes. */
static void choose (const char *job, const char *began, const char *newer,
                    const char *dir)
{
    char got[PUBLISH_JOB_MAX], path[PATH_MAX];
    struct publish p;

    assert_int_equal (publish_open (&p, out, NULL, true, NULL), 0);
    assert_int_equal (publish_choose (&p, job, began, &nobody, got, NULL), 0);
    assert_string_equal (got, newer);
    (void)snprintf (path, sizeof (path), "%s/%s", out, dir);
    assert_string_equal (p.dir.path, path);
    publish_close (&p);
}

static void test_order (void **state)
{
    (void)state;
    choose ("a", AT_NOON, "", PUBLISH_OUTPUT_DIR);      // nothing is there
    result_of ("b", AT_NOON);
    choose ("a", LATER, "", PUBLISH_OUTPUT_DIR);
    choose ("a", AT_NOON, "", PUBLISH_OUTPUT_DIR);
    choose ("a", BEFORE, "b", PUBLISH_OUTPUT_DIR ".of-a");
    choose ("b", BEFORE, "", PUBLISH_OUTPUT_DIR);       // its own
    choose ("a", NULL, "", PUBLISH_OUTPUT_DIR);         // somebody asked now
    choose (NULL, BEFORE, "", PUBLISH_OUTPUT_DIR);
    result_of ("b", NULL);
    choose ("a", BEFORE, "", PUBLISH_OUTPUT_DIR);
}

/* A link that somebody left under that name would lead elsewhere. */
static void test_link (void **state)
{
    char newer[PUBLISH_JOB_MAX], path[PATH_MAX];
    struct err err = { "" };
    struct publish p;

    (void)state;
    result_of ("b", AT_NOON);
    (void)snprintf (path, sizeof (path), "%s/" PUBLISH_OUTPUT_DIR ".of-a", out);
    assert_int_equal (symlink ("/tmp", path), 0);
    assert_int_equal (publish_open (&p, out, NULL, true, NULL), 0);
    assert_int_equal (publish_choose (&p, "a", BEFORE, &nobody, newer,
                                      &err), -ELOOP);
    assert_string_not_equal (err.text, "");
    publish_close (&p);
}

/* Files of two results would be mixed if both were published at once. */
static void test_lock (void **state)
{
    const atomic_bool cancel = true;
    const struct publish_caller hasty = { &cancel, NULL, NULL };
    char newer[PUBLISH_JOB_MAX];
    struct publish p, q;

    (void)state;
    assert_int_equal (publish_open (&p, out, NULL, true, NULL), 0);
    assert_int_equal (publish_open (&q, out, NULL, true, NULL), 0);
    assert_int_equal (publish_choose (&p, "a", BEFORE, &hasty, newer, NULL), 0);
    assert_true (p.lock.held);
    assert_int_equal (publish_choose (&q, "a", BEFORE, &hasty, newer, NULL),
                      -EINTR);
    publish_end (&p);
    assert_int_equal (publish_choose (&q, "a", BEFORE, &hasty, newer, NULL), 0);
    assert_true (q.lock.held);
    publish_close (&p);
    publish_close (&q);
}

/* It is the directory from which a result went aside that others lock. */
static void test_lock_of_aside (void **state)
{
    char newer[PUBLISH_JOB_MAX], path[PATH_MAX];
    struct publish p;

    (void)state;
    result_of ("b", AT_NOON);
    (void)snprintf (path, sizeof (path), "%s/" PUBLISH_OUTPUT_DIR
                    "/.rollcall.lock", out);
    assert_int_equal (publish_open (&p, out, NULL, true, NULL), 0);
    assert_int_equal (publish_choose (&p, "a", BEFORE, &nobody, newer, NULL),
                      0);
    assert_string_equal (newer, "b");
    assert_int_equal (access (path, F_OK), 0);
    publish_close (&p);
    assert_int_not_equal (access (path, F_OK), 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown (test_order, make_out, remove_out),
        cmocka_unit_test_setup_teardown (test_link, make_out, remove_out),
        cmocka_unit_test_setup_teardown (test_lock, make_out, remove_out),
        cmocka_unit_test_setup_teardown (test_lock_of_aside, make_out,
                                         remove_out),
    };

    return cmocka_run_group_tests_name ("publish_choose", tests, NULL, NULL);
}
