/* common/model/schema.c - the tables of rows, declared once */
#include "model/schema.h"

#include <stddef.h>

static const struct table tables[TABLE_COUNT] = {
    [TABLE_TIME] = {
        "CommAnalyzerTime", 10, TIME_STEP, {
            { "hccl_op_name", COLUMN_TEXT, NULL },
            { "group_name", COLUMN_TEXT, NULL },
            { "start_timestamp", COLUMN_REAL, "us since 1970" },
            { "elapse_time", COLUMN_REAL, "ms" },
            { "transit_time", COLUMN_REAL, "ms" },
            { "wait_time", COLUMN_REAL, "ms" },
            { "synchronization_time", COLUMN_REAL, "ms" },
            { "idle_time", COLUMN_REAL, "ms" },
            { "step", COLUMN_TEXT, NULL },
            { "type", COLUMN_TEXT, NULL },
        },
    },
    [TABLE_BANDWIDTH] = {
        "CommAnalyzerBandwidth", 12, BW_STEP, {
            { "hccl_op_name", COLUMN_TEXT, NULL },
            { "group_name", COLUMN_TEXT, NULL },
            { "transport_type", COLUMN_TEXT, NULL },
            { "transit_size", COLUMN_REAL, "MB" },
            { "transit_time", COLUMN_REAL, "ms" },
            { "bandwidth", COLUMN_REAL, "GB/s" },
            { "large_packet_ratio", COLUMN_REAL, NULL },
            { "package_size", COLUMN_REAL, "MB" },
            { "count", COLUMN_REAL, NULL },
            { "total_duration", COLUMN_REAL, "ms" },
            { "step", COLUMN_TEXT, NULL },
            { "type", COLUMN_TEXT, NULL },
        },
    },
    [TABLE_MATRIX] = {
        "CommAnalyzerMatrix", 11, MATRIX_STEP, {
            { "hccl_op_name", COLUMN_TEXT, NULL },
            { "group_name", COLUMN_TEXT, NULL },
            { "src_rank", COLUMN_TEXT, NULL },
            { "dst_rank", COLUMN_TEXT, NULL },
            { "transport_type", COLUMN_TEXT, NULL },
            { "transit_size", COLUMN_REAL, "MB" },
            { "transit_time", COLUMN_REAL, "ms" },
            { "bandwidth", COLUMN_REAL, "GB/s" },
            { "step", COLUMN_TEXT, NULL },
            { "type", COLUMN_TEXT, NULL },
            { "op_name", COLUMN_TEXT, NULL },
        },
    },
    [TABLE_STEP] = {
        "StepTraceTime", 11, STEP_STEP, {
            { "deviceId", COLUMN_INT, NULL },
            { "step", COLUMN_TEXT, NULL },
            { "computing", COLUMN_REAL, "us" },
            { "communication_not_overlapped", COLUMN_REAL, "us" },
            { "overlapped", COLUMN_REAL, "us" },
            { "communication", COLUMN_REAL, "us" },
            { "free", COLUMN_REAL, "us" },
            { "stage", COLUMN_REAL, "us" },
            { "bubble", COLUMN_REAL, "us" },
            { "communication_not_overlapped_and_exclude_receive",
              COLUMN_REAL, "us" },
            { "preparing", COLUMN_REAL, "us" },
        },
    },
    [TABLE_STEP_EXTRA] = {
        "StepExtra", 5, EXTRA_STEP, {
            { "deviceId", COLUMN_INT, NULL },
            { "step", COLUMN_TEXT, NULL },
            { "host_start", COLUMN_REAL, "us since 1970" },
            { "host_end", COLUMN_REAL, "us since 1970" },
            { "memory_only", COLUMN_REAL, "us" },
        },
    },
    [TABLE_INFO] = {
        "CaptureInfo", 3, -1, {
            { "kind", COLUMN_TEXT, NULL },
            { "name", COLUMN_TEXT, NULL },
            { "value", COLUMN_TEXT, NULL },
        },
    },
    [TABLE_MEMORY] = {
        "MemoryPeak", 5, -1, {
            { "deviceId", COLUMN_INT, NULL },
            { "component", COLUMN_TEXT, NULL },
            { "kind", COLUMN_TEXT, NULL },
            { "peak", COLUMN_REAL, "MiB" },
            { "peak_timestamp", COLUMN_REAL, "us since 1970" },
        },
    },
    [TABLE_OPERATOR] = {
        "OperatorStatistic", 7, -1, {
            { "deviceId", COLUMN_INT, NULL },
            { "op_type", COLUMN_TEXT, NULL },
            { "core_type", COLUMN_TEXT, NULL },
            { "count", COLUMN_REAL, NULL },
            { "total_time", COLUMN_REAL, "us" },
            { "min_time", COLUMN_REAL, "us" },
            { "max_time", COLUMN_REAL, "us" },
        },
    },
    [TABLE_API] = {
        "ApiStatistic", 7, -1, {
            { "deviceId", COLUMN_INT, NULL },
            { "level", COLUMN_TEXT, NULL },
            { "api_name", COLUMN_TEXT, NULL },
            { "count", COLUMN_REAL, NULL },
            { "total_time", COLUMN_REAL, "us" },
            { "min_time", COLUMN_REAL, "us" },
            { "max_time", COLUMN_REAL, "us" },
        },
    },
    [TABLE_LINK] = {
        "LinkCounter", 7, -1, {
            { "deviceId", COLUMN_INT, NULL },
            { "link", COLUMN_TEXT, NULL },
            { "counter", COLUMN_TEXT, NULL },
            { "unit", COLUMN_TEXT, NULL },
            { "samples", COLUMN_REAL, NULL },
            { "mean", COLUMN_REAL, NULL },
            { "max", COLUMN_REAL, NULL },
        },
    },
    [TABLE_RANGE] = {
        "UserRange", 8, -1, {
            { "kind", COLUMN_TEXT, NULL },
            { "domain", COLUMN_TEXT, NULL },
            { "name", COLUMN_TEXT, NULL },
            { "count", COLUMN_REAL, NULL },
            { "total_time", COLUMN_REAL, "us" },
            { "min_time", COLUMN_REAL, "us" },
            { "max_time", COLUMN_REAL, "us" },
            { "first_start", COLUMN_REAL, "us since 1970" },
        },
    },
    [TABLE_FILE] = {
        "OtherFile", 2, -1, {
            { "path", COLUMN_TEXT, NULL },
            { "bytes", COLUMN_REAL, "bytes" },
        },
    },
    [TABLE_KERNEL] = {
        "KernelDetail", 11, KERNEL_STEP, {
            { "deviceId", COLUMN_INT, NULL },
            { "step", COLUMN_TEXT, NULL },
            { "name", COLUMN_TEXT, NULL },
            { "op_type", COLUMN_TEXT, NULL },
            { "core_type", COLUMN_TEXT, NULL },
            { "input_shapes", COLUMN_TEXT, NULL },
            { "count", COLUMN_REAL, NULL },
            { "total_time", COLUMN_REAL, "us" },
            { "min_time", COLUMN_REAL, "us" },
            { "max_time", COLUMN_REAL, "us" },
            { "aic_metrics", COLUMN_TEXT, NULL },
        },
    },
};

const struct table *schema_table (enum table_id id)
{
    return &tables[id];
}

bool schema_is_text (const struct column *c)
{
    return c->kind == COLUMN_TEXT;
}

const char *schema_affinity (const struct column *c)
{
    static const char *const names[] = { "TEXT", "NUMERIC", "INTEGER" };

    return names[c->kind];
}
