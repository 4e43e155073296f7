/* node_agent/extract/sink/evidence_rows.h - collect evidence from rows
 *
 * Private to this folder.  Which groups ops use, and where in them this capture
 * is; when its steps were; when its symmetric collectives ended.
 */
#ifndef ROLLCALL_EXTRACT_SINK_EVIDENCE_ROWS_H
#define ROLLCALL_EXTRACT_SINK_EVIDENCE_ROWS_H

#include "extract/sink/source.h"

/* Note what the rows show in src->capture->evidence.  False without memory,
 * which is noted in src->stopped.
 */
bool evidence_rows (struct source *src, const struct batch *b,
                    struct err *err);

/* The rows of this table do not count. */
void evidence_forget (struct source *src, enum table_id table);

#endif
