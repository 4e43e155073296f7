/* node_agent/identity/info_file.h - small files that say whose a capture is
 *
 * profiler_info*.json, info.json.<N>.
 */
#ifndef ROLLCALL_IDENTITY_INFO_FILE_H
#define ROLLCALL_IDENTITY_INFO_FILE_H

#include "extract/sink/source.h"
#include "json/json.h"

/* Call 'note' for each name in a directory.  0 or a negative errno. */
int info_each_name (int dirfd, void (*note) (void *arg, const char *name),
                    void *arg);

/* The file 'name' in 'dir' as a tree, to be freed.  NULL if it is absent or no
 * JSON object; damage (also of bytes that are not UTF-8) is noted in the
 * capture's reason, where the file is called 'what'.
 */
struct json *info_read (struct source *src, int dir, const char *name,
                        const char *what);

/* A rank, as a number or as text; false for anything else. */
bool info_rank (const struct json *j, int64_t *ret);

/* A time above 0, in ns.  Numbers are doubles: since 1970 it is exact to 256 ns,
 * since a boot more than 104 days ago (2^53 ns) to some ns.
 */
bool info_ns (const struct json *j, int64_t *ret);

#endif
