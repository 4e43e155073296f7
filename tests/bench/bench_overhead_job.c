/* tests/bench/bench_overhead_job.c - a job to be slowed down
 *
 * bench_overhead_job ITERATIONS: each computes some 5 ms and sums over all
 * ranks.  Rank 0 prints the wall time from the first iteration to the last and
 * the CPU time of all ranks, in seconds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define WORK 4000000            // multiplications in an iteration

static double compute (double x)
{
    for (int i = 0; i < WORK; i++)
        x = x * 0.999999 + 1e-9;
    return x;
}

static double cpu_seconds (void)
{
    struct rusage r;

    (void)getrusage (RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6;
}

int main (int argc, char **argv)
{
    int n = argc > 1 ? atoi (argv[1]) : 0, rank;
    double x = 1, sum = 0, began, cpu, total = 0;

    if (n < 1 || MPI_Init (&argc, &argv) != MPI_SUCCESS)
        return 2;
    (void)MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    (void)MPI_Barrier (MPI_COMM_WORLD);
    began = MPI_Wtime ();
    for (int i = 0; i < n; i++) {
        x = compute (x);
        (void)MPI_Allreduce (&x, &sum, 1, MPI_DOUBLE, MPI_SUM,
                             MPI_COMM_WORLD);
    }
    began = MPI_Wtime () - began;
    cpu = cpu_seconds ();
    (void)MPI_Reduce (&cpu, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        (void)printf ("%.4f %.4f %g\n", began, total, sum);
    return MPI_Finalize ();
}
