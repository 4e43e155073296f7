/* common/net/net.c - messages over ZeroMQ */
#include "net/net_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// messages of an agent that wait to be sent: at most 24 MiB of chunks in memory
// when the network is slow
#define DEALER_SNDHWM 24
// messages of an aggregator to one agent: memory is bounded with thousands that
// do not read; what finds no room is sent again
#define ROUTER_SNDHWM 1024      // about 200 bytes each
#define BACKLOG 1024            // agents that connect at the same time
#define RECONNECT_MS 100
#define RECONNECT_MAX_MS 10000
#define TURN_MESSAGES 64        // at most, in one turn of the loop
#define TURN_BYTES CONTENT_CHUNK        // and none after so many bytes
#define FRAMES_MAX 4            // of a message: routing id, head, data, and one
                                // too many
#define PAGES_KEPT (16 << 20)   // bytes of freed memory, in each thread
#define LAST_WORDS_MS 500       // for messages sent at the end of an agent
#define OWN_FDS 256             // descriptors that are not connections

static int net_error (const char *what, const char *endpoint, struct err *err)
{
    int code = zmq_errno ();

    return err_set (err, code > 0 && code < 4096 ? code : EIO, "cannot %s %s: "
                    "%s", what, endpoint, zmq_strerror (code));
}

bool net_peer_is (const struct net_peer *a, const struct net_peer *b)
{
    return a->size == b->size && memcmp (a->id, b->id, a->size) == 0;
}

void net_share (struct net *n)
{
    n->shared = true;
}

void net_watch (struct net *n, net_problem_fn *fn, void *arg)
{
    n->problem = fn;
    n->problem_arg = arg;
}

/* ---- life ---- */

/* No heartbeats of ZeroMQ's: libzmq 4.3.4 ends the process by an assertion if one
 * is due, or is among what a peer has sent last, when that peer is gone and more
 * than RCVHWM messages of it wait.  Silent connections are ended by
 * connection_share.c and net_watch_silence instead.
 */
static int set_options (struct net *n)
{
    const struct {
        int option, value;
    } common[] = {
        { ZMQ_LINGER, n->router ? 0 : LAST_WORDS_MS },
        { ZMQ_SNDHWM, n->router ? ROUTER_SNDHWM : DEALER_SNDHWM },
        { ZMQ_RCVHWM, n->router ? NET_WAITING : NET_ANSWERS_WAITING },
        { ZMQ_BACKLOG, BACKLOG },
        { ZMQ_IPV6, 1 },
        { ZMQ_HANDSHAKE_IVL, NET_HANDSHAKE_MS },
        { ZMQ_RECONNECT_IVL, RECONNECT_MS },
        { ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS },
    };
    int64_t most = n->router ? NET_FRAME_MAX : NET_ANSWER_MAX;
    int one = 1;

    for (size_t i = 0; i < sizeof (common) / sizeof (common[0]); i++) {
        if (zmq_setsockopt (n->main.socket, common[i].option,
                            &common[i].value, sizeof (int)) < 0)
            return -1;
    }
    if (zmq_setsockopt (n->main.socket, ZMQ_MAXMSGSIZE, &most,
                        sizeof (most)) < 0)
        return -1;
    return zmq_setsockopt (n->main.socket,
                           n->router ? ZMQ_ROUTER_MANDATORY : ZMQ_IMMEDIATE,
                           &one, sizeof (one));
}

static int set_key (struct net *n, int option, const char *key)
{
    return zmq_setsockopt (n->main.socket, option, key, NET_KEY_SIZE);
}

static int set_keys (struct net *n)
{
    static const char domain[] = "rollcall";
    int one = 1;

    if (set_key (n, ZMQ_CURVE_SECRETKEY, n->security.secret_key) < 0)
        return -1;
    if (n->router)
        return zmq_setsockopt (n->main.socket, ZMQ_CURVE_SERVER, &one,
                               sizeof (one)) < 0 ||
                       zmq_setsockopt (n->main.socket, ZMQ_ZAP_DOMAIN, domain,
                                       sizeof (domain) - 1) < 0
                   ? -1 : 0;
    return set_key (n, ZMQ_CURVE_PUBLICKEY, n->security.public_key) < 0 ||
                   set_key (n, ZMQ_CURVE_SERVERKEY,
                            n->security.server_key) < 0
               ? -1 : 0;
}

