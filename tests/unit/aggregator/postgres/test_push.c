/* tests/unit/aggregator/postgres/test_push.c - what is pushed when results cannot
 * be read; with a database: tests/system/postgres.bats
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "postgres/push.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- a database that takes everything ---- */

static const char *owner;       // of the cluster; NULL: nobody yet
static const char *cell;        // of the current row
static char again[80];          // whose sums were taken back
static char month[40];          // the last that was made
static unsigned commits, rollbacks, begun;
static int open_rc;             // of results
static sqlite3 *catalogue;      // where others ...
static const char *meanwhile;   // ... do this before a transaction begins
static unsigned there;          // jobs that the root lacks
static const char *next_owner;  // who has the cluster then

int __wrap_pg_do (struct pg *p, const char *sql, struct err *err);
int __wrap_pg_each (struct pg *p, const char *sql, size_t n,
                    const char *const values[],
                    int (*fn) (void *arg, const struct pg_row *row), void *arg,
                    struct err *err);
const char *__wrap_pg_name (const struct pg *p);
const char *__wrap_pg_text (const struct pg_row *row, unsigned column);
int __wrap_pg_copy_begin (struct pg *p, const char *sql, struct err *err);
int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err);
int __wrap_pg_copy_end (struct pg *p, struct err *err);
int __real_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct catalogue_result *r);
int __wrap_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct catalogue_result *r);

/* As another process does: 1, if it may. */
static unsigned write_catalogue (void)
{
    sqlite3 *db;
    int code;

    assert_int_equal (sqlite3_open (sqlite3_db_filename (catalogue, "main"),
                                    &db), SQLITE_OK);
    code = sqlite3_exec (db, "BEGIN EXCLUSIVE;ROLLBACK", NULL, NULL, NULL);
    (void)sqlite3_close (db);
    return code == SQLITE_OK;
}

int __wrap_pg_do (struct pg *p, const char *sql, struct err *err)
{
    (void)p;
    (void)err;
    if (strcmp (sql, "BEGIN") == 0 && meanwhile)
        assert_int_equal (sqlite3_exec (catalogue, meanwhile, NULL, NULL, NULL),
                          SQLITE_OK);
    if (strcmp (sql, "BEGIN") == 0 && there > 0)
        begun += write_catalogue ();
    if (strcmp (sql, "BEGIN") == 0 && next_owner)
        owner = next_owner;
    commits += strcmp (sql, "COMMIT") == 0;
    rollbacks += strcmp (sql, "ROLLBACK") == 0;
    return 0;
}

int __wrap_pg_each (struct pg *p, const char *sql, size_t n,
                    const char *const values[],
                    int (*fn) (void *arg, const struct pg_row *row), void *arg,
                    struct err *err)
{
    (void)p;
    (void)n;
    (void)err;
    if (strstr (sql, "INSERT INTO cluster") && (!owner || strstr (sql, "UPDATE")))
        owner = values[1];
    if (strstr (sql, "FROM cluster") && (cell = owner))
        return fn (arg, NULL);
    if (strstr (sql, "make_month"))
        PRINT (month, "%s", values[0]);
    if (strstr (sql, "UPDATE job SET sum=0"))
        (void)snprintf (again, sizeof (again), "%s", values[0]);
    if (strstr (sql, "SELECT name, sum FROM job")) {
        static char name[24];

        cell = name;
        for (unsigned i = 0; i < there; i++) {
            PRINT (name, "%u", i);
            assert_int_equal (fn (arg, NULL), 0);
        }
        return 0;
    }
    if (!strstr (sql, "nextval"))
        return 0;
    cell = "7";
    return fn (arg, NULL);
}

const char *__wrap_pg_name (const struct pg *p)
{
    (void)p;
    return "db";
}

const char *__wrap_pg_text (const struct pg_row *row, unsigned column)
{
    (void)row;
    (void)column;
    return cell;
}

int __wrap_pg_copy_begin (struct pg *p, const char *sql, struct err *err)
{
    (void)p;
    (void)sql;
    (void)err;
    return 0;
}

int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err)
{
    (void)p;
    (void)data;
    (void)size;
    (void)err;
    return 0;
}

int __wrap_pg_copy_end (struct pg *p, struct err *err)
{
    (void)p;
    (void)err;
    return 0;
}

int __wrap_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct catalogue_result *r)
{
    return open_rc < 0 ? open_rc : __real_catalogue_result_open (c, job, r);
}

/* ---- tests ---- */

