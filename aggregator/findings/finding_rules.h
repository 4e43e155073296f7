/* aggregator/findings/finding_rules.h - the table of the kinds of findings */
#ifndef ROLLCALL_FINDINGS_FINDING_RULES_H
#define ROLLCALL_FINDINGS_FINDING_RULES_H

#include <stddef.h>

/* The text of sql/NAME.sql without its comments, embedded by
 * cmake/embed_sql.cmake.
 *
 * The text of a rule selects a row for each finding, largest first: step, rank,
 * peer, comm_group, effect_ms, effect_percent, value, baseline, a, b, c and d;
 * columns may be left out.  :NAME in it is a threshold.  The second statement
 * is the follow-up query for users, which any SQLite can run.
 *
 * The other texts create small temporary tables f_* which the rules read
 * ("prepare_..."), find the cause of findings afterwards ("explain"), and drop
 * these tables ("forget").
 */
struct finding_sql {
    const char *name;
    const char *text;
    const char *query;          // NULL: used by no rule
};

extern const struct finding_sql finding_sql[];
extern const size_t finding_sql_count;

/* In templates, {rank}, {peer}, {step}, {effect}, {percent}, {value},
 * {baseline}, {a}, {b}, {c} and {d} stand for the columns.
 */
struct finding_rule {
    const char *kind;           // also the name of its SQL
    const char *severity;       // NULL: by effect_percent
    const char *unit;           // unit of value and baseline
    const char *text, *hint;
    const char *rule;           // source of the formula, in short
};

extern const struct finding_rule finding_rules[];
extern const size_t finding_rule_count;

#endif
