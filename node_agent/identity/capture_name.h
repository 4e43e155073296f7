/* node_agent/identity/capture_name.h - what the name of a capture says
 *
 * "<worker>_<pid>_<17 digits>_ascend_pt", "PROF_<number>_<14 or 17
 * digits>_<letters>", "<worker>.<digits>.pt.trace.json".  Names that people
 * gave ("rank_0_ascend_pt") say only the framework.
 */
#ifndef ROLLCALL_IDENTITY_CAPTURE_NAME_H
#define ROLLCALL_IDENTITY_CAPTURE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_name {
    const char *framework;              // "ascend_pt", "ascend_ms", "msprof",
                                        // "kineto", or ""
    size_t worker_size;                 // leading bytes that are the host, or 0
    int64_t pid;                        // of the profiled process; 0: none
    int64_t made_ns;                    // the date in the name; 0: none
};

struct capture_name capture_name_parse (const char *name);

/* Whether a file is a capture by its name. */
bool capture_name_is_trace (const char *name);

#endif
