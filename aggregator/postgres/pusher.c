/* aggregator/postgres/pusher.c - a process that pushes for a service: see
 * cli/jobs/push_follow.c for what is said between the two
 */
#include "postgres/pusher.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "postgres/postgres.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTART_NS (10 * NS_PER_S)
#define RETELL_NS NS_PER_S      // after the pipe was full
#define LINES_MAX (1u << 20)

struct behind {
    char *job;
    int64_t since_ns;           // its last change, since 1970
};

struct pusher {
    struct pusher_options opt;
    struct loop *loop;
    pid_t pid;                  // 0: it is not running
    int in, out;                // its standard input and output, or -1
    struct buf lines;
    struct behind *list;        // the backlog
    size_t n;
    int64_t pushed;
    bool known;                 // the database has answered
    bool retell;                // the pipe was full: anything may have changed
    char why[ERR_TEXT_MAX];     // the last try has failed
};

int pusher_check (const char *uri, bool from_variable, struct err *err)
{
    bool password = false;
    int rc = pg_check (uri, &password, err);

    return rc == 0 && password && !from_variable
               ? err_set (err, EINVAL, "a password on a command line is seen by "
                          "everybody in ps: put it into a password file "
                          "(~/.pgpass, PGPASSFILE)") : rc;
}

/* ---- the backlog ---- */

static struct behind *find (struct pusher *p, const char *job)
{
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp (p->list[i].job, job) == 0)
            return &p->list[i];
    }
    return NULL;
}

static void add_behind (struct pusher *p, const char *job, int64_t since_ns)
{
    struct behind *b = find (p, job);

    if (b)
        return;
    if (!(b = vec_add (&p->list, &p->n, sizeof (*b))))
        return;
    b->since_ns = since_ns;
    if (!(b->job = strdup (job)))
        p->n--;
}

static void drop_behind (struct pusher *p, const char *job)
{
    struct behind *b = find (p, job);

    if (!b)
        return;
    free (b->job);
    *b = p->list[--p->n];
}

static void drop_all (struct pusher *p)
{
    while (p->n > 0)
        free (p->list[--p->n].job);
}

/* ---- what it says ---- */

static void on_why (struct pusher *p, const char *text)
{
    if (strcmp (p->why, text) == 0)
        return;
    PRINT (p->why, "%s", text);
    log_warn ("postgres", "nothing can be pushed, it is tried again: %s",
              p->why);
}

static void on_ok (struct pusher *p)
{
    if (*p->why || !p->known)
        log_info ("postgres", "it is up to date");
    p->why[0] = '\0';
    p->known = true;
}

static void take_line (struct pusher *p, char *line)
{
    char *end;
    int64_t ns;

    if (strcmp (line, "ok") == 0) {
        on_ok (p);
    } else if (strncmp (line, "why ", 4) == 0) {
        on_why (p, line + 4);
    } else if (strncmp (line, "pushed ", 7) == 0) {
        p->pushed++;
        drop_behind (p, line + 7);
    } else if (strncmp (line, "behind ", 7) == 0) {
        ns = strtoll (line + 7, &end, 10);
        if (*end == ' ')
            add_behind (p, end + 1, ns);
    }
}

static void take_lines (struct pusher *p)
{
    char *text = (char *)p->lines.data, *end;
    size_t used = 0;

    while (used < p->lines.size &&
           (end = memchr (text + used, '\n', p->lines.size - used))) {
        *end = '\0';
        take_line (p, text + used);
        used = (size_t)(end + 1 - text);
    }
    if (used > 0)
        memmove (text, text + used, p->lines.size - used);
    p->lines.size -= used;
}

/* ---- the process ---- */

static void start (void *arg);

