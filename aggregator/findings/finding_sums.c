/* aggregator/findings/finding_sums.c - waiting and links, added up */
#include "findings/finding_passes.h"

#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_MEMORY "no memory for sums"

// Columns by position.
enum { WAIT_STEP, WAIT_GROUP, WAIT_LATE, WAIT_WAITING, WAIT_OPS, WAIT_MS };
enum { GROUP_TIME_STEP, GROUP_TIME_GROUP, GROUP_TIME_RANK, GROUP_TIME_OPS,
       GROUP_TIME_ELAPSE, GROUP_TIME_WAIT, GROUP_TIME_SYNC };
enum { USE_STEP, USE_GROUP, USE_SRC, USE_DST, USE_TRANSPORT, USE_TYPE,
       USE_SIZE, USE_TIME };

static bool is_left_out (const struct finding_input *in,
                         const struct page_scan *row, unsigned step,
                         unsigned rank)
{
    size_t n;
    const char *text = page_scan_text (row, step, &n);

    return left_out_rank (&in->left_out, page_scan_int (row, rank, -1), text,
                          n);
}

/* What a rank, or a rank in a group, waited or made others wait. */
struct waited {
    int64_t rank, group;        // the key
    double collective, p2p;     // ms
    double all;
};

static void add_ms (struct waited *w, double ms, bool p2p)
{
    if (isnan (ms))
        return;
    w->all += ms;
    if (p2p)
        w->p2p += ms;
    else
        w->collective += ms;
}

