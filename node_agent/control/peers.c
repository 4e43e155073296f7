/* node_agent/control/peers.c - talk to the agents of other runs on this host */
#include "control/peers.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/vec.h"
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

#define NAME "rollcall-run-2/"          // then a number and the job
#define NAME_DIR "rollcall-dir-2/"      // then the number and DEV:INO
#define NUMBER_SIZE 16                  // digits
#define SHOWN_MAX (16u << 20)           // bytes of all names of directories
#define BACKLOG 256             // runs that begin at the same time
#define LIVE_MAX 1024           // connections, from anybody; each has a
                                // descriptor
#define GONE_MAX 4096           // former peers that are remembered

struct peers {
    struct loop *loop;
    const char *job;
    peers_fn *on_packet;
    void *arg;
    int listener;
    char name[PEERS_NAME_MAX];
    int *shown;                 // sockets whose names show our directories
    size_t nshown;
    struct buf dirs;            // the directories of all others, a line each
    int64_t dirs_ns;            // when that was read; monotonic
    bool dirs_read;             // else they could not be read
    char *run;                  // the packet about this run
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

/* Bind a socket to that name.  Returns it, or -errno. */
static int bind_name (int type, const char *name)
{
    struct sockaddr_un a;
    socklen_t size = address (name, &a);
    int fd = socket (AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), rc;

    if (fd >= 0 && bind (fd, (struct sockaddr *)&a, size) == 0)
        return fd;
    rc = -errno;
    if (fd >= 0)
        (void)close (fd);
    return rc;
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
    PRINT (p->job, "%s", json_text (json_get (j, "job"), ""));
    p->since_ns = number_of (j, "since_ns");
    p->idle_ns = number_of (j, "idle_ns");
    json_free (p->run);
    p->run = j;
    p->told = true;
}

/* Take the name of its socket, which contains the beginning of its job's id. */
static void take_name (struct peer *p, const char *name)
{
    size_t before = strlen (NAME) + NUMBER_SIZE;

    if (strlen (name) <= before || strlen (name) >= sizeof (p->name) ||
        strncmp (name, NAME, strlen (NAME)) != 0)
        return;
    memcpy (p->name, name, strlen (name) + 1);
    if (!p->told)
        PRINT (p->job, "%s", name + before + 1);
}

/* Receive a packet.  False: there is none now.  A peer that is gone stays in
 * the list.
 */
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
    if (strcmp (json_text (json_get (j, "type"), ""), "agent") == 0)
        take_name (p, json_text (json_get (j, "name"), ""));
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

static void say_name (const struct peers *ps, const struct peer *p)
{
    struct json *j = json_object ();

    json_add_text (j, "type", "agent");
    json_add_text (j, "name", ps->name);
    (void)control_send (p->fd, j);
}

/* Add a peer; takes over 'fd'.  'name' is that of its socket, if this process
 * has connected.
 */
static void peers_add (struct peers *ps, int fd, const char *name)
{
    struct peer *p = calloc (1, sizeof (*p));
    struct ucred who;
    socklen_t size = sizeof (who);
    size_t live = 0;

    for (const struct peer *q = ps->all; q; q = q->next)
        live += q->fd >= 0;
    if (!p || live >= LIVE_MAX ||
        getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 ||
        loop_add_fd (ps->loop, fd, on_readable, ps) < 0) {
        (void)close (fd);
        free (p);
        return;
    }
    p->fd = fd;
    p->id = ++ps->last_id;
    p->uid = who.uid;
    p->pid = who.pid;
    p->next = ps->all;
    ps->all = p;
    if (name) {
        take_name (p, name);
        say_name (ps, p);
    }
    say_run (ps, p);
}

/* ---- all of them ---- */

static void accept_all (struct peers *ps)
{
    int fd;

    while (ps->listener >= 0 && (fd = control_accept (ps->listener)) >= 0)
        peers_add (ps, fd, NULL);
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

/* Forget former peers, so that a killed agent that runs again is asked now. */
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
        peers_add (ps, fd, name);
    else if (fd >= 0)
        (void)close (fd);       // it has ended just now
}

/* Find the name of an abstract socket in a line of /proc/net/unix, or NULL. */
static const char *name_in (char *line, const char *prefix)
{
    char *name;

    line[strcspn (line, "\n")] = '\0';
    name = strstr (line, " @");
    if (!name || strncmp (name + 2, prefix, strlen (prefix)) != 0 ||
        strlen (name + 2) >= PEERS_NAME_MAX)
        return NULL;
    return name + 2;
}

static void connect_to_all (struct peers *ps)
{
    FILE *f = fopen ("/proc/net/unix", "re");
    const char *name;
    char line[512];

    while (f && fgets (line, sizeof (line), f)) {
        // connections have the name of the listening socket, too
        if ((name = name_in (line, NAME)) && strstr (line, " 00010000 ") &&
            strcmp (name, ps->name) != 0)
            connect_to (ps, name);
    }
    if (f)
        (void)fclose (f);
}

/* Copy the printable part of a job's id. */
static void put_job (char *out, size_t size, const char *job)
{
    size_t i;

    for (i = 0; i + 1 < size && job[i]; i++) {
        bool plain = job[i] > ' ' && job[i] <= '~' && job[i] != '@';

        out[i] = '_';
        if (plain)
            out[i] = job[i];
    }
    out[i] = '\0';
}

static void make_name (struct peers *ps)
{
    uint64_t number = 0;
    size_t n;

    if (getrandom (&number, sizeof (number), 0) != sizeof (number))
        number = (uint64_t)clock_mono_ns () ^ (uint64_t)getpid () << 32;
    n = (size_t)snprintf (ps->name, sizeof (ps->name), NAME "%016llx/",
                          (unsigned long long)number);
    put_job (ps->name + n, sizeof (ps->name) - n, ps->job);
}

static int listen_on (struct peers *ps, struct err *err)
{
    make_name (ps);
    ps->listener = bind_name (SOCK_SEQPACKET, ps->name);
    if (ps->listener < 0 || listen (ps->listener, BACKLOG) < 0)
        return err_sys (err, ps->listener < 0 ? -ps->listener : errno,
                        "cannot listen for other runs");
    return loop_add_fd (ps->loop, ps->listener, on_readable, ps) < 0
               ? err_set (err, ENOMEM, "no memory to listen") : 0;
}

/* ---- directories ---- */

/* Make "NUMBER/ID", as in the name of a socket. */
static const char *shown_name (const char *name, const char *id,
                               char out[PEERS_NAME_MAX])
{
    (void)snprintf (out, PEERS_NAME_MAX, NAME_DIR "%.*s/%s", NUMBER_SIZE,
                    name + strlen (NAME), id);
    return out;
}

int peers_show (struct peers *ps, const char *id)
{
    int *more = vec_one_more (ps->shown, ps->nshown, sizeof (*more)), fd;
    char name[PEERS_NAME_MAX];

    if (!more)
        return -ENOMEM;
    ps->shown = more;
    fd = bind_name (SOCK_DGRAM, shown_name (ps->name, id, name));
    if (fd < 0)
        return fd == -EADDRINUSE ? 0 : fd;      // it is shown already, by
                                                // another path
    more[ps->nshown++] = fd;
    return 0;
}

static void read_dirs (struct peers *ps)
{
    FILE *f;
    const char *name;
    char line[512];

    ps->dirs_ns = clock_mono_ns ();
    buf_clear (&ps->dirs);
    f = fopen ("/proc/net/unix", "re");
    while (f && fgets (line, sizeof (line), f)) {
        if ((name = name_in (line, NAME_DIR)))
            buf_printf (&ps->dirs, "%s\n", name);
    }
    ps->dirs_read = f && !ferror (f) && !ps->dirs.failed;
    if (f)
        (void)fclose (f);
}

bool peers_is_shown (struct peers *ps, const struct peer *p, const char *id,
                     int64_t since_ns)
{
    char name[PEERS_NAME_MAX], line[PEERS_NAME_MAX + 1];

    if (!*p->name)
        return true;
    if (ps->dirs_ns <= since_ns)
        read_dirs (ps);
    PRINT (line, "%s\n", shown_name (p->name, id, name));
    return !ps->dirs_read || strstr (buf_text (&ps->dirs), line);
}

/* ---- life ---- */

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
    buf_init (&ps->dirs, SHOWN_MAX);
    if ((rc = listen_on (ps, err)) == 0)
        connect_to_all (ps);    // of two that begin at the same time one sees
                                // the other
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
    for (size_t i = 0; i < ps->nshown; i++)
        (void)close (ps->shown[i]);
    free (ps->shown);
    buf_fini (&ps->dirs);
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
