/* aggregator/trend/trend.h - how the jobs of a root change over weeks
 *
 * Medians of jobs for each week, tag, user or host, and the devices and links
 * that are slow again and again; from the catalogue alone.
 *
 * This folder: these numbers, and the page that draws them.
 */
#ifndef ROLLCALL_TREND_TREND_H
#define ROLLCALL_TREND_TREND_H

#include "catalogue/catalogue.h"

#include <stdio.h>

#define TREND_TRANSPORTS 6      // those with the most traffic
#define TREND_BACK_MAX 100      // devices and links that come back
#define TREND_POINTS_MAX 2000   // the newest jobs, in a page

enum trend_by {
    TREND_DAY, TREND_WEEK, TREND_MONTH, TREND_TAG, TREND_USER, TREND_HOST,
    TREND_KEYS
};

extern const char *const trend_by_names[TREND_KEYS];    // "day", "week", ...

/* Numbers are NaN, and times 0, if they are not known. */
struct trend_row {
    char *key;                  // of a week: its Monday
    int64_t jobs, first_ns, last_ns;
    double step_ms, comm_percent, computing_percent;    // medians of jobs; by
                                // host: of its ranks
    double gbps[TREND_TRANSPORTS];
    int64_t high;               // findings
};

/* A device, host or link that findings of two or more jobs name. */
struct trend_back {
    char *kind;                 // of the findings
    char *what;                 // "node0 device 3", "node0 device 1 > node1 ..."
    int64_t jobs, of;           // of how many jobs on that host
    int64_t first_ns, last_ns;
    double percent;             // of a step, the mean
    char *latest;               // the last of these jobs
};

struct trend_point {            // a job
    char *job, *user, *tags;
    int64_t at_ns, ranks, high;
    double step_ms, comm_percent, gbps[TREND_TRANSPORTS];
};

struct trend {
    int64_t jobs, with_result, users;
    int64_t first_ns, last_ns;
    char *transports[TREND_TRANSPORTS];
    size_t ntransports;
    struct trend_row *rows;     // by key
    size_t nrows;
    struct trend_back *back;    // the most frequent first
    size_t nback;
    struct trend_point *points; // by time, the newest TREND_POINTS_MAX; only
    size_t npoints;             // if they were asked for
};

/* The jobs of a filter.  As catalogue_each; -ENOMEM. */
int trend_read (struct catalogue *c, const struct catalogue_filter *f,
                enum trend_by by, bool points, struct trend *ret,
                struct err *err);
void trend_fini (struct trend *t);      // also of a zeroed one

/* Write the page, whose links to reports are relative to 'dir', where it will
 * be ("": absolute).  0 or -EIO; without memory -ENOMEM.
 */
int trend_page (FILE *f, const struct trend *t, struct catalogue *c,
                enum trend_by by, const char *dir);

#endif
