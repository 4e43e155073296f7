/* aggregator/export/trace.c - write a result as a trace for viewers */
#include "export/trace.h"

#include "export/track_layout.h"
#include "json/json_out.h"
#include "query/absent.h"
#include "query/finished.h"
#include "store/db_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define NS_PER_US 1000
#define STEPS_TRACK 0           // other groups use CommGroup.id; 999999 is for
                                // ops without a named group
#define LANE_TRACKS 1000000     // tids of one track's lanes

/* CaptureInfo has offsets, with the last capture of each rank. */
#define OFFSET_US \
    "ifnull((SELECT max(CAST(value AS REAL)) FROM temp.Offset o" \
    " WHERE o.rank=t.rank),0)*1e3"

struct trace {
    sqlite3 *db;
    const struct trace_options *opt;
    struct json_out json;
    struct trace_counts *counts;
    struct track_layout lanes;
    int64_t rank, track;        // of the lanes
    double base_us;             // start of the trace
};

/* Name a process or thread ("process" or "thread"), and set its sort order. */
static void put_meta (struct trace *t, const char *what, int64_t pid,
                      int64_t tid, const char *name, int64_t order)
{
    static const char *const ends[] = { "name", "sort_index" };
    struct json_out *j = &t->json;
    char full[32];

    for (int i = 0; i < 2; i++) {
        PRINT (full, "%s_%s", what, ends[i]);
        json_out_open_line (j, '{');
        json_out_text_of (j, "ph", "M");
        json_out_int_of (j, "pid", pid);
        json_out_int_of (j, "tid", tid);
        json_out_text_of (j, "name", full);
        json_out_open_of (j, "args", '{');
        if (i == 0)
            json_out_text_of (j, "name", name);
        else
            json_out_int_of (j, "sort_index", order);
        json_out_close (j, '}');
        json_out_close (j, '}');
    }
}

/* A thread with its process's number is the main one, which viewers always put
 * first.  It is the track of steps, so no other track may have that number.
 */
static int64_t tid_of (int64_t rank, int64_t track, unsigned lane)
{
    if (track == STEPS_TRACK)
        return lane == 0 ? rank : (int64_t)lane * LANE_TRACKS;
    return ((int64_t)lane + 1) * LANE_TRACKS + track;
}

/* Write ns as us with three decimals. */
static void put_us (struct trace *t, const char *key, int64_t ns)
{
    char text[32];

    PRINT (text, "%" PRId64 ".%03d", ns / NS_PER_US, (int)(ns % NS_PER_US));
    json_out_key (&t->json, key);
    json_out_raw (&t->json, text);
}

/* Write columns from 'from' on as members of "args"; NULL is left out. */
static void put_args (struct trace *t, sqlite3_stmt *st, int from)
{
    struct json_out *j = &t->json;

    json_out_open_of (j, "args", '{');
    for (int i = from; i < sqlite3_column_count (st); i++) {
        if (sqlite3_column_type (st, i) == SQLITE_NULL)
            continue;
        json_out_key (j, sqlite3_column_name (st, i));
        if (sqlite3_column_type (st, i) == SQLITE_TEXT)
            json_out_text (j, db_text (st, i), strlen (db_text (st, i)));
        else
            json_out_real (j, sqlite3_column_double (st, i));
    }
    json_out_close (j, '}');
}

/* ---- ranks ---- */

static void put_rank (struct trace *t, sqlite3_stmt *st)
{
    int64_t rank = sqlite3_column_int64 (st, 0);
    const char *host = db_text (st, 1), *state = db_text (st, 3);
    bool present = strcmp (state, "present") == 0;
    struct json_out *j = &t->json;
    char name[512];

    PRINT (name, "rank %" PRId64 "%s%s%s%s%s%s", rank, *host ? " on " : "",
           host, sqlite3_column_type (st, 2) == SQLITE_NULL ? "" : " device ",
           db_text (st, 2), present ? "" : ": ", present ? "" : state);
    put_meta (t, "process", rank, 0, name, rank);
    t->counts->ranks++;
    t->counts->missing += !present;
    if (present)
        return;
    // viewers do not draw a process without events
    json_out_open_line (j, '{');
    json_out_text_of (j, "ph", "i");
    json_out_text_of (j, "s", "p");
    json_out_int_of (j, "ts", 0);
    json_out_int_of (j, "pid", rank);
    json_out_int_of (j, "tid", tid_of (rank, STEPS_TRACK, 0));
    json_out_text_of (j, "name", state);
    json_out_open_of (j, "args", '{');
    json_out_text_of (j, "reason", db_text (st, 4));
    json_out_close (j, '}');
    json_out_close (j, '}');
}

/* ---- spans ---- */

static void put_track (struct trace *t, const char *group, unsigned lane,
                       int64_t tid)
{
    char name[512], number[32] = "";

    if (lane > 0)
        PRINT (number, " #%u", lane + 1);
    PRINT (name, "%s%s", group, number);
    put_meta (t, "thread", t->rank, tid, name,
              t->track * TRACK_LANES_MAX + lane);
}

/* The columns of a row: rank, track, its name, start and duration in us, name,
 * category, and then the args.
 */
