/* node_agent/extract/input/trace_keys.h - expect the keys of a trace's objects
 *
 * A trace has a few kinds of events, each written with the same keys in the
 * same order and with the same blanks.  So the text between two values is
 * compared with what has followed the text before it, and a key is read and
 * looked up only if it differs.  The result is that of
 * trace_member.
 */
#ifndef ROLLCALL_EXTRACT_INPUT_TRACE_KEYS_H
#define ROLLCALL_EXTRACT_INPUT_TRACE_KEYS_H

#include "extract/input/trace_text.h"
#include "json/key_predictor.h"

#define TRACE_KEYS_TEXTS 64u    // that are remembered; profilers write 40
#define TRACE_KEYS_NEXT 4u      // "dur" or "cat" may follow "ts"

enum { TRACE_KEY_OTHER = -1, TRACE_KEY_END = -2, TRACE_KEY_BAD = -3 };

struct trace_keys {
    const struct predicted_key *fields;
    int nfields;
    unsigned n, now;            // texts; the last one that was met
    struct key_place texts[TRACE_KEYS_TEXTS];   // [0] is the object's brace
    uint8_t next[TRACE_KEYS_TEXTS + 1][TRACE_KEYS_NEXT];        // 0: not known;
                                // the last row is of a text without room
};

/* Initialize with at most 127 fields, which are borrowed. */
void trace_keys_init (struct trace_keys *k, const struct predicted_key *fields,
                      int nfields);

/* Begin an object: its brace was read. */
static inline void trace_keys_begin (struct trace_keys *k)
{
    k->now = 0;
}

/* Read a key, and remember the text before its value. */
int trace_keys_read (struct trace_keys *k, const char **at, const char *end);

/* Go to the next value, which trace_value reads at '*at'.  Returns the index of
 * its key in the table, TRACE_KEY_OTHER, TRACE_KEY_END behind the object, or
 * TRACE_KEY_BAD, as trace_member does.
 */
static inline int trace_keys_next (struct trace_keys *k, const char **at,
                                   const char *end)
{
    for (unsigned i = 0; i < TRACE_KEYS_NEXT; i++) {
        unsigned next = k->next[k->now][i];
        const struct key_place *p = &k->texts[next];

        if (!key_predictor_fits (p, *at))
            continue;           // a value behind the end fails as such
        k->now = next;
        *at = trace_space (*at + p->size);
        return p->field;
    }
    return trace_keys_read (k, at, end);
}

#endif
