/* common/json/scan_number.h - convert JSON numbers to doubles
 *
 * Private to the scanner.  Results are correctly rounded (to nearest, ties to
 * even), without strtod for what profilers write: up to 19 digits and small
 * exponents.
 */
#ifndef ROLLCALL_JSON_SCAN_NUMBER_H
#define ROLLCALL_JSON_SCAN_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

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

/* Parse a usual number into *w / 10^*places.  NULL if it has a sign, an
 * exponent or more than 19 digits, or is malformed: use scan_number.
 */
const char *scan_plain (const char *p, uint64_t *w, unsigned *places);

/* Compute w * 10^e.  *ok is false if a slower way is needed. */
double scan_decimal (uint64_t w, int e, bool *ok);

#endif
