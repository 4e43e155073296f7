/* aggregator/select/capture_select.c - which captures count, and for which rank
 *
 * This folder: which captures count, for which rank, on which host, in which
 * steps.
 */
#include "select/select_private.h"

#include "base/cmp.h"
#include "base/vec.h"
#include "select/select_hosts.h"
#include "select/select_names.h"

#include "model/schema.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_NAMED 8           // in one reason; more are "..."
#define SELECT_RANK_ROWS (UINT64_C (1) << 32)   // rowids of a rank

static int compare_items (const void *pa, const void *pb)
{
    const struct select_item *a = pa, *b = pb;
    uint64_t ra = (uint64_t)a->rank, rb = (uint64_t)b->rank;    // -1 last

    if (ra != rb)
        return ra < rb ? -1 : 1;
    if (a->capture.order_ns != b->capture.order_ns)
        return a->capture.order_ns < b->capture.order_ns ? -1 : 1;
    if (strcmp (a->capture.name, b->capture.name) != 0)
        return strcmp (a->capture.name, b->capture.name);
    return a->source < b->source ? -1 : 1;
}

size_t select_rank_end (const struct select_item *items, size_t n, size_t first)
{
    size_t end = first + 1;

    while (end < n && items[end].rank == items[first].rank)
        end++;
    return end;
}

int select_grade (const struct capture *c)
{
    int tables = 0;

    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++)
        tables += (c->whole_tables >> t & 1) != 0;
    return c->state == CAPTURE_COMPLETE  ? TABLE_PROFILER_COUNT + 2
           : c->state == CAPTURE_PARTIAL ? tables + 1
                                         : 0;
}

/* Of two copies of a capture the more complete one is better, then the newer.
 */
static bool is_better (const struct select_item *a, const struct select_item *b)
{
    int ga = select_grade (&a->capture), gb = select_grade (&b->capture);

    return ga != gb ? ga > gb : a > b;
}

static const char *why_superseded (const struct select_item *by,
                                   const struct select_item *item)
{
    if (!capture_has_rows (&item->capture) && capture_has_rows (&by->capture))
        return "another capture of the same name can be read";
    return by > item ? "a newer capture has the same name"
                     : "an older capture of the same name is more complete";
}

static bool has_step (const struct capture *c, const char *step)
{
    for (uint32_t i = 0; i < c->nsteps; i++) {
        if (strcmp (c->steps[i], step) == 0)
            return true;
    }
    return false;
}

/* Whether two captures of a rank are copies of one.  Directory names contain a
 * date and a process.  A program may give all its traces the same name, in
 * different directories: then their steps are compared.
 */
static bool are_copies (const struct capture *a, const struct capture *b)
{
    if (strcmp (a->name, b->name) != 0)
        return false;
    if (strcmp (a->framework, "kineto") != 0 || a->nsteps == 0 ||
        b->nsteps == 0)
        return true;
    for (uint32_t i = 0; i < a->nsteps; i++) {
        if (has_step (b, a->steps[i]))
            return true;
    }
    return false;
}

/* Set aside copies of a capture (copied, or analysed again). */
static void supersede_copies (struct select_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct capture *c = &items[i].capture;
        const struct select_item *best = &items[i];

        for (size_t k = 0; k < n; k++) {
            if (are_copies (c, &items[k].capture) &&
                items[k].capture.state != CAPTURE_SUPERSEDED &&
                is_better (&items[k], best))
                best = &items[k];
        }
        if (best == &items[i] || c->state == CAPTURE_SUPERSEDED)
            continue;
        capture_reason (c, "%s", why_superseded (best, &items[i]));
        items[i].drop = true;
        c->state = CAPTURE_SUPERSEDED;
    }
}

void select_settle (struct select_item *items, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        end = select_rank_end (items, n, i);
        if (items[i].rank != CAPTURE_NO_RANK &&
            !select_fail_two_hosts (items + i, end - i))
            supersede_copies (items + i, end - i);
    }
}

int64_t select_usual_size (const struct select_item *items, size_t n,
                           bool launcher)
{
    int64_t *sizes = calloc (n + 1, sizeof (*sizes)), usual = 0;
    size_t used = 0, most = 0;

    for (size_t i = 0; sizes && i < n; i++) {
        sizes[used] = launcher ? items[i].launcher_size
                               : items[i].capture.world_size;
        used += sizes[used] > 0;
    }
    if (used > 0)
        qsort (sizes, used, sizeof (*sizes), cmp_int64);
    for (size_t i = 0, end; i < used; i = end) {
        for (end = i + 1; end < used && sizes[end] == sizes[i];)
            end++;
        if (end - i >= most) {
            most = end - i;
            usual = sizes[i];
        }
    }
    free (sizes);
    return usual;
}

/* ---- captures of no rank ---- */

static int compare_places (const struct capture *a, const struct capture *b)
{
    int c = strcmp (a->host_uid, b->host_uid);

    if (c == 0)
        c = strcmp (a->host, b->host);
    return c ? c : (a->device_id > b->device_id) - (a->device_id <
                                                    b->device_id);
}

