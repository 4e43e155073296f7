/* common/net/monitor.c - report why connections fail
 *
 * libzmq reports events of connections on a socket.  A refused key ends a
 * connecting socket for good, without a report.  After an end in the handshake
 * libzmq connects again every 100 ms, for ever, since it considers the TCP
 * connection a success.  In both cases the connection is retried from here.
 */
#include "net/net_private.h"

#include "base/clock.h"
#include "base/counter.h"
#include "net/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define RETRY_NS NS_PER_S               // after a refusal; doubled each time
#define NEXT_KEY_NS (100 * NS_PER_MS)   // until another server key is tried
#define CLOSED_LIMIT 3                  // so many in a row are no accident
#define UNREACHED_LIMIT 5               // likewise; about two seconds
#define REFUSED_NS NS_PER_S             // a refusal arrives within this time

#define EVENTS \
    (ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED | \
     ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_DELAYED | ZMQ_EVENT_CLOSED | \
     ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | \
     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | \
     ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)

int monitor_open (struct net *n, struct err *err)
{
    static const int zero = 0;

    n->retry_ns = RETRY_NS;
    n->monitor.socket = zmq_socket (n->context, ZMQ_PAIR);
    if (!n->monitor.socket ||
        zmq_setsockopt (n->monitor.socket, ZMQ_LINGER, &zero,
                        sizeof (zero)) < 0 ||
        zmq_socket_monitor (n->main.socket, "inproc://monitor", EVENTS) < 0 ||
        zmq_connect (n->monitor.socket, "inproc://monitor") < 0)
        return err_set (err, EIO, "cannot watch connections of %s (%s)",
                        n->endpoint, zmq_strerror (zmq_errno ()));
    return 0;
}

int monitor_next (void *socket, uint32_t *value)
{
    uint16_t event = 0;
    bool more = true;

    for (int at = 0; more; at++) {
        zmq_msg_t f;
        const uint8_t *bytes;

        (void)zmq_msg_init (&f);
        if (zmq_msg_recv (&f, socket, ZMQ_DONTWAIT) < 0)
            return 0;
        bytes = zmq_msg_data (&f);
        if (at == 0 && zmq_msg_size (&f) == sizeof (event) + sizeof (*value)) {
            memcpy (&event, bytes, sizeof (event));
            memcpy (value, bytes + sizeof (event), sizeof (*value));
        }
        more = zmq_msg_more (&f);
        (void)zmq_msg_close (&f);
    }
    return event;
}

/* ---- connections ---- */

static void monitor_forget (struct net *n, uint32_t fd)
{
    if (fd >= n->nconnections)
        return;
    n->ending -= n->connections[fd].ended;
    n->connections[fd] = (struct net_connection){ .since_ns = 0 };
}

/* Remember the peer of a connection, for the report of a refusal: events of a
 * handshake only have our own address.  It is unknown if the peer has hung up
 * already; zap.c always has the address.
 */
static void remember (struct net *n, uint32_t fd)
{
    size_t count = (size_t)fd + 64;
    void *more;

    if (fd >= n->nconnections) {
        if (!(more = realloc (n->connections,
                              count * sizeof (*n->connections))))
            return;
        n->connections = more;
        memset (&n->connections[n->nconnections], 0,
                (count - n->nconnections) * sizeof (*n->connections));
        n->nconnections = count;
    }
    monitor_forget (n, fd);
    net_peer_address ((int)fd, n->connections[fd].address);
    n->connections[fd].since_ns = clock_mono_ns ();
    partial_message_watch (n);
}

void monitor_heard (struct net *n, zmq_msg_t *frame)
{
    int fd = zmq_msg_get (frame, ZMQ_SRCFD);

    if (fd >= 0 && (size_t)fd < n->nconnections)
        n->connections[fd].heard = n->connections[fd].read = true;
}

/* ---- connecting ---- */

/* Take the next key of the file of server keys: the aggregator may have another
 * one.  The file is read again, since it may have been replaced or may have two
 * keys.
 */
