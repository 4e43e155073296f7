/* common/base/utf8.c - UTF-8, checked as RFC 3629 has it */
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

size_t utf8_repair (const char *s, size_t n, char *out, uint64_t *bad)
{
    size_t used = 0;

    for (size_t i = 0; i < n;) {
        size_t size = utf8_size (s + i);

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

/* Whether the sequence of 'n' bytes is a control character: C0, DEL or C1. */
static bool is_control (const char *p, size_t n)
{
    unsigned char c = (unsigned char)p[0];

    return (n == 1 && (c < 0x20 || c == 0x7f)) ||
           (n == 2 && c == 0xc2 && (unsigned char)p[1] < 0xa0);
}

char *utf8_escape (const char *s, enum utf8_escape how, char *out)
{
    char *to = out;

    while (*s) {
        size_t n = utf8_size (s);

        if (how == UTF8_LINES ? *s == '\n' : *s == '\\')
            to += sprintf (to, "%s", *s == '\n' ? "\n" : "\\\\");
        else if (n > 0 && !is_control (s, n))
            to = (char *)memcpy (to, s, n) + n;
        else if (*s == '\t' || *s == '\n')
            to += sprintf (to, "%s", *s == '\t' ? "\\t" : "\\n");
        else if (n == 2)
            to += sprintf (to, "\\x%02x\\x%02x", (unsigned char)s[0],
                           (unsigned char)s[1]);
        else
            to += sprintf (to, "\\x%02x", (unsigned char)*s);
        s += n > 0 ? n : 1;
    }
    *to = '\0';
    return out;
}
