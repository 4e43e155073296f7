/* common/sqlite_pages/page_sums.h - whether pages are still the same
 *
 * For files that nobody forges: every change of eight bytes or less shows,
 * others but for one in 2^64.  Some 10 GB a second.
 */
#ifndef ROLLCALL_SQLITE_PAGES_PAGE_SUMS_H
#define ROLLCALL_SQLITE_PAGES_PAGE_SUMS_H

#include <stdint.h>

/* Of a file's pages; all zero: none are known. */
struct page_sums {
    uint32_t page_size, n;      // pages
    uint64_t *sums;             // sums[i] is of page i + 1; 0: not known
};

/* The sum of a page, of a multiple of 512 bytes; never 0. */
uint64_t page_sum (const uint8_t *page, uint32_t size);

void page_sums_fini (struct page_sums *s);

#endif
