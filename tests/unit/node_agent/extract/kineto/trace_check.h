/* tests/unit/node_agent/extract/kineto/trace_check.h - small traces, and what
 * was read of them */
#ifndef ROLLCALL_TRACE_CHECK_H
#define ROLLCALL_TRACE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/extract.h"

/* What came of a trace: each row as "TABLE|value|value...\n", NULL for what is
 * not known, numbers in as few digits as give them back.
 */
struct seen {
    char rows[65536];
    struct capture capture;
};

int trace_setup (void **state);         // a directory
int trace_teardown (void **state);

/* Write the file and read it, with the steps of a list or all (NULL). */
void trace_read (const char *name, const char *text, const char *steps,
                 struct seen *seen);
void trace_read_bytes (const char *name, const void *data, size_t size,
                       struct seen *seen);
void trace_seen_fini (struct seen *seen);

/* Look only, as before reading: rank and world. */
void trace_glance (const char *name, const char *text, struct capture *c);

/* That there is, or is not, such a row; a line of seen->rows, or its start. */
void trace_has (const struct seen *seen, const char *row);
void trace_has_not (const struct seen *seen, const char *row);
void trace_reason (const struct seen *seen, const char *text);

/* Parts of a trace. */
#define TRACE_HEAD(info) "{\"schemaVersion\": 1,\n\"distributedInfo\": {" \
    info "},\n\"traceEvents\": [\n"
#define TRACE_TAIL "\n],\n\"baseTimeNanoseconds\": 1711964646000000000\n}\n"
#define EVENT(cat, name, tid, ts, dur, args) \
    "{\"ph\": \"X\", \"cat\": \"" cat "\", \"name\": \"" name "\", " \
    "\"pid\": 1, \"tid\": " tid ",\n\"ts\": " ts ", \"dur\": " dur \
    ", \"args\": {" args "}}"
#define STEP(n, ts, dur) \
    EVENT ("user_annotation", "ProfilerStep#" n, "1", ts, dur, "")
#define LAUNCH(ts, n) \
    EVENT ("cuda_runtime", "cudaLaunchKernel", "1", ts, "1", \
           "\"cbid\": 211, \"correlation\": " n)
#define ON_GPU(cat, name, ts, dur, n, more) \
    EVENT (cat, name, "7", ts, dur, \
           "\"External id\": " n ", \"device\": 3, \"stream\": 7, " \
           "\"correlation\": " n more)
#define KERNEL(name, ts, dur, n) ON_GPU ("kernel", name, ts, dur, n, "")
#define COMM(coll, in, out, type, group, ranks) \
    ", \"Collective name\": \"" coll "\", \"In msg nelems\": " in \
    ", \"Out msg nelems\": " out ", \"dtype\": \"" type "\", " \
    "\"Process Group Name\": \"" group "\", \"Process Group Ranks\": \"" \
    ranks "\""

#endif
