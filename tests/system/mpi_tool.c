/* tests/system/mpi_tool.c - a tool of MPI's profiling interface */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define TAG_QUESTION 1          // as in builder/team.c
#define TAG_READY 3

int MPI_Init (int *argc, char ***argv)
{
    (void)fprintf (stderr, "the tool wraps MPI_Init\n");
    return PMPI_Init (argc, argv);
}

/* Of rank 0 of a build: $MPI_CUT is how many processes begin a pass before MPI
 * fails, once, when the last of them asks something.
 */
int MPI_Iprobe (int source, int tag, MPI_Comm comm, int *flag,
                MPI_Status *status)
{
    static int begun, cut;
    const char *at = getenv ("MPI_CUT");
    int rc = PMPI_Iprobe (source, tag, comm, flag, status);

    if (!at || rc != MPI_SUCCESS || !*flag)
        return rc;
    begun += tag == TAG_READY;
    if (tag != TAG_QUESTION || begun < atoi (at) || cut++ > 0)
        return rc;
    return MPI_ERR_OTHER;
}