static void forget_process (struct pusher *p, int signo)
{
    int status;

    if (p->pid == 0)
        return;
    loop_del_fd (p->loop, p->out);
    fileio_close (p->in);
    fileio_close (p->out);
    p->in = p->out = -1;
    if (signo)
        (void)kill (p->pid, signo);
    while (waitpid (p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    buf_clear (&p->lines);
}

static void on_output (void *arg)
{
    struct pusher *p = arg;
    char data[4096];
    ssize_t n = read (p->out, data, sizeof (data));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0) {
        buf_put (&p->lines, data, (size_t)n);
        if (p->lines.failed)
            buf_clear (&p->lines);
        take_lines (p);
        return;
    }
    forget_process (p, SIGKILL);        // it has closed its output: it ends
    on_why (p, "rollcall push has ended");
    (void)loop_add_timer (p->loop, RESTART_NS, start, p);
}

/* This environment, with the URI: no argument that ps would show. */
static char **environment (const char *uri, char **variable)
{
    static const char name[] = "ROLLCALL_POSTGRES=";
    size_t n = 0, size = sizeof (name) + strlen (uri);
    char **env;

    while (environ[n])
        n++;
    env = calloc (n + 2, sizeof (*env));
    if (!env || !(*variable = malloc (size))) {
        free (env);
        return NULL;
    }
    (void)snprintf (*variable, size, "%s%s", name, uri);
    env[0] = *variable;
    for (size_t i = 0, k = 1; i < n; i++) {
        if (strncmp (environ[i], name, sizeof (name) - 1) != 0)
            env[k++] = environ[i];
    }
    return env;
}

static int spawn_with (struct pusher *p, const int in[2], const int out[2],
                       char **env)
{
    const char *const words[] = {
        "rollcall", "push", "--follow", "--all", "--root", p->opt.root,
        p->opt.cluster ? "--cluster" : NULL, p->opt.cluster, NULL };
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, pipe;
    int rc;

    (void)sigemptyset (&none);
    (void)sigemptyset (&pipe);
    (void)sigaddset (&pipe, SIGPIPE);
    (void)posix_spawn_file_actions_init (&files);
    (void)posix_spawnattr_init (&how);
    (void)posix_spawnattr_setsigmask (&how, &none);
    (void)posix_spawnattr_setsigdefault (&how, &pipe);
    rc = posix_spawnattr_setflags (&how, POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF);
    if (rc == 0 &&
        (rc = posix_spawn_file_actions_adddup2 (&files, in[0], 0)) == 0 &&
        (rc = posix_spawn_file_actions_adddup2 (&files, out[1], 1)) == 0)
        rc = posix_spawn (&p->pid, p->opt.program, &files, &how,
                          (char *const *)(uintptr_t)words, env);
    (void)posix_spawn_file_actions_destroy (&files);
    (void)posix_spawnattr_destroy (&how);
    return -rc;
}

static int spawn (struct pusher *p)
{
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, rc = -ENOMEM;
    char *variable = NULL, **env = environment (p->opt.uri, &variable);

    if (env && pipe2 (in, O_CLOEXEC) == 0 && pipe2 (out, O_CLOEXEC) == 0)
        rc = spawn_with (p, in, out, env);
    free (variable);
    free (env);
    fileio_close (in[0]);
    fileio_close (out[1]);
    if (rc < 0) {
        fileio_close (in[1]);
        fileio_close (out[0]);
        p->pid = 0;
        return rc;
    }
    p->in = in[1];
    p->out = out[0];
    (void)fcntl (p->in, F_SETFL, O_NONBLOCK);
    (void)fcntl (p->out, F_SETFL, O_NONBLOCK);
    if (loop_add_fd (p->loop, p->out, on_output, p) < 0) {
        forget_process (p, SIGKILL);
        return -ENOMEM;
    }
    return 0;
}

/* It begins with everything that is behind, whatever was told before. */
static void start (void *arg)
{
    struct pusher *p = arg;
    struct err err;
    int rc = spawn (p);

    p->retell = false;
    if (rc == 0)
        return;
    (void)err_sys (&err, -rc, "cannot start rollcall push");
    on_why (p, err.text);
    (void)loop_add_timer (p->loop, RESTART_NS, start, p);
}

/* ---- what it is told ---- */

/* A full pipe must not hold up the service: it says later that anything may
 * have changed.
 */
static void tell (struct pusher *p, const char *job);

static void on_retell (void *arg)
{
    struct pusher *p = arg;

    if (!p->retell || p->pid == 0)
        return;
    p->retell = false;
    tell (p, "*");
}

static void tell (struct pusher *p, const char *job)
{
    char line[512];

    if (p->pid == 0 || p->retell)
        return;                 // it will hear of it
    PRINT (line, "%.500s\n", job);
    if (write (p->in, line, strlen (line)) == (ssize_t)strlen (line))
        return;
    p->retell = true;
    (void)loop_add_timer (p->loop, RETELL_NS, on_retell, p);
}

void pusher_changed (struct pusher *p, const char *job)
{
    if (!p)
        return;
    add_behind (p, job, clock_wall_ns ());
    tell (p, job);
}

/* ---- life ---- */

int pusher_start (const struct pusher_options *opt, struct loop *l,
                  struct pusher **ret, struct err *err)
{
    struct pusher *p = calloc (1, sizeof (*p));

    if (!p)
        return err_set (err, ENOMEM, "no memory to push");
    p->opt = *opt;
    p->loop = l;
    p->in = p->out = -1;
    buf_init (&p->lines, LINES_MAX);
    start (p);
    *ret = p;
    return 0;
}

void pusher_end (struct pusher *p)
{
    if (!p)
        return;
    loop_del_timer (p->loop, start, p);
    loop_del_timer (p->loop, on_retell, p);
    forget_process (p, SIGTERM);
    drop_all (p);
    free (p->list);
    buf_fini (&p->lines);
    free (p);
}

void pusher_add_status (const struct pusher *p, struct json *status)
{
    int64_t oldest_ns = INT64_MAX, now = clock_wall_ns ();
    struct json *j;

    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        if (p->list[i].since_ns < oldest_ns)
            oldest_ns = p->list[i].since_ns;
    }
    j = json_add_object (status, "postgres");
    json_add_int (j, "backlog", (int64_t)p->n);
    json_add_int (j, "oldest_s",
                  oldest_ns < now ? (now - oldest_ns) / NS_PER_S : 0);
    json_add_int (j, "pushed", p->pushed);
    json_add_bool (j, "known", p->known);
    json_add_nonempty (j, "why", p->why);
}
