/* common/base/units.h - parse and print numbers (the only file that does)
 *
 * Functions that parse return 0 and set *ret.  -EINVAL: the text is no such
 * number; -ERANGE: it is out of bounds; then *ret is unchanged.
 */
#ifndef ROLLCALL_BASE_UNITS_H
#define ROLLCALL_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parse decimal digits, without blanks, and with a sign only if 'min' is
 * negative.
 */
int units_int (const char *s, int64_t min, int64_t max, int64_t *ret);

/* Parse a rank as users name it: "2" or "rank2". */
int units_rank (const char *s, int64_t *ret);

/* Parse the decimal number in s[0..n), as strtod does in the C locale. */
int units_real (const char *s, size_t n, double *ret);

/* Parse a duration: "90" and "1.5" (seconds), "500ms", "90s", "5m", "2h". */
int units_duration_ns (const char *s, int64_t *ret_ns);

/* Print one that is not negative as people write it, so that it reads back as the
 * same: "45s", "1.5s", "5m", "2h".
 */
#define UNITS_DURATION_TEXT 40  // bytes, with the NUL
void units_duration_text (int64_t ns, char out[UNITS_DURATION_TEXT]);

/* Parse a size: "1000", "64k", "1.5G", "10GB" (powers of ten), "1GiB" (powers
 * of two).
 */
int units_bytes (const char *s, int64_t *ret);

/* Parse microseconds as a profiler prints them, exactly, to whole nanoseconds:
 * at most three fractional digits count, the rest is cut.  "1764246877386327.5"
 * gives 1764246877386327500.  A trailing tab or carriage return is allowed.
 */
int units_us_to_ns (const char *s, size_t n, int64_t *ret_ns);

/* Round 'x' to 4 decimals, ties to even, as Python's round (x, 4). */
double units_round4 (double x);

/* How many decimals are useful for a reader; none for a whole number. */
int units_decimals (double x);

/* Whether s[0..n) is an endpoint: "tcp://HOST:PORT". */
bool units_is_endpoint (const char *s, size_t n);

/* Print the shortest decimal number that reads back as 'x'; "" if it is not
 * finite.
 */
#define UNITS_REAL_TEXT 32      // bytes, with the NUL
void units_real_text (double x, char out[UNITS_REAL_TEXT]);

/* The plural ending of a noun after a number, "" or "s"; and its verb. */
const char *units_s (uint64_t n);
const char *units_are (uint64_t n);     // "is" or "are"

/* Print a size for people, in powers of ten: "4 kB", "311 MB". */
void units_bytes_text (uint64_t bytes, char out[16]);

#endif
