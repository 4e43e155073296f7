/* tests/unit/aggregator/fsck/test_check_results.c - a result has the rows that
 * were built */
#include "aggregator/ledger/ledger_check.h"

#include "fsck/check_root.h"
#include "publish/publish.h"
#include "publish/rows_digest.h"
#include "store/db.h"

#define ROWS "the rows of a rank"

static char said[1024];

static void say (void *arg, const char *sentence)
{
    size_t used = strlen (said);

    (void)arg;
    (void)snprintf (said + used, sizeof (said) - used, "%s\n", sentence);
}

/* It locks the root, so nothing may be open. */
static struct check_report check (struct root *r, bool repair)
{
    struct check_report report = { .say = say };
    struct err err = { "" };
    int rc;

    said[0] = '\0';
    root_close (r);
    rc = store_check (r->dir, repair, &report, &err);
    root_open (r);
    if (rc < 0)
        fail_msg ("%s", err.text);
    return report;
}

/* A root with a result of job "j", and the digest of it. */
static struct digest make (struct root *r)
{
    char path[PATH_MAX];
    struct digest own;
    sqlite3 *db = NULL;

    assert_int_equal (enter (r, true_item ("c", ROWS), ROWS), 1);
    (void)snprintf (path, sizeof (path), "%s/jobs/j/" PUBLISH_OUTPUT_DIR,
                    r->dir);
    assert_int_equal (fileio_mkdirs (path, 0700, NULL), 0);
    (void)snprintf (path, sizeof (path), "%s/jobs/j/" PUBLISH_OUTPUT_DIR "/"
                    PUBLISH_DB_NAME, r->dir);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (sqlite3_exec (db, "CREATE TABLE Capture (id INTEGER "
                                        "PRIMARY KEY);INSERT INTO Capture "
                                        "VALUES (1)", NULL, NULL, NULL),
                      SQLITE_OK);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
    assert_int_equal (rows_digest (path, 1, NULL, &own, NULL), 0);
    return own;
}

static void built_with (struct root *r, const struct digest *rows)
{
    assert_int_equal (ledger_set_built (r->l, "j", 1, rows, NULL), 0);
}

static int find_built (void *arg, const struct ledger_job *j)
{
    *(int64_t *)arg = j->built;
    return 0;
}

static void test_same (void **state)
{
    struct root *r = *state;
    struct digest own = make (r);
    struct check_report report;

    built_with (r, &own);
    report = check (r, false);
    assert_string_equal (said, "");
    assert_int_equal (report.results, 1);
}

/* A ledger that knows no digest says nothing. */
static void test_unknown (void **state)
{
    struct root *r = *state;
    struct check_report report;

    (void)make (r);
    built_with (r, NULL);
    report = check (r, false);
    assert_string_equal (said, "");
    assert_int_equal (report.results, 0);
}

/* A result that somebody changed is named, and built again. */
static void test_other (void **state)
{
    static const struct digest other = { { 1, 2, 3 } };
    struct root *r = *state;
    struct check_report report;
    int64_t built = -1;

    (void)make (r);
    built_with (r, &other);
    report = check (r, true);
    assert_non_null (strstr (said, "job j: its result has other rows"));
    assert_int_equal (report.results, 0);
    assert_int_equal (report.damaged, 1);
    assert_int_equal (report.repaired, 1);
    report = check (r, false);
    assert_int_equal (report.damaged, 0);
    assert_int_equal (ledger_each_job (r->l, ITEM_RAW, find_built, &built,
                                       NULL), 0);
    assert_int_equal (built, 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_same), ROOT_TEST (test_unknown),
        ROOT_TEST (test_other),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
