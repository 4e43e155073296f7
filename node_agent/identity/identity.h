/* node_agent/identity/identity.h - whose a capture is
 *
 * What its name, its metadata files and its databases show of its rank,
 * process, host and window.  Facts are noted as evidence (model/evidence.h),
 * whatever is believed of them.
 *
 * This folder: whose a capture is and which version of it, by its name, its
 * metadata and its other files.
 */
#ifndef ROLLCALL_IDENTITY_IDENTITY_H
#define ROLLCALL_IDENTITY_IDENTITY_H

#include "extract/input/profiler_db.h"
#include "extract/sink/source.h"
#include "json/json.h"
#include "model/capture.h"

/* What the directory's name says, which is there even if nothing else can be
 * read.
 */
void source_name (struct source *src);

/* What the metadata files say.  Of a glance no more than is needed, if there
 * is something to read, which 'readable' tells.
 */
int source_identify (struct source *src,
                     bool (*readable) (const struct source *src),
                     struct err *err);

/* The second of them for FORM_MSPROF (identity_msprof.c). */
int source_identify_msprof (struct source *src, struct err *err);

/* The lowest device of FORM_MSPROF with results of 2023: its "timeline", open,
 * with its name below the capture; or -ENOENT, or why it cannot be opened.
 */
int source_open_iterations (struct source *src, char name[64]);

/* What profiler_metadata.json says: world size, groups, and the rank where it
 * is not known yet.  Damage is noted in the capture's reason; negative only
 * without memory.
 */
int read_metadata (struct source *src, struct err *err);

/* profiler_info*.json: the rank in it, the schedule, the window, when the host
 * was booted.
 */
void identity_note_info (struct capture *c, const struct json *info);

/* An event database: RANK_DEVICE_MAP, HOST_INFO and the process. */
void identity_note_db (struct profiler_db *db, struct capture *c);

#endif
