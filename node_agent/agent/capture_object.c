/* node_agent/agent/capture_object.c - captures between settled and sealed */
#include "agent/capture_object.h"

#include "base/cmp.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct capture_object *capture_object_find (const struct capture_objects *all,
                                            const char *path)
{
    struct capture_object **c = tfind (&path, &all->by_path, cmp_text);

    return c ? *c : NULL;
}

static struct capture_object *capture_object_add (struct capture_objects *all,
                                                  const char *path)
{
    struct capture_object *c = calloc (1, sizeof (*c));

    if (!c || !(c->path = strdup (path)) ||
        !tsearch (c, &all->by_path, cmp_text)) {
        if (c)
            free (c->path);
        free (c);
        return NULL;
    }
    state_begin (&c->state, STAGE_SETTLED);
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
    (void)tdelete (c, &all->by_path, cmp_text);
    free (c->path);
    free (c);
}

bool capture_object_take (struct capture_objects *all, const char *path,
                          enum stage_event event, const char *why)
{
    const struct states_owner owner = { .table = &capture_stages,
                                        .level = all->level };
    struct capture_object *c = capture_object_find (all, path);

    if (!c && (!states_have (&capture_stages, STAGE_SETTLED, event) ||
               !(c = capture_object_add (all, path))))
        return false;
    if (!state_take (&c->state, &owner, event, why, "path", path))
        return false;
    if (c->state.now > STAGE_LAST_OPEN)
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

    (void)capture_object_take (all, path, STAGE_SEAL_FAILED, why->text);
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
