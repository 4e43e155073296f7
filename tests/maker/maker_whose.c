// Whose a capture is: its host and when that was started, its process, when
// it was collected, the names of its groups, and what it claims to be.

#include "maker.h"

#include <inttypes.h>
#include <string.h>

#define US_PER_SECOND INT64_C (1000000)
#define NS_PER_US 1000
#define NS_PER_TICK 20
#define NS_PER_SECOND INT64_C (1000000000)
#define SECONDS_PER_DAY 86400

#define HOST_STREAM 0x405717u // hosts are the same, whatever job they have
#define BOOT_DAYS_MIN 10
#define BOOT_DAYS_SPAN 30
#define CLOCK_STREAM 0xc10cu
#define LEAD_MIN 5000000 // ns from start_monotonic to the first step
#define LEAD_SPAN 25000000
#define LAG_MIN 1000000 // ns from the last step to collectionTimeEnd
#define LAG_SPAN 4000000

#define PID_STEP 7

#define ID_STREAM 0x1d5u
#define ID_SPAN 3600000000u // us: groups were made within an hour
#define PORT 60000
#define HOSTS_PER_NET 250

// What a random number of a host is for.
enum host_purpose { H_DAYS, H_FRACTION, H_UID, H_COUNT };

const struct rule *find_rule (const struct rules *rules, int whose)
{
    const struct rule *found = NULL;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *r = &rules->list[i];
        if (r->whose == whose || r->whose == ALL_HOSTS)
            found = r; // the last one counts
    }
    return found;
}

// Late autumn of the age's year.
int64_t year_start_us (const struct options *opt)
{
    static const int64_t seconds[] = {1700820000, 1732442400, 1763978400,
                                      1795514400};
    return seconds[opt->age - FIRST_AGE] * US_PER_SECOND;
}

static uint64_t host_luck (int host, enum host_purpose purpose)
{
    return draw (HOST_STREAM, (uint64_t)host * H_COUNT + purpose);
}

// When the host was started, by a clock that is right.
int64_t boot_ns (const struct options *opt, int host)
{
    const struct rule *r = find_rule (&opt->boots, host);
    int64_t days =
        BOOT_DAYS_MIN + (int64_t)(host_luck (host, H_DAYS) % BOOT_DAYS_SPAN);
    int64_t seconds =
        year_start_us (opt) / US_PER_SECOND - days * SECONDS_PER_DAY;
    if (r != NULL)
        seconds = r->value;
    return seconds * NS_PER_SECOND +
           (int64_t)(host_luck (host, H_FRACTION) % (uint64_t)NS_PER_SECOND);
}

// From a little before the window's first step to a little behind its last
// one.
struct clocks clocks_of (const struct capture *c)
{
    uint64_t key = draw (c->job->opt->seed ^ CLOCK_STREAM,
                         (uint64_t)c->id.rank);
    uint64_t repeat = (uint64_t)c->id.repeat;
    int64_t base = c->base_us * NS_PER_US;
    int64_t lead = LEAD_MIN + (int64_t)(draw (key, 2 * repeat) % LEAD_SPAN);
    int64_t lag = LAG_MIN + (int64_t)(draw (key, 2 * repeat + 1) % LAG_SPAN);
    return (struct clocks){
        .boot_ns = boot_ns (c->job->opt, host_of (c)) + c->skew_us * NS_PER_US,
        .start_ns = base + c->first_tick * NS_PER_TICK - lead,
        .end_ns = base + c->last_tick * NS_PER_TICK + lag};
}

int host_of (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    int host = c->id.rank / opt->ranks_per_host;
    if (c->id.other_host) // one the job does not have
        host = (opt->ranks - 1) / opt->ranks_per_host + 1;
    return opt->first_host + host;
}

// No two ranks nor processes of a job have the same.
int pid_of (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    uint64_t luck = draw (opt->seed, (uint64_t)c->id.rank);
    return opt->first_pid + c->id.rank * PID_STEP + (int)(luck % PID_STEP) +
           opt->process * opt->ranks * PID_STEP;
}

// The text with the number for the first #.
static void fill_in (char *out, const char *text, int number)
{
    const char *mark = strchr (text, '#');
    if (mark == NULL)
        snprintf (out, MAX_NAME, "%s", text);
    else
        snprintf (out, MAX_NAME, "%.*s%d%s", (int)(mark - text), text, number,
                  mark + 1);
}

void put_host_name (char *text, const struct capture *c)
{
    fill_in (text, c->job->opt->host_name, host_of (c));
}

void put_worker (char *text, const struct capture *c)
{
    if (c->job->opt->worker != NULL)
        fill_in (text, c->job->opt->worker, c->id.rank);
    else
        put_host_name (text, c);
}

void put_host_uid (char *text, const struct capture *c)
{
    snprintf (text, MAX_NAME, "%" PRIu64, host_luck (host_of (c), H_UID) >> 1);
}

// The rank that the profiler was told.
int claimed_rank (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    const struct rule *r = find_rule (&opt->rank_claims, c->id.rank);
    if (r != NULL)
        return (int)r->value;
    return opt->local_ranks ? c->id.rank % opt->ranks_per_host : c->id.rank;
}

int claimed_world (const struct capture *c)
{
    const struct options *opt = c->job->opt;
    const struct rule *r = find_rule (&opt->world_claims, c->id.rank);
    return r != NULL ? (int)r->value : opt->ranks;
}

// The address of the first member's host and when the group was made, or a
// number that the groups of all jobs begin with.
void name_group (const struct options *opt, struct group *g, int index)
{
    int host = opt->first_host + g->members[0] / opt->ranks_per_host;
    uint64_t key = draw (mix (opt->seed) ^ ID_STREAM, (uint64_t)opt->process);
    int64_t made = year_start_us (opt) -
                   (int64_t)(draw (key, (uint64_t)index) % ID_SPAN);
    if (opt->mindspore && index == 0)
        g->kind_name = "hccl_world_group";
    if (opt->root_ids)
        snprintf (g->name, sizeof g->name,
                  "10.1.%d.%d%%eth0_%d_%d_%" PRId64, host / HOSTS_PER_NET,
                  host % HOSTS_PER_NET + 1, PORT, index, made);
    else if (opt->mindspore && index == 0)
        snprintf (g->name, sizeof g->name, "%s", g->kind_name);
    else
        snprintf (g->name, sizeof g->name, "group_name_%d", index);
}
