/* common/json/scan_quick.c - skip an object, 64 bytes at a time
 *
 * Most of a trace is arguments that are not needed: shapes, call stacks.  For
 * each block, masks with a bit for each byte show where quotes, escapes and
 * brackets are; a prefix XOR over the quotes shows what is inside strings.
 * Only brackets outside of strings are handled one by one.
 */
#include "json/scan.h"

#define BLOCK 64u
#define ODD_BITS UINT64_C (0xaaaaaaaaaaaaaaaa)

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)

_Static_assert (SCAN_PAD >= BLOCK, "a block may lie across the last byte");

/* Masks with a bit for each byte of a block, the first byte lowest. */
struct bits {
    uint64_t quote, slash, open, close, control, high;
};

#ifdef __SSE2__
#include <emmintrin.h>

static inline void find_bits (const char *p, struct bits *b)
{
    const __m128i quote = _mm_set1_epi8 ('"'), slash = _mm_set1_epi8 ('\\');
    const __m128i open = _mm_set1_epi8 ('{'), close = _mm_set1_epi8 ('}');
    const __m128i bit5 = _mm_set1_epi8 (0x20), low = _mm_set1_epi8 (0x1f);

    *b = (struct bits){ 0 };
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128 ((const __m128i *)(const void *)(p + i));
        __m128i w = _mm_or_si128 (v, bit5);     // maps '[' to '{'

#define BITS(mask) ((uint64_t)(unsigned)_mm_movemask_epi8 (mask) << i)
        b->quote |= BITS (_mm_cmpeq_epi8 (v, quote));
        b->slash |= BITS (_mm_cmpeq_epi8 (v, slash));
        b->open |= BITS (_mm_cmpeq_epi8 (w, open));
        b->close |= BITS (_mm_cmpeq_epi8 (w, close));
        b->control |= BITS (_mm_cmpeq_epi8 (_mm_min_epu8 (v, low), v));
        b->high |= BITS (v);
#undef BITS
    }
}
#else
static inline void find_bits (const char *p, struct bits *b)
{
    *b = (struct bits){ 0 };
    for (unsigned i = 0; i < BLOCK; i++) {
        unsigned char c = (unsigned char)p[i];

        b->quote |= (uint64_t)(c == '"') << i;
        b->slash |= (uint64_t)(c == '\\') << i;
        b->open |= (uint64_t)((c | 0x20) == '{') << i;
        b->close |= (uint64_t)((c | 0x20) == '}') << i;
        b->control |= (uint64_t)(c < 0x20) << i;
        b->high |= (uint64_t)(c >= 0x80) << i;
    }
}
#endif

/* The state from one block to the next. */
struct quick {
    uint64_t in_string;         // all bits set: the block began within a string
    uint64_t escaped;           // 1: the first byte is escaped
    unsigned bottom;            // depth outside of the object
    bool object[SCAN_DEPTH_MAX + 1];    // or array, for each depth
};

/* Find the bytes after a backslash that is not itself escaped: in each run of
 * backslashes every other one counts, which a carry from the first bit of the
 * run shows.
 */
static inline uint64_t escaped_bits (uint64_t slash, uint64_t *carry)
{
    uint64_t before = *carry, start, code;

    if (LIKELY (slash == 0)) {
        *carry = 0;
        return before;
    }
    start = slash & ~before;
    code = (((start << 1) | ODD_BITS) - start) ^ ODD_BITS;
    *carry = (code & slash) >> 63;
    return code ^ (slash | before);
}

/* Bit i is the parity of bits 0 to i. */
static inline uint64_t prefix_xor (uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}

static bool fail_at (struct scan *s, unsigned i, const char *why)
{
    s->at += i;
    return scan_fail (s, "%s", why);
}

/* Handle the bracket at byte i of the block.  False at the last one, and on
 * failure.
 */
static inline bool bracket (struct scan *s, struct quick *q, unsigned i)
{
    char c = s->at[i];
    bool object = (c & 0x20) != 0;

    if (c == '{' || c == '[') {
        if (UNLIKELY (s->depth == SCAN_DEPTH_MAX))
            return fail_at (s, i, "too many nested containers");
        q->object[++s->depth] = object;
        return true;
    }
    if (UNLIKELY (q->object[s->depth] != object))
        return fail_at (s, i, object ? "'}' where ']' was expected"
                                     : "']' where '}' was expected");
    if (--s->depth > q->bottom)
        return true;
    s->at += i + 1;
    return false;
}

/* Report an invalid byte: a control character (blanks are allowed outside of
 * strings), or one outside of strings that is not ASCII.
 */
static bool odd_bytes (struct scan *s, uint64_t odd, uint64_t within)
{
    for (; odd; odd &= odd - 1) {
        unsigned i = (unsigned)__builtin_ctzll (odd);
        char c = s->at[i];

        if (within >> i & 1)
            return !fail_at (s, i, "control character in a string");
        if (c != '\n' && c != '\r' && c != '\t')
            return !fail_at (s, i, "a byte that belongs to no value");
    }
    return false;
}

/* Handle a block.  False at the end of the object, and on failure. */
static inline bool block (struct scan *s, struct quick *q)
{
    uint64_t within, todo, odd;
    struct bits b;

    find_bits (s->at, &b);
    b.quote &= ~escaped_bits (b.slash, &q->escaped);
    within = prefix_xor (b.quote) ^ q->in_string;
    todo = (b.open | b.close) & ~within;
    odd = b.control | ((b.high | b.slash) & ~within);
    if (UNLIKELY (odd != 0) && s->end - s->at < (ptrdiff_t)BLOCK)
        odd &= (UINT64_C (1) << (s->end - s->at)) - 1;
    for (; todo; todo &= todo - 1) {
        uint64_t before = (todo & (0 - todo)) - 1;

        if (UNLIKELY ((odd & before) != 0)) {
            if (odd_bytes (s, odd & before, within))
                return false;
            odd &= ~before;
        }
        if (!bracket (s, q, (unsigned)__builtin_ctzll (todo)))
            return false;
    }
    if (UNLIKELY (odd != 0) && odd_bytes (s, odd, within))
        return false;
    q->in_string = (uint64_t)((int64_t)within >> 63);
    s->at += BLOCK;
    return true;
}

bool scan_skip_quick (struct scan *s)
{
    struct quick q;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    q.in_string = q.escaped = 0;
    q.bottom = s->depth;
    do {
        scan_need (s);
        if (s->at >= s->end) {
            s->at = s->end;
            return scan_fail (s, "the file ends within an object");
        }
    } while (block (s, &q));
    if (!s->failed && s->at > s->end) {
        s->at = s->end;
        return scan_fail (s, "the file ends within an object");
    }
    return !s->failed;
}
