/* tests/unit/aggregator/archive/test_job_facts.c - facts of a build, and of jobs
 * that get captures of others
 */
#include "aggregator/ledger/ledger_check.h"

#include "archive/divide.h"
#include "archive/job_facts.h"
#include "base/buf.h"

#include <fcntl.h>

static bool says (struct root *r, const char *job, const char *key,
                  const char *value)
{
    struct ledger_fact f = { .gone = false };

    (void)snprintf (f.job, sizeof (f.job), "%s", job);
    (void)snprintf (f.key, sizeof (f.key), "%s", key);
    (void)snprintf (f.value, sizeof (f.value), "%s", value);
    return ledger_has_fact (r->l, &f, NULL) == 1;
}

/* A capture that is assigned to a job. */
static void assigned (struct root *r, const char *job, int64_t rank)
{
    struct ledger_assignment a = { .rank = rank, .newest_ns = 1 };
    struct ledger_item i = true_item ("c", job);

    i.rank = rank;
    i.newest_ns = 1;
    (void)snprintf (i.job, sizeof (i.job), "scope");
    (void)snprintf (i.scope, sizeof (i.scope), "scope");
    (void)snprintf (i.dir, sizeof (i.dir), "%s", job);
    assert_int_equal (enter (r, i, job), 1);
    memcpy (a.scope, i.scope, sizeof (a.scope));
    memcpy (a.dir, i.dir, sizeof (a.dir));
    memcpy (a.capture, i.capture, sizeof (a.capture));
    (void)snprintf (a.job, sizeof (a.job), "%s", job);
    assert_int_equal (ledger_assign (r->l, &a, NULL), 1);
}

/* An older ledger, which learns from the records what it lacks. */
static void keep_ledger (struct root *r)
{
    char kept[PATH_MAX];
    struct buf bytes;

    root_close (r);
    (void)snprintf (kept, sizeof (kept), "%s.kept", r->db);
    buf_init (&bytes, 1 << 24);
    assert_int_equal (fileio_read_at (AT_FDCWD, r->db, &bytes, NULL), 0);
    assert_int_equal (fileio_replace (kept, bytes.data, bytes.size,
                                      FILEIO_FILE_MODE, NULL), 0);
    buf_fini (&bytes);
    root_open (r);
}

static void use_kept_ledger (struct root *r)
{
    char kept[PATH_MAX];

    root_close (r);
    (void)snprintf (kept, sizeof (kept), "%s.kept", r->db);
    if (access (kept, F_OK) == 0)
        assert_int_equal (fileio_rename (kept, r->db, NULL), 0);
    root_open (r);
}

/* What a pinned job had stays pinned in the job that it goes to; a rebuilt
 * ledger says so, too.
 */
static void test_merge (void **state)
{
    struct root *r = *state;
    struct divide d;

    assigned (r, "a", 0);
    assigned (r, "b", 1);
    say_of (r, "a", FACT_TAG, "x");
    say_of (r, "b", FACT_TAG, "release");
    say_of (r, "b", FACT_PIN, "1");
    say_of (r, "b", FACT_USER, "bob");
    keep_ledger (r);
    assert_int_equal (divide_merge (r->l, "b", "a", &d, NULL), 0);
    assert_int_equal (divide_commit (&d, r->l, r->s, NULL), 0);
    divide_fini (&d);
    for (int i = 0; i < 2; i++) {
        assert_true (says (r, "a", FACT_PIN, "1"));
        assert_true (says (r, "a", FACT_TAG, "release"));
        assert_false (says (r, "a", FACT_USER, "bob"));
        use_kept_ledger (r);
    }
}

static void test_split (void **state)
{
    const char *const named[] = { "rank1" };
    struct root *r = *state;
    struct divide d;
    char job[MESSAGE_NAME_MAX];

    assigned (r, "a", 0);
    assigned (r, "a", 1);
    say_of (r, "a", FACT_PIN, "1");
    say_of (r, "a", FACT_FORGOTTEN, "1");
    assert_int_equal (divide_split (r->l, r->s, "a", named, 1, &d, NULL), 0);
    (void)snprintf (job, sizeof (job), "%s", d.assignments[0].job);
    assert_string_not_equal (job, "a");
    assert_int_equal (divide_commit (&d, r->l, r->s, NULL), 0);
    divide_fini (&d);
    assert_true (says (r, job, FACT_PIN, "1"));
    assert_true (says (r, job, FACT_FORGOTTEN, "1"));
    assert_true (says (r, "a", FACT_PIN, "1"));
}

static void test_build (void **state)
{
    struct root *r = *state;
    struct job_origin about = { "", "alice", "train.py" };

    assert_int_equal (job_facts_note_build (r->l, r->s, "j", &about, true,
                                            NULL), 0);
    assert_true (says (r, "j", FACT_USER, "alice"));
    assert_true (says (r, "j", FACT_COMMAND, "train.py"));
    assert_false (says (r, "j", FACT_SCHEDULER_ID, ""));
    keep_ledger (r);            // another user's captures came
    assert_int_equal (job_facts_note_build (r->l, r->s, "j", &about, false,
                                            NULL), 0);
    assert_false (says (r, "j", FACT_USER, "alice"));
    use_kept_ledger (r);
    assert_false (says (r, "j", FACT_USER, "alice"));
    assert_true (says (r, "j", FACT_COMMAND, "train.py"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_merge), ROOT_TEST (test_split),
        ROOT_TEST (test_build),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
