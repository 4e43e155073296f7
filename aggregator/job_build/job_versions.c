/* aggregator/job_build/job_versions.c - choose the versions of a job's captures,
 * and their raw files
 */
#include "job_build/job_build_private.h"

#include "model/job_mark.h"
#include "select/select_hosts.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_names (const struct shipment_source *a,
                          const struct shipment_source *b)
{
    int order = strcmp (a->capture, b->capture);

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return order != 0 ? order : strcmp (a->dir, b->dir);
}

static int compare_versions (const void *pa, const void *pb)
{
    const struct shipment_source *a = *(struct shipment_source *const *)pa;
    const struct shipment_source *b = *(struct shipment_source *const *)pb;
    int order = compare_names (a, b);

    return order != 0 ? order : a < b ? -1 : a > b;     // by arrival
}

/* Two hosts may claim one rank and use one name: these are not versions of one
 * capture.  A host is known by its name, which outlives a reboot.  Captures
 * with the same start are the same one, even if its directory or spool moved to
 * another host.
 */
static bool is_of_another_host (const struct select_item *a,
                                const struct select_item *b)
{
    int64_t began = a->capture.started_ns;

    return select_grade (&a->capture) > 0 && select_other_host (a, b) &&
           (began == 0 || began != b->capture.started_ns);
}

/* Read an older version only if it is more complete than the newest: the
 * capture may have been sealed again while somebody was removing it, or the
 * newest version was damaged here.
 */
static void choose_version (struct job_build *b,
                            const struct shipment_source *const *versions,
                            size_t n)
{
    const struct select_item *last;
    size_t newest = n - 1;

    for (size_t i = 0; i < n; i++)
        newest = versions[i]->superseded ? newest : i;
    last = &b->items[versions[newest] - b->sources];
    for (size_t i = 0; i < n; i++) {
        struct select_item *item = &b->items[versions[i] - b->sources];

        if (i == newest ||
            select_grade (&item->capture) > select_grade (&last->capture) ||
            is_of_another_host (item, last))
            continue;
        b->left += select_grade (&item->capture) > 0;
        item->skip = true;
        item->capture.state = CAPTURE_SUPERSEDED;
        capture_reason (&item->capture, "it was delivered again with other "
                        "content");
    }
}

int job_build_choose_versions (struct job_build *b, struct err *err)
{
    const struct shipment_source **by = calloc (b->n + 1, sizeof (*by));

    if (!by)
        return err_set (err, ENOMEM, "no memory to build");
    for (size_t i = 0; i < b->n; i++)
        by[i] = &b->sources[i];
    if (b->n > 0)
        qsort (by, b->n, sizeof (*by), compare_versions);
    for (size_t i = 0, end; i < b->n; i = end) {
        for (end = i + 1;
             end < b->n && compare_names (by[end], by[i]) == 0;)
            end++;
        choose_version (b, by + i, end - i);
    }
    free (by);
    return 0;
}

/* ---- raw files of the versions that count ---- */

struct versions {
    const struct shipment_source **by;  // sorted
    size_t n;
};

static int compare_dates (const void *pa, const void *pb)
{
    const struct shipment_source *a = *(struct shipment_source *const *)pa;
    const struct shipment_source *b = *(struct shipment_source *const *)pb;
    int order = compare_names (a, b);

    return order != 0 ? order
           : a->newest_ns < b->newest_ns ? -1 : a->newest_ns > b->newest_ns;
}

/* A raw_version_fn: the newest of several versions that count. */
static int64_t version_of (void *arg, int64_t rank, const char *capture,
                           const char *dir)
{
    const struct versions *v = arg;
    char name[MESSAGE_NAME_MAX];
    struct shipment_source key = { .rank = rank, .newest_ns = INT64_MAX,
                                   .capture = name, .dir = dir };
    size_t low = 0, high = v->n;

    PRINT (name, "%s", capture);
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct shipment_source *k = &key;

        if (compare_dates (&v->by[mid], &k) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && compare_names (v->by[low - 1], &key) == 0
               ? v->by[low - 1]->newest_ns : INT64_MAX;
}

static int choose_raw (struct job_build *b, struct err *err)
{
    struct versions v = { calloc (b->n + 1, sizeof (*v.by)), 0 };

    if (!v.by)
        return err_set (err, ENOMEM, "no memory to build");
    for (size_t i = 0; i < b->n; i++) {
        if (b->items[i].capture.state != CAPTURE_SUPERSEDED)
            v.by[v.n++] = &b->sources[b->items[i].source];
    }
    if (v.n > 0)
        qsort (v.by, v.n, sizeof (*v.by), compare_dates);
    raw_tree_choose (b->raw, version_of, &v);
    free (v.by);
    return 0;
}

/* Users may make the directory for raw files a link to a place with more room.
 */
static int open_trusted (const struct tree *above, const char *name,
                         struct tree *ret, struct err *err)
{
    char path[PATH_MAX];
    int rc = tree_open_in (ret, above, name, FILEIO_DIR_MODE, NULL, err);

    if (rc == -ELOOP && fileio_join (path, sizeof (path), above->path, name))
        rc = tree_open_later (ret, path, FILEIO_DIR_MODE, err);
    return rc;
}

/* The captures need not say of which rank and host they are: the mark does. */
static int list_captures (const struct job_build *b, const char *dir,
                          struct err *err)
{
    struct job_mark_capture *list;
    size_t n;
    int rc = raw_tree_captures (b->raw, &list, &n);

    rc = rc < 0 ? err_set (err, ENOMEM, "no memory for the raw files of %s",
                           b->job)
                : job_mark_list (dir, b->job, b->world_size, list, n, err);
    free (list);
    return rc;
}

/* Mark the directory, so that no other job takes its files for captures. */
static int make_marked (const struct job_build *b, const struct tree *above,
                        const char *name, struct tree *ret, struct err *err)
{
    char held[TREE_HELD_MAX];
    int rc = open_trusted (above, name, ret, err);

    if (rc == 0)
        rc = tree_check_owner (ret, b->how.foreign, err);
    if (rc == 0)
        rc = tree_can_hold (ret, err);
    if (rc == 0)
        rc = tree_hold (ret, ".", held, err);
    if (rc == 0)
        rc = list_captures (b, held, err);
    tree_tell (ret, err);
    return rc;
}

/* As job_build_put_raw, below OUT. */
static int put_below (struct job_build *b, const struct tree *out,
                      struct err *err)
{
    struct tree dir, own = { .fd = -1 };
    int rc = make_marked (b, out, "captures", &dir, err);

    if (rc == -EEXIST)
        rc = make_marked (b, &dir, b->job, &own, err);
    if (rc == 0)
        rc = raw_tree_put (b->raw, own.path[0] ? &own : &dir,
                           b->how.cancel, err);
    tree_close (&own);
    tree_close (&dir);
    return rc;
}

int job_build_put_raw (struct job_build *b, const struct tree *out,
                       struct err *err)
{
    int rc = choose_raw (b, err);

    return rc < 0 || b->raw->n == 0 ? rc : put_below (b, out, err);
}
