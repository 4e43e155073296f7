/* aggregator/select/select_roster.c - the roster that captures make: how many ranks
 * there are, and the state of each
 */
#include "select/select_private.h"

#include "base/units.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SELECT_OWN_SIZE "(the captures' own metadata "

/* ---- how many ranks ---- */

static bool any_stranger (const struct select_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i].capture.state == CAPTURE_UNEXPECTED)
            return true;
    }
    return false;
}

int64_t select_world_size (const struct select_item *items, size_t n,
                           const char **known_by)
{
    int64_t known = select_usual_size (items, n, false), highest = -1, shown = 0;
    int64_t launcher = select_usual_size (items, n, true);

    for (size_t i = 0; i < n; i++) {
        const struct evidence *e = &items[i].capture.evidence;

        if (items[i].rank > highest)
            highest = items[i].rank;
        if (e->world_at_least > shown)
            shown = e->world_at_least;
    }
    if (highest < 0 && any_stranger (items, n))
        known = launcher = shown = 0;   // which of the ranks are they?
    *known_by = known > 0            ? "metadata of the captures"
                : launcher > highest ? SELECT_BY_MARKS : SELECT_BY_GUESS;
    known = known > 0            ? known
            : launcher > highest ? launcher : highest + 1;
    if (shown > known)
        *known_by = SELECT_BY_OPS;
    return shown > known ? shown : known;
}

void select_tell_worlds (struct select_item *items, size_t n)
{
    int64_t world = select_usual_size (items, n, false);

    for (size_t i = 0; i < n; i++) {
        struct capture *c = &items[i].capture;

        if (c->world_size > 0 && c->world_size != world)
            capture_reason (c, "it says that the world has %lld rank%s; the "
                            "others say %lld", (long long)c->world_size,
                            units_s ((uint64_t)c->world_size),
                            (long long)world);
    }
}

/* ---- their states ---- */

static enum roster_state state_of (enum capture_state s)
{
    switch (s) {
    case CAPTURE_COMPLETE:
        return ROSTER_PRESENT;
    case CAPTURE_PARTIAL:
        return ROSTER_PARTIAL;
    case CAPTURE_COLLECTING:
    case CAPTURE_RAW:
    case CAPTURE_ANALYSING:
        return ROSTER_RAW;
    case CAPTURE_UNEXPECTED:
        return ROSTER_UNEXPECTED;
    default:
        return ROSTER_FAILED;
    }
}

/* Of several captures of a rank the worst one that counts decides, but a
 * missing one never hides a present one.
 */
static bool is_worse (enum roster_state a, enum roster_state b)
{
    static const int badness[ROSTER_STATES] = {
        [ROSTER_PRESENT] = 1,    [ROSTER_PARTIAL] = 3, [ROSTER_FAILED] = 2,
        [ROSTER_RAW] = 2,        [ROSTER_MISSING] = 0,
        [ROSTER_UNEXPECTED] = 0,
    };

    return badness[a] > badness[b];
}

/* The state of one rank from its captures: present only if all are. */
static enum roster_state combine (const struct select_item *items, size_t n,
                                  const struct capture **why)
{
    enum roster_state state = ROSTER_MISSING;
    bool any_good = false;

    *why = NULL;
    for (size_t i = 0; i < n; i++) {
        enum roster_state s;

        if (items[i].capture.state == CAPTURE_SUPERSEDED)
            continue;
        s = state_of (items[i].capture.state);
        any_good = any_good || s == ROSTER_PRESENT || s == ROSTER_PARTIAL;
        if (is_worse (s, state)) {
            state = s;
            *why = &items[i].capture;
        }
    }
    if (any_good && (state == ROSTER_FAILED || state == ROSTER_RAW))
        state = ROSTER_PARTIAL;
    return state;
}

/* Take host and device from the newest capture that counts and knows them; use
 * others only for what remains unknown.
 */
static void note_place (const struct select_item *items, size_t n,
                        struct roster_entry *e)
{
    const struct capture *device = NULL, *host = NULL;

    for (int rest = 0; rest < 2; rest++) {
        for (size_t i = n; i-- > 0;) {
            const struct capture *c = &items[i].capture;

            if (select_counts (&items[i]) != !rest)
                continue;
            if (!device && c->device_id != CAPTURE_NO_DEVICE &&
                (!rest || e->device_id == CAPTURE_NO_DEVICE))
                device = c;
            if (!host && c->host[0] && (!rest || !e->host))
                host = c;
        }
    }
    if (device)
        e->device_id = device->device_id;
    if (host)
        roster_set_text (&e->host, host->host);
}

static void note_proof (const struct select_item *items, size_t n,
                        struct roster_entry *e)
{
    bool doubt = false;

    for (size_t i = 0; i < n; i++) {
        if (!select_counts (&items[i]))
            continue;
        e->verified = e->verified || items[i].verified;
        e->rank_contradicted = e->rank_contradicted ||
                                    items[i].rank_contradicted;
        doubt = doubt || items[i].doubt;
    }
    e->verified = e->verified && !doubt;
}

/* A missing rank may not exist: one wrong number on a command line makes up any
 * number of ranks, and counts until it is corrected.
 */
static void explain_missing (struct roster_entry *e, int64_t usual)
{
    const char *reason = e->reason ? e->reason : ROSTER_NOT_FOUND;
    char text[CAPTURE_REASON_MAX];

    if (usual > 0 && e->rank >= usual && !strstr (reason, SELECT_OWN_SIZE))
        (void)snprintf (text, sizeof (text), "%s " SELECT_OWN_SIZE "say that "
                        "there %s %lld rank%s)", reason,
                        units_are ((uint64_t)usual), (long long)usual,
                        units_s ((uint64_t)usual));
    else
        (void)snprintf (text, sizeof (text), "%s", reason);
    roster_set_text (&e->reason, text);
}

int select_fill_roster (const struct select_item *items, size_t n,
                        struct roster *r)
{
    int64_t usual = select_usual_size (items, n, false);

    for (size_t i = 0, end; i < n; i = end) {
        const struct capture *why, *c = &items[i].capture;
        struct roster_entry *e;
        char text[CAPTURE_REASON_MAX + CAPTURE_NAME_MAX + 8];
        bool known;

        end = select_rank_end (items, n, i);
        if (items[i].rank == CAPTURE_NO_RANK) {
            for (size_t k = i; k < end; k++)
                r->nstrangers += items[k].capture.state == CAPTURE_UNEXPECTED;
            continue;
        }
        if (!(e = roster_at (r, items[i].rank)))
            return -ENOMEM;
        e->state = combine (items + i, end - i, &why);
        if (!e->expected)
            e->state = ROSTER_UNEXPECTED;
        note_place (items + i, end - i, e);
        note_proof (items + i, end - i, e);
        // the agent's report on its COMMAND counts more than "all is well"
        known = e->reason && e->state == ROSTER_PRESENT;
        text[0] = '\0';
        if (why && why->reason[0])
            (void)snprintf (text, sizeof (text), "%s: %s", why->name,
                            why->reason);
        else if (!e->expected)
            (void)snprintf (text, sizeof (text), "%s arrived, but %lld rank%s "
                            "%s expected (%s)", c->name,
                            (long long)r->world_size,
                            units_s ((uint64_t)r->world_size),
                            units_are ((uint64_t)r->world_size), r->known_by);
        if (!known)
            roster_set_text (&e->reason, text);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->entries[i].state == ROSTER_MISSING)
            explain_missing (&r->entries[i], usual);
    }
    return 0;
}
