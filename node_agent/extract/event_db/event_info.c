/* node_agent/extract/event_db/event_info.c - sums and peaks of an event
 * database
 */
#include "extract/event_db/event_db.h"
#include "extract/sink/capture_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define US 1000.0               // ns in a us
#define MIB 1048576.0           // bytes in a MiB

static bool event_info_flush (struct event_db *e, struct batch *b)
{
    struct err err = { "" };

    if (source_flush (e->src, b, &err))
        return true;
    e->why = err;
    e->how = READING_STOPPED;
    return false;
}

static bool event_info_begin (struct event_db *e, struct batch *b,
                              enum table_id table)
{
    return batch_init (b, table, NULL) == 0 || event_no_memory (e);
}

/* Send the last rows, and those before the damage of a table. */
static bool event_info_end (struct event_db *e, struct batch *b)
{
    bool good = e->how == READING_WHOLE;

    if (e->how != READING_STOPPED)
        good = event_info_flush (e, b) && good;
    batch_fini (b);
    return good;
}

/* ---- MemoryPeak ---- */

#define MEMORY_VALUES 3

struct memory_table {
    const char *table, *columns;
    const char *kinds[MEMORY_VALUES];           // of the values
};

static const struct memory_table memory_tables[] = {
    { "NPU_MEM", "type, timestampNs, deviceId, hbm, ddr",
      { "hbm", "ddr", NULL } },
    { "MEMORY_RECORD", "component, timestamp, deviceId, totalAllocated, "
      "totalReserved, totalActive", { "allocated", "reserved", "active" } },
};

#define PEAKS_MAX 256u

struct peak {
    int64_t component, device;
    double value[MEMORY_VALUES];                // bytes; NaN: none
    int64_t at[MEMORY_VALUES];
};

static bool take_peak (struct event_db *e, sqlite3_stmt *st,
                       const struct memory_table *t, struct peak *peaks,
                       unsigned *n)
{
    int64_t component = sqlite3_column_int64 (st, 0);
    int64_t device = sqlite3_column_int64 (st, 2), at;
    unsigned i = 0;

    if (!event_time (st, 1, &at)) {
        event_note_bad_row (e, t->table, "a record has an impossible time", at);
        return true;
    }
    while (i < *n && (peaks[i].component != component ||
                      peaks[i].device != device))
        i++;
    if (i == PEAKS_MAX)
        return event_damage (e, "%s has more than %u components", t->table,
                             PEAKS_MAX);
    if (i == *n)
        peaks[(*n)++] = (struct peak){ component, device, { NAN, NAN, NAN },
                                       { 0, 0, 0 } };
    for (int v = 0; v < MEMORY_VALUES && t->kinds[v]; v++) {
        double bytes = sqlite3_column_double (st, 3 + v);

        if (sqlite3_column_type (st, 3 + v) != SQLITE_NULL &&
            !(peaks[i].value[v] >= bytes)) {
            peaks[i].value[v] = bytes;
            peaks[i].at[v] = at;
        }
    }
    return true;
}

static bool give_peaks (struct event_db *e, const struct memory_table *t,
                        const struct peak *p)
{
    char component[EVENT_NAME_MAX];

    if (!event_string (e, p->component, component))
        return false;
    for (int v = 0; v < MEMORY_VALUES && t->kinds[v]; v++)
        capture_facts_peak (e->src, p->device < 0 ? NAN : (double)p->device,
                            component, strlen (component), t->kinds[v],
                            p->value[v] / MIB, (double)p->at[v] / US);
    return true;
}

static bool give_memory_of (struct event_db *e, const struct memory_table *t)
{
    struct event_query q = event_ask (e, t->table, t->columns, NULL);
    struct peak peaks[PEAKS_MAX];
    unsigned n = 0;
    bool good;

    while (event_next (&q) && take_peak (e, q.st, t, peaks, &n))
        continue;
    good = event_end (&q);
    for (unsigned i = 0; i < n && good; i++)
        good = give_peaks (e, t, &peaks[i]);
    return good;
}

bool event_give_memory (struct event_db *e)
{
    return give_memory_of (e, &memory_tables[0]) &&
           give_memory_of (e, &memory_tables[1]);
}

/* ---- LinkCounter ---- */

