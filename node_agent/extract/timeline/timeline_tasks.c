/* node_agent/extract/timeline/timeline_tasks.c - keep more tasks than fit into
 * memory
 *
 * Threads keep the first ones.  Beyond TIMELINE_TASKS_KEPT all tasks go to a
 * log, which is a sorter without keys: it returns them in the same order, from
 * an unnamed file.
 */
#include "extract/timeline/timeline.h"

#include "base/vec.h"

#include <errno.h>

void timeline_pack (int64_t record[TIMELINE_WORDS], int64_t key,
                    const struct timeline_task *k)
{
    record[0] = key;
    record[1] = k->start;
    memcpy (&record[2], &k->dur, sizeof (k->dur));
    record[3] = k->size;
    record[4] = (int64_t)((uint64_t)(uint32_t)k->src << 32 | (uint32_t)k->dst);
    record[5] = k->kind | k->transport << 8 | k->link << 16;
}

struct timeline_task timeline_unpack (const int64_t record[TIMELINE_WORDS])
{
    struct timeline_task k = {
        .start = record[1], .size = record[3],
        .src = (int32_t)(uint32_t)((uint64_t)record[4] >> 32),
        .dst = (int32_t)(uint32_t)record[4],
        .kind = (uint8_t)record[5], .transport = (uint8_t)(record[5] >> 8),
        .link = (uint8_t)(record[5] >> 16),
    };

    memcpy (&k.dur, &record[2], sizeof (k.dur));
    return k;
}

static int keep_in_log (struct timeline *t, const struct timeline_thread *th,
                        const struct timeline_task *k)
{
    int64_t record[TIMELINE_WORDS];

    if (!t->log && !(t->log = sorter_create (TIMELINE_WORDS, 0)))
        return -ENOMEM;
    timeline_pack (record, th - timeline_thread (t, 0), k);
    return sorter_add (t->log, record, &t->why);
}

int timeline_keep_task (struct timeline *t, struct timeline_thread *th,
                        const struct timeline_task *k)
{
    struct timeline_task *p;
    int rc;

    if (t->tasks >= TIMELINE_TASKS_KEPT) {
        if ((rc = keep_in_log (t, th, k)) < 0)
            return rc;
    } else {
        if (!(p = vec_one_more (th->tasks, th->ntasks, sizeof (*p))))
            return -ENOMEM;
        th->tasks = p;
        th->tasks[th->ntasks++] = *k;
    }
    t->tasks++;
    return 0;
}
