/* node_agent/extract/input/trace_keys.c - expect the keys of a trace's objects
 */
#include "extract/input/trace_keys.h"

_Static_assert (TRACE_PAD >= KEY_PREDICTOR_TEXT,
                "so many bytes are compared, also at the last one");

int trace_keys_read (struct key_predictor *k, const char **at, const char *end)
{
    const char *from = *at, *p = trace_space (from);
    struct span key;
    int field = TRACE_KEY_END;

    if (*p == '}') {
        p++;
    } else {
        if (*p == ',')
            p = trace_space (p + 1);
        if (!(p = trace_string (p, end, &key)) || *(p = trace_space (p)) != ':')
            return TRACE_KEY_BAD;
        p = trace_space (p + 1);
        field = key_predictor_look_up (k, key.s, key.n);
    }
    key_predictor_learn (k, from, (size_t)(p - from), field);
    *at = p;
    return field;
}
