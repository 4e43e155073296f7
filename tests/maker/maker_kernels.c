// kernel_details.csv: what ran on the device, by start.

#include "maker.h"

#define NS_PER_TICK 20
#define TICKS_PER_US_INT 50

const struct kernel_kind kernel_kinds[KERNEL_KINDS] = {
    {"aclnnMul_MulAiCore_Mul", "Mul", "AI_VECTOR_CORE", "32,3,224;1"},
    {"aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE",
     "4096,4096;4096,1024"},
    {"aclnnMatmul_MatMulCommon_MatMulV2", "MatMulV2", "AI_CORE",
     "4096,1024;1024,4096"},
};

void each_kernel (const struct capture *c, int step,
                  void (*fn) (void *arg, int kind, int64_t at, int64_t length),
                  void *arg)
{
    const struct step_row *row = &c->steps[step];
    int ops = c->job->opt->ops;
    const struct op *op = c->ops + (size_t)step * (size_t)ops;
    for (int i = 0; i < ops; i++, op++) {
        if (op->compute + op->overlap > 0)
            fn (arg, i % KERNEL_KINDS, op->begin - op->compute,
                op->compute + op->overlap);
    }
    if (row->tail > 0)
        fn (arg, 0, row->end_tick - row->tail, row->tail);
}

static void put_row (FILE *f, const struct capture *c, int id,
                     const struct kernel_kind *k, int64_t at, int64_t length)
{
    if (length <= 0)
        return;
    fprintf (f, "%d,", id);
    if (c->job->opt->age >= AGE_WITH_DEVICE)
        fprintf (f, "%d,", c->device);
    fprintf (f, "4294967295,7,2,%s,%s,dynamic,%s,%lld.%03d\t,%lld.%03d,0,"
                "\"\"\"%s\"\"\",FLOAT,%lld.%03d,0.25\r\n",
             k->name, k->type, k->core,
             (long long)(c->base_us + at / TICKS_PER_US_INT),
             (int)(at % TICKS_PER_US_INT) * NS_PER_TICK,
             (long long)(length / TICKS_PER_US_INT),
             (int)(length % TICKS_PER_US_INT) * NS_PER_TICK, k->shapes,
             (long long)(length / TICKS_PER_US_INT),
             (int)(length % TICKS_PER_US_INT) * NS_PER_TICK);
}

// A file, its capture, and the step that it is at.
struct kernel_file {
    FILE *f;
    const struct capture *c;
    int step;
    const struct op *op; // the next one
};

// Ops come between the kernels, each behind its own.
static void put_kernel (void *arg, int kind, int64_t at, int64_t length)
{
    struct kernel_file *k = arg;
    const struct options *opt = k->c->job->opt;
    const struct op *end = k->c->ops + (size_t)(k->step + 1) * (size_t)opt->ops;
    struct kernel_kind comm = {
        NULL, "hcom", opt->age >= AGE_WITH_DEVICE ? "COMMUNICATION" : "HCCL",
        ""};
    for (; k->op < end && k->op->begin < at; k->op++) {
        comm.name = k->op->name;
        put_row (k->f, k->c, k->c->steps[k->step].id, &comm, k->op->begin,
                 k->op->elapse);
    }
    if (kind >= 0)
        put_row (k->f, k->c, k->c->steps[k->step].id, &kernel_kinds[kind], at,
                 length);
}

void write_kernels (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    struct kernel_file k = {.f = create_file (path), .c = c};
    fprintf (k.f, "Step Id,%sModel ID,Task ID,Stream ID,Name,Type,OP State,"
                  "Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
                  "Input Shapes,Input Data Types,aicore_time(us),"
                  "aic_mac_ratio\r\n",
             opt->age >= AGE_WITH_DEVICE ? "Device_id," : "");
    for (; k.step < c->step_count; k.step++) {
        k.op = c->ops + (size_t)k.step * (size_t)opt->ops;
        each_kernel (c, k.step, put_kernel, &k);
        put_kernel (&k, -1, INT64_MAX, 0);
    }
    close_file (k.f, path);
}
