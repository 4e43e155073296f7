/* node_agent/extract/timeline/trace_scan.h - read the events of a Chrome trace
 * one by one
 *
 * Private to this folder.  A trace is a JSON array of events, alone or as the
 * member "traceEvents" of an object.  Members of events are parsed strictly, in
 * any order.  The arguments of an event are parsed only if its name or its
 * process needs them; otherwise they are skipped (scan.h, scan_skip_quick).
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_TRACE_SCAN_H
#define ROLLCALL_EXTRACT_TIMELINE_TRACE_SCAN_H

#include "json/key_predictor.h"
#include "json/scan.h"

#define TRACE_NAME_MAX 4096u    // bytes of a name; profilers write 60
#define TRACE_TEXT_MAX 256u     // of an argument: the name or label of a
                                // process
#define TRACE_TIME_MAX 31u      // of a time in the file

enum trace_cat { TRACE_CAT_OTHER, TRACE_CAT_CPU_OP, TRACE_CAT_FLOW,
                 TRACE_CAT_GC };

/* A time as in the file, so that only those that are needed are converted:
 * plain digits and the number of decimals, or any other text.
 */
struct trace_time {
    uint64_t digits;
    uint8_t places;
    bool plain;
    uint8_t n;                  // bytes of the text; 0: there is none
    char text[TRACE_TIME_MAX];
};

/* The kind of a task of the device, by its "Task Type". */
enum trace_type { TRACE_TYPE_NONE, TRACE_TYPE_COMPUTES, TRACE_TYPE_UNKNOWN };

/* The arguments of a communication task; -1: not known. */
struct trace_task {
    bool known;                 // it has a transport, so it is a task
    bool has_kind;              // otherwise its name is its kind
    uint8_t kind, transport, link;      // the enums of comm_tasks.h
    uint8_t type;               // enum trace_type, of a task of the device
    int64_t size, src, dst;
};

struct trace_event {
    char ph;                    // 0: none
    enum trace_cat cat;         // TRACE_CAT_FLOW: HostToDevice
    uint64_t pid, tid;          // numbers, or a hash of a text
    bool has_pid;
    uint64_t id;                // hash of the id of a flow
    struct trace_time ts, dur;
    uint32_t name_size;
    char name[TRACE_NAME_MAX];
    char text[TRACE_TEXT_MAX];  // args.name or args.labels, "": none
    struct trace_task task;
};

struct trace_scan {
    struct scan s;
    bool first, open;
    bool wrapped, outer;        // the array is in an object; at its first
                                // member
    uint64_t events;
    struct key_predictor event_keys, arg_keys;
    // whether the arguments of a process' events are wanted
    bool (*wanted) (void *arg, uint64_t pid);
    void *arg;
};

/* Begin with an initialised scanner; sets all of *t but t->s. */
void trace_scan_begin (struct trace_scan *t,
                       bool (*wanted) (void *arg, uint64_t pid), void *arg);

/* Read the next event.  False at the end of the array, after which nothing may
 * follow, and on failure (t->s.failed).
 */
bool trace_scan_next (struct trace_scan *t, struct trace_event *e);

/* Convert a time in us to whole ns; the rest is cut.  False: it is no time. */
bool trace_time_ns (const struct trace_time *t, int64_t *ret);

/* Convert a time in us to ns with its fraction. */
bool trace_time_exact (const struct trace_time *t, double *ret);

static inline bool trace_name_is (const struct trace_event *e,
                                  const char *name)
{
    size_t n = strlen (name);

    return e->name_size == n && memcmp (e->name, name, n) == 0;
}

static inline bool trace_name_begins (const struct trace_event *e,
                                      const char *start)
{
    size_t n = strlen (start);

    return e->name_size >= n && memcmp (e->name, start, n) == 0;
}

#endif
