/* node_agent/extract/kineto/kineto_kinds.c - classify events by category and
 * name
 */
#include "extract/kineto/kineto_kinds.h"

static bool starts_any (struct span name, const char *const *starts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (span_starts (name, starts[i]))
            return true;
    }
    return false;
}

#define STARTS_ANY(name, list) \
    starts_any (name, list, sizeof (list) / sizeof (list[0]))

/* Whether a name, which may be empty, contains a word. */
static bool kineto_kinds_has (struct span name, const char *word)
{
    return name.n > 0 && memmem (name.s, name.n, word, strlen (word)) != NULL;
}

/* ---- the device ---- */

/* Names with capitals are from 2021. */
bool kineto_is_gpu (struct span cat)
{
    return span_is (cat, "kernel") || span_starts (cat, "gpu_mem") ||
           span_is (cat, "cuda_sync") || span_is (cat, "Kernel") ||
           span_is (cat, "Memcpy") || span_is (cat, "Memset") ||
           span_starts (cat, "mtia_ccp_events");
}

static bool is_communication (struct span name)
{
    static const char *const starts[] = { "nccl", "hccl", "rccl", "hcom_" };

    return STARTS_ANY (name, starts) || kineto_kinds_has (name, "ncclKernel") ||
           kineto_kinds_has (name, "ncclDevKernel");
}

/* Whether it waits for another stream, or marks a point for others to wait for:
 * that is no work.
 */
static bool is_sync (struct span cat, struct span name)
{
    return span_is (cat, "cuda_sync") || span_ends (name, " Sync") ||
           span_is (name, "Stream Wait Event") ||
           (span_starts (cat, "mtia_") &&
            (span_is (name, "event_wait") || span_is (name, "event_record")));
}

enum gpu_kind kineto_gpu_kind (struct span cat, struct span name)
{
    static const char *const memory[] = { "Memcpy", "Memset", "dma" };

    if (is_sync (cat, name))
        return GPU_SYNC;
    if (is_communication (name))
        return GPU_COMMUNICATION;
    if (span_starts (cat, "gpu_mem") || span_starts (cat, "Mem") ||
        STARTS_ANY (name, memory))
        return GPU_MEMORY;
    return GPU_COMPUTING;
}

/* ---- the host ---- */

bool kineto_is_call (struct span cat)
{
    return span_ends (cat, "_runtime") || span_ends (cat, "_driver") ||
           span_is (cat, "Runtime");
}

/* The words that CUDA, HIP, Level Zero and MTIA use in the names of such calls
 * only: "cudaLaunchKernel", "hipExtModuleLaunchKernel", "cuMemcpyHtoDAsync_v2",
 * "urEnqueueKernelLaunch", "runFunction - ...".
 */
bool kineto_starts_work (struct span name)
{
    static const char *const words[] = {
        "Launch", "Memcpy", "Memset", "enqueueCommand mem", "runFunction",
        "urEnqueue", "piEnqueue", "AppendMemory",
    };

    if (kineto_kinds_has (name, "LaunchHostFunc") ||
        kineto_kinds_has (name, "MemcpyAttribute"))
        return false;
    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++) {
        if (kineto_kinds_has (name, words[i]))
            return true;
    }
    return false;
}

enum comm_range kineto_comm_range (struct span name)
{
    static const struct {
        const char *start;
        enum comm_range range;
    } ranges[] = {
        { "record_param_comms", RANGE_RECORD }, { "c10d::", RANGE_CALL },
        { "nccl:", RANGE_NCCL }, { "gloo:", RANGE_GLOO },
        { "hccl:", RANGE_HCCL }, { "mpi:", RANGE_MPI }, { "ucc:", RANGE_UCC },
    };

    for (size_t i = 0; i < sizeof (ranges) / sizeof (ranges[0]); i++) {
        if (name.n > 0 && name.s[0] == ranges[i].start[0] &&
            span_starts (name, ranges[i].start) &&
            (i > 0 || span_is (name, ranges[i].start)))
            return ranges[i].range;
    }
    return RANGE_NONE;
}

const char *kineto_backend (enum comm_range r)
{
    static const char *const names[] = {
        [RANGE_NONE] = "nccl", [RANGE_RECORD] = "nccl", [RANGE_CALL] = "c10d",
        [RANGE_NCCL] = "nccl", [RANGE_GLOO] = "gloo", [RANGE_HCCL] = "hccl",
        [RANGE_MPI] = "mpi", [RANGE_UCC] = "ucc",
    };

    return names[r];
}
