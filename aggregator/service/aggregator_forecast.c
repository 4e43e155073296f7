/* aggregator/service/aggregator_forecast.c - when the root is full, for
 * rollcall status
 */
#include "service/aggregator_private.h"

#include <math.h>

double aggregator_days_left (double room, double bytes_a_day)
{
    return bytes_a_day > 0 ? (room > 0 ? room : 0) / bytes_a_day
                           : (double)NAN;
}

/* What there is room for above the floor; false: not known. */
static bool disk_room (const struct aggregator *a, double *room)
{
    struct space s;
    uint64_t floor;

    if (space_of (a->opt->root, &s, NULL) < 0)
        return false;
    floor = space_limit_bytes (&a->floor.limit, s.total_bytes,
                               SPACE_FLOOR_DEFAULT);
    *room = s.free_bytes > floor ? (double)(s.free_bytes - floor) : 0;
    return true;
}

static void add_known (struct json *j, const char *key, double value)
{
    if (isfinite (value))
        json_add_real (j, key, round (value * 10) / 10);
}

/* "growth": bytes a day, and the days until the disk, or its quota, is full. */
static void add_rate (const struct aggregator *a, struct json *j,
                      int64_t hours, int64_t now_ns)
{
    double rate = usage_rate (&a->usage, hours, now_ns), room;

    json_add_int (j, "hours", hours);
    if (!isfinite (rate))
        return;                 // less than an hour of data
    json_add_int (j, "bytes_a_day", (int64_t)rate);
    if (disk_room (a, &room))
        add_known (j, "disk_full_in_days", aggregator_days_left (room, rate));
    if (a->opt->quotas.root > 0) {
        room = (double)a->opt->quotas.root - (double)a->usage.total;
        add_known (j, "quota_full_in_days", aggregator_days_left (room, rate));
    }
}

void aggregator_add_forecast (const struct aggregator *a, struct json *status)
{
    int64_t now_ns = clock_wall_ns ();
    struct json *list;

    if (a->opt->job)
        return;
    json_add_int (status, "stored_bytes", (int64_t)a->usage.total);
    if (a->opt->quotas.root > 0)
        json_add_int (status, "quota_root", a->opt->quotas.root);
    list = json_add_array (status, "growth");
    add_rate (a, json_push_object (list), 24, now_ns);
    add_rate (a, json_push_object (list), USAGE_HOURS, now_ns);
    list = json_add_array (status, "waits");
    for (const struct served *s = a->jobs; s; s = s->next) {
        struct json *j = *aggregator_waits (a, s) && !a->floor.below
                             ? json_push_object (list) : NULL;

        json_add_text (j, "job", s->job.id);
        json_add_text (j, "why", s->waits);
        json_add_text (j, "hint", s->waits_hint);
    }
}
