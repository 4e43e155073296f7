/* node_agent/identity/capture_name.h - parse the name of a capture
 *
 * Profilers write "<worker>_<pid>_<17 digits>_ascend_pt", "PROF_<number>_<14 or
 * 17 digits>_<letters>" and "<worker>.<digits>.pt.trace.json" (doc/formats.md,
 * "Captures"). A name that a person chose ("rank_0_ascend_pt") only shows the
 * framework.
 */
#ifndef ROLLCALL_IDENTITY_CAPTURE_NAME_H
#define ROLLCALL_IDENTITY_CAPTURE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_name {
    const char *framework;              // "ascend_pt", "ascend_ms", "msprof",
                                        // "kineto", or ""
    size_t worker_size;                 // leading bytes that name the host, or
                                        // 0
    int64_t pid;                        // of the profiled process; 0: none
    int64_t made_ns;                    // the date in the name, ns since 1970;
                                        // 0: none
};

struct capture_name capture_name_parse (const char *name);

/* Whether the name is that of a capture that is one file. */
bool capture_name_is_trace (const char *name);

#endif
