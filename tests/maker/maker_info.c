// profiler_info*.json and profiler_metadata.json.

#include "maker.h"

#include <inttypes.h>
#include <string.h>

#define INDENT 4
#define MAX_DEPTH 8
#define NS_PER_US 1000
#define CAPTURE_NS 2000000000
#define BOOT_CNT 470002538790308
#define BOOT_NS 4699801002845430
#define CLOCK_SPREAD 1000000u

// A JSON writer with the spacing of Python's json.dump, compact or indented.
struct json {
    FILE *f;
    bool indent;
    int depth;
    bool used[MAX_DEPTH]; // the level has a value already
};

static void new_line (struct json *j)
{
    if (j->indent)
        fprintf (j->f, "\n%*s", j->depth * INDENT, "");
}

// Everything before a value: comma, line, key (NULL in arrays).
static void begin (struct json *j, const char *key)
{
    if (j->used[j->depth])
        fputs (j->indent ? "," : ", ", j->f);
    j->used[j->depth] = true;
    if (j->depth > 0)
        new_line (j);
    if (key != NULL)
        fprintf (j->f, "\"%s\": ", key);
}

static void open_part (struct json *j, const char *key, char bracket)
{
    begin (j, key);
    putc (bracket, j->f);
    j->used[++j->depth] = false;
}

static void close_part (struct json *j, char bracket)
{
    bool any = j->used[j->depth];
    j->depth--;
    if (any)
        new_line (j);
    putc (bracket, j->f);
}

static void put_text (struct json *j, const char *key, const char *text)
{
    begin (j, key);
    fprintf (j->f, "\"%s\"", text);
}

static void put_int (struct json *j, const char *key, int64_t x)
{
    begin (j, key);
    fprintf (j->f, "%" PRId64, x);
}

static void put_word (struct json *j, const char *key, const char *word)
{
    begin (j, key);
    fputs (word, j->f);
}

static void put_schedule (struct json *j, const struct options *opt)
{
    open_part (j, "schedule", '{');
    put_int (j, "wait", 0);
    put_int (j, "active", opt->steps);
    put_int (j, "warmup", 1);
    put_int (j, "repeat", opt->repeat);
    put_int (j, "skip_first", opt->first_step > 0 ? opt->first_step - 1 : 0);
    close_part (j, '}');
}

static void put_common (struct json *j, const struct options *opt)
{
    open_part (j, "common_config", '{');
    open_part (j, "activities", '[');
    put_text (j, NULL, "ProfilerActivity.CPU");
    put_text (j, NULL, "ProfilerActivity.NPU");
    close_part (j, ']');
    put_schedule (j, opt);
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
    int64_t spread = (int64_t)(draw (c->job->opt->seed, (uint64_t)c->id.rank) %
                               CLOCK_SPREAD);
    open_part (j, "start_info", '{');
    put_word (j, "syscnt_enable", "true");
    put_int (j, "freq", 100);
    put_int (j, "start_cnt", BOOT_CNT + spread);
    put_int (j, "start_monotonic", BOOT_NS + spread);
    close_part (j, '}');
    open_part (j, "end_info", '{');
    put_int (j, "collectionTimeEnd", c->base_us * NS_PER_US + CAPTURE_NS);
    put_int (j, "MonotonicTimeEnd", BOOT_NS + spread + CAPTURE_NS);
    close_part (j, '}');
}

static void put_rank (struct json *j, const struct capture *c)
{
    char text[16];
    if (c->job->opt->no_rank)
        return;
    snprintf (text, sizeof text, "%d", c->id.rank);
    if (c->job->opt->string_rank)
        put_text (j, "rank_id", text);
    else
        put_word (j, "rank_id", text);
}

void write_profiler_info (const struct capture *c, const char *path)
{
    const struct options *opt = c->job->opt;
    struct json j = {.f = create_file (path), .indent = true};
    open_part (&j, NULL, '{');
    open_part (&j, "config", '{');
    put_common (&j, opt);
    put_experimental (&j, opt);
    close_part (&j, '}');
    put_clocks (&j, c);
    if (opt->age >= AGE_NEW_CONFIG) {
        bool newest = opt->age > AGE_NEW_CONFIG;
        put_text (&j, "torch_npu_version", newest ? "2.7.1.post2" : "2.7.1");
        put_text (&j, "cann_version", newest ? "8.5.0" : "8.3.RC1");
    }
    put_rank (&j, c);
    close_part (&j, '}');
    close_file (j.f, path);
}

static void put_distributed (struct json *j, const struct capture *c)
{
    const struct job *job = c->job;
    open_part (j, "distributed_args", '{');
    put_int (j, "tensor_model_parallel_size", job->tp_size);
    put_int (j, "pipeline_model_parallel_size", job->pp_size);
    put_int (j, "data_parallel_size", job->dp_size);
    put_int (j, "context_parallel_size", 1);
    put_int (j, "expert_model_parallel_size", 1);
    put_word (j, "sequence_parallel", "false");
    put_int (j, "rank", c->id.rank);
    put_int (j, "world_size", job->opt->ranks);
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

static void put_groups (struct json *j, const struct capture *c)
{
    const struct job *job = c->job;
    open_part (j, "parallel_group_info", '{');
    for (int kind = 0; kind < job->kind_count; kind++) {
        int index = job->group_of[kind][c->id.rank];
        const struct group *g = &job->groups[index];
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
    if (!opt->no_rank)
        put_distributed (&j, c);
    put_environment (&j);
    if (!opt->no_rank)
        put_groups (&j, c);
    close_part (&j, '}');
    close_file (j.f, path);
}