static void put_span (struct trace *t, sqlite3_stmt *st)
{
    int64_t rank = sqlite3_column_int64 (st, 0);
    int64_t track = sqlite3_column_int64 (st, 1), tid;
    double start_us = sqlite3_column_double (st, 3) - t->base_us;
    double dur_us = sqlite3_column_double (st, 4);
    struct json_out *j = &t->json;
    int64_t start_ns, dur_ns;
    unsigned lane;
    bool first;

    if (sqlite3_column_type (st, 3) == SQLITE_NULL ||
        !(fabs (start_us) < 1e15) || !(dur_us >= 0 && dur_us < 1e15)) {
        t->counts->untimed++;
        return;
    }
    if (rank != t->rank || track != t->track) {
        t->rank = rank;
        t->track = track;
        track_layout_clear (&t->lanes);
    }
    start_ns = start_us > 0 ? llround (start_us * NS_PER_US) : 0;
    dur_ns = llround (dur_us * NS_PER_US);
    lane = track_layout_put (&t->lanes, &start_ns, &dur_ns, &first);
    tid = tid_of (rank, track, lane);
    if (first)
        put_track (t, db_text (st, 2), lane, tid);
    json_out_open_line (j, '{');
    json_out_text_of (j, "ph", "X");
    json_out_int_of (j, "pid", rank);
    json_out_int_of (j, "tid", tid);
    put_us (t, "ts", start_ns);
    put_us (t, "dur", dur_ns);
    json_out_text_of (j, "name", db_text (st, 5));
    json_out_text_of (j, "cat", db_text (st, 6));
    put_args (t, st, 7);
    json_out_close (j, '}');
    if (track == STEPS_TRACK)
        t->counts->steps++;
    else
        t->counts->ops++;
}

/* ---- queries ---- */

/* Infinite times of damaged captures count as unknown. */
#define TIMED " start_timestamp BETWEEN -1e18 AND 1e18"

static const char ranks_sql[] =
    "SELECT rank, host, device_id, state, reason FROM Roster"
    " WHERE :rank IS NULL OR rank=:rank ORDER BY rank";

/* The span on the host if known; else from the first op to the last one. */
static const char steps_sql[] =
    "SELECT t.rank, 0, 'steps',"
    " coalesce(e.host_start, c.start)-" OFFSET_US " AS at,"
    " CASE WHEN e.host_start IS NOT NULL THEN e.host_end-e.host_start"
    "  ELSE c.finish-c.start END,"
    " ifnull('step '||t.step,'step'), 'step',"
    " CASE WHEN e.host_start IS NOT NULL THEN 'host' ELSE"
    "  'communication ops' END AS extent_of,"
    " t.deviceId AS device, round(t.computing/1e3,6) AS computing_ms,"
    " round(t.communication_not_overlapped/1e3,6)"
    "  AS communication_not_overlapped_ms,"
    " round(t.overlapped/1e3,6) AS overlapped_ms,"
    " round(t.free/1e3,6) AS free_ms,"
    " round(t.bubble/1e3,6) AS bubble_ms"
    " FROM StepTraceTime t"
    " LEFT JOIN StepExtra e ON e.rank=t.rank AND e.capture=t.capture"
    "  AND e.step IS t.step AND e.host_end>=e.host_start"
    "  AND e.deviceId IS ifnull(t.deviceId,e.deviceId)"
    " LEFT JOIN (SELECT rank, step, min(start_timestamp) AS start,"
    "  max(start_timestamp+elapse_time*1e3) AS finish FROM CommAnalyzerTime"
    "  WHERE" TIMED " AND elapse_time<1e18 GROUP BY rank, step) c"
    "  ON c.rank=t.rank AND c.step='step'||ifnull(t.step,'')"
    " WHERE t.rank IS NOT NULL AND (:rank IS NULL OR t.rank=:rank)"
    "  AND (:step IS NULL OR t.step=:step)"
    " GROUP BY t.rowid ORDER BY t.rank, at, t.rowid";

static const char ops_sql[] =
    "SELECT t.rank, ifnull(g.id,999999),"
    " CASE WHEN g.id IS NULL THEN 'ops of no named group' ELSE"
    "  ifnull(g.pg_name||' (group '||g.id||')',"
    "         'group '||g.id||ifnull(' ('||g.group_name||')','')) END,"
    " t.start_timestamp-" OFFSET_US ", ifnull(t.elapse_time,0)*1e3,"
    " t.hccl_op_name, t.type, t.step, t.group_name,"
    " t.transit_time AS transit_ms, t.wait_time AS wait_ms,"
    " t.synchronization_time AS synchronization_ms,"
    " t.idle_time AS idle_ms FROM CommAnalyzerTime t"
    " LEFT JOIN CommGroup g ON g.id=(SELECT n.id FROM CommGroup n"
    "  JOIN CommGroupMember m ON m.comm_group=n.id"
    "  WHERE n.group_name=t.group_name AND m.rank=t.rank LIMIT 1)"
    " WHERE t.rank IS NOT NULL AND (:rank IS NULL OR t.rank=:rank)"
    "  AND (:step IS NULL OR t.step='step'||:step)"
    " ORDER BY t.rank, 2, t.start_timestamp, t.rowid";

