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
    for (unsigned i = 0; i <= KEY_PREDICTOR_PLACES; i++)
        h->places[i].mask = UINT64_MAX;
}

static int look_up (const struct key_predictor *h, const struct scan *s)
{
    for (int i = 0; i < h->nfields; i++) {
        if (s->key_size == h->fields[i].size &&
            memcmp (s->key, h->fields[i].key, s->key_size) == 0)
            return i;
    }
    return SCAN_OTHER;
}

int key_predictor_read (struct key_predictor *h, struct scan *s)
{
    struct key_place *p = &h->places[h->place];
    bool first = h->place == 0;
    const char *from = s->at;
    uint64_t offset = s->offset;
    size_t n;
    int field;

    if (!scan_member (s, &first))
        return SCAN_DONE;
    field = look_up (h, s);
    if (h->place == KEY_PREDICTOR_PLACES)
        return field;
    h->place++;
    // a key was copied if it had escapes, or was at the end of the buffer
    n = (size_t)(s->at - from) + (*s->at == ' ');
    if (n <= KEY_PREDICTOR_TEXT && s->offset == offset &&
        s->key != s->key_text) {
        memcpy (p->text, from, n);
        p->mask = (UINT64_C (1) << n) - 1;
        p->size = (uint8_t)n;
        p->field = (int8_t)field;
    }
    return field;
}
