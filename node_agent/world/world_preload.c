/* node_agent/world/world_preload.c - inside COMMAND, find its rank by MPI
 *
 * librollcall_world.so is loaded into COMMAND and into all that it starts
 * (LD_PRELOAD). These can be any programs, so it needs only libc, and does
 * nothing but read some variables until MPI_Init is called.  Then it checks
 * whether MPI has found the ranks that the launcher has started.
 * world/process_reports.h describes its input and output.
 *
 * mpi.h is not included, since only COMMAND decides which MPI is used.  No
 * function of MPI is called by name: if a language loads libmpi itself
 * (RTLD_LOCAL), neither RTLD_NEXT nor a weak symbol finds it.
 */
#include "world/process_reports.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_MAX_BYTES 1024             // of a processor; 128 in MPICH
#define VERSION_MAX_BYTES 16384         // of a library; 8192 in MPICH
#define NUMBER_MAX INT32_MAX            // of a rank: MPI uses int

#define PUBLIC __attribute__ ((visibility ("default")))

/* ---- variables ---- */

/* getenv and setenv are not used: shells define their own, which are not ready
 * before main.
 */
static char **find_variable (const char *name)
{
    size_t n = strlen (name);
    char **e = environ;

    while (e && *e && (strncmp (*e, name, n) != 0 || (*e)[n] != '='))
        e++;
    return e && *e ? e : NULL;
}

static const char *variable (const char *name)
{
    char **at = find_variable (name);

    return at ? *at + strlen (name) + 1 : NULL;
}

/* Change the value of an existing variable. Its memory is never freed. */
static void change_variable (const char *name, const char *value)
{
    char **at = find_variable (name), *text;

    if (at && asprintf (&text, "%s=%s", name, value) > 0)
        *at = text;
}

/* The content of PRELOAD_VARIABLE. */
struct given {
    char mode[8];
    long rank, size;            // of the wrapper
    long env_rank, env_size;    // RANK and WORLD_SIZE of COMMAND
    const char *dir;            // points into the environment
};

static bool get_given (struct given *g)
{
    const char *text = variable (PRELOAD_VARIABLE);
    int at = 0;

    if (!text || sscanf (text, "%7s %ld %ld %ld %ld %n", g->mode, &g->rank,
                         &g->size, &g->env_rank, &g->env_size, &at) != 5)
        return false;
    g->dir = text + at;
    return at > 0 && g->dir[0] == '/';
}

/* The number in a variable; -1: none. */
static long preload_number (const char *name)
{
    const char *text = variable (name);
    char *end;
    long n;

    if (!text || *text < '0' || *text > '9')
        return -1;
    n = strtol (text, &end, 10);
    return *end == '\0' && n <= NUMBER_MAX ? n : -1;
}

/* ---- telling ---- */

/* Write a file in the run's directory unless it exists.  True if it did not
 * exist.  Reports are only a help, so failures are ignored.
 */
static bool preload_tell (const struct given *g, const char *name,
                          const char *text)
{
    char dir[PATH_MAX], path[PATH_MAX], draft[PATH_MAX];
    struct timespec now = { 0, 0 };
    bool first = false;
    int fd;

    (void)clock_gettime (CLOCK_MONOTONIC, &now);
    if (snprintf (dir, sizeof (dir), "%s/" PRELOAD_DIR, g->dir) >= PATH_MAX ||
        snprintf (path, sizeof (path), "%s/%s", dir, name) >= PATH_MAX ||
        snprintf (draft, sizeof (draft), "%s/.%ld.%ld%09ld", dir,
                  (long)getpid (), (long)now.tv_sec, now.tv_nsec) >= PATH_MAX ||
        access (path, F_OK) == 0)
        return false;
    (void)mkdir (dir, 0700);
    if ((fd = open (draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    0600)) < 0)
        return false;
    first = write (fd, text, strlen (text)) == (ssize_t)strlen (text) &&
            link (draft, path) == 0;
    (void)close (fd);
    (void)unlink (draft);
    return first;
}

__attribute__ ((format (printf, 1, 2)))
static void preload_say (const char *format, ...)
{
    char text[1024];
    va_list args;
    int n;

    va_start (args, format);
    n = vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    if (n > 0 && write (STDERR_FILENO, text, (size_t)n < sizeof (text)
                                                 ? (size_t)n
                                                 : sizeof (text) - 1) < 0)
        return;
}

