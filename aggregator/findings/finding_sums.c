/* aggregator/findings/finding_sums.c - waiting, added up */
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

    if (!g || finding_left_out (w->in, row, WAIT_STEP, WAIT_LATE) ||
        finding_left_out (w->in, row, WAIT_STEP, WAIT_WAITING))
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

    if (!g || finding_left_out (s->in, row, GROUP_TIME_STEP, GROUP_TIME_RANK))
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
