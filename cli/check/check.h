/* cli/check/check.h - what may be wrong with a machine, before a job finds out
 *
 * Each check looks at one thing and says in one line how it is, and what to do
 * if it is not well.  rollcall doctor prints all of them, rollcall run those
 * of its capture directory that are not well.
 *
 * This folder: what rollcall doctor looks at: disk, machine, network.
 */
#ifndef ROLLCALL_CHECK_CHECK_H
#define ROLLCALL_CHECK_CHECK_H

#include "net/net.h"

#include <stdint.h>

enum check_state { CHECK_OK, CHECK_WARNING, CHECK_PROBLEM };

struct check {
    const char *name;           // "room"
    enum check_state state;
    char text[512];             // what is, and what to do
};

/* Ascend profilers want this many times the raw data free while they analyse;
 * torch.profiler writes its trace once.
 */
#define CHECK_RAW_FACTOR 20

/* Whether 'dir' is there itself; if not, what the others look at. */
struct check check_exists (const char *dir);

/* Whether captures can be written to 'dir', which need not be there yet: that
 * it may be done at all (it is tried), room ('expect_bytes' of raw data, 0: not
 * known), inodes, and a local disk.
 */
struct check check_writable (const char *dir);
struct check check_room (const char *dir, int64_t expect_bytes);
struct check check_inodes (const char *dir);
struct check check_local (const char *dir);

/* Whether others can read what this user writes; 'mask' is the umask. */
struct check check_umask (unsigned mask);

/* The machine. */
struct check check_port (int64_t port);
struct check check_clock (void);
struct check check_synchronised (void); // does the kernel follow a server
struct check check_files (void);        // RLIMIT_NOFILE
struct check check_memlock (void);
struct check check_core (void);
struct check check_idle (void);         // SCHED_IDLE, and the way back
struct check check_parent_death (void); // PR_SET_PDEATHSIG
struct check check_shm (void);
struct check check_libraries (void);     // SQLite, LZ4, ZeroMQ with CURVE
struct check check_mpi (void);          // and whether mpirun fits

/* The keys of a directory, as an aggregator here would use them. */
struct check check_keys (const char *dir);

/* Whether the aggregator at 'endpoint' answers within some seconds, to these
 * keys (NULL: none, loopback only), and how wrong this host's clock is by its
 * own.  Nothing is delivered, and no job begins there.
 */
struct check check_aggregator (const char *endpoint,
                               const struct net_security *security,
                               struct check *offset);

#endif
