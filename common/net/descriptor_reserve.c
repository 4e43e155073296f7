/* common/net/descriptor_reserve.c - keep descriptors free for a listener
 *
 * While a connection waits for which there is no descriptor, the listener of
 * libzmq busy-waits; and a silent connection stays for as long as a handshake
 * may take.  So connections are ended before descriptors run out: first the
 * older half of those that have sent nothing, otherwise the new one.  Agents
 * whose connection was ended connect again.
 *
 * To stop listening would not help: libzmq then ends all connections of the
 * listener.
 */
#include "net/net_private.h"

#include <sys/resource.h>

#define RESERVE 64              // descriptors reserved for our files ...
#define RESERVE_SHARE 4         // ... or a quarter of a low limit

void descriptor_reserve_open (struct net *n)
{
    struct rlimit r;

    n->few = SIZE_MAX;
    if (getrlimit (RLIMIT_NOFILE, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        n->few = r.rlim_cur - (r.rlim_cur / RESERVE_SHARE < RESERVE
                                   ? r.rlim_cur / RESERVE_SHARE : RESERVE);
}

static bool is_silent (const struct net_connection *c)
{
    return c->since_ns > 0 && !c->heard && !c->ended;
}

/* The mean of the times at which silent connections came; 0: there are none. */
static int64_t mean_ns (const struct net *n)
{
    int64_t first = INT64_MAX, sum = 0, count = 0;

    for (size_t fd = 0; fd < n->nconnections; fd++) {
        const struct net_connection *c = &n->connections[fd];

        if (is_silent (c) && c->since_ns < first)
            first = c->since_ns;
    }
    for (size_t fd = 0; fd < n->nconnections; fd++) {
        const struct net_connection *c = &n->connections[fd];

        if (is_silent (c)) {
            sum += (c->since_ns - first) / 1000;
            count++;
        }
    }
    return count > 0 ? first + sum / count * 1000 + 999 : 0;
}

unsigned descriptor_reserve_make_room (struct net *n)
{
    int64_t until_ns = mean_ns (n);
    size_t last = 0;

    if (n->ending > 0)          // there will soon be room
        return 0;
    for (size_t fd = 0; fd < n->nconnections; fd++) {
        struct net_connection *c = &n->connections[fd];

        if (is_silent (c) && c->since_ns <= until_ns)
            net_end_connection (n, fd);
        else if (c->since_ns > n->connections[last].since_ns && !c->ended)
            last = fd;
    }
    if (n->ending == 0 && n->nconnections > 0 &&
        n->connections[last].since_ns > 0)
        net_end_connection (n, last);
    return n->ending;
}
