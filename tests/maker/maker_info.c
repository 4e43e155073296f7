// profiler_info*.json and profiler_metadata.json.

#include "maker.h"

#define FIRST_CNT 2400008590 // of the counter, when the host started
#define NS_PER_CNT 10

static void put_schedule (struct json *j, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    struct schedule s = schedule_of (opt, c->id.rank);
    if (opt->no_schedule) {
        put_word (j, "schedule", "null");
        return;
    }
    open_part (j, "schedule", '{');
    put_int (j, "wait", s.wait);
    put_int (j, "active", s.active);
    put_int (j, "warmup", s.warmup);
    put_int (j, "repeat", opt->repeat);
    put_int (j, "skip_first", s.skip_first);
    close_part (j, '}');
}

static void put_common (struct json *j, const struct capture *c)
{
    open_part (j, "common_config", '{');
    open_part (j, "activities", '[');
    put_text (j, NULL, "ProfilerActivity.CPU");
    put_text (j, NULL, "ProfilerActivity.NPU");
    close_part (j, ']');
    put_schedule (j, c);
    put_word (j, "record_shapes", "true");
    put_word (j, "profile_memory", "false");
    put_word (j, "with_stack", "false");
    put_word (j, "with_flops", "false");
    put_word (j, "with_modules", "false");
    close_part (j, '}');
}

static void put_export_type (struct json *j, const struct options *opt)
{
    if (opt->age < AGE_EXPORT_LIST) {
        put_text (j, "_export_type", opt->form == FORM_DB ? "db" : "text");
        return;
    }
    open_part (j, "_export_type", '[');
    if (opt->form & FORM_TEXT)
        put_text (j, NULL, "text");
    if (opt->form & FORM_DB)
        put_text (j, NULL, "db");
    close_part (j, ']');
}

static void put_empty_list (struct json *j, const char *key)
{
    open_part (j, key, '[');
    close_part (j, ']');
}

static void put_experimental (struct json *j, const struct options *opt)
{
    char level[16];
    snprintf (level, sizeof level, "Level%d", opt->level);
    open_part (j, "experimental_config", '{');
    put_text (j, "_profiler_level", level);
    put_text (j, "_aic_metrics", "ACL_AICORE_PIPE_UTILIZATION");
    put_word (j, "_l2_cache", "false");
    put_word (j, "_msprof_tx", "false");
    if (opt->age >= AGE_NEW_CONFIG)
        put_word (j, "_mstx", "false");
    put_word (j, "_data_simplification", "true");
    put_word (j, "record_op_args", "false");
    put_export_type (j, opt);
    put_word (j, "_op_attr", "false");
    put_word (j, "_gc_detect_threshold", "null");
    if (opt->age >= AGE_NEW_CONFIG) {
        put_empty_list (j, "_host_sys");
        put_empty_list (j, "_mstx_domain_include");
        put_empty_list (j, "_mstx_domain_exclude");
        put_word (j, "_sys_io", "false");
        put_word (j, "_sys_interconnection", "false");
    }
    close_part (j, '}');
}

static void put_clocks (struct json *j, const struct capture *c)
{
    struct clocks at = clocks_of (c);
    open_part (j, "start_info", '{');
    put_word (j, "syscnt_enable", "true");
    put_int (j, "freq", 100);
    put_int (j, "start_cnt",
             FIRST_CNT + (at.start_ns - at.boot_ns) / NS_PER_CNT);
    put_int (j, "start_monotonic", at.start_ns - at.boot_ns);
    close_part (j, '}');
    open_part (j, "end_info", '{');
    put_int (j, "collectionTimeEnd", at.end_ns);
    put_int (j, "MonotonicTimeEnd", at.end_ns - at.boot_ns);
    close_part (j, '}');
}

static void put_rank (struct json *j, const struct capture *c)
{
    char text[16];
    if (c->job->opt->no_rank)
        return;
    snprintf (text, sizeof text, "%d", claimed_rank (c));
    if (c->job->opt->string_rank)
        put_text (j, "rank_id", text);
    else
        put_word (j, "rank_id", text);
}

static void put_mindspore (struct json *j, const struct capture *c)
{
    char level[16];
    snprintf (level, sizeof level, "Level%d", c->job->opt->level);
    open_part (j, "profiler_parameters", '{');
    put_text (j, "profiler_level", level);
    close_part (j, '}');
    open_part (j, "ms_profiler_info", '{');
    put_rank (j, c);
    put_int (j, "device_id", c->device);
    close_part (j, '}');
    put_text (j, "ms_version", "2.6.0");
    put_text (j, "cann_version", "8.1.RC1");
    put_text (j, "jit_level", "O0");
}

