/* node_agent/extract/timeline/read_timeline.h - read rows from timelines
 *
 * These are trace_view.json of torch_npu and MindSpore, and the timelines of
 * msprof.  timeline.h is shared by the files of this folder.
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_READ_TIMELINE_H
#define ROLLCALL_EXTRACT_TIMELINE_READ_TIMELINE_H

#include "extract/sink/source.h"

/* Whether the capture has such a file, and its size; cheap, by name. */
bool timeline_is_there (const struct source *src, uint64_t *size);

/* The reader: see struct extractor (extract/registry.h). */
void read_timeline (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);

#endif
