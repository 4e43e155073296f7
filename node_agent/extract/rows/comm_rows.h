/* node_agent/extract/rows/comm_rows.h - write rows of the communication tables
 *
 * Each function appends to a batch.  Unless it says otherwise, the caller
 * flushes a full batch.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_COMM_ROWS_H
#define ROLLCALL_EXTRACT_ROWS_COMM_ROWS_H

#include "extract/rows/comm_tasks.h"

/* Whether an op sends or receives, by its name in any case: "hcom_send...",
 * "hcom_receive...", "hcom_batchsendrecv..." of HCCL, and the calls of its
 * library that marks name, "HcclSend", "HcclRecv", "HcclBatchSendRecv".
 */
bool comm_op_is_p2p (const char *op);

/* "p2p" or "collective". */
const char *comm_type (bool p2p);

/* Texts of all rows of an op; NULL becomes SQL's NULL. */
struct comm_texts {
    const char *op, *group, *step, *type;
};

/* The figures of an op of which only start and end are known. */
struct comm_figures comm_figures_of_call (double start_us, double elapse_ms);

/* Append a row of CommAnalyzerTime. */
void comm_time_put (struct batch *b, const struct comm_texts *x,
                    const struct comm_figures *f);

/* Append a row of CommAnalyzerBandwidth, for one packet size of a transport, in
 * MB and ms; NaN: not known.
 */
void comm_band_put (struct batch *b, const struct comm_texts *x,
                    const char *transport, const struct comm_bucket *k,
                    double package_mb, double count, double total_ms);

/* Append rows for all packet sizes of all transports; a transport without any
 * gets one row of zeros.  Flushes.  False: the source has stopped.
 */
bool comm_buckets_put (struct batch *b, const struct comm_texts *x,
                       const struct comm_figures *f, struct source *src,
                       struct err *err);

/* Add a link to those of its step; 'op' is "op@group".  As matrix_fold_add. */
int comm_link_add (struct matrix_fold *fold, const char *op,
                   const struct comm_item *link);

/* Append a row of CommAnalyzerMatrix.  False, and no row: the link has another
 * form.
 */
bool comm_link_put (struct batch *b, const struct matrix_row *m,
                    const char *step, const char *type);

#endif
