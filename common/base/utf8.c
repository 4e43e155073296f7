/* common/base/utf8.c - UTF-8, checked according to RFC 3629 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

size_t utf8_size (const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned c = p[0];
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

    if (c < 0x80)
        return 1;
    if (c < 0xc2 || c > 0xf4)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) ||
        (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

size_t utf8_put (char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

size_t utf8_cut (const char *s, size_t n, size_t max)
{
    size_t at = max;

    if (n <= max)
        return n;
    while (at > 0 && max - at < 3 && ((unsigned char)s[at] & 0xc0) == 0x80)
        at--;
    // with more of these than a character has, it is no text
    return ((unsigned char)s[at] & 0xc0) == 0x80 ? max : at;
}

/* The bytes of ASCII at 's', whole words of at most n bytes. */
static inline size_t ascii_size (const char *s, size_t n)
{
    size_t i = 0;
    uint64_t word;

    for (; i + sizeof (word) <= n; i += sizeof (word)) {
        memcpy (&word, s + i, sizeof (word));
        if (word & UINT64_C (0x8080808080808080))
            break;
    }
    return i;
}

size_t utf8_repair (const char *s, size_t n, char *out, uint64_t *bad)
{
    size_t used = 0;

    for (size_t i = 0; i < n;) {
        size_t size = ascii_size (s + i, n - i);

        if (size == 0)
            size = utf8_size (s + i);
        if (size == 0) {
            used += utf8_put (out + used, UTF8_REPLACEMENT);
            (*bad)++;
            i++;
            continue;
        }
        memcpy (out + used, s + i, size);
        used += size;
        i += size;
    }
    return used;
}

unsigned utf8_bidi (const char *p)
{
    const unsigned char *c = (const unsigned char *)p;

    if (c[0] != 0xe2 ||
        !((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
          (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9)))
        return 0;
    return 0x2000u | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
}

size_t utf8_shown (const char *p)
{
    unsigned char c = (unsigned char)p[0];
    size_t n = utf8_size (p);
    bool control = (n == 1 && (c < 0x20 || c == 0x7f)) ||
                   (n == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0) ||
                   utf8_bidi (p) != 0;

    return control ? 0 : n;
}

char *utf8_escape (const char *s, enum utf8_escape how, char *out)
{
    char *to = out;

    while (*s) {
        size_t n = utf8_shown (s);

        if (how == UTF8_LINES ? *s == '\n' : *s == '\\')
            to += sprintf (to, "%s", *s == '\n' ? "\n" : "\\\\");
        else if (n > 0)
            to = (char *)memcpy (to, s, n) + n;
        else if (*s == '\t' || *s == '\n')
            to += sprintf (to, "%s", *s == '\t' ? "\\t" : "\\n");
        else
            to += sprintf (to, "\\x%02x", (unsigned char)*s);
        s += n > 0 ? n : 1;
    }
    *to = '\0';
    return out;
}

static unsigned decode (const char *text, size_t n)
{
    static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    const unsigned char *p = (const unsigned char *)text;
    unsigned c = p[0] & lead[n];

    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3f);
    return c;
}

/* Widths are by whole blocks of Unicode: exact enough for names, and
 * independent of the locale of a machine.
 */
unsigned utf8_columns (const char *p, size_t size)
{
    static const struct {
        unsigned first, last, columns;
    } blocks[] = {
        { 0x0300, 0x036f, 0 },   { 0x1100, 0x115f, 2 },
        { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },
        { 0x2e80, 0x303e, 2 },   { 0x3041, 0xa4cf, 2 },
        { 0xa960, 0xa97f, 2 },   { 0xac00, 0xd7a3, 2 },
        { 0xf900, 0xfaff, 2 },   { 0xfe00, 0xfe0f, 0 },
        { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },
        { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
        { 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
    };
    unsigned c = decode (p, size);

    if (c < blocks[0].first)
        return 1;
    for (size_t i = 0; i < sizeof (blocks) / sizeof (blocks[0]); i++) {
        if (c >= blocks[i].first && c <= blocks[i].last)
            return blocks[i].columns;
    }
    return 1;
}

size_t utf8_fit (const char *s, size_t width, size_t *used)
{
    size_t at = 0, size;

    for (*used = 0; s[at]; at += size) {
        size = utf8_size (s + at);
        if (size == 0)
            size = 1;           // escaping leaves no invalid byte
        unsigned w = utf8_columns (s + at, size);

        if (*used + w > width)
            break;
        *used += w;
    }
    return at;
}

size_t utf8_plain (const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && s[i] >= ' ' && s[i] < 0x7f && s[i] != '"' &&
           s[i] != '\\')
        i++;
    return i;
}
