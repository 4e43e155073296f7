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

/* The rowids that a unit may have. */
int64_t split_first_row (const struct split_unit *u);
int64_t split_last_row (const struct split_unit *u);

/* Write all files of a result into temporary ones, checked and fsynced, of the
 * database 'path', which nobody has open.  What was copied of it is given back
 * to the disk.  Errors as build_run.
 */
int split_write (struct split *d, const struct publish *out,
                 const char *path, unsigned threads,
                 const atomic_bool *cancel, struct err *err);

/* publish_bring for each part. */
int split_bring (const struct split *d, struct publish *out,
                 const atomic_bool *cancel, struct err *err);

/* Move the parts to their final names; analysis.db comes after them. */
int split_finish (const struct split *d, struct publish *out,
                  const atomic_bool *cancel, struct err *err);

/* Add their names to a list; -ENOMEM. */
int split_names (const struct split *d, struct parts_names *names);

/* ---- split_rows.c: rows, copied page by page, for split_write ---- */

/* The one file, from which any thread copies; all of it is split_write's. */
struct split_source {
    const struct split *split;  // which part has which rows
    struct page_source *source;
    int fd;                     // to give pages back to the disk; negative:
                                // none are
    const atomic_bool *cancel;
};

/* Copy a part's rows of parts_tables[table], with the keys of its index on rank
 * if it has one, into the same table of 'f', which has none and pages of
 * ROW_FILE_PAGE_SIZE bytes; the caller finishes and closes 'f'.  Their number
 * is added to *rows.  Pages that were copied are given back, so nobody may read
 * these rows in the one file any more, not even after an error.  -EINTR once
 * *cancel is true; else errors of page_source.h, page_file_tree and
 * page_writer_row.
 */
int split_copy_part (const struct split_source *from, unsigned part,
                     unsigned table, struct page_file *f, uint64_t *rows,
                     struct err *err);

/* Copy all rows of another table, without keys of indexes; nothing is given
 * back.  Errors as above.
 */
int split_copy_table (const struct split_source *from, const char *name,
                      struct page_file *f, struct err *err);

#endif
