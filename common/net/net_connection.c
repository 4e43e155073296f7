/* common/net/net_connection.c - one connection: its peer, its end, connecting
 * again, and reports about it
 */
#include "net/net_private.h"

#include "base/clock.h"
#include "base/counter.h"

#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define RETRY_MAX_NS (60 * NS_PER_S)
#define SILENT_NS (60 * NS_PER_S)       // long enough for a starved node

void net_tell (struct net *n, enum net_problem what, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list ap;

    if (n->testing)             // these are the strangers of the self-test
        return;
    if (what == NET_PEER_REFUSED)
        counter_add (COUNTER_PEERS_REFUSED, 1);
    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (n->problem)
        n->problem (n->problem_arg, what, text);
}

const char *net_plain_address (const char *address)
{
    static const char mapped[] = "::ffff:";
    const size_t n = sizeof (mapped) - 1;

    return strncmp (address, mapped, n) == 0 && strchr (address, '.')
               ? address + n : address;
}

void net_peer_address (int fd, char out[NET_ADDRESS_MAX])
{
    struct sockaddr_storage a;
    socklen_t size = sizeof (a);
    char host[NET_ADDRESS_MAX - 8], port[8];

    out[0] = '\0';
    if (getpeername (fd, (struct sockaddr *)&a, &size) == 0 &&
        getnameinfo ((struct sockaddr *)&a, size, host, sizeof (host), port,
                     sizeof (port), NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf (out, NET_ADDRESS_MAX, "%s:%s",
                        net_plain_address (host), port);
}

/* The descriptor may belong to another connection by now, which must not be
 * ended.
 */
void net_end_connection (struct net *n, size_t fd)
{
    struct net_connection *c = &n->connections[fd];
    char address[NET_ADDRESS_MAX];

    net_peer_address ((int)fd, address);
    if (!address[0] || strcmp (address, c->address) != 0 ||
        shutdown ((int)fd, SHUT_RDWR) < 0) {
        c->since_ns = 0;
        return;
    }
    c->ended = true;
    n->ending++;
}

/* ---- connecting again ---- */

static void connect_again (void *arg)
{
    struct net *n = arg;

    (void)zmq_disconnect (n->main.socket, n->endpoint);
    if (n->secured)             // the server key may have changed
        (void)zmq_setsockopt (n->main.socket, ZMQ_CURVE_SERVERKEY,
                              n->security.server_key, NET_KEY_SIZE);
    (void)zmq_connect (n->main.socket, n->endpoint);
}

/* Add up to a quarter at random, so that many refused agents do not return at
 * the same time.
 */
static int64_t spread (int64_t ns)
{
    uint8_t random = 0;

    (void)getrandom (&random, sizeof (random), GRND_NONBLOCK);
    return ns + ns / 4 / UINT8_MAX * random;
}

bool net_connect_after (struct net *n, int64_t ns)
{
    if (!n->loop ||
        loop_add_timer (n->loop, spread (ns), connect_again, n) < 0)
        return false;
    (void)zmq_disconnect (n->main.socket, n->endpoint);
    return true;
}

void net_retry_later (struct net *n)
{
    if (!net_connect_after (n, n->retry_ns))
        return;
    n->switched = false;
    n->retry_ns = 2 * n->retry_ns > RETRY_MAX_NS ? RETRY_MAX_NS
                                                 : 2 * n->retry_ns;
}

/* The other side may be gone, or what is between, without a word. */
static void look_for_words (void *arg)
{
    struct net *n = arg;
    int64_t now = clock_mono_ns ();

    if (now - n->heard_ns >= SILENT_NS) {
        n->heard_ns = now;
        connect_again (n);
    }
    (void)loop_add_timer (n->loop, spread (SILENT_NS / 6), look_for_words, n);
}

void net_watch_silence (struct net *n)
{
    n->heard_ns = clock_mono_ns ();
    (void)loop_add_timer (n->loop, spread (SILENT_NS / 6), look_for_words, n);
}

void net_stop_connecting (struct net *n)
{
    loop_del_timer (n->loop, connect_again, n);
    loop_del_timer (n->loop, look_for_words, n);
}
