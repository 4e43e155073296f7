/* tests/unit/aggregator/archive/test_remove.c - what is left of a removed job */
#include "aggregator/ledger/ledger_check.h"

#include "archive/intake.h"
#include "archive/remove.h"
#include "archive/request.h"
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

/* A removal that fails, or is killed, has ended nothing that was said of what is
 * still there.
 */
static void test_all_or_nothing (void **state)
{
    const struct size_claim claim = { .by = CLAIM_EXPECT, .world_size = 16 };
    struct root *r = *state;
    char result[PATH_MAX];
    struct removal done;

    (void)make (r, result);
    set_command (r, "secret");
    assert_int_equal (ledger_set_claim (r->l, "j", &claim, NULL), 0);
    assert_int_equal (sqlite3_exec (r->l->db, "CREATE TEMP TRIGGER no BEFORE "
                                    "DELETE ON main.item BEGIN SELECT RAISE ("
                                    "FAIL, 'no'); END", NULL, NULL, NULL), 0);
    assert_true (remove_apply (r->l, r->s, &all_of_j, &done, NULL) < 0);
    check_command (r, "secret");
    check_said (r, 0, 16);
    root_close (r);
    root_open (r);
    check_command (r, "secret");
    check_said (r, 0, 16);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    check_command (r, "-");
    check_said (r, 0, 0);
}

/* One that was killed between its records is finished by the next one. */
static void test_finished (void **state)
{
    struct root *r = *state;
    char result[PATH_MAX];
    struct ledger_item i = make (r, result);
    struct removal done;

    set_command (r, "secret");
    remove_rows (r, &i);
    assert_int_equal (fileio_remove_tree (result, NULL), 0);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    check_command (r, "-");
}

static int count_commit (void *arg)
{
    ++*(unsigned *)arg;
    return 0;
}

/* Of whatever number the last captures are, the command ends in their commit. */
static void test_number (void **state)
{
    struct root *r = *state;
    struct ledger_item i = true_item ("c", "bytes");
    struct removal done;
    char result[PATH_MAX];
    unsigned n = 0;

    (void)make (r, result);
    set_command (r, "secret");
    assert_int_equal (ledger_begin (r->l, NULL), 0);
    for (int k = 0; k < 511; k++) {
        (void)snprintf (i.capture, sizeof (i.capture), "c%d", k);
        assert_int_equal (ledger_add_item (r->l, &i, NULL), 1);
    }
    assert_int_equal (ledger_commit (r->l, NULL), 0);
    (void)sqlite3_commit_hook (r->l->db, count_commit, &n);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    (void)sqlite3_commit_hook (r->l->db, NULL, NULL);
    assert_int_equal (done.captures, 512);
    assert_int_equal (n, 1);
    check_command (r, "-");
}

/* What is imported brings its command with it; its tags are here, and can be
 * taken away.
 */
static void test_comes_back (void **state)
{
    static const int again[] = { 0, -ENOENT };
    struct record f = { .kind = RECORD_FACT, .fact = { .at_ns = 1 } };
    struct root *r = *state;
    struct intake *in = NULL;
    char result[PATH_MAX];
    struct removal done;

    (void)make (r, result);
    set_command (r, "train");
    say_of (r, "j", FACT_TAG, "x");
    PRINT (f.fact.job, "j");
    PRINT (f.fact.key, FACT_COMMAND);
    PRINT (f.fact.value, "train");
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    assert_int_equal (intake_knows (in, &f, NULL), 1);
    intake_close (in);
    assert_int_equal (remove_apply (r->l, r->s, &all_of_j, &done, NULL), 0);
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    assert_int_equal (intake_knows (in, &f, NULL), 0);
    intake_close (in);
    check_said (r, 1, 0);
    for (size_t i = 0; i < 2; i++) {
        struct json *j = json_object (), *answer = json_object ();

        json_add_text (j, "do", "untag");
        json_add_text (j, "job", "j");
        json_push_text (json_add_array (j, "tags"), "x");
        assert_int_equal (request_execute (r->l, r->s, j, answer, NULL),
                          again[i]);
        json_free (j);
        json_free (answer);
    }
    check_said (r, 0, 0);
}

/* A command that was forgotten is not written again by an import. */
static void test_stays_forgotten (void **state)
{
    struct record f = { .kind = RECORD_FACT, .fact = { .at_ns = 1 } };
    struct root *r = *state;
    struct intake *in = NULL;
    char result[PATH_MAX];

    (void)make (r, result);
    set_command (r, "train");
    say_of (r, "j", FACT_FORGOTTEN, "1");
    PRINT (f.fact.job, "j");
    PRINT (f.fact.key, FACT_COMMAND);
    PRINT (f.fact.value, "train");
    assert_int_equal (intake_begin (r->l, r->s, &in, NULL), 0);
    assert_int_equal (intake_knows (in, &f, NULL), 1);
    PRINT (f.fact.key, FACT_USER);
    assert_int_equal (intake_knows (in, &f, NULL), 0);
    intake_close (in);
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
        ROOT_TEST (test_all_or_nothing), ROOT_TEST (test_finished),
        ROOT_TEST (test_number), ROOT_TEST (test_comes_back),
        ROOT_TEST (test_stays_forgotten),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
