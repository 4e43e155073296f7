// A trace of torch.profiler: the same ops and steps, as libkineto writes them.

#include "maker.h"

#include <inttypes.h>
#include <string.h>

#define NS_PER_US 1000
#define NS_PER_SECOND INT64_C (1000000000)
#define NS_PER_TICK 20
#define TICKS_PER_US_INT 50
#define BASE_SECONDS 7889238 // times count from a multiple of it
#define LAUNCH_TICKS 50      // that a launch needs on the host
#define LAUNCH_LEAD 100      // and how long before the kernel it is
#define COMPUTE_STREAM 7
#define FIRST_COMM_STREAM 20
#define BYTES_PER_MB 1e6

struct trace {
    FILE *f;
    const struct capture *c;
    int64_t base_ns;
    int64_t correlation;
};

// What torch and NCCL call an op, by its type in the aggregated matrix.
static const struct collective {
    const char *type;
    const char *torch;
    const char *kernel;
} collectives[] = {
    {"allreduce", "allreduce", "AllReduce_Sum_bf16_RING_LL"},
    {"allgather", "_allgather_base", "AllGather_RING_LL"},
    {"reduce", "_reduce_scatter_base", "ReduceScatter_Sum_bf16_RING_LL"},
    {"alltoall", "all_to_allv", "SendRecv"},
    {"broadcast", "broadcast", "Broadcast_RING_LL"},
    {"receive", "recv", "SendRecv"},
    {"send", "send", "SendRecv"}};
#define COLLECTIVES (sizeof collectives / sizeof collectives[0])

static const struct collective *collective_of (const struct op *op)
{
    for (size_t i = 0; i < COLLECTIVES; i++) {
        if (strcmp (collectives[i].type, op->matrix_type) == 0)
            return &collectives[i];
    }
    return &collectives[COLLECTIVES - 1]; // a batch
}

static const char *description_of (const struct group *g)
{
    static const char *const names[][2] = {
        {"default_group", "default_pg"},
        {"tp", "TENSOR_MODEL_PARALLEL_GROUP"},
        {"dp", "DATA_PARALLEL_GROUP"},
        {"pp", "PIPELINE_MODEL_PARALLEL_GROUP"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp (names[i][0], g->kind_name) == 0)
            return names[i][1];
    }
    return "undefined";
}

static int group_number (const struct trace *t, const struct group *g)
{
    return (int)(g - t->c->job->groups);
}

// ---- header ----

static void put_group (struct json *j, const struct trace *t, int index)
{
    const struct group *g = &t->c->job->groups[index];
    char name[16];
    snprintf (name, sizeof name, "%d", index);
    open_part (j, NULL, '{');
    put_text (j, "pg_name", name);
    put_text (j, "pg_desc", description_of (g));
    put_text (j, "backend_config", "cuda:nccl");
    put_int (j, "pg_size", g->size);
    open_part (j, "ranks", '[');
    for (int i = 0; i < g->size; i++)
        put_int (j, NULL, g->members[i]);
    close_part (j, ']');
    close_part (j, '}');
}

static void put_distributed_info (struct json *j, const struct trace *t)
{
    const struct job *job = t->c->job;
    open_part (j, "distributedInfo", '{');
    put_text (j, "backend", "nccl");
    put_int (j, "rank", claimed_rank (t->c));
    put_int (j, "world_size", claimed_world (t->c));
    if (!job->opt->no_groups) {
        put_int (j, "pg_count", job->group_count);
        open_part (j, "pg_config", '[');
        for (int kind = 0; kind < job->kind_count; kind++)
            put_group (j, t, job->group_of[kind][t->c->id.rank]);
        close_part (j, ']');
        put_text (j, "nccl_version", "2.21.5");
    }
    close_part (j, '}');
}

static void put_device (struct json *j, int device)
{
    open_part (j, NULL, '{');
    put_int (j, "id", device);
    put_text (j, "name", "NVIDIA A100-SXM4-80GB");
    put_int (j, "totalGlobalMem", INT64_C (84987740160));
    put_int (j, "numSms", 108);
    close_part (j, '}');
}

static void put_header (struct json *j, const struct trace *t)
{
    const struct options *opt = t->c->job->opt;
    char name[2 * MAX_NAME];
    put_int (j, "schemaVersion", 1);
    open_part (j, "deviceProperties", '[');
    for (int i = 0; i < opt->devices; i++)
        put_device (j, t->c->device + i);
    close_part (j, ']');
    if (!opt->no_rank)
        put_distributed_info (j, t);
    if (!opt->no_host) {
        put_host_name (name, t->c);
        put_text (j, "host_name", name);
    }
    put_text (j, "displayTimeUnit", "ms");
    put_int (j, "baseTimeNanoseconds", t->base_ns);
}

// ---- events ----

static void put_us (const struct trace *t, const char *key, int64_t ns)
{
    fprintf (t->f, ", \"%s\": %" PRId64 ".%03d", key, ns / NS_PER_US,
             (int)(ns % NS_PER_US));
}

// An event without its arguments.
static void put_event (const struct trace *t, const char *category,
                       const char *name, int pid, int tid, int64_t at,
                       int64_t length)
{
    int64_t ns = t->c->base_us * NS_PER_US + at * NS_PER_TICK - t->base_ns;
    fprintf (t->f,
             ",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", "
             "\"pid\": %d, \"tid\": %d",
             category, name, pid, tid);
    put_us (t, "ts", ns);
    put_us (t, "dur", length * NS_PER_TICK);
}

