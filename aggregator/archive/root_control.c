/* aggregator/archive/root_control.c - answer requests of verbs */
#include "archive/root_control.h"

#include "archive/audit.h"
#include "base/clock.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

struct listener {
    struct control *control;
    int fd, dir_fd;             // -1: none
    char name[NAME_MAX + 1];    // in that directory
    bool all;                   // every user may connect
};

struct control_asker {
    struct control *control;
    int fd;
    struct control_peer peer;
    void (*gone) (void *arg);   // of a request that is answered later, or NULL
    void *gone_arg;
    bool deferred;
    size_t used;
    char line[CONTROL_LINE_MAX];
};

struct control {
    struct loop *loop;
    control_fn *fn;
    void *arg;
    struct listener own, others;
    struct control_asker *askers[CONTROL_ASKERS_MAX];
};

/* ---- answering ---- */

static void on_late (void *arg);

static void close_pipes (struct control_asker *x)
{
    for (int i = 0; i < CONTROL_PIPES; i++) {
        fileio_close (x->peer.pipes[i]);
        x->peer.pipes[i] = -1;
    }
}

static void leave (struct control_asker *x)
{
    struct control *c = x->control;

    loop_del_timer (c->loop, on_late, x);
    loop_del_fd (c->loop, x->fd);
    (void)close (x->fd);
    close_pipes (x);
    for (size_t i = 0; i < CONTROL_ASKERS_MAX; i++) {
        if (c->askers[i] == x)
            c->askers[i] = NULL;
    }
    if (x->gone)
        x->gone (x->gone_arg);
    free (x);
}

/* Whoever connects and says nothing leaves the place to others. */
static void on_late (void *arg)
{
    leave (arg);
}

void control_defer (struct control_asker *x, void (*gone) (void *arg),
                    void *arg)
{
    x->deferred = true;
    x->gone = gone;
    x->gone_arg = arg;
}

void control_answer (struct control_asker *x, struct json *answer)
{
    char *text = json_print (answer, false), *p;

    json_free (answer);
    if (text && (p = realloc (text, strlen (text) + 2))) {
        text = p;
        (void)strcat (text, "\n");
        // a socket may hold more than one line
        (void)!send (x->fd, text, strlen (text), MSG_NOSIGNAL);
    }
    free (text);
    x->gone = NULL;
    leave (x);
}

static int status_of (int rc)
{
    return rc == -EINVAL   ? EX_USAGE
           : rc == -ENOENT ? EX_NOINPUT
           : rc == -EACCES || rc == -EPERM ? EX_NOPERM
           : rc == -EBUSY  ? EX_TEMPFAIL
                           : EX_IOERR;
}

/* Who asks is recorded as the kernel says, whatever the request says or lacks. */
static void name_asker (const struct control_asker *x, struct json *asked)
{
    char name[AUDIT_USER_MAX];

    audit_name_user (x->peer.uid, name);
    json_drop (asked, "by");
    json_add_text (asked, "by", name);
    json_drop (asked, "uid");
    json_add_int (asked, "uid", (int64_t)x->peer.uid);
}

static void answer_line (struct control_asker *x, size_t size)
{
    struct control *c = x->control;
    struct err err = { "" };
    struct json *asked = json_parse (x->line, size, &err);
    struct json *answer = json_object ();
    int rc;

    loop_del_timer (c->loop, on_late, x);
    if (asked && json_is_object (asked)) {
        name_asker (x, asked);
        rc = c->fn (c->arg, &x->peer, asked, answer, &err);
    } else {
        rc = err_set (&err, EINVAL, "the request is not a JSON object");
    }
    json_free (asked);
    if (x->deferred) {
        json_free (answer);
        close_pipes (x);
        return;
    }
    json_add_bool (answer, "ok", rc >= 0);
    if (rc < 0) {
        json_add_int (answer, "status", status_of (rc));
        json_add_text (answer, "text", err.text);
    }
    control_answer (x, answer);
}

/* ---- hearing ---- */

/* Keep two pipes that come along; close all else: only they cannot be something
 * of the host that this process may write to, and its user may not.
 */
