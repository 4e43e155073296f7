/* tests/unit/aggregator/select/select_check.c - a job of some captures */
#include "aggregator/select/select_check.h"

#include <stdio.h>
#include <string.h>

void job_add (struct job *j, int64_t rank, const char *name, const char *host,
              int64_t order, enum capture_state s)
{
    struct select_item *i = &j->items[j->n];
    struct capture *c = &i->capture;

    *i = (struct select_item){ .source = j->n++,
                              .skip = s != CAPTURE_COMPLETE };
    capture_init (c);
    c->rank = rank;
    c->order_ns = order;
    c->state = s;
    (void)snprintf (c->name, sizeof (c->name), "%s", name);
    (void)snprintf (c->host, sizeof (c->host), "%s", host);
}

void job_fini (struct job *j)
{
    for (size_t i = 0; i < j->n; i++)
        capture_fini (&j->items[i].capture);
}

void note_steps (struct capture *c, const char *a, const char *b)
{
    assert_int_equal (capture_note_step (c, a, strlen (a)), 0);
    assert_int_equal (capture_note_step (c, b, strlen (b)), 0);
}

void take_no_rank (struct select_item *item)
{
    struct capture c;

    assert_int_equal (item->rank, CAPTURE_NO_RANK);
    assert_false (item->skip);
    capture_init (&c);
    c.state = CAPTURE_COMPLETE;
    select_take (item, &c);
    assert_int_equal (item->capture.state, CAPTURE_UNEXPECTED);
    assert_non_null (strstr (item->capture.reason, "it has no rank"));
}