/* Bind those of the two that the statement names; NULL selects all. */
static struct db_rows trace_rows (struct trace *t, const char *sql,
                                  struct err *err)
{
    struct db_rows r = db_rows (t->db, err, sql);
    int rank = sqlite3_bind_parameter_index (r.st, ":rank");
    int step = sqlite3_bind_parameter_index (r.st, ":step");

    if (rank > 0 && t->opt->rank >= 0)
        (void)sqlite3_bind_int64 (r.st, rank, t->opt->rank);
    if (step > 0 && t->opt->step)
        (void)sqlite3_bind_text (r.st, step, t->opt->step, -1, SQLITE_STATIC);
    return r;
}

static int trace_each (struct trace *t, const char *sql,
                       void (*put) (struct trace *t, sqlite3_stmt *st),
                       struct err *err)
{
    struct db_rows r = trace_rows (t, sql, err);

    t->rank = t->track = -1;
    // stop if the disk is full
    while (!ferror (t->json.f) && db_step (&r))
        put (t, r.st);
    return db_end (&r);
}

/* Create a table of the offsets to apply. */
static int make_offsets (struct trace *t, struct err *err)
{
    int rc = db_exec (t->db,
                      "DROP TABLE IF EXISTS temp.Offset;"
                      "CREATE TEMP TABLE Offset (rank INTEGER PRIMARY KEY,"
                      " value REAL)", err);

    if (rc == 0 && !t->opt->raw_clocks)
        rc = db_exec (t->db,
                      "INSERT OR REPLACE INTO temp.Offset"
                      " SELECT rank, CAST(value AS REAL) FROM CaptureInfo"
                      " WHERE kind='clock' AND name='offset_ms'"
                      "  AND value IS NOT NULL AND rank IS NOT NULL"
                      " ORDER BY capture", err);
    return rc;
}

static int find_base (struct trace *t, struct err *err)
{
    struct db_rows r = trace_rows (t,
        "SELECT min(at) FROM (SELECT min(start_timestamp)-" OFFSET_US " AS at"
        " FROM CommAnalyzerTime t WHERE" TIMED
        " AND (:rank IS NULL OR rank=:rank)"
        " AND (:step IS NULL OR step='step'||:step) GROUP BY rank UNION ALL"
        " SELECT min(host_start)-" OFFSET_US " FROM StepExtra t WHERE"
        " (:rank IS NULL OR rank=:rank)"
        " AND (:step IS NULL OR step=:step) GROUP BY rank)", err);
    bool found = db_row (&r, t->base_us) &&
                 sqlite3_column_type (r.st, 0) != SQLITE_NULL;
    int rc = db_end (&r);

    return rc < 0 || found ? rc : absent_explain (t->db, t->opt->rank,
                                                  t->opt->step, err);
}

/* Describe the clocks in the trace itself. */
static void put_about (struct trace *t)
{
    struct trace_counts *c = t->counts;
    struct json_out *j = &t->json;
    char text[256];

    if (t->opt->raw_clocks)
        PRINT (text, "as recorded by each host");
    else if (c->aligned == 0)
        PRINT (text, "as recorded by each host: no offset is known");
    else
        PRINT (text, "offsets of %" PRId64 " ranks "
               "subtracted (CaptureInfo, kind clock), the largest "
               "%.3f ms", c->aligned, c->offset_ms);
    (void)fputs ("\n],\n\"displayTimeUnit\": \"ms\",\n", j->f);
    j->more = false;
    json_out_open_of (j, "otherData", '{');
    json_out_text_of (j, "made_by", "rollcall " ROLLCALL_VERSION);
    json_out_text_of (j, "clocks", text);
    json_out_key (j, "begins_us_since_1970");
    (void)fprintf (j->f, "%.3f}}\n", t->base_us);
}

static void count_offsets (struct trace *t)
{
    t->counts->aligned = db_int (t->db, "SELECT count(*) FROM temp.Offset", 0);
    t->counts->offset_ms = (double)db_int (
        t->db, "SELECT max(abs(value))*1e6 FROM temp.Offset", 0) / 1e6;
}

int trace_write (sqlite3 *db, const struct trace_options *opt, FILE *f,
                 struct trace_counts *ret, struct err *err)
{
    struct trace t = { .db = db, .opt = opt, .counts = ret,
                       .json = { .f = f, .comma = ", ", .colon = ": " } };
    int rc;

    memset (ret, 0, sizeof (*ret));
    if ((rc = make_offsets (&t, err)) < 0 || (rc = find_base (&t, err)) < 0)
        return rc;
    count_offsets (&t);
    json_out_open (&t.json, '{');
    json_out_open_of (&t.json, "traceEvents", '[');
    rc = trace_each (&t, ranks_sql, put_rank, err);
    if (rc == 0)
        rc = trace_each (&t, steps_sql, put_span, err);
    if (rc == 0)
        rc = trace_each (&t, ops_sql, put_span, err);
    ret->crowded = (int64_t)t.lanes.crowded;
    put_about (&t);
    return rc;
}