static bool take_next_key (struct net *n)
{
    char keys[KEY_SERVERS_MAX][NET_KEY_SIZE];
    const char *file = n->secured ? n->security.server_file : NULL;
    int count = file ? key_read_servers (file, keys, NULL) : 0, at = 0;

    while (at < count && strcmp (keys[at], n->security.server_key) != 0)
        at++;
    if (count < 1 || (count == 1 && at == 0))
        return false;
    at = at < count ? (at + 1) % count : 0;
    memcpy (n->security.server_key, keys[at], NET_KEY_SIZE);
    return true;
}

/* A handshake has failed.  True: another key is tried at once.  False: all were
 * tried, and the caller waits and reports it.
 */
static bool try_next_key (struct net *n)
{
    bool other = take_next_key (n);

    if (!other || n->switched)
        return false;
    n->switched = net_connect_after (n, NEXT_KEY_NS);
    return n->switched;
}

static void tell_refused (struct net *n, int event, uint32_t value)
{
    char fingerprint[KEY_FINGERPRINT_SIZE];

    key_fingerprint (n->security.public_key, fingerprint);
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
        net_tell (n, NET_KEY_REFUSED, "%s refuses this key, %s (%s): has it "
                  "been enrolled there (rollcall key enrol), or was it "
                  "revoked?", n->endpoint, fingerprint,
                  n->security.public_key);
    else if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        net_tell (n, NET_NOT_ALIKE, n->secured
                  ? "%s does not encrypt, and this side has keys (--key): "
                    "give it --keys, or leave --key out on loopback"
                  : "%s requires an encrypted connection, and this side has "
                    "no keys: give --key and --server-key", n->endpoint);
    else
        net_tell (n, NET_NOT_ALIKE, "%s is not an aggregator, or --server-key "
                  "is not its key", n->endpoint);
}

static void tell_no_detail (struct net *n, uint32_t value)
{
    if (value == EAGAIN || value == ETIMEDOUT) {
        net_tell (n, NET_SLOW, "%s did not answer in the handshake within %d "
                  "s: is it overloaded, or not an aggregator?",
                  n->endpoint, NET_HANDSHAKE_MS / 1000);
        return;
    }
    if (try_next_key (n))
        return;
    if (++n->closed < CLOSED_LIMIT && !n->switched)
        return;
    net_retry_later (n);
    if (n->closed < CLOSED_LIMIT)
        return;
    net_tell (n, NET_CLOSED, n->secured
              ? "%s ends the connection in the handshake: --server-key is not "
                "its key, it does not encrypt, or it is starting"
              : "%s ends the connection in the handshake: it requires "
                "encryption (--key, --server-key), is not an aggregator, or is "
                "starting", n->endpoint);
}

/* Report an unreachable peer.  Events have no error numbers. */
static void tell_unreached (struct net *n, bool resolved)
{
    int64_t took = n->trying_ns ? clock_mono_ns () - n->trying_ns : INT64_MAX;

    n->trying_ns = 0;
    if (++n->unreached >= UNREACHED_LIMIT)
        net_tell (n, NET_UNREACHED, "%s: %s", n->endpoint,
                  !resolved           ? "that name is not known here"
                  : took < REFUSED_NS ? "connection refused: nobody listens "
                                        "there"
                                      : "timed out, or there is no route: is "
                                        "the address right, is a firewall in "
                                        "between?");
}

static void connecting (struct net *n, int event, uint32_t value)
{
    switch (event) {
    case ZMQ_EVENT_CONNECT_DELAYED:
        n->tried = true;
        n->trying_ns = clock_mono_ns ();
        break;
    case ZMQ_EVENT_CONNECTED:
        n->tried = true;
        n->trying_ns = 0;
        n->unreached = 0;
        remember (n, value);
        break;
    case ZMQ_EVENT_DISCONNECTED:
        monitor_forget (n, value);
        break;
    case ZMQ_EVENT_CLOSED:
        n->tried = true;
        tell_unreached (n, true);
        break;
    case ZMQ_EVENT_CONNECT_RETRIED:     // after a delay
        if (!n->tried)
            tell_unreached (n, false);
        n->tried = false;
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        n->closed = 0;
        n->retry_ns = RETRY_NS;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        net_retry_later (n);
        tell_refused (n, event, value);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        tell_no_detail (n, value);
        break;
    default:
        break;
    }
}

