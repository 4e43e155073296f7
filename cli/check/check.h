/* cli/check/check.h - check a machine before a job fails on it
 *
 * Each check examines one thing and gives one line: its state, and what to do
 * about a problem. rollcall doctor prints all of them, rollcall run the
 * problems of its capture directory.
 *
 * This folder: the checks of rollcall doctor: disk, machine, network.
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

/* Give a struct check its state and text; for the checks themselves. */
#define SAY(c, how, ...) \
    ((c).state = (how), \
     (void)snprintf ((c).text, sizeof ((c).text), __VA_ARGS__))

/* Ascend profilers want this many times the raw data free while they analyse;
 * torch.profiler writes its trace once.
 */
#define CHECK_RAW_FACTOR 20

/* Whether 'dir' exists; if not, which directory the other checks use. */
struct check check_exists (const char *dir);

/* Whether captures can be written to 'dir', which need not exist yet:
 * permission (by trying), free space ('expect_bytes' of raw data, 0: not
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

/* Whether the aggregator at 'endpoint' answers within some seconds, with these
 * keys (NULL: none, loopback only), and the offset of this host's clock from
 * its clock.  Delivers nothing, and begins no job there.
 */
struct check check_aggregator (const char *endpoint,
                               const struct net_security *security,
                               struct check *offset);

#endif
