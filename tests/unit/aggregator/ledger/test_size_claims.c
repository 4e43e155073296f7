/* tests/unit/aggregator/ledger/test_size_claims.c - how many ranks a job has,
 * and who is believed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ledger/size_claims.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct size_claims claims;

static int setup (void **state)
{
    (void)state;
    claims = (struct size_claims){ .list = NULL };
    return 0;
}

static int teardown (void **state)
{
    (void)state;
    size_claims_fini (&claims);
    return 0;
}

static int say (enum size_claim_by by, const char *who, const char *host,
                int64_t size)
{
    struct size_claim w = { .by = by, .world_size = size };

    (void)snprintf (w.who, sizeof (w.who), "%s", who);
    (void)snprintf (w.host, sizeof (w.host), "%s", host);
    return size_claims_put (&claims, &w);
}

static void check (bool run, int64_t agreed, int64_t expected,
                   const char *known_by, const char *in_note)
{
    char note[512];
    const char *by;

    assert_int_equal (size_claims_judge (&claims, run, agreed, &by, note,
                                         sizeof (note)), expected);
    assert_string_equal (by, known_by);
    if (!in_note)
        assert_string_equal (note, "");
    else if (!strstr (note, in_note))
        fail_msg ("\"%s\" is not in \"%s\"", in_note, note);
}

/* The last word of each counts, and is told from the same again. */
static void test_put (void **state)
{
    (void)state;
    assert_int_equal (say (CLAIM_NODE, "k", "h", 4), 1);
    assert_int_equal (say (CLAIM_NODE, "k", "h", 4), 0);
    assert_int_equal (say (CLAIM_NODE, "k", "h", 2), 1);
    assert_int_equal (say (CLAIM_NODE, "k", "i", 2), 1);
    assert_int_equal (say (CLAIM_NODE, "j", "h", 2), 1);
    assert_int_equal (say (CLAIM_EXPECT, "", "", 0), 0);
    assert_int_equal (claims.n, 3);
    check (false, 0, 2, "agents", NULL);
    for (int i = 3; i < CLAIMS_MAX - CLAIMS_RESERVED; i++) {
        char host[16];

        (void)snprintf (host, sizeof (host), "h%d", i);
        assert_int_equal (say (CLAIM_NODE, "k", host, 2), 1);
    }
    assert_int_equal (say (CLAIM_NODE, "k", "one more", 2), -E2BIG);
    assert_int_equal (say (CLAIM_NODE, "k", "h", 8), 1);
    // an operator is heard, however many nodes there are
    assert_int_equal (say (CLAIM_EXPECT, "", "", 5), 1);
    check (false, 0, 5, "rollcall jobs --expect", NULL);
}

/* One number of one node makes no ranks up. */
static void test_outlier (void **state)
{
    (void)state;
    check (false, 4, 0, "", NULL);
    (void)say (CLAIM_NODE, "evil", "h9", 131072);
    check (false, 4, 4, "metadata of the captures",
           "host h9, key evil says 131072: not used, 4 ranks");
    check (false, 0, 131072, "agents", NULL);   // nobody knows better
    (void)say (CLAIM_NODE, "k1", "h1", 4);
    check (false, 0, 131072, "agents", "host h1, key k1 says 4");
    (void)say (CLAIM_NODE, "k2", "h2", 4);
    check (false, 0, 4, "agents", "host h9, key evil says 131072");
    for (int i = 0; i < 5; i++) {
        char host[16];

        (void)snprintf (host, sizeof (host), "e%d", i);
        (void)say (CLAIM_NODE, "evil", host, 70000 + i);
    }
    check (false, 4, 4, "agents",
           "and 3 more nodes reported another number");
}

/* Whoever started the run counts more than metadata, a person more than all. */
static void test_order (void **state)
{
    (void)state;
    (void)say (CLAIM_NODE, "k1", "h1", 2);
    check (true, 4, 2, "rollcall run", NULL);
    (void)say (CLAIM_FRONT, "", "", 8);
    check (true, 4, 8, "rollcall run", "host h1, key k1 says 2");
    check (false, 4, 8, "--world-size", "8 ranks are expected");
    (void)say (CLAIM_EXPECT, "", "", 6);
    check (false, 4, 6, "rollcall jobs --expect", NULL);
    (void)say (CLAIM_EXPECT, "", "", 0);
    check (false, 4, 8, "--world-size", "says 2");
}

/* MPI's world may be larger than what launchers' variables say; a smaller one
 * is that of some program of a few ranks.
 */
static void test_mpi (void **state)
{
    (void)state;
    (void)say (CLAIM_MPI, "k1", "h1", 4);
    check (false, 0, 4, "MPI", NULL);
    (void)say (CLAIM_NODE, "k1", "h1", 8);
    check (false, 0, 8, "agents", NULL);
    (void)say (CLAIM_MPI, "k1", "h1", 16);
    check (false, 0, 16, "MPI", "host h1, key k1 says 8: not used");
    check (true, 8, 16, "MPI", "host h1, key k1 says 8");
    check (false, 8, 8, "metadata of the captures",
           "MPI on host h1, key k1 says 16: not used");
    (void)say (CLAIM_MPI, "k2", "h2", 4);
    (void)say (CLAIM_MPI, "k3", "h3", 4);
    check (false, 0, 8, "agents", "MPI on host h1, key k1 says 16");
    (void)say (CLAIM_FRONT, "", "", 8);
    check (true, 0, 8, "rollcall run", "MPI on host h1");
    (void)say (CLAIM_EXPECT, "", "", 2);
    check (false, 0, 2, "rollcall jobs --expect", NULL);
}

static void test_valid (void **state)
{
    struct size_claim w = { .by = CLAIM_NODE, .world_size = 1 };

    (void)state;
    assert_true (size_claim_valid (&w));
    w.by = 0;
    assert_false (size_claim_valid (&w));
    w.by = CLAIM_EXPECT;
    w.world_size = -1;
    assert_false (size_claim_valid (&w));
    w.world_size = 1 << 20;
    assert_false (size_claim_valid (&w));
}

#define TEST(f) cmocka_unit_test_setup_teardown (f, setup, teardown)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (test_put),
        TEST (test_outlier),
        TEST (test_order),
        TEST (test_mpi),
        TEST (test_valid),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