static int need_keys (const char *endpoint, bool router, struct err *err)
{
    if (router)
        return err_set (err, ENOKEY, "%s can be reached from other hosts and "
                        "there are no keys: make them (rollcall key new "
                        "server; rollcall key enrol NODE.pub NODE) and give "
                        "--keys DIR, or listen on 127.0.0.1, or give "
                        "--insecure: then anybody can connect and read",
                        endpoint);
    return err_set (err, ENOKEY, "%s is on another host and there are no keys: "
                    "make one (rollcall key new NODE), have it enrolled there, "
                    "and give --key and --server-key, or give --insecure: then "
                    "anybody can read and alter what is sent",
                    endpoint);
}

/* Messages of a MiB come and go all the time, in several threads: without this,
 * glibc gives their pages back each time, and the kernel clears new ones, which
 * takes as long as copying them.
 */
static void keep_pages (void)
{
    (void)mallopt (M_MMAP_THRESHOLD, PAGES_KEPT);
    (void)mallopt (M_TRIM_THRESHOLD, PAGES_KEPT);
}

static int net_create (const char *endpoint, bool router,
                       const struct net_security *security, struct net **ret,
                       struct err *err)
{
    struct net *n;

    if (!security && !net_is_loopback (endpoint))
        return need_keys (endpoint, router, err);
    if (!(n = calloc (1, sizeof (*n))))
        return err_set (err, ENOMEM, "no memory for %s", endpoint);
    n->router = router;
    keep_pages ();
    descriptor_reserve_open (n);
    n->main = n->monitor = n->zap = (struct net_door){ n, NULL, -1 };
    n->secured = security && !security->insecure;
    if (n->secured)
        n->security = *security;
    PRINT (n->endpoint, "%s", endpoint);
    n->context = zmq_ctx_new ();
    if (n->context)
        n->main.socket = zmq_socket (n->context, router ? ZMQ_ROUTER
                                                        : ZMQ_DEALER);
    if (!n->main.socket || set_options (n) < 0 ||
        (n->secured && set_keys (n) < 0)) {
        int rc = net_error ("make a socket for", endpoint, err);

        net_close (n);
        return rc;
    }
    *ret = n;
    return 0;
}

static int cannot_listen (const char *endpoint, struct err *err)
{
    switch (zmq_errno ()) {
    case ENODEV:
    case EADDRNOTAVAIL:
        return err_set (err, EADDRNOTAVAIL, "cannot listen on %s: that is "
                        "neither an address nor a network device of this "
                        "machine, and names of hosts are not looked up: * "
                        "means all its addresses", endpoint);
    case EADDRINUSE:
        return err_set (err, EADDRINUSE, "cannot listen on %s: the port is "
                        "taken (ss -ltnp shows by whom); --listen takes "
                        "another one", endpoint);
    default:
        return net_error ("listen on", endpoint, err);
    }
}

int net_listen (const char *endpoint, int fd,
                const struct net_security *security, struct net **ret,
                struct err *err)
{
    struct net *n = NULL;
    int rc = net_create (endpoint, true, security, &n, err);

    if (rc == 0)
        rc = monitor_open (n, err);
    if (rc == 0 && n->secured && (rc = zap_open (n, err)) == 0)
        rc = zap_self_test (n, err);
    if (rc == 0 && fd >= 0 && zmq_setsockopt (n->main.socket, ZMQ_USE_FD, &fd,
                                              sizeof (fd)) < 0)
        rc = net_error ("hand a descriptor over for", endpoint, err);
    if (rc == 0 && zmq_bind (n->main.socket, endpoint) < 0)
        rc = cannot_listen (endpoint, err);
    if (rc < 0) {
        net_close (n);
        return rc;
    }
    *ret = n;
    return 0;
}

int net_connect (const char *endpoint, const struct net_security *security,
                 struct net **ret, struct err *err)
{
    struct net *n = NULL;
    int rc = net_create (endpoint, false, security, &n, err);

    if (rc == 0)
        rc = monitor_open (n, err);
    if (rc == 0 && zmq_connect (n->main.socket, endpoint) < 0)
        rc = net_error ("connect to", endpoint, err);
    if (rc < 0) {
        net_close (n);
        return rc;
    }
    *ret = n;
    return 0;
}

static void close_door (struct net *n, struct net_door *d)
{
    if (n->loop && d->fd >= 0) {
        loop_del_fd (n->loop, d->fd);
        loop_del_source (n->loop, d);
    }
    if (d->socket)
        (void)zmq_close (d->socket);
}

