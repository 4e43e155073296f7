/* node_agent/extract/text/read_matrix.c - read communication_matrix.json
 *
 * One pass over { step: { category: { key: { "<src>-<dst>": link } } } }. Since
 * 2024 a key is "<kind>-<place>@<group>", and each link is a row.  Files of
 * 2023, and those of msprof, which are only { key: ... }, have a key for each
 * op; their links are folded first.  See doc/formats.md,
 * "communication_matrix.json".
 */
#include "extract/rows/comm_rows.h"
#include "extract/text/comm_file.h"
#include "extract/text/read_text.h"
#include "json/key_predictor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_NAME "communication_matrix.json"

struct reader {
    struct comm_file f;
    struct batch batch;
    struct matrix_room room;
    struct matrix_fold *fold;
    struct matrix_fold *fold_p2p;       // of p2p ops, if types are from names
    bool retype;
    bool p2p;                   // type of the previous row ...
    char kind[COMM_NAME_MAX];   // ... which has this kind: "<kind>@<group>"
    char key[COMM_NAME_MAX], op[COMM_NAME_MAX], transport[64];
    struct map links;           // links of this key
    struct key_predictor link_keys;
};

static bool text_into (struct reader *r, char *out, size_t max)
{
    const char *text;
    size_t n;

    if (!scan_text (&r->f.s, &text, &n))
        return false;
    if (n >= max)
        return scan_fail (&r->f.s, "a text has %zu bytes", n);
    memcpy (out, text, n);
    out[n] = '\0';
    return true;
}

static bool put_row (struct reader *r, const struct matrix_row *m)
{
    struct batch *b = &r->batch;
    uint32_t n = b->nrows;

    if (!matrix_row_put (b, m))
        return scan_fail (&r->f.s, "link \"%.40s\" is not <src>-<dst>",
                          m->link);
    b->text[MATRIX_STEP][n] = batch_repeat_ref (b, &r->f.rep_step);
    b->text[MATRIX_TYPE][n] = batch_repeat_ref (b, &r->f.rep_type);
    b->text[MATRIX_OP_NAME][n] = batch_string (b, m->op);
    b->nrows++;
    return !batch_full (b) || source_flush (r->f.src, b, r->f.err);
}

static int put_folded (void *arg, const struct matrix_row *m)
{
    return put_row (arg, m) ? 0 : -ECANCELED;
}

static const struct predicted_key link_fields[] = {
    SCAN_FIELD ("Transport Type"),   SCAN_FIELD ("Transit Size(MB)"),
    SCAN_FIELD ("Transit Time(ms)"), SCAN_FIELD ("Bandwidth(GB/s)"),
    SCAN_FIELD ("Op Name"),          SCAN_FIELD ("op_name"),
};

#define LINK_FIELDS 6

/* Read a value of a link; 'm' borrows from the reader. */
static bool read_link_field (struct reader *r, int i, struct matrix_row *m)
{
    struct scan *s = &r->f.s;

    switch (i) {
    case 0:
        if (scan_peek (s) == 'n')
            return scan_null (s);
        m->transport = r->transport;
        return text_into (r, r->transport, sizeof (r->transport));
    case 1:
        return scan_real (s, &m->size_mb);
    case 2:
        return scan_real (s, &m->time_ms);
    case 3:
        return scan_real (s, &m->bandwidth);
    case 4:
    case 5:
        m->op = r->op;
        return text_into (r, r->op, sizeof (r->op));
    default:
        return scan_skip (s);
    }
}

static bool read_link (struct reader *r, struct matrix_row *m)
{
    struct scan *s = &r->f.s;
    int i;

    m->op = "";
    m->transport = NULL;
    m->size_mb = m->time_ms = m->bandwidth = NAN;
    if (!scan_object (s))
        return false;
    key_predictor_begin (&r->link_keys);
    while ((i = key_predictor_next (&r->link_keys, s)) != SCAN_DONE) {
        if (!read_link_field (r, i, m))
            return false;
    }
    if (!s->failed &&
        (isnan (m->size_mb) || isnan (m->time_ms) || isnan (m->bandwidth)))
        return scan_fail (s, "link %s of %.80s lacks a size, time or "
                          "bandwidth", m->link, r->key);
    return !s->failed;
}

static bool fold_link (struct reader *r, const struct matrix_row *m)
{
    struct matrix_record rec = {
        .op = r->key, .link = m->link, .transport = m->transport,
        .size_mb = m->size_mb, .time_ms = m->time_ms,
        .bandwidth = m->bandwidth,
    };
    bool p2p = r->retype && comm_op_is_p2p (r->key);
    int rc = matrix_fold_add (p2p ? r->fold_p2p : r->fold, &rec);

    if (rc == -E2BIG)
        return scan_fail (&r->f.s, "more links in one step than can be "
                          "folded");
    if (rc < 0)
        r->f.src->stopped = err_set (r->f.err, -rc, "no memory to read "
                                   FILE_NAME);
    return rc == 0;
}

