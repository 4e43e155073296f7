// communication.json and step_trace_time.csv, byte for byte in the way the
// profiler's Python code writes them.

#include "maker.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (1 << 20)
#define TINY 1e-15 // as the profiler: such a sum is none
#define MAX_TOTAL_BINS (2 * MAX_SHAPES)

// Sums of one category of one step.
struct total_band {
    bool touched;
    double mb;
    double ms;
    size_t bin_count;
    struct packet_bin bins[MAX_TOTAL_BINS];
};

struct total {
    double elapse;
    double transit;
    double wait;
    double sync;
    double idle;
    struct total_band bands[BAND_COUNT];
};

static const char *const band_names[BAND_COUNT] = {"RDMA", "HCCS", "PCIE",
                                                   "SDMA", "SIO"};

FILE *create_file (const char *path)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    FILE *f = fd < 0 ? NULL : fdopen (fd, "w");
    if (f == NULL)
        die (path);
    setvbuf (f, NULL, _IOFBF, BUFFER_BYTES);
    return f;
}

void close_file (FILE *f, const char *path)
{
    bool bad = ferror (f) != 0;
    if (fclose (f) != 0 || bad)
        die (path);
}

static void put (FILE *f, const char *text)
{
    fputs_unlocked (text, f);
}

static void put_field (FILE *f, const char *label, double x, bool is_float)
{
    put (f, label);
    put_number (f, x, is_float);
}

// 0 where the denominator vanishes, else rounded to 4 places.
static void put_ratio (FILE *f, const char *label, double part, double other)
{
    double sum = part + other;
    bool some = sum >= TINY;
    put_field (f, label, some ? round4 (part / sum) : 0.0, some);
}

static void put_bins (FILE *f, const struct packet_bin *bins, size_t count)
{
    put (f, "\"Size Distribution\": {");
    for (size_t i = 0; i < count; i++) {
        put (f, i > 0 ? ", \"" : "\"");
        put_double (f, bins[i].mb);
        fprintf (f, "\": [%lld, ", (long long)bins[i].count);
        put_double (f, bins[i].ms);
        putc_unlocked (']', f);
    }
    put (f, "}}");
}

static void put_band (FILE *f, const struct band *b)
{
    put_field (f, "{\"Transit Size(MB)\": ", b->mb, b->touched);
    put_field (f, ", \"Transit Time(ms)\": ", b->ms, b->touched);
    put_field (f, ", \"Bandwidth(GB/s)\": ", b->gbps, b->touched);
    put_field (f, ", \"Large Packet Ratio\": ", b->large, b->packets > 0);
    put (f, ", ");
    put_bins (f, b->bins, b->bin_count);
}

static void put_band_name (FILE *f, size_t i)
{
    put (f, i > 0 ? ", \"" : "\"");
    put (f, band_names[i]);
    put (f, "\": ");
}

static size_t bands_of_age (const struct capture *c)
{
    return c->job->opt->age < AGE_WITH_SIO ? T_SIO : BAND_COUNT;
}

static void put_op (FILE *f, const struct capture *c, const struct op *op)
{
    put (f, "\"");
    put (f, op->name);
    put (f, "@");
    put (f, c->job->groups[op->group].hash);
    put (f, "\": {\"Communication Time Info\": ");
    put_field (f, "{\"Start Timestamp(us)\": ", op->start_us, true);
    put_field (f, ", \"Elapse Time(ms)\": ", op->elapse_ms, true);
    put_field (f, ", \"Transit Time(ms)\": ", op->transit_ms, op->has_transit);
    put_field (f, ", \"Wait Time(ms)\": ", op->wait_ms, op->has_wait);
    put_field (f, ", \"Synchronization Time(ms)\": ", op->sync_ms,
               op->has_wait);
    put_field (f, ", \"Idle Time(ms)\": ", op->idle_ms, true);
    put_ratio (f, ", \"Wait Time Ratio\": ", op->wait_ms, op->transit_ms);
    put_ratio (f, ", \"Synchronization Time Ratio\": ", op->sync_ms,
               op->transit_ms);
    put (f, "}, \"Communication Bandwidth Info\": {");
    for (size_t i = 0; i < bands_of_age (c); i++) {
        put_band_name (f, i);
        put_band (f, &op->bands[i]);
    }
    put (f, "}}");
}

static void add_bin (struct total_band *t, const struct packet_bin *bin)
{
    size_t i = 0;
    while (i < t->bin_count && t->bins[i].mb != bin->mb)
        i++;
    if (i == t->bin_count) {
        t->bin_count++;
        t->bins[i] = (struct packet_bin){.mb = bin->mb};
    }
    t->bins[i].count += bin->count;
    t->bins[i].ms += bin->ms;
}