static int push (struct opened *o, const char *root_id, bool rebind,
                 struct push_sums *sums)
{
    const struct push_options opt = { .cluster = "here", .root_id = root_id,
                                      .rebind = rebind };
    struct err err = { "" };

    again[0] = '\0';
    commits = rollbacks = 0;
    return push_jobs (NULL, o->c, o->ledger, &opt, sums, &err);
}

/* A result that may be read later is pushed again, a damaged one is not. */
static void test_unread (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    publish_job (r, make_result (), "a");
    o = open_catalogue (r);
    owner = "id";
    open_rc = -EMFILE;
    assert_int_equal (push (&o, "id", false, &sums), 0);
    assert_int_equal (sums.jobs, 1);
    assert_int_equal (sums.unreadable, 1);
    assert_int_equal (sums.later, 1);
    assert_string_equal (again, "{7}");
    open_rc = -EBADMSG;
    assert_int_equal (push (&o, "id", false, &sums), 0);
    assert_int_equal (sums.unreadable, 1);
    assert_int_equal (sums.later, 0);
    assert_string_equal (again, "");
    open_rc = 0;
    assert_int_equal (push (&o, "id", false, &sums), 0);
    assert_int_equal (sums.unreadable, 0);
    assert_true (sums.rows > 10);
    assert_int_equal (commits, 1);
    assert_int_equal (rollbacks, 0);
    close_catalogue (&o);
}

/* A job that is removed meanwhile leaves no rows; nor does one take its place
 * that has its number now.
 */
static void test_removed (void **state)
{
    static const char *const ways[] = {
        "DELETE FROM job_row", "UPDATE job_row SET name='b'",
    };
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;
    char path[PATH_MAX];

    PRINT (path, "%s/catalogue.db", r->dir);
    add_job (r, "a", 5);
    publish_job (r, make_result (), "a");
    owner = "id";
    for (size_t i = 0; i < sizeof (ways) / sizeof (ways[0]); i++) {
        o = open_catalogue (r);
        catalogue = catalogue_db (o.c);
        meanwhile = ways[i];
        assert_int_equal (push (&o, "id", false, &sums), 0);
        meanwhile = NULL;
        assert_int_equal (sums.jobs, 0);
        assert_int_equal (sums.rows, 0);
        assert_int_equal (commits, 1);
        close_catalogue (&o);
        assert_int_equal (unlink (path), 0);
    }
}

/* Who removes jobs may wait for the database, and nobody waits for him. */
static void test_prune (void **state)
{
    const struct push_options opt = { .cluster = "here", .root_id = "id",
                                      .prune = true };
    struct root *r = *state;
    struct push_sums sums;
    struct opened o = open_catalogue (r);

    owner = "id";
    catalogue = catalogue_db (o.c);
    there = 200;
    begun = 0;
    assert_int_equal (push_jobs (NULL, o.c, o.ledger, &opt, &sums, NULL), 0);
    there = 0;
    assert_int_equal (sums.pruned, 200);
    assert_int_equal (begun, 4);
    close_catalogue (&o);
}

/* The month of a time is that of the row, which is rounded down. */
static void test_month (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", -1);
    o = open_catalogue (r);
    owner = "id";
    assert_int_equal (push (&o, "id", false, &sums), 0);
    assert_string_equal (month, "1969-12-01 00:00:00Z");
    close_catalogue (&o);
}

/* A root that loses its name while it pushes writes nothing more. */
static void test_rebound (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    o = open_catalogue (r);
    owner = "one";
    next_owner = "two";
    assert_int_equal (push (&o, "one", false, &sums), -EEXIST);
    next_owner = NULL;
    assert_int_equal (commits, 0);
    assert_int_equal (rollbacks, 1);
    close_catalogue (&o);
}

/* The first root has the name, until it is given to another one. */
static void test_owner (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    o = open_catalogue (r);
    owner = NULL;
    assert_int_equal (push (&o, "one", false, &sums), 0);
    assert_string_equal (owner, "one");
    assert_int_equal (push (&o, "two", false, &sums), -EEXIST);
    assert_int_equal (commits, 0);
    assert_int_equal (push (&o, "two", true, &sums), 0);
    assert_int_equal (push (&o, "one", false, &sums), -EEXIST);
    close_catalogue (&o);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_unread), ROOT_TEST (test_removed),
        ROOT_TEST (test_prune), ROOT_TEST (test_owner),
        ROOT_TEST (test_month), ROOT_TEST (test_rebound),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
