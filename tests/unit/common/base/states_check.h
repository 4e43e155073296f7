/* tests/unit/common/base/states_check.h - for tests of tables of states */
#ifndef ROLLCALL_TESTS_STATES_CHECK_H
#define ROLLCALL_TESTS_STATES_CHECK_H

#include "base/states.h"

/* What is true for one with a state, and what it did in which state. */
struct states_probe {
    struct state state;
    struct states_owner owner;
    unsigned true_guards;       // bits
    unsigned asked;             // guards
    unsigned did, did_in;
    int actions;
};

void states_be_in (struct states_probe *p, const struct states *table,
                   unsigned state);

/* It takes the next state in its turn, for tests of whole lives; or the event
 * does nothing to it.
 */
void states_go (struct states_probe *p, unsigned event, unsigned guards,
                unsigned action, unsigned to);
void states_stay (struct states_probe *p, unsigned event);

/* Every edge of the table is followed, with its action once, and nothing else
 * changes anything; no edge stands behind one that is always followed; from
 * 'first' each state is reached, and from each other than 'first' one that has
 * no way out.  Rows are kept for ever: they need not come to an end.
 */
void states_check_table (const struct states *table, unsigned first);
void states_check_rows (const struct states *table, unsigned first);

/* The graph below this heading ("## ...") of doc/states.md (STATES_DOCUMENT)
 * is of this table: each line an edge, and each edge a line, in one order.
 */
void states_check_document (const struct states *table, const char *heading);

#endif
