// The arguments of capture_maker's options.

#include "maker_options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void usage (const char *format, ...)
{
    va_list args;
    va_start (args, format);
    fputs ("capture_maker: ", stderr);
    vfprintf (stderr, format, args);
    fputs ("\ntry 'capture_maker --help'\n", stderr);
    va_end (args);
    exit (EXIT_USAGE);
}

int64_t parse_number (const char *what, const char *text, int64_t low,
                      int64_t high)
{
    char *end;
    errno = 0;
    long long x = strtoll (text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || x < low || x > high)
        usage ("--%s: '%s' is not a number from %lld to %lld", what, text,
               (long long)low, (long long)high);
    return x;
}

int parse_int (const char *what, const char *text, int low, int high)
{
    return (int)parse_number (what, text, low, high);
}

int parse_word (const char *what, const char *text, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp (text, words[i]) == 0)
            return i;
    }
    usage ("--%s: unknown value '%s'", what, text);
}

// Copies the next word of a comma list; returns what follows, NULL at the
// end.
const char *next_word (const char *what, const char *list, char *word)
{
    size_t length = strcspn (list, ",");
    if (length == 0 || length >= WORD_ROOM)
        usage ("--%s: bad list", what);
    memcpy (word, list, length);
    word[length] = '\0';
    return list[length] == ',' ? list + length + 1 : NULL;
}

// "7" or "3-5"; returns false if there is no second number.
bool parse_pair (const char *what, char *text, int high, int *first,
                 int *second)
{
    char *dash = strchr (text, '-');
    if (dash != NULL)
        *dash = '\0';
    *first = parse_int (what, text, 0, high);
    *second = dash != NULL ? parse_int (what, dash + 1, 0, high) : *first;
    return dash != NULL;
}

// "7:REST": the number; rest is what follows the colon.
int parse_owner (const char *what, const char *text, int high,
                 const char **rest)
{
    char word[WORD_ROOM];
    const char *colon = strchr (text, ':');
    if (colon == NULL || colon - text >= WORD_ROOM)
        usage ("--%s: '%s' has no colon", what, text);
    memcpy (word, text, (size_t)(colon - text));
    word[colon - text] = '\0';
    *rest = colon + 1;
    return parse_int (what, word, 0, high);
}

struct rule *add_rule (const char *what, struct rules *rules, int whose)
{
    if (rules->count == MAX_RULES)
        usage ("--%s: more than %d", what, MAX_RULES);
    struct rule *r = &rules->list[rules->count++];
    r->whose = whose;
    return r;
}
