/* node_agent/extract/timeline/trace_scan.c - read the events of a Chrome trace
 * one by one
 */
#include "extract/timeline/trace_scan.h"

#include "base/units.h"
#include "extract/rows/comm_tasks.h"
#include "json/scan_number.h"

#include <strings.h>

#define NS_MAX 9.0e18           // the largest time in an int64_t
#define PLACES_MAX 18u          // decimals, of 19 digits

/* Hash with FNV-1a, and set the highest bit, so that texts differ from small
 * numbers.
 */
static uint64_t hash_text (const char *s, size_t n)
{
    uint64_t h = UINT64_C (14695981039346656037);

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * UINT64_C (1099511628211);
    return h | UINT64_C (1) << 63;
}

/* The bytes of a text or number that was just read. */
struct raw {
    const char *s;
    size_t n;
};

/* Read a number as text.  False: there is something else. */
static bool take_number (struct scan *s, struct raw *raw)
{
    double ignored;

    // the buffer does not move here: scan_peek has filled it
    raw->s = s->at;
    if (!scan_real (s, &ignored))
        return false;
    raw->n = (size_t)(s->at - raw->s);
    return true;
}

/* Read a text or a number, which begins with 'next'. */
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

/* Read a plain number, possibly in quotes, with at most 'most' decimals.
 * False, and nothing is read: there is something else.
 */
static inline bool take_plain (struct scan *s, unsigned most, uint64_t *digits,
                               unsigned *places)
{
    bool quoted = scan_peek (s) == '"';
    const char *end = scan_plain (s->at + quoted, digits, places);

    if (!end || *places > most || (quoted && *end != '"') || s->failed)
        return false;
    s->at = end + quoted;
    return true;
}

/* Read an identifier, a number or a text; equal ones give equal results. */
static bool read_id (struct scan *s, uint64_t *ret)
{
    unsigned places;
    struct raw raw;

    if (take_plain (s, 0, ret, &places))
        return true;
    if (!take_raw (s, scan_peek (s), &raw))
        return false;
    if (!all_digits (raw, ret))
        *ret = hash_text (raw.s, raw.n);
    return true;
}

static bool read_time (struct scan *s, struct trace_time *t)
{
    unsigned places;
    struct raw raw;

    t->plain = take_plain (s, PLACES_MAX, &t->digits, &places);
    t->places = (uint8_t)places;
    t->n = 1;
    if (t->plain)
        return true;
    if (!take_raw (s, scan_peek (s), &raw))
        return false;
    if (raw.n == 0 || raw.n > TRACE_TIME_MAX)
        return scan_fail (s, "a time has %zu characters", raw.n);
    memcpy (t->text, raw.s, raw.n);
    t->n = (uint8_t)raw.n;
    return true;
}

/* As units_us_to_ns, for any number. */
static bool plain_ns (const struct trace_time *t, int64_t *ret)
{
    static const uint64_t power[PLACES_MAX + 1] = {
        1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u,
        1000000000u, 10000000000u, 100000000000u, 1000000000000u,
        10000000000000u, 100000000000000u, 1000000000000000u,
        10000000000000000u, 100000000000000000u, 1000000000000000000u,
    };
    uint64_t ns;

    if (t->places > 3)
        ns = t->digits / power[t->places - 3];
    else if (__builtin_mul_overflow (t->digits, power[3 - t->places], &ns))
        return false;
    *ret = (int64_t)ns;
    return ns <= INT64_MAX;
}

bool trace_time_ns (const struct trace_time *t, int64_t *ret)
{
    double us;

    if (t->n == 0)
        return false;
    if (t->plain)
        return plain_ns (t, ret);
    if (units_us_to_ns (t->text, t->n, ret) == 0)
        return true;
    // it has an exponent: "1e-05" is a real duration
    if (units_real (t->text, t->n, &us) < 0 || !(us >= 0) ||
        us > NS_MAX / 1000)
        return false;
    *ret = (int64_t)(us * 1000);
    return true;
}

bool trace_time_exact (const struct trace_time *t, double *ret)
{
    bool ok = true;
    double us;

    if (t->n == 0)
        return false;
    if (!t->plain && units_real (t->text, t->n, &us) < 0)
        return false;
    if (t->plain)
        us = scan_decimal (t->digits, -(int)t->places, &ok);
    if (!ok)                    // it is an integer: the others are fast
        us = (double)t->digits;
    *ret = us * 1000;
    return us >= 0 && us <= NS_MAX / 1000;
}

/* Read an integer, possibly in quotes; anything else is -1. */
static bool read_count (struct scan *s, int64_t *ret)
{
    struct raw raw;
    unsigned places;
    uint64_t v;
    char c;

    *ret = -1;
    if (take_plain (s, 0, &v, &places)) {
        *ret = v <= INT64_MAX ? (int64_t)v : -1;
        return true;
    }
    c = scan_peek (s);
    if (c != '"' && c != '-' && (c < '0' || c > '9'))
        return scan_skip (s);
    if (!take_raw (s, c, &raw))
        return false;
    if (all_digits (raw, &v) && v <= INT64_MAX)
        *ret = (int64_t)v;
    return true;
}

static const struct predicted_key arg_fields[] = {
    SCAN_FIELD ("name"),           SCAN_FIELD ("labels"),
    SCAN_FIELD ("task type"),      SCAN_FIELD ("src rank"),
    SCAN_FIELD ("dst rank"),       SCAN_FIELD ("transport type"),
    SCAN_FIELD ("size(Byte)"),     SCAN_FIELD ("link type"),
    SCAN_FIELD ("Task Type"),
};

