/* common/json/scan.c - read JSON of any size in one pass
 *
 * Every function first ensures that SCAN_AHEAD bytes, or the end of the input,
 * are in the buffer.  Shorter tokens need no further check: the zeros after the
 * last byte stop every loop.
 */
#include "json/scan.h"

#include "base/cmp.h"
#include "base/units.h"
#include "base/utf8.h"
#include "json/scan_number.h"
#include "json/text_end.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define LIKELY(x) __builtin_expect (!!(x), 1)
#define UNLIKELY(x) __builtin_expect (!!(x), 0)

uint64_t scan_offset (const struct scan *s)
{
    return s->offset + (uint64_t)(s->at - s->buf);
}

bool scan_fail (struct scan *s, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX / 2];
    va_list ap;

    if (s->failed)
        return false;
    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    err_set (&s->err, EBADMSG, "byte %llu: %s",
             (unsigned long long)scan_offset (s), text);
    s->failed = true;
    return false;
}

static inline void need (struct scan *s)
{
    scan_need (s);
}

static bool is_space (char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline void skip_space (struct scan *s)
{
    need (s);
    while (UNLIKELY (is_space (*s->at))) {
        s->at++;
        need (s);               // SCAN_AHEAD bytes after the blanks, too
    }
}

static bool fail_expected (struct scan *s, const char *what)
{
    if (s->at >= s->end)
        return scan_fail (s, "the file ends where %s was expected", what);
    if ((unsigned char)*s->at < ' ' || (unsigned char)*s->at >= 127)
        return scan_fail (s, "character 0x%02x where %s was expected",
                          (unsigned char)*s->at, what);
    return scan_fail (s, "'%c' where %s was expected", *s->at, what);
}

/* Read a character that must come next. */
static inline bool scan_take (struct scan *s, char c, const char *what)
{
    if (UNLIKELY (s->failed))
        return false;
    skip_space (s);
    if (UNLIKELY (*s->at != c || s->at >= s->end))
        return fail_expected (s, what);
    s->at++;
    return true;
}

char scan_peek_on (struct scan *s)
{
    if (s->failed)
        return '\0';
    skip_space (s);
    return s->at < s->end ? *s->at : '\0';
}

static bool scan_enter (struct scan *s, char c, const char *what)
{
    if (!scan_take (s, c, what))
        return false;
    if (LIKELY (++s->depth <= SCAN_DEPTH_MAX))
        return true;
    s->at--;
    return scan_fail (s, "more than %u nested containers", SCAN_DEPTH_MAX);
}

bool scan_object (struct scan *s)
{
    return scan_enter (s, '{', "an object");
}

bool scan_array (struct scan *s)
{
    return scan_enter (s, '[', "an array");
}

/* ---- strings ---- */

static int hex4 (const char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        char c = p[i];

        if (c >= '0' && c <= '9')
            v = v * 16 + c - '0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            v = v * 16 + (c | 32) - 'a' + 10;
        else
            return -1;
    }
    return v;
}

/* Decode the escape at s->at, which is the backslash, into 'out'.  Returns the
 * number of bytes, 0 on failure.
 */
static size_t take_escape (struct scan *s, char *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *p = s->at + 1;
    const char *which = *p ? strchr (from, *p) : NULL;
    int c, low;

    if (which) {
        s->at += 2;
        *out = to[which - from];
        return 1;
    }
    c = *p == 'u' ? hex4 (p + 1) : -1;
    if (c <= 0) {               // U+0000 would end a C string
        scan_fail (s, "invalid escape in a string");
        return 0;
    }
    if (c < 0xd800 || c > 0xdfff) {
        s->at += 6;
        return utf8_put (out, (unsigned)c);
    }
    low = p[5] == '\\' && p[6] == 'u' ? hex4 (p + 7) : -1;
    if (c > 0xdbff || low < 0xdc00 || low > 0xdfff) {
        scan_fail (s, "lone surrogate in a string");
        return 0;
    }
    s->at += 12;
    return utf8_put (out, 0x10000u + ((unsigned)(c & 0x3ff) << 10) +
                              (unsigned)(low & 0x3ff));
}

