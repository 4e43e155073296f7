/* tests/bench/bench_trace.c - a large trace, as torch.profiler writes them
 *
 *     bench_trace MEGABYTES FILE [RANK RANKS]
 *
 * Without RANK, rank 0 of 2.  Of the events one in eight is of the device and one in five
 * a call that launched one, as in traces of real jobs; the rest are host ops
 * and flows.
 */
#include <stdio.h>
#include <stdlib.h>

#define STEP_US 200000.0

static FILE *out;
static double now = 4458676416788.066;
static unsigned long correlation = 1000;
static char members[4096];              // "0, 1"
static int ranks = 2;

static void host_op (const char *name, double dur)
{
    (void)fprintf (
        out,
        "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", "
        "\"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %.3f, \"dur\": "
        "%.3f,\n    \"args\": {\n      \"External id\": %lu,\"Record "
        "function id\": 0, \"Concrete Inputs\": [\"\", \"[1, 128]\", \"\"], "
        "\"Input type\": [\"float\", \"ScalarList\", \"\"], \"Input Dims\": "
        "[[32, 128, 56, 56], [], []], \"Ev Idx\": %lu\n    }\n  },\n",
        name, now, dur, correlation, correlation);
}

static void launch (void)
{
    correlation++;
    (void)fprintf (
        out,
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
        "\"cudaLaunchKernel\", \"pid\": 2910249, \"tid\": 2910249,\n    "
        "\"ts\": %.3f, \"dur\": 5.250,\n    \"args\": {\n      \"External "
        "id\": %lu, \"cbid\": 211, \"correlation\": %lu\n    }\n  },\n",
        now, correlation, correlation);
}

static void kernel (const char *name, unsigned stream, double dur,
                    const char *more)
{
    (void)fprintf (
        out,
        "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", "
        "\"pid\": 0, \"tid\": %u,\n    \"ts\": %.3f, \"dur\": %.3f,\n    "
        "\"args\": {\n      \"External id\": %lu, \"queued\": 0, \"device\": "
        "0, \"context\": 1, \"stream\": %u, \"correlation\": %lu, "
        "\"registers per thread\": 40, \"shared memory\": 400, \"blocks per "
        "SM\": 4.740741, \"warps per SM\": 75.851852, \"grid\": [512, 1, 1], "
        "\"block\": [512, 1, 1], \"est. achieved occupancy %%\": 75%s\n    "
        "}\n  },\n",
        name, stream, now + 40, dur, correlation, stream, correlation, more);
}

static void flow (char ph)
{
    (void)fprintf (out, "  {\n    \"ph\": \"%c\", \"id\": %lu, \"pid\": 0, "
                   "\"tid\": 7, \"ts\": %.3f,\n    \"cat\": \"ac2g\", "
                   "\"name\": \"ac2g\"\n  },\n", ph, correlation, now);
}

static void all_reduce (void)
{
    char more[sizeof (members) + 512];

    (void)snprintf (more, sizeof (more), ", \"Collective name\": "
                    "\"allreduce\", \"In msg nelems\": 6637568, \"Out msg "
                    "nelems\": 6637568, \"Group size\": %d, \"dtype\": "
                    "\"BFloat16\", \"Process Group Name\": \"0\", "
                    "\"Process Group Description\": \"default_pg\", "
                    "\"Process Group Ranks\": \"[%s]\"", ranks, members);
    kernel ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL("
            "ncclDevKernelArgsStorage<4096ul>)", 40, 900.5, more);
}

static void step (unsigned n)
{
    (void)fprintf (out, "  {\n    \"ph\": \"X\", \"cat\": "
                   "\"user_annotation\", \"name\": \"ProfilerStep#%u\", "
                   "\"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": %.3f, "
                   "\"dur\": %.3f,\n    \"args\": {\n      \"External id\": "
                   "1\n    }\n  },\n", n, now, STEP_US - 100);
}

static void events (long long bytes)
{
    double end = now;

    for (unsigned n = 0; ftello (out) < bytes; n++) {
        if (now >= end) {
            step (n / 1000);
            end = now + STEP_US;
        }
        host_op ("aten::conv2d", 30);
        host_op ("aten::convolution", 20);
        host_op ("aten::cudnn_convolution", 10);
        launch ();
        if (n % 50 == 49)
            all_reduce ();
        else
            kernel ("void at::native::vectorized_elementwise_kernel<4, "
                    "at::native::CUDAFunctor_add<float>, at::detail::Array<"
                    "char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
                    "at::detail::Array<char*, 3>)", 7, 11.744, "");
        flow ('s');
        flow ('f');
        now += 37.125;
    }
}

int main (int argc, char **argv)
{
    long long megabytes = argc == 3 || argc == 5 ? atoll (argv[1]) : 0;
    int rank = argc == 5 ? atoi (argv[3]) : 0;

    ranks = argc == 5 ? atoi (argv[4]) : 2;
    if (megabytes < 1 || ranks < 1 || ranks > 512 ||
        !(out = fopen (argv[2], "w"))) {
        (void)fprintf (stderr, "usage: bench_trace MEGABYTES FILE [RANK "
                       "RANKS]\n");
        return 2;
    }
    for (int i = 0, used = 0; i < ranks; i++)
        used += snprintf (members + used, sizeof (members) - (size_t)used,
                          "%s%d", i ? ", " : "", i);
    (void)fprintf (out, "{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": "
                   "{\"backend\": \"nccl\", \"rank\": %d, \"world_size\": "
                   "%d},\n  \"traceEvents\": [\n", rank, ranks);
    events (megabytes * 1000000);
    (void)fprintf (out, "  {\n    \"name\": \"Record Window End\", \"ph\": "
                   "\"i\", \"s\": \"g\", \"pid\": \"\", \"tid\": \"\", "
                   "\"ts\": %.3f\n  }\n  ],\n  \"displayTimeUnit\": \"ms\",\n"
                   "  \"baseTimeNanoseconds\": 1711964646000000000\n}\n",
                   now);
    return fclose (out) == 0 ? 0 : 1;
}
