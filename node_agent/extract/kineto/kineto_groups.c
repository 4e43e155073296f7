/* node_agent/extract/kineto/kineto_groups.c - process groups of a trace
 *
 * A name does not identify a group: it may be hashed or reused.  The key is
 * made of the name and the sorted ranks (doc/formats.md, "Traces of
 * torch.profiler").
 */
#include "extract/kineto/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool same_args (const struct kineto_group *g, const char *name,
                       int64_t size, int64_t first, int64_t stride,
                       const int32_t *members, uint32_t nmembers)
{
    return strcmp (g->name, name) == 0 && g->size == size &&
           g->first == first && g->stride == stride &&
           g->nmembers == nmembers && !g->members == !members &&
           (!members || memcmp (g->members, members,
                                nmembers * sizeof (*members)) == 0);
}

bool kineto_group_of_args (struct kineto *k, struct span name,
                           struct span desc, struct span ranks, int64_t size,
                           int64_t first, int64_t stride, uint32_t *ret)
{
    struct kineto_group g = { .size = size, .first = first, .stride = stride };
    struct kineto_group *room;

    (void)trace_plain (name, g.name, sizeof (g.name));
    if (desc.s)
        (void)trace_plain (desc, g.desc, sizeof (g.desc));
    if (ranks.s)
        g.members = kineto_ranks (ranks, &g.nmembers);
    for (size_t i = k->ngroups; i-- > 0;) {
        if (same_args (&k->groups[i], g.name, size, first, stride, g.members,
                       g.nmembers)) {
            free (g.members);
            *ret = (uint32_t)i;
            return true;
        }
    }
    room = k->ngroups < CAPTURE_GROUPS_MAX
               ? kineto_reserve (k, &k->groups, &k->ngroups, &k->groups_cap,
                                 sizeof (*k->groups))
               : NULL;
    if (!room) {
        free (g.members);
        return false;
    }
    *room = g;
    *ret = (uint32_t)(room - k->groups);
    return true;
}

/* Whether start and stride seem to give the group. */
static bool take_stride (struct kineto_group *g)
{
    if (g->members || g->size < 1 || g->size > capture_world_max ||
        g->first < 0 || g->stride < 1 ||
        g->first + (g->size - 1) * g->stride >= capture_world_max ||
        !(g->members = malloc ((size_t)g->size * sizeof (*g->members))))
        return false;
    g->nmembers = (uint32_t)g->size;
    for (uint32_t i = 0; i < g->nmembers; i++)
        g->members[i] = (int32_t)(g->first + i * g->stride);
    return true;
}

/* The group of the same name in the header, if that is unambiguous. */
static const struct kineto_group *in_header (const struct kineto *k,
                                             const struct kineto_group *g)
{
    const struct kineto_group *found = NULL;

    for (uint32_t i = 0; i < k->header.ngroups; i++) {
        const struct kineto_group *h = &k->header.groups[i];

        if (strcmp (h->name, g->name) != 0 ||
            (g->size >= 0 && h->size >= 0 && g->size != h->size))
            continue;
        if (g->members && h->members &&
            (g->nmembers != h->nmembers ||
             memcmp (g->members, h->members,
                     g->nmembers * sizeof (*g->members)) != 0))
            continue;
        if (found)
            return NULL;
        found = h;
    }
    return found;
}

/* Make the text whose hash is the key, from name and ranks.  The ranks are
 * hashed first (FNV-1a), since there may be a hundred thousand.
 */
static void make_key (struct kineto_group *g, char id[128])
{
    uint64_t hash = UINT64_C (0xcbf29ce484222325);

    for (uint32_t i = 0; i < g->nmembers; i++) {
        for (unsigned bit = 0; bit < 32; bit += 8) {
            hash ^= (uint32_t)g->members[i] >> bit & 0xff;
            hash *= UINT64_C (0x100000001b3);
        }
    }
    (void)snprintf (id, 128, "%s:%u:%016" PRIx64, g->name, g->nmembers,
                    g->members ? hash : 0);
    if (!g->members)            // it must differ from a known group
        (void)snprintf (id, 128, "%s:%" PRId64 ":?", g->name, g->size);
    capture_group_hash (id, g->key);
}

static bool kineto_groups_give (struct kineto *k, struct kineto_group *g,
                                const char *id)
{
    struct capture *c = k->src->capture;
    const char *name = g->desc[0] && strcmp (g->desc, "undefined") != 0
                           ? g->desc : g->name;
    int32_t *members;
    int rc;

    if (!g->members)
        return true;
    for (uint32_t i = 0; i < c->ngroups; i++) {
        if (strcmp (c->groups[i].id, id) == 0)
            return true;
    }
    if (!(members = malloc (g->nmembers * sizeof (*members)))) {
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for a group");
        return false;
    }
    memcpy (members, g->members, g->nmembers * sizeof (*members));
    rc = capture_add_group (c, id, name, members, g->nmembers, k->err);
    if (rc < 0)
        free (members);
    if (rc < 0 && rc != -E2BIG)
        k->src->stopped = rc;
    return rc == 0 || rc == -E2BIG;
}

bool kineto_groups (struct kineto *k)
{
    char id[128];

    for (uint32_t i = 0; i < k->header.ngroups; i++) {
        make_key (&k->header.groups[i], id);
        if (!kineto_groups_give (k, &k->header.groups[i], id))
            return false;
    }
    for (size_t i = 0; i < k->ngroups; i++) {
        struct kineto_group *g = &k->groups[i];
        const struct kineto_group *h = in_header (k, g);

        if (h && !g->members && h->members) {
            g->members = malloc (h->nmembers * sizeof (*g->members));
            if (g->members) {
                memcpy (g->members, h->members,
                        h->nmembers * sizeof (*g->members));
                g->nmembers = h->nmembers;
            }
        }
        (void)take_stride (g);
        if (g->members && g->size < 0)
            g->size = g->nmembers;
        make_key (g, id);
        if (!kineto_groups_give (k, g, id))
            return false;
    }
    return true;
}

/* Without arguments a group is known only if there is exactly one. */
const struct kineto_group *kineto_group (const struct kineto *k,
                                         const struct comm_record *r)
{
    if (r && r->group != KINETO_NONE)
        return &k->groups[r->group];
    if (k->header.ngroups == 1)
        return &k->header.groups[0];
    return NULL;
}