/* Copy bytes >= 128 at s->at into 'out', or U+FFFD for an invalid one, which is
 * counted.
 */
static size_t take_utf8 (struct scan *s, char *out)
{
    size_t n = utf8_size (s->at);

    if (n > 0) {
        memcpy (out, s->at, n);
        s->at += n;
        return n;
    }
    if (s->bad_utf8++ == 0)
        s->bad_utf8_at = scan_offset (s);
    s->at++;
    return utf8_put (out, UTF8_REPLACEMENT);
}

/* Fail at the first byte that is too many, after 'fit' bytes. */
static bool fail_long_text (struct scan *s, size_t fit)
{
    s->at += fit;
    return scan_fail (s, "a string is longer than %u bytes", SCAN_TEXT_MAX);
}

/* Read a string with escapes or bytes that are not ASCII, or one that is longer
 * than the buffer.  s->at is after the opening quote.
 */
static bool text_slow (struct scan *s, char *out, size_t *size)
{
    size_t used = 0;

    for (;;) {
        const char *stop;
        size_t n;

        need (s);
        stop = text_plain_end (s->at);
        n = (size_t)(stop - s->at);
        if (n > SCAN_TEXT_MAX - used)
            return fail_long_text (s, SCAN_TEXT_MAX - used);
        memcpy (out + used, s->at, n);
        used += n;
        s->at = stop;
        if (s->at >= s->end) {
            if (s->eof)
                return fail_expected (s, "the rest of a string");
            continue;
        }
        if (*s->at == '"')
            break;
        need (s);               // an escape or a sequence is not split
        n = 0;
        if (*s->at == '\\')
            n = take_escape (s, out + used);
        else if ((unsigned char)*s->at >= 128)
            n = take_utf8 (s, out + used);
        else
            scan_fail (s, "control character 0x%02x in a string",
                       (unsigned char)*s->at);
        if (n == 0)
            return false;
        used += n;
        if (used > SCAN_TEXT_MAX)
            return fail_long_text (s, 0);
    }
    s->at++;
    memset (out + used, 0, SCAN_TEXT_ENDING);
    *size = used;
    return true;
}

static bool take_text (struct scan *s, char *scratch, const char **ret,
                       size_t *size)
{
    const char *stop = text_plain_end (s->at);

    if (LIKELY (*stop == '"')) {
        *ret = s->at;
        *size = (size_t)(stop - s->at);
        if (UNLIKELY (*size > SCAN_TEXT_MAX))
            return fail_long_text (s, SCAN_TEXT_MAX);
        s->at = stop + 1;
        return true;
    }
    *ret = scratch;
    return text_slow (s, scratch, size);
}

bool scan_text (struct scan *s, const char **ret, size_t *size)
{
    return scan_take (s, '"', "a string") && take_text (s, s->text, ret, size);
}

/* Skip a string of any length, without checking bytes >= 128. */
static bool skip_text (struct scan *s)
{
    char sink[8];

    for (;;) {
        need (s);
        s->at = text_plain_end (s->at);
        if (s->at >= s->end) {
            if (s->eof)
                return fail_expected (s, "the rest of a string");
        } else if (*s->at == '"') {
            s->at++;
            return true;
        } else if (*s->at == '\\') {
            need (s);
            if (take_escape (s, sink) == 0)
                return false;
        } else if ((unsigned char)*s->at >= 128) {
            s->at++;
        } else {
            return scan_fail (s, "control character 0x%02x in a string",
                              (unsigned char)*s->at);
        }
    }
}

/* ---- containers ---- */

/* Go to the next item: after a comma, before the first item, or at the end of
 * the container.
 */
static bool next_item (struct scan *s, bool *first, char close)
{
    if (UNLIKELY (s->failed))
        return false;
    skip_space (s);
    if (*s->at == close) {
        s->at++;
        s->depth--;
        return false;
    }
    if (*first) {
        *first = false;
        return !s->failed;
    }
    if (UNLIKELY (*s->at != ','))
        return fail_expected (s, close == '}' ? "',' or '}'" : "',' or ']'");
    s->at++;
    skip_space (s);
    return !s->failed;
}

