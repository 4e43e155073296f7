// Other files of a text export: statistics, memory, and a file nobody reads.

#include "maker.h"

#include <inttypes.h>

#define OPERATORS 40
#define APIS 60
#define MODULES 70
#define SAMPLES 20
#define RECORDS 800
#define TIMELINE 100
#define KIB_PER_MIB 1024

static const char *const core_types[] = {"AI_CORE", "AI_VECTOR_CORE",
                                         "MIX_AIC", "AI_CPU"};
static const char *const levels[] = {"acl", "hccl", "runtime", "node"};

// A number of this capture below 'below', the same for the same counter.
static uint64_t number (const struct capture *c, uint64_t counter,
                        uint64_t below)
{
    uint64_t key = c->job->opt->seed + (uint64_t)c->id.rank * 1000003 +
                   (uint64_t)c->id.repeat;
    return draw (key, counter) % below;
}

static bool has_device (const struct capture *c)
{
    return c->job->opt->age >= AGE_WITH_DEVICE;
}

static void put_start (FILE *f, const struct capture *c, const char *header)
{
    fprintf (f, "%s%s\n", has_device (c) ? "Device_id," : "", header);
}

static void write_operators (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    put_start (f, c, "OP Type,Core Type,Count,Total Time(us),Min Time(us),"
                     "Avg Time(us),Max Time(us),Ratio(%)");
    for (uint64_t i = 0; i < OPERATORS; i++) {
        uint64_t count = 1 + number (c, i, 200);
        double least = (double)number (c, OPERATORS + i, 4000) / 8;
        if (has_device (c))
            fprintf (f, "%d,", c->device);
        fprintf (f, "Op%" PRIu64 ",%s,%" PRIu64 ",%.3f,%.3f,%.3f,%.3f,%.3f\n",
                 i, core_types[i % 4], count, 2 * least * (double)count, least,
                 2 * least, 3 * least, 100.0 / OPERATORS);
    }
    close_file (f, path);
}

static void write_apis (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    put_start (f, c, "Level,API Name,Time(us),Count,Avg(us),Min(us),Max(us),"
                     "Variance");
    for (uint64_t i = 0; i < APIS; i++) {
        uint64_t count = 1 + number (c, 1000 + i, 3000);
        double least = (double)number (c, 2000 + i, 80) / 8;
        fprintf (f, "%s%s,Api%" PRIu64 ",%.2f,%" PRIu64
                    ",%.3f,%.2f,%.2f,%.3f\n",
                 has_device (c) ? "host," : "", levels[i % 4], i,
                 2 * least * (double)count, count, 2 * least, least, 3 * least,
                 least);
    }
    close_file (f, path);
}

static void write_modules (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    put_start (f, c, "Component,Timestamp(us),Total Reserved(MB),Device");
    for (uint64_t i = 0; i < MODULES * SAMPLES; i++) {
        uint64_t module = i / SAMPLES;
        uint64_t kib = module % 8 == 0 ? number (c, 5000 + i, 4000000) : 0;
        if (has_device (c))
            fprintf (f, "%d,", c->device);
        fprintf (f, "MODULE%" PRIu64 ",%" PRId64 ".250\t,%.8g,NPU:%d\n",
                 module, c->base_us + (int64_t)(i % SAMPLES) * 20000,
                 (double)kib / KIB_PER_MIB, c->device);
    }
    close_file (f, path);
}

static void write_records (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    fputs ("Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),"
           "Total Active(MB),Stream Ptr,Device Type\r\n", f);
    for (uint64_t i = 0; i < RECORDS; i++) {
        double used = (double)number (c, 9000 + i, 4000000) / KIB_PER_MIB;
        fprintf (f, "%s,%" PRId64 ".500\t,", i % 10 == 0 ? "APP" : "PTA",
                 c->base_us + (int64_t)i * 1000);
        if (i % 10 == 0)
            fprintf (f, ",%.8g,,,NPU:%d\r\n", used, c->device);
        else
            fprintf (f, "%.8g,%.8g,%.8g,897357296,NPU:%d\r\n", used, 2 * used,
                     used, c->device);
    }
    close_file (f, path);
}

// torch's export_memory_timeline: times, and bytes of eight categories.
static void write_timeline (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    fputs ("[[", f);
    for (uint64_t i = 0; i < TIMELINE; i++)
        fprintf (f, "%s%" PRId64, i > 0 ? ", " : "",
                 c->base_us + (int64_t)i * 10);
    fputs ("], [", f);
    for (uint64_t i = 0; i < TIMELINE; i++) {
        fprintf (f, "%s[0", i > 0 ? ", " : "");
        for (uint64_t k = 0; k < 8; k++)
            fprintf (f, ", %" PRIu64, number (c, 20000 + 8 * i + k, 1u << 30));
        putc (']', f);
    }
    fputs ("]]", f);
    close_file (f, path);
}

static void write_details (const struct capture *c, const char *path)
{
    FILE *f = create_file (path);
    fprintf (f, "Name,Call Stack\r\nop%d,\"a.py(1): f;\r\nb.py(2): g\"\r\n",
             c->id.rank);
    close_file (f, path);
}

void write_extras (const struct capture *c, const char *dir)
{
    static const struct {
        const char *name;
        void (*write) (const struct capture *c, const char *path);
    } files[] = {{"op_statistic.csv", write_operators},
                 {"api_statistic.csv", write_apis},
                 {"npu_module_mem.csv", write_modules},
                 {"memory_record.csv", write_records},
                 {"kernel_details.csv", write_kernels},
                 {"memory_timeline.json", write_timeline},
                 {"operator_details.csv", write_details}};
    char path[MAX_PATH];

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        join_path (path, dir, files[i].name);
        files[i].write (c, path);
    }
}