static const struct {
    const char *table, *column, *unit;
} counters[] = {
    { "HCCS", "txThroughput", "B/s" },    { "HCCS", "rxThroughput", "B/s" },
    { "PCIE", "txPostAvg", "B/s" },       { "PCIE", "txNonpostAvg", "B/s" },
    { "PCIE", "txCplAvg", "B/s" },        { "PCIE", "rxPostAvg", "B/s" },
    { "PCIE", "rxNonpostAvg", "B/s" },    { "PCIE", "rxCplAvg", "B/s" },
    { "ROCE", "bandwidth", "B/s" },       { "ROCE", "rxByteRate", "B/s" },
    { "ROCE", "txByteRate", "B/s" },      { "ROCE", "rxErrors", "packets" },
    { "ROCE", "txErrors", "packets" },    { "ROCE", "rxDropped", "packets" },
    { "ROCE", "txDropped", "packets" },   { "NIC", "bandwidth", "B/s" },
    { "NIC", "rxByteRate", "B/s" },       { "NIC", "txByteRate", "B/s" },
    { "NIC", "rxErrors", "packets" },     { "NIC", "txErrors", "packets" },
    { "NIC", "rxDropped", "packets" },    { "NIC", "txDropped", "packets" },
};

/* Counters of the host: without device, with names that no link has.  The unit
 * of rates is not known.
 */
static const struct host_counter {
    const char *table, *column, *unit;
} host_counters[] = {
    { "CPU_USAGE", "usage", "%" },
    { "HOST_MEM_USAGE", "usage", "%" },
    { "HOST_DISK_USAGE", "usage", "%" },
    { "HOST_DISK_USAGE", "readRate", NULL },
    { "HOST_DISK_USAGE", "writeRate", NULL },
    { "HOST_NETWORK_USAGE", "usage", "%" },
    { "HOST_NETWORK_USAGE", "speed", NULL },
};

#define HOST_COUNTERS (sizeof (host_counters) / sizeof (host_counters[0]))
#define COUNTERS (sizeof (counters) / sizeof (counters[0]))

/* Write device, samples, mean and maximum of a row. */
static bool put_counter (struct event_db *e, struct batch *b, sqlite3_stmt *st,
                         const char *table, const char *column,
                         const char *unit)
{
    uint32_t n = b->nrows++;

    b->real[LINK_DEVICE][n] = sqlite3_column_type (st, 0) == SQLITE_NULL
                                  ? NAN
                                  : sqlite3_column_double (st, 0);
    b->text[LINK_TYPE][n] = batch_string (b, table);
    b->text[LINK_COUNTER][n] = batch_string (b, column);
    b->text[LINK_UNIT][n] = batch_string (b, unit);
    b->real[LINK_SAMPLES][n] = sqlite3_column_double (st, 1);
    b->real[LINK_MEAN][n] = sqlite3_column_double (st, 2);
    b->real[LINK_MAX][n] = sqlite3_column_double (st, 3);
    return !batch_full (b) || event_info_flush (e, b);
}

/* Write the total.  For a rate it is that of all ports, from the first sample
 * to the last one, plus one mean distance of samples; for a count it is the
 * sum.
 */
static void give_total (struct event_db *e, unsigned i, sqlite3_stmt *st)
{
    double n = sqlite3_column_double (st, 1), mean = sqlite3_column_double (st, 2);
    double s = (sqlite3_column_double (st, 5) -
                sqlite3_column_double (st, 4)) / 1e9;
    bool rate = strcmp (counters[i].unit, "B/s") == 0;
    double ports = fmax (sqlite3_column_double (st, 6), 1);
    char name[CAPTURE_FACTS_NAME_MAX], value[64];
    int size, used;

    if (!(n >= 2 * ports) || !isfinite (mean) || (rate && !(s > 0)))
        return;
    size = snprintf (name, sizeof (name), "%s.%s.%lld", counters[i].table,
                     counters[i].column,
                     (long long)sqlite3_column_int64 (st, 0));
    used = snprintf (value, sizeof (value), "%.17g %s",
                     rate ? mean * s * n / (n / ports - 1) : mean * n,
                     rate ? "B" : counters[i].unit);
    capture_facts_info (e->src, "link_total", name, (size_t)size, value,
                        (size_t)used);
}