void net_close (struct net *n)
{
    if (!n)
        return;
    if (n->gone)
        *n->gone = true;
    // first, since libzmq may wait for us to receive events
    if (n->context)
        (void)zmq_ctx_shutdown (n->context);
    close_door (n, &n->main);
    close_door (n, &n->monitor);
    close_door (n, &n->zap);
    monitor_close (n);
    if (n->context)
        (void)zmq_ctx_term (n->context);
    explicit_bzero (&n->security, sizeof (n->security));
    free (n);
}

int64_t net_room_for_peers (void)
{
    struct rlimit r;

    if (getrlimit (RLIMIT_NOFILE, &r) < 0)
        return 0;
    if (r.rlim_cur < r.rlim_max) {
        rlim_t before = r.rlim_cur;

        r.rlim_cur = r.rlim_max;
        if (setrlimit (RLIMIT_NOFILE, &r) < 0)
            r.rlim_cur = before;
    }
    return r.rlim_cur > OWN_FDS ? (int64_t)r.rlim_cur - OWN_FDS : 0;
}

/* ---- messages ---- */

static int events_of (const struct net_door *d)
{
    int events = 0;
    size_t size = sizeof (events);

    return zmq_getsockopt (d->socket, ZMQ_EVENTS, &events, &size) == 0
               ? events : 0;
}

static bool pending (void *arg)
{
    const struct net_door *d = arg;

    return events_of (d) & ZMQ_POLLIN;
}

static bool main_pending (void *arg)
{
    const struct net_door *d = arg;

    return events_of (d) & (ZMQ_POLLIN | (d->net->room ? ZMQ_POLLOUT : 0));
}

/* Receive all frames of the next message; those above FRAMES_MAX are dropped.
 * Returns their number, 0: there is no message now.
 */
