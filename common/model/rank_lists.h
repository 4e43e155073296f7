/* common/model/rank_lists.h - lists of ranks that differ, with numbers
 *
 * Who tells another process of many captures says each list in full once, and
 * then its number, which counts lists in the order of their first appearance.
 */
#ifndef ROLLCALL_MODEL_RANK_LISTS_H
#define ROLLCALL_MODEL_RANK_LISTS_H

#include "base/map.h"
#include "model/rank_list.h"

#define RANK_LISTS_RECENT 64u   // lists that are known without a look at them

/* A zeroed struct is empty. */
struct rank_lists {
    struct map map;             // map.n is how many there are
    struct rank_list *recent[RANK_LISTS_RECENT];
    uint32_t numbers[RANK_LISTS_RECENT];        // of these
};

/* The number of the list of these ranks.  If 'list' is not NULL, it is one that
 * has them, and is kept if they are new; else they are copied.  0 or -ENOMEM.
 */
int rank_lists_intern (struct rank_lists *l, const int32_t *ranks, uint32_t n,
                       struct rank_list *list, uint32_t *ret, bool *is_new);

/* The list with a number, which is less than map.n: it is borrowed. */
struct rank_list *rank_lists_at (const struct rank_lists *l, uint32_t number);

void rank_lists_fini (struct rank_lists *l);    // it is empty

#endif