static bool give_counter (struct event_db *e, struct batch *b, unsigned i)
{
    const char *names[] = { "deviceId", counters[i].column, "timestampNs",
                            "funcId" };
    char sql[384];
    sqlite3_stmt *st;
    bool have[4] = { false };
    int rc;

    if (!event_has (e, counters[i].table, names, 4, have) || !have[0] ||
        !have[1])
        return e->how == READING_WHOLE;
    (void)snprintf (sql, sizeof (sql), "SELECT deviceId, count(%s), avg(%s), "
                    "max(CAST(%s AS REAL)), %s, %s FROM %s GROUP BY deviceId",
                    names[1], names[1], names[1],
                    have[2] ? "min(CAST(timestampNs AS REAL)), "
                              "max(CAST(timestampNs AS REAL))" : "0, 0",
                    have[3] ? "count(DISTINCT funcId)" : "1",
                    counters[i].table);
    if (!(st = event_prepare (e, sql)))
        return false;
    while ((rc = event_row (e, st)) == 1) {
        give_total (e, i, st);
        if (!put_counter (e, b, st, counters[i].table, counters[i].column,
                          counters[i].unit))
            break;
    }
    (void)sqlite3_finalize (st);
    return rc == 0;
}

static bool give_host_counter (struct event_db *e, struct batch *b,
                               const struct host_counter *c)
{
    char sql[256];
    struct event_query q;

    (void)snprintf (sql, sizeof (sql), "SELECT NULL, count(%s), avg(%s), "
                    "max(CAST(%s AS REAL)) FROM %s HAVING count(%s)>0",
                    c->column, c->column, c->column, c->table, c->column);
    q = event_ask (e, c->table, c->column, sql);
    while (event_next (&q) &&
           put_counter (e, b, q.st, c->table, c->column, c->unit))
        continue;
    return event_end (&q);
}

bool event_give_links (struct event_db *e)
{
    struct batch b = { .nrows = 0 };

    if (event_info_begin (e, &b, TABLE_LINK)) {
        for (unsigned i = 0; i < COUNTERS && e->how == READING_WHOLE; i++)
            (void)give_counter (e, &b, i);
        for (unsigned i = 0; i < HOST_COUNTERS && e->how == READING_WHOLE;
             i++)
            (void)give_host_counter (e, &b, &host_counters[i]);
    }
    return event_info_end (e, &b);
}

/* ---- UserRange ---- */

static bool put_range (struct event_db *e, struct batch *b, const char *kind,
                       const char *domain, const char *name,
                       const struct event_sum *s)
{
    uint32_t n = b->nrows++;

    b->text[RANGE_KIND][n] = batch_string (b, kind);
    b->text[RANGE_DOMAIN][n] = batch_string (b, domain);
    b->text[RANGE_NAME][n] = batch_string (b, name);
    b->real[RANGE_COUNT][n] = (double)s->count;
    b->real[RANGE_TOTAL][n] = s->total / US;
    b->real[RANGE_MIN][n] = s->min / US;
    b->real[RANGE_MAX][n] = s->max / US;
    b->real[RANGE_FIRST][n] = (double)s->first / US;
    return !batch_full (b) || event_info_flush (e, b);
}

/* Spans that a query gives as start, end, name and domain, both ids. */
static bool sum_ranges (struct event_db *e, const char *table,
                        const char *columns, const char *sql, struct map *sums)
{
    struct event_query q = event_ask (e, table, columns, sql);
    int64_t start, end_ns;

    while (event_next (&q)) {
        if (!event_time (q.st, 0, &start) || !event_time (q.st, 1, &end_ns) ||
            end_ns < start)
            event_note_bad_row (e, table, "a range has impossible times",
                                sqlite3_column_int64 (q.st, 0));
        else if (!event_sum_add (e, sums, sqlite3_column_int64 (q.st, 2),
                                 sqlite3_column_int64 (q.st, 3), 0, start,
                                 end_ns))
            break;
    }
    return event_end (&q);
}

static bool give_marks (struct event_db *e, struct batch *b)
{
    struct map sums = EVENT_SUMS;
    char name[EVENT_NAME_MAX], domain[EVENT_NAME_MAX];
    bool good;

    good = sum_ranges (e, "MSTX_EVENTS", "startNs, endNs, message, domainId",
                       NULL, &sums);
    for (uint32_t i = 0; i < sums.n && good; i++) {
        const struct event_sum *s = map_at (&sums, i);

        good = event_string (e, s->a, name) && event_string (e, s->b, domain);
        // those of communication are ops
        if (good && strcmp (domain, "communication") != 0)
            good = put_range (e, b, "mstx", domain, name, s);
    }
    map_fini (&sums);
    return good;
}

