/* tests/unit/aggregator/catalogue/test_catalogue.c - what a catalogue says, and
 * that it is made again
 */
#include "aggregator/catalogue/catalogue_check.h"

#include "store/db.h"

#include <fcntl.h>
#include <sys/stat.h>

#define ALL (struct catalogue_filter) { .job = NULL }

struct seen {                   // a copy of a row
    int64_t ranks, bytes, present, missing, in_roll, steps, high, pinned;
    double step_ms, comm_percent;
    char user[64], command[64], tags[64], result[16], began[32];
};

static int copy (void *arg, const struct catalogue_job *j)
{
    struct seen *s = arg;

    *s = (struct seen){ j->ranks, j->bytes, j->present, j->missing, j->in_roll,
                        j->steps, j->high, j->pinned, j->step_ms,
                        j->comm_percent, "", "", "", "", "" };
    (void)snprintf (s->user, sizeof (s->user), "%s", j->user);
    (void)snprintf (s->command, sizeof (s->command), "%s", j->command);
    (void)snprintf (s->tags, sizeof (s->tags), "%s", j->tags);
    (void)snprintf (s->result, sizeof (s->result), "%s", j->result);
    (void)snprintf (s->began, sizeof (s->began), "%s", j->began);
    return 0;
}

/* The row of a job as a new reader sees it. */
static struct seen see (struct root *r, const char *job)
{
    struct catalogue_filter f = { .job = job };
    struct opened o = open_catalogue (r);
    struct seen s = { .ranks = -7 };

    assert_int_equal (catalogue_each (o.c, &f, copy, &s, NULL), 0);
    close_catalogue (&o);
    return s;
}

static void path_of (struct root *r, char path[PATH_MAX])
{
    (void)snprintf (path, PATH_MAX, "%s/catalogue.db", r->dir);
}

static void test_ledger (void **state)
{
    struct root *r = *state;
    struct seen s;

    add_job (r, "a", 5);
    s = see (r, "a");
    assert_int_equal (s.ranks, 1);
    assert_int_equal (s.bytes, 1);
    assert_int_equal (s.present, -1);
    assert_string_equal (s.result, "none");
    add_fact (r, "a", FACT_TAG, "x");
    add_fact (r, "a", FACT_TAG, "y");
    add_fact (r, "a", FACT_PIN, "1");
    add_fact (r, "a", FACT_USER, "me");
    s = see (r, "a");
    assert_string_equal (s.tags, "x,y");
    assert_string_equal (s.user, "me");
    assert_int_equal (s.pinned, 1);
    add_job (r, "b", 6);
    assert_int_equal (see (r, "b").ranks, 1);
}

/* A result is read when its file is another one, and forgotten with it. */
static void test_result (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    struct job *j;
    struct seen s;

    add_job (r, "a", 5);
    assert_int_equal (ledger_set_built (r->l, "a", ledger_newest (r->l, "a",
                                        ITEM_ROWS), NULL, NULL), 0);
    publish_job (r, make_result (), "a");
    s = see (r, "a");
    assert_string_equal (s.result, "built");
    assert_int_equal (s.present, 2);
    assert_int_equal (s.missing, 1);
    assert_int_equal (s.in_roll, 3);
    assert_int_equal (s.steps, 2);
    assert_int_equal (s.high, 1);
    assert_true (s.step_ms > 99.99 && s.step_ms < 100.01);
    assert_true (s.comm_percent > 24.9 && s.comm_percent < 25.1);
    assert_string_equal (s.user, "you");
    assert_string_equal (s.command, "train");
    assert_string_equal (s.began, "2025-11-24T16:00:00Z");
    add_fact (r, "a", FACT_USER, "me");         // the ledger counts more
    assert_string_equal (see (r, "a").user, "me");
    j = make_result ();
    run (j, "UPDATE Roster SET state='present'");
    publish_job (r, j, "a");
    assert_int_equal (see (r, "a").present, 3);
    assert_string_equal (see (r, "a").command, "train");
    add_fact (r, "a", FACT_FORGOTTEN, "1");
    assert_string_equal (see (r, "a").command, "");     // its result has it still
    (void)snprintf (path, sizeof (path), "%s/jobs", r->dir);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    s = see (r, "a");
    assert_string_equal (s.result, "none");
    assert_int_equal (s.present, -1);
    assert_int_equal (s.high, -1);
    assert_string_equal (s.command, "");
}

