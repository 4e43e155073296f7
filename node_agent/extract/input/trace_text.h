/* node_agent/extract/input/trace_text.h - parse the JSON of a trace leniently
 *
 * Old traces have names with quotes and backslashes that are not escaped, and
 * traces of crashed jobs end anywhere; neither must cost the whole capture.  So
 * this does not validate: it finds where values begin and end, in a window of
 * the file that contains at least one event.
 *
 * See trace_value.h for single values.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_TEXT_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_TEXT_H

#include "extract/input/trace_value.h"
#include "json/scan.h"

#define TRACE_WINDOW (1u << 20)         // initial size in bytes
#define TRACE_WINDOW_MAX (4u << 20)     // of the longest event or value of the
                                        // header

struct trace_text {
    scan_read_fn *read;
    void *arg;
    char *buf;
    size_t cap;
    const char *at, *end;
    uint64_t offset;            // in the input, of buf[0]
    bool eof;
    int failed;                 // -errno after the last byte in the window
};

/* Begin to read.  Returns 0 or -ENOMEM. */
int trace_text_init (struct trace_text *t, scan_read_fn *read, void *arg);
void trace_text_fini (struct trace_text *t);

/* Drop what is before t->at and read more.  False: there is no more, or no room
 * for more.
 */
bool trace_text_more (struct trace_text *t);

uint64_t trace_text_offset (const struct trace_text *t, const char *p);

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

/* Parse the next member of an object; *p is after the brace at first, later
 * where the last call left it.  1: key and value are set, and *type is the
 * first byte of the value; 0: the object has ended, and *p is after it; -1: it
 * is malformed, or the window ends.
 */
int trace_member (const char **p, const char *end, struct span *key,
                  struct span *value, char *type);

/* Skip blanks, and return the byte at t->at; 0 at the end. */
char trace_text_peek (struct trace_text *t);

/* Parse the key at t->at, truncated if it is long, and go to its colon.  False:
 * there is no string.
 */
bool trace_text_key (struct trace_text *t, char out[64]);

/* Skip the value at t->at, whatever its size.  If it exceeds the window,
 * value->s is NULL.  False: it is malformed or incomplete.
 */
bool trace_text_value (struct trace_text *t, struct span *value);

/* Parse the whole number in a span, which may be that of a string. */
bool trace_int (struct span v, int64_t *ret);

/* Parse a value as trace_value does, which is a time in us, with decimals, as a
 * number or a string.  It is converted exactly; *good: it is one.
 */
const char *trace_time (const char *p, const char *end, int64_t *ns,
                        bool *good);

/* Decode a text: JSON's escapes are decoded if valid, and invalid UTF-8 is
 * replaced.  Returns its size, less than 'max'.
 */
size_t trace_plain (struct span v, char *out, size_t max);

#endif
