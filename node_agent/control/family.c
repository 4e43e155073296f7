/* node_agent/control/family.c - the processes of this run on this host */
#include "control/family.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "control/cgroup.h"
#include "control/orphans.h"
#include "store/fileio.h"

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
// a capture may be found this long after its writer has ended
#define REMEMBER_NS (600 * NS_PER_S)
// servers in a control group end, too, and are fewer
#define REMEMBER_GROUP_NS (30 * NS_PER_S)
// an exec changes the variables, and comes soon
#define YOUNG_NS (2 * NS_PER_S)
// at most between two scans, including the delay of the clocks of files
#define GAP_NS (2 * NS_PER_S)

enum kin { KIN_NONE, KIN_OURS, KIN_OTHERS };

struct process {
    pid_t pid, parent;
    int64_t start;              // ticks since boot
    pid_t inner;                // its pid in its own namespace
    bool nested;                // and that differs from /proc's
    enum kin variable, kin;     // by its environment, and by the tree
    bool grouped;               // it is in a wrapper's control group
    bool zombie;                // it has ended, so it has no variables any more
    int64_t began_ns, seen_ns;  // since 1970
    unsigned round;             // of the last scan that saw it
    struct process *next;
};

struct wrapper {
    pid_t pid;
    int64_t start;
    char *cgroup;               // of /proc/PID/cgroup, or NULL
};

struct family {
    const char *job;
    struct wrapper *wrappers;
    size_t nwrappers;
    struct process *living;     // of this run or not
    void *by_pid;               // the same, for tsearch(3)
    struct process *gone;       // ended: of this run, or in its control groups
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
    for (size_t i = 0; i < f->nwrappers; i++)
        free (f->wrappers[i].cgroup);
    free (f->wrappers);
    free (f);
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

/* Read state, parent and start time from "stat" below 'dir'.  False: the
 * process is gone.
 */
static bool read_stat (int dir, const char *path, struct process *p)
{
    char text[1024], state;
    const char *at;
    long parent;
    int fd;
    ssize_t n;

    if ((fd = openat (dir, path, O_RDONLY | O_CLOEXEC)) < 0)
        return false;
    n = read (fd, text, sizeof (text) - 1);
    (void)close (fd);
    text[n > 0 ? n : 0] = '\0';
    // the name is in parentheses, and may contain any byte
    if (!(at = strrchr (text, ')')) ||
        sscanf (at + 1, " %c %ld", &state, &parent) != 2)
        return false;
    for (int field = 2; field < 22 && at; field++)
        at = strchr (at + 1, ' ');
    p->pid = (pid_t)strtol (text, NULL, 10);
    p->parent = (pid_t)parent;
    p->zombie = state == 'Z' || state == 'X';
    p->start = at ? strtoll (at, NULL, 10) : 0;
    return at != NULL;
}

/* Open its directory in /proc, or -1.  Like a pidfd, the descriptor stays with
 * this process: after its end nothing is read of another process with its pid.
 */
static int open_process (pid_t pid, struct process *now)
{
    char path[64];
    int dir;

    PRINT (path, "/proc/%ld", (long)pid);
    dir = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && !read_stat (dir, "stat", now)) {
        (void)close (dir);
        dir = -1;
    }
    return dir;
}

/* Open it again, if it is still the process that began at that time. */
static int reopen_process (const struct process *p)
{
    struct process now;
    int dir = open_process (p->pid, &now);

    if (dir >= 0 && now.start != p->start) {
        (void)close (dir);
        dir = -1;
    }
    return dir;
}

void family_add_wrapper (struct family *f, pid_t pid)
{
    struct wrapper *w = vec_add (&f->wrappers, &f->nwrappers, sizeof (*w));
    struct process now = { .start = 0 };
    int dir;

    if (!w)
        return;
    dir = open_process (pid, &now);
    *w = (struct wrapper){ pid, now.start, dir < 0 ? NULL : cgroup_read (dir) };
    if (dir >= 0)
        (void)close (dir);
}

