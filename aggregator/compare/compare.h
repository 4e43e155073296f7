/* aggregator/compare/compare.h - the differences between two runs
 *
 * A metric is measured in each step on each rank.  Each rank's medians over
 * steps in both runs are compared, and the median of the ranks' differences
 * counts if it is larger than 'noise', whose formula is in rollcall-compare(1).
 *
 * This folder: the comparison of two results.
 */
#ifndef ROLLCALL_COMPARE_COMPARE_H
#define ROLLCALL_COMPARE_COMPARE_H

#include "base/err.h"
#include "compare/spread.h"
#include "json/json.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define COMPARE_METRICS_MAX 256
#define COMPARE_RANKS_SHOWN 5           // of one metric

enum compare_verdict {
    COMPARE_SAME,               // within noise
    COMPARE_WORSE,              // B is worse than A
    COMPARE_BETTER,
    COMPARE_CHANGED,            // neither is better
    COMPARE_UNKNOWN,            // too few steps or too few ranks
    COMPARE_ONLY_A, COMPARE_ONLY_B,
};

/* A link packed into one number, for metrics of links instead of ranks. */
#define COMPARE_LINK_SRC (1LL << 31)
#define COMPARE_SRC(link) ((link) / COMPARE_LINK_SRC)
#define COMPARE_DST(link) ((link) % COMPARE_LINK_SRC)

/* The measurements of a rank or a link. */
struct compare_rank {
    int64_t rank;
    struct spread s;
    struct spread share;        // the same, divided by the step's median over
                                // ranks; n is 0 if that median is never > 0
};

struct compare_series {
    struct compare_rank *ranks; // by rank
    size_t n;
};

/* A rank whose change differs from that of the others. */
struct compare_outlier {
    int64_t rank;
    double a, b;
};

struct compare_metric {
    int order;                  // kind of metric: index into a table
    char name[128];
    const char *unit;
    int better;                 // -1: less is better, 1: more is, 0: neither
    bool stepless;              // measured once for each rank
    bool links;                 // a metric of links: "ranks" are links here
    struct compare_series runs[2];
    size_t ranks;               // in both runs
    double a, b, difference;
    double noise;               // the difference that counts must exceed this
    double floor;               // "same" requires a difference below this
    enum compare_verdict verdict;
    struct compare_outlier outliers[COMPARE_RANKS_SHOWN];
    size_t noutliers;           // all of them, shown or not
};

struct compare_setting {
    char *kind, *name;
    char *a, *b;                // of one rank; NULL: not recorded
    int64_t ranks;
};

struct compare_run {
    char path[PATH_MAX];
    int64_t world, present;     // expected ranks; how many of these present
    int64_t steps;
    char first_step[32], last_step[32];
};

struct compare {
    struct compare_run runs[2];
    int64_t both;               // ranks that are in both runs
    int64_t *only[2];           // ranks that are present in only one run
    size_t nonly[2];
    struct compare_metric *metrics;
    size_t nmetrics, dropped;   // metrics above COMPARE_METRICS_MAX
    struct compare_setting *settings;
    size_t nsettings;
    size_t different;           // differing metrics, and outliers
    bool steps_tell;            // whether there are enough steps
};

/* Read and compare two analysis.db files.  Differences below 'floor_percent' do
 * not count, even if they exceed the noise.  0, -ENOMEM, or as
 * finished_open_analysis.
 */
int compare_read (const char *a, const char *b, double floor_percent,
                  struct compare *ret, struct err *err);
void compare_fini (struct compare *c);

/* Whether the runs differ in a metric, a rank, or the size of the world. */
bool compare_differs (const struct compare *c);

/* Whether the metric differs, not counting single ranks. */
bool compare_counts (const struct compare_metric *m);

/* Compare two series; either may be empty. */
void compare_judge (struct compare_metric *m, double floor_percent);

/* Whether 'difference' is also that of 'a' and 'b', but for noise and floor.  It
 * is another one where some ranks have more and others less than before.
 */
bool compare_ranks_agree (const struct compare_metric *m);

/* The verdict's text for tables and JSON; "within noise" for COMPARE_SAME above
 * the floor, "ranks disagree" without compare_ranks_agree.
 */
const char *compare_verdict_text (const struct compare_metric *m);

/* Without 'all', equal memory peaks are only counted, not listed.  Returns 0 or
 * the stream's error.
 */
int compare_print (const struct compare *c, bool all, size_t width, FILE *f);
struct json *compare_to_json (const struct compare *c);

#endif
