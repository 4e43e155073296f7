/* aggregator/builder/rollup.c - tables of sums over many rows */
#include "builder/rollup.h"

#include "base/thread.h"
#include "base/vec.h"
#include "model/schema.h"
#include "pages/page_scan.h"
#include "sums/group_sums.h"
#include "sums/rank_rows.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char tables_sql[] =
    "CREATE TABLE Link (step TEXT, comm_group INTEGER, src_rank INTEGER,"
    " dst_rank INTEGER, transport_type TEXT, type TEXT, transit_size NUMERIC,"
    " transit_time NUMERIC, bandwidth NUMERIC);"
    "CREATE TABLE GroupTime (step TEXT, comm_group INTEGER, rank INTEGER,"
    " ops INTEGER, elapse_time NUMERIC, wait_time NUMERIC,"
    " synchronization_time NUMERIC, transit_time NUMERIC);"
    "CREATE TABLE Topology (host TEXT PRIMARY KEY, switch TEXT, rack TEXT);";

// Two tables, indexed while they are needed, that map ranks within groups to
// global ranks.
static const char groups_sql[] =
    "CREATE TEMP TABLE r_group AS SELECT m.rank, g.group_name,"
    " min(g.id) AS comm_group FROM CommGroup g JOIN CommGroupMember m ON"
    " m.comm_group=g.id GROUP BY 1, 2;"
    "CREATE UNIQUE INDEX temp.r_group_rank ON r_group(rank, group_name);"
    "CREATE TEMP TABLE r_member AS SELECT comm_group, group_rank, rank FROM"
    " CommGroupMember WHERE group_rank IS NOT NULL;"
    "CREATE INDEX temp.r_member_place ON r_member(comm_group, group_rank);";

static const char forget_sql[] =
    "DROP TABLE temp.r_group;"
    "DROP TABLE temp.r_member;";

// What is summed over the rows of a rank, and how the sums are written; the
// rank is ?1.
static const struct rollup {
    enum table_id table;
    bool links;                 // only rows that go from one rank to another
    int nkeys, nvalues;
    unsigned keys[GROUP_KEYS_MAX], values[GROUP_VALUES_MAX];
    const char *insert;
} rollups[] = {
    { TABLE_TIME, false, 2, 4, { TIME_STEP, TIME_GROUP },
      { TIME_ELAPSE, TIME_WAIT, TIME_SYNC, TIME_TRANSIT },
      "INSERT INTO GroupTime SELECT ?2, comm_group, ?1, ?4, ?5, ?6, ?7, ?8"
      " FROM r_group WHERE rank=?1 AND group_name=?3" },
    // MB per ms is GB/s
    { TABLE_MATRIX, true, 6, 2,
      { MATRIX_STEP, MATRIX_GROUP, MATRIX_SRC, MATRIX_DST, MATRIX_TRANSPORT,
        MATRIX_TYPE }, { MATRIX_SIZE, MATRIX_TIME },
      "INSERT INTO Link SELECT ?2, g.comm_group, ?1, d.rank, ?6, ?7, ?9, ?10,"
      " ?9/nullif(?10, 0) FROM r_group g CROSS JOIN r_member d ON"
      " d.comm_group=g.comm_group AND d.group_rank=CAST(?5 AS INTEGER)"
      " WHERE g.rank=?1 AND g.group_name=?3" },
};

