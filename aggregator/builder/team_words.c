/* aggregator/builder/team_words.c - what the processes of a build tell each
 * other
 */
#include "builder/team_words.h"

#include <errno.h>
#include <stdlib.h>

static void put_bytes (struct buf *b, const void *bytes, size_t n)
{
    wire_put_u32 (b, (uint32_t)n);
    buf_put (b, bytes, n);
}

static void put_buf (struct buf *b, const struct buf *from)
{
    put_bytes (b, from->data, from->size);
    b->failed = b->failed || from->failed;
}

static struct wire get_wire (struct wire *w)
{
    uint32_t n = wire_u32 (w);

    return wire_reader (wire_bytes (w, n), w->failed ? 0 : n);
}

/* ---- a pass ---- */

uint32_t team_probe_offset (const struct team_pass *p, unsigned rank)
{
    return TEAM_PROBE * (1 + rank % (p->page_size / TEAM_PROBE - 1));
}

void team_probe_answer (const struct team_pass *p, uint8_t out[TEAM_PROBE])
{
    for (unsigned i = 0; i < TEAM_PROBE; i++)
        out[i] = (uint8_t)~p->nonce[i];
}

void team_put_pass (struct buf *b, const struct team_pass *p,
                    const struct buf *settings)
{
    wire_put_u8 (b, p->rows);
    wire_put_text (b, p->path);
    wire_put_u32 (b, p->page_size);
    wire_put_u32 (b, p->probe);
    buf_put (b, p->nonce, sizeof (p->nonce));
    wire_put_u32 (b, p->threads);
    wire_put_u32 (b, p->world_max);
    put_buf (b, settings);
}

void team_get_pass (struct wire *w, struct team_pass *ret)
{
    const uint8_t *nonce;

    ret->rows = wire_u8 (w);
    wire_text (w, ret->path, sizeof (ret->path));
    ret->page_size = wire_u32 (w);
    ret->probe = wire_u32 (w);
    if ((nonce = wire_bytes (w, sizeof (ret->nonce))))
        memcpy (ret->nonce, nonce, sizeof (ret->nonce));
    ret->threads = wire_u32 (w);
    ret->world_max = wire_u32 (w);
    ret->settings = get_wire (w);
    if (ret->rows && ret->page_size < 512)
        w->failed = true;
}

/* ---- an item ---- */

void team_put_item (struct buf *b, size_t index, const struct select_item *item,
                    const struct buf *order)
{
    wire_put_u64 (b, index);
    wire_put_u64 (b, item->source);
    wire_put_i64 (b, item->rank);
    wire_put_i64 (b, item->id);
    wire_put_i64 (b, item->first_row);
    wire_put_u64 (b, item->rows_max);
    put_buf (b, order);
}

void team_get_item (struct wire *w, size_t *index, struct select_item *ret,
                    struct wire *order)
{
    *index = wire_u64 (w);
    *ret = (struct select_item){ .source = wire_u64 (w) };
    ret->rank = wire_i64 (w);
    ret->id = wire_i64 (w);
    ret->first_row = wire_i64 (w);
    ret->rows_max = wire_u64 (w);
    *order = get_wire (w);
}

/* ---- a capture ---- */

static void put_groups (struct buf *b, const struct part_group *groups, size_t n)
{
    wire_put_u32 (b, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        wire_put_text (b, groups[i].name);
        wire_put_u8 (b, groups[i].collective);
        wire_put_u8 (b, groups[i].p2p);
    }
}

void team_put_capture (struct buf *b, size_t index,
                       const struct capture *c, const struct row_span *span,
                       const struct part_group *groups, size_t n)
{
    struct json *j = capture_to_json (c);
    char *text = j ? json_print (j, false) : NULL;

    wire_put_u64 (b, index);
    // what a document does not have
    wire_put_i64 (b, c->transient_error);
    wire_put_i64 (b, c->owner);
    wire_put_u8 (b, c->many_owners);
    wire_put_u8 (b, (uint8_t)c->state);
    wire_put_i64 (b, span->rank);
    wire_put_i64 (b, span->first);
    for (unsigned i = 0; i < ROW_FILE_INDEXED; i++)
        wire_put_u64 (b, span->rows[i]);
    put_groups (b, groups, n);
    wire_put_text (b, text);
    b->failed = b->failed || !text;
    free (text);
    json_free (j);
}

static int get_groups (struct wire *w, struct team_capture *ret)
{
    uint32_t n = wire_u32 (w);

    if (n > PART_GROUPS_MAX)
        return -EBADMSG;
    if (!(ret->groups = calloc (n + 1, sizeof (*ret->groups))))
        return -ENOMEM;
    while (ret->ngroups < n) {
        struct part_group *g = &ret->groups[ret->ngroups];
        struct wire name = get_wire (w);

        if (w->failed)
            return -EBADMSG;
        g->name = strndup ((const char *)name.at, (size_t)(name.end - name.at));
        if (!g->name)
            return -ENOMEM;
        ret->ngroups++;
        g->collective = wire_u8 (w);
        g->p2p = wire_u8 (w);
    }
    return 0;
}

int team_get_capture (struct wire *w, size_t *index, struct team_capture *ret,
                      struct err *err)
{
    struct capture *c = &ret->capture;
    int64_t transient, owner;
    bool many;
    uint8_t state;
    struct wire text;
    int rc;

    memset (ret, 0, sizeof (*ret));
    capture_init (c);
    *index = wire_u64 (w);
    transient = wire_i64 (w);
    owner = wire_i64 (w);
    many = wire_u8 (w);
    state = wire_u8 (w);
    ret->span.rank = wire_i64 (w);
    ret->span.first = wire_i64 (w);
    for (unsigned i = 0; i < ROW_FILE_INDEXED; i++)
        ret->span.rows[i] = wire_u64 (w);
    rc = get_groups (w, ret);
    text = get_wire (w);
    if (rc == 0 && (w->failed || state >= CAPTURE_STATES))
        rc = -EBADMSG;
    if (rc == 0)
        rc = capture_from_json (c, (const char *)text.at,
                                (size_t)(text.end - text.at), err);
    else
        (void)err_set (err, -rc, "a message of another process is damaged");
    c->transient_error = (int)transient;
    c->owner = owner;
    c->many_owners = many;
    c->state = state;
    if (rc < 0)
        capture_fini (c);
    return rc;
}

void team_free_groups (struct team_capture *c)
{
    for (size_t i = 0; i < c->ngroups; i++)
        free (c->groups[i].name);
    free (c->groups);
    c->groups = NULL;
    c->ngroups = 0;
}

/* ---- leaves ---- */

void team_put_leaf (struct buf *b, const struct page_leaf *leaf)
{
    wire_put_i64 (b, leaf->first);
    wire_put_i64 (b, leaf->last);
    wire_put_u32 (b, leaf->page);
}

void team_get_leaf (struct wire *w, struct page_leaf *ret)
{
    ret->first = wire_i64 (w);
    ret->last = wire_i64 (w);
    ret->page = wire_u32 (w);
}
