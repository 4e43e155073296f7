// JSON as Python's json.dump writes it.

#include "maker.h"

#include <inttypes.h>

#define INDENT 4

static void new_line (struct json *j)
{
    if (j->indent)
        fprintf (j->f, "\n%*s", j->depth * INDENT, "");
}

// Everything before a value: comma, line, key (NULL in arrays).
static void begin (struct json *j, const char *key)
{
    if (j->used[j->depth])
        fputs (j->indent ? "," : ", ", j->f);
    j->used[j->depth] = true;
    if (j->depth > 0)
        new_line (j);
    if (key != NULL)
        fprintf (j->f, "\"%s\": ", key);
}

void open_part (struct json *j, const char *key, char bracket)
{
    begin (j, key);
    putc (bracket, j->f);
    j->used[++j->depth] = false;
}

void close_part (struct json *j, char bracket)
{
    bool any = j->used[j->depth];
    j->depth--;
    if (any)
        new_line (j);
    putc (bracket, j->f);
}

void put_text (struct json *j, const char *key, const char *text)
{
    begin (j, key);
    fprintf (j->f, "\"%s\"", text);
}

void put_int (struct json *j, const char *key, int64_t x)
{
    begin (j, key);
    fprintf (j->f, "%" PRId64, x);
}

void put_word (struct json *j, const char *key, const char *word)
{
    begin (j, key);
    fputs (word, j->f);
}
