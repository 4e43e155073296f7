/* node_agent/identity/info_file.h - read profiler_info*.json and info.json.<N>
 *
 * These are small files that identify the owner of a capture.
 */
#ifndef ROLLCALL_IDENTITY_INFO_FILE_H
#define ROLLCALL_IDENTITY_INFO_FILE_H

#include "extract/sink/source.h"
#include "json/json.h"

/* Call 'note' for each name in a directory, in no order.  Returns 0 or a
 * negative errno.
 */
int info_each_name (int dirfd, void (*note) (void *arg, const char *name),
                    void *arg);

/* Read the file 'name' in 'dir' as a tree, which the caller frees.  Returns
 * NULL if it is absent or no JSON object.  Damage, including bytes that are not
 * UTF-8, is recorded in the capture's reason, which calls the file 'what'.
 */
struct json *info_read (struct source *src, int dir, const char *name,
                        const char *what);

/* Read a rank, which may be a number or a text. False for anything else. */
bool info_rank (const struct json *j, int64_t *ret);

/* Read a time in ns.  False if it is not above 0. JSON numbers are doubles: a
 * time since 1970 is exact to 256 ns, a time since a boot more than 104 days
 * ago (2^53 ns) to a few ns.
 */
bool info_ns (const struct json *j, int64_t *ret);

#endif
