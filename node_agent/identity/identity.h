/* node_agent/identity/identity.h - what metadata show of a capture's rank,
 * process, host and window
 *
 * Private to this folder.  Facts are noted as evidence (model/evidence.h),
 * whatever is believed of them.
 */
#ifndef ROLLCALL_IDENTITY_IDENTITY_H
#define ROLLCALL_IDENTITY_IDENTITY_H

#include "extract/input/profiler_db.h"
#include "json/json.h"
#include "model/capture.h"

/* profiler_info*.json: the rank in it, the schedule, the window, when the host
 * was booted.
 */
void identity_note_info (struct capture *c, const struct json *info);

/* An event database: RANK_DEVICE_MAP, HOST_INFO and the process. */
void identity_note_db (struct profiler_db *db, struct capture *c);

#endif
