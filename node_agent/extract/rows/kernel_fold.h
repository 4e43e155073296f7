/* node_agent/extract/rows/kernel_fold.h - aggregate kernels by name, type, core
 * and shapes
 *
 * For each device and step, and each name, type, core and input shapes: how
 * often kernels ran, for how long, and the sums of their counters.  At most
 * KERNEL_ROWS_MAX different ones are kept.  Further ones become one row for
 * each device and step, and beyond twice as many rows one row in all.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_KERNEL_FOLD_H
#define ROLLCALL_EXTRACT_ROWS_KERNEL_FOLD_H

#include "base/map.h"
#include "extract/sink/source.h"

#define KERNEL_ROWS_MAX 32768u          // with 32 counters: 12 MiB
#define KERNEL_METRICS_MAX 32u
#define KERNEL_NAME_BYTES 256u          // of a name or type
#define KERNEL_SHAPES_BYTES 1024u

#define KERNEL_OTHERS "(others)"        // the name of kernels without room
#define KERNEL_NO_TEXT INT64_MIN        // NULL
#define KERNEL_NO_STEP UINT32_MAX       // in the last row: of all steps
#define KERNEL_NO_DEVICE INT64_C (-1)

/* A key.  The caller assigns the numbers of texts and steps. */
struct kernel_key {
    int64_t device;
    uint32_t step;
    uint32_t others;            // 1: the sum of kernels without room, of no
                                // name
    int64_t name, type, core, shapes;
};

struct kernel_row {
    struct kernel_key key;
    uint64_t count;
    double total, min, max;     // us
    double metrics[];           // sums
};

/* It begins as zeros but for 'nmetrics'. */
struct kernel_fold {
    unsigned nmetrics;          // at most KERNEL_METRICS_MAX
    struct map rows;
};

/* Add a kernel; key->others is 0.  'metrics' has a value of each counter, NaN
 * for none; NULL: there are none.  Returns 0 or -ENOMEM.
 */
int kernel_fold_add (struct kernel_fold *f, const struct kernel_key *key,
                     double us, const double *metrics);

/* Add a kernel for whose texts the caller has no room. */
int kernel_fold_add_other (struct kernel_fold *f, int64_t device,
                           uint32_t step, double us);

void kernel_fold_fini (struct kernel_fold *f);

/* Resolves the numbers in a fold. */
struct kernel_names {
    void *arg;
    /* The text of a number, at most 'max' bytes, valid until the next call.
     * False: stop.
     */
    bool (*text) (void *arg, int64_t number, size_t max, const char **s,
                  size_t *n);
    /* The name of a step as in StepTraceTime; NULL: it has none. */
    const char *(*step) (void *arg, uint32_t step, char out[32]);
    const char *metrics[KERNEL_METRICS_MAX];    // names, without a quote
};

/* Send all rows to the sink.  False: src->stopped is set, or a function of
 * 'names' has returned false.
 */
bool kernel_fold_give (const struct kernel_fold *f, struct source *src,
                       const struct kernel_names *names, struct err *err);

#endif