/* An item of a place, given to a job. */
static void give (struct root *r, const char *dir, const char *job)
{
    struct ledger_assignment a = { .rank = 4, .newest_ns = 1, .at_ns = 7,
                                   .scope = "s", .capture = "c" };

    (void)snprintf (a.dir, sizeof (a.dir), "%s", dir);
    (void)snprintf (a.job, sizeof (a.job), "%s", job);
    assert_int_equal (store_note_assignment (r->s, &a, NULL), 0);
    assert_int_equal (store_sync (r->s, NULL), 0);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_assign (r->l, &a, NULL), 1);
    assert_int_equal (store_account (r->s, r->l, NULL), 0);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    store_committed (r->s);
}

static void add_given (struct root *r, const char *dir, const char *job,
                       const char *bytes)
{
    struct ledger_item item = true_item ("c", bytes);

    (void)snprintf (item.job, sizeof (item.job), "s");
    (void)snprintf (item.scope, sizeof (item.scope), "s");
    (void)snprintf (item.dir, sizeof (item.dir), "%s", dir);
    item.newest_ns = 1;
    assert_int_equal (enter (r, item, bytes), 1);
    give (r, dir, job);
}

static void note_built (struct root *r, const char *job, uint8_t rows)
{
    struct digest d;

    memset (d.bytes, rows, sizeof (d.bytes));
    assert_int_equal (ledger_set_built (r->l, job, ledger_newest (r->l, job,
                                        ITEM_ROWS), &d, NULL), 0);
}

#define D0 "00000000000000a0"   // places
#define D1 "00000000000000a1"
#define D2 "00000000000000a2"

/* Captures that get another job are no newer than before, and nobody looked
 * until the jobs were built again.
 */
static void test_assigned (void **state)
{
    struct root *r = *state;

    add_given (r, D0, "b", "123");
    add_given (r, D1, "a", "12345");
    add_given (r, D2, "b", "12345678");
    note_built (r, "a", 1);
    note_built (r, "b", 2);
    assert_int_equal (see (r, "a").bytes, 5);
    assert_int_equal (see (r, "b").bytes, 11);
    give (r, D0, "a");
    note_built (r, "a", 3);
    note_built (r, "b", 4);
    assert_int_equal (see (r, "a").bytes, 8);
    assert_int_equal (see (r, "b").bytes, 8);
    give (r, D2, "a");
    note_built (r, "a", 5);
    assert_int_equal (see (r, "a").bytes, 16);
    assert_int_equal (see (r, "b").ranks, -7);  // there is none
}

static bool too_many_files;

int __real_finished_open_sums (const char *path, sqlite3 **ret,
                                struct err *err);
int __wrap_finished_open_sums (const char *path, sqlite3 **ret,
                                struct err *err);

int __wrap_finished_open_sums (const char *path, sqlite3 **ret,
                                struct err *err)
{
    return too_many_files ? -EMFILE
                          : __real_finished_open_sums (path, ret, err);
}

/* A result that could not be read for a while would have no numbers until it is
 * built again.
 */
static void test_read_again (void **state)
{
    struct root *r = *state;

    add_job (r, "a", 5);
    publish_job (r, make_result (), "a");
    too_many_files = true;
    assert_int_equal (see (r, "a").present, -1);
    too_many_files = false;
    assert_int_equal (see (r, "a").present, 2);
}

