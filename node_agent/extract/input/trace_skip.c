/* node_agent/extract/input/trace_skip.c - find the end of a container in the
 * JSON of a trace
 */
#include "extract/input/trace_skip.h"

_Static_assert (TRACE_PAD >= BLOCK_BYTES, "a block may begin at the last byte");

#define INLINE inline __attribute__ ((always_inline))
#define LIKELY(x) __builtin_expect (!!(x), 1)

/* How far it is. */
struct container {
    const char *at, *end;
    char open, close;
    uint64_t depth;
    bool within;                // a string
};

/* Find the first quote, 'open', 'close' or zero. */
static const char *bracket_stop (const struct container *s)
{
    const char *p = s->at;

    while (*p && *p != '"' && *p != s->open && *p != s->close)
        p++;
    return p;
}

/* Go on behind the next quote or bracket.  False: it is damaged. */
static bool trace_skip_step (struct container *s)
{
    const char *quote;

    if (s->within) {
        if (!(quote = trace_closing_quote (s->at, s->end)))
            return false;
        s->within = false;
        s->at = quote + 1;
        return true;
    }
    s->at = bracket_stop (s);
    if (s->at >= s->end || *s->at == '\0')
        return false;
    s->within = *s->at == '"';
    s->depth += *s->at == s->open;
    s->depth -= *s->at == s->close;
    s->at++;
    return true;
}

/* Count the brackets of a block.  Returns the position after the one that ends
 * the container; NULL: it goes on.
 */
static INLINE const char *count (struct container *s, uint64_t open,
                                 uint64_t close)
{
    for (uint64_t both = open | close; both; both &= both - 1) {
        if (open & both & (0 - both))
            s->depth++;
        else if (--s->depth == 0)
            return s->at + __builtin_ctzll (both) + 1;
    }
    return NULL;
}

/* Process a block up to its first byte that is left to trace_skip_step.
 * '*left': there is one, and s->at is there.  Returns as count does.
 */
static INLINE const char *take_block (struct container *s,
                                      struct block_bits b, bool *left)
{
    uint64_t inside = block_prefix_xor (b.quote) ^ (0 - (uint64_t)s->within);
    uint64_t closing = b.quote & ~inside, odd;
    unsigned n = BLOCK_BYTES;
    const char *found;

    // a quote at the end of the block is followed by the byte behind it
    odd = closing & ~(b.after >> 1);
    if (odd >> 63 && block_is_after (s->at[BLOCK_BYTES]))
        odd &= ~(UINT64_C (1) << 63);
    odd |= b.slash | (b.control & inside) | (b.zero & ~inside);
    b.open &= ~inside;
    b.close &= ~inside;
    if ((*left = odd != 0)) {
        n = (unsigned)__builtin_ctzll (odd);
        b.open &= (odd & (0 - odd)) - 1;
        b.close &= (odd & (0 - odd)) - 1;
        // at a quote that closes nothing it is within the string
        s->within = n > 0 ? inside >> (n - 1) & 1 : s->within;
    } else {
        s->within = inside >> 63;
    }
    if (LIKELY ((b.open | b.close) == 0) || !(found = count (s, b.open,
                                                             b.close))) {
        s->at += n;
        return NULL;
    }
    return found;
}

#define SKIP(way, get_bits) \
static const char *way (struct container *s) \
{ \
    const struct block_brackets br = { s->open, s->close, 0 }; \
    const char *found; \
    bool left; \
    \
    while (s->at < s->end) { \
        if ((found = take_block (s, get_bits (s->at, br), &left))) \
            return found <= s->end ? found : NULL; \
        if (left && (s->at >= s->end || !trace_skip_step (s))) \
            return NULL; \
        if (s->depth == 0) \
            return s->at; \
    } \
    return NULL; \
}

SKIP (skip_plain, block_bits_plain)
#ifdef __SSE2__
SKIP (skip_sse2, block_bits_sse2)
BLOCK_AVX2
SKIP (skip_avx2, block_bits_avx2)
#endif

static struct container begin (const char *p, const char *end)
{
    return (struct container){ .at = p + 1, .end = end, .open = *p,
                              .close = *p == '{' ? '}' : ']', .depth = 1 };
}

bool trace_skip_has (enum trace_skip_way way)
{
#ifdef __SSE2__
    return way == TRACE_SKIP_AVX2 ? block_has_avx2 () : way < TRACE_SKIP_AVX2;
#else
    return way == TRACE_SKIP_PLAIN;
#endif
}

const char *trace_skip_in (enum trace_skip_way way, const char *p,
                           const char *end)
{
    struct container s = begin (p, end);

#ifdef __SSE2__
    if (way == TRACE_SKIP_AVX2)
        return skip_avx2 (&s);
    if (way == TRACE_SKIP_SSE2)
        return skip_sse2 (&s);
#endif
    (void)way;
    return skip_plain (&s);
}

const char *trace_skip (const char *p, const char *end)
{
    enum trace_skip_way way = TRACE_SKIP_PLAIN;

#ifdef __SSE2__
    way = block_has_avx2 () ? TRACE_SKIP_AVX2 : TRACE_SKIP_SSE2;
#endif
    return trace_skip_in (way, p, end);
}
