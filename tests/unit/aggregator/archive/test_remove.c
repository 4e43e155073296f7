/* tests/unit/aggregator/archive/test_remove.c - what is left of a removed job */
#include "aggregator/ledger/ledger_check.h"

#include "archive/remove.h"
#include "ledger/ledger_private.h"

static const struct remove_what all_of_j = {
    .job = "j", .what = "", .verb = "archive rm", .by = "me", .uid = -1,
    .now_ns = 5,
};

/* Only the commit of a removal: the death behind it. */
static void remove_rows (struct root *r, const struct ledger_item *i)
{
    struct ledger_deletion d;

    ledger_deletion_of (i, &d);
    d.at_ns = INT64_C (1) << 62;        // after it came
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    assert_int_equal (ledger_delete (r->l, &d, NULL), 1);
    assert_int_equal (ledger_commit (r->l, NULL), 0);
}

static struct ledger_item make (struct root *r, char result[PATH_MAX])
{
    struct ledger_item i = true_item ("c", "bytes");

    (void)snprintf (result, PATH_MAX, "%s/jobs/j/out", r->dir);
    assert_int_equal (fileio_mkdirs (result, FILEIO_DIR_MODE, NULL), 0);
    assert_int_equal (enter (r, i, "bytes"), 1);
    return i;
}

static int count_job (void *arg, const char *job)
{
    unsigned *n = arg;

    assert_string_equal (job, "j");
    (*n)++;
    return 0;
}

/* The result of a job whose removal was killed goes with the next one, or when
 * a service starts, also if somebody said how many ranks it has.
 */
static void test_killed (void **state)
{
    struct root *r = *state;
    struct size_claim claim = { .by = CLAIM_EXPECT, .world_size = 4 };
    char result[PATH_MAX];
    struct ledger_item i = make (r, result);
    struct removal done;
    unsigned n = 0;

    assert_int_equal (ledger_set_claim (r->l, "j", &claim, NULL), 0);
    assert_int_equal (ledger_each_empty_job (r->l, count_job, &n, NULL), 0);
    assert_int_equal (n, 0);
    remove_rows (r, &i);
    assert_int_equal (ledger_each_empty_job (r->l, count_job, &n, NULL), 0);
    assert_int_equal (n, 1);
    assert_int_equal (remove_plan (r->l, &all_of_j, &done, NULL), -ENOENT);
    assert_int_equal (access (result, F_OK), 0);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    assert_int_equal (access (result, F_OK), -1);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL),
                      -ENOENT);
}

static int take_command (void *arg, const struct ledger_fact *f)
{
    if (strcmp (f->key, FACT_COMMAND) == 0)
        *(struct ledger_fact *)arg = *f;
    return 0;
}

static void check_command (struct root *r, const char *want)
{
    struct ledger_fact f = { .at_ns = 0 };

    assert_int_equal (ledger_each_fact (r->l, "j", 0, take_command, &f, NULL),
                      0);
    assert_string_equal (f.value, want);
}

static void set_command (struct root *r, const char *value)
{
    struct ledger_fact f = { .key = FACT_COMMAND, .at_ns = 1 };

    (void)snprintf (f.job, sizeof (f.job), "j");
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    assert_int_equal (ledger_set_fact (r->l, &f, NULL), 1);
}

/* The command goes with the last capture, and only then. */
static void test_command (void **state)
{
    struct root *r = *state;
    struct remove_what one = all_of_j;
    char result[PATH_MAX];
    struct removal done;

    (void)make (r, result);
    assert_int_equal (enter (r, true_item ("d", "more"), "more"), 1);
    set_command (r, "secret");
    one.what = "c";
    assert_int_equal (remove_apply (r->l, r->s, &one, &done, NULL), 0);
    check_command (r, "secret");
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    check_command (r, "-");
    root_close (r);
    root_open (r);
    check_command (r, "-");
    set_command (r, "next");    // of what comes again
    check_command (r, "next");
}

static int count_tag (void *arg, const struct ledger_fact *f)
{
    *(unsigned *)arg += strcmp (f->key, FACT_TAG) == 0 && !f->gone;
    return 0;
}

static void check_said (struct root *r, unsigned tags, int64_t expected)
{
    unsigned n = 0;

    assert_int_equal (ledger_each_fact (r->l, "j", 0, count_tag, &n, NULL), 0);
    assert_int_equal (n, tags);
    assert_int_equal (ledger_world_size (r->l, "j"), expected);
}

/* So does how many ranks a user expects.  Tags stay: an import of the job finds
 * them, and retention by tag keeps it.
 */
static void test_sayings (void **state)
{
    struct ledger_fact f = { .job = "j", .key = FACT_TAG, .at_ns = 1 };
    const struct size_claim claim = { .by = CLAIM_EXPECT, .world_size = 16 };
    struct root *r = *state;
    struct remove_what one = all_of_j;
    char result[PATH_MAX];
    struct removal done;

    (void)make (r, result);
    assert_int_equal (enter (r, true_item ("d", "more"), "more"), 1);
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf (f.value, sizeof (f.value), "tag%u", i);
        assert_int_equal (ledger_set_fact (r->l, &f, NULL), 1);
    }
    assert_int_equal (ledger_set_claim (r->l, "j", &claim, NULL), 0);
    one.what = "c";
    assert_int_equal (remove_apply (r->l, r->s, &one, &done, NULL), 0);
    check_said (r, 2, 16);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    check_said (r, 2, 0);
    root_close (r);
    root_open (r);
    check_said (r, 2, 0);
}

static int64_t steps;           // of SQLite's machine

static int count_step (void *arg)
{
    (void)arg;
    steps++;
    return 0;
}

/* It costs what the job is, not what else is in the root. */
static void test_cost (void **state)
{
    struct root *r = *state;
    struct ledger_item i = true_item ("c", "bytes");
    struct removal done;
    char result[PATH_MAX];

    (void)make (r, result);
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    (void)snprintf (i.job, sizeof (i.job), "k");
    for (int n = 0; n < 2000; n++) {
        (void)snprintf (i.capture, sizeof (i.capture), "c%d", n);
        assert_int_equal (ledger_add_item (r->l, &i, NULL), 1);
    }
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    assert_int_equal (remove_plan (r->l, &all_of_j, &done, NULL), 0);
    assert_int_equal (done.shared, 5);
    sqlite3_progress_handler (r->l->db, 1, count_step, NULL);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    assert_true (steps > 0 && steps < 2000);
    sqlite3_progress_handler (r->l->db, 0, NULL, NULL);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_killed), ROOT_TEST (test_command),
        ROOT_TEST (test_sayings), ROOT_TEST (test_cost),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
