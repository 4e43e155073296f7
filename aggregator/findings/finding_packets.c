/* aggregator/findings/finding_packets.c - small packets and repeated ones
 *
 * CommAnalyzerBandwidth is the largest table: it is read once, from its
 * beginning to its end, without sorting.
 */
#include "findings/finding_rules.h"
#include "findings/findings.h"
#include "store/db_rows.h"

#include <string.h>

enum { ROW_TRANSPORT, ROW_SIZE, ROW_COUNT, ROW_MS, ROW_TRANSIT, ROW_ID };

enum { HCCS, PCIE, RDMA, SIO, TRANSPORTS };

static const char *const names[TRANSPORTS] = { "HCCS", "PCIE", "RDMA", "SIO" };

struct packets {
    double n, mb, ms;           // all of a transport
    double small_n, small_mb, small_ms;
};

struct packet_reader {
    sqlite3 *db;
    double small_mb[TRANSPORTS], retry_ms;
    struct packets of[TRANSPORTS];
    sqlite3_stmt *retry;
};

static int transport_of (sqlite3_stmt *st)
{
    const char *text = (const char *)sqlite3_column_text (st, ROW_TRANSPORT);
    int i = 0;

    while (text && i < TRANSPORTS && strcmp (text, names[i]) != 0)
        i++;
    return text ? i : TRANSPORTS;
}

/* An op has a row for each size of packets, with its transit time in each. */
static int take_retry (struct packet_reader *p, sqlite3_stmt *st,
                       struct err *err)
{
    if (sqlite3_column_double (st, ROW_TRANSIT) <= p->retry_ms)
        return 0;
    return db_put (p->retry, err, sqlite3_column_int64 (st, ROW_ID));
}

static int finding_packets_take (struct packet_reader *p, sqlite3_stmt *st,
                                 struct err *err)
{
    int t = transport_of (st);
    double size, n, ms;

    if (t == TRANSPORTS)
        return 0;
    size = sqlite3_column_double (st, ROW_SIZE);
    n = sqlite3_column_double (st, ROW_COUNT);
    ms = sqlite3_column_double (st, ROW_MS);
    if (size > 0 && n > 0 && ms > 0) {
        struct packets *of = &p->of[t];
        bool small = size < p->small_mb[t];

        of->n += n;
        of->mb += n * size;
        of->ms += ms;
        of->small_n += small ? n : 0;
        of->small_mb += small ? n * size : 0;
        of->small_ms += small ? ms : 0;
    }
    return t == RDMA ? take_retry (p, st, err) : 0;
}

static int write_packets (struct packet_reader *p, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < TRANSPORTS && rc == 0; i++) {
        const struct packets *of = &p->of[i];

        if (of->n > 0)
            rc = db_execf (p->db, err, "INSERT INTO f_packet VALUES (%Q, %.17g,"
                           " %.17g, %.17g, %.17g, %.17g, %.17g)", names[i],
                           of->n, of->mb, of->ms, of->small_n, of->small_mb,
                           of->small_ms);
    }
    return rc;
}

static double value_of (const struct findings_options *opt, const char *name)
{
    int i = 0;

    while (strcmp (thresholds[i].name, name) != 0)
        i++;
    return opt->values[i];
}

#define PACKETS \
    "SELECT transport_type, package_size, count, total_duration," \
    " transit_time, rowid FROM CommAnalyzerBandwidth"

int finding_packets (sqlite3 *db, const struct findings_options *opt,
                     struct err *err)
{
    double host = value_of (opt, "small_sdma_mb");
    struct packet_reader p = {
        .db = db,
        .small_mb = { host, host, value_of (opt, "small_rdma_mb"), host },
        .retry_ms = value_of (opt, "retransmission_ms"),
    };
    struct db_rows r;
    int rc = db_exec (
        db, "CREATE TEMP TABLE f_packet (transport, n REAL, mb REAL, ms REAL,"
            " small_n REAL, small_mb REAL, small_ms REAL); "
            "CREATE TEMP TABLE f_retry (rank, step, op,"
            " ms, UNIQUE (rank, step, op))", err);

    if (rc == 0)
        rc = db_prepare (db, "INSERT OR IGNORE INTO f_retry SELECT rank, step,"
                             " hccl_op_name, transit_time FROM"
                             " CommAnalyzerBandwidth WHERE rowid=?1", &p.retry,
                         err);
    if (rc < 0)
        return rc;
    r = db_rows (db, err,
                 db_int (db, "SELECT EXISTS (SELECT 1 FROM main.LeftOut WHERE"
                             " step IS NULL)", 0) > 0
                     ? PACKETS " WHERE capture NOT IN (SELECT capture FROM"
                               " main.LeftOut WHERE step IS NULL)"
                     : PACKETS);
    while (db_step (&r))
        r.rc = finding_packets_take (&p, r.st, err);
    rc = db_end (&r);
    (void)sqlite3_finalize (p.retry);
    return rc < 0 ? rc : write_packets (&p, err);
}
