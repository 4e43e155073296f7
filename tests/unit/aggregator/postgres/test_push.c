/* tests/unit/aggregator/postgres/test_push.c - what is pushed when results cannot
 * be read; with a database: tests/system/postgres.bats
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "postgres/push.h"
#include "postgres/schema.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- a database that takes everything ---- */

static unsigned refused_at;     // which begin is refused; 0: none
static char rebinds[8];         // what each begin said of that
static char again[80];          // whose sums were taken back
static char month[40];          // the last that was made
static char lacking[40];        // a time that is asked for
static bool is_detached;        // it has no part, though
static unsigned commits, rollbacks, begun;
static int open_rc;             // of results
static sqlite3 *catalogue;      // where others ...
static const char *meanwhile;   // ... do this before a transaction begins
static unsigned there;          // jobs that the root lacks
static char removed[2000];      // the names of the last ones that were removed
static bool has_tables = true;

int __wrap_pg_do (struct pg *p, const char *sql, struct err *err);
int __wrap_pg_each (struct pg *p, const char *sql, size_t n,
                    const char *const values[],
                    int (*fn) (void *arg, const char *const row[]), void *arg,
                    struct err *err);
const char *__wrap_pg_name (const struct pg *p);
int __wrap_pg_copy_begin (struct pg *p, const char *sql, struct err *err);
int __wrap_pg_copy_put (struct pg *p, const void *data, size_t size,
                        struct err *err);
int __wrap_pg_copy_end (struct pg *p, uint64_t rows, struct err *err);
int __real_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct page_source **ret);
int __wrap_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct page_source **ret);

/* As another process does: whether it may. */
static bool write_catalogue (void)
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
    if (strncmp (sql, "BEGIN", 5) == 0 && ++begun == 2 && meanwhile)
        assert_int_equal (sqlite3_exec (catalogue, meanwhile, NULL, NULL, NULL),
                          SQLITE_OK);
    if (strncmp (sql, "BEGIN", 5) == 0 && there > 0)
        assert_true (write_catalogue ());
    commits += strcmp (sql, "COMMIT") == 0;
    rollbacks += strcmp (sql, "ROLLBACK") == 0;
    return 0;
}

static int begin_push (const char *const values[], struct err *err)
{
    assert_string_equal (values[0], "here");
    assert_string_equal (values[1], "id");
    assert_true (begun < sizeof (rebinds));
    rebinds[begun - 1] = *values[2];
    return begun == refused_at ? err_set (err, EEXIST, "another root's") : 0;
}

static int name_there (int (*fn) (void *arg, const char *const row[]), void *arg)
{
    char name[24];

    for (unsigned i = 0; i < there; i++) {
        PRINT (name, "%u", i);
        assert_int_equal (fn (arg, (const char *const[]){ name, "0" }), 0);
    }
    return 0;
}

static int say_version (int (*fn) (void *arg, const char *const row[]), void *arg)
{
    char version[24];

    PRINT (version, "%u", has_tables ? (unsigned)pg_migration_count : 0);
    return fn (arg, (const char *const[]){ version });
}

int __wrap_pg_each (struct pg *p, const char *sql, size_t n,
                    const char *const values[],
                    int (*fn) (void *arg, const char *const row[]), void *arg,
                    struct err *err)
{
    (void)p;
    (void)n;
    if (strstr (sql, "begin_push"))
        return begin_push (values, err);
    if (strstr (sql, "remove_jobs"))
        PRINT (removed, "%s", values[1]);
    if (strstr (sql, "make_month")) {
        PRINT (month, "%s", values[0]);
        return fn (arg, (const char *const[]){ is_detached ? "f" : "t" });
    }
    if (strstr (sql, "lacks_part")) {
        PRINT (lacking, "%s", values[0]);
        return fn (arg, (const char *const[]){ is_detached ? "" : NULL });
    }
    if (strstr (sql, "UPDATE job SET sum=0"))
        PRINT (again, "%s", values[0]);
    if (strstr (sql, "SELECT name, sum FROM job"))
        return name_there (fn, arg);
    if (strstr (sql, "schema_version"))
        return say_version (fn, arg);
    if (!strstr (sql, "nextval"))
        return 0;
    return fn (arg, (const char *const[]){ "7" });
}

