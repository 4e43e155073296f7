/* tests/unit/node_agent/world/test_world.c - who am I, by the launcher's
 * variables */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "world/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int no_launcher (void **state)
{
    (void)state;
    return clearenv ();
}

static void set (const char *const *pairs)
{
    for (; *pairs; pairs += 2)
        assert_int_equal (setenv (pairs[0], pairs[1], 1), 0);
}

static const char *const slurm[] = {
    "SLURM_PROCID", "1", "SLURM_STEP_NUM_TASKS", "2", "SLURM_LOCALID", "0",
    "SLURM_JOB_ID", "7", "SLURM_STEP_ID", "0", NULL,
};

static const char *const torchrun[] = {
    "RANK", "3", "WORLD_SIZE", "8", "LOCAL_RANK", "3", "LOCAL_WORLD_SIZE", "8",
    NULL,
};

static void check (const char *launcher, int64_t rank, int64_t size)
{
    struct world w;
    struct err err = { "" };

    assert_int_equal (world_from_environment (&w, &err), 0);
    assert_string_equal (w.launcher, launcher);
    assert_int_equal (w.rank, rank);
    assert_int_equal (w.size, size);
}

static void test_each (void **state)
{
    static const char *const mpi[] = {
        "OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_SIZE", "4", NULL,
    };

    (void)state;
    check ("none", 0, 1);
    set (torchrun);
    check ("torchrun", 3, 8);
    assert_int_equal (clearenv (), 0);
    set (slurm);
    check ("slurm", 1, 2);
    set (mpi);                  // mpirun inside an allocation
    check ("open mpi", 2, 4);
}

/* srun torchrun rollcall run: by Slurm's variables every process would be rank
 * 0 of a job of its own.
 */
static void test_torchrun_inside (void **state)
{
    (void)state;
    set (slurm);
    set (torchrun);
    check ("torchrun", 3, 8);
}

/* A scheduler's RANK and WORLD_SIZE number nodes: mpirun counts. */
static void test_scheduler_outside (void **state)
{
    (void)state;
    set (slurm);
    set (torchrun);
    assert_int_equal (unsetenv ("LOCAL_WORLD_SIZE"), 0);
    check ("slurm", 1, 2);
}

/* Slurm does not say how many are here, but whether there are other nodes. */
static void test_one_node (void **state)
{
    struct world w;

    (void)state;
    set (slurm);
    assert_int_equal (world_from_environment (&w, NULL), 0);
    assert_int_equal (w.local_size, 0);
    assert_int_equal (setenv ("SLURM_STEP_NUM_NODES", "2", 1), 0);
    assert_int_equal (world_from_environment (&w, NULL), 0);
    assert_int_equal (w.local_size, 0);
    assert_int_equal (setenv ("SLURM_STEP_NUM_NODES", "1", 1), 0);
    assert_int_equal (world_from_environment (&w, NULL), 0);
    assert_int_equal (w.local_size, 2);
    assert_false (world_is_torchrun (&w));
}

/* PMI's variables are Slurm's, too; those of MPICH's mpirun have more. */
static void test_mpich (void **state)
{
    static const char *const pmi[] = {
        "PMI_RANK", "3", "PMI_SIZE", "4", NULL,
    };
    struct world w;

    (void)state;
    set (pmi);
    check ("none", 0, 1);
    set (slurm);
    check ("slurm", 1, 2);
    assert_int_equal (setenv ("MPI_LOCALRANKID", "1", 1), 0);
    assert_int_equal (setenv ("MPI_LOCALNRANKS", "2", 1), 0);
    check ("mpich", 3, 4);
    assert_int_equal (world_from_environment (&w, NULL), 0);
    assert_int_equal (w.local_rank, 1);
    assert_int_equal (w.local_size, 2);
    assert_true (w.instance[0]);
}

static void test_nonsense (void **state)
{
    struct world w;
    struct err err = { "" };

    (void)state;
    set (torchrun);
    assert_int_equal (setenv ("RANK", "8", 1), 0);
    assert_int_equal (world_from_environment (&w, &err), -EINVAL);
    assert_non_null (strstr (err.text, "RANK=8"));
}

int main (void)
{
#define CLEAN(f) cmocka_unit_test_setup_teardown (f, no_launcher, no_launcher)
    const struct CMUnitTest tests[] = {
        CLEAN (test_each), CLEAN (test_torchrun_inside),
        CLEAN (test_scheduler_outside), CLEAN (test_one_node),
        CLEAN (test_mpich),
        CLEAN (test_nonsense),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
