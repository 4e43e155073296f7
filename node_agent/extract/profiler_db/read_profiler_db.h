/* node_agent/extract/profiler_db/read_profiler_db.h - read tables from
 * databases
 *
 * analysis.db and communication_analyzer.db, which the analyses of the
 * profilers write.
 */
#ifndef ROLLCALL_EXTRACT_PROFILER_DB_READ_PROFILER_DB_H
#define ROLLCALL_EXTRACT_PROFILER_DB_READ_PROFILER_DB_H

#include "extract/sink/source.h"

/* The readers: see struct extractor (extract/registry.h). */
void read_analysis_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err);
void read_analyzer_db (struct source *src, unsigned want, struct verdict *v,
                       struct err *err);

#endif
