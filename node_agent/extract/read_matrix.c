/* node_agent/extract/read_matrix.c - communication_matrix.json
 *
 * One pass over { step: { category: { key: { "<src>-<dst>": link } } } }.
 * Since 2024 a key is "<kind>-<place>@<group>" and each link is a row.  Files
 * of 2023 have a key per op; their links are folded first.  See
 * doc/formats.md, "communication_matrix.json".
 */
#include "extract/matrix_fold.h"
#include "extract/scan.h"
#include "extract/source.h"
#include "extract/watched.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define FILE_NAME "communication_matrix.json"
#define NAME_MAX_BYTES 4096u

struct reader {
    struct scan s;
    struct source *src;
    struct err *err;
    struct batch batch;
    struct matrix_fold *fold;
    char step[NAME_MAX_BYTES], type[64], key[NAME_MAX_BYTES];
    char op[NAME_MAX_BYTES], transport[64];
    struct batch_repeat rep_step, rep_type;
};

static bool key_into (struct reader *r, char *out, size_t max,
                      const char *what)
{
    if (r->s.key_size >= max)
        return scan_fail (&r->s, "the name of %s has %zu bytes", what,
                          r->s.key_size);
    memcpy (out, r->s.key, r->s.key_size);
    out[r->s.key_size] = '\0';
    return true;
}

static bool text_into (struct reader *r, char *out, size_t max)
{
    const char *text;
    size_t n;

    if (!scan_text (&r->s, &text, &n))
        return false;
    if (n >= max)
        return scan_fail (&r->s, "a text has %zu bytes", n);
    memcpy (out, text, n);
    out[n] = '\0';
    return true;
}

static uint32_t text_ref (struct batch *b, const char *s)
{
    return s ? batch_text (b, s, strlen (s)) : BATCH_NULL_TEXT;
}

static bool put_row (struct reader *r, const struct matrix_row *m)
{
    const char *dash = strchr (m->link, '-');
    struct batch *b = &r->batch;
    uint32_t n = b->nrows;

    if (!dash)
        return scan_fail (&r->s, "link \"%.40s\" is not <src>-<dst>", m->link);
    b->nrows++;
    b->text[MATRIX_OP][n] = text_ref (b, m->kind);
    b->text[MATRIX_GROUP][n] = text_ref (b, m->group);
    b->text[MATRIX_SRC][n] = batch_text (b, m->link,
                                         (size_t)(dash - m->link));
    b->text[MATRIX_DST][n] = text_ref (b, dash + 1);
    b->text[MATRIX_TRANSPORT][n] = text_ref (b, m->transport);
    b->real[MATRIX_SIZE][n] = m->size_mb;
    b->real[MATRIX_TIME][n] = m->time_ms;
    b->real[MATRIX_BANDWIDTH][n] = m->bandwidth;
    b->text[MATRIX_STEP][n] = batch_repeat_ref (b, &r->rep_step);
    b->text[MATRIX_TYPE][n] = batch_repeat_ref (b, &r->rep_type);
    b->text[MATRIX_OP_NAME][n] = text_ref (b, m->op);
    return !batch_full (b) || source_flush (r->src, b, r->err);
}

static int put_folded (void *arg, const struct matrix_row *m)
{
    return put_row (arg, m) ? 0 : -ECANCELED;
}

static const struct scan_field link_fields[] = {
    SCAN_FIELD ("Transport Type"),   SCAN_FIELD ("Transit Size(MB)"),
    SCAN_FIELD ("Transit Time(ms)"), SCAN_FIELD ("Bandwidth(GB/s)"),
    SCAN_FIELD ("Op Name"),          SCAN_FIELD ("op_name"),
};

#define LINK_FIELDS 6

