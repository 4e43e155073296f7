/* aggregator/postgres/pusher.c - a process that pushes for a service: see
 * cli/jobs/push_follow.c for what is said between the two
 */
#include "postgres/pusher.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/texts.h"
#include "base/vec.h"
#include "net/message.h"
#include "options/program.h"
#include "postgres/postgres.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESTART_NS (10 * NS_PER_S)
#define LINES_MAX (1u << 20)

struct behind {
    int64_t since_ns;           // its first change, since 1970; 0: it is there
    uint64_t told;              // the line of its last one, of this process
};

struct pusher {
    struct pusher_options opt;
    struct loop *loop;
    pid_t pid;                  // 0: it is not running
    int in, out;                // its standard input and output
    struct buf lines;
    struct texts names;         // of jobs that are or were behind
    struct behind *list;        // for each of them
    size_t nlist, backlog;
    uint64_t told;              // lines that this process got
    int64_t pushed;
    bool known;                 // the database has answered
    bool retell;                // the pipe was full: anything may have changed
    char why[ERR_TEXT_MAX];     // the last try has failed
    char left[ERR_TEXT_MAX];    // jobs that it leaves out, or ""
    char silent[PG_NAME_MAX];   // the database that does not answer, or "", ...
    int64_t silent_ns;          // ... since when: monotonic
};

/* ---- the backlog ---- */

static void add_behind (struct pusher *p, const char *job, int64_t since_ns,
                        uint64_t told)
{
    uint32_t i = texts_intern (&p->names, job, strlen (job));
    struct behind *b;

    if (i == TEXTS_NONE ||
        (i == p->nlist && !vec_add (&p->list, &p->nlist, sizeof (*b))))
        return;
    b = &p->list[i];
    if (b->since_ns == 0) {
        b->since_ns = since_ns;
        p->backlog++;
    }
    b->told = told > b->told ? told : b->told;
}

/* It is there, unless it has changed after this line. */
static void drop_behind (struct pusher *p, uint32_t i, uint64_t told)
{
    struct behind *b = &p->list[i];

    if (b->since_ns == 0 || b->told > told)
        return;
    b->since_ns = 0;
    if (--p->backlog == 0) {
        texts_clear (&p->names);
        free (p->list);
        p->list = NULL;
        p->nlist = 0;
    }
}

/* ---- what it is told ---- */

/* A full pipe must not hold up the service: when the process has read of it, and
 * says something, it hears that anything may have changed.
 */
static void tell (struct pusher *p, const char *job)
{
    char line[MESSAGE_NAME_MAX + 2];

    if (p->pid == 0 || p->retell)
        return;                 // it will hear of it
    PRINT (line, "%s\n", strchr (job, '\n') ? "*" : job);
    if (write (p->in, line, strlen (line)) == (ssize_t)strlen (line))
        p->told++;
    else
        p->retell = true;
}

/* ---- what it says ---- */

static void on_why (struct pusher *p, const char *text)
{
    if (strcmp (p->why, text) == 0)
        return;
    PRINT (p->why, "%s", text);
    log_warn ("postgres", "it is tried again: %s", p->why);
}

/* Jobs that are left out; "": none. */
static void on_left (struct pusher *p, const char *text)
{
    if (*text && strcmp (p->left, text) != 0)
        log_warn ("postgres", "%s", text);
    PRINT (p->left, "%s", text);
}

static int64_t silent_s (const struct pusher *p)
{
    return (clock_mono_ns () - p->silent_ns) / NS_PER_S;
}

/* It has not answered for so long; 0: that is over. */
static void on_silent (struct pusher *p, int64_t s, const char *name)
{
    if (s > 0) {
        p->silent_ns = clock_mono_ns () - s * NS_PER_S;
        PRINT (p->silent, "%s", name);
        log_warn ("postgres", PG_SILENT, name, (long long)s);
    } else if (*p->silent) {
        log_info ("postgres", "%s: that it did not answer is over, after %lld s",
                  name, (long long)silent_s (p));
        p->silent[0] = '\0';
    }
}

static void on_ok (struct pusher *p, uint64_t told)
{
    for (uint32_t i = 0; i < p->nlist; i++)
        drop_behind (p, i, told);
    if (*p->why || !p->known)
        log_info ("postgres", "it is up to date");
    p->why[0] = '\0';
    p->known = true;
}

