/* common/options/shell.c - words of commands that users are told to type */
#include "options/shell.h"

#include <string.h>

// what no shell interprets
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
    "_-./:,+@%"

char *shell_word (const char *s, char *out)
{
    char *p = out;

    if (*s && s[strspn (s, PLAIN)] == '\0')
        return strcpy (out, s);
    *p++ = '\'';
    for (; *s; s++) {
        if (*s == '\'') {
            memcpy (p, "'\\'", 3);
            p += 3;
        }
        *p++ = *s;
    }
    *p++ = '\'';
    *p = '\0';
    return out;
}
