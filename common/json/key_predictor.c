/* common/json/key_predictor.c - predict the keys of similar objects */
#include "json/key_predictor.h"

_Static_assert (KEY_PREDICTOR_TEXT == 32 && SCAN_PAD >= 32,
                "so many bytes are compared, also at the last one");

void key_predictor_init (struct key_predictor *h,
                         const struct predicted_key *fields,
                         int nfields)
{
    memset (h, 0, sizeof (*h));
    h->fields = fields;
    h->nfields = nfields;
    h->n = 1;
    key_predictor_begin (h);
    for (unsigned i = 0; i <= KEY_PREDICTOR_TEXTS; i++) {
        struct key_place *p = &h->texts[i];

        p->mask = p->value_mask = UINT64_MAX;
        for (unsigned j = 0; j < KEY_PREDICTOR_NEXT; j++)
            p->next[j] = h->texts;      // fits nothing
    }
}

int key_predictor_look_up (const struct key_predictor *h, const char *key,
                           size_t size)
{
    for (int i = 0; i < h->nfields; i++) {
        if (size == h->fields[i].size &&
            memcmp (key, h->fields[i].key, size) == 0)
            return i;
    }
    return SCAN_OTHER;
}

/* Find or add a text; the last one: there is no room for it. */
static struct key_place *place (struct key_predictor *h, const char *text,
                                size_t n, int field)
{
    struct key_place *p = &h->texts[1];

    if (!text || n > KEY_PREDICTOR_TEXT)
        return &h->texts[KEY_PREDICTOR_TEXTS];
    for (; p < h->texts + h->n; p++) {
        if (p->size == n && memcmp (p->text, text, n) == 0)
            return p;
    }
    if (h->n == KEY_PREDICTOR_TEXTS)
        return p;
    h->n++;
    memcpy (p->text, text, n);
    p->mask = (UINT64_C (1) << n) - 1;
    p->size = (uint8_t)n;
    p->field = (int8_t)field;
    return p;
}

void key_predictor_learn (struct key_predictor *h, const char *text, size_t n,
                          int field)
{
    const struct key_place *none = &h->texts[KEY_PREDICTOR_TEXTS];
    struct key_place *found = place (h, text, n, field), **next = h->now->next;

    if (h->now != none && found != none) {
        memmove (next + 1, next, (KEY_PREDICTOR_NEXT - 1) * sizeof (*next));
        next[0] = found;
    }
    h->now = found;
}

int key_predictor_read (struct key_predictor *h, struct scan *s)
{
    bool first = h->now == h->texts, more;
    const char *from = s->at;
    uint64_t offset = s->offset;
    int field = SCAN_DONE;

    if ((more = scan_member (s, &first)))
        field = key_predictor_look_up (h, s->key, s->key_size);
    if (s->failed)
        return SCAN_DONE;
    s->at += more && *s->at == ' ';
    // a key was copied if it had escapes, or was at the end of the buffer
    if (s->offset != offset || (more && s->key == s->key_text))
        from = NULL;
    key_predictor_learn (h, from, (size_t)(s->at - (from ? from : s->at)),
                         field);
    return field;
}

void key_predictor_keep (struct key_predictor *h, const struct scan *s,
                         const char *from, uint64_t offset, int64_t meaning)
{
    struct key_place *p = h->now;
    size_t n = (size_t)(s->at - from);
    char all = '\0';

    // it must end in the buffer, where it began
    if (s->offset != offset || n >= KEY_PREDICTOR_VALUE ||
        (*s->at != ',' && *s->at != '}') || p == &h->texts[KEY_PREDICTOR_TEXTS])
        return;
    for (size_t i = 0; i < n; i++)
        all |= from[i];
    if ((unsigned char)all > 127)
        return;
    memcpy (p->value, from, n + 1);
    p->value_mask = (UINT64_C (2) << n) - 1;
    p->value_size = (uint8_t)n;
    p->meaning = meaning;
}
