/* aggregator/page/page.h - report.html: a result as one page
 *
 * It is made only from a finished analysis.db, and has summaries of a bounded
 * size for any job; doc/report.md describes them.
 *
 * This folder: report.html; assets/ has its constant parts.
 */
#ifndef ROLLCALL_PAGE_PAGE_H
#define ROLLCALL_PAGE_PAGE_H

#include "base/err.h"
#include "publish/publish.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PAGE_NAME "report.html"

/* Write the page to a new file, and fsync it.  -EBADMSG if 'analysis_db' is not
 * one, or of another version, -ENOENT, -EEXIST, -EINTR ('cancel' became true;
 * may be NULL), -ENOSPC, -ENOMEM, -EIO; a part of the file may exist then.
 */
int page_write (const char *analysis_db, const char *temp_path,
                const atomic_bool *cancel, struct err *err);

/* The page as text, to be freed; 0, or as page_write, with *text NULL. */
int page_text (const char *analysis_db, const atomic_bool *cancel,
               char **text, size_t *size, struct err *err);

/* Whether a file is a page that rollcall wrote: by a comment at its start. */
bool page_is_ours (const char *path);

/* Write it and publish it as 'name'; 'kept' as in publish_finish. */
int page_make (struct publish *p, const char *analysis_db, const char *name,
               const atomic_bool *cancel, char kept[PATH_MAX],
               struct err *err);

#endif
