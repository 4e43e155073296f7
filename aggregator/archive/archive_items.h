/* aggregator/archive/archive_items.h - the items of a job, as they are at one
 * moment
 *
 * They are listed before they are used, so that the writer's journal does not
 * grow while somebody reads slowly.  An item takes 200 bytes, and each text is
 * there once.
 */
#ifndef ROLLCALL_ARCHIVE_ARCHIVE_ITEMS_H
#define ROLLCALL_ARCHIVE_ARCHIVE_ITEMS_H

#include "archive/archive.h"
#include "base/texts.h"

struct archive_items {
    struct archive_item *list;
    size_t n;
    struct texts texts;
};

/* The items of a job, rows before raw files, each oldest first; of one rank, or
 * (NULL) of all.  There are none if the job is not visible by now.  -ENOMEM,
 * -EBADMSG, -EIO: 'ret' is empty.  The caller calls archive_items_fini.
 */
int archive_list (struct archive *a, const char *job, const int64_t *rank,
                  struct archive_items *ret, struct err *err);
void archive_items_fini (struct archive_items *l);

/* Rank by rank, of each its rows first, and each kind oldest first. */
void archive_sort_by_rank (struct archive_items *l);

/* Item 'i' of the list, which is less than l->n. */
void archive_item (const struct archive_items *l, size_t i,
                   struct ledger_item *ret);

#endif
