/* common/net/net.c - messages over ZeroMQ */
#include "net/net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define HWM 1000                // messages; chunks are bounded by credit
#define MESSAGE_MAX (CONTENT_CHUNK + 65536)     // bytes of one frame
#define BACKLOG 1024            // agents that connect at once
#define HEARTBEAT_MS 10000
#define TIMEOUT_MS 60000        // a starved node lives through this
#define RECONNECT_MS 100
#define RECONNECT_MAX_MS 10000
#define FRAMES_MAX 4

struct net {
    void *context, *socket;
    bool router;
    struct loop *loop;
    int fd;                     // ZMQ_FD, -1 before net_attach
    net_fn *fn;
    void *arg;
};

static int net_error (const char *what, const char *endpoint, struct err *err)
{
    int code = zmq_errno ();

    return err_set (err, code > 0 && code < 4096 ? code : EIO, "cannot %s %s: "
                    "%s", what, endpoint, zmq_strerror (code));
}

static int set_options (struct net *n)
{
    static const struct {
        int option, value;
    } common[] = {
        { ZMQ_LINGER, 0 },
        { ZMQ_SNDHWM, HWM },
        { ZMQ_RCVHWM, HWM },
        { ZMQ_BACKLOG, BACKLOG },
        { ZMQ_IPV6, 1 },
        { ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS },
        { ZMQ_HEARTBEAT_TIMEOUT, TIMEOUT_MS },
        { ZMQ_HANDSHAKE_IVL, TIMEOUT_MS },
        { ZMQ_RECONNECT_IVL, RECONNECT_MS },
        { ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS },
    };
    int64_t most = MESSAGE_MAX;
    int one = 1;

    for (size_t i = 0; i < sizeof (common) / sizeof (common[0]); i++) {
        if (zmq_setsockopt (n->socket, common[i].option, &common[i].value,
                            sizeof (int)) < 0)
            return -1;
    }
    if (zmq_setsockopt (n->socket, ZMQ_MAXMSGSIZE, &most, sizeof (most)) < 0)
        return -1;
    return zmq_setsockopt (n->socket,
                           n->router ? ZMQ_ROUTER_MANDATORY : ZMQ_IMMEDIATE,
                           &one, sizeof (one));
}

static struct net *net_create (bool router)
{
    struct net *n = calloc (1, sizeof (*n));

    if (!n)
        return NULL;
    n->router = router;
    n->fd = -1;
    n->context = zmq_ctx_new ();
    if (n->context)
        n->socket = zmq_socket (n->context, router ? ZMQ_ROUTER : ZMQ_DEALER);
    if (!n->socket || set_options (n) < 0) {
        net_close (n);
        return NULL;
    }
    return n;
}

int net_listen (const char *endpoint, int fd, struct net **ret,
                struct err *err)
{
    struct net *n = net_create (true);
    int rc;

    if (!n)
        return net_error ("make a socket for", endpoint, err);
    if (fd >= 0 && zmq_setsockopt (n->socket, ZMQ_USE_FD, &fd,
                                   sizeof (fd)) < 0) {
        rc = net_error ("hand a descriptor over for", endpoint, err);
        goto error;
    }
    if (zmq_bind (n->socket, endpoint) < 0) {
        rc = net_error ("listen on", endpoint, err);
        goto error;
    }
    *ret = n;
    return 0;
error:
    net_close (n);
    return rc;
}

int net_connect (const char *endpoint, struct net **ret, struct err *err)
{
    struct net *n = net_create (false);

    if (!n)
        return net_error ("make a socket for", endpoint, err);
    if (zmq_connect (n->socket, endpoint) < 0) {
        int rc = net_error ("connect to", endpoint, err);

        net_close (n);
        return rc;
    }
    *ret = n;
    return 0;
}

void net_close (struct net *n)
{
    if (!n)
        return;
    if (n->loop) {
        loop_del_fd (n->loop, n->fd);
        loop_del_source (n->loop, n);
    }
    if (n->socket)
        (void)zmq_close (n->socket);
    if (n->context)
        (void)zmq_ctx_term (n->context);
    free (n);
}

