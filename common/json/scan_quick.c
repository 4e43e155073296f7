/* common/json/scan_quick.c - skip an object, 64 bytes at a time
 *
 * Most of a trace is arguments that are not needed: shapes, call stacks.  For
 * each block, masks with a bit for each byte show where quotes, escapes and
 * brackets are; a prefix XOR over the quotes shows what is inside strings.
 * Only brackets outside of strings are handled one by one.
 */
#include "json/block_bits.h"
#include "json/scan.h"

#define ODD_BITS UINT64_C (0xaaaaaaaaaaaaaaaa)

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)

#define INLINE inline __attribute__ ((always_inline))

_Static_assert (SCAN_PAD >= BLOCK_BYTES, "a block may be behind the last byte");

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

static bool fail_at (struct scan *s, unsigned i, const char *why)
{
    s->at += i;
    return scan_fail (s, "%s", why);
}

/* Handle the bracket at byte i of the block.  False at the last one, and on
 * failure.
 */
static INLINE bool bracket (struct scan *s, struct quick *q, unsigned i)
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
static INLINE bool block (struct scan *s, struct quick *q,
                          struct block_bits b)
{
    uint64_t within, todo, odd;

    b.quote &= ~escaped_bits (b.slash, &q->escaped);
    within = block_prefix_xor (b.quote) ^ q->in_string;
    todo = (b.open | b.close) & ~within;
    odd = b.control | ((b.high | b.slash) & ~within);
    if (UNLIKELY (odd != 0) && s->end - s->at < (ptrdiff_t)BLOCK_BYTES)
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
    s->at += BLOCK_BYTES;
    return true;
}

static const struct block_brackets brackets = { '{', '}', 0x20 };

#define SKIP(way, get_bits) \
static bool way (struct scan *s, struct quick *q) \
{ \
    do { \
        scan_need (s); \
        if (s->at >= s->end) { \
            s->at = s->end; \
            return scan_fail (s, "the file ends within an object"); \
        } \
    } while (block (s, q, get_bits (s->at, brackets))); \
    return !s->failed; \
}

#ifdef __SSE2__
SKIP (skip_sse2, block_bits_sse2)
BLOCK_AVX2
SKIP (skip_avx2, block_bits_avx2)

static bool skip_object (struct scan *s, struct quick *q)
{
    return block_has_avx2 () ? skip_avx2 (s, q) : skip_sse2 (s, q);
}
#else
SKIP (skip_object, block_bits_plain)
#endif

bool scan_skip_quick (struct scan *s)
{
    struct quick q;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    q.in_string = q.escaped = 0;
    q.bottom = s->depth;
    if (skip_object (s, &q) && s->at > s->end) {
        s->at = s->end;
        return scan_fail (s, "the file ends within an object");
    }
    return !s->failed;
}
