/* aggregator/html_page/page_assets.h - the constant parts of a page
 *
 * cmake/embed.cmake turns the files of html_page/assets/ and the chart library
 * into an object file.
 */
#ifndef ROLLCALL_HTML_PAGE_PAGE_ASSETS_H
#define ROLLCALL_HTML_PAGE_PAGE_ASSETS_H

#include <stddef.h>

struct page_asset {
    const unsigned char *data;
    size_t size;                // bytes
};

extern const struct page_asset page_css, page_body, page_licence, page_library,
    page_script;

#endif
