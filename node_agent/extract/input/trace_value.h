/* node_agent/extract/input/trace_value.h - find where a value of a trace ends
 *
 * All functions take a position in the window and return the position after
 * what they parsed; NULL: it is malformed, or continues beyond the window.
 * TRACE_PAD readable zeros follow the window.  They are inlined: a trace is
 * mostly short values.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_VALUE_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_VALUE_H

#include "extract/input/trace_skip.h"

#define TRACE_INLINE __attribute__ ((always_inline))

/* A part of the window.  Of a string it excludes the quotes, and escapes are
 * not decoded.
 */
struct span {
    const char *s;
    size_t n;
};

static inline const char *trace_space (const char *p)
{
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    return p;
}

#ifdef __SSE2__
/* Find the end of a number or a word: a blank, a quote, a comma or a bracket.
 */
static inline const char *trace_word_stop (const char *p)
{
    const __m128i blank = _mm_set1_epi8 (' '), bit5 = _mm_set1_epi8 (0x20);
    const __m128i quote = _mm_set1_epi8 ('"'), comma = _mm_set1_epi8 (',');
    const __m128i open = _mm_set1_epi8 ('{'), close = _mm_set1_epi8 ('}');

    for (;; p += 16) {
        __m128i v = _mm_loadu_si128 ((const __m128i *)(const void *)p);
        __m128i w = _mm_or_si128 (v, bit5);     // maps '[' to '{'
        __m128i m = _mm_or_si128 (
            _mm_or_si128 (_mm_cmpeq_epi8 (w, open), _mm_cmpeq_epi8 (w, close)),
            _mm_or_si128 (_mm_cmpeq_epi8 (v, quote),
                          _mm_cmpeq_epi8 (v, comma)));
        int bits = _mm_movemask_epi8 (_mm_or_si128 (
            m, _mm_cmpeq_epi8 (_mm_min_epu8 (v, blank), v)));

        if (bits)
            return p + __builtin_ctz ((unsigned)bits);
    }
}
#else
static inline const char *trace_word_stop (const char *p)
{
    while ((unsigned char)*p > ' ' && *p != ',' && *p != '}' && *p != ']' &&
           *p != '"' && *p != '{' && *p != '[')
        p++;
    return p;
}
#endif

/* Parse a string from its opening quote.  A quote that is followed by neither
 * blank, comma, colon nor bracket is taken as one that was not escaped.
 */
static inline const char *trace_string (const char *p, const char *end,
                                        struct span *ret)
{
    const char *stop;

    if (*p != '"' || !(stop = trace_closing_quote (p + 1, end)))
        return NULL;
    *ret = (struct span){ p + 1, (size_t)(stop - p - 1) };
    return stop + 1;
}

/* Parse any value.  For a string *ret is the content between the quotes,
 * otherwise the whole value.
 */
static inline TRACE_INLINE const char *trace_value (const char *p,
                                                    const char *end,
                                                    struct span *ret)
{
    const char *start = p;

    if (*p == '"')
        return trace_string (p, end, ret);
    if (*p == '{' || *p == '[') {
        p = trace_skip (p, end);
    } else {
        p = trace_word_stop (p);
        if (p == start || p >= end)
            p = NULL;
    }
    if (p)
        *ret = (struct span){ start, (size_t)(p - start) };
    return p;
}

#endif
