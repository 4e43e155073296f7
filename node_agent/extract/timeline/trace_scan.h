/* node_agent/extract/timeline/trace_scan.h - the events of a Chrome trace, one
 * by one
 *
 * Private to this folder.  A trace is one JSON array of events, alone or as the
 * member "traceEvents" of an object.  Their members
 * are read strictly, whatever their order; the arguments of an event only if
 * its name or its process make them worth it, else they are passed over
 * (scan.h, scan_skip_quick).
 */
#ifndef ROLLCALL_EXTRACT_TIMELINE_TRACE_SCAN_H
#define ROLLCALL_EXTRACT_TIMELINE_TRACE_SCAN_H

#include "json/key_predictor.h"
#include "json/scan.h"

#define TRACE_NAME_MAX 4096u    // bytes of a name; real ones have 60
#define TRACE_TEXT_MAX 256u     // of an argument: a process' name, a label
#define TRACE_TIME_MAX 31u      // of a time as it is printed

enum trace_cat { TRACE_CAT_OTHER, TRACE_CAT_CPU_OP, TRACE_CAT_FLOW,
                 TRACE_CAT_GC };

/* A time as it was written, so that only times that count are converted: plain
 * digits and how many of them are behind the point, or any other text.
 */
struct trace_time {
    uint64_t digits;
    uint8_t places;
    bool plain;
    uint8_t n;                  // bytes of the text; 0: there is none
    char text[TRACE_TIME_MAX];
};

/* What a task of the device does, by its "Task Type". */
enum trace_type { TRACE_TYPE_NONE, TRACE_TYPE_COMPUTES, TRACE_TYPE_UNKNOWN };

/* The arguments of a communication task; -1 is not known. */
struct trace_task {
    bool known;                 // there is a transport: it is a task
    bool has_kind;              // or its name is its kind
    uint8_t kind, transport, link;      // the enums of comm_tasks.h
    uint8_t type;               // enum trace_type, of a task of the device
    int64_t size, src, dst;
};

struct trace_event {
    char ph;                    // 0: none
    enum trace_cat cat;         // TRACE_CAT_FLOW: HostToDevice
    uint64_t pid, tid;          // numbers, or a hash of a text
    bool has_pid;
    uint64_t id;                // of a flow: a hash
    struct trace_time ts, dur;
    uint32_t name_size;
    char name[TRACE_NAME_MAX];
    char text[TRACE_TEXT_MAX];  // args.name or args.labels, "": none
    struct trace_task task;
};

struct trace_scan {
    struct scan s;
    bool first, open;
    bool wrapped, outer;        // in an object, and its first member
    uint64_t events;
    struct key_predictor event_keys, arg_keys;
    // whether the arguments of a process' events are wanted
    bool (*wanted) (void *arg, uint64_t pid);
    void *arg;
};

/* On a scanner that is initialised; sets *t but t->s. */
void trace_scan_begin (struct trace_scan *t,
                       bool (*wanted) (void *arg, uint64_t pid), void *arg);

/* The next event; false at the end of the array, behind which nothing may be,
 * and on failure (t->s.failed).
 */
bool trace_scan_next (struct trace_scan *t, struct trace_event *e);

/* Nanoseconds of a time in us, the rest cut; false if it is none. */
bool trace_time_ns (const struct trace_time *t, int64_t *ret);

/* The same, with the fraction of a nanosecond. */
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
