/* tests/unit/aggregator/job_build/test_job_versions.c - which shipments of a job
 * count
 */
#include "aggregator/job_build/job_build_check.h"

/* What the result says of rank 0 when these were delivered. */
static void check_rank (struct root *r, const struct shipped list[], size_t n,
                        enum roster_state state, const char *reason)
{
    struct build_result result = { .rows = 0 };
    struct job_build *b;
    struct roster roster;
    char out[PATH_MAX];

    for (size_t i = 0; i < n; i++)
        ship (r, &list[i]);
    (void)snprintf (out, sizeof (out), "%s/out", r->dir);
    assert_int_equal (job_build_create (r->l, r->s, "j", 1, &b, NULL), 0);
    job_build_options (b)->wanted = 0;
    roster_init (&roster);
    assert_int_equal (job_build_run (b, out, 1, &roster, &result, NULL), 0);
    assert_int_equal (roster_at (&roster, 0)->state, state);
    if (reason) {
        assert_non_null (roster_at (&roster, 0)->reason);
        assert_non_null (strstr (roster_at (&roster, 0)->reason, reason));
    }
    roster_fini (&roster);
    job_build_destroy (b);
}

/* Two nodes were given one rank, and their program calls its captures alike:
 * one of them would be a version of the other, and nobody would know.
 */
static void test_two_hosts (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "beta", "", 2000, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

static void test_two_hosts_by_name (void **state)
{
    static const struct shipped list[] = {
        { "x", "alpha", 0, "a", "prof" }, { "x", "beta", 0, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: alpha");
}

/* A host that was started again, whose agent seals the capture anew. */
static void test_same_host (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "alpha", "", 2000, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_PRESENT, NULL);
}

/* A spool that is delivered from another host: the same content is one capture,
 * and so is another one of a capture that began at the same time, or says
 * itself where it was made.
 */
static void test_moved (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "", 1000, "a", "prof" }, { "beta", "", 1000, "a", "prof" },
        { "beta", "", 1000, "b", "prof" },
    };

    check_rank (*state, list, 3, ROSTER_PRESENT, NULL);
}

static void test_moved_by_name (void **state)
{
    static const struct shipped list[] = {
        { "alpha", "made", 0, "a", "prof" }, { "beta", "made", 0, "b", "prof" },
    };

    check_rank (*state, list, 2, ROSTER_PRESENT, NULL);
}

/* In a container the profiler's name of the host is the pod's.  A capture that
 * was renamed does not have it any more, but came from no other host.
 */
static void test_pod (void **state)
{
    static const struct shipped list[] = {
        { "node", "pod", 1000, "a", "one" }, { "node", "", 2000, "b", "two" },
        { "node", "", 3000, "c", "prof" }, { "node", "pod", 4000, "d", "prof" },
    };

    check_rank (*state, list, 4, ROSTER_PRESENT, NULL);
}

/* Two pods, though, are two hosts, and so are the nodes of two agents. */
static void test_two_pods (void **state)
{
    static const struct shipped list[] = {
        { "node", "", 500, "x", "none" }, { "node", "pod", 1000, "a", "one" },
        { "node", "gourd", 2000, "b", "two" },
    };

    check_rank (*state, list, 3, ROSTER_FAILED, "came from two hosts: pod "
                                                "(one) and gourd (two)");
}

static void test_two_nodes (void **state)
{
    static const struct shipped list[] = {
        { "node", "pod", 1000, "a", "one" }, { "edge", "", 2000, "b", "two" },
    };

    check_rank (*state, list, 2, ROSTER_FAILED, "came from two hosts: node "
                                                "(one) and edge (two)");
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        ROOT_TEST (test_two_hosts), ROOT_TEST (test_two_hosts_by_name),
        ROOT_TEST (test_same_host), ROOT_TEST (test_moved),
        ROOT_TEST (test_moved_by_name), ROOT_TEST (test_pod),
        ROOT_TEST (test_two_pods), ROOT_TEST (test_two_nodes),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
