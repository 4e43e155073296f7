/* common/model/evidence_json.c - evidence as a document
 *
 * Numbers of 64 bits are texts, as JSON's end at 2^53; lists are texts with
 * blanks between their numbers, since there may be thousands.
 */
#include "model/evidence.h"

#include "base/buf.h"
#include "base/units.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512          // of one list's element, with its step

struct member {
    const char *key;
    size_t offset;
    size_t size;                // of a text; 0 for a 64-bit number
    int64_t min;
};

static const struct member members[] = {
#define AT(m) offsetof (struct evidence, m)
#define TEXT(m) { #m, AT (m), sizeof (((struct evidence *)0)->m), 0 }
#define NUMBER(m, min) { #m, AT (m), 0, min }
    TEXT (job),
    TEXT (host_name),
    TEXT (host_key),
    NUMBER (pid, 0),
    NUMBER (boot_ns, 0),
    NUMBER (mono_start_ns, 0),
    NUMBER (mono_end_ns, 0),
    NUMBER (world_at_least, 0),
    NUMBER (ranks.info_name, EVIDENCE_UNKNOWN),
    NUMBER (ranks.info, EVIDENCE_UNKNOWN),
    NUMBER (ranks.db_name, EVIDENCE_UNKNOWN),
    NUMBER (ranks.db_map, EVIDENCE_UNKNOWN),
    NUMBER (ranks.args, EVIDENCE_UNKNOWN),
    NUMBER (ranks.group, EVIDENCE_UNKNOWN),
    NUMBER (ranks.trace, EVIDENCE_UNKNOWN),
    NUMBER (schedule.skip_first, EVIDENCE_UNKNOWN),
    NUMBER (schedule.wait, EVIDENCE_UNKNOWN),
    NUMBER (schedule.warmup, EVIDENCE_UNKNOWN),
    NUMBER (schedule.active, EVIDENCE_UNKNOWN),
    NUMBER (schedule.repeat, EVIDENCE_UNKNOWN),
#undef AT
#undef TEXT
#undef NUMBER
};

/* Of its 'about'. */
static const struct member origin_members[] = {
#define TEXT(m) \
    { "about." #m, offsetof (struct job_origin, m), \
      sizeof (((struct job_origin *)0)->m), 0 }
    TEXT (scheduler_id),
    TEXT (user),
    TEXT (command),
#undef TEXT
};

#define MEMBERS (sizeof (members) / sizeof (members[0]))
#define ORIGIN_MEMBERS (sizeof (origin_members) / sizeof (origin_members[0]))

/* ---- writing ---- */

static void scalars_to_json (const void *from, const struct member *m,
                             size_t n, struct json *o)
{
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)from + m[i].offset;
        char number[24];
        int64_t v;

        if (m[i].size > 0) {
            if (*at)
                json_add_text (o, m[i].key, at);
            continue;
        }
        memcpy (&v, at, sizeof (v));
        PRINT (number, "%" PRId64, v);
        if (v != (m[i].min < 0 ? EVIDENCE_UNKNOWN : 0))
            json_add_text (o, m[i].key, number);
    }
}

static void sample_to_json (const struct evidence_sample *x, struct json *list)
{
    struct buf text;

    buf_init (&text, EVIDENCE_OPS_MAX * 80 + LINE_BYTES);
    buf_printf (&text, "%" PRIu64 " %s %" PRIu64 " %" PRIu32, x->key,
                x->group, x->names, x->count);
    for (uint32_t i = 0; i < x->n; i++)
        buf_printf (&text, " %" PRIu64 " %" PRId64 " %" PRId64, x->ops[i].key,
                    x->ops[i].end_ns, x->ops[i].elapse_ns);
    json_push_text (list, buf_text (&text));
    buf_fini (&text);
}

void evidence_to_json (const struct evidence *e, struct json *parent)
{
    struct json *o = json_add_object (parent, "evidence"), *list;
    char line[LINE_BYTES];

    scalars_to_json (e, members, MEMBERS, o);
    if (e->about)
        scalars_to_json (e->about, origin_members, ORIGIN_MEMBERS, o);
    list = json_add_array (o, "groups");
    for (uint32_t i = 0; i < e->ngroups; i++) {
        PRINT (line, "%" PRId32 " %" PRId32 " %s", e->groups[i].own,
               e->groups[i].highest, e->groups[i].name);
        json_push_text (list, line);
    }
    list = json_add_array (o, "spans");
    for (uint32_t i = 0; i < e->nspans; i++) {
        const struct evidence_span *s = &e->spans[i];

        PRINT (line, "%" PRId64 " %" PRId64 " %d %d %s", s->start_ns, s->end_ns,
               s->host, s->device, s->step);
        json_push_text (list, line);
    }
    list = json_add_array (o, "samples");
    for (uint32_t i = 0; i < e->nsamples; i++)
        sample_to_json (&e->samples[i], list);
}

/* ---- reading ---- */

/* The next number of a list; false if there is none within the bounds.  An
 * unsigned one is read by its own function.
 */
static bool take_token (const char **at, char out[24])
{
    size_t n = strcspn (*at, " ");

    if (n == 0 || n >= 24)
        return false;
    memcpy (out, *at, n);
    out[n] = '\0';
    *at += n + ((*at)[n] == ' ');
    return true;
}

static bool evidence_json_take (const char **at, int64_t min, int64_t max,
                                int64_t *ret)
{
    char token[24];

    return take_token (at, token) && units_int (token, min, max, ret) == 0;
}