/* Whoever built enters the result; the rest is filled in later. */
static void test_note_build (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    add_job (r, "a", 5);
    publish_job (r, make_result (), "a");
    catalogue_note_build (r->dir, "a");
    path_of (r, path);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (db_int (db, "SELECT present FROM job_row", -1), 2);
    assert_int_equal (db_int (db, "SELECT ranks IS NULL FROM job_row", -1), 1);
    (void)sqlite3_close (db);
    assert_int_equal (see (r, "a").ranks, 1);
}

static void write_file (const char *path, const char *bytes)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true (fd >= 0);
    assert_int_equal (fileio_write_all (fd, bytes, strlen (bytes)), 0);
    (void)close (fd);
}

static void spoil (const char *path, off_t from)
{
    static char noise[512];
    int fd = open (path, O_WRONLY);
    struct stat st;

    assert_true (fd >= 0);
    assert_int_equal (fstat (fd, &st), 0);
    memset (noise, 0x5a, sizeof (noise));
    for (off_t at = from; at < st.st_size; at += (off_t)sizeof (noise))
        assert_int_equal (fileio_pwrite_all (fd, noise, sizeof (noise), at),
                          0);
    (void)close (fd);
}

/* Damaged anywhere, of another version, or no database at all: the list is the
 * same, and the file is good afterwards.
 */
static void test_made_again (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    add_job (r, "a", 5);
    add_fact (r, "a", FACT_TAG, "x");
    path_of (r, path);
    for (int i = 0; i < 5; i++) {
        assert_string_equal (see (r, "a").tags, "x");
        if (i == 0)
            write_file (path, "no database");
        else if (i == 1)
            spoil (path, 0);
        else if (i == 2)
            spoil (path, 4096);
        else if (i == 3)
            write_file (path, "");
        else
            assert_int_equal (truncate (path, 5000), 0);
    }
    assert_string_equal (see (r, "a").tags, "x");
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "UPDATE job_row SET tags='old';"
                                   "PRAGMA user_version=77", NULL), 0);
    (void)sqlite3_close (db);
    assert_string_equal (see (r, "a").tags, "x");
}

/* Another ledger, as after a repair: numbers have begun again. */
static void test_other_ledger (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];

    add_job (r, "a", 5);
    add_job (r, "b", 5);
    (void)see (r, "a");
    root_close (r);
    assert_int_equal (unlink (r->db), 0);
    (void)snprintf (path, sizeof (path), "%s/segments", r->dir);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    root_open (r);
    add_job (r, "c", 5);
    assert_int_equal (see (r, "a").ranks, -7);
    assert_int_equal (see (r, "c").ranks, 1);
}

/* The file is the owner's; others, and who finds it locked, do without. */
static void test_not_written (void **state)
{
    struct root *r = *state;
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    add_job (r, "a", 5);
    path_of (r, path);
    if (geteuid () == 0) {
        assert_int_equal (chown (r->dir, 1, 1), 0);
        assert_int_equal (see (r, "a").ranks, 1);
        assert_int_equal (access (path, F_OK), -1);
        assert_int_equal (chown (r->dir, 0, 0), 0);
    }
    assert_int_equal (see (r, "a").ranks, 1);
    assert_int_equal (sqlite3_open (path, &db), SQLITE_OK);
    assert_int_equal (db_exec (db, "BEGIN IMMEDIATE", NULL), 0);
    add_fact (r, "a", FACT_TAG, "x");
    assert_string_equal (see (r, "a").tags, "x");
    (void)sqlite3_close (db);
    assert_string_equal (see (r, "a").tags, "x");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_ledger), ROOT_TEST (test_result),
        ROOT_TEST (test_note_build), ROOT_TEST (test_made_again),
        ROOT_TEST (test_other_ledger), ROOT_TEST (test_not_written),
        ROOT_TEST (test_read_again), ROOT_TEST (test_assigned),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