static const char views_sql[] =
    "CREATE VIEW GroupKind AS SELECT id AS comm_group,"
    " CASE WHEN lower(pg_name) IN ('default_group', 'default_pg',"
    "  'hccl_world_group') THEN 'world' ELSE lower(pg_name) END AS kind"
    " FROM CommGroup;"
    "CREATE VIEW KindStep AS SELECT k.kind, t.step,"
    " count(DISTINCT t.comm_group) AS groups, count(DISTINCT t.rank) AS ranks,"
    " sum(t.ops) AS ops, avg(t.elapse_time) AS elapse_time,"
    " max(t.elapse_time) AS max_elapse_time, avg(t.wait_time) AS wait_time,"
    " avg(t.transit_time) AS transit_time FROM GroupTime t JOIN GroupKind k ON"
    " k.comm_group=t.comm_group GROUP BY k.kind, t.step;"
    "CREATE VIEW HostStep AS SELECT host, step, count(*) AS ranks,"
    " avg(computing) AS computing, max(computing) AS max_computing,"
    " avg(communication_not_overlapped) AS communication_not_overlapped,"
    " avg(overlapped) AS overlapped, avg(free) AS free FROM StepByRank"
    " GROUP BY host, step;"
    "CREATE VIEW StepTrend AS SELECT step, count(*) AS ranks,"
    " avg(computing + communication_not_overlapped + free) AS step_time,"
    " min(computing + communication_not_overlapped + free) AS min_step_time,"
    " max(computing + communication_not_overlapped + free) AS max_step_time,"
    " avg(computing) AS computing, max(computing) AS max_computing,"
    " avg(communication_not_overlapped) AS communication_not_overlapped,"
    " avg(free) AS free, avg(bubble) AS bubble FROM StepCounted"
    " GROUP BY step ORDER BY CAST(step AS INTEGER);"
    "CREATE VIEW P2PPair AS SELECT src_rank, dst_rank, transport_type,"
    " count(DISTINCT step) AS steps, sum(transit_size) AS transit_size,"
    " sum(transit_time) AS transit_time,"
    " 1.0*sum(transit_size)/nullif(sum(transit_time), 0) AS bandwidth"
    " FROM Link"
    " WHERE type='p2p' GROUP BY src_rank, dst_rank, transport_type;"
    "CREATE VIEW Blame AS SELECT step, late_rank, waiting_rank,"
    " count(*) AS groups, sum(ops) AS ops, sum(wait_ms) AS wait_ms,"
    " max(clock_error_ms) AS clock_error_ms FROM Wait"
    " GROUP BY step, late_rank, waiting_rank;"
    "CREATE VIEW HostLink AS SELECT s.host AS src_host, d.host AS dst_host,"
    " l.transport_type, count(DISTINCT l.src_rank*1000000+l.dst_rank) AS links,"
    " sum(l.transit_size) AS transit_size, sum(l.transit_time) AS transit_time,"
    " 1.0*sum(l.transit_size)/nullif(sum(l.transit_time), 0) AS bandwidth"
    " FROM Link l LEFT JOIN Roster s ON s.rank=l.src_rank"
    " LEFT JOIN Roster d ON d.rank=l.dst_rank GROUP BY 1, 2, 3;"
    "CREATE VIEW SwitchStep AS SELECT t.rack, t.switch, s.step,"
    " count(*) AS ranks, avg(s.computing) AS computing,"
    " max(s.computing) AS max_computing,"
    " avg(s.communication_not_overlapped) AS communication_not_overlapped,"
    " avg(s.overlapped) AS overlapped, avg(s.free) AS free"
    " FROM StepByRank s LEFT JOIN Topology t ON t.host=s.host"
    " GROUP BY t.rack, t.switch, s.step;"
    "CREATE VIEW SwitchLink AS SELECT s.rack AS src_rack,"
    " s.switch AS src_switch, d.rack AS dst_rack, d.switch AS dst_switch,"
    " h.transport_type, sum(h.links) AS links,"
    " sum(h.transit_size) AS transit_size, sum(h.transit_time) AS transit_time,"
    " 1.0*sum(h.transit_size)/nullif(sum(h.transit_time), 0) AS bandwidth"
    " FROM HostLink h LEFT JOIN Topology s ON s.host=h.src_host"
    " LEFT JOIN Topology d ON d.host=h.dst_host GROUP BY 1, 2, 3, 4, 5;";

static int write_topology (sqlite3 *db, const struct topology *t,
                           struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO Topology VALUES (?1, ?2, ?3)", &st,
                         err);

    for (size_t i = 0; t && i < t->n && rc == 0; i++)
        rc = db_put (st, err, t->hosts[i].host, t->hosts[i].sw,
                     t->hosts[i].rack);
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- the rows of a rank ---- */

struct summing {
    const struct rollup *what;
    const struct page_source *source;
    uint32_t root;
    struct rank_rows *ranks;
    size_t nranks;
    bool *left_out;             // indexed by capture; NULL: all count
    int64_t ncaptures;
    sqlite3_stmt *insert;
};

/* The state of one thread. */
struct summer {
    const struct summing *all;
    struct group_sums groups;
};

/* Whether the row is the total of all that an op sent. */
static bool is_total (const struct page_scan *p)
{
    static const char tail[] = "-total";
    size_t n, nsrc, ndst, size = sizeof (tail) - 1;
    const char *op = page_scan_text (p, MATRIX_OP, &n);
    const char *src = page_scan_text (p, MATRIX_SRC, &nsrc);
    const char *dst = page_scan_text (p, MATRIX_DST, &ndst);

    return op && n >= size && memcmp (op + n - size, tail, size) == 0 && src &&
           dst && (nsrc != ndst || memcmp (src, dst, nsrc) != 0);
}

static bool is_wanted (const struct summing *s, const struct page_scan *p,
                       int64_t rank)
{
    unsigned at = schema_table (s->what->table)->ncolumns;
    int64_t capture = page_scan_int (p, at + 1, 0);

    if (page_scan_int (p, at, -1) != rank || (s->what->links && !is_total (p)))
        return false;
    return !s->left_out || capture < 0 || capture > s->ncaptures ||
           !s->left_out[capture];
}

static int add_row (struct group_sums *g, const struct rollup *what,
                    const struct page_scan *p, struct err *err)
{
    struct group_text keys[GROUP_KEYS_MAX];
    double values[GROUP_VALUES_MAX];

    for (int i = 0; i < what->nkeys; i++)
        keys[i].s = page_scan_text (p, what->keys[i], &keys[i].n);
    for (int i = 0; i < what->nvalues; i++)
        values[i] = page_scan_real (p, what->values[i]);
    return group_sums_add (g, keys, values, err);
}

