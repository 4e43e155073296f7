/* common/net/net.h - messages over ZeroMQ (the only door to zmq.h)
 *
 * An aggregator listens, an agent connects.  Sockets never block: a message
 * that has no room now is refused with -EAGAIN, and only our own
 * acknowledgements count as delivery.
 *
 * This folder: messages over ZeroMQ, keys and access.
 */
#ifndef ROLLCALL_NET_NET_H
#define ROLLCALL_NET_NET_H

#include "base/loop.h"
#include "net/message.h"

#define NET_PEER_MAX 32         // bytes of a routing id
#define NET_KEY_SIZE 41         // a key as Z85 text, with the NUL
#define NET_WHO_MAX 64          // the name of a key, with the NUL

struct net;

/* Who sent a message. */
struct net_peer {
    uint8_t id[NET_PEER_MAX];
    uint8_t size;
    char who[NET_WHO_MAX];      // whose key it has proven to have; "" where
                                // nothing is encrypted
};

/* ---- who may connect ---- */

/* Whether the owner of this public key may connect: 0 and its name in 'who', or
 * a negative errno and the reason in 'why'.  Called in every handshake and for
 * every message, from the loop: it has to be quick.
 */
typedef int net_allow_fn (void *arg, const char *public_key,
                          char who[NET_WHO_MAX], struct err *why);

/* The protection of a connection (CURVE: encrypted, both sides authenticated).
 * NULL: none, which is allowed on loopback only.
 */
struct net_security {
    bool insecure;              // no protection, wherever it goes: the rest
                                // is not looked at
    char public_key[NET_KEY_SIZE], secret_key[NET_KEY_SIZE];    // our own
    char server_key[NET_KEY_SIZE];      // connecting: the listener's public;
    const char *server_file;            // that has it, and may have another
                                        // one by now, or NULL; borrowed
    net_allow_fn *allow;                // listening: who may connect
    void *allow_arg;
};

/* ---- sockets ---- */

/* Listen on "tcp://127.0.0.1:7077".  'fd' is an already bound and listening
 * descriptor to be taken over, or -1.  The errors name the endpoint.  With
 * 'security' it is first proven that this socket turns away a connection with
 * an unknown key and one without any.
 *
 * -ENOKEY: other hosts can reach the endpoint and there are no keys ('err'
 * tells how to make them); -EKEYREJECTED: the proof failed, so do not serve.
 */
int net_listen (const char *endpoint, int fd,
                const struct net_security *security, struct net **ret,
                struct err *err);

/* Connect, and reconnect for ever, with back-off up to a minute (and up to a
 * quarter more at random), also after refusals and ends in the handshake.
 * After one of these the next key of the file of server keys is tried, the
 * first other one at once and silently.  -ENOKEY as above.
 */
int net_connect (const char *endpoint, const struct net_security *security,
                 struct net **ret, struct err *err);
void net_close (struct net *n);         // at once; n may be NULL

/* Connect, check for an aggregator, and disconnect; blocks.  The aggregator
 * does not log it as a stranger.  0: it answers; -EHOSTUNREACH: no connection
 * within 'connect_ns'; -ETIMEDOUT: a connection, but no answer within
 * 'answer_ns' (busy, or starting); -EACCES: the other side refuses this one.
 * Errors as net_connect.
 */
int net_reach (const char *endpoint, const struct net_security *security,
               int64_t connect_ns, int64_t answer_ns, struct err *err);

/* Call 'fn' from the loop for every message.  'from' is NULL on the connecting
 * side.  For malformed messages 'm' is NULL and 'err' says why (*rc of
 * message_decode in 'bad').  Messages of peers that may not connect (any more)
 * are dropped: their HELLO is answered with REFUSED.
 */
typedef void net_fn (void *arg, const struct net_peer *from,
                     const struct message *m, int bad, const struct err *err);
int net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg);

/* Listening: limit each key to a share of the connections.  Not if all peers
 * have one key, as in a run.
 */
void net_share (struct net *n);

/* Why a connection fails. */
enum net_problem {
    // connecting; what is said of the first two will not change by itself
    NET_KEY_REFUSED,            // ours is unknown there, or was revoked
    NET_NOT_ALIKE,              // one side encrypts, the other does not
    NET_CLOSED,                 // in the handshake, several times in a row:
                                // as a wrong server key makes it, and as a
                                // proxy whose backend starts; or by us, since
                                // it sent much that is no message
    NET_SLOW,                   // no answer in the handshake: tried again
    NET_UNREACHED,              // no connection at all, several times in a
                                // row: tried again
    // listening
    NET_PEER_REFUSED,           // has been counted
    NET_PEER_LEFT,              // in the handshake: it did not like what it
                                // saw, or only looked whether there is a port
    NET_ACCEPT_FAILED,          // too many connections, has been counted
    NET_NO_SHARE,               // of one key, has been counted
};

/* Call 'fn' from the loop for every such problem; 'text' says which peer, why,
 * and what to do.  They may be frequent: limit logging.
 */
typedef void net_problem_fn (void *arg, enum net_problem what,
                             const char *text);
void net_watch (struct net *n, net_problem_fn *fn, void *arg);

/* Send to a peer (NULL on the connecting side).  0, -EAGAIN (no room now),
 * -EHOSTUNREACH (that peer is gone), -ENOMEM.
 */
int net_send (struct net *n, const struct net_peer *to,
              const struct message *m);

/* Connecting: call 'fn' once, from the loop, when there is room (again). */
void net_when_room (struct net *n, loop_fn *fn, void *arg);

/* Whether an address is reachable from this host only. */
bool net_is_loopback (const char *endpoint);

/* Raise this process' limit of descriptors, since a listener without free ones
 * spins; returns how many connections there is room for.
 */
int64_t net_room_for_peers (void);

/* The version of the library into 'out'; whether it has CURVE. */
bool net_library (char out[16]);

#endif
