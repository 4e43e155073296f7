/* node_agent/extract/kineto/kineto_known.h - remember what names of events mean
 *
 * A trace has few different kernels and calls, with long names that are
 * searched for several words.  What was found out about a name is kept until
 * another one needs its place.
 */
#ifndef ROLLCALL_EXTRACT_KINETO_KINETO_KNOWN_H
#define ROLLCALL_EXTRACT_KINETO_KINETO_KNOWN_H

#include "extract/input/trace_value.h"
#include "extract/kineto/kineto_kinds.h"

#define KINETO_KNOWN 128u       // names
#define KINETO_KNOWN_NAME 228u  // bytes; longer ones are not remembered
#define KINETO_KNOWN_CAT 16u

struct kineto_known {
    bool starts;                // of a call: it starts work of the device
    uint8_t kind;               // of such work: enum gpu_kind
    bool has_number;
    uint8_t ncat;
    uint16_t nname;             // 0: nothing is remembered here
    uint32_t number;            // of the name, for the caller, if has_number
    char cat[KINETO_KNOWN_CAT], name[KINETO_KNOWN_NAME];
};

/* Find out about a name of work of the device, or of a call.  The result is
 * valid until the next call.
 */
struct kineto_known *kineto_know (struct kineto_known known[KINETO_KNOWN],
                                  struct span cat, struct span name);

#endif
