/* node_agent/extract/input/trace_keys.h - expect the keys of a trace's objects
 *
 * This goes on in a window of the file instead of a scanner, and as leniently
 * as trace_member, whose result it has.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_KEYS_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_KEYS_H

#include "extract/input/trace_text.h"
#include "json/key_predictor.h"

enum { TRACE_KEY_OTHER = SCAN_OTHER, TRACE_KEY_END = SCAN_DONE,
       TRACE_KEY_BAD = -3 };

/* Read a key, and remember the text before its value. */
int trace_keys_read (struct key_predictor *k, const char **at,
                     const char *end);

/* Go to the next value, which trace_value reads at '*at'; key_predictor_begin
 * comes first.  Returns the index of its key in the table, TRACE_KEY_OTHER,
 * TRACE_KEY_END behind the object, or TRACE_KEY_BAD, as trace_member does.
 */
static inline int trace_keys_next (struct key_predictor *k, const char **at,
                                   const char *end)
{
    struct key_place *p = key_predictor_follow (k->now, *at);

    if (!p)
        return trace_keys_read (k, at, end);
    k->now = p;
    // a value behind the end fails as such
    *at = trace_space (*at + p->size);
    return p->field;
}

#endif
