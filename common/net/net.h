/* common/net/net.h - messages over ZeroMQ (the only door to zmq.h)
 *
 * An aggregator listens, an agent connects.  Sockets never block: a message
 * that has no room now is refused with -EAGAIN, and only our own
 * acknowledgements count as delivery.
 */
#ifndef ROLLCALL_NET_NET_H
#define ROLLCALL_NET_NET_H

#include "base/loop.h"
#include "net/message.h"

#define NET_PEER_MAX 32         // bytes of a routing id

struct net;

struct net_peer {
    uint8_t id[NET_PEER_MAX];
    uint8_t size;
};

/* Listen on "tcp://127.0.0.1:7077".  'fd' is an already bound and listening
 * descriptor to be taken over, or -1.  The errors name the endpoint.
 */
int net_listen (const char *endpoint, int fd, struct net **ret,
                struct err *err);

/* Connect, and reconnect for ever, with back-off. */
int net_connect (const char *endpoint, struct net **ret, struct err *err);
void net_close (struct net *n);         // at once; n may be NULL

/* Call 'fn' from the loop for every message.  'from' is NULL on the connecting
 * side.  Malformed messages are given too: 'm' is then NULL and 'err' says
 * why (*rc of message_decode in 'bad').
 */
typedef void net_fn (void *arg, const struct net_peer *from,
                     const struct message *m, int bad, const struct err *err);
int net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg);

/* Send to a peer (NULL on the connecting side).  0, -EAGAIN (no room now),
 * -EHOSTUNREACH (that peer is gone), -ENOMEM.
 */
int net_send (struct net *n, const struct net_peer *to,
              const struct message *m);

/* Whether an address is reachable from this host only. */
bool net_is_loopback (const char *endpoint);

#endif
