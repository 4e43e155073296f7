/* aggregator/page/page.h - report.html: a result as one page to look at
 *
 * Made of a finished analysis.db and nothing else.  Whatever the size of the
 * job, the page has summaries of a fixed size; doc/report.md tells them.
 *
 * This folder: report.html; what is the same in each page is in assets/.
 */
#ifndef ROLLCALL_PAGE_PAGE_H
#define ROLLCALL_PAGE_PAGE_H

#include "base/err.h"
#include "publish/publish.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PAGE_NAME "report.html"

/* Write the page to a new file, and fsync it.  -EBADMSG if 'analysis_db' is
 * none or of another version, -ENOENT, -EEXIST, -EINTR ('cancel' became true;
 * may be NULL), -ENOSPC, -ENOMEM, -EIO; the file may be there then, in part.
 */
int page_write (const char *analysis_db, const char *temp_path,
                const atomic_bool *cancel, struct err *err);

/* The page as text, to be freed; 0, or as page_write, with *text NULL. */
int page_text (const char *analysis_db, const atomic_bool *cancel,
               char **text, size_t *size, struct err *err);

/* Whether a file is a page that rollcall wrote: by a comment at its start. */
bool page_is_ours (const char *path);

/* Write it and publish it as 'name'; 'kept' as publish_finish has it. */
int page_make (struct publish *p, const char *analysis_db, const char *name,
               const atomic_bool *cancel, char kept[PATH_MAX],
               struct err *err);

#endif
