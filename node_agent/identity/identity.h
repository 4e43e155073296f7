/* node_agent/identity/identity.h - identify the owner of a capture
 *
 * Its name, its metadata files and its databases show its rank, process, host
 * and window.  Every fact is recorded as evidence (model/evidence.h), whether
 * it is believed or not.
 *
 * This folder: the owner and the version of a capture, by its name, its
 * metadata and its other files.
 */
#ifndef ROLLCALL_IDENTITY_IDENTITY_H
#define ROLLCALL_IDENTITY_IDENTITY_H

#include "extract/input/profiler_db.h"
#include "extract/sink/source.h"
#include "json/json.h"
#include "model/capture.h"

/* Take what the directory's name says.  It is known even if nothing else can be
 * read.
 */
void source_name (struct source *src);

/* Take what the metadata files say.  A glance reads no more than it needs,
 * provided that there is something to analyse, which 'readable' tells.  Damage
 * goes into the capture's reason; returns 0 or -ENOMEM.
 */
int source_identify (struct source *src,
                     bool (*readable) (const struct source *src),
                     struct err *err);

/* source_identify for FORM_MSPROF (identity_msprof.c). */
int source_identify_msprof (struct source *src, struct err *err);

/* Open the "timeline" of the lowest device of FORM_MSPROF that has results of
 * 2023. Returns a descriptor, which the caller closes, and its name below the
 * capture in 'name'; -ENOENT if there is none, or why it cannot be opened.
 */
int source_open_iterations (struct source *src, char name[64]);

/* Take what profiler_metadata.json says: world size, groups, and the rank if it
 * is not known yet.  Damage goes into the capture's reason; returns 0 or
 * -ENOMEM.
 */
int read_metadata (struct source *src, struct err *err);

/* Record what profiler_info*.json says: rank, schedule, window, and when the
 * host was booted.
 */
void identity_note_info (struct capture *c, const struct json *info);

/* Record what an event database says in RANK_DEVICE_MAP, HOST_INFO and of the
 * process.
 */
void identity_note_db (struct profiler_db *db, struct capture *c);

#endif
