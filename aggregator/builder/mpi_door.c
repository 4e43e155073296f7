/* aggregator/builder/mpi_door.c - MPI, as far as a build needs it
 *
 * The only file of the aggregator that includes mpi.h; a module of its own.
 */
#include "builder/mpi_door.h"

#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define NAP_NS 20000
#define NAP_MOST_NS 640000      // between looks at a message that takes long
#define MPI_DOOR_CPUS 8192      // that a mask has room for

static const atomic_bool *cancelled;

static int outcome (int rc)
{
    return rc == MPI_SUCCESS ? 0 : -EIO;
}

/* A launcher binds each process to processors of its own.  Those of a host use
 * all that any of them has.
 */
static int share_processors (MPI_Comm host)
{
    unsigned long own[MPI_DOOR_CPUS / (8 * sizeof (unsigned long))];
    unsigned long all[MPI_DOOR_CPUS / (8 * sizeof (unsigned long))];
    int rc;

    memset (own, 0, sizeof (own));
    if (sched_getaffinity (0, sizeof (own), (cpu_set_t *)own) < 0)
        memset (own, 0, sizeof (own));
    rc = MPI_Allreduce (own, all, (int)(sizeof (own) / sizeof (own[0])),
                        MPI_UNSIGNED_LONG, MPI_BOR, host);
    // the launcher's word remains where that is not allowed
    if (rc == MPI_SUCCESS)
        (void)sched_setaffinity (0, sizeof (all), (const cpu_set_t *)all);
    return rc;
}

static int find_place (struct mpi_place *ret)
{
    int rank = 0, size = 0, here = 0, lowest = 0;
    MPI_Comm host;
    int rc = MPI_Comm_rank (MPI_COMM_WORLD, &rank);

    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_size (MPI_COMM_WORLD, &size);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_split_type (MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                                  MPI_INFO_NULL, &host);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = MPI_Comm_size (host, &here);
    if (rc == MPI_SUCCESS)
        rc = MPI_Allreduce (&rank, &lowest, 1, MPI_INT, MPI_MIN, host);
    if (rc == MPI_SUCCESS)
        rc = share_processors (host);
    (void)MPI_Comm_free (&host);
    *ret = (struct mpi_place){ (unsigned)rank, (unsigned)size, (unsigned)here,
                               lowest == 0 };
    return rc;
}

static int door_begin (const atomic_bool *cancel, struct mpi_place *ret)
{
    int level, rc = MPI_Init_thread (NULL, NULL, MPI_THREAD_SERIALIZED, &level);

    if (rc != MPI_SUCCESS || level < MPI_THREAD_SERIALIZED)
        return -EIO;
    cancelled = cancel;
    // a build says itself what failed
    rc = MPI_Comm_set_errhandler (MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return outcome (rc == MPI_SUCCESS ? find_place (ret) : rc);
}

/* MPI_Send and MPI_Recv would wait for ever for a process that was killed. */
static int await (int rc, MPI_Request *request)
{
    struct timespec nap = { .tv_nsec = NAP_NS };
    int over = 0;

    for (;;) {
        if (rc == MPI_SUCCESS)
            rc = MPI_Test (request, &over, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS || over)
            return outcome (rc);
        if (atomic_load (cancelled))
            return -EINTR;
        (void)nanosleep (&nap, NULL);
        nap.tv_nsec *= nap.tv_nsec < NAP_MOST_NS ? 2 : 1;
    }
}

static int door_send (unsigned to, int tag, const void *bytes, size_t size)
{
    MPI_Request request;

    if (size > INT_MAX)
        return -EIO;
    return await (MPI_Isend (bytes, (int)size, MPI_BYTE, (int)to, tag,
                             MPI_COMM_WORLD, &request), &request);
}

static int door_look (int tag, struct mpi_message *ret)
{
    MPI_Status status;
    int there = 0, size = 0;
    int rc = MPI_Iprobe (MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, &status);

    if (rc == MPI_SUCCESS && there)
        rc = MPI_Get_count (&status, MPI_BYTE, &size);
    if (rc != MPI_SUCCESS || size < 0)
        return -EIO;
    if (there)
        *ret = (struct mpi_message){ (unsigned)status.MPI_SOURCE, tag,
                                     (size_t)size };
    return there != 0;
}

static int door_receive (const struct mpi_message *m, void *bytes)
{
    MPI_Request request;

    return await (MPI_Irecv (bytes, (int)m->size, MPI_BYTE, (int)m->from,
                             m->tag, MPI_COMM_WORLD, &request), &request);
}

static int door_end (void)
{
    return outcome (MPI_Finalize ());
}

__attribute__ ((visibility ("default"))) extern const struct mpi_door
    rollcall_mpi_door;
const struct mpi_door rollcall_mpi_door = {
    MPI_DOOR_VERSION, door_begin, door_send, door_look, door_receive, door_end,
};
