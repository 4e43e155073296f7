/* common/json/scan_number.c - convert JSON numbers to doubles */
#include "json/scan_number.h"

#include <stddef.h>
#include <string.h>

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)

#define EXACT_MAX (UINT64_C (1) << 53)  // a double has all integers up to here

#define POW5_MAX 27             // 5^27 is the largest below 2^63

static const uint64_t pow5[POW5_MAX + 1] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u,
    9765625u, 48828125u, 244140625u, 1220703125u, 6103515625u, 30517578125u,
    152587890625u, 762939453125u, 3814697265625u, 19073486328125u,
    95367431640625u, 476837158203125u, 2384185791015625u,
    11920928955078125u, 59604644775390625u, 298023223876953125u,
    1490116119384765625u, 7450580596923828125u,
};

static const double pow10_exact[] = {   // these are exact as doubles
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
};

/* Compute w / 10^q for w > 0.  One division of 128 by 64 bits gives at least 63
 * bits of the quotient, and the remainder shows whether it is exact.
 */
static double divide_pow10 (uint64_t w, int q)
{
    __extension__ typedef unsigned __int128 uint128;
    int sw = __builtin_clzll (w), sd = __builtin_clzll (pow5[q]);
    uint64_t n = w << sw, d = pow5[q] << sd;
    int up = n >= d ? 63 : 64;          // the quotient must fit 64 bits
    uint128 num = (uint128)n << up;
    uint64_t quotient = (uint64_t)(num / d);
    bool rest = (uint64_t)num != quotient * d;
    uint64_t m = quotient >> 11, low = quotient & 0x7ff;
    int64_t e = 11 - up + sd - sw - q;
    uint64_t bits = (uint64_t)(1023 + e) << 52;
    double scale;

    if (low > 0x400 || (low == 0x400 && (rest || (m & 1))))
        m++;
    memcpy (&scale, &bits, sizeof (scale));
    return (double)m * scale;
}

double scan_decimal (uint64_t w, int e, bool *ok)
{
    *ok = true;
    if (w <= EXACT_MAX) {       // both operands are exact, so it is rounded once
        if (e >= 0 && e <= 22)
            return (double)w * pow10_exact[e];
        if (e < 0 && e >= -22)
            return (double)w / pow10_exact[-e];
    }
    if (w > 0 && e < 0 && e >= -POW5_MAX)
        return divide_pow10 (w, -e);
    *ok = false;
    return 0;
}

/* Parse the exponent after an 'e'.  NULL: there are no digits. */
static const char *take_exponent (const char *p, int *ret)
{
    bool negative = *p == '-';
    int e = 0;

    if (*p == '-' || *p == '+')
        p++;
    if ((unsigned)(*p - '0') > 9)
        return NULL;
    for (unsigned digit; (digit = (unsigned)(*p - '0')) <= 9; p++) {
        if (e < 10000)
            e = e * 10 + (int)digit;
    }
    *ret += negative ? -e : e;
    return p;
}

const char *scan_number (const char *start, struct scan_number *n)
{
    ptrdiff_t digits;
    uint64_t w = 0;
    int places = 0, e = 0;
    const char *p;
    bool ok;

    n->why = NULL;
    p = scan_take_decimal (start + (*start == '-'), &w, &places, &digits,
                           &n->why);
    if (UNLIKELY (!p))
        return NULL;
    if (UNLIKELY ((*p | 32) == 'e') && !(p = take_exponent (p + 1, &e))) {
        n->why = "a number without digits in its exponent";
        return NULL;
    }
    e -= places;
    ok = w <= EXACT_MAX && e <= 0 && e >= -22;  // nearly all
    n->value = ok ? (double)w / pow10_exact[-e] : scan_decimal (w, e, &ok);
    // leading zeros count, too, which is rare
    n->slow = digits > SCAN_PLAIN_DIGITS || !ok;
    if (*start == '-')
        n->value = -n->value;
    return p;
}
