/* node_agent/extract/input/trace_text.c - parse the JSON of a trace leniently
 */
#include "extract/input/trace_text.h"

#include "base/units.h"
#include "base/utf8.h"
#include "json/digits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define TIME_MAX (INT64_MAX / 4)        // ns: years, and sums do not overflow

int trace_text_init (struct trace_text *t, scan_read_fn *read, void *arg)
{
    *t = (struct trace_text){ .read = read, .arg = arg, .cap = TRACE_WINDOW };
    if (!(t->buf = malloc (t->cap + TRACE_PAD)))
        return -ENOMEM;
    memset (t->buf, 0, TRACE_PAD);
    t->at = t->end = t->buf;
    return 0;
}

void trace_text_fini (struct trace_text *t)
{
    free (t->buf);
    t->buf = NULL;
}

uint64_t trace_text_offset (const struct trace_text *t, const char *p)
{
    return t->offset + (uint64_t)(p - t->buf);
}

/* Enlarge the window when one value fills it. */
static bool trace_text_grow (struct trace_text *t)
{
    size_t cap = 2 * t->cap;
    char *buf = cap > TRACE_WINDOW_MAX ? NULL : realloc (t->buf,
                                                         cap + TRACE_PAD);

    if (!buf)
        return false;
    t->end = buf + (t->end - t->buf);
    t->at = t->buf = buf;
    t->cap = cap;
    return true;
}

bool trace_text_more (struct trace_text *t)
{
    size_t left = (size_t)(t->end - t->at), before = left;

    if (t->eof)
        return false;
    t->offset += (uint64_t)(t->at - t->buf);
    memmove (t->buf, t->at, left);
    t->at = t->buf;
    t->end = t->buf + left;
    if (left > t->cap / 2 && !trace_text_grow (t) && left == t->cap)
        return false;
    while (left < t->cap && !t->eof) {
        ssize_t n = t->read (t->arg, t->buf + left, t->cap - left);

        if (n > 0)
            left += (size_t)n;
        else
            t->eof = true;
        t->failed = n < 0 ? (int)n : 0;
    }
    t->end = t->buf + left;
    memset (t->buf + left, 0, TRACE_PAD);
    return left > before;
}

char trace_text_peek (struct trace_text *t)
{
    for (;;) {
        t->at = trace_space (t->at);
        if (t->at < t->end)
            return *t->at;
        if (!trace_text_more (t))
            return '\0';
    }
}

bool trace_text_key (struct trace_text *t, char out[64])
{
    struct span key;
    const char *p;

    while (!(p = trace_string (t->at, t->end, &key)) || p >= t->end) {
        if (*t->at != '"' || !trace_text_more (t))
            return false;
    }
    (void)snprintf (out, 64, "%.*s", (int)(key.n < 64 ? key.n : 63), key.s);
    t->at = p;
    return true;
}

/* The state of skipping a value. */
struct skipping {
    unsigned depth;             // of containers
    bool string, escaped, begun;
};

/* Process a byte.  False: it is after the value. */
static bool skip_byte (struct skipping *s, char c)
{
    if (s->string) {
        s->string = s->escaped || c != '"';
        s->escaped = !s->escaped && c == '\\';
        return true;
    }
    if (s->depth == 0 && s->begun &&
        (c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' ||
         c == '\r' || c == '\t'))
        return false;
    s->begun = true;
    s->string = c == '"';
    if (c == '{' || c == '[')
        s->depth++;
    else if (c == '}' || c == ']')
        s->depth--;
    return true;
}

/* Skip a long value, of which only strings and brackets are parsed. */
static bool skip_value (struct trace_text *t)
{
    struct skipping s = { .begun = false };

    for (;;) {
        const char *p = t->at;

        while (p < t->end && skip_byte (&s, *p))
            p++;
        t->at = p;
        if (p < t->end)
            return true;
        if (!trace_text_more (t))
            return false;
    }
}

bool trace_text_value (struct trace_text *t, struct span *value)
{
    const char *p;

    while (!(p = trace_value (t->at, t->end, value)) || p >= t->end) {
        if (trace_text_more (t))
            continue;
        *value = (struct span){ NULL, 0 };
        return !t->eof && skip_value (t);
    }
    t->at = p;
    return true;
}

int trace_member (const char **at, const char *end, struct span *key,
                  struct span *value, char *type)
{
    const char *p = trace_space (*at);

    if (*p == '}') {
        *at = p + 1;
        return 0;
    }
    if (*p == ',')
        p = trace_space (p + 1);
    if (!(p = trace_string (p, end, key)))
        return -1;
    p = trace_space (p);
    if (*p != ':')
        return -1;
    p = trace_space (p + 1);
    *type = *p;
    if (!(p = trace_value (p, end, value)))
        return -1;
    *at = p;
    return 1;
}

/* ---- values ---- */

