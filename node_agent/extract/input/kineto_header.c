/* node_agent/extract/input/kineto_header.c - read the header of a trace of
 * torch.profiler
 *
 * Its members are before or after the events, in any order.
 */
#include "extract/input/kineto_header.h"

#include "base/cmp.h"
#include "base/units.h"
#include "json/json.h"

#include <stdio.h>
#include <stdlib.h>

#define INFO_MAX (2u << 20)     // bytes of distributedInfo: 250,000 ranks

void kineto_header_init (struct kineto_header *h)
{
    *h = (struct kineto_header){ .rank = -1, .world_size = -1,
                                 .pg_count = -1, .schema = -1 };
}

void kineto_header_fini (struct kineto_header *h)
{
    for (uint32_t i = 0; i < h->ngroups; i++)
        free (h->groups[i].members);
    free (h->groups);
    h->groups = NULL;
    h->ngroups = 0;
}

static void copy_text (char *out, size_t max, const struct json *j)
{
    const char *text = json_text (j, "");

    (void)trace_plain ((struct span){ text, strlen (text) }, out, max);
}

/* Read a number, which may be in quotes. -1: it is none, or out of bounds. */
static int64_t whole (const struct json *j, int64_t max)
{
    const char *text = json_text (j, NULL);
    int64_t v;

    if (text)
        return units_int (text, 0, max, &v) == 0 ? v : -1;
    return json_int (j, &v) && v >= 0 && v <= max ? v : -1;
}

int32_t *kineto_ranks (struct span text, uint32_t *n)
{
    const char *p = trace_space (text.s), *end = text.s + text.n;
    int32_t *ranks;
    size_t max = 1, used = 0;

    for (size_t i = 0; i < text.n; i++)
        max += text.s[i] == ',';
    if (p >= end || *p++ != '[' || max > (size_t)capture_world_max ||
        !(ranks = malloc (max * sizeof (*ranks))))
        return NULL;
    while (p < end && *p != ']') {
        int64_t v = 0;
        const char *digits = p = trace_space (p);

        for (; p < end && (unsigned)(*p - '0') <= 9 && v < capture_world_max;
             p++)
            v = 10 * v + (*p - '0');
        if (p == digits || v >= capture_world_max || used == max)
            break;
        ranks[used++] = (int32_t)v;
        p = trace_space (p);
        if (p < end && *p == ',')
            p++;
    }
    if (p >= end || *p != ']' || used == 0) {
        free (ranks);
        return NULL;
    }
    qsort (ranks, used, sizeof (*ranks), cmp_int32);
    *n = (uint32_t)used;
    return ranks;
}

/* Read the ranks of a group: a list, which may be in quotes. */
static int32_t *members_of (const struct json *list, uint32_t *n)
{
    const char *text = json_text (list, NULL);
    size_t count = json_count (list), used = 0;
    int32_t *ranks;

    if (text)
        return kineto_ranks ((struct span){ text, strlen (text) }, n);
    if (!json_is_array (list) || count == 0 || count > (size_t)capture_world_max ||
        !(ranks = malloc (count * sizeof (*ranks))))
        return NULL;
    for (const struct json *j = json_first (list); j; j = json_next (j)) {
        int64_t v = whole (j, capture_world_max - 1);

        if (v < 0) {            // "...": the list is truncated
            free (ranks);
            return NULL;
        }
        ranks[used++] = (int32_t)v;
    }
    qsort (ranks, used, sizeof (*ranks), cmp_int32);
    *n = (uint32_t)used;
    return ranks;
}

static void take_groups (struct kineto_header *h, const struct json *config)
{
    size_t n = json_is_array (config) ? json_count (config) : 0;

    if (n > CAPTURE_GROUPS_MAX) {
        (void)snprintf (h->why, sizeof (h->why), "pg_config has %zu groups, "
                        "of which %d are read", n, CAPTURE_GROUPS_MAX);
        n = CAPTURE_GROUPS_MAX;
    }
    if (n == 0 || h->groups)
        return;
    if (!(h->groups = calloc (n, sizeof (*h->groups)))) {
        h->no_memory = true;
        return;
    }
    for (const struct json *j = json_first (config); j && h->ngroups < n;
         j = json_next (j)) {
        struct kineto_group *g = &h->groups[h->ngroups++];

        copy_text (g->name, sizeof (g->name), json_get (j, "pg_name"));
        copy_text (g->desc, sizeof (g->desc), json_get (j, "pg_desc"));
        g->size = whole (json_get (j, "pg_size"), capture_world_max);
        g->first = g->stride = -1;
        g->members = members_of (json_get (j, "ranks"), &g->nmembers);
        if (g->size < 0 && g->members)
            g->size = g->nmembers;
    }
}

static void take_distributed (struct kineto_header *h, struct span value)
{
    struct err err = { "" };
    struct json *j;

    h->seen = true;
    if (value.n > INFO_MAX) {
        (void)snprintf (h->why, sizeof (h->why), "distributedInfo is longer "
                        "than %u bytes", INFO_MAX);
        return;
    }
    if (!(j = json_parse (value.s, value.n, &err))) {
        (void)snprintf (h->why, sizeof (h->why), "distributedInfo: %.120s",
                        err.text);
        return;
    }
    copy_text (h->backend, sizeof (h->backend), json_get (j, "backend"));
    copy_text (h->nccl, sizeof (h->nccl), json_get (j, "nccl_version"));
    h->rank = whole (json_get (j, "rank"), capture_world_max - 1);
    h->world_size = whole (json_get (j, "world_size"), capture_world_max);
    h->pg_count = whole (json_get (j, "pg_count"), INT32_MAX);
    take_groups (h, json_get (j, "pg_config"));
    json_free (j);
}

static void take_devices (struct kineto_header *h, struct span value)
{
    struct json *j;

    if (value.n > INFO_MAX || !(j = json_parse (value.s, value.n, NULL)))
        return;                 // the name is optional
    h->devices = json_first (j) != NULL;
    copy_text (h->device, sizeof (h->device),
               json_get (json_first (j), "name"));
    json_free (j);
}

void kineto_header_take (struct kineto_header *h, struct span key,
                         struct span value)
{
    int64_t v;

    if (span_is (key, "distributedInfo") && !h->seen)
        take_distributed (h, value);
    else if (span_is (key, "deviceProperties"))
        take_devices (h, value);
    else if (span_is (key, "trace_id"))
        (void)trace_plain (value, h->trace_id, sizeof (h->trace_id));
    else if (span_is (key, "host_name"))
        (void)trace_plain (value, h->host, sizeof (h->host));
    else if (span_is (key, "schemaVersion") && trace_int (value, &v))
        h->schema = v;
    else if (span_is (key, "baseTimeNanoseconds") && trace_int (value, &v) &&
             v >= 0 && v < INT64_MAX / 4)
        h->base_ns = v;
}