/* Read the pids of a process, from /proc's namespace to its own. */
static void read_namespace (int dir, struct process *p)
{
    char text[4096], *at, *end;
    int fd;
    ssize_t n;

    p->inner = p->pid;
    if ((fd = openat (dir, "status", O_RDONLY | O_CLOEXEC)) < 0)
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

static enum kin kin_by_variable (const struct family *f, int dir)
{
    int same = orphans_compare (dir, VARIABLE, f->job);

    return same > 0 ? KIN_OURS : same == 0 ? KIN_OTHERS : KIN_NONE;
}

static bool is_grouped (const struct family *f, int dir)
{
    char *cgroup = cgroup_read (dir);
    size_t i = 0;

    while (i < f->nwrappers &&
           !cgroup_is_within (cgroup, f->wrappers[i].cgroup))
        i++;
    free (cgroup);
    return i < f->nwrappers;
}

/* Read what an exec may change. */
static void inspect (const struct family *f, struct process *p)
{
    int dir = reopen_process (p);

    if (dir < 0)
        return;
    if (p->seen_ns == 0)
        read_namespace (dir, p);
    p->variable = kin_by_variable (f, dir);
    p->grouped = is_grouped (f, dir);
    (void)close (dir);
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

static struct process *family_find (const struct family *f, pid_t pid)
{
    struct process key = { .pid = pid };
    struct process **at = tfind (&key, &f->by_pid, by_pid);

    return at ? *at : NULL;
}

static struct process *family_add (struct family *f, const struct process *what)
{
    struct process *p = malloc (sizeof (*p));

    if (!p)
        return NULL;
    *p = *what;
    p->inner = p->pid;
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
    char path[64];

    PRINT (path, "%.32s/stat", name);
    if (!read_stat (proc, path, &now) || now.zombie)
        return;
    p = family_find (f, now.pid);
    if (p && p->start != now.start)
        return;                 // the pid of a process that has ended: next
                                // time
    if (!p) {
        now.began_ns = wall_of_ticks (now.start, wall_ns);
        if (!(p = family_add (f, &now)))
            return;
    }
    if (wall_ns - p->began_ns < YOUNG_NS || p->seen_ns == 0)
        inspect (f, p);
    p->round = f->round;
    p->parent = now.parent;
    p->seen_ns = wall_ns;
}

/* ---- the tree ---- */

static enum kin kin_of (const struct family *f, const struct process *p)
{
    const struct process *parent;

    if (p->pid == getpid ())
        return KIN_OTHERS;      // this is the agent, or a process that it has
                                // started
    if (p->variable != KIN_NONE)
        return p->variable;
    if (p->kin != KIN_NONE)     // it stays in the tree where it was
        return p->kin;
    if (!(parent = family_find (f, p->parent)))
        return KIN_NONE;
    return is_wrapper (f, parent) ? KIN_OURS : parent->kin;
}

/* Pids wrap around, so children may come before their parents. */
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

/* Remove processes that have ended, but remember those that may have written
 * something.
 */
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
        if (p->kin == KIN_OURS || (p->kin == KIN_NONE && p->grouped)) {
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
        if (wall_ns - p->seen_ns <= (p->kin == KIN_OURS ? REMEMBER_NS
                                                        : REMEMBER_GROUP_NS)) {
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

static bool was_there (const struct process *p, int64_t born_ns)
{
    return p->began_ns <= born_ns + GAP_NS && p->seen_ns + GAP_NS >= born_ns;
}

static enum family_says had_one (const struct process *p, pid_t pid,
                                 int64_t born_ns)
{
    if (p->inner != pid || !was_there (p, born_ns))
        return FAMILY_NO;
    if (p->kin == KIN_OURS)
        return p->nested ? FAMILY_MAYBE : FAMILY_SURE;
    return p->kin == KIN_NONE && p->grouped && !p->nested ? FAMILY_GROUP
                                                          : FAMILY_NO;
}

static enum family_says had (const struct process *p, pid_t pid,
                             int64_t born_ns)
{
    enum family_says says = FAMILY_NO, one;

    for (; p && says != FAMILY_SURE; p = p->next) {
        if ((one = had_one (p, pid, born_ns)) > says)
            says = one;
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

/* The mode of the link shows how the file was opened. */
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

static bool writes (const struct process *p, const char *path)
{
    int process = reopen_process (p);
    DIR *dir = process < 0 ? NULL : fileio_list (process, "fd");
    bool found = false;
    struct dirent *e;

    while (dir && !found && (e = readdir (dir)))
        found = has_open (dirfd (dir), e->d_name, path);
    fileio_close_dir (dir);
    fileio_close (process);
    return found;
}

bool family_writes (const struct family *f, const char *path)
{
    for (const struct process *p = f->living; p; p = p->next) {
        if (p->kin == KIN_OURS && writes (p, path))
            return true;
    }
    return false;
}

bool family_is_others (const struct family *f, pid_t pid, int64_t born_ns)
{
    struct process now;
    int dir = pid > 0 ? open_process (pid, &now) : -1;
    bool others;

    if (dir < 0)
        return false;
    others = wall_of_ticks (now.start, clock_wall_ns ()) <= born_ns + GAP_NS &&
             kin_by_variable (f, dir) == KIN_OTHERS;
    (void)close (dir);
    return others;
}

size_t family_living (const struct family *f)
{
    size_t n = 0;

    for (const struct process *p = f->living; p; p = p->next)
        n += p->kin == KIN_OURS && !is_wrapper (f, p);
    return n;
}
