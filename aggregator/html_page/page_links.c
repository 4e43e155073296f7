/* aggregator/html_page/page_links.c - the matrices of a page: links and waits */
#include "html_page/page_parts.h"

#include "store/db.h"

#define CELLS_MAX "16384"       // four transports x 64 x 64 ends

// for all steps and groups
static const char links_sql[] =
    "CREATE TEMP TABLE page_link AS SELECT src_rank AS src, dst_rank AS dst,"
    " transport_type AS transport, total(transit_size) AS mb,"
    " total(transit_time) AS ms FROM Link GROUP BY 1, 2, 3;";

/* If several links share a cell, name the slowest that moved at least 1 MB;
 * with less, latency dominates.
 */
static const char cells_sql[] =
    "SELECT s.an_end AS src, d.an_end AS dst, l.transport, count(*) AS links,"
    " sum(l.mb) AS mb, sum(l.ms) AS ms,"
    " min(CASE WHEN l.mb>=1 THEN l.mb/l.ms END) AS slowest,"
    " l.src AS slowest_src, l.dst AS slowest_dst FROM temp.page_link l"
    " JOIN temp.page_rank s ON s.rank=l.src JOIN temp.page_rank d ON"
    " d.rank=l.dst WHERE l.ms>0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    " LIMIT " CELLS_MAX;

static const char waits_sql[] =
    "SELECT a.an_end AS waiting, b.an_end AS late, sum(w.wait_ms) AS wait_ms,"
    " sum(w.ops) AS ops FROM Wait w JOIN temp.page_rank a ON"
    " a.rank=w.waiting_rank JOIN temp.page_rank b ON b.rank=w.late_rank"
    " GROUP BY 1, 2 ORDER BY 1, 2 LIMIT " CELLS_MAX;

static const char ends_sql[] =
    "SELECT e.first, e.last, e.ranks, a.host AS host, z.host AS last_host,"
    " e.hosts FROM (SELECT p.an_end, min(p.rank) AS first, max(p.rank) AS last,"
    "  count(*) AS ranks, count(DISTINCT r.host) AS hosts FROM temp.page_rank p"
    "  JOIN Roster r ON r.rank=p.rank GROUP BY p.an_end) e"
    " JOIN Roster a ON a.rank=e.first JOIN Roster z ON z.rank=e.last"
    " ORDER BY e.an_end";

int page_links (struct page *p, struct err *err)
{
    int rc = db_exec (p->db, links_sql, err);

    if (rc == 0)
        rc = page_json_rows (&p->json, p->db, "ends", ends_sql, err);
    if (rc == 0)
        rc = page_json_rows (&p->json, p->db, "links", cells_sql, err);
    return rc < 0 ? rc : page_json_rows (&p->json, p->db, "waits", waits_sql,
                                         err);
}
