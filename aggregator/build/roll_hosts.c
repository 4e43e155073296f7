/* aggregator/build/roll_hosts.c - captures of one rank from two hosts */
#include "build/roll_hosts.h"

#include <string.h>

/* A capture that gave nothing does not say where its rank was. */
static bool tells_host (const struct capture *c)
{
    return c->host[0] && c->state != CAPTURE_FAILED &&
           c->state != CAPTURE_SUPERSEDED;
}

static bool says_host (const struct roll_item *item)
{
    return item->capture.host[0] && !item->host_is_agents;
}

static const char *host_in (const struct roll_item *item, bool of_agent)
{
    return of_agent ? item->agent_host ? item->agent_host : ""
                    : item->capture.host;
}

bool roll_other_host (const struct roll_item *a, const struct roll_item *b)
{
    bool of_agent = !says_host (a) || !says_host (b);
    const char *ha = host_in (a, of_agent), *hb = host_in (b, of_agent);

    return *ha && *hb && strcmp (ha, hb) != 0;
}

/* Two captures that came from two hosts, or false.  It is enough to compare
 * with one that says its host, and with one that does not.
 */
static bool find_two_hosts (const struct roll_item *items, size_t n,
                            const struct roll_item *two[2])
{
    const struct roll_item *first[2] = { NULL, NULL };

    for (size_t i = 0; i < n; i++) {
        if (tells_host (&items[i].capture) && !first[says_host (&items[i])])
            first[says_host (&items[i])] = &items[i];
    }
    for (size_t i = 0; i < n; i++) {
        for (int k = 1; k >= 0; k--) {
            if (!tells_host (&items[i].capture) || !first[k] ||
                !roll_other_host (first[k], &items[i]))
                continue;
            two[0] = first[k] < &items[i] ? first[k] : &items[i];
            two[1] = first[k] < &items[i] ? &items[i] : first[k];
            return true;
        }
    }
    return false;
}

/* Each names its own host and another one. */
static void blame_two_hosts (struct roll_item *item,
                             const struct roll_item *const two[2])
{
    bool of_agent = !says_host (two[0]) || !says_host (two[1]);
    const struct roll_item *own = of_agent || says_host (item) ? item : two[0];
    const char *host = host_in (own, of_agent);
    const struct roll_item *other =
        two[strcmp (host, host_in (two[0], of_agent)) == 0];

    capture_reason (&item->capture, "rank %lld came from two hosts: %s (%s) "
                    "and %s (%s); neither is used", (long long)item->rank,
                    *host ? host : "one that is not known", own->capture.name,
                    host_in (other, of_agent), other->capture.name);
}

bool roll_fail_two_hosts (struct roll_item *items, size_t n)
{
    const struct roll_item *two[2];

    if (!find_two_hosts (items, n, two))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct capture *c = &items[i].capture;

        items[i].drop = true;
        if (c->state != CAPTURE_FAILED && c->state != CAPTURE_SUPERSEDED)
            blame_two_hosts (&items[i], two);
    }
    for (size_t i = 0; i < n; i++) {    // now that nobody asks any more
        if (items[i].capture.state != CAPTURE_SUPERSEDED)
            items[i].capture.state = CAPTURE_FAILED;
    }
    return true;
}
