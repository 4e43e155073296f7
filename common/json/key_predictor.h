/* common/json/key_predictor.h - predict the keys of similar objects
 *
 * The objects of a large file are written by one program: a few kinds, each
 * with the same keys in the same order and with the same blanks, and many values
 * are those of the last object.  So the text between two values is compared with
 * what has followed the text before it, and a key is read and looked up only if
 * it differs; likewise a value.
 *
 *   scan_object (s);
 *   key_predictor_begin (&h);
 *   while ((field = key_predictor_next (&h, s)) != SCAN_DONE)
 *       ...                         // read the value, as after scan_field
 */
#ifndef ROLLCALL_JSON_KEY_PREDICTOR_H
#define ROLLCALL_JSON_KEY_PREDICTOR_H

#include "json/scan.h"

#define KEY_PREDICTOR_TEXT 32u  // bytes between two values; profilers write 28
#define KEY_PREDICTOR_VALUE 16u // bytes of a value, with what follows it
#define KEY_PREDICTOR_TEXTS 64u // that are remembered; profilers write 40
#define KEY_PREDICTOR_NEXT 4u   // "dur" or "cat" may follow "ts"

/* The text before a value, from the last one, or after the last one. */
struct key_place {
    char text[KEY_PREDICTOR_TEXT];
    char value[KEY_PREDICTOR_VALUE];    // the last one that was kept
    uint64_t mask;              // ones for the bytes of text; all ones: unknown
    uint64_t value_mask;        // likewise
    int64_t meaning;            // of the value, to the caller
    struct key_place *next[KEY_PREDICTOR_NEXT]; // what has followed it
    uint8_t size, value_size;
    int8_t field;               // index of the field, or SCAN_OTHER, SCAN_DONE
};

struct key_predictor {
    const struct predicted_key *fields;
    int nfields;
    unsigned n;                 // texts
    struct key_place *now;      // the last one that was met
    struct key_place texts[KEY_PREDICTOR_TEXTS + 1];    // [0] is the object's
                                // brace, the last one has no room
};

/* Initialize with at most 127 fields, which are borrowed. */
void key_predictor_init (struct key_predictor *h,
                         const struct predicted_key *fields,
                         int nfields);

/* Begin an object, which scan_object has entered. */
static inline void key_predictor_begin (struct key_predictor *h)
{
    h->now = h->texts;
}

/* Read a key, and remember the text before its value. */
int key_predictor_read (struct key_predictor *h, struct scan *s);

/* The index of a key in the table, or SCAN_OTHER. */
int key_predictor_look_up (const struct key_predictor *h, const char *key,
                           size_t size);

/* Remember that a text follows the last one.  One that is too long, of a NULL,
 * or more than there is room for, is not remembered.
 */
void key_predictor_learn (struct key_predictor *h, const char *text, size_t n,
                          int field);

#ifdef __SSE2__
#include <emmintrin.h>

static inline uint64_t key_predictor_same (const char *a, const char *b)
{
    const __m128i *x = (const __m128i *)(const void *)a;
    const __m128i *y = (const __m128i *)(const void *)b;

    return (uint64_t)(unsigned)_mm_movemask_epi8 (
        _mm_cmpeq_epi8 (_mm_loadu_si128 (x), _mm_loadu_si128 (y)));
}

/* Whether the expected text is next: 32 bytes are compared, as far as the mask
 * says.
 */
static inline bool key_predictor_fits (const struct key_place *p,
                                       const char *at)
{
    uint64_t same = key_predictor_same (at, p->text) |
                    key_predictor_same (at + 16, p->text + 16) << 16;

    return (~same & p->mask) == 0;
}

static inline bool key_predictor_value_fits (const struct key_place *p,
                                             const char *at)
{
    return (~key_predictor_same (at, p->value) & p->value_mask) == 0;
}
#else
static inline bool key_predictor_fits (const struct key_place *p,
                                       const char *at)
{
    return p->size > 0 && memcmp (at, p->text, p->size) == 0;
}

static inline bool key_predictor_value_fits (const struct key_place *p,
                                             const char *at)
{
    return p->value_size > 0 &&
           memcmp (at, p->value, p->value_size + 1u) == 0;
}
#endif

/* The text at 'at' if it has followed the last one before; NULL: it has not. */
static inline struct key_place *key_predictor_follow (struct key_place *now,
                                                      const char *at)
{
    for (unsigned i = 0; i < KEY_PREDICTOR_NEXT; i++) {
        if (key_predictor_fits (now->next[i], at))
            return now->next[i];
    }
    return NULL;
}

/* A place in an object, in variables of the caller: each value is only found
 * behind the one before it, so that the position must not take its way through
 * memory.  What else reads from the scanner does that from key_cursor_leave to
 * key_cursor_enter.
 */
struct key_cursor {
    const char *at;
    struct key_place *now;
};

static inline struct key_cursor key_cursor_enter (struct key_predictor *h,
                                                  const struct scan *s)
{
    return (struct key_cursor){ s->at, h->now };
}

static inline void key_cursor_leave (const struct key_cursor *c,
                                     struct key_predictor *h, struct scan *s)
{
    s->at = c->at;
    h->now = c->now;
}

/* As scan_field, but s->key is not set. */
static inline int key_cursor_next (struct key_cursor *c,
                                   struct key_predictor *h, struct scan *s)
{
    struct key_place *p;
    int field;

    if (s->end - c->at < (ptrdiff_t)SCAN_AHEAD && !s->eof) {
        s->at = c->at;
        scan_refill (s);
        c->at = s->at;
    }
    if (!s->failed && (p = key_predictor_follow (c->now, c->at))) {
        c->at += p->size;
        c->now = p;
        s->depth -= p->field == SCAN_DONE;
        return p->field;
    }
    key_cursor_leave (c, h, s);
    field = key_predictor_read (h, s);
    *c = key_cursor_enter (h, s);
    return field;
}

static inline int key_predictor_next (struct key_predictor *h, struct scan *s)
{
    struct key_cursor c = key_cursor_enter (h, s);
    int field = key_cursor_next (&c, h, s);

    key_cursor_leave (&c, h, s);
    return field;
}

/* Skip the value if it is the last one that was kept for this key.  False: it
 * is another one, or none was.
 */
static inline bool key_cursor_again (struct key_cursor *c, int64_t *meaning)
{
    if (!key_predictor_value_fits (c->now, c->at))
        return false;
    c->at += c->now->value_size;
    *meaning = c->now->meaning;
    return true;
}

/* Keep the value that was read from 'from', at this offset of the buffer, if it
 * is short and ASCII.
 */
void key_predictor_keep (struct key_predictor *h, const struct scan *s,
                         const char *from, uint64_t offset, int64_t meaning);

#endif
