/* common/model/capture.c - one profiler output of one rank, as known */
#include "model/capture.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "model/owned_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t capture_world_max = CAPTURE_WORLD_DEFAULT;

static const char *const state_names[CAPTURE_STATES] = {
    [CAPTURE_COLLECTING] = "collecting", [CAPTURE_RAW] = "raw",
    [CAPTURE_ANALYSING] = "analysing",   [CAPTURE_COMPLETE] = "complete",
    [CAPTURE_PARTIAL] = "partial",       [CAPTURE_FAILED] = "failed",
    [CAPTURE_SUPERSEDED] = "superseded", [CAPTURE_UNEXPECTED] = "unexpected",
};

const char *capture_state_name (enum capture_state s)
{
    return state_names[s];
}

int capture_state_parse (const char *name, enum capture_state *ret)
{
    for (unsigned s = 0; s < CAPTURE_STATES; s++) {
        if (strcmp (name, state_names[s]) == 0) {
            *ret = (enum capture_state)s;
            return 0;
        }
    }
    return -EINVAL;
}

void capture_init (struct capture *c)
{
    memset (c, 0, sizeof (*c));
    c->rank = CAPTURE_NO_RANK;
    c->device_id = CAPTURE_NO_DEVICE;
    c->state = CAPTURE_FAILED;
    c->owner = -1;
    owned_text_init (&c->source);
    owned_text_init (&c->reason);
    evidence_init (&c->evidence);
}

void comm_group_fini (struct comm_group *g)
{
    free (g->id);
    free (g->pg_name);
    if (g->list)
        rank_list_drop (g->list);
    else
        free (g->members);
}

void capture_drop_groups (struct capture *c)
{
    for (uint32_t i = 0; i < c->ngroups; i++)
        comm_group_fini (&c->groups[i]);
    free (c->groups);
    c->groups = NULL;
    c->ngroups = 0;
}

void capture_fini (struct capture *c)
{
    capture_drop_groups (c);
    for (uint32_t i = 0; i < c->nsteps; i++)
        free (c->steps[i]);
    free (c->steps);
    owned_text_fini (&c->source);
    owned_text_fini (&c->reason);
    evidence_fini (&c->evidence);
    capture_init (c);
}

/* Remove an incomplete character from the end of a text that was cut. */
static void drop_half (char *text)
{
    size_t n = strlen (text), i = n;

    while (i > 0 && n - i < 3 && ((unsigned char)text[i - 1] & 0xc0) == 0x80)
        i--;
    if (i > 0 && (unsigned char)text[i - 1] >= 0xc0 &&
        utf8_size (text + i - 1) == 0)
        text[i - 1] = '\0';
}

void capture_reason (struct capture *c, const char *fmt, ...)
{
    char text[CAPTURE_REASON_MAX];
    size_t used = strlen (c->reason);
    va_list ap;
    int n;

    memcpy (text, c->reason, used + 1);
    if (used > 0 && used + 3 < sizeof (text)) {
        memcpy (text + used, "; ", 3);
        used += 2;
    }
    va_start (ap, fmt);
    n = vsnprintf (text + used, sizeof (text) - used, fmt, ap);
    va_end (ap);
    if (n >= 0 && (size_t)n >= sizeof (text) - used)
        drop_half (text);
    (void)owned_text_set (&c->reason, text, strlen (text));
}

int capture_note_step (struct capture *c, const char *step, size_t n)
{
    char **added, *copy;

    n = strnlen (step, n);      // a C string from here on
    for (uint32_t i = c->nsteps; i-- > 0;) {
        if (strncmp (c->steps[i], step, n) == 0 && c->steps[i][n] == '\0')
            return 0;
    }
    if (c->nsteps == CAPTURE_STEPS_MAX)
        return -E2BIG;
    if (!(copy = strndup (step, n)))
        return -ENOMEM;
    if (!(added = vec_next (&c->steps, c->nsteps, sizeof (*added)))) {
        free (copy);
        return -ENOMEM;
    }
    *added = copy;
    c->nsteps++;
    return 0;
}

void capture_group_hash (const char *id, char out[CAPTURE_HASH_MAX])
{
    uint32_t a = 0, b = 0;

    for (; *id; id++) {
        a = a * 29 + (uint8_t)*id;
        b = b * 131 + (uint8_t)*id;
    }
    (void)snprintf (out, CAPTURE_HASH_MAX, "%" PRIu64, (uint64_t)a << 32 | b);
}

int capture_add_group (struct capture *c, const char *id, const char *pg_name,
                       int32_t *members, uint32_t nmembers, struct err *err)
{
    struct comm_group g = { .members = members, .nmembers = nmembers };
    struct comm_group *added = NULL;

    if (c->ngroups == CAPTURE_GROUPS_MAX)
        return err_set (err, E2BIG, "more than %d groups of one rank",
                        CAPTURE_GROUPS_MAX);
    capture_group_hash (id, g.name);
    g.id = strdup (id);
    g.pg_name = strdup (pg_name);
    if (g.id && g.pg_name)
        added = vec_next (&c->groups, c->ngroups, sizeof (*added));
    if (!added) {
        free (g.id);
        free (g.pg_name);
        return err_set (err, ENOMEM, "no memory for group %s", id);
    }
    *added = g;
    c->ngroups++;
    return 0;
}

int capture_share_group (struct capture *c, const char *id,
                         const char *pg_name, struct rank_list *list,
                         struct err *err)
{
    int rc = capture_add_group (c, id, pg_name, list->ranks, list->n, err);

    if (rc == 0)
        c->groups[c->ngroups - 1].list = rank_list_share (list);
    return rc;
}
