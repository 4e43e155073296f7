/* aggregator/html_page/page_parts.h - the parts of a page's data
 *
 * Each function appends members to the JSON object that the page's script
 * draws.
 */
#ifndef ROLLCALL_HTML_PAGE_PAGE_PARTS_H
#define ROLLCALL_HTML_PAGE_PAGE_PARTS_H

#include "base/err.h"
#include "html_page/page_fold.h"
#include "html_page/page_json.h"

#include <sqlite3.h>

struct page {
    sqlite3 *db;
    struct page_fold fold;
    struct json_out json;
};

/* All of these return 0, or an error as in db.h. */
int page_ranks (struct page *p, struct err *err);       // places and times
int page_links (struct page *p, struct err *err);
int page_packets (struct page *p, struct err *err);
int page_memory (struct page *p, struct err *err);

#endif