static int sum_rank (void *state, size_t piece, struct err *err)
{
    struct summer *s = state;
    const struct rank_rows *rows = &s->all->ranks[piece];
    struct page_scan p;
    int rc = page_scan_begin (&p, s->all->source, s->all->root, rows->first,
                              rows->last, err);

    while (rc == 0 && (rc = page_scan_next (&p, err)) == 1)
        rc = is_wanted (s->all, &p, rows->rank)
                 ? add_row (&s->groups, s->all->what, &p, err) : 0;
    page_scan_end (&p);
    group_sums_sort (&s->groups);
    return rc;
}

static int write_rank (void *state, size_t piece, struct err *err)
{
    struct summer *s = state;

    (void)db_bind (s->all->insert, DB_VALUES (s->all->ranks[piece].rank));
    return group_sums_write (&s->groups, s->all->insert, err);
}

static int sum_ranks (const struct summing *s, unsigned threads,
                      struct err *err)
{
    const struct thread_pieces pieces = { s->nranks, sum_rank, write_rank };
    struct summer *summers = calloc (threads, sizeof (*summers));
    void **states = calloc (threads, sizeof (*states));
    int rc = 0;

    if (!summers || !states)
        rc = err_set (err, ENOMEM, "no memory for sums");
    for (unsigned i = 0; i < threads && rc == 0; i++) {
        summers[i].all = s;
        summers[i].groups.nkeys = s->what->nkeys;
        summers[i].groups.nvalues = s->what->nvalues;
        states[i] = &summers[i];
    }
    if (rc == 0)
        rc = thread_each (&pieces, states, threads, err);
    for (unsigned i = 0; i < threads && summers; i++)
        group_sums_fini (&summers[i].groups);
    free (summers);
    free (states);
    return rc;
}

/* ---- all ranks ---- */

static int note_rank (void *arg, const struct rank_rows *rows, struct err *err)
{
    struct summing *s = arg;
    struct rank_rows *ranks = vec_one_more (s->ranks, s->nranks,
                                            sizeof (*ranks));

    if (!ranks)
        return err_set (err, ENOMEM, "no memory for sums");
    s->ranks = ranks;
    s->ranks[s->nranks++] = *rows;
    return 0;
}

/* Read which captures do not count. */
static int list_left_out (sqlite3 *db, struct summing *s, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT DISTINCT capture, (SELECT "
                                         "max(id) FROM Capture) FROM LeftOut "
                                         "WHERE step IS NULL");
    int64_t capture;

    while (db_row (&r, capture, s->ncaptures)) {
        if (!s->left_out)
            s->left_out = calloc ((size_t)s->ncaptures + 1, 1);
        if (!s->left_out)
            r.rc = err_set (err, ENOMEM, "no memory for sums");
        else if (capture >= 0 && capture <= s->ncaptures)
            s->left_out[capture] = true;
    }
    return db_end (&r);
}

static int roll_up (sqlite3 *db, struct summing *s, unsigned threads,
                    struct err *err)
{
    const char *table = schema_table (s->what->table)->name;
    int rc = page_source_root (s->source, table, &s->root, err);

    s->nranks = 0;
    if (rc == 0)
        rc = rank_rows_each (db, table, note_rank, s, err);
    if (rc == 0)
        rc = db_prepare (db, s->what->insert, &s->insert, err);
    if (rc == 0)
        rc = sum_ranks (s, threads, err);
    (void)sqlite3_finalize (s->insert);
    s->insert = NULL;
    return rc;
}

static int write_sums (sqlite3 *db, unsigned threads,
                       const atomic_bool *cancel, struct err *err)
{
    struct page_source *source = NULL;
    struct summing s = { .what = NULL };
    int rc = page_source_of (db, cancel, &source, err);

    s.source = source;
    if (rc == 0)
        rc = db_exec (db, groups_sql, err);
    if (rc == 0)
        rc = list_left_out (db, &s, err);
    for (size_t i = 0; i < sizeof (rollups) / sizeof (rollups[0]) && rc == 0;
         i++) {
        s.what = &rollups[i];
        rc = roll_up (db, &s, threads, err);
    }
    page_source_close (source);
    free (s.ranks);
    free (s.left_out);
    return rc < 0 ? rc : db_exec (db, forget_sql, err);
}

int rollup_derive (sqlite3 *db, const struct topology *topology,
                   unsigned threads, const atomic_bool *cancel,
                   struct err *err)
{
    int rc = db_exec (db, tables_sql, err);

    if (rc == 0)
        rc = write_sums (db, threads, cancel, err);
    if (rc == 0)
        rc = db_exec (db, views_sql, err);
    return rc < 0 ? rc : write_topology (db, topology, err);
}