static bool pending (void *arg)
{
    struct net *n = arg;
    int events = 0;
    size_t size = sizeof (events);

    return zmq_getsockopt (n->socket, ZMQ_EVENTS, &events, &size) == 0 &&
           (events & ZMQ_POLLIN);
}

/* Every frame of the next message; those above FRAMES_MAX are dropped.  The
 * number of frames, 0 when there is none now.
 */
static int receive_frames (struct net *n, zmq_msg_t *frames)
{
    int count = 0;

    for (;;) {
        zmq_msg_t extra;
        zmq_msg_t *f = count < FRAMES_MAX ? &frames[count] : &extra;

        (void)zmq_msg_init (f);
        if (zmq_msg_recv (f, n->socket, ZMQ_DONTWAIT) < 0) {
            (void)zmq_msg_close (f);
            return count;
        }
        count += f != &extra;
        if (!zmq_msg_more (f)) {
            if (f == &extra)
                (void)zmq_msg_close (f);
            return count;
        }
        if (f == &extra)
            (void)zmq_msg_close (f);
    }
}

static void deliver (struct net *n, zmq_msg_t *frames, int count)
{
    struct net_peer peer = { .size = 0 };
    struct message m;
    struct err err = { "" };
    int at = n->router ? 1 : 0, rc;

    if (n->router && zmq_msg_size (&frames[0]) <= NET_PEER_MAX) {
        peer.size = (uint8_t)zmq_msg_size (&frames[0]);
        memcpy (peer.id, zmq_msg_data (&frames[0]), peer.size);
    }
    if (count <= at)
        return;
    rc = message_decode (&m, zmq_msg_data (&frames[at]),
                         zmq_msg_size (&frames[at]), &err);
    if (rc == 0 && count != at + 1 + (m.type == MESSAGE_CHUNK))
        rc = err_set (&err, EBADMSG, "a message of %d frames", count);
    if (rc == 0 && m.type == MESSAGE_CHUNK) {
        m.data = zmq_msg_data (&frames[at + 1]);
        m.data_size = zmq_msg_size (&frames[at + 1]);
    }
    n->fn (n->arg, n->router ? &peer : NULL, rc == 0 ? &m : NULL, rc, &err);
}

static void receive_one (void *arg)
{
    struct net *n = arg;
    zmq_msg_t frames[FRAMES_MAX];
    int count = receive_frames (n, frames);

    if (count > 0)
        deliver (n, frames, count);
    for (int i = 0; i < count; i++)
        (void)zmq_msg_close (&frames[i]);
}

static void wake (void *arg)
{
    (void)arg;                  // the loop looks at 'pending' by itself
}

int net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg)
{
    size_t size = sizeof (n->fd);

    n->fn = fn;
    n->arg = arg;
    if (zmq_getsockopt (n->socket, ZMQ_FD, &n->fd, &size) < 0)
        return -zmq_errno ();
    if (loop_add_fd (l, n->fd, wake, n) < 0 ||
        loop_add_source (l, pending, receive_one, n) < 0)
        return -ENOMEM;
    n->loop = l;
    return 0;
}

static int send_frame (struct net *n, const void *data, size_t size, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);

    return zmq_send (n->socket, data, size, flags) < 0 ? -zmq_errno () : 0;
}

int net_send (struct net *n, const struct net_peer *to,
              const struct message *m)
{
    bool chunk = m->type == MESSAGE_CHUNK;
    struct buf b;
    int rc = 0;

    buf_init (&b, 65536);
    message_encode (m, &b);
    if (b.failed)
        rc = -ENOMEM;
    if (rc == 0 && n->router)
        rc = send_frame (n, to->id, to->size, true);
    if (rc == 0)
        rc = send_frame (n, b.data, b.size, chunk);
    if (rc == 0 && chunk)
        rc = send_frame (n, m->data, m->data_size, false);
    buf_fini (&b);
    return rc;
}

bool net_is_loopback (const char *endpoint)
{
    return strncmp (endpoint, "tcp://127.", 10) == 0 ||
           strncmp (endpoint, "tcp://[::1]:", 12) == 0 ||
           strncmp (endpoint, "tcp://localhost:", 16) == 0 ||
           strncmp (endpoint, "ipc://", 6) == 0 ||
           strncmp (endpoint, "inproc://", 9) == 0;
}