/* ---- before main: a process that COMMAND has given a rank ---- */

/* The variables of launchers. */
static const struct {
    const char *rank, *size, *local_rank;
} pairs[] = {
    { "RANK", "WORLD_SIZE", "LOCAL_RANK" },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK" },
    { "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID" },
};

static void set_number (const char *name, long value)
{
    char text[24];

    (void)snprintf (text, sizeof (text), "%ld", value);
    change_variable (name, text);
}

/* Give this rank its own directory beside that of the wrapper, so that its
 * captures are told apart even if they do not identify themselves.
 */
static void set_directories (const struct given *g, long rank)
{
    const char *old = variable ("ROLLCALL_CAPTURE_DIR");
    const char *work = variable ("ASCEND_WORK_PATH");
    char dir[PATH_MAX], mine[PATH_MAX];
    bool same;

    if (snprintf (dir, sizeof (dir), "%s/captures/rank%ld", g->dir,
                  g->rank) >= PATH_MAX ||
        snprintf (mine, sizeof (mine), "%s/captures/rank%ld", g->dir,
                  rank) >= PATH_MAX ||
        !old || strcmp (old, dir) != 0 ||
        (mkdir (mine, 0777) < 0 && errno != EEXIST))
        return;
    same = work && strcmp (work, old) == 0;
    change_variable ("ROLLCALL_CAPTURE_DIR", mine);
    if (same)
        change_variable ("ASCEND_WORK_PATH", mine);
}

static void was_told (const struct given *g, size_t pair, long rank, long size)
{
    long local = preload_number (pairs[pair].local_rank);
    char name[80], text[160];

    (void)snprintf (name, sizeof (name), "said-%ld-%ld", rank, size);
    (void)snprintf (text, sizeof (text), "parent %ld\nlocal_rank %ld\npid "
                    "%ld\n", g->rank, local, (long)getpid ());
    (void)preload_tell (g, name, text);
    set_directories (g, rank);
    if (pair > 0 && preload_number ("RANK") == g->env_rank &&
        g->env_rank == g->rank && g->env_size == g->size) {
        // these are from the wrapper, not from whatever started this process
        set_number ("RANK", rank);
        set_number ("WORLD_SIZE", size);
        if (local >= 0)
            set_number ("LOCAL_RANK", local);
    }
}

static __attribute__ ((constructor)) void preload_begin (void)
{
    struct given g;

    if (!get_given (&g))
        return;
    for (size_t i = 0; i < sizeof (pairs) / sizeof (pairs[0]); i++) {
        long rank = preload_number (pairs[i].rank), size =
            preload_number (pairs[i].size);
        bool known = i == 0 ? rank == g.env_rank && size == g.env_size
                            : rank == g.rank && size == g.size;

        // the launcher must make a larger world; else it is a program that
        // helps one rank
        if (rank < 0 || size <= rank || size <= g.size || known)
            continue;
        was_told (&g, i, rank, size);
        return;
    }
}

/* ---- when MPI_Init has returned ---- */

typedef int rank_function (uintptr_t comm, int *ret);
typedef int name_function (char *name, int *size);
typedef int parent_function (void *comm);

#define WORLD_OF_MPICH 0x44000000       // values of its binary interface
#define NULL_OF_MPICH 0x04000000

/* The parts of an MPI library that are needed here. */
struct mpi {
    void *library;
    uintptr_t world, null;      // communicators
    rank_function *rank, *size;
    name_function *name, *version;
    parent_function *parent;
};

/* Look up a function. ISO C cannot convert its address. */
static void preload_take (void *library, const char *name, void *ret)
{
    void *at = dlsym (library, name);

    memcpy (ret, &at, sizeof (at));
}

/* Find MPI_COMM_WORLD. In Open MPI it is the address of an object; a program
 * may have its own copy, so the library is asked for its own by the number that
 * it has in Fortran.  In MPICH, and in libraries with its binary interface, it
 * is a number.  Others are not supported.
 */
static bool find_world (struct mpi *m)
{
    static const char *const alike[] = { "MPICH", "Intel(R) MPI", "MVAPICH" };
    static char version[VERSION_MAX_BYTES];
    uintptr_t (*convert) (int number) = NULL;
    int size = 0;

    if (dlsym (m->library, "ompi_mpi_comm_world")) {
        preload_take (m->library, "MPI_Comm_f2c", &convert);
        if (convert) {
            m->world = convert (0);
            m->null = convert (2);
        }
        return convert;
    }
    if (!m->version || m->version (version, &size) != 0)
        return false;
    for (size_t i = 0; i < sizeof (alike) / sizeof (alike[0]); i++) {
        if (strstr (version, alike[i])) {
            m->world = WORLD_OF_MPICH;
            m->null = NULL_OF_MPICH;
            return true;
        }
    }
    return false;
}

