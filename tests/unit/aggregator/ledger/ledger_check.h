/* tests/unit/aggregator/ledger/ledger_check.h - items for a ledger and a store,
 * and what is there of them */
#ifndef ROLLCALL_TESTS_LEDGER_CHECK_H
#define ROLLCALL_TESTS_LEDGER_CHECK_H

#include "aggregator/store/root_check.h"

/* Rows of rank 4 in job "j", whose hash is 'content' again and again; and
 * with the hash that the bytes have.
 */
struct ledger_item item_of (const char *capture, uint8_t content);
struct ledger_item true_item (const char *capture, const char *bytes);

/* Append the bytes as a chunk with the item's id, and the item; its place. */
int put_item (struct root *r, struct ledger_item *item, const char *bytes,
              struct err *err);

/* Store some bytes as an item, committed; whether it was new. */
int enter (struct root *r, struct ledger_item item, const char *bytes);
int deliver (struct root *r, const char *capture, uint8_t content,
             const char *bytes);

/* Commit an item whose content has three chunks, each of one of these bytes;
 * and the removal of an item, at a time.
 */
void enter_large (struct root *r, struct ledger_item *item, const char fill[3]);
void remove_item (struct root *r, const struct ledger_item *item,
                  int64_t at_ns);

/* A fact of a job, committed; it is new. */
void say_of (struct root *r, const char *job, const char *key,
             const char *value);

/* The rows of job "j". */
struct count {
    unsigned n, superseded;
};

struct count count_all (struct root *r);

/* The store has this content, and it is 'want'. */
void check_bytes (struct root *r, const struct digest *id, const char *want);

#endif
