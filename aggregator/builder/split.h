/* aggregator/builder/split.h - a built result, divided into parts
 *
 * A build writes one file.  If that is larger than wanted, its rows of ops go
 * into parts by host, leaf by leaf, and all else into a new analysis.db
 * (publish/result_parts.h).
 */
#ifndef ROLLCALL_BUILDER_SPLIT_H
#define ROLLCALL_BUILDER_SPLIT_H

#include "builder/row_file.h"
#include "publish/result_parts.h"
#include "select/capture_select.h"

#define SPLIT_DEFAULT (INT64_C (64) << 30)     // bytes of one file
#define SPLIT_ROW_BYTES 146     // of a row of ops with its keys and LinkRow,
                                // measured: doc/architecture.md

/* How captures are divided. */
struct split_unit {
    uint64_t block;             // rowid >> ROWS_BLOCK_BITS
    int64_t rank;               // -1: none
    uint32_t host;
    uint64_t bytes;
    unsigned part;              // from 1
};

struct split {
    unsigned n;                 // parts; 0: one file
    char id[PARTS_ID_SIZE];
    struct split_unit *units;   // by rowid; each is a rank or a capture
    size_t nunits;
    char path[PATH_MAX];        // of the new analysis.db
    const struct select_item *items;
    size_t nitems;
};

/* Decide, by the number of rows of each capture: 'spans' has those of all items
 * that were read, by their first rowid.  The same captures are always divided
 * in the same way.  A host is not divided unless it alone is larger than
 * 'limit', then its ranks are not.  -ENOMEM.  The caller calls split_fini.
 */
int split_plan (struct split *d, const struct select_item *items, size_t n,
                const struct row_span *spans, int64_t limit, struct err *err);
void split_fini (struct split *d);

/* The unit that has a rowid, or NULL. */
struct split_unit *split_unit_at (const struct split *d, int64_t row);

/* Write all files of a result into temporary ones, checked and fsynced, of the
 * database 'path', which nobody has open.  What was copied of it is given back
 * to the disk.  Errors as build_run.
 */
int split_write (struct split *d, const struct publish *out,
                 const char *path, unsigned threads,
                 const atomic_bool *cancel, struct err *err);

/* Move the parts to their final names; analysis.db comes after them. */
int split_finish (const struct split *d, struct publish *out,
                  struct err *err);

#endif
