/* aggregator/findings/finding_rules.h - the table of the kinds of findings */
#ifndef ROLLCALL_FINDINGS_FINDING_RULES_H
#define ROLLCALL_FINDINGS_FINDING_RULES_H

#include "base/err.h"

#include <sqlite3.h>
#include <stddef.h>

/* 'sql' gives a row for each finding of the kind, the largest first: step,
 * rank, peer, comm_group, effect_ms, effect_percent, value, baseline, a, b, c
 * and d, which may be left out; :NAME in it is a threshold.  In the templates
 * {rank}, {peer}, {step}, {effect}, {percent}, {value}, {baseline}, {a}, {b},
 * {c} and {d} stand for them.
 */
struct finding_rule {
    const char *kind;
    const char *severity;       // NULL: by effect_percent
    const char *unit;           // of value and baseline
    const char *sql;
    const char *text, *hint, *query;
    const char *rule;           // the formula's source, in a word
};

extern const struct finding_rule finding_rules[];
extern const size_t finding_rule_count;

/* What the queries read, beside the tables: temporary tables f_*.  A text of
 * statements each; NULL ends them.
 */
extern const char *const finding_prepare[];
extern const char finding_explain[];    // afterwards: whose fault was it?
extern const char finding_forget[];     // at the end

/* Fill f_packet and f_retry, which are of CommAnalyzerBandwidth's rows. */
struct findings_options;
int finding_packets (sqlite3 *db, const struct findings_options *opt,
                     struct err *err);

#endif
