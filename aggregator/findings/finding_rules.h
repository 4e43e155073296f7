/* aggregator/findings/finding_rules.h - the table of the kinds of findings */
#ifndef ROLLCALL_FINDINGS_FINDING_RULES_H
#define ROLLCALL_FINDINGS_FINDING_RULES_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stddef.h>

/* A text of sql/NAME.sql, without its comments; made by cmake/embed_sql.cmake.
 *
 * That of a rule gives a row for each finding of the kind, the largest first:
 * step, rank, peer, comm_group, effect_ms, effect_percent, value, baseline, a,
 * b, c and d, which may be left out; :NAME in it is a threshold.  Behind it is
 * the query that users are told to ask next, which any SQLite runs.  The others
 * make small temporary tables f_*, which rules read beside those of the result
 * ("prepare_..."), find out afterwards whose fault it was ("explain"), and
 * remove the tables ("forget").
 */
struct finding_sql {
    const char *name;
    const char *text;
    const char *query;          // NULL: it is no rule's
};

extern const struct finding_sql finding_sql[];
extern const size_t finding_sql_count;

/* In the templates {rank}, {peer}, {step}, {effect}, {percent}, {value},
 * {baseline}, {a}, {b}, {c} and {d} stand for columns.
 */
struct finding_rule {
    const char *kind;           // also the name of its SQL
    const char *severity;       // NULL: by effect_percent
    const char *unit;           // of value and baseline
    const char *text, *hint;
    const char *rule;           // the formula's source, in short
};

extern const struct finding_rule finding_rules[];
extern const size_t finding_rule_count;

/* Fill f_packet and f_retry, which are of CommAnalyzerBandwidth's rows. */
struct findings_options;
int finding_packets (sqlite3 *db, const struct findings_options *opt,
                     const atomic_bool *cancel, struct err *err);

#endif
