/* common/base/log.h - one event, one line, in logfmt on standard error
 *
 *     struct logline l = log_line (LOG_LEVEL_INFO, "shipped");
 *     log_str (&l, "capture", name);
 *     log_int (&l, "rank", 3);
 *     log_end (&l);
 *
 * writes  ts=2026-11-21T06:20:00.123Z level=info prog=rollcall-agent
 *         event=shipped capture=n0_7 rank=3
 * A value is quoted if it has to be; control characters, and bytes that are no
 * UTF-8, are \xNN in it.  Only programs log; libraries return a 'struct err'.
 * What changes its state (base/states.h) is logged there.
 */
#ifndef ROLLCALL_BASE_LOG_H
#define ROLLCALL_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define LOG_LINE_MAX 2048       // bytes; a longer line is truncated

enum log_level {
    LOG_LEVEL_DEBUG,
    LOG_LEVEL_INFO,
    LOG_LEVEL_WARN,
    LOG_LEVEL_ERROR,
};

struct logline {
    enum log_level level;
    size_t size;
    bool full;                  // further values are dropped
    char text[LOG_LINE_MAX];
};

/* Set the name of the program for every line.  Lines below 'least' are dropped,
 * unless LOG_VARIABLE is in the environment.
 */
#define LOG_VARIABLE "ROLLCALL_LOG_DEBUG"
void log_setup (const char *prog, enum log_level least);

/* Whether lines of this level are written. */
bool log_is_wanted (enum log_level level);

struct logline log_line (enum log_level level, const char *event);
void log_str (struct logline *l, const char *key, const char *value);
void log_int (struct logline *l, const char *key, int64_t value);
void log_real (struct logline *l, const char *key, double value);
void log_end (struct logline *l);       // one write(2)

/* Write an event and one sentence (key "text"), the common case. */
void log_text (enum log_level level, const char *event, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
#define log_info(...) log_text (LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...) log_text (LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_text (LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