/* Whether the key ends with a place, before its group. */
static bool is_folded_key (const char *key, size_t name_size)
{
    static const char *const places[] = { "-top1", "-middle", "-bottom1",
                                          "-bottom2", "-bottom3", "-total" };

    for (size_t i = 0; i < sizeof (places) / sizeof (places[0]); i++) {
        size_t n = strlen (places[i]);

        if (name_size > n && memcmp (key + name_size - n, places[i], n) == 0)
            return true;
    }
    return false;
}

/* Set the type from the name of the op.  A total has no op; it follows the
 * places of its kind, otherwise the kind decides.
 */
static void retype_row (struct reader *r, const struct matrix_row *m)
{
    const char *dash = strrchr (m->kind, '-');
    size_t n = (size_t)(dash - m->kind);
    bool total = strcmp (dash, "-total") == 0;

    if (!total || *m->op) {
        r->p2p = comm_op_is_p2p (*m->op ? m->op : m->kind);
        (void)snprintf (r->kind, sizeof (r->kind), "%.*s@%s", (int)n, m->kind,
                        m->group);
    } else if (strncmp (r->kind, m->kind, n) != 0 || r->kind[n] != '@' ||
               strcmp (r->kind + n + 1, m->group) != 0) {
        r->p2p = strncmp (m->kind, "send-", 5) == 0 ||
                 strncmp (m->kind, "receive-", 8) == 0 ||
                 strncmp (m->kind, "batchsendrecv-", 14) == 0 ||
                 comm_op_is_p2p (m->kind);
    }
    comm_file_retype (&r->f, r->p2p);
}

static bool read_links (void *arg)
{
    struct reader *r = arg;
    struct scan *s = &r->f.s;
    char kind[COMM_NAME_MAX], link[64];
    struct matrix_row m = { .kind = kind, .link = link };
    const char *at;
    bool folded;

    if (!comm_file_key (&r->f, r->key, sizeof (r->key), "a key"))
        return false;
    at = strrchr (r->key, '@');
    if (comm_op_is_total (r->key, strlen (r->key)))
        return scan_skip (s);   // 2023: it has the sums of the other keys
    if (!at)
        return scan_fail (s, "key \"%.80s\" has no group after an '@'",
                          r->key);
    folded = is_folded_key (r->key, (size_t)(at - r->key));
    memcpy (kind, r->key, (size_t)(at - r->key));
    kind[at - r->key] = '\0';
    m.group = at + 1;
    if (!comm_note_key (r->f.src, m.group, r->f.err))
        return false;
    if (!scan_object (s))
        return false;
    map_clear (&r->links);
    for (bool first = true; scan_member (s, &first);) {
        if (!comm_file_key (&r->f, link, sizeof (link), "a link") ||
            !comm_file_once (&r->f, &r->links, 0) || !read_link (r, &m))
            return false;
        if (folded && r->retype)
            retype_row (r, &m);
        if (!(folded ? put_row (r, &m) : fold_link (r, &m)))
            return false;
    }
    return !s->failed;
}

static bool fold_rows (struct reader *r, struct matrix_fold *fold, bool p2p)
{
    if (r->retype)
        comm_file_retype (&r->f, p2p);
    return matrix_fold_rows (fold, put_folded, r) == 0;
}

static bool category_end (void *arg)
{
    struct reader *r = arg;

    return fold_rows (r, r->fold_p2p, true) &&
           fold_rows (r, r->fold, false);
}

static bool read_matrix_flush (void *arg)
{
    struct reader *r = arg;

    return source_flush (r->f.src, &r->batch, r->f.err);
}

enum reading read_matrix (struct source *src, unsigned want, struct err *err)
{
    struct reader *r = calloc (1, sizeof (*r));
    struct comm_reader functions = { read_links, category_end,
                                    read_matrix_flush, r };
    enum reading how = READING_STOPPED;

    (void)want;
    if (r) {
        r->links = (struct map)COMM_SEEN;
        r->room.left = MATRIX_ROOM;
        r->fold = matrix_fold_create (&r->room);
        r->fold_p2p = matrix_fold_create (&r->room);
        r->retype = source_retypes (src);
        r->f.tables = 1u << TABLE_MATRIX;
        key_predictor_init (&r->link_keys, link_fields, LINK_FIELDS);
    }
    if (!r || !r->fold || !r->fold_p2p ||
        batch_init (&r->batch, TABLE_MATRIX, err) < 0)
        src->stopped = err_set (err, ENOMEM, "no memory to read " FILE_NAME);
    else
        how = comm_file_read (&r->f, src, FILE_NAME, &functions, err);
    if (r) {
        batch_fini (&r->batch);
        matrix_fold_destroy (r->fold);
        matrix_fold_destroy (r->fold_p2p);
        map_fini (&r->links);
    }
    free (r);
    return how;
}