static void put_launch (struct trace *t, int64_t at)
{
    int pid = pid_of (t->c);
    t->correlation++;
    put_event (t, "cuda_runtime", "cudaLaunchKernel", pid, pid, at,
               LAUNCH_TICKS);
    fprintf (t->f,
             ", \"args\": {\"External id\": %" PRId64
             ", \"correlation\": %" PRId64 "}}",
             t->correlation, t->correlation);
}

// A kernel, whose arguments stay open.
static void put_kernel (const struct trace *t, const char *name, int device,
                        int stream, int64_t at, int64_t length)
{
    put_event (t, "kernel", name, device, stream, at, length);
    fprintf (t->f,
             ", \"args\": {\"External id\": %" PRId64 ", \"device\": %d, "
             "\"context\": 1, \"stream\": %d, \"correlation\": %" PRId64,
             t->correlation, device, stream, t->correlation);
}

static void put_compute (struct trace *t, int64_t at, int64_t length)
{
    if (length <= 0)
        return;
    for (int i = 0; i < t->c->job->opt->devices; i++) {
        put_launch (t, at - LAUNCH_LEAD);
        put_kernel (t, "gemm", t->c->device + i, COMPUTE_STREAM, at, length);
        fputs ("}}", t->f);
    }
}

// What record_param_comms says, and libkineto copies to the kernel.
static void put_arguments (const struct trace *t, const struct op *op,
                           const struct collective *what)
{
    const struct group *g = &t->c->job->groups[op->group];
    const struct link *l = t->c->links + op->first_link;
    double mb = 0;
    for (size_t i = 0; i < op->link_count; i++)
        mb += l[i].mb;
    int64_t elements = (int64_t)(mb * BYTES_PER_MB / 2); // of two bytes
    fprintf (t->f,
             ", \"Collective name\": \"%s\", \"In msg nelems\": %" PRId64
             ", \"Out msg nelems\": %" PRId64 ", \"Group size\": %d, "
             "\"dtype\": \"BFloat16\", \"Seq\": %" PRId64
             ", \"Process Group Name\": \"%d\", "
             "\"Process Group Description\": \"%s\"",
             what->torch, elements, elements, g->size, op->seq,
             group_number (t, g), description_of (g));
    if (op->p2p) {
        int place = t->c->job->place_of[g->kind][t->c->id.rank];
        int peer = op->link_count > 0 ? l[op->link_count - 1].dst : place ^ 1;
        fprintf (t->f, ", \"%s\": %d",
                 strcmp (what->torch, "recv") == 0 ? "Src Rank" : "Dst Rank",
                 g->members[peer]);
    }
}

static void put_op (struct trace *t, const struct op *op)
{
    const struct job *job = t->c->job;
    const struct collective *what = collective_of (op);
    int kind = job->groups[op->group].kind;
    int pid = pid_of (t->c);
    int64_t at = op->begin - LAUNCH_LEAD;
    char name[2 * MAX_NAME];
    bool silent = job->opt->no_groups || job->opt->no_rank;
    put_launch (t, at);
    if (!silent) {
        put_event (t, "cpu_op", "record_param_comms", pid, pid, at - 1,
                   LAUNCH_TICKS + 2);
        fprintf (t->f, ", \"args\": {\"External id\": %" PRId64,
                 t->correlation);
        put_arguments (t, op, what);
        fputs ("}}", t->f);
    }
    snprintf (name, sizeof name, "ncclDevKernel_%s", what->kernel);
    put_kernel (t, name, t->c->device, FIRST_COMM_STREAM + kind, op->begin,
                op->elapse);
    if (!silent)
        put_arguments (t, op, what);
    fputs ("}}", t->f);
}

static void put_step (struct trace *t, int step)
{
    const struct options *opt = t->c->job->opt;
    const struct step_row *row = &t->c->steps[step];
    const struct op *op = t->c->ops + (size_t)step * (size_t)opt->ops;
    char name[MAX_NAME];
    int pid = pid_of (t->c);
    int64_t begin = row->first_tick - row->prepare;
    snprintf (name, sizeof name, "ProfilerStep#%d", row->id);
    put_event (t, "user_annotation", name, pid, pid, begin,
               row->end_tick - begin);
    fputs (", \"args\": {\"External id\": 0}}", t->f);
    for (int i = 0; i < opt->ops; i++, op++) {
        put_compute (t, op->begin - op->compute, op->compute + op->overlap);
        put_op (t, op);
    }
    put_compute (t, row->end_tick - row->tail, row->tail);
}

void write_kineto (const struct capture *c, const char *path)
{
    struct trace t = {.f = create_file (path), .c = c};
    struct json j = {.f = t.f};
    int64_t seconds = clocks_of (c).start_ns / NS_PER_SECOND;
    t.base_ns = seconds / BASE_SECONDS * BASE_SECONDS * NS_PER_SECOND;
    open_part (&j, NULL, '{');
    put_header (&j, &t);
    open_part (&j, "traceEvents", '[');
    fprintf (t.f,
             "\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, "
             "\"tid\": 0, \"args\": {\"name\": \"python\"}}",
             pid_of (c));
    for (int step = 0; step < c->step_count; step++)
        put_step (&t, step);
    close_part (&j, ']');
    put_text (&j, "traceName", "trace.json");
    close_part (&j, '}');
    close_file (t.f, path);
}
