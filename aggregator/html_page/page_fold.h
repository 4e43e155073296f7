/* aggregator/html_page/page_fold.h - fold many ranks and steps into few places
 *
 * Neighbours share a place if there are more of them than places.
 */
#ifndef ROLLCALL_HTML_PAGE_PAGE_FOLD_H
#define ROLLCALL_HTML_PAGE_PAGE_FOLD_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdint.h>

#define PAGE_RANKS_MAX 1024     // one pixel each on a screen
#define PAGE_CELLS_MAX 32768    // cells of ranks x steps: 0.2 MB per number
#define PAGE_STEPS_MIN 8
#define PAGE_STEPS_MAX 512
#define PAGE_ENDS_MAX 64        // ends of a matrix: ranks or hosts

struct page_fold {
    int64_t ranks, rank_places; // ranks in the roster
    int64_t steps, step_places; // steps in StepTraceTime
    int64_t ends;               // rows and columns of matrices
    int by_host;                // an end is a host, or several hosts
};

/* Create the temporary tables page_rank (rank, place, end) and page_step (step,
 * place).  Ranks and steps are ordered as numbers.
 */
int page_fold_make (sqlite3 *db, struct page_fold *ret, struct err *err);

#endif
