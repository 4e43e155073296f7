/* cli/check/check_machine.c - limits, versions and what the kernel allows */
#include "check/check.h"

#include "base/clock.h"
#include "base/pack.h"
#include "base/units.h"
#include "net/net.h"
#include "store/db.h"
#include "store/space.h"
#include "throttle/bulk.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SHM_MIN (UINT64_C (64) << 20)   // what containers often have; Open MPI
                                        // wants some MiB for each rank
#define FILES_MIN 1024
#define MEMLOCK_MIN (UINT64_C (64) << 20)       // for RDMA
#define DATE_MIN INT64_C (1704067200)   // 2024: before that it is not set

#define START_ELSEWHERE "start it on another with rollcall-aggregator --listen"

/* ---- ports ---- */

/* The inode of the socket that listens on the port; 0 if it is not known. */
static unsigned long listening_inode (const char *table, int64_t port)
{
    FILE *f = fopen (table, "re");
    unsigned long inode = 0, one;
    char line[512];
    unsigned here, state;

    while (f && inode == 0 && fgets (line, sizeof (line), f)) {
        if (sscanf (line, "%*s %*[^:]:%x %*s %x %*s %*s %*s %*s %*s %lu", &here,
                    &state, &one) == 3 && here == port && state == 0x0a)
            inode = one;
    }
    if (f)
        (void)fclose (f);
    return inode;
}

/* Whether one of the descriptors below /proc/PID/fd is this socket. */
static bool has_socket (const char *pid, const char *wanted)
{
    char path[64], link[64];
    struct dirent *e;
    bool found = false;
    DIR *dir;

    PRINT (path, "/proc/%.20s/fd", pid);
    if (!(dir = opendir (path)))
        return false;           // of another user
    while (!found && (e = readdir (dir))) {
        ssize_t n = readlinkat (dirfd (dir), e->d_name, link,
                                sizeof (link) - 1);

        link[n > 0 ? n : 0] = '\0';
        found = strcmp (link, wanted) == 0;
    }
    (void)closedir (dir);
    return found;
}

/* Find who has this socket open; needs the permission to look. */
static bool owner_of (unsigned long inode, char *out, size_t size)
{
    DIR *proc = opendir ("/proc");
    struct dirent *e;
    char wanted[40];
    bool found = false;

    PRINT (wanted, "socket:[%lu]", inode);
    while (proc && inode > 0 && !found && (e = readdir (proc))) {
        if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
            !has_socket (e->d_name, wanted))
            continue;
        found = true;
        (void)snprintf (out, size, "process %.20s", e->d_name);
    }
    if (proc)
        (void)closedir (proc);
    return found;
}

struct check check_port (int64_t port)
{
    struct check c = { .name = "port" };
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons ((uint16_t)port),
                             .sin_addr.s_addr = htonl (INADDR_LOOPBACK) };
    int fd = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    unsigned long inode;
    char who[64];

    if (fd >= 0)
        (void)setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    if (fd >= 0 && bind (fd, (struct sockaddr *)&a, sizeof (a)) == 0) {
        SAY (c, CHECK_OK, "%lld is free", (long long)port);
    } else {
        int saved = errno;

        inode = listening_inode ("/proc/net/tcp", port);
        if (inode == 0)
            inode = listening_inode ("/proc/net/tcp6", port);
        if (saved == EADDRINUSE && owner_of (inode, who, sizeof (who)))
            SAY (c, CHECK_WARNING, "%lld is taken by %s: fine if that is an "
                 "aggregator; else " START_ELSEWHERE, (long long)port, who);
        else
            SAY (c, CHECK_WARNING, "%lld cannot be used (%s): " START_ELSEWHERE,
                 (long long)port, strerror (saved));
    }
    if (fd >= 0)
        (void)close (fd);
    return c;
}

/* ---- the machine ---- */

struct check check_clock (void)
{
    struct check c = { .name = "clock" };
    time_t now = (time_t)(clock_wall_ns () / NS_PER_S);
    char text[32];
    struct tm tm;

    (void)strftime (text, sizeof (text), "%Y-%m-%d %H:%M:%S",
                    gmtime_r (&now, &tm));
    SAY (c, now < DATE_MIN ? CHECK_PROBLEM : CHECK_OK, "it is %s UTC%s", text,
         c.state ? ", which is impossible: set the clock" : "");
    return c;
}

static struct check check_limit (const char *name, __rlimit_resource_t which,
                                 rlim_t least, const char *unit,
                                 const char *advice)
{
    struct check c = { .name = name };
    struct rlimit r;

    if (getrlimit (which, &r) < 0)
        SAY (c, CHECK_WARNING, "is not known: %s", strerror (errno));
    else if (r.rlim_cur == RLIM_INFINITY)
        SAY (c, CHECK_OK, "unlimited");
    else
        SAY (c, r.rlim_cur < least ? CHECK_WARNING : CHECK_OK, "%llu%s%s%s",
             (unsigned long long)r.rlim_cur, unit, c.state ? ": " : "",
             c.state ? advice : "");
    return c;
}

