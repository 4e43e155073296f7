/* node_agent/control/peers.c - the agents of other runs on this host */
#include "control/peers.h"

#include "base/clock.h"
#include "control/control.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME "rollcall-run-1/"          // of the socket, and a number
#define BACKLOG 256             // runs that begin at once
#define LIVE_MAX 1024           // of whoever, one descriptor each
#define GONE_MAX 4096           // that are remembered

struct peers {
    struct loop *loop;
    const char *job;
    peers_fn *on_packet;
    void *arg;
    int listener;
    char name[64];
    char *run;                  // what is said of us
    struct peer *all;
    uint64_t last_id;
};

static socklen_t address (const char *name, struct sockaddr_un *a)
{
    size_t n = strlen (name);

    memset (a, 0, sizeof (*a));
    a->sun_family = AF_UNIX;
    memcpy (a->sun_path + 1, name, n);
    return (socklen_t)(offsetof (struct sockaddr_un, sun_path) + 1 + n);
}

/* ---- one of them ---- */

static void free_peer (struct peers *ps, struct peer *p)
{
    if (p->fd >= 0) {
        loop_del_fd (ps->loop, p->fd);
        (void)close (p->fd);
    }
    json_free (p->run);
    free (p);
}

static int64_t number_of (const struct json *j, const char *key)
{
    return strtoll (json_text (json_get (j, key), "0"), NULL, 10);
}

static void take_run (struct peer *p, struct json *j)
{
    (void)snprintf (p->job, sizeof (p->job), "%s",
                    json_text (json_get (j, "job"), ""));
    p->since_ns = number_of (j, "since_ns");
    p->idle_ns = number_of (j, "idle_ns");
    json_free (p->run);
    p->run = j;
    p->told = true;
}

/* False when nothing more is to be had now; one that is gone stays known. */
static bool hear (struct peers *ps, struct peer *p)
{
    int rc = 0;
    struct json *j = p->fd < 0 ? NULL : control_receive (p->fd, &rc);

    if (!j && p->fd >= 0 && rc != -EAGAIN && rc != -EBADMSG) {
        loop_del_fd (ps->loop, p->fd);
        (void)close (p->fd);
        p->fd = -1;
        p->gone_ns = clock_wall_ns ();
    }
    if (!j)
        return rc == -EBADMSG;
    if (strcmp (json_text (json_get (j, "type"), ""), "run") == 0) {
        take_run (p, j);
        ps->on_packet (ps->arg, p, j);
        return true;
    }
    ps->on_packet (ps->arg, p, j);
    json_free (j);
    return true;
}

static void on_readable (void *arg)
{
    peers_hear (arg);
}

static void say_run (const struct peers *ps, const struct peer *p)
{
    struct json *j = ps->run ? json_parse (ps->run, strlen (ps->run), NULL)
                             : NULL;

    if (j && p->fd >= 0)
        (void)control_send (p->fd, j);
    else
        json_free (j);
}

/* Takes 'fd' over. */
static void add (struct peers *ps, int fd)
{
    struct peer *p = calloc (1, sizeof (*p));
    struct ucred who;
    socklen_t size = sizeof (who);
    size_t live = 0;

    for (const struct peer *q = ps->all; q; q = q->next)
        live += q->fd >= 0;
    if (!p || live >= LIVE_MAX || getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
        loop_add_fd (ps->loop, fd, on_readable, ps) < 0) {
        (void)close (fd);
        free (p);
        return;
    }
    p->fd = fd;
    p->id = ++ps->last_id;
    p->uid = who.uid;
    p->next = ps->all;
    ps->all = p;
    say_run (ps, p);
}

/* ---- all of them ---- */

static void accept_all (struct peers *ps)
{
    int fd;

    while (ps->listener >= 0 && (fd = control_accept (ps->listener)) >= 0)
        add (ps, fd);
}

static bool lives_again (const struct peers *ps, const struct peer *gone)
{
    for (const struct peer *p = ps->all; p; p = p->next) {
        if (p->fd >= 0 && p->told && p->uid == gone->uid &&
            strcmp (p->job, gone->job) == 0)
            return true;
    }
    return false;
}