static bool give_gc (struct event_db *e, struct batch *b)
{
    struct map sums = EVENT_SUMS;
    bool good;

    good = sum_ranges (e, "GC_RECORD", "startNs, endNs",
                       "SELECT startNs, endNs, 0, 0 FROM GC_RECORD", &sums);
    if (good && sums.n > 0)
        good = put_range (e, b, "gc", NULL, "garbage collection",
                          map_at (&sums, 0));
    map_fini (&sums);
    return good;
}

/* Send calls of the library of the operating system, by name. */
static bool give_os_calls (struct event_db *e, struct batch *b)
{
    struct map sums = EVENT_SUMS;
    char name[EVENT_NAME_MAX];
    bool good;

    good = sum_ranges (e, "OSRT_API", "startNs, endNs, name",
                       "SELECT startNs, endNs, name, 0 FROM OSRT_API", &sums);
    for (uint32_t i = 0; i < sums.n && good; i++) {
        const struct event_sum *s = map_at (&sums, i);

        good = event_string (e, s->a, name) &&
               put_range (e, b, "osrt", NULL, name, s);
    }
    map_fini (&sums);
    return good;
}

bool event_give_ranges (struct event_db *e)
{
    struct batch b = { .nrows = 0 };

    (void)(event_info_begin (e, &b, TABLE_RANGE) && give_marks (e, &b) &&
           give_gc (e, &b) && give_os_calls (e, &b));
    return event_info_end (e, &b);
}

/* ---- OperatorStatistic and ApiStatistic ---- */

/* Both tables are alike: a device, two texts, and numbers. */
_Static_assert ((int)API_DEVICE == OPERATOR_DEVICE &&
                (int)API_LEVEL == OPERATOR_TYPE &&
                (int)API_NAME == OPERATOR_CORE &&
                (int)API_COUNT == OPERATOR_COUNT &&
                (int)API_TOTAL == OPERATOR_TOTAL &&
                (int)API_MIN == OPERATOR_MIN && (int)API_MAX == OPERATOR_MAX,
                "the tables are alike");

static bool put_sum (struct event_db *e, struct batch *b, double device,
                     const char *first, const char *second,
                     const struct event_sum *s)
{
    uint32_t n = b->nrows++;

    b->real[OPERATOR_DEVICE][n] = device;
    b->text[OPERATOR_TYPE][n] = batch_string (b, first);
    b->text[OPERATOR_CORE][n] = batch_string (b, second);
    b->real[OPERATOR_COUNT][n] = (double)s->count;
    b->real[OPERATOR_TOTAL][n] = s->total / US;
    b->real[OPERATOR_MIN][n] = s->min / US;
    b->real[OPERATOR_MAX][n] = s->max / US;
    return !batch_full (b) || event_info_flush (e, b);
}

bool event_give_operators (struct event_db *e)
{
    char type[EVENT_NAME_MAX], core[EVENT_NAME_MAX];
    struct batch b = { .nrows = 0 };

    if (!event_info_begin (e, &b, TABLE_OPERATOR))
        return false;
    for (uint32_t i = 0; i < e->operators.n; i++) {
        const struct event_sum *s = map_at (&e->operators, i);

        if (!event_string (e, s->a, type) || !event_string (e, s->b, core) ||
            !put_sum (e, &b, (double)s->device, type, core, s))
            break;
    }
    return event_info_end (e, &b);
}

bool event_give_apis (struct event_db *e)
{
    char name[EVENT_NAME_MAX];
    struct batch b = { .nrows = 0 };

    if (!event_info_begin (e, &b, TABLE_API))
        return false;
    for (uint32_t i = 0; i < e->apis.n; i++) {
        const struct event_sum *s = map_at (&e->apis, i);

        if (!event_string (e, s->b, name) ||
            !put_sum (e, &b, NAN, event_enum_name (e, ENUM_API, s->a), name, s))
            break;
    }
    return event_info_end (e, &b);
}
