/* node_agent/extract/rows/comm_rows.c - write rows of the communication tables
 *
 * This folder: rows that several kinds of sources write in the same way.
 */
#include "extract/rows/comm_rows.h"

#include "base/units.h"

#include <math.h>
#include <string.h>
#include <strings.h>

bool comm_op_is_p2p (const char *op)
{
    static const char *const starts[] = { "hcom_send", "hcom_receive",
                                          "hcom_batchsendrecv", "hcclsend",
                                          "hcclrecv", "hcclbatchsendrecv" };

    for (size_t i = 0; i < sizeof (starts) / sizeof (starts[0]); i++) {
        if (strncasecmp (op, starts[i], strlen (starts[i])) == 0)
            return true;
    }
    return false;
}

const char *comm_type (bool p2p)
{
    return p2p ? "p2p" : "collective";
}

struct comm_figures comm_figures_of_call (double start_us, double elapse_ms)
{
    return (struct comm_figures){ .start_us = start_us, .elapse = elapse_ms,
                                  .transit = NAN, .wait = NAN, .sync = NAN,
                                  .idle = NAN };
}

void comm_time_put (struct batch *b, const struct comm_texts *x,
                    const struct comm_figures *f)
{
    uint32_t n = b->nrows++;

    b->text[TIME_OP][n] = batch_string (b, x->op);
    b->text[TIME_GROUP][n] = batch_string (b, x->group);
    b->real[TIME_START][n] = f->start_us;
    b->real[TIME_ELAPSE][n] = f->elapse;
    b->real[TIME_TRANSIT][n] = f->transit;
    b->real[TIME_WAIT][n] = f->wait;
    b->real[TIME_SYNC][n] = f->sync;
    b->real[TIME_IDLE][n] = f->idle;
    b->text[TIME_STEP][n] = batch_string (b, x->step);
    b->text[TIME_TYPE][n] = batch_string (b, x->type);
}

void comm_band_put (struct batch *b, const struct comm_texts *x,
                    const char *transport, const struct comm_bucket *k,
                    double package_mb, double count, double total_ms)
{
    uint32_t n = b->nrows++;

    b->text[BW_OP][n] = batch_string (b, x->op);
    b->text[BW_GROUP][n] = batch_string (b, x->group);
    b->text[BW_TRANSPORT][n] = batch_string (b, transport);
    b->real[BW_SIZE][n] = k->size;
    b->real[BW_TIME][n] = k->time;
    b->real[BW_BANDWIDTH][n] = k->bandwidth;
    b->real[BW_LARGE][n] = k->large;
    b->real[BW_PACKAGE][n] = package_mb;
    b->real[BW_COUNT][n] = count;
    b->real[BW_TOTAL][n] = total_ms;
    b->text[BW_STEP][n] = batch_string (b, x->step);
    b->text[BW_TYPE][n] = batch_string (b, x->type);
}

bool comm_buckets_put (struct batch *b, const struct comm_texts *x,
                       const struct comm_figures *f, struct source *src,
                       struct err *err)
{
    static const char *const names[COMM_BUCKETS] = { "RDMA", "HCCS", "PCIE",
                                                     "SDMA", "SIO" };

    for (unsigned i = 0; i < COMM_BUCKETS; i++) {
        const struct comm_bucket *k = &f->buckets[i];
        bool any = false;

        if (k->size + k->time + k->bandwidth + k->large == 0)
            continue;
        for (uint32_t j = 0; j < f->nitems; j++) {
            const struct comm_item *it = &f->items[j];

            if (it->bucket != i)
                continue;
            any = true;
            comm_band_put (b, x, names[i], k, it->size, it->count, it->time);
            if (batch_full (b) && !source_flush (src, b, err))
                return false;
        }
        if (any)
            continue;
        comm_band_put (b, x, names[i], k, 0, 0, 0);
        if (batch_full (b) && !source_flush (src, b, err))
            return false;
    }
    return true;
}

/* Write "<a>-<b>"; printf would take ten times as long. */
static const char *link_text (uint32_t a, uint32_t b, char out[32])
{
    char *p = out + 31;

    *p = '\0';
    do {
        *--p = (char)('0' + b % 10);
    } while ((b /= 10) > 0);
    *--p = '-';
    do {
        *--p = (char)('0' + a % 10);
    } while ((a /= 10) > 0);
    return p;
}

int comm_link_add (struct matrix_fold *fold, const char *op,
                   const struct comm_item *link)
{
    char text[32];
    struct matrix_record r = { .op = op, .transport = link->transport,
                               .size_mb = link->size, .time_ms = link->time };

    if (link->time > 0)
        r.bandwidth = units_round4 (link->size / link->time);
    r.link = link_text ((uint32_t)(link->key >> 32), (uint32_t)link->key,
                        text);
    return matrix_fold_add (fold, &r);
}

bool comm_link_put (struct batch *b, const struct matrix_row *m,
                    const char *step, const char *type)
{
    uint32_t n = b->nrows;

    if (!matrix_row_put (b, m))
        return false;
    b->text[MATRIX_STEP][n] = batch_string (b, step);
    b->text[MATRIX_TYPE][n] = batch_string (b, type);
    b->text[MATRIX_OP_NAME][n] = batch_string (b, m->op);
    b->nrows++;
    return true;
}