static bool member_key (struct scan *s)
{
    if (!scan_take (s, '"', "a key in quotes") ||
        !take_text (s, s->key_text, &s->key, &s->key_size))
        return false;
    if (UNLIKELY (*s->at != ':' || s->end - s->at < (ptrdiff_t)SCAN_AHEAD)) {
        // the buffer may move, so copy the key
        if (s->key != s->key_text) {
            memcpy (s->key_text, s->key, s->key_size);
            memset (s->key_text + s->key_size, 0, SCAN_TEXT_ENDING);
            s->key = s->key_text;
        }
        return scan_take (s, ':', "':'");
    }
    s->at++;
    return true;
}

bool scan_member (struct scan *s, bool *first)
{
    return next_item (s, first, '}') && member_key (s);
}

/* Read the key at s->at if it is the expected one. */
static inline bool take_guess (struct scan *s, const struct predicted_key *f)
{
    const char *p = s->at;

    if (*p != '"' || !cmp_same (p + 1, f->key, f->size) ||
        p[1 + f->size] != '"' || p[2 + f->size] != ':')
        return false;
    s->at = p + f->size + 3;
    return true;
}

int scan_field (struct scan *s, bool *first, const struct predicted_key *fields,
                int nfields, int *next)
{
    if (!next_item (s, first, '}'))
        return SCAN_DONE;
    if (LIKELY (*next < nfields && take_guess (s, &fields[*next])))
        return (*next)++;
    if (!member_key (s))
        return SCAN_DONE;
    for (int i = 0; i < nfields; i++) {
        if (s->key_size == fields[i].size &&
            memcmp (s->key, fields[i].key, s->key_size) == 0) {
            *next = i + 1;
            return i;
        }
    }
    return SCAN_OTHER;
}

bool scan_element (struct scan *s, bool *first)
{
    return next_item (s, first, ']');
}

/* How many bytes are the same, at most n. */
static size_t same_size (const char *a, const char *b, size_t n)
{
    size_t i = 0;

    if (memcmp (a, b, n) == 0)
        return n;
    while (n - i >= 64 && memcmp (a + i, b + i, 64) == 0)
        i += 64;
    while (a[i] == b[i])
        i++;
    return i;
}

size_t scan_same_array (struct scan *s, const char *text, size_t n)
{
    size_t done = 0, same;

    if (s->failed || s->depth == SCAN_DEPTH_MAX)
        return 0;
    for (;;) {
        size_t here;

        need (s);
        here = (size_t)(s->end - s->at);
        here = here < n - done ? here : n - done;
        same = same_size (s->at, text + done, here);
        if (same == n - done) {
            s->at += same;
            return n;
        }
        if (same < here || s->eof)
            break;
        // go on, but stay where a comma can be found again
        s->at += same - SCAN_SAME_KEEP;
        done += same - SCAN_SAME_KEEP;
    }
    while (same > 0 && s->at[same - 1] != ',')
        same--;
    if (same == 0)
        return 0;
    s->at += same - 1;
    s->depth++;
    return done + same - 1;
}

/* ---- numbers ---- */

/* Parse the number at s->at by strtod: it has many digits, or a large exponent.
 */
static bool number_slow (struct scan *s, const char *end, double *ret)
{
    int n = (int)(end - s->at);
    int rc = units_real (s->at, (size_t)n, ret);

    if (rc == -ERANGE)
        return scan_fail (s, "the number %.*s is too large for a double", n,
                          s->at);
    return rc == 0 || scan_fail (s, "malformed number");
}

static bool fail_long_number (struct scan *s)
{
    return scan_fail (s, "a number is longer than %u bytes", SCAN_NUMBER_MAX);
}

/* Fail: there is no number at s->at.  One with more than SCAN_NUMBER_MAX bytes
 * is too long, whatever else is wrong, since the error may be outside of the
 * buffer.
 */
static bool fail_number (struct scan *s, const char *why)
{
    size_t n = 0;

    while (n <= SCAN_NUMBER_MAX && s->at[n] &&
           strchr ("+-.0123456789eE", s->at[n]))
        n++;
    if (n > SCAN_NUMBER_MAX)
        return fail_long_number (s);
    return why ? scan_fail (s, "%s", why) : fail_expected (s, "a number");
}

