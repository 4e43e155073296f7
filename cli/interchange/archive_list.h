/* cli/interchange/archive_list.h - the list of rollcall archive ls */
#ifndef ROLLCALL_INTERCHANGE_ARCHIVE_LIST_H
#define ROLLCALL_INTERCHANGE_ARCHIVE_LIST_H

#include "archive_verb.h"

#include "query/grid.h"

/* What its lines show; texts may have any bytes. */
struct listed_item {
    const char *job, *capture, *kind, *path, *state;    // path: "" of rows
    const char *content;        // hex
    const char *at;             // where it is; of one root NULL
    int64_t rank, bytes;
};

/* A table, JSON, or lines for scripts. */
struct item_list {
    struct grid *g;
    bool json, at;              // at: the table says where each item is
    size_t printed;             // items
};

/* Begin: 0, or an exit status after a
 * message.  item_list_end in any case.
 */
int item_list_begin (struct item_list *l, const struct archive_options *opt,
                     bool at);

/* 'object': the same in JSON, without 'at'; it may be NULL if l->json is not set.
 */
void item_list_add (struct item_list *l, const struct listed_item *i,
                    const char *object, size_t size);

/* End it, unless it is not 'whole': then nothing more is printed.  In JSON the
 * object is still open: {"items": [...].  0, or as grid_finish.
 */
int item_list_end (struct item_list *l, bool whole);

#endif