/* One that was killed and is there again is asked now. */
static void forget_former (struct peers *ps)
{
    struct peer **at = &ps->all, *p;
    size_t gone = 0;

    while ((p = *at)) {
        gone += p->fd < 0;
        if (p->fd >= 0 ||
            (p->told && gone <= GONE_MAX && !lives_again (ps, p))) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free_peer (ps, p);
    }
}

void peers_hear (struct peers *ps)
{
    accept_all (ps);
    for (struct peer *p = ps->all, *next; p; p = next) {
        next = p->next;
        while (hear (ps, p))
            ;
    }
    forget_former (ps);
}

static void connect_to (struct peers *ps, const char *name)
{
    struct sockaddr_un a;
    socklen_t size = address (name, &a);
    int fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                     0);

    if (fd >= 0 && connect (fd, (struct sockaddr *)&a, size) == 0)
        add (ps, fd);
    else if (fd >= 0)
        (void)close (fd);       // it has just ended
}

static void connect_to_all (struct peers *ps)
{
    FILE *f = fopen ("/proc/net/unix", "re");
    char line[512], *name;

    while (f && fgets (line, sizeof (line), f)) {
        line[strcspn (line, "\n")] = '\0';
        // one that listens has its name also in its connections
        if (!(name = strstr (line, " @" NAME)) ||
            !strstr (line, " 00010000 ") || strlen (name + 2) > 63 ||
            strcmp (name + 2, ps->name) == 0)
            continue;
        connect_to (ps, name + 2);
    }
    if (f)
        (void)fclose (f);
}

static int listen_on (struct peers *ps, struct err *err)
{
    struct sockaddr_un a;
    uint64_t number = 0;
    socklen_t size;

    if (getrandom (&number, sizeof (number), 0) != sizeof (number))
        number = (uint64_t)clock_mono_ns () ^ (uint64_t)getpid () << 32;
    (void)snprintf (ps->name, sizeof (ps->name), NAME "%016llx",
                    (unsigned long long)number);
    size = address (ps->name, &a);
    ps->listener = socket (AF_UNIX,
                           SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (ps->listener < 0 ||
        bind (ps->listener, (struct sockaddr *)&a, size) < 0 ||
        listen (ps->listener, BACKLOG) < 0)
        return err_sys (err, errno, "cannot listen for other runs");
    return loop_add_fd (ps->loop, ps->listener, on_readable, ps) < 0
               ? err_set (err, ENOMEM, "no memory to listen") : 0;
}

int peers_open (struct loop *loop, const char *job, peers_fn *on_packet,
                void *arg, struct peers **ret, struct err *err)
{
    struct peers *ps = calloc (1, sizeof (*ps));
    int rc;

    *ret = ps;
    if (!ps)
        return err_set (err, ENOMEM, "no memory for other runs");
    *ps = (struct peers){ .loop = loop, .job = job, .on_packet = on_packet,
                          .arg = arg, .listener = -1 };
    if ((rc = listen_on (ps, err)) == 0)
        connect_to_all (ps);    // of two that begin at once one sees the other
    return rc;
}

void peers_close (struct peers *ps)
{
    if (!ps)
        return;
    while (ps->all) {
        struct peer *p = ps->all;

        ps->all = p->next;
        free_peer (ps, p);
    }
    if (ps->listener >= 0) {
        loop_del_fd (ps->loop, ps->listener);
        (void)close (ps->listener);
    }
    free (ps->run);
    free (ps);
}

void peers_tell (struct peers *ps, struct json *run)
{
    char *text = json_print (run, false);

    json_free (run);
    if (!text || (ps->run && strcmp (ps->run, text) == 0)) {
        free (text);
        return;
    }
    free (ps->run);
    ps->run = text;
    for (struct peer *p = ps->all; p; p = p->next)
        say_run (ps, p);
}

struct peer *peers_first (const struct peers *ps)
{
    return ps ? ps->all : NULL;
}