/* One value of a link; 'm' borrows from the reader. */
static bool read_link_field (struct reader *r, int i, struct matrix_row *m)
{
    struct scan *s = &r->s;

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
    struct scan *s = &r->s;
    int next = 0;

    m->op = "";
    m->transport = NULL;
    m->size_mb = m->time_ms = m->bandwidth = NAN;
    if (!scan_object (s))
        return false;
    for (bool first = true;;) {
        int i = scan_field (s, &first, link_fields, LINK_FIELDS, &next);

        if (i == SCAN_DONE)
            break;
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
    int rc = matrix_fold_add (r->fold, &rec);

    if (rc == -E2BIG)
        return scan_fail (&r->s, "more than %u links in one step",
                          MATRIX_FOLD_RECORDS_MAX);
    if (rc < 0)
        r->src->stopped = err_set (r->err, -rc, "no memory to read "
                                   FILE_NAME);
    return rc == 0;
}

/* Whether the key ends in one of the places, before its group. */
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

static bool read_links (struct reader *r)
{
    struct scan *s = &r->s;
    char kind[NAME_MAX_BYTES], link[64];
    struct matrix_row m = { .kind = kind, .link = link };
    const char *at;
    bool folded;

    if (!key_into (r, r->key, sizeof (r->key), "a key"))
        return false;
    at = strrchr (r->key, '@');
    if (strncasecmp (r->key, "total", 5) == 0)
        return scan_skip (s);   // 2023: sums of the other keys
    if (!at)
        return scan_fail (s, "key \"%.80s\" has no group behind an '@'",
                          r->key);
    folded = is_folded_key (r->key, (size_t)(at - r->key));
    memcpy (kind, r->key, (size_t)(at - r->key));
    kind[at - r->key] = '\0';
    m.group = at + 1;
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (!key_into (r, link, sizeof (link), "a link") ||
            !read_link (r, &m) ||
            !(folded ? put_row (r, &m) : fold_link (r, &m)))
            return false;
    }
    return !s->failed;
}

static bool read_category (struct reader *r)
{
    struct scan *s = &r->s;

    if (!key_into (r, r->type, sizeof (r->type), "a category") ||
        !scan_object (s))
        return false;
    batch_repeat_set (&r->rep_type, r->type, strlen (r->type));
    for (bool first = true; scan_member (s, &first);) {
        if (!read_links (r))
            return false;
    }
    return !s->failed && matrix_fold_rows (r->fold, put_folded, r) == 0;
}

static bool read_step (struct reader *r)
{
    struct scan *s = &r->s;

    if (!steps_wanted (r->src->steps, s->key, s->key_size))
        return scan_skip (s);
    if (!key_into (r, r->step, sizeof (r->step), "a step") ||
        !source_note_step (r->src, r->step, strlen (r->step), r->err) ||
        !scan_object (s))
        return false;
    batch_repeat_set (&r->rep_step, r->step, strlen (r->step));
    for (bool first = true; scan_member (s, &first);) {
        if (!read_category (r))
            return false;
    }
    return !s->failed;
}

static void read_document (struct reader *r)
{
    struct scan *s = &r->s;

    if (!scan_object (s))
        return;
    for (bool first = true; scan_member (s, &first);) {
        if (!read_step (r))
            return;
    }
    scan_end (s);
}

enum reading read_matrix (struct source *src, struct err *err)
{
    struct reader *r = calloc (1, sizeof (*r));
    struct watched file;
    enum reading how = READING_STOPPED;

    if (!r) {
        src->stopped = err_set (err, ENOMEM, "no memory to read " FILE_NAME);
        return READING_STOPPED;
    }
    r->src = src;
    r->err = err;
    how = watched_open (&file, src->out, FILE_NAME, err);
    if (how != READING_WHOLE)
        goto out;
    r->fold = matrix_fold_create ();
    if (!r->fold || scan_init (&r->s, scan_read_fd, &file.fd) < 0 ||
        batch_init (&r->batch, TABLE_MATRIX, err) < 0) {
        src->stopped = err_set (err, ENOMEM, "no memory to read " FILE_NAME);
        how = READING_STOPPED;
        goto close;
    }
    read_document (r);
    if (!src->stopped)
        (void)source_flush (src, &r->batch, err);
    how = watched_verdict (&file, src, &r->s, err);
close:
    watched_close (&file);
out:
    scan_fini (&r->s);
    batch_fini (&r->batch);
    matrix_fold_destroy (r->fold);
    free (r);
    return how;
}