static int by_place (const void *pa, const void *pb)
{
    const struct select_item *const *a = pa, *const *b = pb;

    return compare_places (&(*a)->capture, &(*b)->capture);
}

static bool has_place (const struct capture *c)
{
    return strcmp (c->framework, "msprof") == 0 &&
           c->device_id != CAPTURE_NO_DEVICE;
}

static size_t count_places (struct select_item *const *places, size_t n)
{
    size_t count = n > 0;

    for (size_t i = 1; i < n; i++)
        count += compare_places (&places[i - 1]->capture,
                                 &places[i]->capture) != 0;
    return count;
}

/* The msprof program does not know ranks.  If no capture has a rank, they are
 * numbered by ascending host and device, as its own tools do, provided that
 * there are as many as the world has.  Captures of one device follow each other
 * in time and have one rank.
 */
static void number_places (struct select_item *items, size_t n)
{
    struct select_item **places = calloc (n + 1, sizeof (struct select_item *));
    int64_t world = select_usual_size (items, n, false), rank = -1;
    size_t used = 0;

    world = world > 0 ? world : select_usual_size (items, n, true);
    for (size_t i = 0; places && i < n; i++) {
        if (items[i].capture.rank != CAPTURE_NO_RANK)
            used = SIZE_MAX;            // some capture has a rank
        if (used == SIZE_MAX)
            break;
        if (has_place (&items[i].capture))
            places[used++] = &items[i];
    }
    if (used == SIZE_MAX)
        used = 0;
    if (used > 0)
        qsort (places, used, sizeof (struct select_item *), by_place);
    if (world > 0 && count_places (places, used) != (size_t)world)
        used = 0;               // which of them are present?
    for (size_t i = 0; i < used; i++) {
        struct capture *c = &places[i]->capture;

        if (i == 0 || compare_places (&places[i - 1]->capture, c) != 0)
            rank++;
        if (rank >= capture_world_max)
            break;
        c->rank = rank;
        places[i]->rank_by = "no capture has a rank: this one is assumed from "
                             "the order of hosts and devices";
        capture_reason (c, "%s", places[i]->rank_by);
    }
    free (places);
}

void select_take (struct select_item *item, struct capture *c)
{
    if (item->rank_by && c->rank == CAPTURE_NO_RANK)
        capture_reason (c, "%s", item->rank_by);
    if (c->rank == CAPTURE_NO_RANK && item->rank != CAPTURE_NO_RANK) {
        c->rank = item->rank;           // as select_plan decided
        if (c->world_size == 0 && c->evidence.world_at_least <= 1)
            c->world_size = item->capture.world_size;
    }
    capture_fini (&item->capture);
    item->capture = *c;
    select_tell (item);
    if (item->rank == CAPTURE_NO_RANK && capture_has_rows (&item->capture)) {
        item->capture.state = CAPTURE_UNEXPECTED;
        capture_reason (&item->capture, "it has no rank, and is not the only "
                        "capture: set RANK in the job's environment, or "
                        "analyse it alone");
    }
}

void select_plan (struct select_item *items, size_t n)
{
    select_name_ranks (items, n);
    if (n > 1)
        number_places (items, n);
    for (size_t i = 0; i < n; i++) {
        items[i].rank = items[i].capture.rank;
        if (items[i].rank != CAPTURE_NO_RANK)
            continue;
        if (n > 1)
            continue;           // a program that is not distributed
        items[i].rank = items[i].capture.rank = 0;
        items[i].capture.world_size = 1;
    }
    select_sort (items, n);
}

_Static_assert (CAPTURE_WORLD_LIMIT < SELECT_IDS, "ids tell ranks apart");

/* Captures without a rank count as the only ones of ranks above all others.  What
 * is stored may have higher ranks than capture_world_max.
 */
static int64_t above_all_ranks (const struct select_item *items, size_t n)
{
    int64_t end = capture_world_max;

    for (size_t i = 0; i < n; i++)
        end = items[i].rank >= end ? items[i].rank + 1 : end;
    return end <= CAPTURE_WORLD_DEFAULT ? CAPTURE_WORLD_DEFAULT
                                        : CAPTURE_WORLD_LIMIT;
}

static void give_id (struct select_item *item, size_t k, size_t n,
                     int64_t above)
{
    bool none = item->rank == CAPTURE_NO_RANK;
    int64_t rank = none ? above + (int64_t)k : item->rank;

    item->id = (int64_t)k * SELECT_IDS + (none ? SELECT_IDS : item->rank + 1);
    item->rows_max = SELECT_RANK_ROWS / (none ? 1 : n);
    item->first_row = (rank + 1) * (int64_t)SELECT_RANK_ROWS +
                      (none ? 0 : (int64_t)(k * item->rows_max));
}

void select_sort (struct select_item *items, size_t n)
{
    const int64_t above = above_all_ranks (items, n);

    if (n > 0)
        qsort (items, n, sizeof (*items), compare_items);
    for (size_t i = 0, end; i < n; i = end) {
        end = select_rank_end (items, n, i);
        for (size_t k = i; k < end; k++)
            give_id (&items[k], k - i, end - i, above);
    }
}

