/* aggregator/findings/finding_packets.c - small packets and repeated transfers
 *
 * CommAnalyzerBandwidth is the largest table, so it is read once, from start to
 * end, without sorting.
 */
#include "findings/finding_rules.h"
#include "base/map.h"
#include "findings/findings.h"
#include "model/schema.h"
#include "pages/page_scan.h"
#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

enum { HCCS, PCIE, RDMA, SIO, TRANSPORTS };

static const char *const names[TRANSPORTS] = { "HCCS", "PCIE", "RDMA", "SIO" };

struct packets {
    double n, mb, ms;           // all packets of a transport
    double small_n, small_mb, small_ms;
};

struct packet_reader {
    sqlite3 *db;
    double small_mb[TRANSPORTS], retry_ms;
    struct packets of[TRANSPORTS];
    sqlite3_stmt *retry;
    struct map left_out;        // captures
};

static int transport_of (const struct page_scan *row)
{
    size_t n;
    const char *text = page_scan_text (row, BW_TRANSPORT, &n);
    int i = 0;

    while (text && i < TRANSPORTS &&
           (strlen (names[i]) != n || memcmp (text, names[i], n) != 0))
        i++;
    return text ? i : TRANSPORTS;
}

/* An op has one row per packet size, and each row repeats its transit time. */
static int take_retry (struct packet_reader *p, const struct page_scan *row,
                       struct err *err)
{
    double ms = page_scan_real (row, BW_TIME);

    return ms > p->retry_ms ? db_put (p->retry, err, row->rowid) : 0;
}

static int finding_packets_take (struct packet_reader *p,
                                 const struct page_scan *row, struct err *err)
{
    int t = transport_of (row);
    double size, n, ms;

    if (t == TRANSPORTS)
        return 0;
    size = page_scan_real (row, BW_PACKAGE);
    n = page_scan_real (row, BW_COUNT);
    ms = page_scan_real (row, BW_TOTAL);
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
    return t == RDMA ? take_retry (p, row, err) : 0;
}

/* The captures whose rows do not count. */
static int read_left_out (struct packet_reader *p, struct err *err)
{
    struct db_rows r = db_rows (p->db, err, "SELECT DISTINCT capture FROM "
                                            "main.LeftOut WHERE step IS NULL");
    int64_t capture;
    bool is_new;

    while (db_row (&r, capture)) {
        if (!map_put (&p->left_out, &capture, &is_new))
            r.rc = err_set (err, ENOMEM, "no memory for packets");
    }
    return db_end (&r);
}

static int read_packets (struct packet_reader *p, const atomic_bool *cancel,
                         struct err *err)
{
    const struct table *t = schema_table (TABLE_BANDWIDTH);
    struct page_source *source = NULL;
    struct page_scan row;
    uint32_t root = 0;
    int rc = page_source_of (p->db, cancel, &source, err);

    if (rc == 0)
        rc = page_source_root (source, t->name, &root, err);
    if (rc == 0) {
        rc = page_scan_begin (&row, source, root, INT64_MIN, INT64_MAX, err);
        while (rc == 0 && (rc = page_scan_next (&row, err)) == 1) {
            int64_t capture = page_scan_int (&row, t->ncolumns + 1, 0);

            rc = p->left_out.n > 0 && map_get (&p->left_out, &capture)
                     ? 0 : finding_packets_take (p, &row, err);
        }
        page_scan_end (&row);
    }
    page_source_close (source);
    return rc;
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

int finding_packets (sqlite3 *db, const struct findings_options *opt,
                     const atomic_bool *cancel, struct err *err)
{
    double host = value_of (opt, "small_sdma_mb");
    struct packet_reader p = {
        .db = db,
        .small_mb = { host, host, value_of (opt, "small_rdma_mb"), host },
        .retry_ms = value_of (opt, "retransmission_ms"),
        .left_out = { .words = 1, .size = sizeof (int64_t) },
    };
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
    if (rc == 0)
        rc = read_left_out (&p, err);
    if (rc == 0)
        rc = read_packets (&p, cancel, err);
    (void)sqlite3_finalize (p.retry);
    map_fini (&p.left_out);
    return rc < 0 ? rc : write_packets (&p, err);
}
