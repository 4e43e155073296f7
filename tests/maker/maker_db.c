// The four tables of analysis.db, and of the truth database, which has a
// rank column more and holds the rows of all unbroken captures.

#include "maker.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SQL_ROOM 1024
#define NO_RANK (-1)

enum table { BANDWIDTH, MATRIX, TIME, STEP, TABLE_COUNT };

static const char *const table_columns[TABLE_COUNT] = {
    "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, "
    "bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, "
    "count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT",
    "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, "
    "dst_rank TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, "
    "op_name TEXT",
    "hccl_op_name TEXT, group_name TEXT, "
    "start_timestamp NUMERIC, elapse_time NUMERIC, transit_time NUMERIC, "
    "wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
    "step TEXT, type TEXT",
    "step TEXT, computing NUMERIC, "
    "communication_not_overlapped NUMERIC, overlapped NUMERIC, "
    "communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, "
    "preparing NUMERIC"};

static const char *const table_names[TABLE_COUNT] = {
    "CommAnalyzerBandwidth", "CommAnalyzerMatrix", "CommAnalyzerTime",
    "StepTraceTime"};

static const int column_counts[TABLE_COUNT] = {12, 11, 10, 10};

struct tables {
    const char *path;
    const struct options *opt;
    bool is_truth;
    bool has_device;
    sqlite3 *db;
    sqlite3_stmt *insert[TABLE_COUNT];
};

// Fills the columns of one row from left to right.
struct row {
    struct tables *t;
    sqlite3_stmt *stmt;
    int column;
};

static _Noreturn void fail (const struct tables *t)
{
    die_text (t->path, sqlite3_errmsg (t->db));
}

static void execute (struct tables *t, const char *sql)
{
    if (sqlite3_exec (t->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail (t);
}

static void create_table (struct tables *t, enum table table)
{
    char sql[SQL_ROOM];
    bool device = table == STEP && t->has_device;
    snprintf (sql, sizeof sql, "CREATE TABLE %s (%s%s%s)", table_names[table],
              device ? "deviceId INTEGER, " : "", table_columns[table],
              t->is_truth ? ", rank INTEGER" : "");
    execute (t, sql);
    int count = column_counts[table] + device + t->is_truth;
    int used = snprintf (sql, sizeof sql, "INSERT INTO %s VALUES (?",
                         table_names[table]);
    for (int i = 1; i < count; i++)
        used += snprintf (sql + used, sizeof sql - (size_t)used, ",?");
    snprintf (sql + used, sizeof sql - (size_t)used, ")");
    if (sqlite3_prepare_v2 (t->db, sql, -1, &t->insert[table], NULL) !=
        SQLITE_OK)
        fail (t);
}

// Makes a new database.  analysis.db gets the CommAnalyzer tables only if
// there was communication; the truth always has all four.
struct tables *open_tables (const char *path, const struct options *opt,
                            bool is_truth)
{
    struct tables *t = make_room (1, sizeof *t);
    t->path = path;
    t->opt = opt;
    t->is_truth = is_truth;
    t->has_device = is_truth || opt->age >= AGE_WITH_DEVICE;
    if (unlink (path) != 0 && errno != ENOENT)
        die (path);
    if (sqlite3_open (path, &t->db) != SQLITE_OK)
        fail (t);
    execute (t, "PRAGMA journal_mode = OFF");
    execute (t, "PRAGMA synchronous = OFF");
    execute (t, "BEGIN");
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (i == STEP || is_truth || has_communication (opt))
            create_table (t, (enum table)i);
    }
    if (is_truth)
        execute (t, "CREATE TABLE Kernel (rank INTEGER, step TEXT, name TEXT, "
                    "op_type TEXT, core_type TEXT, input_shapes TEXT, us "
                    "NUMERIC)");
    if (is_truth)
        execute (t, "CREATE TABLE Planted (kind TEXT, rank INTEGER, peer "
                    "INTEGER, step INTEGER, effect_ms NUMERIC, effect_percent "
                    "NUMERIC)");
    return t;
}

void close_tables (struct tables *t)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        sqlite3_finalize (t->insert[i]);
    execute (t, "COMMIT");
    if (sqlite3_close (t->db) != SQLITE_OK)
        fail (t);
    if (chmod (t->path, FILE_MODE) != 0)
        die (t->path);
    free (t);
}

static struct row open_row (struct tables *t, enum table table)
{
    return (struct row){.t = t, .stmt = t->insert[table]};
}

static void add_text (struct row *r, const char *text)
{
    if (sqlite3_bind_text (r->stmt, ++r->column, text, -1, SQLITE_TRANSIENT) !=
        SQLITE_OK)
        fail (r->t);
}

