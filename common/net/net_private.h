/* common/net/net_private.h - messages over ZeroMQ, between its files
 *
 * net.c        sockets, and messages in and out
 * net_connection.c    one connection, for all others
 * zap.c        who may connect: libzmq asks it in every handshake
 * monitor.c    why connections do not come about, in words
 * descriptor_reserve.c     a listener that has few descriptors left
 * partial_message.c     what a peer has sent and nobody can read
 * connection_share.c      how many connections one key may hold
 * reach.c      whether an aggregator is there, before there is a loop
 */
#ifndef ROLLCALL_NET_NET_PRIVATE_H
#define ROLLCALL_NET_NET_PRIVATE_H

#include "net/net.h"

#include <stdbool.h>
#include <zmq.h>

#define NET_ENDPOINT_MAX 256            // bytes, with the NUL
#define NET_ADDRESS_MAX 64              // "[address]:port", with the NUL
#define NET_HANDSHAKE_MS 60000          // a starved node lives through this
#define NET_FRAME_MAX (CONTENT_CHUNK + 65536)   // bytes, of an agent
#define NET_ANSWER_MAX 16384            // bytes of a frame of an aggregator
// messages of one agent that wait to be read by the aggregator; an agent that
// sends chunks nobody asked for is held up by TCP at this
#define NET_WAITING 32
#define NET_ANSWERS_WAITING 1000        // of an aggregator

/* A socket that the loop looks after. */
struct net_door {
    struct net *net;
    void *socket;                       // NULL: none
    int fd;                             // ZMQ_FD, -1: not in a loop
};

/* A connection: one that was taken, or ours to the aggregator. */
struct net_connection {
    char address[NET_ADDRESS_MAX];      // of the peer; "": not known
    int64_t since_ns;                   // 0: there is none
    char who[NET_WHO_MAX];              // whose it counts as; "": nobody's
    unsigned turns; // of connection_share.c, in which it was not heard
    bool heard;                         // a message has come
    bool refused;                       // ... of a key that has too many
    bool ended;                         // by us: it will go
    bool read; // partial_message.c: a message, since it looked
    uint64_t taken, unread;             // partial_message.c: bytes
};

struct net {
    void *context;
    struct net_door main, monitor, zap;
    bool router;
    bool testing;                       // in zap_self_test
    bool secured;                       // 'security' counts
    struct net_security security;
    char endpoint[NET_ENDPOINT_MAX];
    struct loop *loop;
    net_fn *fn;
    void *arg;
    loop_fn *room;                      // of net_when_room, NULL: nobody waits
    void *room_arg;
    bool *gone;                         // of who is giving messages, or NULL
    net_problem_fn *problem;
    void *problem_arg;
    // monitor.c: connecting
    unsigned closed;                    // in the handshake, in a row
    unsigned unreached;                 // no connection, in a row
    bool tried;                         // an address was, since the last wait
    int64_t trying_ns;                  // since when, 0: it is not
    bool switched;                      // another server key has been tried
                                        // since the last success, or wait
    int64_t retry_ns;                   // to wait after the next refusal, or end
                                        // in the handshake
    // monitor.c
    struct net_connection *connections; // by descriptor
    size_t nconnections;
    // monitor.c: listening
    char failure[ERR_TEXT_MAX];         // of the handshake that ends next
    // connection_share.c
    bool shared;                        // each key has a share
    size_t most;                        // connections that there is room for
    // descriptor_reserve.c
    size_t few;                         // the first descriptor of the reserve
    unsigned ending;                    // connections that we have ended
    // partial_message.c
    bool looking;                       // there is a timer
};

/* ---- net_connection.c ---- */

void net_tell (struct net *n, enum net_problem what, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* As people write it: 192.0.2.1 reaches an IPv6 socket as ::ffff:192.0.2.1. */
const char *net_plain_address (const char *address);

/* The peer of a connection, "" if there is none any more. */
void net_peer_address (int fd, char out[NET_ADDRESS_MAX]);

/* Listening: end a connection; DISCONNECTED comes of it. */
void net_end_connection (struct net *n, size_t fd);

/* Connecting: end the connection, and try again after so long, or after a
 * while that gets longer; false: there is no loop to do so.
 */
bool net_connect_after (struct net *n, int64_t ns);
void net_retry_later (struct net *n);
void net_stop_connecting (struct net *n);

/* ---- zap.c ---- */

/* Answer for the context's sockets, before one of them listens.  0 or -errno.
 */
int zap_open (struct net *n, struct err *err);

/* Answer the next request, if there is one. */
void zap_answer (struct net *n);

/* Whether the sender of this frame is (still) allowed; sets 'who'. */
int zap_check (struct net *n, zmq_msg_t *frame, char who[NET_WHO_MAX],
               struct err *why);

/* Test that the main socket refuses strangers: 0, or -EKEYREJECTED. */
int zap_self_test (struct net *n, struct err *err);

/* ---- monitor.c ---- */

int monitor_open (struct net *n, struct err *err);
void monitor_close (struct net *n);

/* An event of any monitor: its number, or 0 when there is none. */
int monitor_next (void *socket, uint32_t *value);

/* Take the next event of the main socket: its number, or 0 when there is none.
 */
int monitor_take (struct net *n);

/* A message has come: its connection is no stranger's that only holds it. */
void monitor_heard (struct net *n, zmq_msg_t *frame);

/* ---- descriptor_reserve.c ---- */

/* Before it listens. */
void descriptor_reserve_open (struct net *n);

/* Few descriptors are left, or none: end connections, unless ended ones are
 * still closing.  How many.
 */
unsigned descriptor_reserve_make_room (struct net *n);

/* ---- partial_message.c ---- */

/* There is a connection: watch received bytes until there is none. */
void partial_message_watch (struct net *n);
void partial_message_close (struct net *n);

/* ---- connection_share.c ---- */

/* Of a listener, in a loop. */
void connection_share_open (struct net *n);
void connection_share_close (struct net *n);

/* Every half a minute: end connections that were ignored for four turns.  How
 * many.
 */
unsigned connection_share_turn (struct net *n);

/* Whether to accept messages of the connection of 'frame': 'who' is its proven
 * key, which must not exceed its share.
 */
bool connection_share_admits (struct net *n, const char *who, zmq_msg_t *frame);

#endif
