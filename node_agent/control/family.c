/* node_agent/control/family.c - the processes of this run on this host */
#include "control/family.h"

#include "base/clock.h"
#include "base/status.h"
#include "control/orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VARIABLE "ROLLCALL_JOB"
// a capture is found some time after its writer has ended
#define REMEMBER_NS (600 * NS_PER_S)
// variables change with an exec, which comes soon
#define YOUNG_NS (2 * NS_PER_S)
// between two looks, at most; and what clocks of files lag behind
#define GAP_NS (2 * NS_PER_S)

enum kin { KIN_NONE, KIN_OURS, KIN_OTHERS };

struct process {
    pid_t pid, parent;
    int64_t start;              // ticks since boot
    pid_t inner;                // its pid in its own namespace
    bool nested;                // that is another one than /proc's
    enum kin variable, kin;     // by its environment; and by the tree
    bool zombie;                // it has ended, and has no variables any more
    int64_t began_ns, seen_ns;  // since 1970
    unsigned round;             // of the last look that saw it
    struct process *next;
};

struct wrapper {
    pid_t pid;
    int64_t start;
};

struct family {
    const char *job;
    struct wrapper *wrappers;
    size_t nwrappers;
    struct process *living;     // whoever it is
    void *by_pid;               // the same, for tsearch(3)
    struct process *gone;       // of this run
    unsigned round;
};

