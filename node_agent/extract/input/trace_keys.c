/* node_agent/extract/input/trace_keys.c - expect the keys of a trace's objects
 */
#include "extract/input/trace_keys.h"

_Static_assert (TRACE_PAD >= KEY_PREDICTOR_TEXT,
                "so many bytes are compared, also at the last one");

void trace_keys_init (struct trace_keys *k, const struct predicted_key *fields,
                      int nfields)
{
    memset (k, 0, sizeof (*k));
    k->fields = fields;
    k->nfields = nfields;
    k->n = 1;
    k->texts[0].mask = UINT64_MAX;      // fits nothing
}

static int look_up (const struct trace_keys *k, struct span key)
{
    for (int i = 0; i < k->nfields; i++) {
        if (key.n == k->fields[i].size &&
            memcmp (key.s, k->fields[i].key, key.n) == 0)
            return i;
    }
    return TRACE_KEY_OTHER;
}

/* Find or add a text.  TRACE_KEYS_TEXTS: there is no room for it. */
static unsigned place (struct trace_keys *k, const char *text, size_t n,
                       int field)
{
    struct key_place *p = &k->texts[1];
    unsigned i = 1;

    if (n > KEY_PREDICTOR_TEXT)
        return TRACE_KEYS_TEXTS;
    for (; i < k->n; i++, p++) {
        if (p->size == n && memcmp (p->text, text, n) == 0)
            return i;
    }
    if (i == TRACE_KEYS_TEXTS)
        return i;
    memcpy (p->text, text, n);
    p->mask = (UINT64_C (1) << n) - 1;
    p->size = (uint8_t)n;
    p->field = (int8_t)field;
    return k->n++;
}

/* Remember that a text followed the last one. */
static void remember (struct trace_keys *k, unsigned text)
{
    uint8_t *next = k->next[k->now];

    if (k->now < TRACE_KEYS_TEXTS && text < TRACE_KEYS_TEXTS) {
        memmove (next + 1, next, TRACE_KEYS_NEXT - 1);
        next[0] = (uint8_t)text;
    }
    k->now = text;
}

int trace_keys_read (struct trace_keys *k, const char **at, const char *end)
{
    const char *from = *at, *p = trace_space (from);
    struct span key;
    int field = TRACE_KEY_END;

    if (*p == '}') {
        p++;
    } else {
        if (*p == ',')
            p = trace_space (p + 1);
        if (!(p = trace_string (p, end, &key)) || *(p = trace_space (p)) != ':')
            return TRACE_KEY_BAD;
        p = trace_space (p + 1);
        field = look_up (k, key);
    }
    remember (k, place (k, from, (size_t)(p - from), field));
    *at = p;
    return field;
}
