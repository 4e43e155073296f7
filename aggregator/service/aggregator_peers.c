/* aggregator/service/aggregator_peers.c - which agent a connection is
 *
 * This is looked up for each message of thousands of agents.
 */
#include "service/aggregator_private.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

struct known_peer {
    uint8_t id[NET_PEER_MAX];
    uint8_t size;
    struct served *served;
    size_t agent;               // index in its job, which may change
};

static int by_id (const void *pa, const void *pb)
{
    const struct known_peer *a = pa, *b = pb;

    return a->size != b->size ? (a->size < b->size ? -1 : 1)
                              : memcmp (a->id, b->id, a->size);
}

static struct known_peer key_of (const struct net_peer *p)
{
    struct known_peer key = { .size = p->size };

    memcpy (key.id, p->id, p->size);
    return key;
}

struct served *aggregator_find_peer (struct aggregator *a,
                                     const struct net_peer *from,
                                     struct job_agent **agent)
{
    struct known_peer key = key_of (from), **at = tfind (&key, &a->peers,
                                                         by_id);

    *agent = at ? &(*at)->served->job.agents[(*at)->agent] : NULL;
    return at ? (*at)->served : NULL;
}

int aggregator_note_peer (struct aggregator *a, struct served *s,
                          const struct job_agent *agent)
{
    struct known_peer *p = malloc (sizeof (*p)), **at;

    if (!p)
        return -ENOMEM;
    *p = key_of (&agent->peer);
    p->served = s;
    p->agent = (size_t)(agent - s->job.agents);
    if ((at = tsearch (p, &a->peers, by_id)) && *at == p)
        return 0;
    if (at)
        **at = *p;              // it was known
    free (p);
    return at ? 0 : -ENOMEM;
}

void aggregator_forget_peer (void *arg, const struct net_peer *peer)
{
    struct aggregator *a = arg;
    struct known_peer key = key_of (peer), **at = tfind (&key, &a->peers,
                                                         by_id);
    struct known_peer *p = at ? *at : NULL;

    transfers_forget (a->transfers, peer);
    if (p)
        (void)tdelete (&key, &a->peers, by_id);
    free (p);
}

void aggregator_forget_peers (struct aggregator *a)
{
    tdestroy (a->peers, free);
    a->peers = NULL;
}
