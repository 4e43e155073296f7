// trace_view.json: the same ops and steps as in the other files, as events.

#include "maker.h"

#include <stdlib.h>
#include <string.h>

#define HOST_PID 20000
#define CANN_PID 1001
#define DEVICE_PID 1002
#define COMM_PID 1003
#define OVERLAP_PID 1004
#define GROUP_THREADS 64 // of a group: its ops, and behind them its planes
#define LOCAL_PLANE 0
#define MASTER_PLANE 1
#define FIRST_PLANE 2
#define NS_PER_TICK 20
#define TICKS_PER_US_INT 50
#define KERNEL 50 // ticks of the first and last kernel of a step
#define CLOSING_COLLECTIVE 4 // tasks that close an RDMA burst
#define CLOSING_P2P 2
#define LAST_FLOW 1

struct trace {
    FILE *f;
    const struct capture *c;
    bool planes; // tasks are recorded
};

// A time as the profiler prints it: us with three decimals.
static void put_ticks (const struct trace *t, int64_t ticks)
{
    fprintf (t->f, "\"%lld.%03d\"",
             (long long)(t->c->base_us + ticks / TICKS_PER_US_INT),
             (int)(ticks % TICKS_PER_US_INT) * NS_PER_TICK);
}

static void put_span (const struct trace *t, const char *name, int pid,
                      int tid, int64_t at, int64_t length)
{
    fprintf (t->f, ", {\"name\": \"%s\", \"pid\": %d, \"tid\": %d, \"ts\": ",
             name, pid, tid);
    put_ticks (t, at);
    fprintf (t->f, ", \"dur\": %lld.%02d",
             (long long)(length / TICKS_PER_US_INT),
             (int)(length % TICKS_PER_US_INT) * NS_PER_TICK / 10);
}

static void put_plain (const struct trace *t, const char *name, int pid,
                       int tid, int64_t at, int64_t length)
{
    if (length <= 0)
        return;
    put_span (t, name, pid, tid, at, length);
    fputs (", \"ph\": \"X\"}", t->f);
}

static void put_process (const struct trace *t, int pid, const char *name,
                         bool npu)
{
    const struct options *opt = t->c->job->opt;
    char label[32] = "CPU";
    if (npu && opt->age >= AGE_WITH_DEVICE)
        snprintf (label, sizeof label, "NPU %d", t->c->device);
    else if (npu)
        snprintf (label, sizeof label, "NPU");
    fprintf (t->f,
             ", {\"name\": \"process_name\", \"pid\": %d, \"tid\": 0, "
             "\"args\": {\"name\": \"%s\"}, \"ph\": \"M\"}, "
             "{\"name\": \"process_labels\", \"pid\": %d, \"tid\": 0, "
             "\"args\": {\"labels\": \"%s\"}, \"ph\": \"M\"}",
             pid, name, pid, label);
}

static void put_thread (const struct trace *t, int tid, const char *name)
{
    fprintf (t->f,
             ", {\"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, "
             "\"args\": {\"name\": \"%s\"}, \"ph\": \"M\"}",
             COMM_PID, tid, name);
}

static void put_metadata (const struct trace *t)
{
    const struct job *job = t->c->job;
    char name[2 * MAX_NAME];
    put_process (t, CANN_PID, "CANN", false);
    put_process (t, DEVICE_PID, "Ascend Hardware", true);
    put_process (t, OVERLAP_PID, "Overlap Analysis", true);
    put_process (t, COMM_PID,
                 job->opt->age >= AGE_WITH_DEVICE ? "Communication" : "HCCL",
                 true);
    for (int kind = 0; kind < job->kind_count; kind++) {
        int group = job->group_of[kind][t->c->id.rank];
        int tid = kind * GROUP_THREADS;
        snprintf (name, sizeof name, "Group %s Communication",
                  job->groups[group].name);
        put_thread (t, tid, name);
        for (int plane = 0; plane < FIRST_PLANE + MAX_PEERS && t->planes;
             plane++) {
            snprintf (name, sizeof name, "Plane %d", plane);
            put_thread (t, tid + 1 + plane, name);
        }
    }
}

