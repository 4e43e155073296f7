/* node_agent/extract/rows/kernel_fold.h - kernels, folded by what they are
 *
 * Of each device and step: how often a kernel of one name, type, core and
 * shapes of input ran, for how long, and what its counters say.  Of
 * KERNEL_ROWS_MAX different ones; what is beyond them is one row for each
 * device and step, and beyond twice as many rows one row in all.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_KERNEL_FOLD_H
#define ROLLCALL_EXTRACT_ROWS_KERNEL_FOLD_H

#include "base/map.h"
#include "extract/sink/source.h"

#define KERNEL_ROWS_MAX 32768u          // with 32 counters: 12 MiB
#define KERNEL_METRICS_MAX 32u
#define KERNEL_NAME_BYTES 256u          // of a name or type
#define KERNEL_SHAPES_BYTES 1024u

#define KERNEL_OTHERS "(others)"        // the name of what had no room
#define KERNEL_NO_TEXT INT64_MIN        // NULL
#define KERNEL_NO_STEP UINT32_MAX       // of the last row: all of them
#define KERNEL_NO_DEVICE INT64_C (-1)

/* Texts and steps are numbers of the caller's. */
struct kernel_key {
    int64_t device;
    uint32_t step;
    uint32_t others;            // 1: of no name: of all that had no room
    int64_t name, type, core, shapes;
};

struct kernel_row {
    struct kernel_key key;
    uint64_t count;
    double total, min, max;     // us
    double metrics[];           // sums
};

/* All zero at first, but 'nmetrics'. */
struct kernel_fold {
    unsigned nmetrics;          // at most KERNEL_METRICS_MAX
    struct map rows;
};

/* One kernel, of no others.  'metrics' has a value of each, NaN for none; NULL: none at all.
 * 0 or -ENOMEM.
 */
int kernel_fold_add (struct kernel_fold *f, const struct kernel_key *key,
                     double us, const double *metrics);

/* The same of one whose texts the caller has no room for. */
int kernel_fold_add_other (struct kernel_fold *f, int64_t device,
                           uint32_t step, double us);

void kernel_fold_fini (struct kernel_fold *f);

/* What the numbers of a fold stand for. */
struct kernel_names {
    void *arg;
    /* The text of a number, valid until the next call, of at most 'max' bytes.
     * False: give up.
     */
    bool (*text) (void *arg, int64_t number, size_t max, const char **s,
                  size_t *n);
    /* As StepTraceTime has it; NULL: it has no name. */
    const char *(*step) (void *arg, uint32_t step, char out[32]);
    const char *metrics[KERNEL_METRICS_MAX];    // names, without a quote
};

/* All rows, to the sink.  False: src->stopped, or as 'names' said. */
bool kernel_fold_give (const struct kernel_fold *f, struct source *src,
                       const struct kernel_names *names, struct err *err);

#endif
