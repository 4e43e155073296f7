/* node_agent/agent/capture_object.c - captures between found and sealed */
#include "agent/capture_object.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_names[OBJECT_STATES] = {
    [OBJECT_FOUND] = "found", [OBJECT_WAITING] = "waiting",
    [OBJECT_QUEUED] = "queued", [OBJECT_FAILED] = "failed",
    [OBJECT_SEALED] = "sealed", [OBJECT_REFUSED] = "refused",
    [OBJECT_MOVED] = "moved", [OBJECT_FOREIGN] = "foreign",
    [OBJECT_VANISHED] = "vanished",
};

static const char *const event_names[OBJECT_EVENTS] = {
    [OBJECT_NO_ROOM] = "no-room", [OBJECT_NEVER_ROOM] = "never-room",
    [OBJECT_HANDED_ON] = "handed-on", [OBJECT_IS_SEALED] = "is-sealed",
    [OBJECT_SEAL_FAILED] = "seal-failed", [OBJECT_NOT_THERE] = "not-there",
    [OBJECT_NOT_OURS] = "not-ours", [OBJECT_GONE] = "gone",
};

/* One that failed stays so while it waits for room, or is refused it: it is
 * named at the end.  What the sealer gives back may have been forgotten.
 */
#define EDGE(from, event, to) \
    { OBJECT_##from, OBJECT_##event, 0, 0, OBJECT_##to }
static const struct states_edge edges[] = {
    EDGE (FOUND, NO_ROOM, WAITING),
    EDGE (FOUND, NEVER_ROOM, REFUSED),
    EDGE (FOUND, HANDED_ON, QUEUED),
    EDGE (FOUND, SEAL_FAILED, FAILED),

    EDGE (WAITING, NEVER_ROOM, REFUSED),
    EDGE (WAITING, HANDED_ON, QUEUED),
    EDGE (WAITING, GONE, VANISHED),

    EDGE (QUEUED, IS_SEALED, SEALED),
    EDGE (QUEUED, SEAL_FAILED, FAILED),
    EDGE (QUEUED, NOT_THERE, MOVED),
    EDGE (QUEUED, NOT_OURS, FOREIGN),
    EDGE (QUEUED, GONE, VANISHED),

    EDGE (FAILED, HANDED_ON, QUEUED),
    EDGE (FAILED, GONE, VANISHED),
};
#undef EDGE

const struct states object_states = {
    "capture", state_names, event_names, NULL, NULL, edges,
    sizeof (edges) / sizeof (edges[0]), OBJECT_STATES, OBJECT_EVENTS,
};

static int by_path (const void *a, const void *b)
{
    const struct capture_object *x = a, *y = b;

    return strcmp (x->path, y->path);
}

struct capture_object *capture_object_find (const struct capture_objects *all,
                                            const char *path)
{
    struct capture_object key = { .path = (char *)path };
    struct capture_object **c = tfind (&key, &all->by_path, by_path);

    return c ? *c : NULL;
}

static struct capture_object *capture_object_add (struct capture_objects *all,
                                                  const char *path)
{
    struct capture_object *c = calloc (1, sizeof (*c));

    if (!c || !(c->path = strdup (path)) ||
        !tsearch (c, &all->by_path, by_path)) {
        if (c)
            free (c->path);
        free (c);
        return NULL;
    }
    state_begin (&c->state, OBJECT_FOUND);
    c->prev = all->last;
    *(all->last ? &all->last->next : &all->first) = c;
    all->last = c;
    return c;
}

static void capture_object_drop (struct capture_objects *all,
                                 struct capture_object *c)
{
    *(c->prev ? &c->prev->next : &all->first) = c->next;
    *(c->next ? &c->next->prev : &all->last) = c->prev;
    all->failed -= c->why.text[0] != '\0';
    (void)tdelete (c, &all->by_path, by_path);
    free (c->path);
    free (c);
}

bool capture_object_take (struct capture_objects *all, const char *path,
                          enum object_event event, const char *why)
{
    const struct states_owner owner = { .table = &object_states,
                                        .level = all->level };
    struct capture_object *c = capture_object_find (all, path);

    if (!c && (!states_have (&object_states, OBJECT_FOUND, event) ||
               !(c = capture_object_add (all, path))))
        return false;
    if (!state_take (&c->state, &owner, event, why, "path", path))
        return false;
    if (c->state.now > OBJECT_LAST_OPEN)
        capture_object_drop (all, c);
    return true;
}

struct capture_object *capture_object_fail (struct capture_objects *all,
                                            const char *path,
                                            const struct find_id *id,
                                            const struct err *why,
                                            bool *first)
{
    struct capture_object *c;

    (void)capture_object_take (all, path, OBJECT_SEAL_FAILED, why->text);
    if (!(c = capture_object_find (all, path)))
        return NULL;
    *first = c->why.text[0] == '\0';
    if (*first)
        c->id = *id;
    c->why = *why;
    if (c->why.text[0] == '\0')
        (void)err_set (&c->why, 0, "it is not known why");
    all->failed += *first;
    return c;
}

bool capture_object_has_failed (const struct capture_objects *all,
                                const char *path)
{
    const struct capture_object *c = capture_object_find (all, path);

    return c && c->why.text[0] != '\0';
}

struct capture_object *
capture_object_next_failed (const struct capture_objects *all,
                            const struct capture_object *after)
{
    struct capture_object *c = after ? after->next : all->first;

    while (c && c->why.text[0] == '\0')
        c = c->next;
    return c;
}

void capture_object_forget_all (struct capture_objects *all)
{
    while (all->first)
        capture_object_drop (all, all->first);
}
