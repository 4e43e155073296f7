/* aggregator/html_page/html_page.h - write report.html, a result as one page
 *
 * The page is made only from a finished analysis.db.  Its size is bounded for
 * any job, because it contains summaries; doc/report.md describes them.
 *
 * This folder: report.html; assets/ has its constant parts.
 */
#ifndef ROLLCALL_HTML_PAGE_H
#define ROLLCALL_HTML_PAGE_H

#include "base/err.h"
#include "publish/publish.h"

#include <stdatomic.h>
#include <stdbool.h>

#define PAGE_NAME "report.html"

/* Write the page to a new file and fsync it.  -EBADMSG if 'analysis_db' is not
 * one or has another version, -ENOENT, -EEXIST, -EINTR ('cancel' became true;
 * it may be NULL), -ENOSPC, -ENOMEM, -EIO.  After a failure, a part of the file
 * may exist.
 */
int page_write (const char *analysis_db, const char *temp_path,
                const atomic_bool *cancel, struct err *err);

/* The page as text, which the caller frees.  0, or an error as page_write, with
 * *text set to NULL.
 */
int page_text (const char *analysis_db, const atomic_bool *cancel,
               char **text, size_t *size, struct err *err);

/* Whether rollcall wrote this page; it looks for a comment at the start. */
bool page_is_ours (const char *path);

/* Write the page and publish it as 'name'; 'kept' as in publish_finish. */
int page_make (struct publish *p, const char *analysis_db, const char *name,
               const atomic_bool *cancel, char kept[PATH_MAX],
               struct err *err);

#endif
