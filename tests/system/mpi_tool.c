/* tests/system/mpi_tool.c - a tool of MPI's profiling interface */
#include <mpi.h>
#include <stdio.h>

int MPI_Init (int *argc, char ***argv)
{
    (void)fprintf (stderr, "the tool wraps MPI_Init\n");
    return PMPI_Init (argc, argv);
}
