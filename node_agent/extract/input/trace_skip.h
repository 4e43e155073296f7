/* node_agent/extract/input/trace_skip.h - find the end of a container in the
 * JSON of a trace
 *
 * Private to this folder.  Most of a trace is arguments that are not needed, so
 * this goes on 64 bytes at a time (json/block_bits.h).  A block in which a
 * string has a backslash, a control byte, or a quote that was not escaped is
 * left to trace_skip_step, which goes to the next quote or bracket.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_SKIP_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_SKIP_H

#include "json/block_bits.h"
#include "json/text_end.h"

#include <stddef.h>

#define TRACE_PAD 64u           // readable zeros behind the window

/* How blocks are looked at: all give the same result. */
enum trace_skip_way { TRACE_SKIP_PLAIN, TRACE_SKIP_SSE2, TRACE_SKIP_AVX2,
                      TRACE_SKIP_WAYS };

/* Return the position after the container that begins at 'p' with a brace or a
 * bracket.  Brackets of the other kind are not counted, since they close within
 * it.  NULL: it does not end before 'end', a string in it is damaged, or there
 * is a NUL outside of its strings.  TRACE_PAD readable zeros follow the window,
 * in which 'end' is.
 */
const char *trace_skip (const char *p, const char *end);

/* The same in one way, which must be there on this machine; for tests. */
bool trace_skip_has (enum trace_skip_way way);
const char *trace_skip_in (enum trace_skip_way way, const char *p,
                           const char *end);

/* Find the closing quote of a string whose content begins at 'p': the first one
 * that is not escaped, and is followed by what may follow a string.  NULL: a
 * control byte or the end comes before it.
 */
static inline const char *trace_closing_quote (const char *p, const char *end)
{
    for (;;) {
        p = text_end (p);
        if (p >= end)
            return NULL;
        if (*p == '\\')
            p += 2;
        else if (*p != '"')
            return NULL;        // a line ends within a string, so it is damaged
        else if (block_is_after (p[1]))
            return p;
        else
            p++;
    }
}

#endif
