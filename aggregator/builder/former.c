/* aggregator/builder/former.c - a result whose rows are used again */
#include "builder/former.h"

#include "model/result_schema.h"
#include "sqlite_pages/page_scan.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct former {
    char path[PATH_MAX];
    const atomic_bool *cancel;
    struct page_source *source;
    uint32_t roots[PART_TREES];
};

struct former_reader {
    const struct former *f;
    struct page_scan scans[PART_TREES];
    bool have[PART_TREES];      // a row that was not taken yet
};

// Tables that are read by statements.
static const char *const by_sql[] = {
    "CommGroup", "CommGroupMember", "Link", "GroupTime",
};

static const char *tree_name (unsigned tree)
{
    return tree < TABLE_COUNT ? schema_table (tree)->name
                              : capture_sums_name (tree - TABLE_COUNT);
}

/* ---- can it be used? ---- */

/* Rows of traces change when other ranks come (row_sums/traffic.h). */
static bool has_traces (const struct build_job *job)
{
    for (size_t i = 0; i < job->nitems; i++) {
        if (strcmp (job->items[i].capture.framework, "kineto") == 0)
            return true;
    }
    return false;
}

static bool is_same (const struct select_item *item,
                     const struct build_capture *c)
{
    return !item->skip && item->content &&
           digest_is (item->content, &c->content) &&
           item->first_row == c->first_row && item->rows_max == c->rows_max;
}

/* Mark the items whose rows it has.  False: it has rows of others, or a rank
 * has rows of both kinds, so that their steps may be the same.
 */
static bool mark_kept (const struct build_job *job)
{
    struct select_item *items = job->items, *before = NULL;
    bool same = true;

    for (size_t k = 0; k < job->state->ncaptures && same; k++) {
        const struct build_capture *c = &job->state->captures[k];
        size_t i = select_place (items, job->nitems, c->id);

        same = i < job->nitems && is_same (&items[i], c);
        if (same)
            items[i].kept = c;
    }
    for (size_t i = 0; i < job->nitems && same; i++) {
        if (items[i].skip)
            continue;
        same = !before || items[i].rank != before->rank ||
               !items[i].kept == !before->kept;
        before = &items[i];
    }
    return same;
}

/* Read all of what SQLite will read, so that it is compared. */
static int check_small (const struct former *f, uint32_t root)
{
    struct page_scan p;
    int rc = page_scan_begin (&p, f->source, root, INT64_MIN, INT64_MAX, NULL);

    while (rc == 0 && (rc = page_scan_next (&p, NULL)) == 1)
        rc = 0;
    page_scan_end (&p);
    return rc;
}

static bool open_tables (struct former *f, const struct page_sums *sums)
{
    uint32_t root = 1;          // the schema
    int rc = page_source_open (f->path, &f->source, NULL);

    if (rc < 0)
        return false;
    page_source_expect (f->source, sums);
    rc = check_small (f, root);
    for (unsigned i = 0; i < PART_TREES && rc == 0; i++) {
        rc = page_source_root (f->source, tree_name (i), &f->roots[i], NULL);
        if (rc == 0 && f->roots[i] == 0)
            rc = -EBADMSG;
    }
    for (size_t i = 0; i < sizeof (by_sql) / sizeof (by_sql[0]) && rc == 0;
         i++) {
        rc = page_source_root (f->source, by_sql[i], &root, NULL);
        if (rc == 0)
            rc = check_small (f, root);
    }
    return rc == 0;
}

struct former *former_open (const struct publish *out,
                            const struct build_job *job)
{
    struct former *f = job->state && job->state->ncaptures > 0 &&
                       job->state->pages.page_size == ROW_FILE_PAGE_SIZE &&
                       !job->steps && !out->copied && !has_traces (job)
                           ? calloc (1, sizeof (*f)) : NULL;

    if (f)
        f->cancel = job->cancel;
    if (f && mark_kept (job) &&
        publish_path (out, BUILD_DB_NAME, f->path, NULL) == 0 &&
        publish_is_our_db (f->path) && open_tables (f, &job->state->pages))
        return f;
    former_close (f);
    for (size_t i = 0; i < job->nitems; i++)
        job->items[i].kept = NULL;
    return NULL;
}

void former_close (struct former *f)
{
    if (f)
        page_source_close (f->source);
    free (f);
}

/* ---- rows ---- */

static int advance (struct former_reader *r, unsigned tree, struct err *err)
{
    int rc = page_scan_next (&r->scans[tree], err);

    r->have[tree] = rc == 1;
    return rc < 0 ? rc : 0;
}

