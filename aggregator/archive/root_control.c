/* aggregator/archive/root_control.c - requests of verbs to the owner of a root
 */
#include "archive/root_control.h"

#include "archive/request.h"
#include "base/buf.h"
#include "base/clock.h"
#include "store/fileio.h"
#include "store/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define TRY_MS 100              // the owner of the lock may be starting, ...
#define TRIES 50                // ... or ending

struct asker {
    struct control *control;
    int fd;                     // -1: free
    size_t used;
    char line[CONTROL_LINE_MAX];
};

struct control {
    struct loop *loop;
    control_fn *fn;
    void *arg;
    int dir_fd;                 // the root
    int listener;
    struct asker *askers[CONTROL_ASKERS_MAX];
};

/* A socket address relative to a directory's descriptor: paths may be longer
 * than the 107 bytes of an address.
 */
static struct sockaddr_un address_of (int dir_fd)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    PRINT (a.sun_path, "/proc/self/fd/%d/%s", dir_fd, CONTROL_ROOT_SOCKET);
    return a;
}

/* ---- answering ---- */

static void leave (struct asker *x)
{
    loop_del_fd (x->control->loop, x->fd);
    (void)close (x->fd);
    for (size_t i = 0; i < CONTROL_ASKERS_MAX; i++) {
        if (x->control->askers[i] == x)
            x->control->askers[i] = NULL;
    }
    free (x);
}

static int status_of (int rc)
{
    return rc == -EINVAL   ? EX_USAGE
           : rc == -ENOENT ? EX_NOINPUT
                           : EX_IOERR;
}

/* The answer as text, with a newline; NULL: no memory, or too long. */
static char *answer_to (struct control *c, const char *line, size_t size)
{
    struct err err = { "" };
    struct json *asked = json_parse (line, size, &err);
    struct json *answer = json_object ();
    int rc = asked && json_is_object (asked)
                 ? c->fn (c->arg, asked, answer, &err)
                 : err_set (&err, EINVAL, "the request is not a JSON object");
    char *text, *p;

    json_add_bool (answer, "ok", rc >= 0);
    if (rc < 0) {
        json_add_int (answer, "status", status_of (rc));
        json_add_text (answer, "text", err.text);
    }
    text = json_print (answer, false);
    json_free (asked);
    json_free (answer);
    if (text && (p = realloc (text, strlen (text) + 2))) {
        text = p;
        (void)strcat (text, "\n");
    }
    return text;
}

static void on_readable (void *arg)
{
    struct asker *x = arg;
    ssize_t n = recv (x->fd, x->line + x->used, sizeof (x->line) - x->used, 0);
    char *end, *text;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        leave (x);
        return;
    }
    end = memchr (x->line + x->used, '\n', (size_t)n);
    x->used += (size_t)n;
    if (!end && x->used < sizeof (x->line))
        return;
    text = end ? answer_to (x->control, x->line, (size_t)(end - x->line))
               : NULL;
    // a socket may hold more than one line
    if (text)
        (void)!send (x->fd, text, strlen (text), MSG_NOSIGNAL);
    free (text);
    leave (x);
}

/* The mode of the file restricts access too, but it may have been changed. */
static bool is_owner (int fd)
{
    struct ucred peer;
    socklen_t size = sizeof (peer);

    return getsockopt (fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid () || peer.uid == 0);
}

static void on_connect (void *arg)
{
    struct control *c = arg;
    int fd = accept4 (c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct asker *x = NULL;
    size_t i = 0;

    if (fd < 0)
        return;
    while (i < CONTROL_ASKERS_MAX && c->askers[i])
        i++;
    if (i < CONTROL_ASKERS_MAX && is_owner (fd))
        x = calloc (1, sizeof (*x));
    if (x) {
        x->control = c;
        x->fd = fd;
        if (loop_add_fd (c->loop, fd, on_readable, x) == 0) {
            c->askers[i] = x;
            return;
        }
    }
    free (x);
    (void)close (fd);
}

int control_open (const char *root, struct loop *loop, control_fn *fn,
                  void *arg, struct control **ret, struct err *err)
{
    struct control *c = calloc (1, sizeof (*c));
    struct sockaddr_un a;
    mode_t mask;
    int rc = 0;

    if (!c)
        return err_set (err, ENOMEM, "no memory to serve");
    *c = (struct control){ .loop = loop, .fn = fn, .arg = arg,
                           .listener = -1 };
    c->dir_fd = open (root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    a = address_of (c->dir_fd);
    (void)unlinkat (c->dir_fd, CONTROL_ROOT_SOCKET, 0); // of a dead process
    c->listener = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          0);
    mask = umask (0177);
    if (c->listener < 0 ||
        bind (c->listener, (struct sockaddr *)&a, sizeof (a)) < 0 ||
        listen (c->listener, CONTROL_ASKERS_MAX) < 0)
        rc = err_sys (err, errno, "cannot listen on %s/%s", root,
                      CONTROL_ROOT_SOCKET);
    (void)umask (mask);
    if (rc == 0 && loop_add_fd (loop, c->listener, on_connect, c) < 0)
        rc = err_set (err, ENOMEM, "no memory to serve");
    if (rc < 0) {
        control_close (c);
        return rc;
    }
    *ret = c;
    return 0;
}

void control_close (struct control *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CONTROL_ASKERS_MAX; i++) {
        if (c->askers[i])
            leave (c->askers[i]);
    }
    if (c->listener >= 0) {
        loop_del_fd (c->loop, c->listener);
        (void)close (c->listener);
        (void)unlinkat (c->dir_fd, CONTROL_ROOT_SOCKET, 0);
    }
    fileio_close (c->dir_fd);
    free (c);
}

