/* node_agent/extract/rows/comm_rows.h - rows of the communication tables
 *
 * What an op is and comes to, put behind the last row of a batch.  The caller
 * flushes a batch that is full, where nothing else is said.
 */
#ifndef ROLLCALL_EXTRACT_ROWS_COMM_ROWS_H
#define ROLLCALL_EXTRACT_ROWS_COMM_ROWS_H

#include "extract/rows/comm_tasks.h"

/* Whether an op sends or receives, by its name in any case: "hcom_send...",
 * "hcom_receive...", "hcom_batchsendrecv..." of HCCL, and the calls of its
 * library as marks have them, "HcclSend", "HcclRecv", "HcclBatchSendRecv".
 */
bool comm_op_is_p2p (const char *op);

/* "p2p" or "collective". */
const char *comm_type (bool p2p);

/* Texts that all rows of an op have; NULL is SQL's. */
struct comm_texts {
    const char *op, *group, *step, *type;
};

/* Figures of an op of which only start and end are known. */
struct comm_figures comm_figures_of_call (double start_us, double elapse_ms);

/* CommAnalyzerTime. */
void comm_time_put (struct batch *b, const struct comm_texts *x,
                    const struct comm_figures *f);

/* CommAnalyzerBandwidth: one size of packet of a transport, in MB and ms; NaN
 * in what is not known.
 */
void comm_band_put (struct batch *b, const struct comm_texts *x,
                    const char *transport, const struct comm_bucket *k,
                    double package_mb, double count, double total_ms);

/* The same of all sizes of all transports; a transport without any has one row
 * of zeros.  Flushes; false when the source has stopped.
 */
bool comm_buckets_put (struct batch *b, const struct comm_texts *x,
                       const struct comm_figures *f, struct source *src,
                       struct err *err);

/* Add a link to those of its step, "op@group".  As matrix_fold_add. */
int comm_link_add (struct matrix_fold *fold, const char *op,
                   const struct comm_item *link);

/* CommAnalyzerMatrix.  False, and no row, if the link has another form. */
bool comm_link_put (struct batch *b, const struct matrix_row *m,
                    const char *step, const char *type);

#endif
