/* aggregator/findings/findings.h - compute the findings of a result
 *
 * doc/findings.md describes each kind with its formula, threshold and source;
 * finding_rules.c has the table of kinds.
 *
 * This folder: the rules, the small tables that they read, and the list of
 * findings.
 */
#ifndef ROLLCALL_FINDINGS_FINDINGS_H
#define ROLLCALL_FINDINGS_FINDINGS_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdatomic.h>

#define FINDINGS_OF_KIND_MAX 100        // rows; Job counts the others

/* The thresholds of findings. */
struct threshold {
    const char *name, *unit, *what;
    double fallback;
};

enum { THRESHOLDS = 18 };
extern const struct threshold thresholds[THRESHOLDS];

struct findings_options {
    double values[THRESHOLDS];  // in the order of the table
};

void findings_defaults (struct findings_options *opt);

/* Parse "NAME=VALUE"; -EINVAL if there is no such threshold, or VALUE is not a
 * number from 0 on.
 */
int findings_set (struct findings_options *opt, const char *text,
                  struct err *err);

/* Fill the empty table Finding: the one in main, or a temporary one with the
 * same columns.  All other tables must exist, including those of rollup.h.
 * With 'opt' NULL the defaults apply.  The result does not depend on the number
 * of threads, which is 1 at least.  Errors as page_source_of and db_error.
 */
int findings_derive (sqlite3 *db, const struct findings_options *opt,
                     unsigned threads, const atomic_bool *cancel,
                     struct err *err);

#endif
