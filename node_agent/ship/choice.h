/* node_agent/ship/choice.h - to which of several aggregators each copy goes
 *
 * Endpoints are numbered in the order of the job (endpoints_sort): the first
 * ones that are not away have its copies.  If raw files go elsewhere
 * (choice_divide), the first ones in their order have those; where one has both,
 * the copy of rows speaks for both.  One is away if it was not heard for a
 * while.  It is back when it has answered for as long, or at once if a copy has
 * nobody to talk to.  The caller gives the time, and moves the copies.
 */
#ifndef ROLLCALL_SHIP_CHOICE_H
#define ROLLCALL_SHIP_CHOICE_H

#include "spool/spool.h"

struct choice {
    size_t n;                   // endpoints
    unsigned copies;            // of each kind: at most n
    bool divided;
    size_t raw_order[ENDPOINTS_MAX];    // if it is
    int64_t away_ns;
    struct choice_copy {
        size_t at;              // its endpoint
        int64_t since_ns;       // monotonic
    } copy[SPOOL_COPIES_ALL];
    struct {
        bool away;
        int64_t back_ns;        // since when it answers again, 0: it does not
        int64_t refused_ns;     // see choice_refused; 0: it did not, or is
                                // heard since then
    } of[ENDPOINTS_MAX];
};

void choice_begin (struct choice *c, size_t n, unsigned copies,
                   int64_t away_ns, int64_t now_ns);

/* Raw files go to the first endpoints of this order. */
void choice_divide (struct choice *c, const size_t order[]);

/* Whether there is such a copy. */
bool choice_is_copy (const struct choice *c, unsigned copy);

/* The copies that speak to an aggregator, in turn; 'shared': those of raw files
 * whose aggregator has a copy of rows, too.
 */
unsigned choice_next_copy (const struct choice *c, unsigned from);
bool choice_is_shared (const struct choice *c, unsigned copy);
bool choice_has_raw (const struct choice *c, unsigned copy);    // the reverse
#define EACH_CHOSEN(i, c) \
    (unsigned i = choice_next_copy (c, 0); i < SPOOL_COPIES_ALL; \
     i = choice_next_copy (c, i + 1))

/* The aggregator of a copy was last heard then; 0: never. */
void choice_heard (struct choice *c, unsigned copy, int64_t heard_ns,
                   int64_t now_ns);

/* This process did not listen for so long. */
void choice_was_deaf (struct choice *c, int64_t ns);

/* The aggregator of a copy is of a version that does not take this agent: it is
 * away until it answers otherwise.  False: all of them are.
 */
bool choice_refused (struct choice *c, unsigned copy, int64_t now_ns);

/* The next endpoint after 'last' to probe, in turn: one that is away and has no
 * copy.  ENDPOINTS_MAX: there is none.
 */
size_t choice_next_probe (const struct choice *c, size_t last);
void choice_probed (struct choice *c, size_t endpoint, bool answers,
                    int64_t now_ns);

/* Find a copy that has to be moved; it is now noted to be at copy[].at.  Call it
 * until there is none.
 */
bool choice_next_move (struct choice *c, unsigned *copy, int64_t now_ns);

/* Whether no aggregator stands in for another one: all copies are at the first
 * endpoints of the order.  Of two copies, one whose aggregator is away has nobody
 * to stand in for it: the object store of the other one does.
 */
bool choice_is_first (const struct choice *c);

#endif
