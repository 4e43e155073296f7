/* tests/unit/aggregator/job_build/test_job_build.c - a result of what the disk gives,
 * or none
 */
#include "aggregator/job_build/job_build_check.h"

#include "base/thread.h"
#include "job_build/job_member.h"

#include <errno.h>
#include <sys/stat.h>

/* Bytes that the disk does not give are those of one rank, which is named, and
 * the others are built; but a result is not replaced if there are none.
 */
static void test_unread (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    struct build_result result = { .rows = 0 };
    struct root *r = *state;
    struct job_build *b = NULL;
    struct err err = { "" };
    struct roster roster;
    char path[PATH_MAX];
    struct stat st;

    ship (r, &one);
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    ship_rank = 1;
    ship (r, &two);
    ship_rank = 0;
    bad_from = st.st_size;
    if (job_build_create (r->l, r->s, "j", 1, &b, &err) < 0)
        fail_msg ("%s", err.text);
    bad_from = -1;
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    PRINT (path, "%s/out", r->dir);
    assert_int_equal (job_build_run (b, path, 1, &roster, &result, NULL), 0);
    assert_int_equal (roster_at (&roster, 0)->state, ROSTER_PRESENT);
    assert_int_equal (roster_at (&roster, 1)->state, ROSTER_FAILED);
    assert_non_null (strstr (roster_at (&roster, 1)->reason,
                             "Input/output error"));
    roster_fini (&roster);
    job_build_destroy (b);
    bad_from = 0;
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, &err), -EIO);
    bad_from = -1;
    assert_non_null (strstr (err.text, "cannot read any shipment of job j"));
    // nor if only what is said about them can be read
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, NULL), 0);
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    bad_from = 0;
    bad_file = st.st_ino;
    assert_int_equal (job_build_run (b, path, 1, &roster, &result, &err), -EIO);
    bad_from = -1;
    bad_file = 0;
    assert_non_null (strstr (err.text, "cannot read the rows of any capture"));
    roster_fini (&roster);
    job_build_destroy (b);
}

static void *be_member (void *arg)
{
    static atomic_bool never;
    struct err err = { "" };

    if (build_member_run (arg, &job_member, &never, &err) < 0)
        fail_msg ("%s", err.text);
    return NULL;
}

/* None of two processes gets any rows, though each has only some of them. */
static void test_unread_by_all (void **state)
{
    static const struct shipped one = { "alpha", "", 1000, "a", "one" };
    static const struct shipped two = { "alpha", "", 1000, "b", "two" };
    static atomic_bool never;
    struct build_result result = { .rows = 0 };
    struct root *r = *state;
    struct job_build *rank_0;
    struct team *teams[2];
    struct err err = { "" };
    struct roster roster;
    pthread_barrier_t both;
    pthread_t thread;
    char path[PATH_MAX];
    struct stat st;

    ship (r, &one);
    ship_rank = 1;
    ship (r, &two);
    ship_rank = 0;
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &rank_0, &err), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal (team_begin (FAKE_DOOR, 2, 0, &never, &teams[i], &err), 0);
    job_build_options (rank_0)->wanted = 0;
    job_build_options (rank_0)->team = teams[0];
    store_segment_path (r->dir, 1, path);
    assert_int_equal (stat (path, &st), 0);
    bad_file = st.st_ino;
    bad_from = 0;
    assert_int_equal (pthread_barrier_init (&both, NULL, 2), 0);
    meeting = &both;
    met = true;                 // it reads what the member could not read
    assert_int_equal (thread_start (&thread, be_member, teams[1]), 0);
    roster_init (&roster);
    PRINT (path, "%s/out", r->dir);
    assert_int_equal (job_build_run (rank_0, path, 1, &roster, &result, &err),
                      -EIO);
    assert_non_null (strstr (err.text, "cannot read the rows of any capture"));
    assert_int_equal (team_dismiss (teams[0], &err), 0);
    (void)pthread_join (thread, NULL);
    bad_from = -1;
    bad_file = 0;
    meeting = NULL;
    (void)pthread_barrier_destroy (&both);
    team_end (teams[0]);
    team_end (teams[1]);
    roster_fini (&roster);
    job_build_destroy (rank_0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_unread), ROOT_TEST (test_unread_by_all),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
