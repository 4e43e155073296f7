/* common/json/scan_number.h - convert JSON numbers to doubles
 *
 * Private to the scanner.  Results are correctly rounded (to nearest, ties to
 * even), without strtod for what profilers write: up to 19 digits and small
 * exponents.
 */
#ifndef ROLLCALL_JSON_SCAN_NUMBER_H
#define ROLLCALL_JSON_SCAN_NUMBER_H

#include "json/digits.h"

#include <stdbool.h>
#include <stddef.h>

#define SCAN_PLAIN_DIGITS 19    // that always fit 64 bits

struct scan_number {
    double value;
    bool slow;                  // 'value' is not set: use units_real
    const char *why;            // on failure, what is wrong with it
};

/* Parse the number at 'p', which ends at the first byte that cannot continue
 * it; eight bytes after it must be readable.  Returns the end; NULL if it is
 * malformed, with the reason in n->why.
 */
const char *scan_number (const char *p, struct scan_number *n);

/* Parse digits, optionally with a point and more digits, that follow '*w' and
 * '*places' of 0.  NULL as scan_number, with '*why' if there is more to say.
 */
static DIGITS_INLINE const char *
scan_take_decimal (const char *whole, uint64_t *w, int *places,
                   ptrdiff_t *digits, const char **why)
{
    const char *p = digits_take (whole, w);

    *digits = p - whole;
    if (*digits == 0 || (*whole == '0' && *digits > 1))
        return NULL;
    if (*p == '.') {
        const char *fraction = ++p;

        p = digits_take (p, w);
        *places = (int)(p - fraction);
        *digits += *places;
        if (p == fraction) {
            *why = "a number without digits after its point";
            return NULL;
        }
    }
    return p;
}

/* Parse a usual number into *w / 10^*places.  NULL if it has a sign, an
 * exponent or more than 19 digits, or is malformed: use scan_number.
 */
static DIGITS_INLINE const char *
scan_plain (const char *p, uint64_t *w, unsigned *places)
{
    const char *ignored;
    ptrdiff_t digits;
    int n = 0;

    *w = 0;
    p = scan_take_decimal (p, w, &n, &digits, &ignored);
    *places = (unsigned)n;
    return p && digits <= SCAN_PLAIN_DIGITS && (*p | 32) != 'e' ? p : NULL;
}

/* Compute w * 10^e.  *ok is false if a slower way is needed. */
double scan_decimal (uint64_t w, int e, bool *ok);

#endif
