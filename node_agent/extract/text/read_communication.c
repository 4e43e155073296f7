/* node_agent/extract/text/read_communication.c - communication.json
 *
 * One pass over { step: { category: { "op@group": op } } }; see
 * doc/formats.md, "communication.json", for the fields and the mapping to
 * rows.
 */
#include "extract/rows/comm_rows.h"
#include "extract/text/comm_file.h"
#include "extract/text/read_text.h"
#include "json/key_predictor.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define FILE_NAME "communication.json"
#define PACKETS_MAX 65536u      // packet sizes of an op on a transport
#define PACKETS_ONCE 64u        // so many previous ones are compared
#define IDLE_MAX 256u           // bytes of a transport that carried nothing

struct packet {
    double size, count, total;
};

struct reader {
    struct comm_file f;
    unsigned want;
    bool retype;                // types are from the names of ops, not from
                                // categories
    struct batch time, bandwidth;
    char op[COMM_NAME_MAX];
    struct batch_repeat rep_op, rep_group;
    struct key_predictor time_keys, transport_keys;
    char idle[IDLE_MAX];        // a transport that carried nothing, as it was
    size_t idle_size;           // written; 0: none
    struct packet *packets;
    uint32_t npackets, packets_cap;     // the memory is reused, so not
                                        // base/vec.h
    struct map others;          // unknown transports of an op
};

static const struct predicted_key time_fields[] = {
    SCAN_FIELD ("Start Timestamp(us)"), SCAN_FIELD ("Elapse Time(ms)"),
    SCAN_FIELD ("Transit Time(ms)"),    SCAN_FIELD ("Wait Time(ms)"),
    SCAN_FIELD ("Synchronization Time(ms)"), SCAN_FIELD ("Idle Time(ms)"),
    SCAN_FIELD ("Wait Time Ratio"), SCAN_FIELD ("Synchronization Time Ratio"),
};

#define TIME_FIELDS 8
#define TIME_STORED 6           // the ratios are not stored

static bool read_time (struct reader *r)
{
    struct scan *s = &r->f.s;
    double v[TIME_FIELDS], ignored;
    struct batch *b = &r->time;
    int i;

    for (i = 0; i < TIME_FIELDS; i++)
        v[i] = NAN;
    if (!scan_object (s))
        return false;
    key_predictor_begin (&r->time_keys);
    while ((i = key_predictor_next (&r->time_keys, s)) != SCAN_DONE) {
        if (i == SCAN_OTHER)
            scan_skip (s);
        else if (!scan_real (s, i < TIME_STORED ? &v[i] : &ignored))
            break;
    }
    if (s->failed)
        return false;
    for (i = 0; i < TIME_STORED; i++) {
        if (isnan (v[i]))
            return scan_fail (s, "\"%s\" is missing", time_fields[i].key);
    }
    if (!(r->want & 1u << TABLE_TIME))
        return true;
    b->text[TIME_OP][b->nrows] = batch_repeat_ref (b, &r->rep_op);
    b->text[TIME_GROUP][b->nrows] = batch_repeat_ref (b, &r->rep_group);
    for (i = 0; i < TIME_STORED; i++)
        b->real[TIME_START + i][b->nrows] = v[i];
    b->text[TIME_STEP][b->nrows] = batch_repeat_ref (b, &r->f.rep_step);
    b->text[TIME_TYPE][b->nrows] = batch_repeat_ref (b, &r->f.rep_type);
    b->nrows++;
    return !batch_full (b) || source_flush (r->f.src, b, r->f.err);
}

static struct packet *packet_next (struct reader *r)
{
    if (r->npackets == r->packets_cap) {
        uint32_t cap = r->packets_cap ? 2 * r->packets_cap : 64;
        struct packet *p = cap > PACKETS_MAX
                               ? NULL
                               : realloc (r->packets, cap * sizeof (*p));

        if (!p) {
            scan_fail (&r->f.s, "more than %u packet sizes", PACKETS_MAX);
            return NULL;
        }
        r->packets = p;
        r->packets_cap = cap;
    }
    return &r->packets[r->npackets++];
}

/* Check that a packet size is new: it would count twice. */
static bool check_size (struct reader *r, const struct packet *p)
{
    uint32_t n = r->npackets - 1;

    for (uint32_t i = n > PACKETS_ONCE ? n - PACKETS_ONCE : 0; i < n; i++) {
        if (r->packets[i].size == p->size)
            return scan_fail (&r->f.s, "packet size %g occurs twice",
                              p->size);
    }
    return true;
}

