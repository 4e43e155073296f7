/* node_agent/identity/other_files.h - list the files that no reader takes
 *
 * They are noted with capture_facts_file() before the readers begin; a reader
 * that takes one of them after all says so in capture_facts_read_files().
 */
#ifndef ROLLCALL_IDENTITY_OTHER_FILES_H
#define ROLLCALL_IDENTITY_OTHER_FILES_H

#include "extract/sink/source.h"

/* Record an entry of the capture's own directory.  For a directory that is the
 * sum of its files.
 */
void other_files_top (struct source *src, const char *name, bool directory,
                      uint64_t bytes);

/* Record the files in the directory of the results whose names are not 'known',
 * and the files beside the capture whose names begin with its name.
 */
void other_files_note (struct source *src, bool (*known) (const char *name));

#endif
