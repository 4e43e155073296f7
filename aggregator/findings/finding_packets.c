/* aggregator/findings/finding_packets.c - small packets and repeated transfers
 *
 * CommAnalyzerBandwidth is the largest table.  Its sums are enough, and only if a
 * transfer took long its rows are read.
 */
#include "findings/finding_passes.h"

#include "base/vec.h"
#include "model/schema.h"
#include "store/db_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HCCS, PCIE, RDMA, SIO, TRANSPORTS };

static const char *const names[TRANSPORTS] = { "HCCS", "PCIE", "RDMA", "SIO" };

// Columns by position.
enum { PACKET_STEP, PACKET_TRANSPORT, PACKET_SIZE, PACKET_OPS, PACKET_COUNT,
       PACKET_MS, PACKET_RANK, PACKET_CAPTURE };
enum { TRANSPORT_STEP, TRANSPORT_TYPE, TRANSPORT_OPS, TRANSPORT_SIZE,
       TRANSPORT_MS, TRANSPORT_LARGE_SIZE, TRANSPORT_LARGE_MS,
       TRANSPORT_MS_MAX, TRANSPORT_RANK, TRANSPORT_CAPTURE };

struct packets {
    double n, mb, ms;           // all packets of a transport
    double small_n, small_mb, small_ms;
};

struct packet_reader {
    const struct finding_input *in;
    double small_mb[TRANSPORTS], retry_ms;
    struct packets of[TRANSPORTS];
    bool any_retry;
    int64_t *retries;           // rowids
    size_t nretries;
};

static int transport_of (const struct page_scan *row, unsigned column)
{
    size_t n;
    const char *text = page_scan_text (row, column, &n);
    int i = 0;

    if (!text || n == 0)
        return TRANSPORTS;
    while (i < TRANSPORTS && (*text != *names[i] || strlen (names[i]) != n ||
                              memcmp (text, names[i], n) != 0))
        i++;
    return i;
}

static bool counts (const struct packet_reader *p, const struct page_scan *row,
                    unsigned capture)
{
    return !left_out_capture (&p->in->left_out,
                              page_scan_int (row, capture, 0));
}

/* An op has one row per packet size, and each row repeats its transit time. */
static int take_retry (void *arg, const struct page_scan *row, struct err *err)
{
    struct packet_reader *p = arg;

    if (!(page_scan_real (row, BW_TIME) > p->retry_ms) ||
        transport_of (row, BW_TRANSPORT) != RDMA ||
        !counts (p, row, schema_table (TABLE_BANDWIDTH)->ncolumns + 1))
        return 0;
    return vec_push (&p->retries, &p->nretries, &row->rowid,
                     sizeof (row->rowid)) < 0
               ? err_set (err, ENOMEM, "no memory for packets") : 0;
}

/* Whether there are such ops. */
static int take_transport (void *arg, const struct page_scan *row,
                           struct err *err)
{
    struct packet_reader *p = arg;

    (void)err;
    p->any_retry = p->any_retry ||
                   (page_scan_real (row, TRANSPORT_MS_MAX) > p->retry_ms &&
                    transport_of (row, TRANSPORT_TYPE) == RDMA &&
                    counts (p, row, TRANSPORT_CAPTURE));
    return 0;
}

static int read_retries (struct packet_reader *p, struct err *err)
{
    int rc = finding_scan (p->in, "TransportTime", take_transport, p, err);

    return rc < 0 || !p->any_retry ? rc
           : finding_scan (p->in, schema_table (TABLE_BANDWIDTH)->name,
                           take_retry, p, err);
}

static int take_packets (void *arg, const struct page_scan *row,
                         struct err *err)
{
    struct packet_reader *p = arg;
    int t = transport_of (row, PACKET_TRANSPORT);
    double size, n, ms;

    (void)err;
    if (t == TRANSPORTS || !counts (p, row, PACKET_CAPTURE))
        return 0;
    size = page_scan_real (row, PACKET_SIZE);
    n = page_scan_real (row, PACKET_COUNT);
    ms = page_scan_real (row, PACKET_MS);
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
    return 0;
}

static int read_packets (const struct finding_input *in, void **ret,
                         struct err *err)
{
    struct packet_reader *p = *ret = calloc (1, sizeof (*p));
    double host = finding_threshold (in->opt, "small_sdma_mb");
    int rc;

    if (!p)
        return err_set (err, ENOMEM, "no memory for packets");
    p->in = in;
    for (int i = 0; i < TRANSPORTS; i++)
        p->small_mb[i] = i == RDMA ? finding_threshold (in->opt,
                                                        "small_rdma_mb") : host;
    p->retry_ms = finding_threshold (in->opt, "retransmission_ms");
    rc = finding_scan (in, "PacketTime", take_packets, p, err);
    return rc < 0 ? rc : read_retries (p, err);
}

static int write_retries (const struct packet_reader *p, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (p->in->db, "INSERT OR IGNORE INTO f_retry SELECT "
                         "rank, step, hccl_op_name, transit_time FROM "
                         "CommAnalyzerBandwidth WHERE rowid=?1", &st, err);

    for (size_t i = 0; i < p->nretries && rc == 0; i++)
        rc = db_put (st, err, p->retries[i]);
    (void)sqlite3_finalize (st);
    return rc;
}

static int write_packets (const struct finding_input *in, void *state,
                          struct err *err)
{
    const struct packet_reader *p = state;
    int rc = db_exec (
        in->db,
        "CREATE TEMP TABLE f_packet (transport, n REAL, mb REAL, ms REAL,"
        " small_n REAL, small_mb REAL, small_ms REAL); "
        "CREATE TEMP TABLE f_retry (rank, step, op,"
        " ms, UNIQUE (rank, step, op))", err);

    for (int i = 0; i < TRANSPORTS && rc == 0; i++) {
        const struct packets *of = &p->of[i];

        if (of->n > 0)
            rc = db_do (in->db, err, "INSERT INTO f_packet VALUES (?1, ?2, ?3,"
                        " ?4, ?5, ?6, ?7)", names[i], of->n, of->mb, of->ms,
                        of->small_n, of->small_mb, of->small_ms);
    }
    return rc < 0 ? rc : write_retries (p, err);
}

static void destroy_packets (void *state)
{
    struct packet_reader *p = state;

    if (p)
        free (p->retries);
    free (p);
}

const struct finding_pass finding_packets = { read_packets, write_packets,
                                              destroy_packets };
