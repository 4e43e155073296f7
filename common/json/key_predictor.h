/* common/json/key_predictor.h - members of objects that are written alike
 *
 * The objects of a large file come from one program, which writes the same keys
 * in the same order with the same blanks.  What stood between two values the
 * last time is compared with what is there now; only where it differs a key is
 * read and looked up.
 *
 *     scan_object (s);
 *     scan_habit_begin (&h);
 *     while ((field = scan_habit_next (&h, s)) != SCAN_DONE)
 *         ...                         // take the value, as after scan_field
 */
#ifndef ROLLCALL_JSON_KEY_PREDICTOR_H
#define ROLLCALL_JSON_KEY_PREDICTOR_H

#include "json/scan.h"

#define SCAN_HABIT_TEXT 32u     // bytes between two values; real ones have 28
#define SCAN_HABIT_PLACES 24u   // members; those behind them are read

/* What was at one place of the object: all from behind the value before it. */
struct scan_place {
    char text[SCAN_HABIT_TEXT];
    uint64_t mask;              // a one for each byte; all ones: nothing known
    uint8_t size;
    int8_t field;               // or SCAN_OTHER
};

struct scan_habit {
    const struct scan_field *fields;
    int nfields;
    unsigned place;             // of the next member
    struct scan_place places[SCAN_HABIT_PLACES + 1];    // the last is none
};

/* Forget all, and know these fields, which are borrowed; at most 127. */
void scan_habit_init (struct scan_habit *h, const struct scan_field *fields,
                      int nfields);

/* An object has been entered. */
static inline void scan_habit_begin (struct scan_habit *h)
{
    h->place = 0;
}

/* Read a key, and note what was there. */
int scan_habit_read (struct scan_habit *h, struct scan *s);

#ifdef __SSE2__
#include <emmintrin.h>

/* Whether the text of a place is here: 32 bytes are compared, of which those
 * behind the text do not count.
 */
static inline bool scan_habit_fits (const struct scan_place *p, const char *at)
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
static inline bool scan_habit_fits (const struct scan_place *p, const char *at)
{
    return p->size > 0 && memcmp (at, p->text, p->size) == 0;
}
#endif

/* As scan_field, but s->key is not set. */
static inline int scan_habit_next (struct scan_habit *h, struct scan *s)
{
    const struct scan_place *p = &h->places[h->place];

    scan_need (s);
    if (!scan_habit_fits (p, s->at) || s->failed)
        return scan_habit_read (h, s);
    s->at += p->size;
    h->place++;
    return p->field;
}

#endif
