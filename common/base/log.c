/* common/base/log.c - one event, one line, in logfmt on standard error */
#include "base/log.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = { "debug", "info", "warn", "error" };

// main sets these once, before any thread starts
static const char *log_prog = "rollcall";
static enum log_level log_least = LOG_LEVEL_INFO;

void log_setup (const char *prog, enum log_level least)
{
    log_prog = prog;
    log_least = getenv (LOG_VARIABLE) ? LOG_LEVEL_DEBUG : least;
}

bool log_is_wanted (enum log_level level)
{
    return level >= log_least;
}

static void log_put (struct logline *l, const char *s, size_t n)
{
    // one byte is reserved for the newline; no character is split
    l->full = l->full || n > sizeof (l->text) - 1 - l->size;
    if (l->full)
        return;
    memcpy (l->text + l->size, s, n);
    l->size += n;
}

static bool needs_quotes (const char *s)
{
    if (*s == '\0')
        return true;
    for (; *s; s += utf8_shown (s)) {
        if (utf8_shown (s) == 0 || strchr (" \"=\\", *s))
            return true;
    }
    return false;
}

static void put_value (struct logline *l, const char *s)
{
    char hex[5];

    for (size_t n; *s; s += n) {
        if (*s == '"' || *s == '\\')
            log_put (l, "\\", 1);
        if ((n = utf8_shown (s)) > 0) {
            log_put (l, s, n);
            continue;
        }
        PRINT (hex, "\\x%02x", (unsigned char)*s);
        log_put (l, hex, 4);
        n = 1;
    }
}

void log_str (struct logline *l, const char *key, const char *value)
{
    const char *quote;

    if (!value)
        return;
    quote = needs_quotes (value) ? "\"" : "";
    log_put (l, " ", 1);
    log_put (l, key, strlen (key));
    log_put (l, "=", 1);
    log_put (l, quote, strlen (quote));
    put_value (l, value);
    log_put (l, quote, strlen (quote));
}

void log_int (struct logline *l, const char *key, int64_t value)
{
    char num[24];

    PRINT (num, "%lld", (long long)value);
    log_str (l, key, num);
}

void log_real (struct logline *l, const char *key, double value)
{
    char num[40];

    PRINT (num, "%.6g", value);
    log_str (l, key, num);
}

struct logline log_line (enum log_level level, const char *event)
{
    struct logline l = { .level = level };
    char now[CLOCK_TEXT_MAX];

    clock_text (clock_wall_ns (), now);
    l.size = (size_t)snprintf (l.text, sizeof (l.text), "ts=%s", now);
    log_str (&l, "level", level_names[level]);
    log_str (&l, "prog", log_prog);
    log_str (&l, "event", event);
    return l;
}

void log_end (struct logline *l)
{
    l->text[l->size++] = '\n';
    if (log_is_wanted (l->level) && write (STDERR_FILENO, l->text, l->size) < 0)
        return;                 // there is nowhere to report it
}

void log_text (enum log_level level, const char *event, const char *fmt, ...)
{
    struct logline l = log_line (level, event);
    char text[LOG_LINE_MAX / 2];
    va_list ap;

    va_start (ap, fmt);
    (void)vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    log_str (&l, "text", text);
    log_end (&l);
}