const char *__wrap_pg_name (const struct pg *p)
{
    (void)p;
    return "database d";
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

int __wrap_pg_copy_end (struct pg *p, uint64_t rows, struct err *err)
{
    (void)p;
    (void)rows;
    (void)err;
    return 0;
}

int __wrap_catalogue_result_open (const struct catalogue *c, const char *job,
                                  struct page_source **ret)
{
    return open_rc < 0 ? open_rc : __real_catalogue_result_open (c, job, ret);
}

/* ---- tests ---- */

static int push (struct opened *o, bool rebind, bool prune,
                 struct push_sums *sums)
{
    const struct push_options opt = { .cluster = "here", .root_id = "id",
                                      .rebind = rebind, .prune = prune };
    struct err err = { "" };

    again[0] = removed[0] = '\0';
    memset (rebinds, 0, sizeof (rebinds));
    commits = rollbacks = begun = 0;
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
    open_rc = -EMFILE;
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_int_equal (sums.jobs, 1);
    assert_int_equal (sums.unreadable, 1);
    assert_int_equal (sums.later, 1);
    assert_string_equal (again, "7");
    open_rc = -EBADMSG;
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_int_equal (sums.unreadable, 1);
    assert_int_equal (sums.later, 0);
    assert_string_equal (again, "");
    // it is gone by now: the catalogue will see that
    open_rc = -ENOENT;
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_int_equal (sums.jobs, 1);
    assert_int_equal (sums.unreadable, 0);
    assert_string_equal (again, "");
    open_rc = 0;
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_int_equal (sums.unreadable, 0);
    assert_true (sums.rows > 10);
    assert_int_equal (commits, 2);
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
    for (size_t i = 0; i < sizeof (ways) / sizeof (ways[0]); i++) {
        o = open_catalogue (r);
        catalogue = catalogue_db (o.c);
        meanwhile = ways[i];
        assert_int_equal (push (&o, false, false, &sums), 0);
        meanwhile = NULL;
        assert_int_equal (sums.jobs, 0);
        assert_int_equal (sums.rows, 0);
        assert_int_equal (commits, 2);
        close_catalogue (&o);
        assert_int_equal (unlink (path), 0);
    }
}

/* Who removes jobs may wait for the database, and nobody waits for him. */
static void test_prune (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o = open_catalogue (r);

    catalogue = catalogue_db (o.c);
    there = 200;
    assert_int_equal (push (&o, false, true, &sums), 0);
    there = 0;
    assert_int_equal (sums.pruned, 200);
    assert_int_equal (begun, 2);
    assert_memory_equal (removed, "{\"0\",\"1\",\"10\",", 13);
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
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_string_equal (month, "1969-12-01 00:00:00Z");
    // one that somebody has detached keeps its jobs from it, and is no failure
    is_detached = true;
    assert_int_equal (push (&o, false, false, &sums), 0);
    is_detached = false;
    assert_int_equal (sums.no_part, 1);
    assert_int_equal (sums.jobs, 0);
    assert_string_equal (lacking, "-1");
    close_catalogue (&o);
}

/* A root that has not the name, or loses it while it pushes, writes nothing. */
static void test_refused (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    o = open_catalogue (r);
    for (refused_at = 1; refused_at <= 2; refused_at++) {
        assert_int_equal (push (&o, false, false, &sums), -EEXIST);
        assert_int_equal (commits, refused_at - 1);
        assert_int_equal (rollbacks, 1);
        assert_int_equal (sums.transactions, 0);
        assert_string_equal (removed, "");
    }
    refused_at = 0;
    close_catalogue (&o);
}

/* No tables are another error than no job: whoever pushes one by one goes on. */
static void test_missing (void **state)
{
    struct push_options opt = { .cluster = "here", .root_id = "id" };
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    o = open_catalogue (r);
    opt.job = "b";
    assert_int_equal (push_jobs (NULL, o.c, o.ledger, &opt, &sums, NULL), -ESRCH);
    opt.job = "a";
    has_tables = false;
    assert_int_equal (push_jobs (NULL, o.c, o.ledger, &opt, &sums, NULL), -ENOENT);
    has_tables = true;
    assert_int_equal (push_jobs (NULL, o.c, o.ledger, &opt, &sums, NULL), 0);
    assert_int_equal (sums.jobs, 1);
    close_catalogue (&o);
}

/* It takes the name once: whoever takes it meanwhile keeps it. */
static void test_rebind (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;

    add_job (r, "a", 5);
    o = open_catalogue (r);
    assert_int_equal (push (&o, true, false, &sums), 0);
    assert_string_equal (rebinds, "tf");
    close_catalogue (&o);
}

/* Small jobs share a transaction. */
static void test_batches (void **state)
{
    struct root *r = *state;
    struct push_sums sums;
    struct opened o;
    char name[24];

    for (int i = 0; i < 70; i++) {
        PRINT (name, "job%d", i);
        add_job (r, name, i);
    }
    o = open_catalogue (r);
    assert_int_equal (push (&o, false, false, &sums), 0);
    assert_int_equal (sums.jobs, 70);
    assert_int_equal (sums.transactions, 2);
    assert_int_equal (commits, 3);
    close_catalogue (&o);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_unread), ROOT_TEST (test_removed),
        ROOT_TEST (test_prune), ROOT_TEST (test_refused),
        ROOT_TEST (test_month), ROOT_TEST (test_missing),
        ROOT_TEST (test_rebind), ROOT_TEST (test_batches),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
