/* common/object_store/md5_lanes.c - MD5 of several texts at once (RFC 1321) */
#include "object_store/md5_lanes.h"

#include <endian.h>
#include <string.h>

#define BLOCK 64                // bytes

typedef uint32_t lanes __attribute__ ((vector_size (4 * MD5_LANES)));

// floor (2^32 * |sin (i + 1)|)
static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))
#define STEP(f, a, b, c, d, k, i, n)                            \
    do {                                                        \
        a += f (b, c, d) + w[(k) % 16] + sines[i];              \
        a = (a << (n) | a >> (32 - (n))) + b;                   \
    } while (0)
// 16 steps: which word comes first and next, and how far is turned
#define ROUND(f, at, first, next, n1, n2, n3, n4)                       \
    _Pragma ("GCC unroll 4") for (unsigned i = 0; i < 16; i += 4) {     \
        STEP (f, a, b, c, d, (first) + (next) * i, (at) + i, n1);       \
        STEP (f, d, a, b, c, (first) + (next) * (i + 1), (at) + i + 1, n2); \
        STEP (f, c, d, a, b, (first) + (next) * (i + 2), (at) + i + 2, n3); \
        STEP (f, b, c, d, a, (first) + (next) * (i + 3), (at) + i + 3, n4); \
    }

typedef uint32_t words[MD5_LANES];

static inline __attribute__ ((always_inline)) void
add_block (lanes s[4], const uint8_t *const data[MD5_LANES], size_t at)
{
    lanes a = s[0], b = s[1], c = s[2], d = s[3], w[16];
    uint32_t word;

    for (unsigned i = 0; i < 16; i++) {
        for (unsigned l = 0; l < MD5_LANES; l++) {
            memcpy (&word, data[l] + at + 4 * i, 4);
            w[i][l] = le32toh (word);
        }
    }
    ROUND (F, 0, 0, 1, 7, 12, 17, 22)
    ROUND (G, 16, 1, 5, 5, 9, 14, 20)
    ROUND (H, 32, 5, 3, 4, 11, 16, 23)
    ROUND (I, 48, 0, 7, 6, 10, 15, 21)
    s[0] += a;
    s[1] += b;
    s[2] += c;
    s[3] += d;
}

#define ADD(name)                                                       \
    static void name (words state[4], const uint8_t *const data[],      \
                      size_t n)                                         \
    {                                                                   \
        lanes s[4];                                                     \
                                                                        \
        memcpy (s, state, sizeof (s));                                  \
        for (size_t at = 0; at < n; at += BLOCK)                        \
            add_block (s, data, at);                                    \
        memcpy (state, s, sizeof (s));                                  \
    }

ADD (add_any)
#ifdef __x86_64__
__attribute__ ((target ("avx2")))
ADD (add_avx2)
#else
#define add_avx2 add_any
#endif

static bool has_avx2 (void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports ("avx2");
#else
    return false;
#endif
}

void md5_lanes_init (struct md5_lanes *m)
{
    static const uint32_t first[4] = { 0x67452301, 0xefcdab89, 0x98badcfe,
                                       0x10325476 };

    for (unsigned i = 0; i < 4; i++) {
        for (unsigned l = 0; l < MD5_LANES; l++)
            m->state[i][l] = first[i];
    }
    m->size = 0;
}

void md5_lanes_add (struct md5_lanes *m, const uint8_t *const data[MD5_LANES],
                    size_t n)
{
    if (has_avx2 ())
        add_avx2 (m->state, data, n);
    else
        add_any (m->state, data, n);
    m->size += n;
}

void md5_lanes_end (struct md5_lanes *m, struct md5 out[MD5_LANES])
{
    uint64_t bits = htole64 (m->size << 3);
    uint8_t end[BLOCK] = { 0x80 };
    const uint8_t *ends[MD5_LANES];

    memcpy (end + BLOCK - 8, &bits, 8);
    for (unsigned l = 0; l < MD5_LANES; l++)
        ends[l] = end;
    md5_lanes_add (m, ends, BLOCK);
    for (unsigned l = 0; l < MD5_LANES; l++) {
        for (unsigned i = 0; i < 4; i++) {
            uint32_t word = htole32 (m->state[i][l]);

            memcpy (out[l].bytes + 4 * i, &word, 4);
        }
    }
}
