/* node_agent/extract/event_db/read_event_db.h - read rows from event databases
 *
 * These are ascend_*_profiler*.db and msprof_*.db, which have all events and
 * none of our tables.  event_db.h is shared by the files of this folder.
 */
#ifndef ROLLCALL_EXTRACT_EVENT_DB_READ_EVENT_DB_H
#define ROLLCALL_EXTRACT_EVENT_DB_READ_EVENT_DB_H

#include "extract/sink/source.h"

/* The readers: see struct extractor (extract/registry.h). */
void read_event_db (struct source *src, unsigned want, struct verdict *v,
                    struct err *err);
void read_marks (struct source *src, unsigned want, struct verdict *v,
                 struct err *err);

/* Whether there is an event database that names steps. */
bool event_db_has_steps (struct source *src);

#endif
