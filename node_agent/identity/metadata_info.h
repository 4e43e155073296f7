/* node_agent/identity/metadata_info.h - turn metadata into rows of CaptureInfo
 *
 * Metadata files and a database's META_DATA get the same names of rows
 * (doc/formats.md, "Metadata as rows").
 */
#ifndef ROLLCALL_IDENTITY_METADATA_INFO_H
#define ROLLCALL_IDENTITY_METADATA_INFO_H

#include "extract/sink/capture_facts.h"
#include "json/json.h"
#include "json/scan.h"

/* Read the value of a member of profiler_metadata.json, and carry it: of
 * ENV_VARIABLES each variable, of other objects each of their members, of
 * anything else one text.  False: the scanner failed.
 */
bool metadata_value (struct source *src, struct scan *s, const char *key,
                     size_t key_size);

/* Read a member of the object 'key', which is a short literal, and add it as a
 * row.  False if the scanner failed.
 */
bool metadata_sub (struct source *src, struct scan *s, const char *key);

/* Add the profiler's configuration, as profiler_info*.json has it. */
void metadata_config (struct source *src, const struct json *info);

/* Add the members of an object as rows. No effect on anything but an object. */
void metadata_members (struct source *src, const char *kind,
                       const struct json *object);

#endif
