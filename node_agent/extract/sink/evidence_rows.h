/* node_agent/extract/sink/evidence_rows.h - collect evidence from rows
 *
 * Private to this folder.  Rows show which groups ops use, and the position of
 * this capture in them; when its steps were; when its symmetric collectives
 * ended.
 */
#ifndef ROLLCALL_EXTRACT_SINK_EVIDENCE_ROWS_H
#define ROLLCALL_EXTRACT_SINK_EVIDENCE_ROWS_H

#include "extract/sink/source.h"

/* Record what rows show in src->capture->evidence.  False: no memory;
 * src->stopped is set.
 */
bool evidence_rows (struct source *src, const struct batch *b,
                    struct err *err);

/* Drop the evidence from the rows of this table. */
void evidence_forget (struct source *src, enum table_id table);

#endif
