/* node_agent/extract/identity.h - what metadata show of a capture's rank,
 * process, host and window
 *
 * Private to this folder.  Facts are noted as evidence (model/evidence.h),
 * whatever is believed of them.
 */
#ifndef ROLLCALL_EXTRACT_IDENTITY_H
#define ROLLCALL_EXTRACT_IDENTITY_H

#include "base/json.h"
#include "extract/profiler_db.h"
#include "model/capture.h"

/* profiler_info*.json: the rank in it, the schedule, the window, when the host
 * was booted.
 */
void identity_note_info (struct capture *c, const struct json *info);

/* An event database: RANK_DEVICE_MAP, HOST_INFO and the process. */
void identity_note_db (struct profiler_db *db, struct capture *c);

#endif