static void add_double (struct row *r, double x)
{
    if (sqlite3_bind_double (r->stmt, ++r->column, x) != SQLITE_OK)
        fail (r->t);
}

static void add_int (struct row *r, int x)
{
    if (sqlite3_bind_int (r->stmt, ++r->column, x) != SQLITE_OK)
        fail (r->t);
}

static void add_null (struct row *r)
{
    if (sqlite3_bind_null (r->stmt, ++r->column) != SQLITE_OK)
        fail (r->t);
}

static void close_row (struct row *r, const struct capture *c)
{
    if (r->t->is_truth)
        add_int (r, r->t->opt->no_rank ? NO_RANK : c->id.rank);
    if (sqlite3_step (r->stmt) != SQLITE_DONE ||
        sqlite3_reset (r->stmt) != SQLITE_OK)
        fail (r->t);
}

static void add_step_and_type (struct row *r, const struct capture *c, int step,
                               bool p2p)
{
    char text[32];
    snprintf (text, sizeof text, "step%d", c->steps[step].id);
    add_text (r, text);
    add_text (r, p2p ? "p2p" : "collective");
}

static void add_time_row (struct tables *t, const struct capture *c, int step,
                          const struct op *op)
{
    struct row r = open_row (t, TIME);
    add_text (&r, op->name);
    add_text (&r, c->job->groups[op->group].hash);
    add_double (&r, op->start_us);
    add_double (&r, op->elapse_ms);
    add_double (&r, op->transit_ms);
    add_double (&r, op->wait_ms);
    add_double (&r, op->sync_ms);
    add_double (&r, op->idle_ms);
    add_step_and_type (&r, c, step, op->p2p);
    close_row (&r, c);
}

static void add_bandwidth_row (struct tables *t, const struct capture *c,
                               int step, const struct op *op,
                               enum transport transport, struct packet_bin bin)
{
    const struct band *b = &op->bands[transport];
    struct row r = open_row (t, BANDWIDTH);
    add_text (&r, op->name);
    add_text (&r, c->job->groups[op->group].hash);
    add_text (&r, transport_name (transport));
    add_double (&r, b->mb);
    add_double (&r, b->ms);
    add_double (&r, b->gbps);
    add_double (&r, b->large);
    add_double (&r, bin.mb);
    add_double (&r, (double)bin.count);
    add_double (&r, bin.ms);
    add_step_and_type (&r, c, step, op->p2p);
    close_row (&r, c);
}

// A transport nothing went over has no row; one without packets (SDMA) has
// one with three zeros.
static void add_bandwidth_rows (struct tables *t, const struct capture *c,
                                int step, const struct op *op)
{
    size_t count = t->opt->age < AGE_WITH_SIO ? T_SIO : BAND_COUNT;
    for (size_t i = 0; i < count; i++) {
        const struct band *b = &op->bands[i];
        if (!b->touched)
            continue;
        if (b->bin_count == 0)
            add_bandwidth_row (t, c, step, op, (enum transport)i,
                               (struct packet_bin){.count = 0});
        for (size_t k = 0; k < b->bin_count; k++)
            add_bandwidth_row (t, c, step, op, (enum transport)i, b->bins[k]);
    }
}

static void add_matrix_row (struct tables *t, const struct capture *c, int step,
                            bool p2p, const struct matrix_row *m)
{
    char text[MAX_NAME];
    struct row r = open_row (t, MATRIX);
    snprintf (text, sizeof text, "%s-%s", m->type, m->place);
    add_text (&r, text);
    add_text (&r, m->hash);
    snprintf (text, sizeof text, "%d", m->src);
    add_text (&r, text);
    snprintf (text, sizeof text, "%d", m->dst);
    add_text (&r, text);
    if (transport_name (m->transport) != NULL)
        add_text (&r, transport_name (m->transport));
    else
        add_null (&r);
    add_double (&r, m->mb);
    add_double (&r, m->ms);
    add_double (&r, m->gbps);
    add_step_and_type (&r, c, step, p2p);
    add_text (&r, m->op_name != NULL ? m->op_name : "");
    close_row (&r, c);
}

