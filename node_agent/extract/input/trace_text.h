/* node_agent/extract/input/trace_text.h - the JSON of a trace, read leniently
 *
 * Old traces hold names with quotes and backslashes that nobody escaped,
 * crashed jobs leave traces cut off anywhere, and neither may cost a whole
 * capture.  So this is no validator: it finds where values begin and end, in a
 * window of the file that holds one event at least.
 *
 * All functions below take a place in the window and return the place behind
 * what they passed over, or NULL: malformed, or not all of it is in the window.
 * TRACE_PAD readable zeros lie behind the window's end.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_TEXT_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_TEXT_H

#include "json/scan.h"

#define TRACE_WINDOW (1u << 20)         // bytes, at first
#define TRACE_WINDOW_MAX (4u << 20)     // of the longest event or header value
#define TRACE_PAD 64u

struct trace_text {
    scan_read_fn *read;
    void *arg;
    char *buf;
    size_t cap;
    const char *at, *end;
    uint64_t offset;            // in the input, of buf[0]
    bool eof;
    int failed;                 // -errno behind the last byte that is here
};

/* 0 or -ENOMEM. */
int trace_text_init (struct trace_text *t, scan_read_fn *read, void *arg);
void trace_text_fini (struct trace_text *t);

/* Drop what is before t->at and read more behind.  False when there is no more,
 * or no room for more.
 */
bool trace_text_more (struct trace_text *t);

uint64_t trace_text_offset (const struct trace_text *t, const char *p);

/* A piece of the window: a string without its quotes, escapes as they are. */
struct span {
    const char *s;
    size_t n;
};

static inline bool span_is (struct span a, const char *text)
{
    size_t n = strlen (text);

    return a.n == n && memcmp (a.s, text, n) == 0;
}

static inline bool span_starts (struct span a, const char *text)
{
    size_t n = strlen (text);

    return a.n >= n && memcmp (a.s, text, n) == 0;
}

static inline bool span_ends (struct span a, const char *text)
{
    size_t n = strlen (text);

    return a.n >= n && memcmp (a.s + a.n - n, text, n) == 0;
}

const char *trace_space (const char *p);

/* A string, from its opening quote.  A quote with neither blank, comma, colon
 * nor bracket behind it is taken for one that was not escaped.
 */
const char *trace_string (const char *p, const char *end, struct span *ret);

/* Any value.  Of a string *ret is what is between the quotes, of anything else
 * all of it.
 */
const char *trace_value (const char *p, const char *end, struct span *ret);

/* The next member of an object: *p is behind the brace at first, then where the
 * last call left it.  1: key and value are set, *type is the value's first
 * byte; 0: the object has ended, *p is behind it; -1: malformed, or the window
 * ends.
 */
int trace_member (const char **p, const char *end, struct span *key,
                  struct span *value, char *type);

/* The next byte that is not blank, where t->at is then; 0 at the end. */
char trace_text_peek (struct trace_text *t);

/* The key at t->at, cut if it is long, and on to its colon.  False if there is
 * no string.
 */
bool trace_text_key (struct trace_text *t, char out[64]);

/* Pass over the value at t->at, however long it is; one that is longer than a
 * window is not given (value->s is NULL).  False: it is malformed or cut off.
 */
bool trace_text_value (struct trace_text *t, struct span *value);

/* Numbers of a span (of a string as well). */
bool trace_int (struct span v, int64_t *ret);   // whole
bool trace_us (struct span v, int64_t *ns);     // us with decimals, exact

/* The decoded text: JSON's escapes decoded, others unchanged, invalid UTF-8
 * replaced.  Returns its size, less than 'max'.
 */
size_t trace_plain (struct span v, char *out, size_t max);

#endif
