/* tests/unit/aggregator/builder/test_build_team.c - a build by rank 0 and a member */
#include "aggregator/builder/team_check.h"

#include "builder/build.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Hosts are those that rank 0 fills in. */
static void test_same (void **state)
{
    struct digest alone, together;
    struct err err = { "" };

    (void)state;
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    atomic_store (&how.lead_read, 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (atomic_load (&how.member_read) > 0);
    assert_int_equal (how.lead_read + how.member_read, CAPTURES - 1);
    assert_true (how.bytes_asked >= 3 * how.member_read);
    // 'took' has given hosts to what the member has read; the rest is equal
    assert_true (memcmp (&alone, &together, sizeof (alone)) != 0);
}

/* A list that captures repeat is handed over once by each thread. */
static void test_lists (void **state)
{
    void *door = dlopen (FAKE_DOOR, RTLD_NOW);
    const size_t *bytes = dlsym (door, "fake_bytes");
    struct digest alone, together;
    struct err err = { "" };
    size_t before;

    (void)state;
    how.no_hosts = true;
    assert_non_null (bytes);
    before = bytes[TEAM_CAPTURE];
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_true (atomic_load (&how.member_read) > 0);
    // one process finds the same groups
    assert_memory_equal (&alone, &together, sizeof (alone));
    // of four lists, by a thread, and documents
    assert_true (bytes[TEAM_CAPTURE] - before <
                 4 * MEMBERS * sizeof (int32_t) + how.member_read * 2000);
    (void)dlclose (door);
}

/* With a file of this system. */
static unsigned pages_sent (bool hosts, long file_system)
{
    struct err err = { "" };
    unsigned n;

    how.file_system = file_system;
    if (build_apart (hosts, &n, &err) < 0)
        fail_msg ("%s", err.text);
    (void)begin_case (NULL);
    return n;
}

/* A file that two hosts may have in two states is written by one. */
static void test_file_systems (void **state)
{
    (void)state;
    assert_int_equal (pages_sent (true, 0x0bd00bd0), 0);        // Lustre
    assert_true (pages_sent (true, 0x6969) > 0);                // NFS
    assert_true (pages_sent (true, 0x65735546) > 0);            // FUSE
    assert_true (pages_sent (true, 0xaad7aaea) > 0);            // PanFS
    assert_int_equal (pages_sent (false, 0x6969), 0);           // one cache
}

/* A member that sees nothing takes no part. */
static void test_sees_nothing (void **state)
{
    struct digest alone, together;
    struct err err = { "" };

    (void)state;
    how.sees = false;
    assert_int_equal (build ("alone", NULL, &alone, &err), 0);
    if (build_together ("together", &together, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (how.member_read, 0);
    assert_memory_equal (&alone, &together, sizeof (alone));
}

static void check_threads (unsigned processes, unsigned host, unsigned want)
{
    const struct mpi_place p = { 0, 4 * processes, processes, true };

    assert_int_equal (team_threads (&p, host), want);
}

static unsigned threads_of_member (bool own, int processors)
{
    struct err err = { "" };
    unsigned sent;

    (void)begin_case (NULL);
    how.own_threads = own;
    how.processors = processors;
    if (build_apart (true, &sent, &err) < 0)
        fail_msg ("%s", err.text);
    return how.member_threads;
}

/* Unless somebody says how many there are to be, a host has as many as it has
 * processors.
 */
static void test_threads (void **state)
{
    (void)state;
    how.processors = 12;
    check_threads (1, 0, 12);
    check_threads (3, 0, 4);
    check_threads (16, 0, 1);
    check_threads (3, 6, 2);
    check_threads (3, 2, 1);
    how.processors = 256;
    check_threads (1, 0, BUILD_THREADS_MAX);
    check_threads (8, 0, 32);
    assert_int_equal (threads_of_member (true, 5), 5);
    assert_int_equal (threads_of_member (false, 5), 2);
}

/* Processes that are to do different things would leave some undone. */
static void test_other_order (void **state)
{
    struct digest rows;
    struct err err = { "" };

    (void)state;
    how.sees = false;
    how.orders[1] = 1;
    assert_int_equal (build_together ("none", &rows, &err), -EPROTO);
    assert_non_null (strstr (err.text, "another command line"));
}

static void test_door (void **state)
{
    struct team *t = NULL;
    struct err err = { "" };

    (void)state;
    assert_int_equal (team_begin ("/nowhere.so", 2, 0, &never, &t, &err), -ENOENT);
    assert_non_null (strstr (err.text, "/nowhere.so"));
    // two processes, but the launcher has said three
    assert_int_equal (team_begin (FAKE_DOOR, 3, 0, &never, &t, &err), -EINVAL);
    assert_int_equal (team_begin (FAKE_DOOR, 3, 0, &never, &t, &err), -EINVAL);
    assert_null (t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup (test_same, begin_case),
        cmocka_unit_test_setup (test_lists, begin_case),
        cmocka_unit_test_setup (test_file_systems, begin_case),
        cmocka_unit_test_setup (test_sees_nothing, begin_case),
        cmocka_unit_test_setup (test_threads, begin_case),
        cmocka_unit_test_setup (test_other_order, begin_case),
        cmocka_unit_test_setup (test_door, begin_case),
    };

    return cmocka_run_group_tests (tests, begin_cases, end_cases);
}
