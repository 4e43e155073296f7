/* common/base/units.c - parse and print numbers */
#include "base/units.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REAL_TEXT_MAX 1100      // a double needs fewer significant digits
#define ROUND4_QUICK 4e5        // 10^4 of it: 2^32, with half an ulp of 2^-21

#define REAL_WHOLE_MAX 1e15     // every whole double below has 15 digits
#define REAL_FIXED_MIN 1e-4     // printf's %g prints less with an exponent

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale (void)
{
    c_locale = newlocale (LC_ALL_MASK, "C", (locale_t)0);
}

static double real_in_c_locale (const char *s, char **end)
{
    (void)pthread_once (&c_locale_once, make_c_locale);
    return c_locale ? strtod_l (s, end, c_locale) : strtod (s, end);
}

int units_int (const char *s, int64_t min, int64_t max, int64_t *ret)
{
    bool negative = min < 0 && s[0] == '-';
    const char *p = s + (negative ? 1 : 0);
    uint64_t v = 0, limit = negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    int64_t n;

    if (*p == '\0')
        return -EINVAL;
    for (; *p; p++) {
        unsigned digit = (unsigned)(*p - '0');

        if (digit > 9)
            return -EINVAL;
        if (v > (limit - digit) / 10)
            return -ERANGE;
        v = v * 10 + digit;
    }
    n = negative ? (int64_t)(0 - v) : (int64_t)v;
    if (n < min || n > max)
        return -ERANGE;
    *ret = n;
    return 0;
}

int units_rank (const char *s, int64_t *ret)
{
    return units_int (strncmp (s, "rank", 4) == 0 ? s + 4 : s, 0, INT64_MAX,
                      ret);
}

int units_real (const char *s, size_t n, double *ret)
{
    char text[REAL_TEXT_MAX];
    char *end;
    double v;

    if (n == 0 || n >= sizeof (text))
        return -EINVAL;
    memcpy (text, s, n);
    text[n] = '\0';
    // refuse inf, nan, hexadecimal, blanks, NUL, and a leading "+"
    if (strspn (text, "+-.0123456789eE") != n || text[0] == '+')
        return -EINVAL;
    v = real_in_c_locale (text, &end);
    if (*end != '\0' || end == text)
        return -EINVAL;
    if (!isfinite (v))
        return -ERANGE;
    *ret = v;
    return 0;
}

int units_duration_ns (const char *s, int64_t *ret_ns)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {
        { "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 },
        { "", 1e9 },
    };
    size_t n = strspn (s, "0123456789.");
    double v;
    int rc = units_real (s, n, &v);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof (units) / sizeof (units[0]); i++) {
        if (strcmp (s + n, units[i].suffix) == 0) {
            if (v * units[i].ns > 1e18)         // 1e18 ns are 31 years
                return -ERANGE;
            *ret_ns = (int64_t)(v * units[i].ns);
            return 0;
        }
    }
    return -EINVAL;
}

void units_duration_text (int64_t ns, char out[UNITS_DURATION_TEXT])
{
    static const struct {
        const char *suffix;
        int64_t ns;
    } units[] = {
        { "h", INT64_C (3600000000000) }, { "m", INT64_C (60000000000) },
        { "s", INT64_C (1000000000) },
    };
    size_t n;

    for (size_t i = 0; i < sizeof (units) / sizeof (units[0]); i++) {
        if (ns > 0 && ns % units[i].ns == 0) {
            (void)snprintf (out, UNITS_DURATION_TEXT, "%lld%s",
                            (long long)(ns / units[i].ns), units[i].suffix);
            return;
        }
    }
    (void)snprintf (out, UNITS_DURATION_TEXT, "%lld.%09lld",
                    (long long)(ns / units[2].ns),
                    (long long)(ns % units[2].ns));
    n = strlen (out);
    while (out[n - 1] == '0')
        n--;
    n -= out[n - 1] == '.';
    (void)snprintf (out + n, UNITS_DURATION_TEXT - n, "s");
}

int units_bytes (const char *s, int64_t *ret)
{
    static const char letters[] = "kMGTPE";
    size_t n = strspn (s, "0123456789.");
    const char *unit = s + n, *letter;
    double v;
    int rc = units_real (s, n, &v);

    if (rc < 0)
        return rc;
    if (*unit && *unit != 'B') {
        letter = strchr (letters, *unit == 'K' ? 'k' : *unit);
        if (!letter)
            return -EINVAL;
        unit++;
        for (const char *p = letters; p <= letter; p++)
            v *= *unit == 'i' ? 1024 : 1000;
        unit += *unit == 'i';
    }
    unit += *unit == 'B';
    if (*unit)
        return -EINVAL;
    if (v >= 9e18)
        return -ERANGE;
    *ret = (int64_t)v;
    return 0;
}

