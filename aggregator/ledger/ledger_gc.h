/* aggregator/ledger/ledger_gc.h - which contents nothing refers to
 *
 * Marks are in temporary tables of this connection, on disk if there are many.
 * While a writer marks, each content that it finds or enters is marked, too: so
 * what an agent was told to be here stays until the next time.
 */
#ifndef ROLLCALL_LEDGER_LEDGER_GC_H
#define ROLLCALL_LEDGER_LEDGER_GC_H

#include "ledger/ledger.h"

/* Begin without marks; end. */
int ledger_marks_begin (struct ledger *l, struct err *err);
void ledger_marks_end (struct ledger *l);

/* Mark a content: 1; 0: it was marked. */
int ledger_mark_content (struct ledger *l, const struct digest *id,
                         struct err *err);

/* Whether contents that are found or entered are marked from now on; what was
 * so before.
 */
bool ledger_set_marking (struct ledger *l, bool marking);

/* Whether something was removed that is not known to be collected. */
bool ledger_has_unused (struct ledger *l);

/* What functions call for contents: negative ends them; 1 ends this query, which
 * the next call goes on with.
 */
typedef int ledger_content_fn (void *arg, const struct digest *id,
                               const struct ledger_place *place);

/* Mark the contents of at most 'limit' items (of a job, if that is not NULL)
 * after *seq, which moves on, and call 'fn' once for each list that is here, and
 * each other content that is here and was not marked: 1, or 0 if there are no
 * more.
 */
int ledger_mark_items (struct ledger *l, const char *job, int64_t *seq,
                       unsigned limit, ledger_content_fn *fn, void *arg,
                       struct err *err);

/* Once all items and the chunks of their lists are marked: call 'fn' for each
 * list after *id (from zeros; it moves on) that is not: 1: there are more; note
 * a chunk of one; note a segment in which chunks that belong to no list may still
 * get one.  Then doom what is not marked of at most 'limit' contents after *id: 1,
 * 0.
 */
int ledger_each_unused_list (struct ledger *l, struct digest *id,
                             ledger_content_fn *fn, void *arg,
                             struct err *err);
int ledger_note_freed (struct ledger *l, const struct digest *id,
                       struct err *err);
int ledger_note_young (struct ledger *l, int64_t segment, struct err *err);
int ledger_doom (struct ledger *l, struct digest *id, unsigned limit,
                 struct err *err);

/* The first segment after *segment in which something is doomed, and how many
 * bytes: 1; 0: there is none.  The bytes of all its contents.
 */
int ledger_next_doomed (struct ledger *l, int64_t *segment, uint64_t *doomed,
                        struct err *err);
int ledger_segment_bytes (struct ledger *l, int64_t segment, uint64_t *ret,
                          struct err *err);

/* Note, for the next time, that at most 'limit' doomed contents after (*segment,
 * *id) have no use: 1; 0: all is noted.  Not in a transaction.
 */
int ledger_note_doomed (struct ledger *l, int64_t *segment, struct digest *id,
                        unsigned limit, struct err *err);

/* Call 'fn' for each list that is marked, but not by ledger_mark_items: it was
 * asked for, or entered, since: 1: there may be more.  Its chunks have to be
 * marked before any list is dropped; from then on a list is entered only with
 * chunks that are marked.
 */
int ledger_each_marked_list (struct ledger *l, ledger_content_fn *fn,
                             void *arg, struct err *err);

/* Forget the doomed lists, before any of their chunks, since a list has a row
 * only if all its chunks have.
 */
int ledger_drop_lists (struct ledger *l, struct err *err);

/* Whether the content at this place counts, and is not doomed (any more): 1, 0.
 */
int ledger_is_live (struct ledger *l, const struct digest *id,
                    const struct ledger_place *place, struct err *err);

/* The contents of a segment that are not doomed any more. */
int ledger_each_spared (struct ledger *l, int64_t segment,
                        ledger_content_fn *fn, void *arg, struct err *err);

/* In a transaction: forget the doomed contents of a segment, and the segment,
 * whose file may be removed after the commit.  -EBUSY: a content in it is still
 * used: roll back.
 */
int ledger_empty_segment (struct ledger *l, int64_t segment, struct err *err);

/* The segments whose files have to be removed; and: this was done. */
int ledger_each_emptied (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment), void *arg,
                         struct err *err);
int ledger_forget_emptied (struct ledger *l, int64_t segment,
                           struct err *err);

/* What the ledger has of an item with this identity and content: 1, 0. */
int ledger_find_same (struct ledger *l, const struct ledger_item *item,
                      struct ledger_item *ret, struct err *err);

#endif
