/* aggregator/uploads/stored.c - how far a ledger is in the object store */
#include "uploads/stored.h"

#include "base/clock.h"

#define WAITS_NS (10 * NS_PER_S)        // for so long after it was said last

static void begin (struct stored *s, const struct store *store,
                   struct ledger_mark now)
{
    s->next = now;
    s->segment = store_last_used (store);
}

void stored_look (struct stored *s, struct uploads *u,
                  const struct store *store, const struct ledger *ledger)
{
    struct ledger_mark now = ledger_mark (ledger);

    if (s->mark.epoch != now.epoch)     // the ledger may have gone back
        s->mark = (struct ledger_mark){ now.epoch, 0 };
    if (s->next.epoch != now.epoch || s->segment == store_last_used (store))
        begin (s, store, now);
    if (uploads_have (u, s->segment)) {
        s->mark = s->next;
        begin (s, store, now);
    }
}

void stored_hurry (struct stored *s, int64_t now_ns)
{
    s->hurry_ns = now_ns;
}

/* A turn comes back in each STORED_HURRY_EVERY_NS. */
static bool has_turn (const struct stored *s, int64_t now_ns)
{
    return s->turns_ns - now_ns <= (STORED_HURRIES - 1) * STORED_HURRY_EVERY_NS;
}

int64_t stored_seal_after (const struct stored *s, const struct uploads_state *u,
                           uint64_t bytes, int64_t after_ns, int64_t now_ns)
{
    bool waits = u->collected > 0 ||
                 (s->hurry_ns > 0 && now_ns - s->hurry_ns < WAITS_NS);

    return waits && u->waiting == 0 && after_ns > STORED_HURRY_NS &&
                   (bytes >= STORED_HURRY_BYTES || has_turn (s, now_ns))
               ? STORED_HURRY_NS : after_ns;
}

void stored_sealed (struct stored *s, uint64_t bytes, int64_t now_ns)
{
    if (bytes < STORED_HURRY_BYTES)
        s->turns_ns = (s->turns_ns > now_ns ? s->turns_ns : now_ns) +
                      STORED_HURRY_EVERY_NS;
}