static void take_line (void *arg, char *line)
{
    struct pusher *p = arg;
    char *rest = strchr (line, ' ');
    int64_t n;
    uint32_t i;

    if (!rest)
        return;
    *rest++ = '\0';
    if (strcmp (line, "why") == 0) {
        on_why (p, rest);
        return;
    }
    if (strcmp (line, "left") == 0) {
        on_left (p, rest);
        return;
    }
    n = strtoll (rest, &rest, 10);
    rest += *rest == ' ';
    if (strcmp (line, "silent") == 0) {
        on_silent (p, n, rest);
    } else if (strcmp (line, "ok") == 0) {
        on_ok (p, (uint64_t)n);
    } else if (strcmp (line, "behind") == 0) {
        add_behind (p, rest, n, 0);
    } else if (strcmp (line, "pushed") == 0) {
        p->pushed++;
        if ((i = texts_find (&p->names, rest, strlen (rest))) != TEXTS_NONE)
            drop_behind (p, i, (uint64_t)n);
    }
}

/* ---- the process ---- */

static void start (void *arg);

/* End it: how it has ended. */
static int end_process (struct pusher *p)
{
    int status = 0;

    if (p->pid == 0)
        return 0;
    loop_del_fd (p->loop, p->out);
    fileio_close (p->in);
    fileio_close (p->out);
    (void)kill (p->pid, SIGKILL);       // it may wait for the database
    while (waitpid (p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    buf_clear (&p->lines);
    p->left[0] = p->silent[0] = '\0';   // its successor says it again
    return status;
}

static void on_end (struct pusher *p)
{
    int status = end_process (p);
    char why[80];

    PRINT (why, "rollcall push has ended %s %d",
           WIFSIGNALED (status) ? "by signal" : "with exit status",
           WIFSIGNALED (status) ? WTERMSIG (status) : WEXITSTATUS (status));
    on_why (p, why);
    (void)loop_add_timer (p->loop, RESTART_NS, start, p);
}

static void on_output (void *arg)
{
    struct pusher *p = arg;
    char data[4096];
    ssize_t n = read (p->out, data, sizeof (data));

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        on_end (p);
        return;
    }
    buf_put (&p->lines, data, (size_t)n);
    if (p->lines.failed)
        buf_clear (&p->lines);
    buf_take_lines (&p->lines, take_line, p);
    if (p->retell) {
        p->retell = false;
        tell (p, "*");
    }
}

static int spawn (struct pusher *p)
{
    const char *const words[] = {
        "rollcall", "push", "--follow", "--all", "--root", p->opt.root,
        p->opt.cluster ? "--cluster" : NULL, p->opt.cluster, NULL };
    int in[2] = { -1, -1 }, out[2] = { -1, -1 }, rc;

    if (pipe2 (in, O_CLOEXEC) < 0 || pipe2 (out, O_CLOEXEC) < 0)
        rc = -errno;
    else
        rc = program_start (p->opt.program, words, environ,
                            (const int[]){ in[0], out[1], 2 }, 3, &p->pid);
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
        (void)end_process (p);
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
    p->told = 0;
    for (size_t i = 0; i < p->nlist; i++)
        p->list[i].told = 0;
    if (rc == 0)
        return;
    (void)err_sys (&err, -rc, "cannot start rollcall push");
    on_why (p, err.text);
    (void)loop_add_timer (p->loop, RESTART_NS, start, p);
}

void pusher_changed (struct pusher *p, const char *job)
{
    if (!p)
        return;
    add_behind (p, job, clock_wall_ns (), p->told + 1);
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
    (void)end_process (p);
    texts_fini (&p->names);
    free (p->list);
    buf_fini (&p->lines);
    free (p);
}

static const char *why_of (const struct pusher *p,
                           char (*silent)[ERR_TEXT_MAX])
{
    if (!*p->silent)
        return *p->why ? p->why : p->left;
    PRINT (*silent, PG_SILENT, p->silent, (long long)silent_s (p));
    return *silent;
}

void pusher_add_status (const struct pusher *p, struct json *status)
{
    int64_t oldest_ns = INT64_MAX, now = clock_wall_ns ();
    char silent[ERR_TEXT_MAX];
    struct json *j;

    if (!p)
        return;
    for (size_t i = 0; i < p->nlist; i++) {
        if (p->list[i].since_ns > 0 && p->list[i].since_ns < oldest_ns)
            oldest_ns = p->list[i].since_ns;
    }
    j = json_add_object (status, "postgres");
    json_add_int (j, "backlog", (int64_t)p->backlog);
    json_add_int (j, "oldest_s",
                  oldest_ns < now ? (now - oldest_ns) / NS_PER_S : 0);
    json_add_int (j, "pushed", p->pushed);
    json_add_bool (j, "known", p->known);
    json_add_nonempty (j, "why", why_of (p, &silent));
}