static void add_step_row (struct tables *t, const struct capture *c,
                          const struct step_row *s, int device)
{
    char text[32];
    struct row r = open_row (t, STEP);
    if (t->has_device && t->opt->age >= AGE_WITH_DEVICE)
        add_int (&r, c->device + device);
    else if (t->has_device)
        add_null (&r);
    snprintf (text, sizeof text, "%d", s->id);
    add_text (&r, text);
    add_double (&r, s->computing);
    add_double (&r, s->not_overlapped);
    add_double (&r, s->overlapped);
    add_double (&r, s->communication);
    add_double (&r, s->free);
    add_double (&r, s->stage);
    add_double (&r, s->bubble);
    add_double (&r, s->exclude_receive);
    if (t->opt->age >= AGE_WITH_PREPARING)
        add_double (&r, s->preparing);
    else
        add_null (&r);
    close_row (&r, c);
}

static void add_device_rows (struct tables *t, const struct capture *c,
                             int device)
{
    for (int step = 0; step < c->step_count; step++)
        add_step_row (t, c, &c->steps[step], device);
}

static double step_us (const struct step_row *s)
{
    return s->computing + s->not_overlapped + s->free;
}

// What was planted in this capture: ms in a mean step of those it is in, and
// how much of the step that is.
static void add_planted (struct tables *t, const struct capture *c,
                         enum plant p)
{
    const struct options *opt = t->opt;
    int steps = plant_steps (c, p);
    if (steps == 0)
        return;
    double ms = (double)c->planted[p] / TICKS_PER_MS / steps;
    double us = 0;
    for (int step = 0; step < c->step_count; step++)
        us += step_us (&c->steps[step]) / c->step_count;
    char sql[SQL_ROOM];
    snprintf (sql, sizeof sql,
              "INSERT INTO Planted VALUES ('%s', %d, nullif(%d, -1), "
              "nullif(%d, -1), %.9g, %.9g)",
              plant_name (p), c->id.rank,
              p == P_SLOW_LINK ? opt->slow_dst : -1,
              p == P_LATE_STEP ? opt->late_step : -1, ms,
              us > 0 ? 100 * ms * 1000 / us : 0.0);
    execute (t, sql);
}

// A step whose kernels are told.
struct kernel_rows {
    struct tables *t;
    const struct capture *c;
    int step;
};

static void add_kernel_row (void *arg, int kind, int64_t at, int64_t length)
{
    const struct kernel_rows *r = arg;
    const struct kernel_kind *k = &kernel_kinds[kind];
    char sql[SQL_ROOM];
    (void)at;
    snprintf (sql, sizeof sql,
              "INSERT INTO Kernel VALUES (%d, '%d', '%s', '%s', '%s', '%s', "
              "%.9g)",
              r->t->opt->no_rank ? NO_RANK : r->c->id.rank,
              r->c->steps[r->step].id, k->name, k->type, k->core, k->shapes,
              (double)length / TICKS_PER_US);
    execute (r->t, sql);
}

enum which { ALL_OPS, P2P_OPS, COLLECTIVE_OPS };

// All ops come in the order of time.
static void add_op_rows (struct tables *t, const struct capture *c, int step,
                         enum which which)
{
    size_t ops = (size_t)t->opt->ops;
    const struct op *first = c->ops + (size_t)step * ops;
    for (const struct op *op = first; op < first + ops; op++) {
        if (which != ALL_OPS && op->p2p != (which == P2P_OPS))
            continue;
        add_time_row (t, c, step, op);
        add_bandwidth_rows (t, c, step, op);
    }
}

// Rows in the order of the profiler's database (time), or, in the truth of
// a text capture, in that of the JSON file (p2p first).
void add_capture_rows (struct tables *t, const struct capture *c)
{
    bool by_time = !t->is_truth || (t->opt->form & FORM_DB) != 0;
    bool comm = has_communication (t->opt);
    for (int i = 0; i < PLANT_COUNT && t->is_truth; i++) {
        if (has_plant (t->opt, (enum plant)i, c->id.rank))
            add_planted (t, c, (enum plant)i);
    }
    for (int step = 0; step < c->step_count; step++) {
        add_step_row (t, c, &c->steps[step], 0);
        if (t->is_truth)
            each_kernel (c, step, add_kernel_row,
                         &(struct kernel_rows){t, c, step});
        if (!comm)
            continue;
        if (by_time) {
            add_op_rows (t, c, step, ALL_OPS);
        } else {
            add_op_rows (t, c, step, P2P_OPS);
            add_op_rows (t, c, step, COLLECTIVE_OPS);
        }
        for (int i = 0; i < 2; i++) {
            size_t count;
            struct matrix_row *rows;
            rows = aggregate_matrix (c, step, i == 0, &count);
            for (size_t k = 0; k < count; k++)
                add_matrix_row (t, c, step, i == 0, &rows[k]);
            free (rows);
        }
    }
    for (int device = 1; device < t->opt->devices; device++)
        add_device_rows (t, c, device);
}
