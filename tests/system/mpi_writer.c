/* tests/system/mpi_writer.c - a COMMAND that is an MPI program
 *
 * mpi_writer FILE PROGRAM [ARG]...: says "rank R of N" in FILE.R after a real
 * collective, and becomes PROGRAM when MPI is finalized, with MPI_RANK and
 * MPI_SIZE in its environment.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef FORTRAN
void mpi_init_ (int *error);

static int begin (int *argc, char ***argv)
{
    int error;

    (void)argc, (void)argv;
    mpi_init_ (&error);
    return error;
}
#else
#define begin MPI_Init
#endif

int main (int argc, char **argv)
{
    int rank, size, one = 1, sum = 0;
    char path[4096], number[16];
    FILE *f;

    if (argc < 3 || begin (&argc, &argv) != MPI_SUCCESS)
        return 2;
    (void)MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    (void)MPI_Comm_size (MPI_COMM_WORLD, &size);
    (void)MPI_Allreduce (&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    (void)snprintf (path, sizeof (path), "%s.%d", argv[1], rank);
    if (!(f = fopen (path, "w")))
        return 3;
    (void)fprintf (f, "rank %d of %d, sum %d\n", rank, size, sum);
    (void)fclose (f);
    (void)MPI_Finalize ();
    (void)snprintf (number, sizeof (number), "%d", rank);
    (void)setenv ("MPI_RANK", number, 1);
    (void)snprintf (number, sizeof (number), "%d", size);
    (void)setenv ("MPI_SIZE", number, 1);
    (void)execv (argv[2], argv + 2);
    return 127;
}