size_t select_place (const struct select_item *items, size_t n, int64_t id)
{
    uint64_t rank = (uint64_t)(id % SELECT_IDS - 1);    // none: the largest
    size_t k = (size_t)(id / SELECT_IDS), low = 0, high = n;

    if (rank == UINT64_MAX)
        k--;
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if ((uint64_t)items[mid].rank < rank)
            low = mid + 1;
        else
            high = mid;
    }
    return k < n - low && items[low + k].id == id ? low + k : n;
}

void select_free (struct select_item *items, size_t n)
{
    for (size_t i = 0; items && i < n; i++) {
        capture_fini (&items[i].capture);
        free (items[i].groups.list);
        free (items[i].told);
    }
}

static int add_conflict (struct select_conflict **list, size_t *n,
                         const struct select_item *item, const char *step)
{
    struct select_conflict *p = vec_add (list, n, sizeof (*p));

    if (!p)
        return -ENOMEM;
    // doubtful rows never replace others
    *p = (struct select_conflict){ item->id, item->rank, step,
                                   item->doubt
                                       ? 0 : item->capture.whole_tables };
    return 0;
}

bool select_counts (const struct select_item *item)
{
    return !item->skip && !item->drop && capture_has_rows (&item->capture);
}

/* Append "step 10", "steps 10, 11, ...", for a reason. */
static void list_step (char *out, size_t max, size_t n, const char *step)
{
    size_t used = strlen (out);

    if (!*step)
        step = "(nameless)";
    if (n < STEPS_NAMED)
        (void)snprintf (out + used, max - used, "%s%s", n ? ", " : "", step);
    else if (n == STEPS_NAMED)
        (void)snprintf (out + used, max - used, ", ...");
}

/* ", but for ...": the tables that only the older capture has whole. */
static void list_tables (char *out, size_t max, uint64_t tables)
{
    size_t used = 0;

    out[0] = '\0';
    for (unsigned t = 0; t < TABLE_PROFILER_COUNT; t++) {
        if (tables >> t & 1)
            used += (size_t)snprintf (out + used, max - used, "%s%s",
                                      used ? ", " : ", but for ",
                                      schema_table (t)->name);
    }
}

/* Whether one began after the other had ended: then nameless steps of both are
 * not the same.
 */
static bool are_apart (const struct capture *a, const struct capture *b)
{
    return a->started_ns > 0 && b->started_ns > 0 &&
           ((a->ended_ns > 0 && a->ended_ns <= b->started_ns) ||
            (b->ended_ns > 0 && b->ended_ns <= a->started_ns));
}

/* Find the steps of 'old' that newer[which] has and no capture before it. */
static int find_conflicts (struct select_item *old, struct select_item *newer,
                           size_t which, struct select_conflict **list,
                           size_t *n)
{
    struct capture *a = &old->capture, *b = &newer[which].capture;
    char steps[STEPS_NAMED * 32] = "", tables[TABLE_PROFILER_COUNT * 32];
    size_t found = 0;

    for (uint32_t s = 0; s < a->nsteps; s++) {
        bool taken = !has_step (b, a->steps[s]) ||
                     (!*a->steps[s] && are_apart (a, b));

        for (size_t i = 0; i < which && !taken; i++)
            taken = select_counts (&newer[i]) &&
                    has_step (&newer[i].capture, a->steps[s]);
        if (taken)
            continue;
        if (add_conflict (list, n, old, a->steps[s]) < 0 ||
            add_conflict (list, n, &newer[which], a->steps[s]) < 0)
            return -ENOMEM;
        list_step (steps, sizeof (steps), found++, a->steps[s]);
    }
    if (found == 0)
        return 0;
    list_tables (tables, sizeof (tables), a->whole_tables & ~b->whole_tables);
    capture_reason (a, "step%s %s: taken from the newer capture %s%s",
                    found > 1 ? "s" : "", steps, b->name, tables);
    capture_reason (b, "step%s %s: the older capture %s has %s too",
                    found > 1 ? "s" : "", steps, a->name,
                    found > 1 ? "them" : "it");
    return 0;
}

int select_conflicts (struct select_item *items, size_t n,
                      struct select_conflict **ret, size_t *nret)
{
    struct select_conflict *list = NULL;
    size_t used = 0;

    for (size_t i = 0, end; i < n; i = end) {
        end = select_rank_end (items, n, i);
        for (size_t k = i, m; k < end; k++) {
            if (items[k].drop && !items[k].skip &&
                add_conflict (&list, &used, &items[k], NULL) < 0) {
                free (list);
                return -ENOMEM;
            }
            for (m = k + 1; m < end; m++) {
                if (!select_counts (&items[k]) ||
                    !select_counts (&items[m]) ||
                    find_conflicts (&items[k], &items[k + 1], m - k - 1,
                                    &list, &used) == 0)
                    continue;
                free (list);
                return -ENOMEM;
            }
        }
    }
    *ret = list;
    *nret = used;
    return 0;
}
