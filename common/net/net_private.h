/* common/net/net_private.h - messages over ZeroMQ, between its files
 *
 *   net.c                 sockets, and messages in and out
 *   net_connection.c      one connection, for all other files
 *   zap.c                 access: libzmq asks it in every handshake
 *   monitor.c             why connections fail, in words
 *   descriptor_reserve.c  a listener that has few descriptors left
 *   partial_message.c     bytes of a peer that never become a message
 *   connection_share.c    how many connections a key may hold
 *   reach.c               whether an aggregator answers, without a loop
 */
#ifndef ROLLCALL_NET_NET_PRIVATE_H
#define ROLLCALL_NET_NET_PRIVATE_H

#include "base/pace.h"
#include "net/net.h"

#include <stdbool.h>
#include <zmq.h>

#define NET_ENDPOINT_MAX 256            // bytes, with the NUL
#define NET_ADDRESS_MAX 64              // "[address]:port", with the NUL
#define NET_HANDSHAKE_MS 60000          // long enough for a starved node
#define NET_FRAME_MAX (CONTENT_CHUNK + 65536)   // bytes of a frame of an agent
#define NET_ANSWER_MAX 16384            // bytes of a frame of an aggregator
// messages of one agent that wait to be read by the aggregator; with so many
// TCP stops an agent that sends chunks without a request
#define NET_WAITING 32
#define NET_ANSWERS_WAITING 1000        // of an aggregator

/* A socket that the loop watches. */
struct net_door {
    struct net *net;
    void *socket;                       // NULL: none
    int fd;                             // ZMQ_FD, -1: not in a loop
};

/* A connection: an accepted one, or ours to the aggregator. */
struct net_connection {
    char address[NET_ADDRESS_MAX];      // of the peer; "": not known
    int64_t since_ns;                   // 0: there is none
    char who[NET_WHO_MAX];              // the key that it counts for; "": none
    unsigned turns; // of connection_share.c, since it was last heard
    bool heard;                         // a message has come
    bool refused;                       // ... of a key with too many
                                        // connections
    bool ended;                         // we have ended it; it will disappear
    bool read; // partial_message.c: a message was read since the last check
    uint64_t taken, unread;             // partial_message.c: bytes
};

struct net {
    void *context;
    struct net_door main, monitor, zap;
    bool router;
    bool testing;                       // in zap_self_test
    bool secured;                       // 'security' is used
    struct net_security security;
    char endpoint[NET_ENDPOINT_MAX];
    struct loop *loop;
    net_fn *fn;
    void *arg;
    loop_fn *room;                      // of net_when_room; NULL: none
    void *room_arg;
    bool *gone;                         // set on close while messages are
                                        // delivered, or NULL
    net_problem_fn *problem;
    void *problem_arg;
    // monitor.c: connecting
    unsigned closed;                    // consecutive ends in the handshake
    unsigned unreached;                 // consecutive attempts without
                                        // connection
    bool tried;                         // an address was tried since the last
                                        // wait
    int64_t trying_ns;                  // since when it tries; 0: it does not
    bool switched;                      // another server key was tried since
                                        // the last success, or wait
    int64_t heard_ns;                   // when a message came, or we connected
                                        // again since none did
    int64_t retry_ns;                   // how long to wait after the next
                                        // refusal or end in the handshake
    // monitor.c
    struct net_connection *connections; // by descriptor
    size_t nconnections;
    // monitor.c: listening
    char failure[ERR_TEXT_MAX];         // reason for the handshake that ends
                                        // next
    // connection_share.c
    bool shared;                        // each key has a share
    size_t most;                        // how many connections there is room
                                        // for
    // descriptor_reserve.c
    size_t few;                         // the first descriptor of the reserve
    unsigned ending;                    // how many connections we have ended
    // partial_message.c
    bool looking;                       // its timer is set
    struct pace looks;
};

/* ---- net_connection.c ---- */

void net_tell (struct net *n, enum net_problem what, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* An address as people write it: an IPv6 socket has ::ffff:192.0.2.1 for
 * 192.0.2.1.
 */
const char *net_plain_address (const char *address);

/* The peer of a connection; "" if there is none any more. */
void net_peer_address (int fd, char out[NET_ADDRESS_MAX]);

/* Listening: end a connection; the event DISCONNECTED follows. */
void net_end_connection (struct net *n, size_t fd);

/* Connecting: end the connection, and try again after 'ns' (net_connect_after)
 * or after a delay that grows (net_retry_later).  False: there is no loop to do
 * so.
 */
bool net_connect_after (struct net *n, int64_t ns);
void net_retry_later (struct net *n);
void net_stop_connecting (struct net *n);

/* Connecting: connect again whenever nothing was heard for a minute. */
void net_watch_silence (struct net *n);

/* ---- zap.c ---- */

/* Serve access requests of the sockets of the context; call it before one of
 * them listens.  Returns 0 or -errno.
 */
int zap_open (struct net *n, struct err *err);

/* Answer the next request, if there is one. */
void zap_answer (struct net *n);

/* Check whether the sender of this frame is still allowed, and set 'who'; as
 * net_allow_fn.
 */
int zap_check (struct net *n, zmq_msg_t *frame, char who[NET_WHO_MAX],
               struct err *why);

/* Test that the main socket refuses strangers.  Returns 0, or -EKEYREJECTED. */
int zap_self_test (struct net *n, struct err *err);

/* ---- monitor.c ---- */

int monitor_open (struct net *n, struct err *err);
void monitor_close (struct net *n);

/* Receive an event of any monitor: its number, or 0 if there is none. */
int monitor_next (void *socket, uint32_t *value);

/* Handle the next event of the main socket: its number, or 0 if there is none.
 */
int monitor_take (struct net *n);

/* A message has arrived: its connection is not one that a stranger merely holds
 * open.
 */
void monitor_heard (struct net *n, zmq_msg_t *frame);

/* ---- descriptor_reserve.c ---- */

/* Call it before the socket listens. */
void descriptor_reserve_open (struct net *n);

/* End connections if few descriptors, or none, are left, unless ended ones are
 * still closing.  Returns how many.
 */
unsigned descriptor_reserve_make_room (struct net *n);

/* ---- partial_message.c ---- */

/* There is a connection: count received bytes until there is none. */
void partial_message_watch (struct net *n);
void partial_message_close (struct net *n);

/* ---- connection_share.c ---- */

/* For a listener in a loop. */
void connection_share_open (struct net *n);
void connection_share_close (struct net *n);

/* Called every 30 s: end connections that were silent, or ignored, for four
 * turns.  Returns how many.
 */
unsigned connection_share_turn (struct net *n);

/* Whether to accept messages of the connection of 'frame'.  'who' is its proven
 * key, which must not exceed its share.
 */
bool connection_share_admits (struct net *n, const char *who, zmq_msg_t *frame);

#endif
