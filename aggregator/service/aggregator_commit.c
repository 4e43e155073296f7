/* aggregator/service/aggregator_commit.c - when items are committed */
#include "service/aggregator_private.h"

#include <errno.h>

#define COMMIT_NS (2 * NS_PER_MS)       // such items share a sync
// while small items arrive, a commit waits for more: four times as long as the
// last commit took, within these limits
#define GATHER_SHARE 4
#define GATHER_MIN_NS (20 * NS_PER_MS)
#define GATHER_MAX_NS (200 * NS_PER_MS)

static void commit_gathered (void *arg);

void aggregator_commit (struct aggregator *a)
{
    a->commit_armed = false;
    loop_del_timer (a->loop, commit_gathered, a);
    if (!transfers_pending (a->transfers) || !aggregator_has_root (a) ||
        !aggregator_is_sound (a))
        return;
    if (aggregator_commit_now (a) == -ESTALE)
        (void)aggregator_look (a, true);
}

bool aggregator_is_quiet (struct aggregator *a)
{
    if (transfers_uncommitted (a->transfers)) {
        transfers_due (a->transfers);
        aggregator_commit (a);
    }
    return !transfers_uncommitted (a->transfers);
}

/* Commit now, unless more items are about to arrive. */
static void commit_gathered (void *arg)
{
    struct aggregator *a = arg;

    if (transfers_gather (a->transfers) &&
        clock_mono_ns () < a->commit_until_ns)
        (void)loop_add_timer (a->loop, COMMIT_NS, commit_gathered, a);
    else
        aggregator_commit (a);
}

static int64_t gather_ns (const struct aggregator *a)
{
    int64_t ns = GATHER_SHARE * a->commit_took_ns;

    return ns < GATHER_MIN_NS ? GATHER_MIN_NS
           : ns > GATHER_MAX_NS ? GATHER_MAX_NS : ns;
}

void aggregator_commit_soon (struct aggregator *a)
{
    if (a->commit_armed || !transfers_pending (a->transfers))
        return;
    a->commit_armed = true;
    a->commit_until_ns = clock_mono_ns () + gather_ns (a);
    (void)loop_add_timer (a->loop, COMMIT_NS, commit_gathered, a);
}
