/* aggregator/archive/capture_place.c - a directory of its own for each of several
 * captures of one name
 */
#include "archive/capture_place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A name that captures have, and the place of the first of them. */
struct named {
    uint64_t name[DIGEST_SIZE / 8];
    struct digest place;
};

void capture_places_init (struct capture_places *p)
{
    p->first = (struct map)MAP (struct named, DIGEST_SIZE / 8);
    p->shared = (struct map)MAP (struct digest, DIGEST_SIZE / 8);
}

void capture_places_fini (struct capture_places *p)
{
    map_fini (&p->first);
    map_fini (&p->shared);
}

/* The name in its directory, and what tells captures of it apart. */
static int hash (const struct ledger_item *i, bool shared, struct named *key,
                 struct digest *place)
{
    // none of the versions of a job's own scope supersedes another
    bool open = ledger_is_open (i);
    char text[MESSAGE_NAME_MAX + MESSAGE_PLACE_MAX + 32];
    struct digest name;

    PRINT (text, "%s %lld", i->capture,
           (long long)(shared ? i->rank : -1));
    if (digest_of (text, strlen (text), &name) < 0)
        return -ENOMEM;
    memcpy (key->name, name.bytes, DIGEST_SIZE);
    PRINT (text, "%s %s %lld", i->scope, i->dir,
           (long long)(open ? i->newest_ns : 0));
    return digest_of (text, strlen (text), place) < 0 ? -ENOMEM : 0;
}

/* Whether several ranks have captures of this name, as far as anybody said. */
static int is_shared (struct capture_places *p, const struct ledger_item *i)
{
    uint64_t key[DIGEST_SIZE / 8];
    struct digest name;
    bool is_new;

    if (!i->shared_name && p->shared.n == 0)
        return 0;
    if (digest_of (i->capture, strlen (i->capture), &name) < 0)
        return -ENOMEM;
    memcpy (key, name.bytes, DIGEST_SIZE);
    if (!i->shared_name)
        return map_get (&p->shared, key) != NULL;
    return map_put (&p->shared, key, &is_new) ? 1 : -ENOMEM;
}

int capture_place (struct capture_places *p, const struct ledger_item *i,
                   char out[CAPTURE_PLACE_MAX])
{
    char rank[32] = "", apart[32] = "", hex[DIGEST_HEX_SIZE];
    struct named key, *first;
    struct digest place;
    int shared = is_shared (p, i);
    bool is_new;

    if (shared < 0 || hash (i, shared, &key, &place) < 0 ||
        !(first = map_put (&p->first, &key, &is_new)))
        return -ENOMEM;
    if (is_new)
        first->place = place;
    if (shared)
        PRINT (rank, "rank%lld/", (long long)i->rank);
    digest_hex (&place, hex);
    if (!digest_is (&first->place, &place))
        PRINT (apart, "place-%.16s/", hex);
    (void)snprintf (out, CAPTURE_PLACE_MAX, "%s%s", rank, apart);
    return 0;
}