/* ---- asking ---- */

/* Connect; -ENOENT or -ECONNREFUSED: nobody listens. */
static int connect_to (const char *root, struct err *err)
{
    const struct timeval limit = { .tv_sec = CONTROL_WAIT_S };
    int dir_fd = open (root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc = 0;
    struct sockaddr_un a;

    if (dir_fd < 0)
        return err_sys (err, errno, "cannot open directory %s", root);
    a = address_of (dir_fd);
    fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof (limit)) < 0 ||
        connect (fd, (struct sockaddr *)&a, sizeof (a)) < 0)
        rc = err_sys (err, errno, "cannot ask the aggregator of %s (%s)", root,
                      CONTROL_ROOT_SOCKET);
    (void)close (dir_fd);
    if (rc < 0)
        fileio_close (fd);
    return rc < 0 ? rc : fd;
}

static int root_control_say (int fd, const char *text, struct err *err)
{
    size_t size = strlen (text), sent = 0;

    while (sent < size) {
        ssize_t n = send (fd, text + sent, size - sent, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return err_sys (err, errno, "the aggregator does not listen");
        sent += n > 0 ? (size_t)n : 0;
    }
    return send (fd, "\n", 1, MSG_NOSIGNAL) == 1
               ? 0 : err_sys (err, errno, "the aggregator does not listen");
}

static struct json *hear (int fd, struct err *err)
{
    struct json *j = NULL;
    struct buf b;
    ssize_t n;
    char part[4096];

    buf_init (&b, CONTROL_LINE_MAX);
    while ((n = recv (fd, part, sizeof (part), 0)) > 0 ||
           (n < 0 && errno == EINTR))
        buf_put (&b, part, n > 0 ? (size_t)n : 0);
    if (b.failed || b.size == 0 || n < 0)
        err_set (err, ETIMEDOUT, "the aggregator did not answer; it may have "
                 "carried out the request nevertheless");
    else
        j = json_parse ((const char *)b.data, b.size, err);
    buf_fini (&b);
    return j;
}

static int root_control_ask (int fd, const char *text, struct json **answer,
                             struct err *err)
{
    int64_t status = 0;
    int rc = root_control_say (fd, text, err);

    if (rc < 0 || !(*answer = hear (fd, err)))
        return rc < 0 ? rc : -EIO;
    if (json_is_true (json_get (*answer, "ok")))
        return 0;
    (void)json_int (json_get (*answer, "status"), &status);
    return err_set (err, status == EX_USAGE     ? EINVAL
                         : status == EX_NOINPUT ? ENOENT
                                                : EIO,
                    "%s", json_text (json_get (*answer, "text"),
                                     "the aggregator refused it"));
}

/* Nobody serves the root: lock it and execute the request here. */
static int do_here (const char *root, const struct json *request,
                    struct json *answer, struct err *err)
{
    struct ledger *ledger = NULL;
    struct store *store = NULL;
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (access (path, F_OK) < 0)
        return errno == ENOENT ? err_set (err, ENOENT, ROOT_IS_NONE, root)
                               : err_sys (err, errno, "cannot open %s", path);
    if ((rc = ledger_open (path, &ledger, err)) == 0 &&
        (rc = store_open (root, ledger, &store, err)) == 0)
        rc = request_execute (ledger, store, request, answer, err);
    store_close (store);
    ledger_close (ledger);
    return rc;
}

/* Try once; -EBUSY if another process has the root and does not listen. */
static int try_once (const char *root, const struct json *request,
                     const char *text, struct json **answer, bool *served,
                     struct err *err)
{
    int fd = connect_to (root, err), lock, rc;

    *served = fd >= 0;
    if (fd >= 0) {
        rc = root_control_ask (fd, text, answer, err);
        (void)close (fd);
        return rc;
    }
    if (fd != -ENOENT && fd != -ECONNREFUSED)
        return fd;
    if ((lock = root_lock (root, false, err)) < 0)
        return lock;
    *answer = json_object ();
    rc = do_here (root, request, *answer, err);
    (void)close (lock);
    return rc;
}

int control_ask (const char *root, struct json *request, struct json **answer,
                 bool *served, struct err *err)
{
    const struct timespec pause = { .tv_nsec = TRY_MS * NS_PER_MS };
    char *text = json_print (request, false);
    int rc = -EBUSY;

    *answer = NULL;
    if (!text || strlen (text) >= CONTROL_LINE_MAX)
        rc = err_set (err, E2BIG, "the request is too long");
    for (unsigned i = 0; i < TRIES && rc == -EBUSY; i++) {
        if (i > 0)
            (void)nanosleep (&pause, NULL);
        rc = try_once (root, request, text, answer, served, err);
    }
    if (rc < 0) {
        json_free (*answer);
        *answer = NULL;
    }
    free (text);
    json_free (request);
    return rc;
}