static bool take_real (struct scan *s, double *ret)
{
    struct scan_number n;
    const char *end = scan_number (s->at, &n);

    if (UNLIKELY (!end))
        return fail_number (s, n.why);
    if (UNLIKELY (end - s->at > (ptrdiff_t)SCAN_NUMBER_MAX))
        return fail_long_number (s);
    if (UNLIKELY (n.slow && !number_slow (s, end, &n.value)))
        return false;
    s->at = end;
    *ret = n.value;
    return true;
}

bool scan_real (struct scan *s, double *ret)
{
    if (UNLIKELY (s->failed))
        return false;
    skip_space (s);
    if (*s->at == '0' && (s->at[1] == ',' || s->at[1] == '}')) {
        s->at++;                // half of the numbers in real files
        *ret = 0;
        return true;
    }
    if (UNLIKELY (*s->at != '-' && (unsigned)(*s->at - '0') > 9))
        return fail_expected (s, "a number");
    return take_real (s, ret);
}

bool scan_key_real (struct scan *s, double *ret)
{
    struct scan_number n;

    // a key ends with its quote, or is a copy that ends with zeros
    if (scan_number (s->key, &n) == s->key + s->key_size && !n.slow)
        *ret = n.value;
    else if (units_real (s->key, s->key_size, ret) < 0)
        return scan_fail (s, "the key \"%.*s\" is not a number",
                          (int)(s->key_size < 40 ? s->key_size : 40), s->key);
    return true;
}

/* ---- the rest ---- */

static bool take_word (struct scan *s, const char *word)
{
    size_t n = strlen (word);

    if (strncmp (s->at, word, n) != 0)
        return fail_expected (s, "a value");
    s->at += n;
    return true;
}

bool scan_copy (struct scan *s, char *out, size_t max)
{
    const char *text;
    size_t n;

    if (scan_peek (s) != '"')
        return scan_skip (s);
    if (!scan_text (s, &text, &n))
        return false;
    n = n < max ? n : max - 1;
    memcpy (out, text, n);
    out[n] = '\0';
    return true;
}

bool scan_null (struct scan *s)
{
    return scan_peek (s) == 'n' ? take_word (s, "null")
                                : fail_expected (s, "null");
}

static bool skip_number (struct scan *s)
{
    const char *end;
    unsigned places;
    double ignored;
    uint64_t w;

    if (!(end = scan_plain (s->at, &w, &places)))
        return scan_real (s, &ignored);
    s->at = end;
    return true;
}

static bool skip_scalar (struct scan *s, char c)
{
    switch (c) {
    case '"':
        s->at++;
        return skip_text (s);
    case 't':
        return take_word (s, "true");
    case 'f':
        return take_word (s, "false");
    case 'n':
        return take_word (s, "null");
    default:
        return skip_number (s);
    }
}

static bool skip_container (struct scan *s)
{
    bool in_object[SCAN_DEPTH_MAX + 1];
    unsigned bottom = s->depth;
    bool first;

    for (;;) {
        char c = scan_peek (s);

        first = c == '{' || c == '[';
        if (first) {
            if (!scan_enter (s, c, "a value"))
                return false;
            in_object[s->depth] = c == '{';
        } else if (s->failed || !skip_scalar (s, c)) {
            return false;
        }
        // leave the containers that end here
        while (s->depth > bottom) {
            bool object = in_object[s->depth];

            if (next_item (s, &first, object ? '}' : ']')) {
                if (object && (!scan_take (s, '"', "a key in quotes") ||
                               !skip_text (s) || !scan_take (s, ':', "':'")))
                    return false;
                break;
            }
            if (s->failed)
                return false;
            first = false;
        }
        if (s->depth == bottom)
            return !s->failed;
    }
}

bool scan_skip (struct scan *s)
{
    char c = scan_peek (s);

    if (c == '{' || c == '[')
        return skip_container (s);
    return !s->failed && skip_scalar (s, c);
}

bool scan_end (struct scan *s)
{
    if (s->failed)
        return false;
    skip_space (s);
    if (s->at < s->end)
        return fail_expected (s, "the end of the file");
    return !s->failed;
}