bool trace_int (struct span v, int64_t *ret)
{
    bool negative = v.n > 0 && v.s[0] == '-';
    size_t i = negative;
    int64_t x = 0;
    double real;

    if (v.n > i && v.n - i <= 18) {
        for (; i < v.n && (unsigned)(v.s[i] - '0') <= 9; i++)
            x = 10 * x + (v.s[i] - '0');
        if (i == v.n) {
            *ret = negative ? -x : x;
            return true;
        }
    }
    if (v.n == 0 || v.n > SCAN_NUMBER_MAX ||
        units_real (v.s, v.n, &real) < 0 || !(real > -9e18 && real < 9e18) ||
        real != (double)(int64_t)real)
        return false;
    *ret = (int64_t)real;
    return true;
}

/* Parse a time in another notation than digits with a point. */
static bool us_slow (struct span v, int64_t *ns)
{
    double us;

    if (v.n == 0 || v.n > SCAN_NUMBER_MAX || units_real (v.s, v.n, &us) < 0 ||
        !(us > -1e15 && us < 4e15))
        return false;
    *ns = (int64_t)us * 1000 + (int64_t)((us - (double)(int64_t)us) * 1000);
    return true;
}

/* Parse a time of any notation. */
static bool us_any (struct span v, int64_t *ns)
{
    bool negative = v.n > 0 && v.s[0] == '-';
    size_t i = negative, first;
    int64_t x = 0;
    int scale = 1000;

    for (first = i; i < v.n && (unsigned)(v.s[i] - '0') <= 9; i++) {
        if (x > TIME_MAX / 10000)
            return false;
        x = 10 * x + (v.s[i] - '0');
    }
    if (i == first)
        return false;
    if (i < v.n && v.s[i] == '.') {
        for (i++; i < v.n && (unsigned)(v.s[i] - '0') <= 9; i++) {
            if (scale > 1)
                x = 10 * x + (v.s[i] - '0');
            else if (scale == 1 && v.s[i] >= '5')
                x++;            // as in a sum of floats: 37.502999999999986
            scale /= 10;
        }
    }
    if (i < v.n)
        return us_slow (v, ns);
    *ns = (negative ? -x : x) * (scale > 0 ? scale : 1);
    return true;
}

/* The usual notation: up to 16 digits, and up to 3 behind the point.  Returns
 * the position after it; NULL: it is another one, or too large.
 */
static inline const char *us_quick (const char *p, int64_t *ns)
{
    uint64_t x = 0, more = 0;
    unsigned n = digits_eight (p, &x);

    if (n == 0)
        return NULL;
    p += n;
    if (n == 8 && (n = digits_eight (p, &more)) > 0) {
        x = x * digits_power (n) + more;
        p += n;
    }
    if (x >= (uint64_t)(TIME_MAX / 10000 + 1) * 10)
        return NULL;
    x *= 1000;
    if (*p == '.' && (n = digits_eight (++p, &more)) > 0) {
        if (n > 3)
            return NULL;
        x += more * digits_power (3 - n);
        p += n;
    }
    *ns = (int64_t)x;
    return p;
}

const char *trace_time (const char *p, const char *end, int64_t *ns, bool *good)
{
    const char *stop = us_quick (p, ns);
    struct span v;

    if (stop && stop < end && (*stop == ',' || *stop == '}' || *stop == ' ')) {
        *good = true;
        return stop;
    }
    if ((p = trace_value (p, end, &v)))
        *good = us_any (v, ns);
    return p;
}

static size_t hex4 (const char *p, const char *end, unsigned *ret)
{
    unsigned v = 0;

    if (end - p < 4)
        return 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];

        if (c >= '0' && c <= '9')
            v = v * 16 + (unsigned)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            v = v * 16 + (unsigned)((c | 32) - 'a' + 10);
        else
            return 0;
    }
    *ret = v;
    return 4;
}

/* Decode the escape at 'p', which is the backslash.  Returns its size. */
static size_t plain_escape (const char *p, const char *end, char *out,
                            size_t *used)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *which = p + 1 < end && p[1] ? strchr (from, p[1]) : NULL;
    unsigned c;

    if (which) {
        out[(*used)++] = to[which - from];
        return 2;
    }
    if (p + 1 < end && p[1] == 'u' && hex4 (p + 2, end, &c) && c > 0 &&
        (c < 0xd800 || c > 0xdfff)) {
        *used += utf8_put (out + *used, c);
        return 6;
    }
    out[(*used)++] = '\\';      // a single backslash, as in old traces
    return 1;
}

size_t trace_plain (struct span v, char *out, size_t max)
{
    const char *p = v.n > 0 ? v.s : "", *end = p + v.n;
    size_t used = 0;

    while (p < end && used + 8 < max) {
        size_t n = 1;

        if (*p == '\\') {
            n = plain_escape (p, end, out, &used);
        } else if ((unsigned char)*p < 128) {
            out[used++] = *p;
        } else if ((n = utf8_size (p)) > 0 && n <= (size_t)(end - p)) {
            memcpy (out + used, p, n);
            used += n;
        } else {
            n = 1;
            used += utf8_put (out + used, UTF8_REPLACEMENT);
        }
        p += n;
    }
    out[used] = '\0';
    return used;
}