int former_reader_create (const struct former *f, int64_t first,
                          struct former_reader **ret, struct err *err)
{
    struct former_reader *r = calloc (1, sizeof (*r));
    int rc = 0;

    if (!r)
        return err_set (err, ENOMEM, "no memory for rows");
    r->f = f;
    for (unsigned i = 0; i < PART_TREES && rc == 0; i++) {
        rc = page_scan_begin (&r->scans[i], f->source, f->roots[i],
                              first, INT64_MAX, err);
        if (rc == 0)
            rc = advance (r, i, err);
    }
    *ret = r;
    return rc;
}

void former_reader_destroy (struct former_reader *r)
{
    for (unsigned i = 0; r && i < PART_TREES; i++)
        page_scan_end (&r->scans[i]);
    free (r);
}

/* What waits told of clocks is behind the rows of the last capture. */
static bool is_told (const struct page_scan *s, unsigned tree)
{
    size_t n;
    const char *kind = tree == TABLE_INFO ? page_scan_text (s, INFO_KIND, &n)
                                          : NULL;

    return kind && n == 5 && memcmp (kind, "clock", n) == 0;
}

/* Whole leaves, where there are. */
static int copy_tree (struct former_reader *r, unsigned tree,
                      struct page_writer *w, int64_t last, struct err *err)
{
    struct page_scan *s = &r->scans[tree];
    int rc = 0;

    while (rc == 0 && r->have[tree] && s->rowid <= last) {
        int64_t first = s->rowid, end;
        const uint8_t *leaf = tree == TABLE_INFO
                                  ? NULL : page_scan_leaf (s, last, &end);

        if (leaf)
            rc = page_writer_leaf (w, first, end, leaf, err);
        else if (!is_told (s, tree))
            rc = page_scan_copy (s, w, err);
        if (rc == 0)
            rc = advance (r, tree, err);
        if (rc == 0 && atomic_load (r->f->cancel))
            rc = err_set (err, EINTR, "interrupted");
    }
    return rc;
}

int former_copy (struct former_reader *r, struct part *p, int64_t last,
                 struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < PART_TREES && rc == 0; i++) {
        struct page_writer *w = NULL;

        if (r->have[i] && r->scans[i].rowid <= last)
            rc = (w = part_writer (p, i, err)) ? 0 : -ENOMEM;
        if (w)
            rc = copy_tree (r, i, w, last, err);
    }
    return rc;
}

/* ---- what is derived ---- */

bool former_is_plain (const struct build_job *job, size_t nconflicts)
{
    for (size_t i = 0; i < job->nitems; i++) {
        const struct select_item *item = &job->items[i];

        if (item->doubt || item->drop ||
            item->capture.state == CAPTURE_UNEXPECTED ||
            (item->kept && !capture_has_rows (&item->capture)))
            return false;
    }
    return nconflicts == 0 && !job->steps && !job->forget && !has_traces (job);
}

int former_attach (const struct former *f, sqlite3 *db, struct err *err)
{
    return db_execf (db, err, "ATTACH %Q AS former", f->path);
}

#define SAME(columns, table) \
    "NOT EXISTS (SELECT " columns " FROM main." table " EXCEPT SELECT " \
    columns " FROM former." table ") AND NOT EXISTS (SELECT " columns \
    " FROM former." table " EXCEPT SELECT " columns " FROM main." table ")"

int former_groups (sqlite3 *db, struct err *err)
{
    int64_t same = db_int (
        db, "SELECT " SAME ("id, group_name, group_id, pg_name, size",
                            "CommGroup") " AND "
            SAME ("comm_group, group_rank, rank", "CommGroupMember"), 0);

    if (!same)
        return err_set (err, ESTALE, "the former result has other groups");
    return db_exec (db, "UPDATE main.CommGroup SET type=CASE WHEN f.type IS"
                        " NULL OR f.type=main.CommGroup.type THEN"
                        " main.CommGroup.type WHEN main.CommGroup.type IS NULL"
                        " THEN f.type ELSE 'mixed' END FROM former.CommGroup f"
                        " WHERE f.id=main.CommGroup.id", err);
}

void former_keep_blocks (struct rows_blocks *blocks)
{
    static const unsigned large[] = { TABLE_TIME, TABLE_BANDWIDTH, TABLE_MATRIX,
                                      TABLE_COUNT + SUMS_FIRST };
    size_t n = 0;

    for (size_t i = 0; i < blocks->n; i++) {
        for (unsigned k = 0; k < sizeof (large) / sizeof (large[0]); k++) {
            if (strcmp (blocks->list[i].table, tree_name (large[k])) == 0)
                blocks->list[n++] = blocks->list[i];
        }
    }
    blocks->n = n;
}
