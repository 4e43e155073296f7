/* aggregator/service/build_schedule.c - when a service builds a job */
#include "service/build_schedule.h"

void build_schedule_arrived (struct build_schedule *p, int64_t now_ns)
{
    if (p->first_ns == 0)
        p->first_ns = now_ns;
    p->last_ns = now_ns;
}

void build_schedule_given (struct build_schedule *p, int64_t came_ns)
{
    if (p->first_ns == 0)
        p->first_ns = p->last_ns = came_ns;
    p->quiet = true;
}

int64_t build_schedule_due_ns (const struct build_schedule *p)
{
    int64_t quiet =
        p->quiet ? p->first_ns : p->last_ns + BUILD_SCHEDULE_SETTLE_NS;
    int64_t latest = p->first_ns + BUILD_SCHEDULE_LATEST_NS;
    int64_t due = quiet < latest ? quiet : latest;

    if (p->first_ns == 0)
        return INT64_MAX;
    return due > p->rest_until_ns ? due : p->rest_until_ns;
}

void build_schedule_began (struct build_schedule *p, int64_t now_ns)
{
    p->first_ns = p->last_ns = 0;
    p->quiet = false;
    p->began_ns = now_ns;
}

static int64_t next_retry (const struct build_schedule *p)
{
    int64_t twice = 2 * p->retry_ns;

    return twice == 0 ? BUILD_SCHEDULE_RETRY_NS
           : twice < BUILD_SCHEDULE_RETRY_MAX_NS ? twice
                                                 : BUILD_SCHEDULE_RETRY_MAX_NS;
}

void build_schedule_ended (struct build_schedule *p, bool good, int64_t now_ns)
{
    p->rest_until_ns = now_ns + BUILD_SCHEDULE_REST * (now_ns - p->began_ns);
    p->retry_ns = good ? 0 : next_retry (p);
    if (good)
        return;
    build_schedule_arrived (p, now_ns);
    if (p->rest_until_ns < now_ns + p->retry_ns)
        p->rest_until_ns = now_ns + p->retry_ns;
}
