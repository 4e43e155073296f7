/* node_agent/agent/wanted_files.h - which files a WANT names */
#ifndef ROLLCALL_AGENT_WANTED_FILES_H
#define ROLLCALL_AGENT_WANTED_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the pattern is for the file at 'path', which is relative to its
 * capture.  "" is for every file.  A * stands for any bytes, also slashes, and
 * a ? for one.  A pattern without a slash is compared with the last name of the
 * path, too.  The time is at most the product of the two lengths.
 */
bool wanted_matches (const char *pattern, const char *path);

#endif
