// kernel_details.csv: what ran on the device, by start.

#include "maker.h"

#define NS_PER_TICK 20
#define TICKS_PER_US_INT 50

static void put_row (FILE *f, const struct capture *c, int id,
                     const char *name, const char *core, int64_t at,
                     int64_t length)
{
    if (length <= 0)
        return;
    fprintf (f, "%d,", id);
    if (c->job->opt->age >= AGE_WITH_DEVICE)
        fprintf (f, "%d,", c->device);
    fprintf (f, "4294967295,7,2,%s,Type,dynamic,%s,%lld.%03d\t,%lld.%03d,0,"
                "\"\"\"32,3,224\"\"\",FLOAT\r\n",
             name, core,
             (long long)(c->base_us + at / TICKS_PER_US_INT),
             (int)(at % TICKS_PER_US_INT) * NS_PER_TICK,
             (long long)(length / TICKS_PER_US_INT),
             (int)(length % TICKS_PER_US_INT) * NS_PER_TICK);
}

void write_kernels (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    const char *comm = opt->age >= AGE_WITH_DEVICE ? "COMMUNICATION" : "HCCL";
    const struct op *op = c->ops;
    FILE *f = create_file (path);
    fprintf (f, "Step Id,%sModel ID,Task ID,Stream ID,Name,Type,OP State,"
                "Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
                "Input Shapes,Input Data Types\r\n",
             opt->age >= AGE_WITH_DEVICE ? "Device_id," : "");
    for (int step = 0; step < c->step_count; step++) {
        const struct step_row *row = &c->steps[step];
        for (int i = 0; i < opt->ops; i++, op++) {
            put_row (f, c, row->id, "aclnnMul", "AI_CORE",
                     op->begin - op->compute, op->compute + op->overlap);
            put_row (f, c, row->id, op->name, comm, op->begin, op->elapse);
        }
        put_row (f, c, row->id, "aclnnMul", "AI_CORE",
                 row->end_tick - row->tail, row->tail);
    }
    close_file (f, path);
}