static void add_to_total (struct total *t, const struct op *op)
{
    t->elapse += op->elapse_ms;
    t->transit += op->transit_ms;
    t->wait += op->wait_ms;
    t->sync += op->sync_ms;
    t->idle += op->idle_ms;
    for (size_t i = 0; i < BAND_COUNT; i++) {
        t->bands[i].touched |= op->bands[i].touched;
        t->bands[i].mb += op->bands[i].mb;
        t->bands[i].ms += op->bands[i].ms;
        for (size_t k = 0; k < op->bands[i].bin_count; k++)
            add_bin (&t->bands[i], &op->bands[i].bins[k]);
    }
}

static void put_total (FILE *f, const struct capture *c, const struct total *t)
{
    put (f, ", \"Total Op Info\": {\"Communication Time Info\": ");
    put_field (f, "{\"Elapse Time(ms)\": ", t->elapse, true);
    put_field (f, ", \"Transit Time(ms)\": ", t->transit, true);
    put_field (f, ", \"Wait Time(ms)\": ", t->wait, true);
    put_field (f, ", \"Synchronization Time(ms)\": ", t->sync, true);
    put_field (f, ", \"Idle Time(ms)\": ", t->idle, true);
    put_ratio (f, ", \"Wait Time Ratio\": ", t->wait, t->transit);
    put_ratio (f, ", \"Synchronization Time Ratio\": ", t->sync, t->transit);
    put (f, "}, \"Communication Bandwidth Info\": {");
    for (size_t i = 0; i < bands_of_age (c); i++) {
        const struct total_band *b = &t->bands[i];
        put_band_name (f, i);
        put_field (f, "{\"Transit Time(ms)\": ", b->ms, b->touched);
        put_field (f, ", \"Transit Size(MB)\": ", b->mb, b->touched);
        put (f, ", ");
        put_bins (f, b->bins, b->bin_count);
    }
    put (f, "}}");
}

static void put_category (FILE *f, const struct capture *c, int step, bool p2p)
{
    size_t ops = (size_t)c->job->opt->ops;
    const struct op *first = c->ops + (size_t)step * ops;
    struct total total;
    memset (&total, 0, sizeof total);
    bool any = false;
    put (f, p2p ? "\"p2p\": {" : ", \"collective\": {");
    for (const struct op *op = first; op < first + ops; op++) {
        if (op->p2p != p2p)
            continue;
        if (any)
            put (f, ", ");
        any = true;
        put_op (f, c, op);
        add_to_total (&total, op);
    }
    if (any)
        put_total (f, c, &total);
    put (f, "}");
}

// Opens the object of a step; the caller closes it.
void put_step_open (FILE *f, const struct capture *c, int step)
{
    fprintf (f, "%s\"step%d\": {", step > 0 ? ", " : "", c->steps[step].id);
}

void write_communication (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    put (f, "{");
    for (int step = 0; step < c->step_count; step++) {
        put_step_open (f, c, step);
        put_category (f, c, step, true);
        put_category (f, c, step, false);
        put (f, "}");
    }
    put (f, "}");
    close_file (f, path);
}

// MindSpore's CSV never does.
static bool names_device (const struct options *opt)
{
    return opt->age >= AGE_WITH_DEVICE && !opt->mindspore;
}

static void put_csv_header (FILE *f, const struct options *opt, const char *end)
{
    if (names_device (opt))
        put (f, "Device_id,");
    put (f, "Step,Computing,Communication(Not Overlapped),Overlapped,"
            "Communication,Free,Stage,Bubble,"
            "Communication(Not Overlapped and Exclude Receive)");
    if (opt->age >= AGE_WITH_PREPARING)
        put (f, ",Preparing");
    put (f, end);
}

static void put_step_row (FILE *f, const struct capture *c, int device,
                          const struct step_row *row)
{
    const struct options *opt = c->job->opt;
    if (names_device (opt))
        fprintf (f, "%d,", c->device + device);
    fprintf (f, "%d", row->id);
    put_field (f, ",", row->computing, true);
    put_field (f, ",", row->not_overlapped, true);
    put_field (f, ",", row->overlapped, true);
    put_field (f, ",", row->communication, true);
    put_field (f, ",", row->free, true);
    put_field (f, ",", row->stage, true);
    put_field (f, ",", row->bubble, row->has_bubble);
    put_field (f, ",", row->exclude_receive, true);
    if (opt->age >= AGE_WITH_PREPARING)
        put_field (f, ",", row->preparing, true);
    put (f, opt->crlf ? "\r\n" : "\n");
}

void write_step_csv (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    FILE *f = create_file (path);
    put_csv_header (f, opt, opt->crlf ? "\r\n" : "\n");
    for (int device = 0; device < opt->devices; device++) {
        for (int i = 0; i < c->step_count; i++)
            put_step_row (f, c, device, &c->steps[i]);
    }
    close_file (f, path);
}