static bool take_key (const char **at, uint64_t *ret)
{
    char token[24], *end;

    if (!take_token (at, token) || token[0] < '0' || token[0] > '9')
        return false;
    errno = 0;
    *ret = strtoull (token, &end, 10);
    return *end == '\0' && errno == 0;
}

static int group_from_text (struct evidence *e, const char *text)
{
    struct evidence_group *g;
    int64_t own, highest;

    if (!evidence_json_take (&text, EVIDENCE_SEVERAL, INT32_MAX, &own) ||
        !evidence_json_take (&text, EVIDENCE_UNKNOWN, INT32_MAX, &highest) ||
        strlen (text) >= EVIDENCE_HASH_MAX)
        return -EBADMSG;
    if (!(g = evidence_group_at (e, text, strlen (text))))
        return -ENOMEM;
    g->own = (int32_t)own;
    g->highest = (int32_t)highest;
    return 0;
}

static int span_from_text (struct evidence *e, const char *text)
{
    int64_t start, end, host, device;
    struct evidence_span *s;

    if (!evidence_json_take (&text, INT64_MIN, INT64_MAX, &start) ||
        !evidence_json_take (&text, INT64_MIN, INT64_MAX, &end) ||
        !evidence_json_take (&text, 0, 1, &host) ||
        !evidence_json_take (&text, 0, 1, &device))
        return -EBADMSG;
    if (!(s = evidence_span_at (e, text, strlen (text))))
        return -ENOMEM;
    s->start_ns = start;
    s->end_ns = end;
    s->host = host;
    s->device = device;
    return 0;
}

static int ops_from_text (struct evidence_sample *x, const char *text)
{
    while (*text) {
        struct evidence_op *op = vec_next (&x->ops, x->n, sizeof (*op));

        if (!op)
            return -ENOMEM;
        if (x->n++ == EVIDENCE_OPS_MAX || !take_key (&text, &op->key) ||
            !evidence_json_take (&text, INT64_MIN, INT64_MAX, &op->end_ns) ||
            !evidence_json_take (&text, INT64_MIN, INT64_MAX, &op->elapse_ns))
            return -EBADMSG;
    }
    return 0;
}

static int sample_from_text (struct evidence *e, const char *text)
{
    struct evidence_sample x = { .n = 0 }, *p;
    int64_t count;
    int rc;

    if (e->nsamples == EVIDENCE_SAMPLES_MAX || !take_key (&text, &x.key) ||
        !take_token (&text, x.group) || !take_key (&text, &x.names) ||
        !evidence_json_take (&text, 0, UINT32_MAX, &count) ||
        (e->nsamples > 0 && e->samples[e->nsamples - 1].key >= x.key))
        return -EBADMSG;
    x.count = (uint32_t)count;
    rc = ops_from_text (&x, text);
    if (rc == 0 && !(p = vec_next (&e->samples, e->nsamples, sizeof (*p))))
        rc = -ENOMEM;
    if (rc < 0) {
        free (x.ops);
        return rc;
    }
    *p = x;
    e->nsamples++;
    return 0;
}

static int list_from_json (struct evidence *e, const struct json *list)
{
    const char *key = json_key (list);
    int rc = 0;

    for (const struct json *j = json_first (list); j && rc == 0;
         j = json_next (j)) {
        const char *text = json_text (j, NULL);

        rc = !text                         ? -EBADMSG
             : strcmp (key, "groups") == 0 ? group_from_text (e, text)
             : strcmp (key, "spans") == 0  ? span_from_text (e, text)
             : strcmp (key, "samples") == 0
                 ? sample_from_text (e, text) : -EBADMSG;
    }
    return rc;
}

static const struct member *find_member (const struct member *m, size_t n,
                                         const char *key)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp (key, m[i].key) == 0)
            return &m[i];
    }
    return NULL;
}

static int member_from_text (void *to, const struct member *m, const char *text)
{
    char *at = (char *)to + m->offset;
    size_t n = strlen (text);
    int64_t v;

    if (m->size > 0 ? n >= m->size
                    : units_int (text, m->min, INT64_MAX, &v) < 0)
        return -EBADMSG;
    if (m->size > 0)
        memcpy (at, text, n + 1);
    else
        memcpy (at, &v, sizeof (v));
    return 0;
}

static int scalar_from_json (struct evidence *e, const struct json *item)
{
    const char *text = json_text (item, NULL), *key = json_key (item);
    const struct member *m = find_member (members, MEMBERS, key);

    if (m && text)
        return member_from_text (e, m, text);
    m = find_member (origin_members, ORIGIN_MEMBERS, key);
    if (!m || !text)
        return -EBADMSG;
    return evidence_about (e) ? member_from_text (e->about, m, text) : -ENOMEM;
}

int evidence_from_json (struct evidence *e, const struct json *j,
                        struct err *err)
{
    if (!json_is_object (j))
        return err_set (err, EBADMSG, "the evidence is not an object");
    for (const struct json *i = json_first (j); i; i = json_next (i)) {
        int rc = json_is_array (i) ? list_from_json (e, i)
                                   : scalar_from_json (e, i);

        if (rc == -ENOMEM)
            return err_set (err, ENOMEM, "no memory for evidence");
        if (rc < 0)
            return err_set (err, EBADMSG, "unknown or malformed evidence: "
                            "\"%.40s\"", json_key (i));
    }
    return 0;
}