/* Read "Size Distribution": { "<MB>": [count, total_ms], ... } */
static bool read_packets (struct reader *r)
{
    struct scan *s = &r->f.s;

    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        struct packet *p = packet_next (r);
        bool in_list = true;

        if (!p)
            return false;
        if (!scan_key_real (s, &p->size) || !check_size (r, p))
            return false;
        if (!scan_array (s) || !scan_element (s, &in_list) ||
            !scan_real (s, &p->count) || !scan_element (s, &in_list) ||
            !scan_real (s, &p->total))
            return scan_fail (s, "a packet size has no [count, time]");
        if (scan_element (s, &in_list))
            return scan_fail (s, "a packet size has more than two values");
    }
    return !s->failed;
}

static bool put_bandwidth (struct reader *r, struct batch_repeat *transport,
                           const double *v, const struct packet *p)
{
    struct batch *b = &r->bandwidth;
    uint32_t n = b->nrows++;

    b->text[BW_OP][n] = batch_repeat_ref (b, &r->rep_op);
    b->text[BW_GROUP][n] = batch_repeat_ref (b, &r->rep_group);
    b->text[BW_TRANSPORT][n] = batch_repeat_ref (b, transport);
    for (int i = 0; i < 4; i++)
        b->real[BW_SIZE + i][n] = v[i];
    b->real[BW_PACKAGE][n] = p->size;
    b->real[BW_COUNT][n] = p->count;
    b->real[BW_TOTAL][n] = p->total;
    b->text[BW_STEP][n] = batch_repeat_ref (b, &r->f.rep_step);
    b->text[BW_TYPE][n] = batch_repeat_ref (b, &r->f.rep_type);
    return !batch_full (b) || source_flush (r->f.src, b, r->f.err);
}

static bool fail_twice (struct scan *s)
{
    return scan_fail (s, "\"%.*s\" occurs twice",
                      s->key_size < 80 ? (int)s->key_size : 80, s->key);
}

static const struct predicted_key transport_fields[] = {
    SCAN_FIELD ("Transit Size(MB)"),   SCAN_FIELD ("Transit Time(ms)"),
    SCAN_FIELD ("Bandwidth(GB/s)"),    SCAN_FIELD ("Large Packet Ratio"),
    SCAN_FIELD ("Size Distribution"),
};

#define TRANSPORT_NUMBERS 4

static bool read_transport_fields (struct reader *r, const char *name,
                                   double v[TRANSPORT_NUMBERS])
{
    struct scan *s = &r->f.s;
    int i;

    if (!scan_object (s))
        return false;
    key_predictor_begin (&r->transport_keys);
    while ((i = key_predictor_next (&r->transport_keys, s)) != SCAN_DONE) {
        if (i == TRANSPORT_NUMBERS && r->npackets > 0)
            return scan_fail (s, "\"%s\" occurs twice",
                              transport_fields[i].key);
        if (i == SCAN_OTHER ? !scan_skip (s)
            : i == TRANSPORT_NUMBERS ? !read_packets (r)
                                     : !scan_real (s, &v[i]))
            return false;
    }
    for (i = 0; i < TRANSPORT_NUMBERS && !s->failed; i++) {
        if (isnan (v[i]))
            return scan_fail (s, "\"%s\" of %s is missing",
                              transport_fields[i].key, name);
    }
    return !s->failed;
}

/* Remember how a transport that carried nothing is written: most of them are
 * so, and all alike.
 */
static void note_idle (struct reader *r, const char *from, uint64_t offset)
{
    const struct scan *s = &r->f.s;
    size_t n = (size_t)(s->at - from);

    if (s->offset != offset || n > IDLE_MAX || s->bad_utf8 > 0)
        return;                 // the buffer has moved, or it is odd
    memcpy (r->idle, from, n);
    r->idle_size = n;
}

/* Read a transport of an op: no row if all is zero, one row if there are no
 * packet sizes, otherwise a row for each packet size.
 */
static bool read_transport (struct reader *r, const char *name)
{
    static const struct packet none = { 0, 0, 0 };
    double v[TRANSPORT_NUMBERS] = { NAN, NAN, NAN, NAN };
    struct scan *s = &r->f.s;
    struct batch_repeat transport;
    const char *from;
    uint64_t offset;

    (void)scan_peek (s);        // skip blanks
    if (r->idle_size > 0 && scan_same (s, r->idle, r->idle_size))
        return true;
    from = s->at;
    offset = s->offset;
    r->npackets = 0;
    if (!read_transport_fields (r, name, v))
        return false;
    if (v[0] + v[1] + v[2] + v[3] == 0)
        note_idle (r, from, offset);
    if (!(r->want & 1u << TABLE_BANDWIDTH) || v[0] + v[1] + v[2] + v[3] == 0)
        return true;
    batch_repeat_set (&transport, name, strlen (name));
    if (r->npackets == 0)
        return put_bandwidth (r, &transport, v, &none);
    for (uint32_t i = 0; i < r->npackets; i++) {
        if (!put_bandwidth (r, &transport, v, &r->packets[i]))
            return false;
    }
    return true;
}