static void take_pipes (struct control_asker *x, struct msghdr *m)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR (m); c; c = CMSG_NXTHDR (m, c)) {
        size_t n = (c->cmsg_len - CMSG_LEN (0)) / sizeof (int);

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < n; i++) {
            struct stat st;
            int fd;

            memcpy (&fd, CMSG_DATA (c) + i * sizeof (fd), sizeof (fd));
            if (i < CONTROL_PIPES && x->peer.pipes[i] < 0 &&
                fstat (fd, &st) == 0 && S_ISFIFO (st.st_mode))
                x->peer.pipes[i] = fd;
            else
                (void)close (fd);
        }
    }
}

static ssize_t hear_some (struct control_asker *x)
{
    union {
        struct cmsghdr head;    // for its alignment
        char bytes[CMSG_SPACE (CONTROL_PIPES * sizeof (int))];
    } extra;
    struct iovec to = { x->line + x->used, sizeof (x->line) - x->used };
    struct msghdr m = { .msg_iov = &to, .msg_iovlen = 1,
                        .msg_control = extra.bytes,
                        .msg_controllen = sizeof (extra.bytes) };
    ssize_t n = recvmsg (x->fd, &m, MSG_CMSG_CLOEXEC);

    if (n >= 0)
        take_pipes (x, &m);
    return n;
}

static void on_readable (void *arg)
{
    struct control_asker *x = arg;
    ssize_t n = hear_some (x);
    char *end;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || x->deferred) {
        leave (x);              // nothing may follow a request
        return;
    }
    end = memchr (x->line + x->used, '\n', (size_t)n);
    x->used += (size_t)n;
    if (end)
        answer_line (x, (size_t)(end - x->line));
    else if (x->used == sizeof (x->line))
        leave (x);
}

/* ---- who connects ---- */

/* By name, on a kernel that does not tell groups (before 4.13). */
static void groups_by_name (struct control_peer *p, gid_t gid)
{
    const struct passwd *user = getpwuid (p->uid);
    int n = CONTROL_GROUPS_MAX;

    p->groups[0] = gid;
    p->ngroups = 1;
    if (user && getgrouplist (user->pw_name, gid, p->groups, &n) >= 0)
        p->ngroups = (size_t)n;
}

static bool find_peer (int fd, struct control_peer *p)
{
    struct ucred c;
    socklen_t size = sizeof (c), bytes;

    if (getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &c, &size) < 0)
        return false;
    p->uid = c.uid;
    p->owner = c.uid == geteuid () || c.uid == 0;
    p->groups[0] = c.gid;
    bytes = (CONTROL_GROUPS_MAX - 1) * sizeof (gid_t);
#ifdef SO_PEERGROUPS
    if (getsockopt (fd, SOL_SOCKET, SO_PEERGROUPS, p->groups + 1, &bytes) == 0)
        p->ngroups = 1 + bytes / sizeof (gid_t);
    else
#endif
        groups_by_name (p, c.gid);
    return true;
}

/* The place of an asker, or CONTROL_ASKERS_MAX: there is none for this user. */
static size_t find_place (const struct control *c, const struct control_peer *p)
{
    size_t i = 0, free_at = CONTROL_ASKERS_MAX, others = 0, of_user = 0;

    for (; i < CONTROL_ASKERS_MAX; i++) {
        const struct control_asker *x = c->askers[i];

        if (!x && free_at == CONTROL_ASKERS_MAX)
            free_at = i;
        others += x && !x->peer.owner;
        of_user += x && x->peer.uid == p->uid;
    }
    if (!p->owner && (others >= CONTROL_OTHERS_MAX ||
                      of_user >= CONTROL_OF_USER))
        return CONTROL_ASKERS_MAX;
    return free_at;
}

/* The mode of the root's socket restricts access too, but it may have been
 * changed.
 */
static bool take_in (struct listener *l, struct control_asker *x)
{
    struct control *c = l->control;
    size_t at;

    x->control = c;
    x->peer.asker = x;
    x->peer.pipes[0] = x->peer.pipes[1] = -1;
    if (!find_peer (x->fd, &x->peer) || !(l->all || x->peer.owner) ||
        (at = find_place (c, &x->peer)) == CONTROL_ASKERS_MAX ||
        loop_add_fd (c->loop, x->fd, on_readable, x) < 0)
        return false;
    c->askers[at] = x;
    // no memory: it may stay longer
    (void)loop_add_timer (c->loop, CONTROL_HEAR_S * NS_PER_S, on_late, x);
    return true;
}