#define ARG_FIELDS 9

/* Read a text with one of a few words; any other value is skipped. */
static bool read_word (struct scan *s, const char **text, size_t *n)
{
    *text = NULL;
    return scan_peek (s) == '"' ? scan_text (s, text, n) : scan_skip (s);
}

/* Before 2025 some devices have the type "Other" for nearly all tasks. */
static enum trace_type task_type (const char *text, size_t n)
{
    static const char *const starts[] = { "AI_", "AIC", "AIV", "MIX_", "DSA",
                                          "DVPP" };

    if (n == 5 && strncasecmp (text, "other", n) == 0)
        return TRACE_TYPE_UNKNOWN;
    for (size_t i = 0; i < sizeof (starts) / sizeof (starts[0]); i++) {
        size_t size = strlen (starts[i]);

        if (n >= size && memcmp (text, starts[i], size) == 0)
            return TRACE_TYPE_COMPUTES;
    }
    return TRACE_TYPE_NONE;
}

static bool read_arg (struct scan *s, int field, struct trace_event *e)
{
    struct trace_task *t = &e->task;
    const char *text;
    size_t n;

    switch (field) {
    case 0:
    case 1:
        return scan_copy (s, e->text, sizeof (e->text));
    case 3:
        return read_count (s, &t->src);
    case 4:
        return read_count (s, &t->dst);
    case 6:
        return read_count (s, &t->size);
    case 2:
    case 5:
    case 7:
        t->known = t->known || field == 5;
        if (!read_word (s, &text, &n) || !text)
            return !s->failed;
        t->has_kind = field == 2 ? n > 0 : t->has_kind;
        if (field == 2)
            t->kind = (uint8_t)comm_task_kind (text, n);
        else if (field == 5)
            t->transport = (uint8_t)comm_task_transport (text, n);
        else
            t->link = (uint8_t)comm_task_link (text, n);
        return true;
    case 8:
        if (!read_word (s, &text, &n) || !text)
            return !s->failed;
        t->type = (uint8_t)task_type (text, n);
        return true;
    default:
        return scan_skip (s);
    }
}

static bool read_args (struct trace_scan *t, struct trace_event *e)
{
    struct scan *s = &t->s;
    int field;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    if (!scan_object (s))
        return false;
    key_predictor_begin (&t->arg_keys);
    while ((field = key_predictor_next (&t->arg_keys, s)) != SCAN_DONE) {
        if (!read_arg (s, field, e))
            return false;
    }
    return !s->failed;
}

static bool read_name (struct scan *s, struct trace_event *e)
{
    // a longer name is of Python, and not needed
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
    char cat[16] = "";          // those that matter are shorter

    if (!scan_copy (s, cat, sizeof (cat)))
        return false;
    if (strcmp (cat, "cpu_op") == 0)
        e->cat = TRACE_CAT_CPU_OP;
    else if (strcmp (cat, "HostToDevice") == 0)
        e->cat = TRACE_CAT_FLOW;
    else if (strcmp (cat, "GC") == 0)
        e->cat = TRACE_CAT_GC;
    return true;
}

/* Whether the arguments of an event matter: names of processes and threads, and
 * tasks of a wanted process, which may not be known yet.
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

static const struct predicted_key event_fields[] = {
    SCAN_FIELD ("ph"),  SCAN_FIELD ("name"), SCAN_FIELD ("pid"),
    SCAN_FIELD ("tid"), SCAN_FIELD ("ts"),   SCAN_FIELD ("dur"),
    SCAN_FIELD ("cat"), SCAN_FIELD ("args"), SCAN_FIELD ("id"),
};

#define EVENT_FIELDS 9

/* Read the value of the member whose key was read. */
static bool read_member (struct trace_scan *t, int field,
                         struct trace_event *e)
{
    struct scan *s = &t->s;

    switch (field) {
    case 0:
        return read_ph (s, e);
    case 1:
        return read_name (s, e);
    case 2:
        return (e->has_pid = read_id (s, &e->pid));
    case 3:
        return read_id (s, &e->tid);
    case 4:
        return read_time (s, &e->ts);
    case 5:
        return read_time (s, &e->dur);
    case 6:
        return read_cat (s, e);
    case 7:
        return args_wanted (t, e) ? read_args (t, e) : scan_skip_quick (s);
    case 8:
        return read_id (s, &e->id);
    default:
        return scan_skip (s);
    }
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
    e->task.known = e->task.has_kind = false;
    e->task.kind = e->task.transport = e->task.link = e->task.type = 0;
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
    key_predictor_init (&t->event_keys, event_fields, EVENT_FIELDS);
    key_predictor_init (&t->arg_keys, arg_fields, ARG_FIELDS);
}

/* Enter the array of events. */
static bool trace_scan_enter (struct trace_scan *t)
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

/* Leave the array after the last event. */
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
    int field;

    if (!t->open && !(t->open = trace_scan_enter (t)))
        return false;
    if (!scan_element (s, &t->first)) {
        leave (t);
        return false;
    }
    clear (e);
    if (!scan_object (s))
        return false;
    key_predictor_begin (&t->event_keys);
    while ((field = key_predictor_next (&t->event_keys, s)) != SCAN_DONE) {
        if (!read_member (t, field, e))
            return false;
    }
    t->events += !s->failed;
    return !s->failed;
}
