/* aggregator/ledger/ledger_deletions.h - what was removed on purpose
 *
 * A deletion is of a version of a capture.  Its record is in the segments
 * before the ledger forgets the items, and its row stays: so a ledger that is
 * rebuilt never has them again, and an agent that delivers them again is told
 * that all is well.
 *
 * It is a mark in time: what arrived (received_ns) up to at_ns is deleted, and
 * stays so if the deletion is withdrawn later, at its new at_ns.  Whatever
 * arrived after that was let in, and counts.  Items without a date that arrived
 * up to then are deleted, too: the same content may have got a date later.  So the order in which records are
 * met does not matter.
 */
#ifndef ROLLCALL_LEDGER_LEDGER_DELETIONS_H
#define ROLLCALL_LEDGER_LEDGER_DELETIONS_H

#include "ledger/ledger_facts.h"

struct ledger_item;

struct ledger_deletion {
    char scope[MESSAGE_NAME_MAX];       // these five identify it: as of an
    char dir[MESSAGE_PLACE_MAX];        // assignment if there is a place, which
    int64_t rank;                       // means this version; else 'scope' is
    char capture[MESSAGE_NAME_MAX];     // the job, and it means this version
    int64_t newest_ns;                  // and all older ones
    char job[MESSAGE_NAME_MAX];         // which had it
    int64_t at_ns;                      // when, since 1970: after its items came
    char by[FACT_BY_MAX];               // the user who removed it, or "service"
    bool gone;                          // it was withdrawn: it may arrive again
    int64_t seq;                        // of its row; ledger_delete chooses it
};

typedef int ledger_deletion_fn (void *arg, const struct ledger_deletion *d);

bool ledger_valid_deletion (const struct ledger_deletion *d);

/* What deletes this item, with job, time and user left to the caller.  What
 * arrives without a date is refused only by a deletion without one.
 */
void ledger_deletion_of (const struct ledger_item *item,
                         struct ledger_deletion *ret);

/* Enter a deletion, or its withdrawal (gone), and forget the items that arrived
 * up to then: 1; 0: the ledger says so already, or has a later one of this
 * version.  Their jobs' results must be rebuilt.
 */
int ledger_delete (struct ledger *l, const struct ledger_deletion *d,
                   struct err *err);

/* Whether the version of this item is deleted for what arrives now, also if the
 * item never was here: 1 and by whom and when ('ret' may be NULL), or 0.
 */
int ledger_find_deletion (struct ledger *l, const struct ledger_item *item,
                          struct ledger_deletion *ret, struct err *err);

/* Each deletion of its version that was not withdrawn. */
int ledger_each_deletion_of (struct ledger *l, const struct ledger_item *item,
                             ledger_deletion_fn *fn, void *arg,
                             struct err *err);

/* When its version was deleted, or a deletion withdrawn, last: 1, or 0: never.
 * ledger_has_item and ledger_add_item take an item that arrived before for one
 * that is known.
 */
int ledger_removed_at (struct ledger *l, const struct ledger_item *item,
                       int64_t *at_ns, struct err *err);

/* An item arrives: 1: it is deleted, and its received_ns is 0; or 0 and its
 * received_ns is after any withdrawal, also if the clock stepped back.
 */
int ledger_date_arrival (struct ledger *l, struct ledger_item *item,
                         struct err *err);

/* Whether the ledger has exactly this row: 1, 0. */
int ledger_has_deletion (struct ledger *l, const struct ledger_deletion *d,
                         struct err *err);

/* All deletions of what a job had, or of all jobs (NULL), in order. */
int ledger_each_deletion (struct ledger *l, const char *job,
                          ledger_deletion_fn *fn, void *arg, struct err *err);

/* The last deletion of what a job had: 1, or 0. */
int ledger_last_deletion (struct ledger *l, const char *job,
                          struct ledger_deletion *ret, struct err *err);

/* Some captures of a job, of all versions. */
struct ledger_choice {
    const char *job;
    int64_t rank;               // -1: any
    const char *capture;        // "": any
};

struct ledger_chosen {
    int64_t items, captures;    // versions of captures
    uint64_t bytes;             // of the items' contents, each counted once
    int64_t of_job;             // items of the job, chosen or not
};

/* Add up what is chosen; and the bytes of that which other items have, too: this
 * reads all items of the root.
 */
int ledger_sum_chosen (struct ledger *l, const struct ledger_choice *c,
                       struct ledger_chosen *ret, struct err *err);
int ledger_sum_shared (struct ledger *l, const struct ledger_choice *c,
                       uint64_t *ret, struct err *err);

/* The deletions of what is chosen, without user; at most 'limit'.  They must be
 * entered with a later time than the one that they have.
 */
int ledger_each_version (struct ledger *l, const struct ledger_choice *c,
                         size_t limit, ledger_deletion_fn *fn, void *arg,
                         struct err *err);

/* "removed on 2026-11-26 10:55 UTC by USER" */
#define DELETION_TEXT_MAX 128
void ledger_deletion_text (const struct ledger_deletion *d,
                           char out[DELETION_TEXT_MAX]);

#endif
