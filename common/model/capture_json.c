/* common/model/capture_json.c - a capture's metadata as a document */
#include "model/capture.h"

#include "base/units.h"
#include "json/scan.h"
#include "model/owned_text.h"
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
    NUMBER (rank, CAPTURE_NO_RANK, CAPTURE_WORLD_LIMIT - 1),
    NUMBER (device_id, CAPTURE_NO_DEVICE, INT32_MAX),
    NUMBER (world_size, 0, CAPTURE_WORLD_LIMIT),
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

static int scalar_from_json (struct capture *c, const char *key,
                             const struct json *item)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        char *at = (char *)c + members[i].offset;
        const char *text = json_text (item, NULL);
        int64_t v;

        if (strcmp (key, members[i].key) != 0)
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

static int steps_from_json (struct capture *c, const struct json *steps)
{
    const struct json *e;
    int rc = json_is_array (steps) ? 0 : -EBADMSG;

    for (e = json_first (steps); e && rc == 0; e = json_next (e)) {
        const char *step = json_text (e, NULL);

        rc = step ? capture_note_step (c, step, strlen (step)) : -EBADMSG;
    }
    return rc;
}

/* ---- groups: the lists of all ranks are long, so no tree is made of them ---- */

/* A group that is being read. */
struct group {
    char *id, *pg_name;
    struct rank_list *list;
    bool no_memory;
};

static bool text_of (struct scan *s, struct group *g, char **ret)
{
    const char *text;
    size_t n;

    if (*ret || scan_peek (s) != '"')
        return scan_fail (s, "it is no text, or there are two");
    if (!scan_text (s, &text, &n))
        return false;
    g->no_memory = !(*ret = strndup (text, n));
    return !g->no_memory;
}

static bool list_of (struct scan *s, struct group *g)
{
    const char *bad;
    int rc;

    if (g->list || scan_peek (s) != '[')
        return scan_fail (s, "it is no list, or there are two");
    rc = rank_list_read (s, g->id ? g->id : "", false, &g->list, &bad);
    g->no_memory = rc == -ENOMEM;
    if (rc < 0)
        return false;
    return !bad || scan_fail (s, "malformed member of group %.80s",
                              g->id ? g->id : "");
}

static bool group_members (struct scan *s, struct group *g)
{
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (scan_key_is (s, "id")        ? !text_of (s, g, &g->id)
            : scan_key_is (s, "pg_name") ? !text_of (s, g, &g->pg_name)
            : scan_key_is (s, "members") ? !list_of (s, g)
                                         : !scan_fail (s, "unknown member"))
            return false;
    }
    if (!g->id || !g->pg_name || !g->list)
        return scan_fail (s, "malformed group");
    return !s->failed;
}

static int groups_from_json (struct capture *c, struct scan *s,
                             struct err *err)
{
    int rc = scan_array (s) ? 0 : -EBADMSG;

    for (bool first = true; rc == 0 && scan_element (s, &first);) {
        struct group g = { .no_memory = false };

        rc = group_members (s, &g)
                 ? capture_share_group (c, g.id, g.pg_name, g.list, err)
             : g.no_memory ? err_set (err, ENOMEM, "no memory for a group")
                           : -EBADMSG;
        free (g.id);
        free (g.pg_name);
        rank_list_drop (g.list);
    }
    return rc < 0 || !s->failed ? rc : -EBADMSG;
}

/* Read the value of a member, which 'text' has at the scanner's place. */
static int member_from_json (struct capture *c, const char *key,
                             const char *text, struct scan *s, struct err *err)
{
    uint64_t from;
    struct json *j;
    int rc;

    (void)scan_peek (s);        // skip blanks
    if (strcmp (key, "groups") == 0)
        return groups_from_json (c, s, err);
    from = scan_offset (s);
    if (!scan_skip (s))
        return -EBADMSG;
    if (!(j = json_parse (text + from, scan_offset (s) - from, err)))
        return -EBADMSG;
    rc = strcmp (key, "steps") == 0      ? steps_from_json (c, j)
         : strcmp (key, "evidence") == 0 ? evidence_from_json (&c->evidence, j,
                                                               err)
         : strcmp (key, "state") == 0
             ? capture_state_parse (json_text (j, ""), &c->state)
             : scalar_from_json (c, key, j);
    json_free (j);
    return rc;
}

int capture_from_json (struct capture *c, const char *text, size_t size,
                       struct err *err)
{
    struct scan_bytes bytes = { text, size };
    char key[41] = "";
    struct scan s;
    int rc = 0;

    if (scan_init (&s, scan_read_bytes, &bytes) < 0)
        return err_set (err, ENOMEM, "no memory to read metadata");
    if (!scan_object (&s))
        rc = -EBADMSG;
    for (bool first = true; rc == 0 && scan_member (&s, &first);) {
        (void)snprintf (key, sizeof (key), "%.*s",
                        (int)(s.key_size < 40 ? s.key_size : 40), s.key);
        rc = member_from_json (c, key, text, &s, err);
    }
    if (rc == 0 && !scan_end (&s))
        rc = -EBADMSG;
    if (rc < 0 && rc != -ENOMEM)
        rc = err_set (err, EBADMSG, "unknown or malformed metadata: "
                      "\"%.40s\"%s%s", key, s.failed ? ": " : "",
                      s.failed ? s.err.text : "");
    scan_fini (&s);
    return rc;
}
