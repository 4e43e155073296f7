/* common/json/digits.h - the value of up to eight digits at once
 *
 * How many digits a number has varies, so a loop over them would be
 * mispredicted.
 */
#ifndef ROLLCALL_JSON_DIGITS_H
#define ROLLCALL_JSON_DIGITS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

// results in registers: the position behind a number depends on them
#define DIGITS_INLINE inline __attribute__ ((always_inline))

/* Eight bytes as numbers of 0 to 9, the first one lowest; '*others' has the
 * highest bit of each byte that is no digit, but only the first one is right.
 */
static inline uint64_t digits_load (const char *p, uint64_t *others)
{
    uint64_t x;

    memcpy (&x, p, sizeof (x));
    x = le64toh (x) ^ UINT64_C (0x3030303030303030);
    *others = (x | (x + UINT64_C (0x7676767676767676))) &
              UINT64_C (0x8080808080808080);
    return x;
}

/* The value of eight digits of digits_load: of pairs, then fours, then all. */
static inline uint64_t digits_value (uint64_t x)
{
    x = (x * 10 + (x >> 8)) & UINT64_C (0x00ff00ff00ff00ff);
    x = (x * 100 + (x >> 16)) & UINT64_C (0x0000ffff0000ffff);
    return (x * 10000 + (x >> 32)) & UINT64_C (0xffffffff);
}

/* How many digits the 8 bytes at 'p' begin with; '*ret' is their value, not set
 * if there are none.
 */
static inline unsigned digits_eight (const char *p, uint64_t *ret)
{
    uint64_t others, x = digits_load (p, &others);
    unsigned n = others ? (unsigned)__builtin_ctzll (others) / 8 : 8;

    if (n > 0)
        *ret = digits_value (x << (64 - 8 * n));        // zeros in front
    return n;
}

/* 10^n, for n of 0 to 8. */
static inline uint64_t digits_power (unsigned n)
{
    static const uint32_t powers[] = { 1, 10, 100, 1000, 10000, 100000, 1000000,
                                       10000000, 100000000 };

    return powers[n];
}

/* Add all digits at 'p' behind those of '*w', modulo 2^64.  Returns the end of
 * them; seven bytes after that are read.
 */
static DIGITS_INLINE const char *digits_take (const char *p, uint64_t *w)
{
    uint64_t others, x;
    unsigned n;

    while (x = digits_load (p, &others), others == 0) {
        *w = *w * 100000000 + digits_value (x);
        p += 8;
    }
    n = (unsigned)__builtin_ctzll (others) / 8;
    if (n > 0)
        *w = *w * digits_power (n) + digits_value (x << (64 - 8 * n));
    return p + n;
}

#endif
