// Numbers: the generator's random values, the hash of group names, and
// decimal text exactly as Python's repr writes a float.

#include "maker.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN 0x9e3779b97f4a7c15u // 2^64 / golden ratio
#define INV_PI 0x517cc1b727220a95u // 2^64 / pi

#define HASH_HIGH 29u
#define HASH_LOW 131u
#define HALF_BITS 32

#define FAST_SCALE 1000000 // six decimals: bytes as MB
#define FAST_DIGITS 6
#define FAST_MIN 1e-4 // below it Python writes an exponent
#define FAST_MAX 1e9  // 15 digits are always exact

#define MIN_DIGITS 15 // finds shorter ones too (normal x)
#define MAX_DIGITS 17
#define FIRST_BIG_EXPONENT 16 // 1e16: Python turns to exponents
#define LAST_SMALL_EXPONENT (-5)
#define NUMBER_ROOM 400

// Scrambles x; every bit of x changes about half of the result.
uint64_t mix (uint64_t x)
{
    x ^= x >> 30;
    x *= GOLDEN;
    x ^= x >> 27;
    x *= INV_PI;
    x ^= x >> 31;
    x *= GOLDEN;
    x ^= x >> 29;
    return x;
}

// The counter-th number of the stream named by key.  Having no state lets
// every process compute any rank's numbers, in any order.
uint64_t draw (uint64_t key, uint64_t counter)
{
    return mix (key + (counter + 1) * GOLDEN);
}

void hash_group (const char *name, char *text, size_t room)
{
    uint32_t high = 0;
    uint32_t low = 0;
    for (const char *c = name; *c != '\0'; c++) {
        high = high * HASH_HIGH + (unsigned char)*c;
        low = low * HASH_LOW + (unsigned char)*c;
    }
    uint64_t hash = (uint64_t)high << HALF_BITS | low;
    snprintf (text, room, "%" PRIu64, hash);
}

// glibc rounds the exact binary value, ties to even, as Python's round does.
double round4 (double x)
{
    char buf[NUMBER_ROOM];
    snprintf (buf, sizeof buf, "%.4f", x);
    return strtod (buf, NULL);
}

static size_t put_unsigned (char *buf, uint64_t n)
{
    char digits[24];
    size_t used = 0;
    do {
        digits[used++] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    for (size_t i = 0; i < used; i++)
        buf[i] = digits[used - 1 - i];
    return used;
}

// Most numbers made here are whole millionths.  Two decimals of at most 15
// digits never give the same double, so if n / 1e6 is x its digits are the
// shortest text.
static size_t format_fast (char *buf, double x)
{
    if (!(x >= FAST_MIN && x < FAST_MAX))
        return 0;
    long long n = llrint (x * FAST_SCALE);
    if ((double)n / FAST_SCALE != x)
        return 0;
    size_t used = put_unsigned (buf, (uint64_t)n / FAST_SCALE);
    uint64_t rest = (uint64_t)n % FAST_SCALE;
    buf[used++] = '.';
    size_t first = used;
    for (size_t i = FAST_DIGITS; i-- > 0; rest /= 10)
        buf[first + i] = (char)('0' + rest % 10);
    used += FAST_DIGITS;
    while (used > first + 1 && buf[used - 1] == '0')
        used--;
    buf[used] = '\0';
    return used;
}

// Python's layout of a number given as digits d.ddd and its exponent.
static size_t lay_out (char *buf, const char *digits, int count, int exponent)
{
    if (exponent <= LAST_SMALL_EXPONENT || exponent >= FIRST_BIG_EXPONENT) {
        int used = sprintf (buf, "%c%s%.*se%c%02d", digits[0],
                            count > 1 ? "." : "", count - 1, digits + 1,
                            exponent < 0 ? '-' : '+', abs (exponent));
        return (size_t)used;
    }
    int used = 0;
    if (exponent < 0) {
        used = sprintf (buf, "0.");
        for (int i = exponent + 1; i < 0; i++)
            buf[used++] = '0';
        used += sprintf (buf + used, "%.*s", count, digits);
        return (size_t)used;
    }
    for (int i = 0; i <= exponent; i++)
        buf[used++] = i < count ? digits[i] : '0';
    buf[used++] = '.';
    if (count <= exponent + 1)
        buf[used++] = '0';
    for (int i = exponent + 1; i < count; i++)
        buf[used++] = digits[i];
    buf[used] = '\0';
    return (size_t)used;
}

static size_t format_slow (char *buf, double x)
{
    char text[40];
    for (int precision = MIN_DIGITS; precision <= MAX_DIGITS; precision++) {
        snprintf (text, sizeof text, "%.*e", precision - 1, x);
        if (strtod (text, NULL) == x)
            break;
    }
    char digits[MAX_DIGITS + 2];
    int count = 0;
    const char *c = text;
    for (; *c != 'e'; c++) {
        if (*c != '.')
            digits[count++] = *c;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = '\0';
    return lay_out (buf, digits, count, (int)strtol (c + 1, NULL, 10));
}

// Writes x as Python's repr does; buf needs 32 bytes.
size_t format_double (char *buf, double x)
{
    if (x == 0.0) {
        strcpy (buf, "0.0");
        return 3;
    }
    if (x < 0) {
        buf[0] = '-';
        return 1 + format_double (buf + 1, -x);
    }
    size_t used = format_fast (buf, x);
    return used > 0 ? used : format_slow (buf, x);
}

void put_double (FILE *f, double x)
{
    char buf[NUMBER_ROOM];
    size_t used = format_double (buf, x);
    fwrite_unlocked (buf, 1, used, f);
}

// A sum nothing was added to is the integer 0 in the real files.
void put_number (FILE *f, double x, bool is_float)
{
    if (is_float)
        put_double (f, x);
    else
        putc_unlocked ('0', f);
}
