// The options that say whose the captures are.

#include "maker_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS 9e9 // since 1970: ns have to fit 64 bits
#define US_PER_SECOND 1e6
#define MAX_PROCESS 8
#define MAX_PID 4000000
#define MAX_DEVICES 64

static int64_t parse_seconds (const char *what, const char *text)
{
    char *end;
    errno = 0;
    double x = strtod (text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(x >= 0) ||
        x > MAX_SECONDS)
        usage ("--%s: '%s' is no number of seconds", what, text);
    return (int64_t)(x * US_PER_SECOND);
}

static void parse_boot (struct options *opt, const char *arg)
{
    int host = ALL_HOSTS;
    if (strchr (arg, ':') != NULL)
        host = parse_owner ("boot", arg, MAX_RANKS - 1, &arg);
    struct rule *r = add_rule ("boot", &opt->boots, host);
    r->value = parse_number ("boot", arg, 0, (int64_t)MAX_SECONDS);
}

// "RANK:N", or the number of a host.
static void parse_rule (const char *what, struct rules *rules, const char *arg,
                        int64_t low, int64_t high)
{
    const char *number;
    int whose = parse_owner (what, arg, MAX_RANKS - 1, &number);
    add_rule (what, rules, whose)->value =
        parse_number (what, number, low, high);
}

static void parse_window (struct options *opt, const char *arg)
{
    char word[WORD_ROOM];
    const char *steps;
    int first;
    int last;
    int rank = parse_owner ("window", arg, MAX_RANKS - 1, &steps);
    if (next_word ("window", steps, word) != NULL)
        usage ("--window: '%s' is a list", steps);
    parse_pair ("window", word, INT_MAX / 2, &first, &last);
    struct rule *r = add_rule ("window", &opt->windows, rank);
    r->value = first;
    r->last = last;
}

static void parse_swap (struct options *opt, const char *arg)
{
    static const char *const parts[] = {"outputs", "info", NULL};
    char word[WORD_ROOM];
    char *colon;
    if (next_word ("swap", arg, word) != NULL ||
        (colon = strchr (word, ':')) == NULL)
        usage ("--swap: '%s' is not A-B:PART", arg);
    *colon = '\0';
    opt->swap.outputs = parse_word ("swap", colon + 1, parts) == 0;
    if (!parse_pair ("swap", word, MAX_RANKS - 1, &opt->swap.a, &opt->swap.b))
        usage ("--swap: '%s' is not A-B:PART", arg);
}

// Ascending ids; the job has all steps from the first to the last one.
static void parse_steps_list (struct options *opt, const char *list)
{
    int64_t last = -1;
    opt->listed = make_room (MAX_STEPS, sizeof *opt->listed);
    while (list != NULL) {
        char word[WORD_ROOM];
        list = next_word ("steps-list", list, word);
        int64_t id = parse_number ("steps-list", word, last + 1, INT_MAX / 2);
        if (last < 0)
            opt->first_step = (int)id;
        if (id - opt->first_step >= MAX_STEPS)
            usage ("--steps-list: more than %d steps", MAX_STEPS);
        opt->listed[id - opt->first_step] = true;
        last = id;
    }
    opt->steps = (int)last - opt->first_step + 1;
}

static const char *parse_name (const char *what, const char *text)
{
    if (text[0] == '\0' || strlen (text) >= MAX_NAME / 2 ||
        strchr (text, '/') != NULL)
        usage ("--%s: '%s' is no name", what, text);
    return text;
}

static bool parse_steps (struct options *opt, int id, const char *arg)
{
    static const char *const edges[] = {"first", "last", "both", NULL};
    switch (id) {
    case O_NO_SCHEDULE:
        opt->no_schedule = true;
        return true;
    case O_WAIT:
        opt->wait = parse_int ("wait", arg, 0, MAX_STEPS);
        return true;
    case O_WARMUP:
        opt->warmup = parse_int ("warmup", arg, 0, MAX_STEPS);
        return true;
    case O_STEPS_LIST:
        parse_steps_list (opt, arg);
        return true;
    case O_WINDOW:
        parse_window (opt, arg);
        return true;
    case O_DROP_STEP:
        parse_rule ("drop-step", &opt->drops, arg, 0, INT_MAX / 2);
        return true;
    case O_INFLATE_EDGE:
        opt->edges = parse_word ("inflate-edge", arg, edges) + EDGE_FIRST;
        return true;
    default:
        return false;
    }
}

