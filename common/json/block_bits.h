/* common/json/block_bits.h - where quotes and brackets are in 64 bytes
 *
 * For skipping JSON a block at a time: a mask for each kind of byte, with a bit
 * for each byte of the block, the first byte lowest.  There is a function for
 * each way to make them; what a caller does not use costs nothing, since they
 * are inlined.  A function that calls block_bits_avx2 has the attribute
 * BLOCK_AVX2, and is called only if block_has_avx2.
 */
#ifndef ROLLCALL_JSON_BLOCK_BITS_H
#define ROLLCALL_JSON_BLOCK_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_BYTES 64u         // that are read, also behind the last one

struct block_bits {
    uint64_t quote, slash, open, close;
    uint64_t control;           // below ' '
    uint64_t zero, high;        // NUL; above 127
    uint64_t after;             // blank, NUL, comma, colon or closing bracket:
                                // what may follow a string
};

/* Which brackets count: '{' and '}', or also '[' and ']', which differ from
 * these in one bit.
 */
struct block_brackets {
    char open, close, ignored;  // 'ignored': bits that are set before comparing
};

/* Bit i is the parity of bits 0 to i: with quotes, what is inside strings. */
static inline uint64_t block_prefix_xor (uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}

static inline bool block_is_after (char c)
{
    return c == ',' || c == ':' || c == '}' || c == ']' || c == ' ' ||
           c == '\n' || c == '\r' || c == '\t' || c == '\0';
}

static inline struct block_bits block_bits_plain (const char *p,
                                                  struct block_brackets br)
{
    struct block_bits b = { 0 };

    for (unsigned i = 0; i < BLOCK_BYTES; i++) {
        char c = p[i];

        b.quote |= (uint64_t)(c == '"') << i;
        b.slash |= (uint64_t)(c == '\\') << i;
        b.open |= (uint64_t)((c | br.ignored) == br.open) << i;
        b.close |= (uint64_t)((c | br.ignored) == br.close) << i;
        b.control |= (uint64_t)((unsigned char)c < ' ') << i;
        b.zero |= (uint64_t)(c == '\0') << i;
        b.high |= (uint64_t)((unsigned char)c > 127) << i;
        b.after |= (uint64_t)block_is_after (c) << i;
    }
    return b;
}

#ifdef __SSE2__
#include <immintrin.h>

#define BLOCK_AVX2 __attribute__ ((target ("avx2")))

static inline bool block_has_avx2 (void)
{
    return __builtin_cpu_supports ("avx2");
}

static inline struct block_bits block_bits_sse2 (const char *p,
                                                 struct block_brackets br)
{
    const __m128i low = _mm_set1_epi8 (' ' - 1), bit5 = _mm_set1_epi8 (' ');
    const __m128i bits = _mm_set1_epi8 (br.ignored);
    struct block_bits b = { 0 };

    for (unsigned i = 0; i < BLOCK_BYTES; i += 16) {
        __m128i v = _mm_loadu_si128 ((const __m128i *)(const void *)(p + i));
        __m128i w = _mm_or_si128 (v, bits), blank;

#define IS(x, c) _mm_cmpeq_epi8 (x, _mm_set1_epi8 (c))
#define OR(x, y) _mm_or_si128 (x, y)
#define BITS(mask) ((uint64_t)(unsigned)_mm_movemask_epi8 (mask) << i)
        b.quote |= BITS (IS (v, '"'));
        b.slash |= BITS (IS (v, '\\'));
        b.open |= BITS (IS (w, br.open));
        b.close |= BITS (IS (w, br.close));
        b.control |= BITS (_mm_cmpeq_epi8 (_mm_min_epu8 (v, low), v));
        b.zero |= BITS (IS (v, '\0'));
        b.high |= BITS (v);
        blank = OR (OR (IS (v, ' '), IS (v, '\n')),
                    OR (OR (IS (v, '\r'), IS (v, '\t')), IS (v, '\0')));
        b.after |= BITS (OR (blank, OR (OR (IS (v, ','), IS (v, ':')),
                                        IS (OR (v, bit5), '}'))));
#undef BITS
#undef OR
#undef IS
    }
    return b;
}

/* Two tables, by the lower and the upper half of a byte, have a common bit for
 * the bytes of 'after'.
 */
BLOCK_AVX2
static inline __m256i block_after_avx2 (__m256i v)
{
    const __m256i lower = _mm256_setr_epi8 (
        3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 2, 9, 0, 0,
        3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0, 2, 9, 0, 0);
    const __m256i upper = _mm256_setr_epi8 (
        1, 0, 2, 4, 0, 8, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0,
        1, 0, 2, 4, 0, 8, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0);
    __m256i half = _mm256_and_si256 (_mm256_srli_epi16 (v, 4),
                                     _mm256_set1_epi8 (15));
    __m256i both = _mm256_and_si256 (_mm256_shuffle_epi8 (lower, v),
                                     _mm256_shuffle_epi8 (upper, half));

    return _mm256_cmpgt_epi8 (both, _mm256_setzero_si256 ());
}

BLOCK_AVX2 __attribute__ ((always_inline))
static inline struct block_bits block_bits_avx2 (const char *p,
                                                 struct block_brackets br)
{
    const __m256i low = _mm256_set1_epi8 (' ' - 1);
    const __m256i bits = _mm256_set1_epi8 (br.ignored);
    struct block_bits b = { 0 };

    for (unsigned i = 0; i < BLOCK_BYTES; i += 32) {
        __m256i v = _mm256_loadu_si256 ((const __m256i *)(const void *)(p + i));
        __m256i w = _mm256_or_si256 (v, bits);

#define IS(x, c) _mm256_cmpeq_epi8 (x, _mm256_set1_epi8 (c))
#define BITS(mask) ((uint64_t)(unsigned)_mm256_movemask_epi8 (mask) << i)
        b.quote |= BITS (IS (v, '"'));
        b.slash |= BITS (IS (v, '\\'));
        b.open |= BITS (IS (w, br.open));
        b.close |= BITS (IS (w, br.close));
        b.control |= BITS (_mm256_cmpeq_epi8 (_mm256_min_epu8 (v, low), v));
        b.zero |= BITS (IS (v, '\0'));
        b.high |= BITS (v);
        b.after |= BITS (block_after_avx2 (v));
#undef BITS
#undef IS
    }
    return b;
}
#endif

#endif