static void put_torch (struct json *j, const struct capture *c)
{
    const struct options *opt = c->job->opt;
    open_part (j, "config", '{');
    put_common (j, c);
    put_experimental (j, opt);
    close_part (j, '}');
    put_clocks (j, c);
    if (opt->age >= AGE_NEW_CONFIG) {
        bool newest = opt->age > AGE_NEW_CONFIG;
        put_text (j, "torch_npu_version", newest ? "2.7.1.post2" : "2.7.1");
        put_text (j, "cann_version", newest ? "8.5.0" : "8.3.RC1");
    }
    put_rank (j, c);
}

void write_profiler_info (const struct capture *c, const char *path)
{
    struct json j = {.f = create_file (path), .indent = true};
    open_part (&j, NULL, '{');
    if (c->job->opt->mindspore)
        put_mindspore (&j, c);
    else
        put_torch (&j, c);
    close_part (&j, '}');
    close_file (j.f, path);
}

// info.json.<device> of the msprof program.
void write_device_info (const struct capture *c, int device, const char *path)
{
    char text[2 * MAX_NAME];
    struct json j = {.f = create_file (path)};
    open_part (&j, NULL, '{');
    put_text (&j, "jobInfo", "NA");
    put_text (&j, "version", "1.0");
    if (!c->job->opt->no_host) {
        put_host_name (text, c);
        put_text (&j, "hostname", text);
        put_host_uid (text, c);
        put_text (&j, "hostUid", text);
    }
    snprintf (text, sizeof text, "%d", device);
    put_text (&j, "devices", text);
    snprintf (text, sizeof text, "%d", pid_of (c));
    put_text (&j, "pid", text);
    put_int (&j, "rank_id", c->job->opt->no_rank ? -1 : claimed_rank (c));
    put_text (&j, "pid_name", "python");
    close_part (&j, '}');
    close_file (j.f, path);
}

void put_distributed (struct json *j, const char *key,
                      const struct capture *c)
{
    const struct job *job = c->job;
    open_part (j, key, '{');
    put_int (j, "tensor_model_parallel_size", job->tp_size);
    put_int (j, "pipeline_model_parallel_size", job->pp_size);
    put_int (j, "data_parallel_size", job->dp_size);
    put_int (j, "context_parallel_size", 1);
    put_int (j, "expert_model_parallel_size", 1);
    put_word (j, "sequence_parallel", "false");
    put_int (j, "rank", c->id.rank);
    put_int (j, "world_size", claimed_world (c));
    close_part (j, '}');
}

static void put_environment (struct json *j)
{
    open_part (j, "ENV_VARIABLES", '{');
    put_text (j, "ASCEND_GLOBAL_LOG_LEVEL", "3");
    put_text (j, "HCCL_ALGO", "");
    put_text (j, "PYTORCH_NPU_ALLOC_CONF", "expandable_segments:True");
    put_text (j, "ASCEND_LAUNCH_BLOCKING", "");
    close_part (j, '}');
}

void put_groups (struct json *j, const char *key, const struct capture *c)
{
    const struct job *job = c->job;
    open_part (j, key, '{');
    for (int kind = 0; kind < job->kind_count; kind++) {
        int index = job->group_of[kind][c->id.rank];
        const struct group *g = &job->groups[index];
        if (g->size > job->opt->list_members)
            continue;
        open_part (j, g->name, '{');
        put_text (j, "group_name", g->kind_name);
        put_int (j, "group_rank", job->place_of[kind][c->id.rank]);
        open_part (j, "global_ranks", '[');
        for (int i = 0; i < g->size; i++)
            put_int (j, NULL, g->members[i]);
        close_part (j, ']');
        close_part (j, '}');
    }
    close_part (j, '}');
}

void write_metadata (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    struct json j = {.f = create_file (path), .indent = opt->indent};
    open_part (&j, NULL, '{');
    if (!opt->no_rank && !opt->mindspore)
        put_distributed (&j, "distributed_args", c);
    put_environment (&j);
    if (!opt->no_rank && !opt->no_groups)
        put_groups (&j, "parallel_group_info", c);
    close_part (&j, '}');
    close_file (j.f, path);
}
