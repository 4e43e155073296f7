/* node_agent/discovery/find_limit.c - limit a search */
#include "discovery/find_limit.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CLOCK_EVERY 256         // how many entries are read between two looks
                                // at the clock

void find_limit_begin (struct find_limit *l)
{
    l->began_ns = l->now ();
    l->nread = 0;
    l->fresh = true;            // the root counts as new
    l->spent = false;
}

void find_limit_free (struct find_limit *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->nwaiting; i++)
        free (l->waiting[i].path);
    free (l->waiting);
    free (l->left);
    l->waiting = NULL;
    l->left = NULL;
    l->nwaiting = l->nleft = 0;
}

static bool is_spent (const struct find_limit *l, bool fresh)
{
    unsigned times = fresh ? FIND_NEW_TIMES : 1;

    return l->nread >= l->entries * times ||
           l->now () - l->began_ns >= l->time_ns * times;
}

bool find_limit_entry (struct find_limit *l)
{
    if (l->nread++ % CLOCK_EVERY == 0 ||
        l->nread > l->entries * FIND_NEW_TIMES)
        l->spent = is_spent (l, l->fresh);
    return !l->spent;
}

/* ---- a heap: the first is searched next ---- */

static bool is_before (const struct find_waiting *a,
                       const struct find_waiting *b)
{
    if (a->fresh != b->fresh)
        return a->fresh;
    return a->depth != b->depth ? a->depth > b->depth : a->order < b->order;
}

static void swap (struct find_waiting *a, struct find_waiting *b)
{
    struct find_waiting c = *a;

    *a = *b;
    *b = c;
}

int find_limit_wait (struct find_limit *l, const char *path, dev_t above,
                     unsigned depth, int64_t changed_ns)
{
    size_t i = l->nwaiting;
    struct find_waiting *w = vec_one_more (l->waiting, i, sizeof (*w));

    if (!w)
        return -ENOMEM;
    l->waiting = w;
    w[i] = (struct find_waiting){ .path = strdup (path), .above = above,
                                  .depth = depth,
                                  .fresh = changed_ns >= l->since_ns,
                                  .order = l->nread };
    if (!w[i].path)
        return -ENOMEM;
    for (l->nwaiting++; i > 0 && is_before (&w[i], &w[(i - 1) / 2]);
         i = (i - 1) / 2)
        swap (&w[i], &w[(i - 1) / 2]);
    return 0;
}

static void take_first (struct find_limit *l, struct find_waiting *ret)
{
    struct find_waiting *w = l->waiting;
    size_t n = --l->nwaiting, i = 0, least;

    *ret = w[0];
    w[0] = w[n];
    for (;; i = least) {
        least = i;
        for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++) {
            if (is_before (&w[k], &w[least]))
                least = k;
        }
        if (least == i)
            return;
        swap (&w[i], &w[least]);
    }
}

bool find_limit_next (struct find_limit *l, struct find_waiting *ret)
{
    while (l->nwaiting > 0) {
        take_first (l, ret);
        l->fresh = ret->fresh;
        if (!(l->spent = is_spent (l, ret->fresh)))
            return true;
        find_limit_leave (l, ret->path);
        free (ret->path);
    }
    return false;
}

void find_limit_leave (struct find_limit *l, const char *path)
{
    if (l->nleft++ == 0)
        l->left = strdup (path);
}
