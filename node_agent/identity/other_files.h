/* node_agent/identity/other_files.h - the files of a capture that nobody reads
 *
 * They are noted with capture_facts_file() before the readers begin; a reader
 * that takes one of them after all says so in capture_facts_read_files().
 */
#ifndef ROLLCALL_IDENTITY_OTHER_FILES_H
#define ROLLCALL_IDENTITY_OTHER_FILES_H

#include "extract/sink/source.h"

/* Note an entry of the capture's own directory; of a directory the sum of its
 * files.
 */
void other_files_top (struct source *src, const char *name, bool directory,
                      uint64_t bytes);

/* Note the files in the directory of the results, but for those with names that
 * are known, and those beside the capture that bear its name.
 */
void other_files_note (struct source *src, bool (*known) (const char *name));

#endif
