/* common/net/net.h - messages over ZeroMQ (the only user of zmq.h)
 *
 * An aggregator listens, an agent connects.  Sockets never block: a message for
 * which there is no room now is refused with -EAGAIN.  ZeroMQ may lose
 * messages, so only our own acknowledgements prove delivery.
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

/* The sender of a message. */
struct net_peer {
    uint8_t id[NET_PEER_MAX];
    uint8_t size;
    char who[NET_WHO_MAX];      // the name of the key that it has proven to
                                // have; "" without encryption
};

bool net_peer_is (const struct net_peer *a, const struct net_peer *b);

/* ---- who may connect ---- */

/* Decide whether the owner of this public key may connect.  Returns 0 and the
 * name of the key in 'who', or a negative errno and the reason in 'why'.  The
 * loop calls it in every handshake and for every message, so it has to be fast.
 */
typedef int net_allow_fn (void *arg, const char *public_key,
                          char who[NET_WHO_MAX], struct err *why);

/* The protection of a connection (CURVE: encrypted, both sides authenticated).
 * NULL means none, which is only allowed on loopback.
 */
struct net_security {
    bool insecure;              // no protection, even to other hosts; the other
                                // members are ignored
    char public_key[NET_KEY_SIZE], secret_key[NET_KEY_SIZE];    // our own pair
    char server_key[NET_KEY_SIZE];      // connecting: public key of the
                                        // listener;
    const char *server_file;            // a file with that key, read again
                                        // since it may change; borrowed, or
                                        // NULL
    net_allow_fn *allow;                // listening: who may connect
    void *allow_arg;
};

/* ---- sockets ---- */

/* Listen on an endpoint such as "tcp://127.0.0.1:7077".  'fd' is a bound and
 * listening descriptor, which is taken over, or -1.  'err' names the endpoint.
 * With 'security' it is first tested that this socket refuses a connection with
 * an unknown key and one without a key.
 *
 * -ENOKEY: other hosts can reach the endpoint and there are no keys ('err'
 * tells how to create them); -EKEYREJECTED: the test failed, so do not serve.
 */
int net_listen (const char *endpoint, int fd,
                const struct net_security *security, struct net **ret,
                struct err *err);

/* Connect, and reconnect for ever, also after refusals and failed handshakes,
 * with a back-off of up to a minute and a random quarter more.  After a refusal
 * or a failed handshake the next key of the file of server keys is tried, the
 * first other one at once and without a report.  -ENOKEY as net_listen.
 */
int net_connect (const char *endpoint, const struct net_security *security,
                 struct net **ret, struct err *err);
void net_close (struct net *n);         // immediately; n may be NULL

/* Connect, check for an aggregator, and disconnect; this blocks.  The
 * aggregator does not log it as a stranger.  0: it answers; -EHOSTUNREACH: no
 * connection within 'connect_ns'; -ETIMEDOUT: a connection, but no answer
 * within 'answer_ns' (it is busy, or starting); -EACCES: the other side refuses
 * our key; otherwise as net_connect.
 */
int net_reach (const char *endpoint, const struct net_security *security,
               int64_t connect_ns, int64_t answer_ns, struct err *err);

/* Let the loop call 'fn' for every message.  'from' is NULL on the connecting
 * side.  For a malformed message 'm' is NULL, 'bad' is the result of
 * message_decode and 'err' the reason.  Messages of peers that may not connect
 * (any more) are dropped; their HELLO or ASK is answered with REFUSED.
 */
typedef void net_fn (void *arg, const struct net_peer *from,
                     const struct message *m, int bad, const struct err *err);
int net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg);

/* Listening: limit each key to a share of the connections.  Do not call it if
 * all peers have the same key, as in a run.
 */
void net_share (struct net *n);

/* The reason why a connection fails. */
enum net_problem {
    // connecting; the first two do not pass by themselves
    NET_KEY_REFUSED,            // our key is unknown there, or was revoked
    NET_NOT_ALIKE,              // one side encrypts, the other does not
    NET_CLOSED,                 // closed in the handshake several times in a
                                // row, as with a wrong server key or a proxy
                                // whose backend is starting; or closed by us,
                                // since the other side sent much that is no
                                // message
    NET_SLOW,                   // no answer in the handshake; retried
    NET_UNREACHED,              // no connection, several times in a row;
                                // retried
    // listening
    NET_PEER_REFUSED,           // a peer was refused; it is counted
    NET_PEER_LEFT,              // it left in the handshake: it refuses our key,
                                // or only tested the port
    NET_ACCEPT_FAILED,          // too many connections; it is counted
    NET_NO_SHARE,               // too many connections of one key; it is
                                // counted
};

/* Let the loop call 'fn' for every such problem.  'text' says which peer, why,
 * and what to do.  They may be frequent, so limit logging.
 */
typedef void net_problem_fn (void *arg, enum net_problem what,
                             const char *text);
void net_watch (struct net *n, net_problem_fn *fn, void *arg);

/* Send to a peer (NULL on the connecting side).  Returns 0; -EAGAIN: no room
 * now, see net_when_room; -EHOSTUNREACH: that peer is gone; -ENOMEM.
 */
int net_send (struct net *n, const struct net_peer *to,
              const struct message *m);

/* Connecting: let the loop call 'fn' once, when there is room. */
void net_when_room (struct net *n, loop_fn *fn, void *arg);

/* Whether an endpoint can be reached from this host only. */
bool net_is_loopback (const char *endpoint);

/* Raise the limit of descriptors of this process, since a listener without free
 * ones busy-waits.  Returns how many connections there is room for.
 */
int64_t net_room_for_peers (void);

/* Write the version of libzmq to 'out'.  Returns whether it supports CURVE. */
bool net_library (char out[16]);

#endif
