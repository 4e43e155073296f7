/* node_agent/extract/trace_scan.c - the events of a Chrome trace */
#include "extract/trace_scan.h"

#include "base/units.h"
#include "extract/scan_number.h"

#include <stdlib.h>

#define NS_MAX 9.0e18           // a time that an int64_t holds

/* FNV-1a, with the highest bit set: texts do not meet small numbers. */
static uint64_t hash_text (const char *s, size_t n)
{
    uint64_t h = UINT64_C (14695981039346656037);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * UINT64_C (1099511628211);
    return h | UINT64_C (1) << 63;
}

/* The bytes of a text or a number that was just read. */
struct raw {
    const char *s;
    size_t n;
};

/* A number, as its text; false if there is something else. */
static bool take_number (struct scan *s, struct raw *raw)
{
    double ignored;

    // no byte moves between here and its end: scan_peek has filled the buffer
    raw->s = s->at;
    if (!scan_real (s, &ignored))
        return false;
    raw->n = (size_t)(s->at - raw->s);
    return true;
}

/* A text or a number, whichever 'next' begins. */
static inline bool take_raw (struct scan *s, char next, struct raw *raw)
{
    return next == '"' ? scan_text (s, &raw->s, &raw->n)
                       : take_number (s, raw);
}

static bool all_digits (struct raw raw, uint64_t *ret)
{
    uint64_t v = 0;

    if (raw.n == 0 || raw.n > 19)
        return false;
    for (size_t i = 0; i < raw.n; i++) {
        unsigned digit = (unsigned)(raw.s[i] - '0');

        if (digit > 9)
            return false;
        v = v * 10 + digit;
    }
    *ret = v;
    return true;
}

/* A number or a text that names something: equal ones are equal. */
static bool read_id (struct scan *s, uint64_t *ret)
{
    struct raw raw;

    if (!take_raw (s, scan_peek (s), &raw))
        return false;
    if (!all_digits (raw, ret))
        *ret = hash_text (raw.s, raw.n);
    return true;
}

static bool read_time (struct scan *s, struct trace_time *t)
{
    struct raw raw;

    if (!take_raw (s, scan_peek (s), &raw))
        return false;
    if (raw.n == 0 || raw.n > TRACE_TIME_MAX)
        return scan_fail (s, "a time has %zu characters", raw.n);
    memcpy (t->text, raw.s, raw.n);
    memset (t->text + raw.n, 0, TRACE_TIME_ENDING);
    t->n = (uint8_t)raw.n;
    return true;
}

bool trace_time_ns (const struct trace_time *t, int64_t *ret)
{
    double us;

    if (t->n == 0)
        return false;
    if (units_us_to_ns (t->text, t->n, ret) == 0)
        return true;
    // an exponent: "1e-05" is a real duration
    if (units_real (t->text, t->n, &us) < 0 || !(us >= 0) ||
        us > NS_MAX / 1000)
        return false;
    *ret = (int64_t)(us * 1000);
    return true;
}

bool trace_time_exact (const struct trace_time *t, double *ret)
{
    struct scan_number n;
    double us;

    if (t->n == 0)
        return false;
    // the text has zeros behind it
    if (scan_number (t->text, &n) == t->text + t->n && !n.slow)
        us = n.value;
    else if (units_real (t->text, t->n, &us) < 0)
        return false;
    *ret = us * 1000;
    return us >= 0 && us <= NS_MAX / 1000;
}

/* A whole number, also in quotes; anything else is -1. */
static bool read_count (struct scan *s, int64_t *ret)
{
    struct raw raw;
    uint64_t v;
    char c = scan_peek (s);

    *ret = -1;
    if (c != '"' && c != '-' && (c < '0' || c > '9'))
        return scan_skip (s);
    if (!take_raw (s, c, &raw))
        return false;
    if (all_digits (raw, &v) && v <= INT64_MAX)
        *ret = (int64_t)v;
    return true;
}

static const struct scan_field arg_fields[] = {
    SCAN_FIELD ("name"),           SCAN_FIELD ("labels"),
    SCAN_FIELD ("task type"),      SCAN_FIELD ("src rank"),
    SCAN_FIELD ("dst rank"),       SCAN_FIELD ("transport type"),
    SCAN_FIELD ("size(Byte)"),     SCAN_FIELD ("link type"),
};

#define ARG_FIELDS 8

static bool read_args (struct scan *s, struct trace_event *e)
{
    struct trace_task *t = &e->task;
    int next = 0;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    if (!scan_object (s))
        return false;
    for (bool first = true, good = true; good;) {
        switch (scan_field (s, &first, arg_fields, ARG_FIELDS, &next)) {
        case SCAN_DONE:
            return !s->failed;
        case 0:
        case 1:
            good = scan_copy (s, e->text, sizeof (e->text));
            break;
        case 2:
            good = scan_copy (s, t->kind, sizeof (t->kind));
            break;
        case 3:
            good = read_count (s, &t->src);
            break;
        case 4:
            good = read_count (s, &t->dst);
            break;
        case 5:
            t->known = true;
            good = scan_copy (s, t->transport, sizeof (t->transport));
            break;
        case 6:
            good = read_count (s, &t->size);
            break;
        case 7:
            good = scan_copy (s, t->link, sizeof (t->link));
            break;
        default:
            good = scan_skip (s);
        }
    }
    return false;
}

