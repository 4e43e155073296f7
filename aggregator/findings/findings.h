/* aggregator/findings/findings.h - what is slow, since when, and whose fault
 *
 * doc/findings.md tells each kind, its formula, threshold and source; the table
 * of them is finding_rules.c.
 *
 * This folder: the rules of findings, the small tables that they read, and
 * the list of what they found.
 */
#ifndef ROLLCALL_FINDINGS_FINDINGS_H
#define ROLLCALL_FINDINGS_FINDINGS_H

#include "base/err.h"

#include <sqlite3.h>
#include <stddef.h>

#define FINDINGS_OF_KIND_MAX 100        // rows; Job tells how many more

/* How large a thing must be to be told. */
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

/* "NAME=VALUE"; -EINVAL if there is no such threshold or it is no number that
 * is at least 0.
 */
int findings_set (struct findings_options *opt, const char *text,
                  struct err *err);

/* Fill table Finding, which is there and empty: main's, or one of the same
 * columns that is temporary.  All other tables are there, and those of
 * rollup.h; 'opt' NULL: defaults.
 */
int findings_derive (sqlite3 *db, const struct findings_options *opt,
                     struct err *err);

#endif
