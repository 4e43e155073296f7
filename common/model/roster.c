/* common/model/roster.c - the ranks of a job, one by one */
#include "model/roster.h"

#include "base/cmp.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[ROSTER_STATES] = {
    [ROSTER_PRESENT] = "present", [ROSTER_PARTIAL] = "partial",
    [ROSTER_FAILED] = "failed",   [ROSTER_RAW] = "raw",
    [ROSTER_MISSING] = "missing", [ROSTER_UNEXPECTED] = "unexpected",
};

const char *roster_state_name (enum roster_state s)
{
    return state_names[s];
}

void roster_init (struct roster *r)
{
    memset (r, 0, sizeof (*r));
}

void roster_fini (struct roster *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free (r->entries[i].host);
        free (r->entries[i].reason);
    }
    free (r->entries);
    for (size_t i = 0; i < r->nnotes; i++)
        free (r->notes[i]);
    roster_init (r);
}

struct roster_entry *roster_at (struct roster *r, int64_t rank)
{
    struct roster_entry *p;
    size_t at = cmp_place (&rank, r->entries, r->n, sizeof (*p), cmp_int64);

    if (at < r->n && r->entries[at].rank == rank)
        return &r->entries[at];
    if (!(p = vec_insert (&r->entries, &r->n, at, sizeof (*p))))
        return NULL;
    *p = (struct roster_entry){ .rank = rank, .local_rank = -1,
                                .device_id = CAPTURE_NO_DEVICE,
                                .state = ROSTER_UNEXPECTED };
    return p;
}

void roster_set_text (char **member, const char *text)
{
    free (*member);
    *member = text && *text ? strdup (text) : NULL;
}

int roster_expect_world (struct roster *r, int64_t world_size,
                         const char *known_by)
{
    for (int64_t rank = 0; rank < world_size; rank++) {
        struct roster_entry *e = roster_at (r, rank);

        if (!e)
            return -ENOMEM;
        e->expected = true;
        e->state = ROSTER_MISSING;
    }
    r->world_size = world_size;
    PRINT (r->known_by, "%s", known_by);
    return 0;
}

void roster_add_note (struct roster *r, const char *text)
{
    for (size_t i = 0; i < r->nnotes; i++) {
        if (strcmp (r->notes[i], text) == 0)
            return;
    }
    if (r->nnotes < ROSTER_NOTES_MAX &&
        (r->notes[r->nnotes] = strdup (text)) != NULL)
        r->nnotes++;
}

size_t roster_count (const struct roster *r, enum roster_state s)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->entries[i].state == s;
    return n;
}

bool roster_complete (const struct roster *r)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->entries[i].state != ROSTER_PRESENT ||
            r->entries[i].rank_contradicted)
            return false;
    }
    return r->nstrangers == 0;
}
