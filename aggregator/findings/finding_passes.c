/* aggregator/findings/finding_passes.c - what findings add up of big tables */
#include "findings/finding_passes.h"

#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

int finding_input_read (sqlite3 *db, struct finding_input *in,
                        struct err *err)
{
    struct db_rows r;
    struct finding_group g, *at;
    const char *kind;
    bool is_new;
    int rc = left_out_read (db, &in->left_out, err);

    in->db = db;
    in->groups = (struct map)MAP (struct finding_group, 1);
    if (rc < 0)
        return rc;
    if (texts_intern (&in->kinds, "", 0) != FINDING_NO_KIND)
        return err_set (err, ENOMEM, "no memory for groups");
    r = db_rows (db, err, "SELECT g.id, ifnull(g.type='p2p', 0),"
                          " ifnull(k.kind, '') FROM CommGroup g JOIN GroupKind"
                          " k ON k.comm_group=g.id");
    while (db_row (&r, g.id, g.p2p, kind)) {
        g.kind = texts_intern (&in->kinds, kind, strlen (kind));
        at = map_put (&in->groups, &g, &is_new);
        if (!at || g.kind == TEXTS_NONE)
            r.rc = err_set (err, ENOMEM, "no memory for groups");
        else
            *at = g;
    }
    return db_end (&r);
}

void finding_input_fini (struct finding_input *in)
{
    left_out_fini (&in->left_out);
    map_fini (&in->groups);
    texts_fini (&in->kinds);
}

int finding_scan (const struct finding_input *in, const char *table,
                  int (*take) (void *arg, const struct page_scan *row,
                               struct err *err),
                  void *arg, struct err *err)
{
    struct page_scan row;
    uint32_t root = 0;
    int rc = page_source_root (in->source, table, &root, err);

    if (rc < 0)
        return rc;
    rc = page_scan_begin (&row, in->source, root, INT64_MIN, INT64_MAX, err);
    while (rc == 0 && (rc = page_scan_next (&row, err)) == 1)
        rc = take (arg, &row, err);
    page_scan_end (&row);
    return rc;
}

bool finding_left_out (const struct finding_input *in,
                       const struct page_scan *row, unsigned step,
                       unsigned rank)
{
    size_t n;
    const char *text = page_scan_text (row, step, &n);

    return left_out_rank (&in->left_out, page_scan_int (row, rank, -1), text,
                          n);
}

const struct finding_group *finding_group_of (const struct finding_input *in,
                                              const struct page_scan *row,
                                              unsigned column)
{
    int64_t id = page_scan_int (row, column, -1);

    return map_get (&in->groups, &id);
}
