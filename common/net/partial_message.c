/* common/net/partial_message.c - limit messages that are never complete
 *
 * libzmq limits a frame (ZMQ_MAXMSGSIZE) and the complete messages that wait
 * (ZMQ_RCVHWM), but not the number of frames of a message: an endless one stays
 * in its memory until it ends.  So the bytes are counted that libzmq has
 * received from each connection since a message of it was last read; the kernel
 * counts what has arrived and what libzmq has not received yet.  A peer that
 * keeps to the protocol cannot reach UNREAD_MAX, however long the loop is busy:
 * libzmq receives nothing more while NET_WAITING messages wait.
 */
#include "net/net_private.h"

#include "base/clock.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define MIB (UINT64_C (1) << 20)
#define LOOK_NS (100 * NS_PER_MS)       // what arrives meanwhile exceeds the
                                        // limits
#define LOOK_SHARE 100                  // at most 1/100 of the time is used for
                                        // checks
#define SLOW_LOOK_NS (5 * NS_PER_S)     // if they do not take longer than 50 ms

/* Limits for one connection, and for all.  An outsider cannot send a complete
 * message, but may have a connection for each descriptor, and a frame in each.
 */
#define UNREAD_MAX (64 * MIB)
#define UNREAD_ALL (256 * MIB)
#define UNREAD_OF_AGGREGATOR (24 * MIB)

// a message has one frame plus the head of a chunk, and another may be on its
// way
_Static_assert ((NET_WAITING + 2) * (uint64_t)(NET_FRAME_MAX + 4096) <
                    UNREAD_MAX, "an agent that keeps to it is ended");
_Static_assert ((NET_ANSWERS_WAITING + 2) * (uint64_t)NET_ANSWER_MAX <
                    UNREAD_OF_AGGREGATOR, "an aggregator is left");

/* How many bytes libzmq has received from a TCP connection.  False: unknown. */
static bool taken (int fd, uint64_t *bytes)
{
    struct tcp_info info;
    socklen_t size = sizeof (info);
    uint64_t came;
    int waiting = 0;

    // in this order, so that bytes which arrive in between count as not
    // received
    if (getsockopt (fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
        size < offsetof (struct tcp_info, tcpi_bytes_received) +
                   sizeof (info.tcpi_bytes_received) ||
        ioctl (fd, SIOCINQ, &waiting) < 0 || waiting < 0)
        return false;
    came = info.tcpi_bytes_received;
    *bytes = came > (uint64_t)waiting ? came - (uint64_t)waiting : 0;
    return true;
}

/* How many of these bytes were not read. */
static uint64_t count (struct net_connection *c, size_t fd)
{
    uint64_t now = 0;

    c->unread = 0;
    if (c->since_ns == 0 || c->ended || !taken ((int)fd, &now))
        return 0;
    if (c->read || now < c->taken)      // or the descriptor is of another
                                        // connection
        c->taken = now;
    c->read = false;
    c->unread = now - c->taken;
    return c->unread;
}

static void partial_message_end (struct net *n, size_t fd)
{
    struct net_connection *c = &n->connections[fd];
    unsigned long long mib = c->unread / MIB;

    c->unread = 0;
    net_tell (n, n->router ? NET_PEER_REFUSED : NET_CLOSED,
              "%s: the last %llu MiB that it sent do not complete one message: "
              "the connection is ended",
              c->address[0] ? c->address : "an unknown address", mib);
    if (n->router) {
        net_end_connection (n, fd);
        return;
    }
    c->since_ns = 0;
    net_retry_later (n);
}

/* End the largest ones until the rest is below the limit of all. */
static void end_largest (struct net *n, uint64_t sum)
{
    while (sum > UNREAD_ALL) {
        size_t most = 0;

        for (size_t fd = 1; fd < n->nconnections; fd++) {
            if (n->connections[fd].unread > n->connections[most].unread)
                most = fd;
        }
        sum -= n->connections[most].unread;
        partial_message_end (n, most);
    }
}

static void look (void *arg)
{
    struct net *n = arg;
    uint64_t most = n->router ? UNREAD_MAX : UNREAD_OF_AGGREGATOR, sum = 0;
    int64_t began_ns = clock_mono_ns (), wait_ns;

    n->looking = false;
    for (size_t fd = 0; fd < n->nconnections; fd++) {
        struct net_connection *c = &n->connections[fd];

        n->looking = n->looking || c->since_ns > 0;
        if (count (c, fd) > most)
            partial_message_end (n, fd);
        sum += c->unread;
    }
    end_largest (n, sum);
    wait_ns = pace_pause (&n->looks, clock_mono_ns () - began_ns, LOOK_SHARE,
                          LOOK_NS, SLOW_LOOK_NS);
    if (n->looking)
        n->looking = loop_add_timer (n->loop, wait_ns, look, n) == 0;
}

void partial_message_watch (struct net *n)
{
    if (!n->looking && n->loop)
        n->looking = loop_add_timer (n->loop, LOOK_NS, look, n) == 0;
}

void partial_message_close (struct net *n)
{
    if (n->loop)
        loop_del_timer (n->loop, look, n);
}
