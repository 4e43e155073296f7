/* aggregator/summary/summary.h - the summary of a result
 *
 * It is read from a finished analysis.db: present and missing ranks, steps and
 * where their time went, the slowest rank and link, and the files.
 *
 * This folder: the summary of a result, and the list of jobs.
 */
#ifndef ROLLCALL_SUMMARY_SUMMARY_H
#define ROLLCALL_SUMMARY_SUMMARY_H

#include "base/err.h"
#include "builder/results.h"
#include "jobs/jobs.h"
#include "json/json.h"
#include "summary/job_list.h"

#include <stdint.h>

/* Larger values exceed the differences between runs of the same job. */
#define SUMMARY_RANK_PERCENT 5          // more computing time
#define SUMMARY_LINK_PERCENT 20         // less bandwidth

struct summary_rank {
    int64_t rank;
    char state[16];
    char host[CAPTURE_NAME_MAX];
    char *reason;               // or NULL
};

struct summary {
    char job_id[JOBS_NAME_MAX];         // "" if not known
    bool assumed;                       // all captures are assumed to be of it
    char other_jobs[JOB_LIST_NOTE_MAX]; // other jobs found beside it, or ""
    struct job_origin about;
    const struct jobs *jobs;            // borrowed: the directory's jobs,
    size_t job;                         // or NULL, set by the caller; which
    bool all_jobs;                      // one this is; whether all are built
    int64_t expected, present;
    char known_by[CAPTURE_TEXT_MAX];
    struct summary_rank *others;        // ranks that are not present, and
    size_t nothers;                     // unexpected ones
    char **captures;                    // captures without a rank
    size_t ncaptures;
    char **remarks;                     // reasons of complete captures and of
                                        // superseded ones; hosts missing from
                                        // the topology; ranks that a guess
                                        // does not include
    size_t nremarks;
    int64_t steps;
    char first_step[32], last_step[32];
    double step_us, computing_us, communication_us, free_us;    // means
    bool has_times;
    size_t ranks_compared, links_compared;      // 0: too few ranks to compare
    struct {
        int64_t rank;                   // -1: none stands out or no data
        double computing_us, median_us;
    } slow_rank;
    struct {
        int64_t src, dst;               // global ranks; -1 as above
        char transport[32];             // or several: "HCCS,SIO"
        double gbps, median_gbps;       // as in the finding
    } slow_link;
    int64_t rows;
    int64_t bytes;                      // of the file
    char path[4096];
    char kept[4096];                    // path of the replaced file
    char newer[256];                    // the job whose result was kept there
    const struct results *beside;       // borrowed: the files made beside it,
                                        // set by the caller; or NULL
};

/* Read 'path', which messages call 'shown'.  0, or -EIO with SQLite's message.
 */
int summary_read (const char *path, const char *shown, struct summary *ret,
                  struct err *err);

/* The same for a result that this process wrote.  It does not follow symbolic
 * links that have replaced the file or a directory since: then it fails with
 * -ELOOP, which the caller should report.  Otherwise as above.
 */
int summary_read_back (const char *path, struct summary *ret, struct err *err);
void summary_fini (struct summary *s);

// The roster as a line: "7 of 8 present, 1 missing"
#define SUMMARY_ROLL_MAX 160
void summary_roll (const struct summary *s, char out[SUMMARY_ROLL_MAX]);

/* Returns 0, or -errno if writing fails. */
int summary_print_text (const struct summary *s, int fd);
struct json *summary_to_json (const struct summary *s);

#endif