static const struct predicted_key transports[] = {
    SCAN_FIELD ("RDMA"), SCAN_FIELD ("HCCS"), SCAN_FIELD ("PCIE"),
    SCAN_FIELD ("SDMA"), SCAN_FIELD ("SIO"),
};

#define TRANSPORTS 5

static bool read_bandwidth (struct reader *r)
{
    struct scan *s = &r->f.s;
    bool have[TRANSPORTS] = { false };
    int next = 0;
    char other[64];

    map_clear (&r->others);

    if (!scan_object (s))
        return false;
    for (bool first = true;;) {
        int i = scan_field (s, &first, transports, TRANSPORTS, &next);

        if (i == SCAN_DONE)
            return !s->failed;
        if (i == SCAN_OTHER &&
            (!comm_file_key (&r->f, other, sizeof (other), "a transport") ||
             !comm_file_once (&r->f, &r->others, 0)))
            return false;
        if (i >= 0 && have[i])
            return fail_twice (s);
        if (i >= 0)
            have[i] = true;
        if (!read_transport (r, i == SCAN_OTHER ? other : transports[i].key))
            return false;
    }
}

static const struct predicted_key op_fields[] = {
    SCAN_FIELD ("Communication Time Info"),
    SCAN_FIELD ("Communication Bandwidth Info"),
};

/* Parse the key "name@group": the group follows the last '@'.  The beginning of
 * the name is enough for the type.
 */
static bool set_op (struct reader *r)
{
    char *at;

    if (!comm_file_key (&r->f, r->op, sizeof (r->op), "an op"))
        return false;
    if (!(at = strrchr (r->op, '@')))
        return scan_fail (&r->f.s, "op \"%.80s\" has no group after an '@'",
                          r->op);
    *at = '\0';
    if (r->retype)
        comm_file_retype (&r->f, comm_op_is_p2p (r->op));
    batch_repeat_set (&r->rep_op, r->op, (size_t)(at - r->op));
    batch_repeat_set (&r->rep_group, at + 1, strlen (at + 1));
    return true;
}

static bool read_op (struct reader *r)
{
    struct scan *s = &r->f.s;
    bool have[2] = { false, false };
    int next = 0;

    if (comm_op_is_total (r->f.s.key, r->f.s.key_size))
        return scan_skip (s);   // it has the sums of other ops
    if (!set_op (r) || !scan_object (s))
        return false;
    for (bool first = true;;) {
        int i = scan_field (s, &first, op_fields, 2, &next);

        if (i == SCAN_DONE)
            break;
        if (i >= 0 && have[i])
            return fail_twice (s);
        if (i == SCAN_OTHER ? !scan_skip (s)
            : i == 0        ? !read_time (r)
                            : !read_bandwidth (r))
            return false;
        if (i >= 0)
            have[i] = true;
    }
    if (!s->failed && (!have[0] || !have[1]))
        return scan_fail (s, "\"%s\" is missing",
                          op_fields[have[0] ? 1 : 0].key);
    return !s->failed;
}

static bool read_value (void *arg)
{
    struct reader *r = arg;

    r->op[0] = '\0';
    if (read_op (r))
        return true;
    if (r->op[0])
        err_prefix (&r->f.s.err, 0, "op %.100s", r->op);
    return false;
}

static bool read_communication_flush (void *arg)
{
    struct reader *r = arg;

    return source_flush (r->f.src, &r->time, r->f.err) &&
           source_flush (r->f.src, &r->bandwidth, r->f.err);
}

enum reading read_communication (struct source *src, unsigned want,
                                 struct err *err)
{
    struct reader *r = calloc (1, sizeof (*r));
    struct comm_reader functions = { read_value, NULL,
                                    read_communication_flush, r };
    enum reading how = READING_STOPPED;

    if (!r || batch_init (&r->time, TABLE_TIME, err) < 0 ||
        batch_init (&r->bandwidth, TABLE_BANDWIDTH, err) < 0) {
        src->stopped = err_set (err, ENOMEM, "no memory to read " FILE_NAME);
    } else {
        r->others = (struct map)COMM_SEEN;
        r->want = want;
        key_predictor_init (&r->time_keys, time_fields, TIME_FIELDS);
        key_predictor_init (&r->transport_keys, transport_fields,
                            TRANSPORT_NUMBERS + 1);
        r->f.tables = 1u << TABLE_TIME | 1u << TABLE_BANDWIDTH;
        r->retype = source_retypes (src);
        how = comm_file_read (&r->f, src, FILE_NAME, &functions, err);
    }
    if (r) {
        batch_fini (&r->time);
        batch_fini (&r->bandwidth);
        free (r->packets);
        map_fini (&r->others);
    }
    free (r);
    return how;
}
