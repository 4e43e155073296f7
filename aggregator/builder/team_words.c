/* aggregator/builder/team_words.c - what the processes of a build tell each
 * other
 */
#include "builder/team_words.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_NUMBER UINT32_MAX    // of a list: its ranks follow, and are not kept

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

/* A copy of a text; NULL without memory, or if there is none. */
static char *get_copy (struct wire *w)
{
    struct wire text = get_wire (w);

    return w->failed ? NULL
                     : strndup ((const char *)text.at,
                                (size_t)(text.end - text.at));
}

static int damaged (struct err *err)
{
    return err_set (err, EBADMSG, "a message of another process is damaged");
}

static int no_memory (struct err *err)
{
    return err_set (err, ENOMEM, "no memory for a message of another process");
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

/* ---- the communicator groups of a capture ---- */

static void put_list (struct buf *b, const struct comm_group *g)
{
    wire_put_u32 (b, g->nmembers);
    for (uint32_t i = 0; i < g->nmembers; i++)
        wire_put_u32 (b, (uint32_t)g->members[i]);
}

static void put_comm_group (struct buf *b, struct rank_lists *said,
                            const struct comm_group *g)
{
    uint32_t number = NO_NUMBER;
    bool is_new = true;

    if (g->nmembers >= TEAM_LIST_MIN &&
        rank_lists_intern (said, g->members, g->nmembers, g->list, &number,
                           &is_new) < 0)
        b->failed = true;
    wire_put_text (b, g->id);
    wire_put_text (b, g->pg_name);
    wire_put_u32 (b, number);
    if (is_new)
        put_list (b, g);
}

static void put_comm_groups (struct buf *b, struct rank_lists *said,
                             const struct capture *c)
{
    wire_put_u32 (b, c->ngroups);
    for (uint32_t i = 0; i < c->ngroups; i++)
        put_comm_group (b, said, &c->groups[i]);
}

/* The caller frees the ranks. */
static int get_list (struct wire *w, int32_t **ret, uint32_t *n,
                     struct err *err)
{
    int32_t *ranks;

    *n = wire_u32 (w);
    if (w->failed || *n > CAPTURE_WORLD_LIMIT ||
        *n > (size_t)(w->end - w->at) / sizeof (uint32_t))
        return damaged (err);
    if (!(ranks = calloc ((size_t)*n + 1, sizeof (*ranks))))
        return no_memory (err);
    for (uint32_t i = 0; i < *n; i++) {
        uint32_t rank = wire_u32 (w);

        if (rank >= CAPTURE_WORLD_LIMIT) {
            free (ranks);
            return damaged (err);
        }
        ranks[i] = (int32_t)rank;
    }
    *ret = ranks;
    return 0;
}

/* The next list that a thread says. */
static int hear_list (struct wire *w, struct team_heard *h, struct err *err)
{
    uint32_t n, *added;
    int32_t *ranks;
    bool is_new;
    int rc = get_list (w, &ranks, &n, err);

    if (rc < 0)
        return rc;
    if (!(added = vec_next (&h->numbers, h->n, sizeof (*added))) ||
        rank_lists_intern (h->all, ranks, n, NULL, added, &is_new) < 0)
        rc = no_memory (err);
    else
        h->n++;
    free (ranks);
    return rc;
}

static int add_numbered (struct wire *w, struct team_heard *h, uint32_t number,
                         struct capture *c, const char *id,
                         const char *pg_name, struct err *err)
{
    int rc = number > h->n    ? damaged (err)
             : number == h->n ? hear_list (w, h, err)
                              : 0;

    return rc < 0 ? rc
                  : capture_share_group (c, id, pg_name,
                                         rank_lists_at (h->all,
                                                        h->numbers[number]),
                                         err);
}

static int add_short (struct wire *w, struct capture *c, const char *id,
                      const char *pg_name, struct err *err)
{
    int32_t *ranks = NULL;
    uint32_t n;
    int rc = get_list (w, &ranks, &n, err);

    if (rc == 0 &&
        (rc = capture_add_group (c, id, pg_name, ranks, n, err)) < 0)
        free (ranks);
    return rc;
}

static int get_comm_group (struct wire *w, struct team_heard *h,
                           struct capture *c, struct err *err)
{
    char *id = get_copy (w), *pg_name = get_copy (w);
    uint32_t number = wire_u32 (w);
    int rc;

    if (w->failed)
        rc = damaged (err);
    else if (!id || !pg_name)
        rc = no_memory (err);
    else if (number == NO_NUMBER)
        rc = add_short (w, c, id, pg_name, err);
    else
        rc = add_numbered (w, h, number, c, id, pg_name, err);
    free (id);
    free (pg_name);
    return rc;
}

static int get_comm_groups (struct wire *w, struct team_heard *h,
                            struct capture *c, struct err *err)
{
    uint32_t n = wire_u32 (w);
    int rc = w->failed ? damaged (err) : 0;

    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = get_comm_group (w, h, c, err);
    return rc;
}

void team_heard_fini (struct team_heard *h)
{
    free (h->numbers);
    h->numbers = NULL;
    h->n = 0;
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

/* The metadata without the groups, whose lists are long. */
static void put_document (struct buf *b, const struct capture *c)
{
    struct capture rest = *c;
    struct json *j;
    char *text;

    rest.groups = NULL;
    rest.ngroups = 0;
    j = capture_to_json (&rest);
    text = j ? json_print (j, false) : NULL;
    wire_put_text (b, text);
    b->failed = b->failed || !text;
    free (text);
    json_free (j);
}

void team_put_capture (struct buf *b, struct rank_lists *said, size_t index,
                       const struct capture *c, const struct row_span *span,
                       const struct part_group *groups, size_t n)
{
    wire_put_u64 (b, index);
    put_document (b, c);
    put_comm_groups (b, said, c);
    // what neither of them has
    wire_put_i64 (b, c->transient_error);
    wire_put_i64 (b, c->owner);
    wire_put_u8 (b, c->many_owners);
    wire_put_u8 (b, (uint8_t)c->state);
    wire_put_i64 (b, span->rank);
    wire_put_i64 (b, span->first);
    for (unsigned i = 0; i < ROW_FILE_INDEXED; i++)
        wire_put_u64 (b, span->rows[i]);
    put_groups (b, groups, n);
}

static int get_groups (struct wire *w, struct team_capture *ret,
                       struct err *err)
{
    uint32_t n = wire_u32 (w);

    if (w->failed || n > PART_GROUPS_MAX)
        return damaged (err);
    if (!(ret->groups = calloc (n + 1, sizeof (*ret->groups))))
        return no_memory (err);
    while (ret->ngroups < n) {
        struct part_group *g = &ret->groups[ret->ngroups];

        if (!(g->name = get_copy (w)))
            return w->failed ? damaged (err) : no_memory (err);
        ret->ngroups++;
        g->collective = wire_u8 (w);
        g->p2p = wire_u8 (w);
    }
    return w->failed ? damaged (err) : 0;
}

static int get_metadata (struct wire *w, struct team_heard *heard,
                         struct capture *c, struct err *err)
{
    struct wire text = get_wire (w);
    uint8_t state;
    int rc;

    if (w->failed)
        return damaged (err);
    rc = capture_from_json (c, (const char *)text.at,
                            (size_t)(text.end - text.at), err);
    if (rc == 0)
        rc = get_comm_groups (w, heard, c, err);
    if (rc < 0)
        return rc;
    c->transient_error = (int)wire_i64 (w);
    c->owner = wire_i64 (w);
    c->many_owners = wire_u8 (w);
    if ((state = wire_u8 (w)) >= CAPTURE_STATES)
        return damaged (err);
    c->state = state;
    return 0;
}

int team_get_capture (struct wire *w, struct team_heard *heard, size_t *index,
                      struct team_capture *ret, struct err *err)
{
    int rc;

    memset (ret, 0, sizeof (*ret));
    capture_init (&ret->capture);
    *index = wire_u64 (w);
    rc = get_metadata (w, heard, &ret->capture, err);
    ret->span.rank = wire_i64 (w);
    ret->span.first = wire_i64 (w);
    for (unsigned i = 0; i < ROW_FILE_INDEXED; i++)
        ret->span.rows[i] = wire_u64 (w);
    if (rc == 0)
        rc = get_groups (w, ret, err);
    if (rc < 0)
        capture_fini (&ret->capture);
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