int units_us_to_ns (const char *s, size_t n, int64_t *ret_ns)
{
    char digits[24];
    size_t used = 0, i = 0, fraction = 0;

    while (n > 0 && (s[n - 1] == '\t' || s[n - 1] == '\r'))
        n--;
    for (; i < n && s[i] != '.'; i++) {
        if (s[i] < '0' || s[i] > '9' || used >= 16)
            return -EINVAL;
        digits[used++] = s[i];
    }
    if (used == 0)
        return -EINVAL;
    for (i++; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return -EINVAL;
        if (fraction < 3) {
            digits[used++] = s[i];
            fraction++;
        }
    }
    for (; fraction < 3; fraction++)
        digits[used++] = '0';
    digits[used] = '\0';
    return units_int (digits, 0, INT64_MAX, ret_ns);
}

double units_round4 (double x)
{
    char text[400];

    // the error of x * 10^4 is below 10^-6, so its nearest integer is that of
    // the exact product unless a tie is as near; the division rounds once, as
    // strtod does
    if (x >= 0 && x < ROUND4_QUICK) {
        double scaled = x * 1e4, whole = nearbyint (scaled);

        if (fabs (fabs (scaled - whole) - 0.5) > 1e-6)
            return whole / 1e4;
    }
    // glibc's printf rounds the exact binary value, ties to even
    (void)snprintf (text, sizeof (text), "%.4f", x);
    for (char *p = text; *p; p++) {
        if (*p == ',')          // the locale may have a decimal comma
            *p = '.';
    }
    return real_in_c_locale (text, NULL);
}

int units_decimals (double x)
{
    double size = fabs (x);

    if (size >= 1000 || !(x < trunc (x) || x > trunc (x)))
        return 0;
    return size >= 10 ? 1 : size >= 0.1 ? 2 : 4;
}

/* With as many digits, at least. */
static char *put_digits (char *at, uint64_t n, unsigned least)
{
    char digits[20];
    unsigned k = 0;

    do
        digits[k++] = (char)('0' + n % 10);
    while ((n /= 10) > 0 || k < least);
    while (k > 0)
        *at++ = digits[--k];
    return at;
}

/* Print a number of at most 15 digits, as most are, 20 times as fast as printf:
 * an integer divided by a power of ten, both of which are exact doubles.
 * Decimals of 15 digits are different doubles, so this is the only one.
 */
static bool print_few_digits (double x, char *out)
{
    double size = fabs (x), scale = 1, whole;
    unsigned decimals = 0;
    uint64_t n;

    if (size > 0 && size < REAL_FIXED_MIN)
        return false;           // printed with an exponent
    for (;; scale *= 10, decimals++) {
        if (size * scale >= REAL_WHOLE_MAX)
            return false;
        n = (uint64_t)(size * scale + 0.5);
        whole = (double)n / scale;
        if (!(whole < size) && !(whole > size))
            break;
    }
    if (x < 0)
        *out++ = '-';
    out = put_digits (out, n / (uint64_t)scale, 1);
    if (decimals > 0) {
        *out++ = '.';
        out = put_digits (out, n % (uint64_t)scale, decimals);
    }
    *out = '\0';
    return true;
}

void units_real_text (double x, char out[UNITS_REAL_TEXT])
{
    out[0] = '\0';
    if (!isfinite (x) || print_few_digits (x, out))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf (out, UNITS_REAL_TEXT, "%.*g", digits, x);
        double back = real_in_c_locale (out, NULL);

        if (!(back < x) && !(back > x))
            return;
    }
}

const char *units_s (uint64_t n)
{
    return n == 1 ? "" : "s";
}

const char *units_are (uint64_t n)
{
    return n == 1 ? "is" : "are";
}

void units_bytes_text (uint64_t bytes, char out[16])
{
    static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB",
                                         "EB" };
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 999.5 && u + 1 < sizeof (units) / sizeof (units[0])) {
        v /= 1000;
        u++;
    }
    (void)snprintf (out, 16, u && v < 9.95 ? "%.1f %s" : "%.0f %s", v,
                    units[u]);
}

/* Whether it is a host.  An address in brackets may contain colons. */
static bool is_host (const char *s, size_t n)
{
    if (n > 0 && s[0] == '[')
        return n > 2 && s[n - 1] == ']';
    return n > 0 && !memchr (s, ':', n) && !memchr (s, '/', n);
}

bool units_is_endpoint (const char *s, size_t n)
{
    static const char prefix[] = "tcp://";
    const size_t head = sizeof (prefix) - 1;
    size_t at = n;              // offset of the port
    char port[6];               // up to 65535
    int64_t number;

    while (at > 0 && s[at - 1] != ':')
        at--;
    if (at <= head || strncmp (s, prefix, head) != 0 ||
        !is_host (s + head, at - 1 - head) || n - at >= sizeof (port))
        return false;
    memcpy (port, s + at, n - at);
    port[n - at] = '\0';
    return units_int (port, 0, 65535, &number) == 0;
}