// ---- steps and flows ----

// A launch and its kernel, one tick long on the host.
static void put_launch (const struct trace *t, int64_t id, int64_t host,
                        int64_t at, int64_t length)
{
    fprintf (t->f,
             ", {\"name\": \"HostToDevice%lld\", \"ph\": \"s\", \"cat\": "
             "\"HostToDevice\", \"id\": \"%lld\", \"pid\": %d, \"tid\": 9, "
             "\"ts\": ",
             (long long)id, (long long)id, CANN_PID);
    put_ticks (t, host);
    fputs ("}", t->f);
    put_span (t, "aclnnMul", DEVICE_PID, 2, at, length);
    fprintf (t->f, ", \"args\": {\"Task Type\": \"AI_CORE\", "
                   "\"connection_id\": %lld}, \"ph\": \"X\"}",
             (long long)id);
    fprintf (t->f,
             ", {\"name\": \"HostToDevice%lld\", \"ph\": \"f\", \"id\": "
             "\"%lld\", \"ts\": ",
             (long long)id, (long long)id);
    put_ticks (t, at);
    fprintf (t->f, ", \"cat\": \"HostToDevice\", \"pid\": %d, \"tid\": 2, "
                   "\"bp\": \"e\"}",
             DEVICE_PID);
}

// What Python saw: the step, and a function with its call stack.
static void put_host (const struct trace *t, const struct step_row *row)
{
    char name[64];
    int64_t begin = row->first_tick - row->prepare;
    snprintf (name, sizeof name, "ProfilerStep#%d", row->id);
    put_span (t, name, HOST_PID, HOST_PID, begin,
              row->end_tick - row->first_tick);
    fputs (", \"cat\": \"cpu_op\", \"args\": {\"Call stack\": "
           "\"/usr/lib/train.py(12): step;\\r\\n<string>(1): \\\"main\\\"\"}, "
           "\"ph\": \"X\"}",
           t->f);
}

static void put_step_flows (const struct trace *t, const struct step_row *row,
                            int64_t number)
{
    int64_t begin = row->first_tick - row->prepare;
    put_launch (t, 2 * number + 1, begin + 1, row->first_tick, KERNEL);
    put_launch (t, 2 * number + 1 + LAST_FLOW,
                begin + row->end_tick - row->first_tick - 1,
                row->end_tick - KERNEL, KERNEL);
}

static void put_overlap (const struct trace *t, int step)
{
    const struct step_row *row = &t->c->steps[step];
    const struct options *opt = t->c->job->opt;
    const struct op *op = t->c->ops + (size_t)step * (size_t)opt->ops;
    int64_t at = row->first_tick;
    for (int i = 0; i < opt->ops; i++, op++) {
        put_plain (t, "Free", OVERLAP_PID, 3, at, op->begin - op->compute - at);
        put_plain (t, "Computing", OVERLAP_PID, 0, op->begin - op->compute,
                   op->compute + op->overlap);
        put_plain (t, "Communication", OVERLAP_PID, 1, op->begin, op->elapse);
        put_plain (t, "Communication(Not Overlapped)", OVERLAP_PID, 2,
                   op->begin + op->overlap, op->elapse - op->overlap);
        at = op->begin + op->elapse;
    }
    put_plain (t, "Free", OVERLAP_PID, 3, at, row->end_tick - row->tail - at);
    put_plain (t, "Computing", OVERLAP_PID, 0, row->end_tick - row->tail,
               row->tail);
}

// ---- communication ----

struct plane {
    int tid;
    int64_t at; // where its next task begins
};

static void put_task (const struct trace *t, struct plane *p,
                      const char *kind, int64_t length, const struct link *l,
                      const char *transport, int64_t bytes, const char *link)
{
    put_span (t, kind, COMM_PID, p->tid, p->at, length);
    fprintf (t->f,
             ", \"args\": {\"notify_id\": \"0\", \"stream id\": 4, "
             "\"task type\": \"%s\", \"src rank\": %d, \"dst rank\": %lld, "
             "\"transport type\": \"%s\", \"size(Byte)\": %lld, \"data type\":"
             " \"INT32\", \"link type\": \"%s\"}, \"ph\": \"X\"}",
             kind, l ? l->src : 0, l ? (long long)l->dst : 4294967295LL,
             transport, (long long)bytes, link);
    p->at += length;
}

