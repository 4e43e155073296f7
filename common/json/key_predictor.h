/* common/json/key_predictor.h - predict the keys of similar objects
 *
 * The objects of a large file are written by one program, with the same keys in
 * the same order and with the same blanks.  So the text between two values is
 * compared with that of the last object, and a key is read and looked up only
 * if it differs.
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
#define KEY_PREDICTOR_PLACES 24u        // members; further ones are looked up

/* The text at one place of the object: everything after the last value. */
struct key_place {
    char text[KEY_PREDICTOR_TEXT];
    uint64_t mask;              // ones for the bytes of text; all ones: unknown
    uint8_t size;
    int8_t field;               // index of the field, or SCAN_OTHER
};

struct key_predictor {
    const struct predicted_key *fields;
    int nfields;
    unsigned place;             // of the next member
    struct key_place places[KEY_PREDICTOR_PLACES + 1];  // the last is always
                                                        // empty
};

/* Initialize with at most 127 fields, which are borrowed. */
void key_predictor_init (struct key_predictor *h,
                         const struct predicted_key *fields,
                         int nfields);

/* Begin an object, which scan_object has entered. */
static inline void key_predictor_begin (struct key_predictor *h)
{
    h->place = 0;
}

/* Read a key, and remember the text before its value. */
int key_predictor_read (struct key_predictor *h, struct scan *s);

#ifdef __SSE2__
#include <emmintrin.h>

/* Whether the expected text is next: 32 bytes are compared, as far as the mask
 * says.
 */
static inline bool key_predictor_fits (const struct key_place *p,
                                       const char *at)
{
    const __m128i *a = (const __m128i *)(const void *)at;
    const __m128i *b = (const __m128i *)(const void *)p->text;
    __m128i low = _mm_cmpeq_epi8 (_mm_loadu_si128 (a), _mm_loadu_si128 (b));
    __m128i high = _mm_cmpeq_epi8 (_mm_loadu_si128 (a + 1),
                                   _mm_loadu_si128 (b + 1));
    uint64_t same = (uint64_t)(unsigned)_mm_movemask_epi8 (low) |
                    (uint64_t)(unsigned)_mm_movemask_epi8 (high) << 16;

    return (~same & p->mask) == 0;
}
#else
static inline bool key_predictor_fits (const struct key_place *p,
                                       const char *at)
{
    return p->size > 0 && memcmp (at, p->text, p->size) == 0;
}
#endif

/* As scan_field, but s->key is not set. */
static inline int key_predictor_next (struct key_predictor *h, struct scan *s)
{
    const struct key_place *p = &h->places[h->place];

    scan_need (s);
    if (!key_predictor_fits (p, s->at) || s->failed)
        return key_predictor_read (h, s);
    s->at += p->size;
    h->place++;
    return p->field;
}

#endif
