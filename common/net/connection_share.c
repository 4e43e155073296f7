/* common/net/connection_share.c - limit the connections of one key
 *
 * A listener that serves many keys has room for a limited number of
 * connections, and one key could take all of them.  So each key must leave an
 * eighth of the room that the others do not use: there is always room for
 * another key.  Messages on a connection beyond that are ignored, and ignored
 * connections are ended when room is needed (descriptor_reserve.c) or after
 * some time, as are those whose peer says nothing.
 */
#include "net/net_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LEAVES 8                // a key may have 7/8 of what others do not use
#define SHARED_MAX 32768        // connections; each takes memory of libzmq, and
                                // an agent needs one
#define TURN_NS (30 * NS_PER_S)
#define SILENT_TURNS 4          // a handshake may take 60 s, then an agent
                                // sends something every two seconds

static struct net_connection *connection_of (struct net *n, zmq_msg_t *frame)
{
    int fd = zmq_msg_get (frame, ZMQ_SRCFD);

    return fd >= 0 && (size_t)fd < n->nconnections &&
                   n->connections[fd].since_ns > 0
               ? &n->connections[fd] : NULL;
}

/* Whether there is room for another connection of this key. */
static bool is_fair (const struct net *n, const char *who)
{
    size_t all = 0, own = 1;

    // there is room for all, whoever they are
    if (n->nconnections <= n->most / LEAVES * (LEAVES - 1))
        return true;
    for (size_t fd = 0; fd < n->nconnections; fd++) {
        all += n->connections[fd].who[0] != '\0';
        own += strcmp (n->connections[fd].who, who) == 0;
    }
    return all < n->most && own <= (LEAVES - 1) * (n->most - all - 1);
}

bool connection_share_admits (struct net *n, const char *who, zmq_msg_t *frame)
{
    struct net_connection *c = connection_of (n, frame);

    if (!c)
        return true;
    if (n->shared && *who && !c->who[0] && is_fair (n, who))
        PRINT (c->who, "%s", who);
    if (!n->shared || !*who || c->who[0]) {
        c->turns = 0;
        return true;
    }
    c->heard = false;
    if (!c->refused) {
        counter_add (COUNTER_SHARES_REFUSED, 1);
        net_tell (n, NET_NO_SHARE, "no room for more connections of key %s, "
                  "which would leave too few of %zu for others: the one from "
                  "%s is ignored", who, n->most,
                  c->address[0] ? c->address : "an unknown address");
    }
    c->refused = true;
    return false;
}

/* Time is counted in turns, so that a process that was stopped ends no
 * connection.
 */
unsigned connection_share_turn (struct net *n)
{
    unsigned ended = 0;

    for (size_t fd = 0; fd < n->nconnections; fd++) {
        struct net_connection *c = &n->connections[fd];

        if (c->since_ns > 0 && !c->ended && ++c->turns >= SILENT_TURNS) {
            net_end_connection (n, fd);
            ended++;
        }
    }
    return ended;
}

static void take_turn (void *arg)
{
    struct net *n = arg;

    (void)connection_share_turn (n);
    (void)loop_add_timer (n->loop, TURN_NS, take_turn, n);
}

void connection_share_open (struct net *n)
{
    int next = open ("/dev/null", O_RDONLY | O_CLOEXEC);

    // other files use as many descriptors as now
    n->most = next > 0 && n->few > (size_t)next ? n->few - (size_t)next
                                                : n->few;
    if (n->most > SHARED_MAX)
        n->most = SHARED_MAX;
    if (next >= 0)
        (void)close (next);
    (void)loop_add_timer (n->loop, TURN_NS, take_turn, n);
}

void connection_share_close (struct net *n)
{
    loop_del_timer (n->loop, take_turn, n);
}
