/* common/json/text_end.h - find the end of a string, 16 bytes at a time
 *
 * Bytes behind the string are read, too: some that are no part of a string must
 * be among the 16 bytes behind the last one.
 */
#ifndef ROLLCALL_JSON_TEXT_END_H
#define ROLLCALL_JSON_TEXT_END_H

#ifdef __SSE2__
#include <emmintrin.h>

/* Find the first quote, backslash or control byte, including zero. */
static inline const char *text_end (const char *p)
{
    const __m128i quote = _mm_set1_epi8 ('"');
    const __m128i slash = _mm_set1_epi8 ('\\');
    const __m128i control = _mm_set1_epi8 (' ' - 1);

    for (;; p += 16) {
        __m128i v = _mm_loadu_si128 ((const __m128i *)(const void *)p);
        __m128i m = _mm_or_si128 (
            _mm_or_si128 (_mm_cmpeq_epi8 (v, quote),
                          _mm_cmpeq_epi8 (v, slash)),
            _mm_cmpeq_epi8 (_mm_min_epu8 (v, control), v));
        int bits = _mm_movemask_epi8 (m);

        if (bits)
            return p + __builtin_ctz ((unsigned)bits);
    }
}

/* Find the first of these, or the first byte that is not ASCII. */
static inline const char *text_plain_end (const char *p)
{
    const __m128i quote = _mm_set1_epi8 ('"');
    const __m128i slash = _mm_set1_epi8 ('\\');
    const __m128i space = _mm_set1_epi8 (' ');

    for (;; p += 16) {
        __m128i v = _mm_loadu_si128 ((const __m128i *)(const void *)p);
        __m128i m = _mm_or_si128 (_mm_cmpeq_epi8 (v, quote),
                                  _mm_cmpeq_epi8 (v, slash));
        int bits;

        m = _mm_or_si128 (m, _mm_cmplt_epi8 (v, space));    // also true for
                                                            // bytes >= 128
        if ((bits = _mm_movemask_epi8 (m)) != 0)
            return p + __builtin_ctz ((unsigned)bits);
    }
}
#else
static inline const char *text_end (const char *p)
{
    while ((unsigned char)*p >= ' ' && *p != '"' && *p != '\\')
        p++;
    return p;
}

static inline const char *text_plain_end (const char *p)
{
    while ((unsigned char)*p >= ' ' && (unsigned char)*p < 128 && *p != '"' &&
           *p != '\\')
        p++;
    return p;
}
#endif

#endif