static int receive_frames (struct net *n, zmq_msg_t *frames)
{
    int count = 0;

    for (;;) {
        zmq_msg_t extra;
        zmq_msg_t *f = count < FRAMES_MAX ? &frames[count] : &extra;

        (void)zmq_msg_init (f);
        if (zmq_msg_recv (f, n->main.socket, ZMQ_DONTWAIT) < 0) {
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

/* Whether to deliver a message.  If its sender may not connect any more, its
 * HELLO, or ASK, is answered.
 */
static bool is_admitted (struct net *n, struct net_peer *peer,
                         zmq_msg_t *frame, const struct message *m)
{
    struct message refused = { .type = MESSAGE_REFUSED,
                               .reason = REFUSAL_KEY };
    const char *address = zmq_msg_gets (frame, "Peer-Address");
    struct err why = { "" };

    if (!n->router || !n->secured ||
        zap_check (n, frame, peer->who, &why) == 0)
        return true;
    if (!m || (m->type != MESSAGE_HELLO && m->type != MESSAGE_ASK)) {
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
        return false;
    }
    PRINT (refused.text, "%s", why.text);
    (void)net_send (n, peer, &refused);
    net_tell (n, NET_PEER_REFUSED, "%s: %s",
              address ? net_plain_address (address) : "?", why.text);
    return false;
}

/* Whether its key may have this connection, too. */
static bool has_share (struct net *n, const struct net_peer *peer,
                       zmq_msg_t *frame, const struct message *m)
{
    struct message refused = { .type = MESSAGE_REFUSED,
                               .reason = REFUSAL_OTHER };

    if (!n->router || connection_share_admits (n, peer->who, frame))
        return true;
    if (m && (m->type == MESSAGE_HELLO || m->type == MESSAGE_ASK)) {
        PRINT (refused.text, "key %s has as many connections here as it may: "
               "try again later", peer->who);
        (void)net_send (n, peer, &refused);
    }
    return false;
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
    if (rc == 0 && count != at + 1 + message_has_data (m.type))
        rc = err_set (&err, EBADMSG, "a message of %d frames", count);
    if (rc == 0 && message_has_data (m.type)) {
        m.data = zmq_msg_data (&frames[at + 1]);
        m.data_size = zmq_msg_size (&frames[at + 1]);
    }
    monitor_heard (n, &frames[at]);
    n->heard_ns = clock_mono_ns ();
    if (is_admitted (n, &peer, &frames[at], rc == 0 ? &m : NULL) &&
        has_share (n, &peer, &frames[at], rc == 0 ? &m : NULL))
        n->fn (n->arg, n->router ? &peer : NULL, rc == 0 ? &m : NULL, rc,
               &err);
}

/* Call the function that waits for room, if there is room.  It may close the
 * socket.  True: it was called.
 */
static bool tell_room (struct net *n)
{
    loop_fn *room = n->room;

    if (!room || !(events_of (&n->main) & ZMQ_POLLOUT))
        return false;
    n->room = NULL;
    room (n->room_arg);
    return true;
}

/* Receive a message.  Returns its bytes, 0: there is none now. */
static size_t receive_one (struct net *n)
{
    zmq_msg_t frames[FRAMES_MAX];
    int count = receive_frames (n, frames);
    size_t size = 0;

    if (count > 0)
        deliver (n, frames, count);
    for (int i = 0; i < count; i++) {
        size += zmq_msg_size (&frames[i]);
        (void)zmq_msg_close (&frames[i]);
    }
    return count > 0 ? size + 1 : 0;
}

/* Receive several messages in a turn, since polling costs more than a small
 * message; stop if a callback closes the socket or ends the loop.
 */
static void receive_some (void *arg)
{
    struct net *n = ((struct net_door *)arg)->net;
    size_t total = 0, size = 1;
    bool closed = false;

    if (tell_room (n))
        return;
    n->gone = &closed;
    for (int i = 0; i < TURN_MESSAGES && total < TURN_BYTES && size > 0; i++) {
        total += size = receive_one (n);
        if (closed)
            return;
        if (loop_is_stopped (n->loop))
            break;
    }
    n->gone = NULL;
}

static void take_event (void *arg)
{
    (void)monitor_take (((struct net_door *)arg)->net);
}

static void take_question (void *arg)
{
    zap_answer (((struct net_door *)arg)->net);
}

static void wake (void *arg)
{
    (void)arg;                  // the loop checks 'pending' itself
}

static int attach_door (struct loop *l, struct net_door *d,
                        bool (*is_pending) (void *arg), loop_fn *fn)
{
    size_t size = sizeof (d->fd);
    int fd = -1;

    if (!d->socket)
        return 0;
    if (zmq_getsockopt (d->socket, ZMQ_FD, &fd, &size) < 0)
        return -zmq_errno ();
    if (loop_add_fd (l, fd, wake, d) < 0 ||
        loop_add_source (l, is_pending, fn, d) < 0)
        return -ENOMEM;
    d->fd = fd;
    return 0;
}

int net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg)
{
    int rc;

    n->fn = fn;
    n->arg = arg;
    n->loop = l;
    if (n->router)
        connection_share_open (n);
    else
        net_watch_silence (n);
    if ((rc = attach_door (l, &n->main, main_pending, receive_some)) < 0 ||
        (rc = attach_door (l, &n->monitor, pending, take_event)) < 0)
        return rc;
    return attach_door (l, &n->zap, pending, take_question);
}

void net_when_room (struct net *n, loop_fn *fn, void *arg)
{
    n->room = fn;
    n->room_arg = arg;
}

static int send_frame (struct net *n, const void *data, size_t size, bool more)
{
    int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);

    return zmq_send (n->main.socket, data, size, flags) < 0 ? -zmq_errno () : 0;
}

static void free_data (void *data, void *owned)
{
    (void)data;
    free (owned);
}

/* The bytes of a chunk: without a copy if their memory may be kept. */
static int send_data (struct net *n, const struct message *m)
{
    zmq_msg_t f;
    int rc;

    if (!m->owned)
        return send_frame (n, m->data, m->data_size, false);
    if (zmq_msg_init_data (&f, (void *)(uintptr_t)m->data, m->data_size,
                           free_data, m->owned) < 0) {
        free (m->owned);
        return -ENOMEM;
    }
    rc = zmq_msg_send (&f, n->main.socket, ZMQ_DONTWAIT) < 0 ? -zmq_errno ()
                                                             : 0;
    if (rc < 0)
        (void)zmq_msg_close (&f);
    return rc;
}

int net_send (struct net *n, const struct net_peer *to,
              const struct message *m)
{
    bool data = message_has_data (m->type);
    struct buf b;
    int rc = 0;

    buf_init (&b, 65536);
    message_encode (m, &b);
    if (b.failed)
        rc = -ENOMEM;
    if (rc == 0 && n->router)
        rc = send_frame (n, to->id, to->size, true);
    if (rc == 0)
        rc = send_frame (n, b.data, b.size, data);
    if (rc == 0 && data)
        rc = send_data (n, m);
    else
        free (m->owned);
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

bool net_library (char out[16])
{
    int major, minor, patch;

    zmq_version (&major, &minor, &patch);
    (void)snprintf (out, 16, "%d.%d.%d", major, minor, patch);
    return zmq_has ("curve") == 1;
}
