/* common/net/reach.c - check whether an aggregator answers, without a loop
 *
 * A client that only tests the port leaves in the handshake, and the aggregator
 * reports a stranger.  This one completes the handshake with its key, and sends
 * a HELLO.
 */
#include "net/net_private.h"

#include "base/clock.h"

#include <errno.h>

#define TURN_MS 20
#define ENDS_MAX 3              // so many are no accident

struct reach {
    struct net *net;
    bool connected;
    bool handshaken;            // the handshake has succeeded
    bool asked;
    unsigned ended;             // ends by the other side, in the handshake
    int end;                    // the result; 1: not known yet
};

static void take_event (struct reach *r, int event)
{
    switch (event) {
    case ZMQ_EVENT_CONNECTED:
        r->connected = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
        r->handshaken = true;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        r->end = -EACCES;
        break;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        if (++r->ended == ENDS_MAX)
            r->end = -EACCES;
        break;
    case ZMQ_EVENT_CLOSED:      // there is no listener
        if (!r->connected)
            r->end = -EHOSTUNREACH;
        break;
    default:
        break;
    }
}

/* Send a HELLO without a job, which is answered and has no other effect. */
static void reach_ask (struct reach *r)
{
    struct message m = { .type = MESSAGE_HELLO, .sent_ns = clock_mono_ns (),
                         .wall_ns = clock_wall_ns (),
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    if (r->handshaken && !r->asked)
        r->asked = net_send (r->net, NULL, &m) == 0;
}

static void turn (struct reach *r)
{
    zmq_pollitem_t items[] = {
        { .socket = r->net->monitor.socket, .events = ZMQ_POLLIN },
        { .socket = r->net->main.socket, .events = ZMQ_POLLIN },
    };
    uint32_t value;
    int event;

    (void)zmq_poll (items, 2, TURN_MS);
    while ((event = monitor_next (r->net->monitor.socket, &value)))
        take_event (r, event);
    reach_ask (r);
    if (items[1].revents & ZMQ_POLLIN)
        r->end = 0;
}

int net_reach (const char *endpoint, const struct net_security *security,
               int64_t connect_ns, int64_t answer_ns, struct err *err)
{
    struct reach r = { .end = 1 };
    int64_t began = clock_mono_ns (), took = 0;
    int rc = net_connect (endpoint, security, &r.net, err);

    if (rc < 0)
        return rc;
    while (r.end > 0 && took < (r.connected ? answer_ns : connect_ns)) {
        turn (&r);
        took = clock_mono_ns () - began;
    }
    if (r.end > 0)
        r.end = r.connected ? -ETIMEDOUT : -EHOSTUNREACH;
    net_close (r.net);
    if (r.end == -EACCES)
        return err_set (err, EACCES, "%s refuses the connection", endpoint);
    return r.end < 0 ? err_set (err, -r.end, r.connected
                                ? "%s does not answer"
                                : "%s cannot be reached", endpoint)
                     : 0;
}
