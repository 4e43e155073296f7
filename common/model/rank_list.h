/* common/model/rank_list.h - lists of ranks that many captures repeat
 *
 * Every rank of a job lists the members of its groups, and all ranks are
 * members of the world, so a job of n ranks has n times the same list of n
 * numbers.  The last list of a group is kept, with the text it was read from.
 * A list of the same text is neither parsed nor stored again.
 */
#ifndef ROLLCALL_MODEL_RANK_LIST_H
#define ROLLCALL_MODEL_RANK_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scan;

/* A list.  It does not change; several captures, in several threads, may have
 * it.
 */
struct rank_list {
    int32_t *ranks;
    uint32_t n;

    // the rest belongs to rank_list.c
    atomic_uint users;
    char *group;                // that it is kept for; NULL: it is not kept
    char *text;                 // JSON
    size_t size;                // of the text
};

/* Read an array, which is the next value of 's', as a list; 'texts': a rank may
 * also be a text of digits.  'group' is the id of its group, and finds the list
 * that may be the same; it may be "".  The caller drops the list.  *bad is what
 * is wrong with the list, or NULL.  Returns 0; -EBADMSG: the scanner has
 * failed; -ENOMEM.
 */
int rank_list_read (struct scan *s, const char *group, bool texts,
                    struct rank_list **ret, const char **bad);
void rank_list_drop (struct rank_list *l);      // l may be NULL

/* A list of these ranks, which it takes over; NULL: no memory, and it does not. */
struct rank_list *rank_list_of (int32_t *ranks, uint32_t n);

/* The same list, for one more user, who drops it. */
struct rank_list *rank_list_share (struct rank_list *l);

/* Read a rank.  -1 for any other value.  False: the scanner has failed. */
bool rank_list_rank (struct scan *s, bool texts, int64_t *ret);

#endif
