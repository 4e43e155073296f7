/* common/json/scan_number.h - JSON numbers to doubles
 *
 * Private to the scanner.  Correctly rounded (to nearest, ties to even) without
 * strtod for what profilers write: up to 19 digits and small exponents.
 */
#ifndef ROLLCALL_JSON_SCAN_NUMBER_H
#define ROLLCALL_JSON_SCAN_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

struct scan_number {
    double value;
    bool slow;                  // 'value' is not set: ask units_real
    const char *why;            // on failure, what is wrong with it
};

/* The number at 'p', which ends at the first byte that cannot continue it and
 * has at least eight readable bytes behind it.  Returns where it ends; NULL,
 * with n->why, if it is malformed.
 */
const char *scan_number (const char *p, struct scan_number *n);

/* The same for the usual number, taken apart: *w / 10^*places.  NULL if it has
 * a sign, an exponent or more than 19 digits, or is malformed.
 */
const char *scan_plain (const char *p, uint64_t *w, unsigned *places);

/* w * 10^e.  *ok is false where a slower way is needed. */
double scan_decimal (uint64_t w, int e, bool *ok);

#endif