static int put_waited (struct map *m, int64_t rank, int64_t group, double ms,
                       bool p2p, struct err *err)
{
    struct waited *w;
    bool is_new;

    if (!(w = map_put (m, &(struct waited){ rank, group, 0, 0, 0 }, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    add_ms (w, ms, p2p);
    return 0;
}

/* ---- Wait ---- */

struct waits {
    const struct finding_input *in;
    struct map caused, own;     // struct waited; 'own' has group 0
};

static int take_wait (void *arg, const struct page_scan *row, struct err *err)
{
    struct waits *w = arg;
    const struct finding_group *g = finding_group_of (w->in, row, WAIT_GROUP);
    int64_t late = page_scan_int (row, WAIT_LATE, -1);
    int64_t waiting = page_scan_int (row, WAIT_WAITING, -1);
    double ms = page_scan_real (row, WAIT_MS);
    int rc;

    if (!g || is_left_out (w->in, row, WAIT_STEP, WAIT_LATE) ||
        is_left_out (w->in, row, WAIT_STEP, WAIT_WAITING))
        return 0;
    rc = put_waited (&w->caused, late, g->id, ms, g->p2p, err);
    return rc < 0 ? rc : put_waited (&w->own, waiting, 0, ms, g->p2p, err);
}

static int read_waits (const struct finding_input *in, void **ret,
                       struct err *err)
{
    struct waits *w = *ret = calloc (1, sizeof (*w));

    if (!w)
        return err_set (err, ENOMEM, NO_MEMORY);
    *w = (struct waits){ in, MAP (struct waited, 2), MAP (struct waited, 2) };
    return finding_scan (in, "Wait", take_wait, w, err);
}

/* Run 'sql' for each record with rank, group, collective, p2p and all. */
static int write_waited (sqlite3 *db, const char *sql, const struct map *m,
                         struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, sql, &st, err);

    for (uint32_t i = 0; i < m->n && rc == 0; i++) {
        const struct waited *w = map_at (m, i);

        rc = db_put (st, err, w->rank, w->group, w->collective, w->p2p,
                     w->all);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static int write_waits (const struct finding_input *in, void *state,
                        struct err *err)
{
    const struct waits *w = state;
    int rc = db_exec (in->db,
        "CREATE TEMP TABLE f_caused (rank INTEGER, comm_group INTEGER,"
        " ms REAL, PRIMARY KEY (rank, comm_group)) WITHOUT ROWID;"
        "CREATE TEMP TABLE f_own (rank INTEGER PRIMARY KEY, ms REAL,"
        " collective_ms REAL)", err);

    if (rc == 0)
        rc = write_waited (in->db, "INSERT INTO f_caused SELECT ?1, ?2,"
                           " ?5/max(n-1, 1)/max(steps, 1) FROM f_group, f_job"
                           " WHERE comm_group=?2", &w->caused, err);
    if (rc == 0)
        rc = write_waited (in->db, "INSERT INTO f_own SELECT ?1,"
                           " ?5/max(steps, 1), ?3/max(steps, 1) FROM f_job",
                           &w->own, err);
    return rc;
}

static void destroy_waits (void *state)
{
    struct waits *w = state;

    if (w) {
        map_fini (&w->caused);
        map_fini (&w->own);
    }
    free (w);
}

const struct finding_pass finding_waits = { read_waits, write_waits,
                                            destroy_waits };

/* ---- GroupTime ---- */

struct syncs {
    const struct finding_input *in;
    struct map ranks;           // struct waited, with group 0
};

static int take_sync (void *arg, const struct page_scan *row, struct err *err)
{
    struct syncs *s = arg;
    const struct finding_group *g = finding_group_of (s->in, row,
                                                      GROUP_TIME_GROUP);

    if (!g || is_left_out (s->in, row, GROUP_TIME_STEP, GROUP_TIME_RANK))
        return 0;
    return put_waited (&s->ranks, page_scan_int (row, GROUP_TIME_RANK, -1), 0,
                       page_scan_real (row, GROUP_TIME_SYNC), g->p2p, err);
}

static int read_syncs (const struct finding_input *in, void **ret,
                       struct err *err)
{
    struct syncs *s = *ret = calloc (1, sizeof (*s));

    if (!s)
        return err_set (err, ENOMEM, NO_MEMORY);
    *s = (struct syncs){ in, MAP (struct waited, 2) };
    return finding_scan (in, "GroupTime", take_sync, s, err);
}

static int write_syncs (const struct finding_input *in, void *state,
                        struct err *err)
{
    const struct syncs *s = state;
    int rc = db_exec (in->db, "CREATE TEMP TABLE f_sync (rank INTEGER PRIMARY"
                      " KEY, collective_ms REAL, p2p_ms REAL)", err);

    return rc < 0 ? rc : write_waited (in->db, "INSERT INTO f_sync SELECT ?1,"
                                       " ?3/max(steps, 1), ?4/max(steps, 1)"
                                       " FROM f_job", &s->ranks, err);
}

static void destroy_syncs (void *state)
{
    struct syncs *s = state;

    if (s)
        map_fini (&s->ranks);
    free (s);
}

const struct finding_pass finding_syncs = { read_syncs, write_syncs,
                                            destroy_syncs };

/* ---- Link ---- */

// The order is that of their names.
static const char *const transports[] = { "HCCS", "PCIE", "RDMA", "SIO" };

#define TRANSPORTS (sizeof (transports) / sizeof (transports[0]))

struct use {
    uint32_t src, dst;          // ranks
    uint32_t transport, kind;   // kind as in finding_group; with ranks the key
    double mb, ms;
};

struct uses {
    const struct finding_input *in;
    struct map links;           // struct use
};

static uint32_t transport_of (const struct page_scan *row)
{
    size_t n;
    const char *text = page_scan_text (row, USE_TRANSPORT, &n);
    uint32_t i = 0;

    while (text && i < TRANSPORTS &&
           (strlen (transports[i]) != n || memcmp (transports[i], text, n)))
        i++;
    return text ? i : TRANSPORTS;
}

static int take_use (void *arg, const struct page_scan *row, struct err *err)
{
    struct uses *u = arg;
    const struct finding_group *g = finding_group_of (u->in, row, USE_GROUP);
    double mb = page_scan_real (row, USE_SIZE);
    double ms = page_scan_real (row, USE_TIME);
    struct use key = { (uint32_t)page_scan_int (row, USE_SRC, -1),
                       (uint32_t)page_scan_int (row, USE_DST, -1),
                       transport_of (row), g ? g->kind : TEXTS_NONE, 0, 0 };
    struct use *at;
    bool is_new;

    // of less than a MB the time is latency
    if (!(mb >= 1 && ms > 0) || key.transport == TRANSPORTS ||
        is_left_out (u->in, row, USE_STEP, USE_SRC))
        return 0;
    if (!(at = map_put (&u->links, &key, &is_new)))
        return err_set (err, ENOMEM, NO_MEMORY);
    at->mb += mb;
    at->ms += ms;
    return 0;
}

static int read_uses (const struct finding_input *in, void **ret,
                      struct err *err)
{
    struct uses *u = *ret = calloc (1, sizeof (*u));

    if (!u)
        return err_set (err, ENOMEM, NO_MEMORY);
    *u = (struct uses){ in, MAP (struct use, 2) };
    return finding_scan (in, "Link", take_use, u, err);
}

static const char *kind_of (const struct finding_input *in,
                            const struct use *u)
{
    return u->kind == TEXTS_NONE ? "" : texts_at (&in->kinds, u->kind);
}

static int compare_uses (const void *pa, const void *pb, void *in)
{
    const struct use *a = pa, *b = pb;

    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    if (a->dst != b->dst)
        return a->dst < b->dst ? -1 : 1;
    if (a->transport != b->transport)
        return a->transport < b->transport ? -1 : 1;
    return strcmp (kind_of (in, a), kind_of (in, b));
}

static int write_uses (const struct finding_input *in, void *state,
                       struct err *err)
{
    struct uses *u = state;
    sqlite3_stmt *st = NULL;
    int rc = db_exec (in->db,
        "CREATE TEMP TABLE f_use (src INTEGER, dst INTEGER, src_host TEXT,"
        " dst_host TEXT, transport TEXT, same INTEGER, kind TEXT, mb REAL,"
        " ms REAL, bw REAL)", err);

    if (u->links.n > 0)
        qsort_r (u->links.records, u->links.n, u->links.size, compare_uses,
                 (void *)in);
    if (rc == 0)
        rc = db_prepare (in->db,
            "INSERT INTO f_use SELECT ?1, ?2, s.host, d.host, ?3, CASE WHEN"
            " s.host IS NULL OR d.host IS NULL THEN ?3<>'RDMA' ELSE"
            " s.host=d.host END, ?4, ?5, ?6, ?5/?6 FROM f_job LEFT JOIN f_rank"
            " s ON s.rank=?1 LEFT JOIN f_rank d ON d.rank=?2", &st, err);
    for (uint32_t i = 0; i < u->links.n && rc == 0; i++) {
        const struct use *one = map_at (&u->links, i);

        rc = db_put (st, err, one->src, one->dst, transports[one->transport],
                     kind_of (in, one), one->mb, one->ms);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static void destroy_uses (void *state)
{
    struct uses *u = state;

    if (u)
        map_fini (&u->links);
    free (u);
}

const struct finding_pass finding_uses = { read_uses, write_uses,
                                           destroy_uses };