/* Open the library that has 'init', or a library that it needs. */
static bool find_mpi (const void *init, struct mpi *m)
{
    Dl_info in;

    if (!dladdr (init, &in) || !in.dli_fname ||
        !(m->library = dlopen (in.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
        return false;
    preload_take (m->library, "MPI_Comm_rank", &m->rank);
    preload_take (m->library, "MPI_Comm_size", &m->size);
    preload_take (m->library, "MPI_Get_processor_name", &m->name);
    preload_take (m->library, "MPI_Get_library_version", &m->version);
    preload_take (m->library, "MPI_Comm_get_parent", &m->parent);
    return m->rank && m->size && m->name && m->parent && find_world (m);
}

/* Whether another process has started this one over MPI: then its world is its
 * own, and may have 1 rank.
 */
static bool was_spawned (const struct mpi *m)
{
    union {
        uintptr_t address;
        int number;
    } parent = { .address = 0 };

    if (m->parent (&parent) != 0)
        return true;
    return m->null == NULL_OF_MPICH ? parent.number != NULL_OF_MPICH
                                    : parent.address != m->null;
}

/* Whether a launcher between the wrapper and this process has set a world of 1.
 */
static bool is_meant (void)
{
    return preload_number ("OMPI_COMM_WORLD_SIZE") == 1 ||
 preload_number ("PMI_SIZE") == 1;
}

static void preload_misfit (const struct given *g)
{
    bool warns = strcmp (g->mode, PRELOAD_WARN) == 0;
    char name[PATH_MAX];

    // once on each host; if that cannot be recorded, each process prints it
    (void)snprintf (name, sizeof (name), "%s/" PRELOAD_DIR "/misfit", g->dir);
    if (!preload_tell (g, "misfit", "") && access (name, F_OK) == 0) {
        if (warns)
            return;
        _exit (PRELOAD_STATUS);
    }
    if (warns)
        preload_say (
            "rollcall run: COMMAND calls MPI_Init and finds a world of 1, "
            "though the launcher started %ld ranks: leave out --child "
            "plain\n",
            g->size);
    else if (strcmp (g->mode, PRELOAD_MET) == 0)
        preload_say (
            "rollcall run: COMMAND calls MPI_Init and finds a world of 1, "
            "though the launcher started %ld ranks, because their hosts "
            "share no OUT and have met over MPI themselves: use a shared "
            "OUT, or rollcall run --launcher \"mpirun ...\" -o OUT -- "
            "COMMAND\n",
            g->size);
    else
        preload_say (
            "rollcall run: COMMAND calls MPI_Init and finds a world of 1, "
            "though the launcher started %ld ranks: its MPI library does "
            "not fit this launcher, so use that library's own mpirun (under "
            "Slurm: srun --mpi=pmix), or say --child plain if that is "
            "meant\n",
            g->size);
    if (!warns)
        _exit (PRELOAD_STATUS);
}

static void confirm (const struct given *g, const struct mpi *m, int rank,
                     int size)
{
    char host[NAME_MAX_BYTES] = "", name[80], text[NAME_MAX_BYTES + 160];
    // the variable of the launcher of this library; another launcher may be
    // around that
    long from = preload_number (
        m->null == NULL_OF_MPICH ? "PMI_RANK" : "OMPI_COMM_WORLD_RANK");
    int n = 0;

    if (m->name (host, &n) != 0)
        host[0] = '\0';
    for (char *c = host; *c; c++)
        *c = *c > ' ' && *c < 127 ? *c : '?';
    if (from < 0)
        from = g->rank;
    (void)snprintf (name, sizeof (name), "mpi-%ld-%d-%d", from, rank, size);
    (void)snprintf (text, sizeof (text), "parent %ld\npid %ld\nhost %s\n",
                    g->rank, (long)getpid (), host);
    (void)preload_tell (g, name, text);
}

/* Called when MPI_Init, found as 'init', has returned. */
static void began (const void *init)
{
    static bool done;
    struct mpi m = { .library = NULL };
    struct given g;
    int rank, size;

    if (done || !get_given (&g) || !find_mpi (init, &m) ||
        m.rank (m.world, &rank) != 0 || m.size (m.world, &size) != 0)
        return;
    done = true;
    if (was_spawned (&m))       // its world is beside that of the wrappers
        return;
    if (size > 1)
        confirm (&g, &m, rank, size);
    else if (g.size > 1 && strcmp (g.mode, PRELOAD_LOOK) != 0 && !is_meant ())
        preload_misfit (&g);
}

/* ---- the functions that COMMAND calls, and those that it meant ---- */

struct wanted {
    const char *name;
    void *self, *found;
};

static void look_into (struct wanted *w, const char *path)
{
    void *library = dlopen (path, RTLD_LAZY | RTLD_NOLOAD);
    void *at = library ? dlsym (library, w->name) : NULL;

    if (at && at != w->self)
        w->found = at;
}

static int look_at (struct dl_phdr_info *info, size_t size, void *arg)
{
    struct wanted *w = arg;
    const char *slash = strrchr (info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;

    (void)size;
    if (strncmp (base, "libmpi", 6) == 0)
        look_into (w, info->dlpi_name);
    return w->found != NULL;
}

/* Find what 'caller' would have called without this library: first what follows
 * in the global scope (possibly a preloaded tool), then what the caller's own
 * library needs, then any libmpi.
 */
static void *find_meant (const char *name, void *self, const void *caller)
{
    struct wanted w = { .name = name, .self = self,
                        .found = dlsym (RTLD_NEXT, name) };
    Dl_info in;

    if (!w.found && dladdr (caller, &in) && in.dli_fname)
        look_into (&w, in.dli_fname);
    if (!w.found)
        (void)dl_iterate_phdr (look_at, &w);
    return w.found;
}

/* There are no headers for MPI's functions here. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define CALLER __builtin_extract_return_addr (__builtin_return_address (0))

static void *must_find (const char *name, void *self, const void *caller)
{
    void *at = find_meant (name, self, caller);

    if (!at) {
        preload_say ("rollcall run: %s is called, and is in no library that is "
                     "loaded\n", name);
        _exit (127);
    }
    return at;
}

static void *address_of (void (*function) (void))
{
    void *at;

    memcpy (&at, &function, sizeof (at));
    return at;
}

#define SELF(name) address_of ((void (*) (void))(name))

#define C_INIT(name, params, args)                                          \
    PUBLIC int name params                                                  \
    {                                                                       \
        void *at = must_find (#name, SELF (name), CALLER);                  \
        int (*meant) params, rc;                                            \
                                                                            \
        memcpy (&meant, &at, sizeof (at));                                  \
        if ((rc = meant args) == 0)                                         \
            began (at);                                                     \
        return rc;                                                          \
    }

#define FORTRAN_INIT(name, params, args)                                    \
    PUBLIC void name params                                                 \
    {                                                                       \
        void *at = must_find (#name, SELF (name), CALLER);                  \
        void (*meant) params;                                               \
                                                                            \
        memcpy (&meant, &at, sizeof (at));                                  \
        meant args;                                                         \
        if (!error || *error == 0)                                          \
            began (at);                                                     \
    }

#define ONE (int *error), (error)
#define THREE (int *required, int *provided, int *error),                   \
              (required, provided, error)
#define FORTRAN(name, ...) FORTRAN_INIT (name, __VA_ARGS__)

C_INIT (MPI_Init, (int *argc, char ***argv), (argc, argv))
C_INIT (MPI_Init_thread,
        (int *argc, char ***argv, int required, int *provided),
        (argc, argv, required, provided))

// mpif.h and "use mpi", with the names that compilers make
FORTRAN (mpi_init, ONE)
FORTRAN (mpi_init_, ONE)
FORTRAN (mpi_init__, ONE)
FORTRAN (MPI_INIT, ONE)
FORTRAN (mpi_init_thread, THREE)
FORTRAN (mpi_init_thread_, THREE)
FORTRAN (mpi_init_thread__, THREE)
FORTRAN (MPI_INIT_THREAD, THREE)
// "use mpi_f08" of Open MPI, and of MPICH
FORTRAN (mpi_init_f08_, ONE)
FORTRAN (mpi_init_thread_f08_, THREE)
FORTRAN (mpi_init_f08ts_, ONE)
FORTRAN (mpi_init_thread_f08ts_, THREE)
