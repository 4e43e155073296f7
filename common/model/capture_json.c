/* common/model/capture_json.c - a capture's metadata as a document */
#include "model/capture.h"

#include "base/owned_text.h"
#include "base/units.h"
#include "model/schema.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Every scalar member, once, for both directions. */
static const struct {
    const char *key;
    size_t offset;
    size_t size;                // of a text; 0 for a 64-bit number
    int64_t min, max;           // of a number
    bool owned;                 // a text that is not in the struct itself
} members[] = {
#define TEXT(m) { #m, offsetof (struct capture, m), \
                  sizeof (((struct capture *)0)->m), 0, 0, false }
#define OWNED(m, size) { #m, offsetof (struct capture, m), size, 0, 0, true }
#define NUMBER(m, min, max) \
    { #m, offsetof (struct capture, m), 0, min, max, false }
    NUMBER (rank, CAPTURE_NO_RANK, CAPTURE_WORLD_MAX - 1),
    NUMBER (device_id, CAPTURE_NO_DEVICE, INT32_MAX),
    NUMBER (world_size, 0, CAPTURE_WORLD_MAX),
    TEXT (name),
    TEXT (host),
    TEXT (host_uid),
    TEXT (framework),
    TEXT (level),
    OWNED (source, CAPTURE_SOURCE_MAX),
    OWNED (reason, CAPTURE_REASON_MAX),
    NUMBER (started_ns, 0, INT64_MAX),
    NUMBER (ended_ns, 0, INT64_MAX),
    NUMBER (order_ns, 0, INT64_MAX),
    NUMBER (raw_bytes, 0, INT64_MAX),
    NUMBER (whole_tables, 0, (1 << TABLE_COUNT) - 1),
#undef TEXT
#undef OWNED
#undef NUMBER
};

#define MEMBERS (sizeof (members) / sizeof (members[0]))

static void groups_to_json (const struct capture *c, struct json *j)
{
    struct json *array = json_add_array (j, "groups");

    for (uint32_t i = 0; i < c->ngroups; i++) {
        const struct comm_group *g = &c->groups[i];
        struct json *o = json_push_object (array);
        struct json *list;

        json_add_text (o, "id", g->id);
        json_add_text (o, "pg_name", g->pg_name);
        list = json_add_array (o, "members");
        for (uint32_t m = 0; m < g->nmembers; m++)
            json_push_int (list, g->members[m]);
    }
}

struct json *capture_to_json (const struct capture *c)
{
    struct json *j = json_object ();
    struct json *steps;

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *at = (const char *)c + members[i].offset;
        int64_t v;
        char num[24];

        if (members[i].size > 0) {
            json_add_text (j, members[i].key,
                           members[i].owned ? *(char *const *)at : at);
            continue;
        }
        memcpy (&v, at, sizeof (v));    // as text: doubles end at 2^53
        PRINT (num, "%lld", (long long)v);
        json_add_text (j, members[i].key, num);
    }
    json_add_text (j, "state", capture_state_name (c->state));
    steps = json_add_array (j, "steps");
    for (uint32_t i = 0; i < c->nsteps; i++)
        json_push_text (steps, c->steps[i]);
    groups_to_json (c, j);
    evidence_to_json (&c->evidence, j);
    return j;
}

static int scalar_from_json (struct capture *c, const struct json *item)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        char *at = (char *)c + members[i].offset;
        const char *text = json_text (item, NULL);
        int64_t v;

        if (strcmp (json_key (item), members[i].key) != 0)
            continue;
        if (!text)
            return -EBADMSG;
        if (members[i].size > 0) {
            size_t n = strlen (text);

            if (n >= members[i].size)
                return -EBADMSG;
            if (members[i].owned)
                return owned_text_set ((char **)at, text, n);
            memcpy (at, text, n + 1);
            return 0;
        }
        if (units_int (text, members[i].min, members[i].max, &v) < 0)
            return -EBADMSG;
        memcpy (at, &v, sizeof (v));
        return 0;
    }
    return -EBADMSG;            // not a member that this version knows
}

static int group_from_json (struct capture *c, const struct json *j,
                            struct err *err)
{
    const char *id = json_text (json_get (j, "id"), NULL);
    const char *pg_name = json_text (json_get (j, "pg_name"), NULL);
    const struct json *list = json_get (j, "members"), *m;
    size_t n = json_count (list), used = 0;
    int32_t *ranks;
    int64_t v;
    int rc;

    if (!id || !pg_name || !json_is_array (list) || json_count (j) != 3 ||
        n > CAPTURE_WORLD_MAX)
        return err_set (err, EBADMSG, "malformed group");
    if (!(ranks = calloc (n + 1, sizeof (*ranks))))
        return err_set (err, ENOMEM, "no memory for group %s", id);
    for (m = json_first (list); m; m = json_next (m)) {
        if (!json_int (m, &v) || v < 0 || v >= CAPTURE_WORLD_MAX) {
            free (ranks);
            return err_set (err, EBADMSG, "malformed member of group %s", id);
        }
        ranks[used++] = (int32_t)v;
    }
    rc = capture_add_group (c, id, pg_name, ranks, (uint32_t)n, err);
    if (rc < 0)
        free (ranks);
    return rc;
}

static int lists_from_json (struct capture *c, const struct json *item,
                            struct err *err)
{
    const struct json *e;
    int rc = 0;

    for (e = json_first (item); e && rc == 0; e = json_next (e)) {
        const char *step = json_text (e, NULL);

        if (strcmp (json_key (item), "groups") == 0)
            rc = group_from_json (c, e, err);
        else if (!step)
            rc = err_set (err, EBADMSG, "malformed step");
        else if ((rc = capture_note_step (c, step, strlen (step))) < 0)
            rc = err_set (err, -rc, "too many steps");
    }
    return rc;
}

int capture_from_json (struct capture *c, const struct json *j,
                       struct err *err)
{
    const struct json *item;

    if (!json_is_object (j))
        return err_set (err, EBADMSG, "the metadata is not an object");
    for (item = json_first (j); item; item = json_next (item)) {
        const char *key = json_key (item);
        int rc;

        if (json_is_array (item) && (strcmp (key, "groups") == 0 ||
                                     strcmp (key, "steps") == 0))
            rc = lists_from_json (c, item, err);
        else if (strcmp (key, "evidence") == 0)
            rc = evidence_from_json (&c->evidence, item, err);
        else if (strcmp (key, "state") == 0)
            rc = capture_state_parse (json_text (item, ""), &c->state);
        else
            rc = scalar_from_json (c, item);
        if (rc == -ENOMEM)
            return rc;
        if (rc < 0)
            return err_set (err, EBADMSG,
                            "unknown or malformed metadata: \"%.40s\"", key);
    }
    return 0;
}