static bool read_name (struct scan *s, struct trace_event *e)
{
    // what is longer is of Python: none of ours
    if (!scan_copy (s, e->name, sizeof (e->name)))
        return false;
    e->name_size = (uint32_t)strlen (e->name);
    return true;
}

static bool read_ph (struct scan *s, struct trace_event *e)
{
    const char *text;
    size_t n;

    if (!scan_text (s, &text, &n))
        return false;
    e->ph = n == 1 ? text[0] : '?';
    return true;
}

static bool read_cat (struct scan *s, struct trace_event *e)
{
    char cat[16] = "";          // those that count are shorter

    if (!scan_copy (s, cat, sizeof (cat)))
        return false;
    if (strcmp (cat, "cpu_op") == 0)
        e->cat = TRACE_CAT_CPU_OP;
    else if (strcmp (cat, "HostToDevice") == 0)
        e->cat = TRACE_CAT_FLOW;
    return true;
}

/* Only names of processes and threads have arguments that count, and tasks of
 * a process that is wanted; what is not known yet may be one of them.
 */
static bool args_wanted (const struct trace_scan *t,
                         const struct trace_event *e)
{
    if (e->ph == 'M' || (e->ph == '\0' && (e->name_size == 0 ||
                                          trace_name_begins (e, "process_") ||
                                          trace_name_is (e, "thread_name"))))
        return true;
    return !e->has_pid || t->wanted (t->arg, e->pid);
}

static bool key_is (const struct scan *s, const char *key, size_t n)
{
    return memcmp (s->key, key, n) == 0;
}

/* The value of the member whose key was read. */
static bool read_member (struct trace_scan *t, struct trace_event *e)
{
    struct scan *s = &t->s;

    switch (s->key_size) {
    case 2:
        if (key_is (s, "ph", 2))
            return read_ph (s, e);
        if (key_is (s, "ts", 2))
            return read_time (s, &e->ts);
        if (key_is (s, "id", 2))
            return read_id (s, &e->id);
        break;
    case 3:
        if (key_is (s, "pid", 3))
            return (e->has_pid = read_id (s, &e->pid));
        if (key_is (s, "tid", 3))
            return read_id (s, &e->tid);
        if (key_is (s, "dur", 3))
            return read_time (s, &e->dur);
        if (key_is (s, "cat", 3))
            return read_cat (s, e);
        break;
    case 4:
        if (key_is (s, "name", 4))
            return read_name (s, e);
        if (key_is (s, "args", 4))
            return args_wanted (t, e) ? read_args (s, e)
                                      : scan_skip_quick (s);
        break;
    default:
        break;
    }
    return scan_skip (s);
}

static void clear (struct trace_event *e)
{
    e->ph = '\0';
    e->cat = TRACE_CAT_OTHER;
    e->pid = e->tid = e->id = 0;
    e->has_pid = false;
    e->ts.n = e->dur.n = 0;
    e->name_size = 0;
    e->name[0] = e->text[0] = '\0';
    e->task.known = false;
    e->task.kind[0] = e->task.transport[0] = e->task.link[0] = '\0';
    e->task.size = e->task.src = e->task.dst = -1;
}

void trace_scan_begin (struct trace_scan *t,
                       bool (*wanted) (void *arg, uint64_t pid), void *arg)
{
    t->first = t->outer = true;
    t->open = t->wrapped = false;
    t->events = 0;
    t->wanted = wanted;
    t->arg = arg;
}

/* Into the array of events. */
static bool enter (struct trace_scan *t)
{
    struct scan *s = &t->s;

    t->wrapped = scan_peek (s) == '{';
    if (t->wrapped && !scan_object (s))
        return false;
    while (t->wrapped) {
        if (!scan_member (s, &t->outer))
            return scan_fail (s, "there are no \"traceEvents\"");
        if (scan_key_is (s, "traceEvents"))
            break;
        if (!scan_skip (s))
            return false;
    }
    return scan_array (s);
}

/* Behind the last event. */
static void leave (struct trace_scan *t)
{
    while (t->wrapped && scan_member (&t->s, &t->outer)) {
        if (!scan_skip (&t->s))
            return;
    }
    (void)scan_end (&t->s);
}

bool trace_scan_next (struct trace_scan *t, struct trace_event *e)
{
    struct scan *s = &t->s;

    if (!t->open && !(t->open = enter (t)))
        return false;
    if (!scan_element (s, &t->first)) {
        leave (t);
        return false;
    }
    clear (e);
    if (!scan_object (s))
        return false;
    for (bool first = true; scan_member (s, &first);) {
        if (!read_member (t, e))
            return false;
    }
    t->events += !s->failed;
    return !s->failed;
}