static void on_connect (void *arg)
{
    struct listener *l = arg;
    int fd = accept4 (l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct control_asker *x = fd < 0 ? NULL : calloc (1, sizeof (*x));

    if (x)
        x->fd = fd;
    if (!x || !take_in (l, x)) {
        free (x);
        fileio_close (fd);
    }
}

/* ---- listening ---- */

/* A socket address relative to a directory's descriptor: paths may be longer
 * than the 107 bytes of an address.
 */
static bool address_of (const struct listener *l, struct sockaddr_un *a)
{
    int n = snprintf (a->sun_path, sizeof (a->sun_path),
                      "/proc/self/fd/%d/%s", l->dir_fd, l->name);

    a->sun_family = AF_UNIX;
    return n > 0 && (size_t)n < sizeof (a->sun_path);
}

/* Remove the socket of a dead process; another file stays, and bind fails. */
static void remove_socket (const struct listener *l)
{
    struct stat st;

    if (fstatat (l->dir_fd, l->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISSOCK (st.st_mode))
        (void)unlinkat (l->dir_fd, l->name, 0);
}

static int start_listening (struct listener *l, const char *dir,
                            struct err *err)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    mode_t mask = umask (l->all ? 0111 : 0177);
    int rc = 0;

    l->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (!address_of (l, &a))
        rc = err_set (err, ENAMETOOLONG, "the name is too long: %s", l->name);
    else if (l->fd < 0 || bind (l->fd, (struct sockaddr *)&a, sizeof (a)) < 0 ||
             listen (l->fd, CONTROL_ASKERS_MAX) < 0)
        rc = err_sys (err, errno, "cannot listen on %s/%s", dir, l->name);
    (void)umask (mask);
    if (rc == 0 && loop_add_fd (l->control->loop, l->fd, on_connect, l) < 0)
        rc = err_set (err, ENOMEM, "no memory to serve");
    return rc;
}

static void stop_listening (struct listener *l)
{
    if (l->fd >= 0) {
        loop_del_fd (l->control->loop, l->fd);
        (void)close (l->fd);
        remove_socket (l);
    }
    fileio_close (l->dir_fd);
    l->fd = l->dir_fd = -1;
}

int control_open (const char *root, struct loop *loop, control_fn *fn,
                  void *arg, struct control **ret, struct err *err)
{
    struct control *c = calloc (1, sizeof (*c));
    int rc;

    if (!c)
        return err_set (err, ENOMEM, "no memory to serve");
    *c = (struct control){ .loop = loop, .fn = fn, .arg = arg };
    c->own = (struct listener){ .control = c, .fd = -1,
                                .name = CONTROL_ROOT_SOCKET };
    c->others = (struct listener){ .control = c, .fd = -1, .dir_fd = -1,
                                   .all = true };
    c->own.dir_fd = open (root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    remove_socket (&c->own);
    if ((rc = start_listening (&c->own, root, err)) < 0) {
        control_close (c);
        return rc;
    }
    *ret = c;
    return 0;
}

/* Whether somebody answers there. */
static bool is_served (const struct listener *l)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool served = fd >= 0 && address_of (l, &a) &&
                  connect (fd, (struct sockaddr *)&a, sizeof (a)) == 0;

    fileio_close (fd);
    return served;
}

int control_open_for_users (struct control *c, const char *path, struct err *err)
{
    struct listener *l = &c->others;
    const char *slash = strrchr (path, '/');
    char dir[PATH_MAX];
    mode_t mask;
    int rc;

    if (!slash || slash == path || strlen (path) >= sizeof (dir) ||
        strlen (slash + 1) > 64 || !slash[1])
        return err_set (err, EINVAL, "%s is not the path of a socket: name a "
                        "directory, too, and use at most 64 bytes for the name",
                        path);
    PRINT (dir, "%.*s", (int)(slash - path), path);
    PRINT (l->name, "%s", slash + 1);
    mask = umask (022);
    rc = fileio_mkdirs (dir, 0755, err);
    (void)umask (mask);
    if (rc < 0)
        return rc;
    if ((l->dir_fd = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return err_sys (err, errno, "cannot open directory %s", dir);
    if (is_served (l))
        return err_set (err, EADDRINUSE, "another process listens on %s", path);
    remove_socket (l);
    return start_listening (l, dir, err);
}

void control_close (struct control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CONTROL_ASKERS_MAX; i++) {
        if (c->askers[i])
            leave (c->askers[i]);
    }
    stop_listening (&c->own);
    stop_listening (&c->others);
    free (c);
}