static bool parse_host (struct options *opt, int id, const char *arg)
{
    switch (id) {
    case O_BOOT:
        parse_boot (opt, arg);
        return true;
    case O_FIRST_HOST:
        opt->first_host = parse_int ("first-host", arg, 0, MAX_RANKS - 1);
        return true;
    case O_HOST_NAME:
        opt->host_name = parse_name ("host-name", arg);
        return true;
    case O_WORKER:
        opt->worker = parse_name ("worker", arg);
        return true;
    case O_NO_HOST:
        opt->no_host = true;
        return true;
    case O_SKEW_HOST:
        parse_rule ("skew-host", &opt->host_skews, arg, -MAX_SKEW, MAX_SKEW);
        return true;
    default:
        return parse_steps (opt, id, arg);
    }
}

static bool parse_claim (struct options *opt, int id, const char *arg)
{
    int last = MAX_RANKS - 1;
    switch (id) {
    case O_DEVICES:
        opt->devices = parse_int ("devices", arg, 1, MAX_DEVICES);
        return true;
    case O_LOCAL_RANKS:
        opt->local_ranks = true;
        return true;
    case O_CLAIM_RANK:
        parse_rule ("claim-rank", &opt->rank_claims, arg, 0, last);
        return true;
    case O_CLAIM_WORLD:
        parse_rule ("claim-world", &opt->world_claims, arg, 1, MAX_RANKS);
        return true;
    case O_SWAP:
        parse_swap (opt, arg);
        return true;
    default:
        return parse_host (opt, id, arg);
    }
}

// True if it is one of these options.
bool parse_whose (struct options *opt, int id, const char *arg)
{
    static const char *const ids[] = {"group", "root", NULL};
    switch (id) {
    case O_START:
        opt->start_us = parse_seconds ("start", arg);
        return true;
    case O_GAP:
        opt->gap_us = parse_seconds ("gap", arg);
        return true;
    case O_PROCESS:
        opt->process = parse_int ("process", arg, 0, MAX_PROCESS);
        return true;
    case O_PID:
        opt->first_pid = parse_int ("pid", arg, 1, MAX_PID);
        return true;
    case O_LIST_MEMBERS:
        opt->list_members = parse_int ("list-members", arg, 0, MAX_RANKS);
        return true;
    case O_IDS:
        opt->root_ids = parse_word ("ids", arg, ids) == 1;
        return true;
    case O_NO_GROUPS:
        opt->no_groups = true;
        return true;
    case O_NO_METADATA:
        opt->no_metadata = true;
        return true;
    default:
        return parse_claim (opt, id, arg);
    }
}

static void check_ranks (const char *what, const struct rules *rules,
                         int ranks)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (rules->list[i].whose >= ranks)
            usage ("--%s: there is no rank %d", what, rules->list[i].whose);
    }
}

// No capture is older than its host's start.
static void check_boots (const struct options *opt)
{
    int64_t start = opt->start_us >= 0 ? opt->start_us : year_start_us (opt);
    int hosts = (opt->ranks - 1) / opt->ranks_per_host + 1;
    for (int i = 0; i < hosts; i++) {
        if (boot_ns (opt, opt->first_host + i) / 1000 >= start)
            usage ("--start: before host %d was; give --boot",
                   opt->first_host + i);
    }
}

void check_whose (struct options *opt)
{
    check_ranks ("window", &opt->windows, opt->ranks);
    check_ranks ("drop-step", &opt->drops, opt->ranks);
    check_ranks ("claim-rank", &opt->rank_claims, opt->ranks);
    check_ranks ("claim-world", &opt->world_claims, opt->ranks);
    if (opt->swap.a >= opt->ranks || opt->swap.b >= opt->ranks)
        usage ("--swap: there is no such rank");
    check_schedule (opt);
    check_boots (opt);
}
