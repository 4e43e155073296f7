/* common/model/rank_lists.c - lists of ranks that differ, with numbers */
#include "model/rank_lists.h"

#include "base/texts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lists of the same hash and length differ by 'nth'. */
struct known {
    uint64_t hash;
    uint32_t nth, n;            // key, with the hash
    struct rank_list *list;
};

static size_t bytes_of (uint32_t n)
{
    return n * sizeof (int32_t);
}

/* Find the record of a list; NULL: there is none, and 'key' is the key for it. */
static const struct known *find (const struct rank_lists *l,
                                 const int32_t *ranks, uint32_t n,
                                 struct known *key)
{
    const struct known *known;

    *key = (struct known){
        texts_hash (n > 0 ? (const char *)ranks : "", bytes_of (n)), 0, n, NULL
    };
    while ((known = map_get (&l->map, key)) && n > 0 &&
           memcmp (known->list->ranks, ranks, bytes_of (n)) != 0)
        key->nth++;
    return known;
}

static struct rank_list *copy_of (const int32_t *ranks, uint32_t n)
{
    int32_t *copy = malloc (bytes_of (n) + 1);
    struct rank_list *list;

    if (!copy)
        return NULL;
    if (n > 0)
        memcpy (copy, ranks, bytes_of (n));
    if (!(list = rank_list_of (copy, n)))
        free (copy);
    return list;
}

static int add (struct rank_lists *l, const struct known *key,
                const int32_t *ranks, struct rank_list *list)
{
    struct known *added;
    bool is_new;

    list = list ? rank_list_share (list) : copy_of (ranks, key->n);
    if (!list)
        return -ENOMEM;
    if (l->map.size == 0)
        l->map = (struct map)MAP (struct known, 2);
    if (!(added = map_put (&l->map, key, &is_new))) {
        rank_list_drop (list);
        return -ENOMEM;
    }
    added->list = list;
    return 0;
}

/* Where a list would be among the recent ones. */
static size_t place_of (const struct rank_list *list)
{
    return map_key ((uintptr_t)list, 0) % RANK_LISTS_RECENT;
}

static void note_recent (struct rank_lists *l, struct rank_list *list,
                         uint32_t number)
{
    size_t at = place_of (list);

    rank_list_drop (l->recent[at]);
    l->recent[at] = rank_list_share (list);
    l->numbers[at] = number;
}

int rank_lists_intern (struct rank_lists *l, const int32_t *ranks, uint32_t n,
                       struct rank_list *list, uint32_t *ret, bool *is_new)
{
    const struct known *known;
    struct known key;
    size_t at = list ? place_of (list) : 0;

    *is_new = false;
    if (list && l->recent[at] == list) {
        *ret = l->numbers[at];
        return 0;
    }
    known = find (l, ranks, n, &key);
    *is_new = !known;
    *ret = known ? (uint32_t)(known - (const struct known *)l->map.records)
                 : l->map.n;
    if (!known && add (l, &key, ranks, list) < 0)
        return -ENOMEM;
    if (list)
        note_recent (l, list, *ret);
    return 0;
}

struct rank_list *rank_lists_at (const struct rank_lists *l, uint32_t number)
{
    return ((const struct known *)map_at (&l->map, number))->list;
}

void rank_lists_fini (struct rank_lists *l)
{
    for (size_t i = 0; i < RANK_LISTS_RECENT; i++)
        rank_list_drop (l->recent[i]);
    for (uint32_t i = 0; i < l->map.n; i++)
        rank_list_drop (rank_lists_at (l, i));
    map_fini (&l->map);
    *l = (struct rank_lists){ .numbers = { 0 } };
}