static void put_wait (const struct trace *t, struct plane *p, int64_t length)
{
    if (length > 0)
        put_task (t, p, "Notify_Wait", length, NULL, "LOCAL", 0, "ON_CHIP");
}

// A payload, and the tasks that close its burst.
static void put_burst (const struct trace *t, struct plane *p,
                       const struct link *l, const struct packet *k, bool p2p)
{
    int closing = p2p ? CLOSING_P2P : CLOSING_COLLECTIVE;
    int64_t first = k->ticks / 2;
    put_task (t, p, "RDMASend", first, l, "RDMA", k->bytes, "ROCE");
    for (int i = 0; i < closing - 1; i++)
        put_task (t, p, i % 2 == 0 ? "RDMASend" : "Notify_Wait", 1, l, "RDMA",
                  0, "ROCE");
    put_task (t, p, "Notify_Wait", k->ticks - first - (closing - 1), l, "RDMA",
              0, "ROCE");
}

static void put_link (const struct trace *t, struct plane *p,
                      const struct link *l, bool p2p)
{
    for (size_t i = 0; i < l->packet_count; i++) {
        const struct packet *k = &t->c->packets[l->first_packet + i];
        if (l->transport == T_RDMA)
            put_burst (t, p, l, k, p2p);
        else
            put_task (t, p, "Memcpy", k->ticks, l, "SDMA", k->bytes,
                      l->transport == T_LOCAL ? "ON_CHIP"
                                              : transport_name (l->transport));
    }
}

// The master plane waits, moves what the first link moves, and waits again;
// where it is quiet, that link has another plane.
static void put_tasks (const struct trace *t, const struct op *op, int tid)
{
    const struct link *l = t->c->links + op->first_link;
    const struct link *end = l + op->link_count;
    struct plane local = {tid + 1 + LOCAL_PLANE, op->begin};
    struct plane master = {tid + 1 + MASTER_PLANE, op->begin};
    int next = FIRST_PLANE;
    bool on_master = op->has_transit;
    put_task (t, &master, "Notify_Record", 0, NULL, "LOCAL", 0, "ON_CHIP");
    put_wait (t, &master, op->sync);
    for (; l < end; l++) {
        struct plane other = {tid + 1 + next, op->begin + 1};
        if (l->src == l->dst) {
            put_link (t, &local, l, op->p2p);
        } else if (on_master) {
            put_link (t, &master, l, op->p2p);
            on_master = false;
        } else {
            put_link (t, &other, l, op->p2p);
            next++;
        }
    }
    put_wait (t, &master, op->wait - op->sync);
}

static void put_ops (const struct trace *t, int step)
{
    const struct options *opt = t->c->job->opt;
    const struct op *op = t->c->ops + (size_t)step * (size_t)opt->ops;
    for (int i = 0; i < opt->ops; i++, op++) {
        int tid = t->c->job->groups[op->group].kind * GROUP_THREADS;
        put_span (t, op->name, COMM_PID, tid, op->begin, op->elapse);
        fputs (", \"args\": {\"connection_id\": 7, \"count\": 4097000}, "
               "\"ph\": \"X\"}",
               t->f);
        if (t->planes)
            put_tasks (t, op, tid);
    }
}

void write_trace_view (const struct capture *c, const char *path)
{
    struct trace t = {create_file (path), c, c->job->opt->level > 0};
    fprintf (t.f,
             "[{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, "
             "\"tid\": 0, \"args\": {\"name\": \"Python\"}}",
             HOST_PID);
    for (int step = 0; step < c->step_count; step++)
        put_host (&t, &c->steps[step]);
    put_metadata (&t);
    for (int step = 0; step < c->step_count; step++) {
        put_step_flows (&t, &c->steps[step], step);
        put_overlap (&t, step);
        put_ops (&t, step);
    }
    fputs ("]", t.f);
    close_file (t.f, path);
}
