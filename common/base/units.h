/* common/base/units.h - numbers from text (the only file that does this)
 *
 * All return 0 and set *ret, or -EINVAL (not such a number) or -ERANGE (out
 * of bounds) and leave *ret alone.
 */
#ifndef ROLLCALL_BASE_UNITS_H
#define ROLLCALL_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Decimal digits only: no sign unless 'min' is negative, no blanks. */
int units_int (const char *s, int64_t min, int64_t max, int64_t *ret);

/* The decimal number in s[0..n), as strtod reads it in the C locale. */
int units_real (const char *s, size_t n, double *ret);

/* Seconds: "90", "1.5", "500ms", "90s", "5m", "2h". */
int units_duration_ns (const char *s, int64_t *ret_ns);

/* Bytes: "1000", "64k", "1.5G", "10GB" (powers of ten), "1GiB" (of two). */
int units_bytes (const char *s, int64_t *ret);

/* Microseconds as printed by a profiler, to whole nanoseconds, done on the
 * decimal text: at most three fractional digits count, the rest is cut.
 * "1764246877386327.5" gives 1764246877386327500.  A trailing tab or carriage
 * return is allowed.
 */
int units_us_to_ns (const char *s, size_t n, int64_t *ret_ns);

/* 'x' rounded to 4 decimals, ties to even, as Python's round (x, 4). */
double units_round4 (double x);

/* How many decimals are readable; none for a whole number. */
int units_decimals (double x);

/* The shortest decimal number that reads back as 'x'; "" if it is not finite.
 */
#define UNITS_REAL_TEXT 32      // bytes, with the NUL
void units_real_text (double x, char out[UNITS_REAL_TEXT]);

/* The plural ending of a noun after a number, "" or "s"; and its verb. */
const char *units_s (uint64_t n);
const char *units_are (uint64_t n);     // "is" or "are"

/* "4 KiB", "311 MB" ... for people; powers of ten. */
void units_bytes_text (uint64_t bytes, char out[16]);

#endif