/* ---- listening ---- */

static const char *address_of (const struct net *n, uint32_t fd)
{
    return fd < n->nconnections && n->connections[fd].address[0]
               ? n->connections[fd].address : "an unknown address";
}

#define LEFT "it left in the handshake: it does not encrypt (--key), or was " \
    "only looking for an open port"

static const char *failure_text (const struct net *n, int event,
                                 uint32_t value)
{
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        return value == EAGAIN || value == ETIMEDOUT
                   ? "it did not finish the handshake in time" : LEFT;
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
        return n->secured ? "it does not encrypt: it needs --key and "
                            "--server-key"
                          : "it encrypts, and nothing is encrypted here: give "
                            "--keys, or leave --key out there";
    if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
        return "its key for this aggregator is wrong (--server-key)";
    return "it does not speak ZeroMQ";
}

/* Whether we ended the connection: then no peer left or was refused. */
static bool was_ended (const struct net *n, uint32_t fd)
{
    return fd < n->nconnections && n->connections[fd].ended;
}

static void tell_used_up (struct net *n, unsigned ended)
{
    net_tell (n, NET_ACCEPT_FAILED, "too few open files are left: %u "
              "connection%s that had said nothing, or came last, %s ended; "
              "raise the limit (ulimit -n, LimitNOFILE)", ended,
              ended == 1 ? "" : "s", ended == 1 ? "was" : "were");
}

/* Report a failed accept.  Until others have gone there are many such events,
 * which add nothing.
 */
static void tell_accept_failed (struct net *n, uint32_t value)
{
    bool used_up = value == EMFILE || value == ENFILE;

    if (used_up && n->ending > 0)
        return;
    counter_add (COUNTER_ACCEPTS_FAILED, 1);
    if (used_up)
        tell_used_up (n, descriptor_reserve_make_room (n));
    else
        net_tell (n, NET_ACCEPT_FAILED, "a connection cannot be taken: %s",
                  zmq_strerror ((int)value));
}

static void accepted (struct net *n, uint32_t fd)
{
    unsigned ended;

    remember (n, fd);
    if (fd >= n->few && (ended = descriptor_reserve_make_room (n)) > 0) {
        counter_add (COUNTER_ACCEPTS_FAILED, ended);
        tell_used_up (n, ended);
    }
}

/* Handle an event of a listener.  A failed handshake is followed by the end of
 * its connection.
 */
static void listening (struct net *n, int event, uint32_t value)
{
    switch (event) {
    case ZMQ_EVENT_ACCEPTED:
        accepted (n, value);
        break;
    case ZMQ_EVENT_ACCEPT_FAILED:
        tell_accept_failed (n, value);
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        PRINT (n->failure, "%s", failure_text (n, event, value));
        break;
    case ZMQ_EVENT_DISCONNECTED:
        if (n->failure[0] && !was_ended (n, value))
            net_tell (n, strcmp (n->failure, LEFT) == 0 ? NET_PEER_LEFT
                                                        : NET_PEER_REFUSED,
                      "%s: %s", address_of (n, value), n->failure);
        n->failure[0] = '\0';
        monitor_forget (n, value);
        break;
    default:                    // zap.c has reported a refused key
        break;
    }
}

void monitor_close (struct net *n)
{
    if (n->loop) {
        net_stop_connecting (n);
        connection_share_close (n);
    }
    partial_message_close (n);
    free (n->connections);
}

int monitor_take (struct net *n)
{
    uint32_t value = 0;
    int event = monitor_next (n->monitor.socket, &value);

    if (event != 0)
        (n->router ? listening : connecting) (n, event, value);
    return event;
}
