/* node_agent/control/control.c - messages between wrappers and their agent on a
 * host
 */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 256             // enough for the ranks of a node

/* Make an address below an open directory: its path may be longer than the 107
 * bytes of an address.
 */
static int open_dir (const char *dir, struct sockaddr_un *a, struct err *err)
{
    int fd = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return err_sys (err, errno, "cannot open directory %s", dir);
    memset (a, 0, sizeof (*a));
    a->sun_family = AF_UNIX;
    PRINT (a->sun_path, "/proc/self/fd/%d/%s", fd, CONTROL_SOCKET);
    return fd;
}

int control_listen (const char *dir, struct err *err)
{
    struct sockaddr_un a;
    int dirfd = open_dir (dir, &a, err), fd, rc = 0;

    if (dirfd < 0)
        return dirfd;
    (void)unlinkat (dirfd, CONTROL_SOCKET, 0);
    fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind (fd, (struct sockaddr *)&a, sizeof (a)) < 0 ||
        listen (fd, BACKLOG) < 0)
        rc = err_sys (err, errno, "cannot listen on %s/%s", dir,
                      CONTROL_SOCKET);
    if (rc < 0 && fd >= 0)
        (void)close (fd);
    (void)close (dirfd);
    return rc < 0 ? rc : fd;
}

void control_unlisten (const char *dir, int listener)
{
    int dirfd = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dirfd >= 0) {
        (void)unlinkat (dirfd, CONTROL_SOCKET, 0);
        (void)close (dirfd);
    }
    (void)close (listener);
}

int control_accept (int listener)
{
    int fd = accept4 (listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    return fd < 0 ? -errno : fd;
}

int control_connect (const char *dir, struct err *err)
{
    struct sockaddr_un a;
    int dirfd = open_dir (dir, &a, err), fd, rc = 0;

    if (dirfd < 0)
        return dirfd;
    fd = socket (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect (fd, (struct sockaddr *)&a, sizeof (a)) < 0)
        rc = err_sys (err, errno, "cannot reach the agent at %s/%s", dir,
                      CONTROL_SOCKET);
    if (rc < 0 && fd >= 0)
        (void)close (fd);
    (void)close (dirfd);
    return rc < 0 ? rc : fd;
}

int control_send (int fd, struct json *j)
{
    char *text = json_print (j, false);
    int rc = -ENOMEM;

    if (text)
        rc = send (fd, text, strlen (text), MSG_NOSIGNAL) < 0 ? -errno : 0;
    free (text);
    json_free (j);
    return rc;
}

struct json *control_receive (int fd, int *rc)
{
    static char packet[CONTROL_PACKET_MAX];
    ssize_t n;
    struct json *j;

    // the kernel reports a reset once (the other side has ended without reading
    // everything), before it delivers what was sent earlier
    do {
        n = recv (fd, packet, sizeof (packet), 0);
    } while (n < 0 && (errno == EINTR || errno == ECONNRESET));
    if (n <= 0) {
        *rc = n == 0 ? -EPIPE : -errno;
        return NULL;
    }
    j = json_parse (packet, (size_t)n, NULL);
    *rc = j ? 0 : -EBADMSG;
    return j;
}