static int by_pid (const void *a, const void *b)
{
    const struct process *x = a, *y = b;

    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

struct family *family_create (const char *job)
{
    struct family *f = calloc (1, sizeof (*f));

    if (f)
        f->job = job;
    return f;
}

static void free_all (struct process *p)
{
    while (p) {
        struct process *next = p->next;

        free (p);
        p = next;
    }
}

void family_destroy (struct family *f)
{
    if (!f)
        return;
    for (struct process *p = f->living; p; p = p->next)
        (void)tdelete (p, &f->by_pid, by_pid);
    free_all (f->living);
    free_all (f->gone);
    free (f->wrappers);
    free (f);
}

void family_add_wrapper (struct family *f, pid_t pid)
{
    struct wrapper *more = realloc (f->wrappers,
                                    (f->nwrappers + 1) * sizeof (*more));

    if (!more)
        return;
    f->wrappers = more;
    more[f->nwrappers++] = (struct wrapper){ pid, status_start_time (pid) };
}

static bool is_wrapper (const struct family *f, const struct process *p)
{
    for (size_t i = 0; i < f->nwrappers; i++) {
        if (f->wrappers[i].pid == p->pid && f->wrappers[i].start == p->start)
            return true;
    }
    return false;
}

/* ---- one process ---- */

/* State, parent and start time; false if it is gone. */
static bool read_stat (int proc, const char *pid, struct process *p)
{
    char path[64], text[1024], state;
    const char *at;
    long parent;
    int fd;
    ssize_t n;

    (void)snprintf (path, sizeof (path), "%s/stat", pid);
    if ((fd = openat (proc, path, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read (fd, text, sizeof (text) - 1);
    (void)close (fd);
    text[n > 0 ? n : 0] = '\0';
    // the name is in parentheses and may hold anything
    if (!(at = strrchr (text, ')')) ||
        sscanf (at + 1, " %c %ld", &state, &parent) != 2)
        return false;
    for (int field = 2; field < 22 && at; field++)
        at = strchr (at + 1, ' ');
    p->pid = (pid_t)strtol (pid, NULL, 10);
    p->parent = (pid_t)parent;
    p->zombie = state == 'Z' || state == 'X';
    p->start = at ? strtoll (at, NULL, 10) : 0;
    return at != NULL;
}

/* The pids of a process, from /proc's namespace to its own. */
static void read_namespace (int proc, const char *pid, struct process *p)
{
    char path[64], text[4096], *at, *end;
    int fd;
    ssize_t n;

    p->inner = p->pid;
    (void)snprintf (path, sizeof (path), "%s/status", pid);
    if ((fd = openat (proc, path, O_RDONLY | O_CLOEXEC)) < 0)
        return;
    n = read (fd, text, sizeof (text) - 1);
    (void)close (fd);
    text[n > 0 ? n : 0] = '\0';
    if (!(at = strstr (text, "\nNSpid:")))
        return;
    at += strlen ("\nNSpid:");
    for (int i = 0; *at && *at != '\n'; i++, at = end) {
        long v = strtol (at, &end, 10);

        if (end == at)
            break;
        p->inner = (pid_t)v;
        p->nested = i > 0;
    }
}

static enum kin kin_by_variable (const struct family *f, pid_t pid)
{
    int same = orphans_compare (pid, VARIABLE, f->job);

    return same > 0 ? KIN_OURS : same == 0 ? KIN_OTHERS : KIN_NONE;
}

static int64_t ns_of (clockid_t clock)
{
    struct timespec t;

    return clock_gettime (clock, &t) == 0 ? t.tv_sec * NS_PER_S + t.tv_nsec
                                          : 0;
}

static int64_t wall_of_ticks (int64_t ticks, int64_t wall_ns)
{
    int64_t hz = sysconf (_SC_CLK_TCK);

    return wall_ns - ns_of (CLOCK_BOOTTIME) +
           (hz > 0 ? ticks * (NS_PER_S / hz) : 0);
}

static struct process *find (const struct family *f, pid_t pid)
{
    struct process key = { .pid = pid };
    struct process **at = tfind (&key, &f->by_pid, by_pid);

    return at ? *at : NULL;
}

static struct process *add (struct family *f, int proc, const char *name,
                            const struct process *what)
{
    struct process *p = malloc (sizeof (*p));

    if (!p)
        return NULL;
    *p = *what;
    read_namespace (proc, name, p);
    if (!tsearch (p, &f->by_pid, by_pid)) {
        free (p);
        return NULL;
    }
    p->next = f->living;
    f->living = p;
    return p;
}

static void look_at (struct family *f, int proc, const char *name,
                     int64_t wall_ns)
{
    struct process now = { .round = f->round }, *p;

    if (!read_stat (proc, name, &now) || now.zombie)
        return;
    p = find (f, now.pid);
    if (p && p->start != now.start)
        return;                 // the number of one that has ended: next time
    if (!p) {
        now.began_ns = wall_of_ticks (now.start, wall_ns);
        if (!(p = add (f, proc, name, &now)))
            return;
    }
    if (wall_ns - p->began_ns < YOUNG_NS || p->seen_ns == 0)
        p->variable = kin_by_variable (f, p->pid);
    p->round = f->round;
    p->parent = now.parent;
    p->seen_ns = wall_ns;
}

/* ---- the tree ---- */

static enum kin kin_of (const struct family *f, const struct process *p)
{
    const struct process *parent;

    if (p->pid == getpid ())
        return KIN_OTHERS;      // the agent, and what it starts
    if (p->variable != KIN_NONE)
        return p->variable;
    if (p->kin != KIN_NONE)     // of the tree that it was in
        return p->kin;
    if (!(parent = find (f, p->parent)))
        return KIN_NONE;
    return is_wrapper (f, parent) ? KIN_OURS : parent->kin;
}

/* Numbers begin again, so that children may come before their parents. */
static void follow_tree (struct family *f)
{
    bool changed;

    do {
        changed = false;
        for (struct process *p = f->living; p; p = p->next) {
            enum kin kin = kin_of (f, p);

            changed = changed || kin != p->kin;
            p->kin = kin;
        }
    } while (changed);
}

/* Those that have ended: ours are remembered. */
static void retire (struct family *f)
{
    struct process **at = &f->living, *p;

    while ((p = *at)) {
        if (p->round == f->round) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        (void)tdelete (p, &f->by_pid, by_pid);
        if (p->kin == KIN_OURS) {
            p->next = f->gone;
            f->gone = p;
        } else {
            free (p);
        }
    }
}

static void forget_old (struct family *f, int64_t wall_ns)
{
    struct process **at = &f->gone, *p;

    while ((p = *at)) {
        if (wall_ns - p->seen_ns <= REMEMBER_NS) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free (p);
    }
}

void family_look (struct family *f)
{
    int64_t wall_ns = clock_wall_ns ();
    DIR *dir = opendir ("/proc");
    struct dirent *e;

    if (!dir)
        return;
    f->round++;
    while ((e = readdir (dir))) {
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            look_at (f, dirfd (dir), e->d_name, wall_ns);
    }
    (void)closedir (dir);
    retire (f);
    follow_tree (f);
    forget_old (f, wall_ns);
}

/* ---- what they did ---- */

static enum family_says had (const struct process *p, pid_t pid,
                             int64_t born_ns)
{
    enum family_says says = FAMILY_NO;

    for (; p && says != FAMILY_SURE; p = p->next) {
        if (p->kin == KIN_OURS && p->inner == pid &&
            p->began_ns <= born_ns + GAP_NS && p->seen_ns + GAP_NS >= born_ns)
            says = p->nested ? FAMILY_MAYBE : FAMILY_SURE;
    }
    return says;
}

enum family_says family_had (const struct family *f, pid_t pid,
                             int64_t born_ns)
{
    enum family_says now = had (f->living, pid, born_ns);
    enum family_says before = had (f->gone, pid, born_ns);

    return now > before ? now : before;
}

static bool is_below (const char *path, const char *dir)
{
    size_t n = strlen (dir);

    return strncmp (path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The mode of the link says how the file was opened. */
static bool has_open (int fds, const char *name, const char *path)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t n;

    if (name[0] == '.' || fstatat (fds, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        !(st.st_mode & S_IWUSR))
        return false;
    if ((n = readlinkat (fds, name, target, sizeof (target) - 1)) < 0)
        return false;
    target[n] = '\0';
    return is_below (target, path);
}

static bool writes (pid_t pid, const char *path)
{
    char name[64];
    struct dirent *e;
    bool found = false;
    DIR *dir;

    (void)snprintf (name, sizeof (name), "/proc/%ld/fd", (long)pid);
    if (!(dir = opendir (name)))
        return false;
    while (!found && (e = readdir (dir)))
        found = has_open (dirfd (dir), e->d_name, path);
    (void)closedir (dir);
    return found;
}

bool family_writes (const struct family *f, const char *path)
{
    for (const struct process *p = f->living; p; p = p->next) {
        if (p->kin == KIN_OURS && writes (p->pid, path))
            return true;
    }
    return false;
}

size_t family_living (const struct family *f)
{
    size_t n = 0;

    for (const struct process *p = f->living; p; p = p->next)
        n += p->kin == KIN_OURS && !is_wrapper (f, p);
    return n;
}
