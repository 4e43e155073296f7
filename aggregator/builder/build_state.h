/* aggregator/builder/build_state.h - what a build leaves for the next one
 *
 * It is a cache beside a result, for a build that uses its rows again
 * (builder/former.h).  Whoever does compares what he reads with the sums of
 * pages: nothing else says that both belong together.
 */
#ifndef ROLLCALL_BUILDER_BUILD_STATE_H
#define ROLLCALL_BUILDER_BUILD_STATE_H

#include "model/schema.h"
#include "publish/rows_digest.h"
#include "sqlite_pages/page_sums.h"
#include "store/tree.h"

/* A capture whose rows the result has. */
struct build_capture {
    int64_t id, first_row;      // as in struct select_item
    uint64_t rows_max;
    uint64_t rows[TABLE_PROFILER_COUNT];        // that the result has
    struct digest content;      // of what they were read from
};

/* All zero: there is none. */
struct build_state {
    struct page_sums pages;     // of the result
    struct build_capture *captures;
    size_t ncaptures;
    struct rows_blocks blocks;  // hashes of rows of its large tables
};

/* Read it from the directory of the job; without success *s is zero. */
void build_state_read (struct build_state *s, const struct tree *dir);

/* Replace it, or remove it if *s is zero.  Without success the next build is
 * slower, and the result the same.
 */
void build_state_write (const struct build_state *s, const struct tree *dir);

void build_state_fini (struct build_state *s);

#endif
