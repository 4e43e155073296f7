/* aggregator/archive/root_ask.c - ask whoever serves a root */
#include "archive/root_control.h"

#include "archive/request.h"
#include "base/buf.h"
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

/* ---- connecting ---- */

/* Connect to a socket in a directory; -ENOENT or -ECONNREFUSED: nobody listens.
 */
static int connect_in (const char *dir, const char *name, struct err *err)
{
    int dir_fd = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd, rc = 0;
    struct sockaddr_un a = { .sun_family = AF_UNIX };

    if (dir_fd < 0)
        return err_sys (err, errno, "cannot open directory %s", dir);
    PRINT (a.sun_path, "/proc/self/fd/%d/%s", dir_fd, name);
    fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect (fd, (struct sockaddr *)&a, sizeof (a)) < 0)
        rc = err_sys (err, errno, "cannot ask the aggregator of %s (%s)", dir,
                      name);
    (void)close (dir_fd);
    if (rc < 0)
        fileio_close (fd);
    return rc < 0 ? rc : fd;
}

const char *control_users_socket (void)
{
    const char *path = getenv (ROOT_SOCKET_VARIABLE);

    return path && *path ? path : ROOT_SOCKET_DEFAULT;
}

static int connect_as_user (struct err *err)
{
    const char *path = control_users_socket (), *slash = strrchr (path, '/');
    char dir[PATH_MAX];
    int fd;

    if (!slash || slash == path)
        return err_set (err, ENOENT, "%s is not a path of a socket: %s", path,
                        ROOT_SOCKET_VARIABLE);
    PRINT (dir, "%.*s", (int)(slash - path), path);
    fd = connect_in (dir, slash + 1, err);
    return fd == -ENOENT || fd == -ECONNREFUSED
               ? err_set (err, -fd, "no service answers at %s (%s)", path,
                          ROOT_SOCKET_VARIABLE) : fd;
}

/* Whether 'rc', of reaching into the root, says that this user has nothing to do
 * there, or that no root was meant: the default one does not exist.
 */
static bool is_for_users (const char *root, int rc)
{
    bool none = rc == -ENOENT && strcmp (root, ROOT_DEFAULT) == 0 &&
                access (root, F_OK) < 0;

    return (rc == -EACCES || rc == -EPERM || none) &&
           access (control_users_socket (), F_OK) == 0;
}

static int connect_to (const char *root, struct err *err)
{
    const struct timeval limit = { .tv_sec = CONTROL_WAIT_S };
    int fd = connect_in (root, CONTROL_ROOT_SOCKET, err);

    if (fd < 0 && is_for_users (root, fd))
        fd = connect_as_user (err);
    if (fd >= 0 && setsockopt (fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
                               sizeof (limit)) < 0) {
        (void)close (fd);
        return err_sys (err, errno, "cannot ask the aggregator of %s", root);
    }
    return fd;
}

/* ---- saying and hearing ---- */

/* All of the text and a newline; descriptors come with the first byte. */
static int root_ask_say (int fd, const char *text, const int *pipes,
                         struct err *err)
{
    size_t size = strlen (text) + 1, sent = 0;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (CONTROL_PIPES * sizeof (int))];
    } extra = { .bytes = { 0 } };
    struct iovec part[] = { { (void *)(uintptr_t)text, size - 1 },
                            { (void *)(uintptr_t)"\n", 1 } };
    struct msghdr m = { .msg_iov = part, .msg_iovlen = 2 };

    if (pipes) {
        m.msg_control = extra.bytes;
        m.msg_controllen = sizeof (extra.bytes);
        extra.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN (CONTROL_PIPES * sizeof (int)),
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy (CMSG_DATA (&extra.head), pipes, CONTROL_PIPES * sizeof (int));
    }
    while (sent < size) {
        ssize_t n = sendmsg (fd, &m, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            return err_sys (err, errno, "the aggregator does not listen");
        if (n <= 0)
            continue;
        m.msg_control = NULL;
        m.msg_controllen = 0;
        sent += (size_t)n;
        part[0].iov_len = sent < size - 1 ? size - 1 - sent : 0;
        part[0].iov_base = (void *)(uintptr_t)(text + size - 1 -
                                               part[0].iov_len);
    }
    return 0;
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

static int errno_of (int64_t status)
{
    return status == EX_USAGE      ? EINVAL
           : status == EX_NOINPUT  ? ENOENT
           : status == EX_NOPERM   ? EACCES
           : status == EX_TEMPFAIL ? EAGAIN
                                   : EIO;
}

static int root_ask_answer (int fd, struct json **answer, struct err *err)
{
    int64_t status = 0;

    if (!(*answer = hear (fd, err)))
        return -EIO;
    if (json_is_true (json_get (*answer, "ok")))
        return 0;
    (void)json_int (json_get (*answer, "status"), &status);
    return err_set (err, errno_of (status), "%s",
                    json_text (json_get (*answer, "text"),
                               "the aggregator refused it"));
}

int control_hear (int fd, struct json **answer, struct err *err)
{
    int rc = root_ask_answer (fd, answer, err);

    (void)close (fd);
    if (rc < 0) {
        json_free (*answer);
        *answer = NULL;
    }
    return rc;
}

/* ---- asking ---- */

/* Nobody serves the root, which is locked. */
static int open_here (struct control_root *r, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), r->root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", r->root);
    if (access (path, F_OK) < 0)
        return errno == ENOENT ? err_set (err, ENOENT, ROOT_IS_NONE, r->root)
                               : err_sys (err, errno, "cannot open %s", path);
    rc = ledger_open (path, &r->ledger, err);
    return rc < 0 ? rc : store_open (r->root, r->ledger, &r->store, err);
}

