/* aggregator/builder/mpi_door.h - MPI, as far as a build needs it
 *
 * The door is a module that is loaded when several processes build
 * (builder/team.h): a program that is alone neither links nor starts MPI.
 */
#ifndef ROLLCALL_BUILDER_MPI_DOOR_H
#define ROLLCALL_BUILDER_MPI_DOOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define MPI_DOOR_SYMBOL "rollcall_mpi_door"
#define MPI_DOOR_VERSION 1

/* This process among those of the launch. */
struct mpi_place {
    unsigned rank, size;
    unsigned here;              // processes on this host, with this one
    bool near;                  // rank 0 is on this host
};

struct mpi_message {
    unsigned from;
    int tag;
    size_t size;
};

/* One thread at a time may be in any of these, but it need not be the same one.
 * 0, -EIO, or -EINTR once *cancel is true; after a failure the process can only
 * end.
 */
struct mpi_door {
    int version;
    /* MPI_Init.  The processes of a host may then all use all processors that the
     * launcher gave to any of them: while one works, the others wait.
     */
    int (*begin) (const atomic_bool *cancel, struct mpi_place *ret);
    /* Send; the bytes (less than 2 GiB) may be changed afterwards.  A large
     * message waits for the one who gets it.
     */
    int (*send) (unsigned to, int tag, const void *bytes, size_t size);
    /* 1: there is a message with this tag, which receive gets; 0: not yet. */
    int (*look) (int tag, struct mpi_message *ret);
    int (*receive) (const struct mpi_message *m, void *bytes);
    /* MPI_Finalize: returns when all have called it. */
    int (*end) (void);
};

#endif
