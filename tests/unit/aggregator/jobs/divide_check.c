/* tests/unit/aggregator/jobs/divide_check.c - captures that are divided into
 * jobs */
#include "aggregator/jobs/divide_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct capture captures[MAX];
struct group_list groups[MAX];
struct jobs_capture list[MAX];
size_t n;
struct jobs jobs;

int setup (void **state)
{
    (void)state;
    n = 0;
    memset (&jobs, 0, sizeof (jobs));
    return 0;
}

int teardown (void **state)
{
    (void)state;
    for (size_t i = 0; i < n; i++) {
        free (groups[i].list);
        memset (&groups[i], 0, sizeof (groups[i]));
        capture_fini (&captures[i]);
    }
    jobs_fini (&jobs);
    return 0;
}

struct capture *add (int64_t rank, int64_t pid, int64_t at)
{
    struct capture *c = &captures[n];
    struct evidence *e = &c->evidence;

    assert_true (n < MAX);
    capture_init (c);
    c->rank = rank;
    c->world_size = 4;
    (void)snprintf (c->name, sizeof (c->name), "c%zu", n);
    (void)snprintf (e->host_name, sizeof (e->host_name), "h");
    e->pid = pid;
    e->boot_ns = BOOT;
    e->mono_start_ns = at;
    e->mono_end_ns = at + 2 * S;
    list[n] = (struct jobs_capture){ c, &groups[n], rank, JOBS_NONE };
    n++;
    return c;
}

struct capture *anonymous (struct capture *c)
{
    struct evidence *e = &c->evidence;

    e->host_name[0] = '\0';
    e->pid = e->boot_ns = e->mono_start_ns = e->mono_end_ns = 0;
    return c;
}

struct evidence_span *step (struct capture *c, const char *id)
{
    struct evidence *e = &c->evidence;
    struct evidence_span *s = evidence_span_at (e, id, strlen (id));

    assert_non_null (s);
    assert_int_equal (capture_note_step (c, id, strlen (id)), 0);
    s->start_ns = e->boot_ns + e->mono_start_ns;
    s->end_ns = s->start_ns + S;
    s->host = s->device = true;
    return s;
}

void ops (struct capture *c, const char *id, const char *group, uint64_t seed,
          int64_t clock)
{
    int64_t at = c->evidence.boot_ns + c->evidence.mono_start_ns + clock;

    for (uint64_t i = 0; i < 8; i++) {
        char name[32];

        (void)snprintf (name, sizeof (name), "allReduce_%" PRIu64, i);
        at += (int64_t)(evidence_hash (seed + i, "gap", 3) % 100 + 1) * 1000000;
        assert_int_equal (evidence_note_op (&c->evidence, id, strlen (id),
                                            group, name, strlen (name), at,
                                            1000), 0);
    }
}

void lists (struct capture *c, struct comm_group *g)
{
    struct group_list *l = &groups[c - captures];

    capture_group_hash (g->id, g->name);
    l->list = realloc (l->list, (l->n + 1) * sizeof (*l->list));
    assert_non_null (l->list);
    l->list[l->n++] = g;
}

size_t divide_gap (int64_t gap_ns)
{
    struct err err = { "" };

    jobs_fini (&jobs);
    assert_int_equal (jobs_divide (list, n, gap_ns, &jobs, &err), 0);
    return jobs.n;
}

size_t divide (void)
{
    return divide_gap (0);
}

bool together (size_t a, size_t b)
{
    return jobs.of[a] == jobs.of[b];
}

void why_has (const char *text)
{
    for (size_t i = 0; i < jobs.n; i++) {
        if (strstr (jobs.jobs[i].why, text))
            return;
    }
    fail_msg ("no job is another one because \"%s\"", text);
}
