/* aggregator/html_page/page_packets.c - a page's histogram of packet sizes */
#include "html_page/page_parts.h"

#include "store/db_rows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TRANSPORTS_MAX 5        // readers cannot tell more colours apart
#define BINS 40                 // sizes from 2^-30 MB (1 byte) to 2^9 MB
#define BIN_OF_1_MB 30

struct packets {
    char transports[TRANSPORTS_MAX][32];
    unsigned n;
    struct {
        double count, mb, ms;
    } bins[TRANSPORTS_MAX][BINS];
};

/* -1 if there are more kinds than expected. */
static int transport_of (struct packets *p, const char *name)
{
    for (unsigned i = 0; i < p->n; i++) {
        if (strcmp (p->transports[i], name) == 0)
            return (int)i;
    }
    if (p->n == TRANSPORTS_MAX ||
        strlen (name) >= sizeof (p->transports[0]))
        return -1;
    (void)snprintf (p->transports[p->n], sizeof (p->transports[0]), "%s",
                    name);
    return (int)p->n++;
}

static int bin_of (double mb)
{
    int bin = ilogb (mb) + BIN_OF_1_MB;

    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin;
}

static void page_packets_add (struct packets *p, sqlite3_stmt *st)
{
    const char *name = (const char *)sqlite3_column_text (st, 0);
    double mb = sqlite3_column_double (st, 1);
    double count = sqlite3_column_double (st, 2);
    int kind = name ? transport_of (p, name) : -1, bin;

    if (kind < 0 || !(mb > 0 && mb < 1e12) || !(count > 0 && count < 1e15))
        return;
    bin = bin_of (mb);
    p->bins[kind][bin].count += count;
    p->bins[kind][bin].mb += count * mb;
    p->bins[kind][bin].ms += sqlite3_column_double (st, 3);
}

static void put_rows (struct json_out *j, const struct packets *p)
{
    json_out_open_of (j, "packets", '{');
    json_out_open_of (j, "columns", '[');
    for (const char *const *c = (const char *const[]){ "transport", "power",
                                    "count", "mb", "ms", NULL }; *c; c++)
        page_json_text (j, *c, strlen (*c));
    json_out_close (j, ']');
    json_out_open_of (j, "rows", '[');
    for (unsigned i = 0; i < p->n; i++) {
        for (int b = 0; b < BINS; b++) {
            if (p->bins[i][b].count <= 0)
                continue;
            json_out_open (j, '[');
            page_json_text (j, p->transports[i], strlen (p->transports[i]));
            json_out_int (j, b - BIN_OF_1_MB);
            page_json_real (j, p->bins[i][b].count);
            page_json_real (j, p->bins[i][b].mb);
            page_json_real (j, p->bins[i][b].ms);
            json_out_close (j, ']');
        }
    }
    json_out_close (j, ']');
    json_out_close (j, '}');
}

/* SDMA is the sum of other transports. */
int page_packets (struct page *p, struct err *err)
{
    struct db_rows r = db_rows (p->db, err,
        "SELECT transport_type, package_size, count, total_duration"
        " FROM PacketTime WHERE package_size>0"
        " AND transport_type<>'SDMA'");
    struct packets all = { .n = 0 };
    int rc;

    while (db_step (&r))
        page_packets_add (&all, r.st);
    if ((rc = db_end (&r)) == 0)
        put_rows (&p->json, &all);
    return rc;
}