struct check check_files (void)
{
    return check_limit ("open-files", RLIMIT_NOFILE, FILES_MIN, "",
                        "an aggregator of many agents needs more, see "
                        "ulimit -n");
}

struct check check_memlock (void)
{
    return check_limit ("memlock", RLIMIT_MEMLOCK, MEMLOCK_MIN, " bytes",
                        "too little for jobs that use RDMA, see ulimit -l");
}

struct check check_core (void)
{
    struct check c = { .name = "core-files" };
    struct rlimit r = { .rlim_cur = 0 };

    (void)getrlimit (RLIMIT_CORE, &r);
    SAY (c, CHECK_OK,
         r.rlim_cur == 0 ? "none are written; with ulimit -c unlimited a "
                           "crash would leave one" : "are written");
    return c;
}

struct check check_idle (void)
{
    struct check c = { .name = "idle-class" };
    int rc = bulk_probe_idle ();

    if (rc < 0)
        SAY (c, CHECK_WARNING, "SCHED_IDLE cannot be entered and left (%s): "
             "agents stay at nice 19; allow RLIMIT_NICE 1 (LimitNICE=1) to "
             "them", strerror (-rc));
    else
        SAY (c, CHECK_OK, "SCHED_IDLE can be entered and left");
    return c;
}

struct check check_parent_death (void)
{
    struct check c = { .name = "parent-death" };
    int old = 0;

    if (prctl (PR_GET_PDEATHSIG, &old) < 0 ||
        prctl (PR_SET_PDEATHSIG, SIGKILL) < 0) {
        SAY (c, CHECK_PROBLEM, "PR_SET_PDEATHSIG does not work (%s): a COMMAND "
             "may outlive its wrapper", strerror (errno));
    } else {
        (void)prctl (PR_SET_PDEATHSIG, old);
        SAY (c, CHECK_OK, "PR_SET_PDEATHSIG works");
    }
    return c;
}

struct check check_shm (void)
{
    struct check c = { .name = "shared-memory" };
    struct err err = { "" };
    struct space s = { .total_bytes = 0 };
    char text[16];

    if (access ("/dev/shm", W_OK) < 0 || space_of ("/dev/shm", &s, &err) < 0) {
        SAY (c, CHECK_WARNING, "/dev/shm cannot be written: MPI and data "
             "loaders need it");
        return c;
    }
    units_bytes_text (s.free_bytes, text);
    SAY (c, s.free_bytes < SHM_MIN ? CHECK_WARNING : CHECK_OK,
         "/dev/shm has %s free%s", text,
         c.state ? ": too little for MPI on a node of many ranks (docker run "
                   "--shm-size)" : "");
    return c;
}

/* ---- versions ---- */

struct check check_libraries (void)
{
    struct check c = { .name = "libraries" };
    char zmq[16];
    bool curve = net_library (zmq);

    SAY (c, curve ? CHECK_OK : CHECK_PROBLEM, "SQLite %s, LZ4 %s, ZeroMQ %s%s",
         db_version (), pack_version (), zmq,
         curve ? " with CURVE" : " without CURVE: nothing beyond loopback can "
                                 "be encrypted; install one that was built "
                                 "with libsodium");
    return c;
}

/* "4.1.4" of a text like "Open MPI v4.1.4, package: ..." into 'out'. */
static bool find_version (const char *text, char out[32])
{
    const char *p = strpbrk (text, "0123456789");
    size_t n = p ? strspn (p, "0123456789.") : 0;

    (void)snprintf (out, 32, "%.*s", (int)(n < 31 ? n : 31), p ? p : "");
    return n > 2;
}

static bool library_version (char out[32])
{
    void *lib = dlopen ("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL);
    int (*get) (char *, int *) = NULL;
    char text[512] = "";
    int n = 0;

    if (lib)
        *(void **)&get = dlsym (lib, "MPI_Get_library_version");
    if (get)
        (void)get (text, &n);
    return find_version (text, out);    // it stays loaded: it need not unload
}

struct check check_mpi (void)
{
    struct check c = { .name = "mpi" };
    char line[256] = "", library[32], launcher[32];
    FILE *f = popen ("mpirun --version 2>/dev/null", "re");

    if (f && !fgets (line, sizeof (line), f))
        line[0] = '\0';
    if (f)
        (void)pclose (f);
    if (!library_version (library))
        SAY (c, CHECK_WARNING, "Open MPI is not found: rollcall run works "
             "without a launcher only");
    else if (!find_version (line, launcher))
        SAY (c, CHECK_WARNING, "Open MPI is %s, mpirun is not in PATH",
             library);
    else if (strcmp (library, launcher) != 0)
        SAY (c, CHECK_PROBLEM, "mpirun is %s, but libmpi is %s: jobs will hang "
             "or run as N jobs of one rank; use one installation", launcher,
             library);
    else
        SAY (c, CHECK_OK, "Open MPI %s, mpirun the same", library);
    return c;
}
