/* aggregator/intake/ledger.h - what is known to be durable here
 *
 * SQLite, synchronous=FULL: a row is in it only after the bytes that it speaks
 * of were fsynced, and an acknowledgement is sent only after its commit.
 */
#ifndef ROLLCALL_INTAKE_LEDGER_H
#define ROLLCALL_INTAKE_LEDGER_H

#include "net/message.h"

struct ledger;

/* Where a content's bytes are: in a segment, or in a file of their own. */
struct ledger_place {
    int64_t segment;            // 0: a blob
    uint64_t offset;
    uint64_t size;
};

struct ledger_item {
    char job[MESSAGE_NAME_MAX];
    enum item_kind kind;
    int64_t rank;
    char capture[MESSAGE_NAME_MAX];
    char path[MESSAGE_PATH_MAX];
    char host[MESSAGE_NAME_MAX];
    struct digest content;
    struct ledger_place place;
    bool superseded;            // a newer version of the same capture came
};

int ledger_open (const char *path, struct ledger **ret, struct err *err);
void ledger_close (struct ledger *l);           // l may be NULL

/* One transaction around what follows. */
int ledger_begin (struct ledger *l, struct err *err);
int ledger_commit (struct ledger *l, struct err *err);
void ledger_rollback (struct ledger *l);

/* 1 and the place, or 0 when the content is not here. */
int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err);
int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err);

/* Enter an item whose content is here; the same one again changes nothing, one
 * with other content supersedes the older.
 */
int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err);

/* All items of a job and kind, oldest first.  Stops when 'fn' is negative. */
int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err);

/* The number of the segment to append to, and how much of it is accounted for
 * (bytes behind that are of a transfer that was never acknowledged).
 */
int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err);

#endif
