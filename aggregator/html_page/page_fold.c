/* aggregator/html_page/page_fold.c - fold many ranks and steps into few places */
#include "html_page/page_fold.h"

#include "store/db.h"

/* How many places 'n' things get if there are at most 'most' places. */
static int64_t page_fold_places (int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* The more ranks, the fewer steps. */
static int64_t steps_most (int64_t rank_places)
{
    int64_t most = PAGE_CELLS_MAX / (rank_places > 0 ? rank_places : 1);

    return most < PAGE_STEPS_MIN ? PAGE_STEPS_MIN
           : most > PAGE_STEPS_MAX ? PAGE_STEPS_MAX : most;
}

static int make_steps (sqlite3 *db, struct page_fold *f, struct err *err)
{
    f->steps = db_int (db, "SELECT count(*) FROM (SELECT DISTINCT step FROM"
                           " StepTraceTime)", 0);
    f->step_places = page_fold_places (f->steps, steps_most (f->rank_places));
    return db_execf (db, err,
        "CREATE TEMP TABLE page_step (step TEXT PRIMARY KEY, place INTEGER);"
        "INSERT INTO page_step SELECT step, (row_number() OVER (ORDER BY"
        " CAST(step AS INTEGER), step)-1)*%lld/%lld FROM (SELECT DISTINCT"
        " ifnull(step, '') AS step FROM StepTraceTime)",
        (long long)f->step_places, (long long)(f->steps ? f->steps : 1));
}

/* An end is a rank or, if there are too many ranks, a host.  If no or only one
 * host is known, an end is a range of ranks.
 */
static int make_ends (sqlite3 *db, struct page_fold *f, struct err *err)
{
    int64_t hosts = db_int (db, "SELECT count(DISTINCT host) FROM Roster", 0);

    f->by_host = f->ranks > PAGE_ENDS_MAX && hosts > 1;
    if (!f->by_host) {
        f->ends = page_fold_places (f->ranks, PAGE_ENDS_MAX);
        return db_execf (db, err,
            "UPDATE temp.page_rank SET an_end=i*%lld/%lld",
            (long long)f->ends, (long long)(f->ranks ? f->ranks : 1));
    }
    f->ends = page_fold_places (hosts, PAGE_ENDS_MAX);
    return db_execf (db, err,
        "CREATE TEMP TABLE page_host (host TEXT PRIMARY KEY, an_end INTEGER);"
        "INSERT INTO page_host SELECT host, (row_number() OVER (ORDER BY"
        " first)-1)*%lld/%lld FROM (SELECT host, min(rank) AS first FROM"
        " Roster WHERE host IS NOT NULL GROUP BY 1);"
        "UPDATE temp.page_rank SET an_end=(SELECT h.an_end FROM"
        " temp.page_host h JOIN Roster r ON r.host=h.host WHERE"
        " r.rank=page_rank.rank);"
        // a rank that never came has no known host: assume its neighbour's
        "UPDATE temp.page_rank SET an_end=ifnull((SELECT b.an_end FROM"
        " temp.page_rank b WHERE b.rank<page_rank.rank AND b.an_end IS NOT"
        " NULL ORDER BY b.rank DESC LIMIT 1), 0) WHERE an_end IS NULL",
        (long long)f->ends, (long long)hosts);
}

int page_fold_make (sqlite3 *db, struct page_fold *ret, struct err *err)
{
    int rc;

    ret->ranks = db_int (db, "SELECT count(*) FROM Roster", 0);
    ret->rank_places = page_fold_places (ret->ranks, PAGE_RANKS_MAX);
    rc = db_execf (db, err,
        "CREATE TEMP TABLE page_rank (rank INTEGER PRIMARY KEY, i INTEGER,"
        " place INTEGER, an_end INTEGER);"
        "INSERT INTO page_rank SELECT rank, i, i*%lld/%lld, NULL FROM (SELECT"
        " rank, row_number() OVER (ORDER BY rank)-1 AS i FROM Roster)",
        (long long)ret->rank_places,
        (long long)(ret->ranks ? ret->ranks : 1));
    if (rc == 0)
        rc = make_steps (db, ret, err);
    return rc < 0 ? rc : make_ends (db, ret, err);
}