/* Nobody serves the root, which stays as it is: somebody may be about to. */
static int refuse_here (const char *root, const struct json *request,
                        struct err *err)
{
    struct ledger *l = NULL;
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if ((rc = root_check_backup (root, err)) < 0 ||
        (rc = root_check_free (root, err)) < 0)
        return rc;
    if ((rc = ledger_open_quick (path, &l, err)) == -ENOENT)
        rc = err_set (err, ENOENT, ROOT_IS_NONE, root);
    if (rc == 0)
        rc = request_refuse_unserved (l, root, request, err);
    ledger_close (l);
    return rc;
}

void control_release (struct control_root *r)
{
    store_close (r->store);
    ledger_close (r->ledger);
    fileio_close (r->lock);
    *r = (struct control_root)CONTROL_ROOT (r->root);
}

/* Try once; -EBUSY if another process has the root and does not listen. */
static int try_once (struct control_root *r, const struct json *request,
                     const char *text, struct json **answer, bool *served,
                     struct err *err)
{
    int fd = r->lock < 0 ? connect_to (r->root, err) : -ENOENT, rc;

    *served = fd >= 0;
    if (fd >= 0) {
        rc = root_ask_say (fd, text, NULL, err);
        rc = rc < 0 ? rc : root_ask_answer (fd, answer, err);
        (void)close (fd);
        return rc;
    }
    if (fd != -ENOENT && fd != -ECONNREFUSED)
        return fd;
    if (request_needs_service (request))
        return refuse_here (r->root, request, err);
    if (r->lock < 0) {
        if ((rc = root_check_owner (r->root, err)) < 0 ||
            (rc = root_check_backup (r->root, err)) < 0)
            return rc;
        if ((r->lock = root_lock (r->root, false, err)) < 0)
            return r->lock;
        if ((rc = open_here (r, err)) < 0) {
            control_release (r);
            return rc;
        }
    }
    *answer = json_object ();
    return request_execute (r->ledger, r->store, request, *answer, err);
}

/* Tell a service for users which root is meant, unless any will do. */
static void name_root (const char *root, struct json *request)
{
    char path[PATH_MAX];

    if (strcmp (root, ROOT_DEFAULT) != 0)
        json_add_text (request, "root", realpath (root, path) ? path : root);
}

int control_ask_again (struct control_root *r, struct json *request,
                       struct json **answer, bool *served, struct err *err)
{
    const struct timespec pause = { .tv_nsec = TRY_MS * NS_PER_MS };
    char *text;
    int rc = -EBUSY;

    *answer = NULL;
    // what a service runs for others reads: asking, it would be its owner
    if (getenv (ROOT_VIEW_VARIABLE)) {
        json_free (request);
        return err_set (err, EACCES, "a view asks for nothing");
    }
    name_root (r->root, request);
    text = json_print (request, false);
    if (!text || strlen (text) >= CONTROL_LINE_MAX)
        rc = err_set (err, E2BIG, "the request is too long");
    for (unsigned i = 0; i < TRIES && rc == -EBUSY; i++) {
        if (i > 0)
            (void)nanosleep (&pause, NULL);
        rc = try_once (r, request, text, answer, served, err);
    }
    if (rc < 0) {
        json_free (*answer);
        *answer = NULL;
    }
    free (text);
    json_free (request);
    return rc;
}

int control_ask (const char *root, struct json *request, struct json **answer,
                 bool *served, struct err *err)
{
    struct control_root r = CONTROL_ROOT (root);
    int rc = control_ask_again (&r, request, answer, served, err);

    control_release (&r);
    return rc;
}

static bool is_served (const char *root)
{
    int fd = connect_in (root, CONTROL_ROOT_SOCKET, NULL);

    fileio_close (fd);
    return fd >= 0;
}

int control_lock (const char *root, bool make, int64_t wait_ns,
                  struct err *err)
{
    const struct timespec pause = { .tv_nsec = TRY_MS * NS_PER_MS };
    int64_t until_ns = clock_mono_ns () + wait_ns;
    int fd;

    while ((fd = root_lock (root, make, err)) == -EBUSY && !is_served (root) &&
           clock_mono_ns () < until_ns)
        (void)nanosleep (&pause, NULL);
    return fd;
}

bool control_is_needed (const char *root)
{
    char path[PATH_MAX];

    return fileio_join (path, sizeof (path), root, "ledger.db") &&
           access (path, R_OK) < 0 && is_for_users (root, -errno);
}

int control_ask_for (const char *root, struct json *request,
                     const int pipes[CONTROL_PIPES], struct err *err)
{
    int fd = connect_as_user (err), rc = 0;
    char *text;

    name_root (root, request);
    text = json_print (request, false);
    if (fd >= 0 && (!text || strlen (text) >= CONTROL_LINE_MAX))
        rc = err_set (err, E2BIG, "the request is too long");
    else if (fd >= 0)
        rc = root_ask_say (fd, text, pipes, err);
    free (text);
    json_free (request);
    if (fd >= 0 && rc < 0)
        (void)close (fd);
    return rc < 0 ? rc : fd;
}
