/* node_agent/extract/timeline/trace_scan.c - read the events of a Chrome trace
 * one by one
 */
#include "extract/timeline/trace_scan.h"

#include "base/units.h"
#include "extract/rows/comm_tasks.h"
#include "json/scan_number.h"
#include "json/text_end.h"

#include <strings.h>

#define NS_MAX 9.0e18           // the largest time in an int64_t
#define INLINE inline __attribute__ ((always_inline))

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

/* Read a plain number at '*at', possibly in quotes, with at most 'most'
 * decimals.  False, and nothing is read: there is something else.
 */
static INLINE bool take_plain (const char **at, unsigned most, uint64_t *digits,
                               unsigned *places)
{
    bool quoted = **at == '"';
    const char *end = scan_plain (*at + quoted, digits, places);

    if (!end || *places > most || (quoted && *end != '"'))
        return false;
    *at = end + quoted;
    return true;
}

/* Read an identifier, a number or a text; equal ones give equal results. */
static bool read_id (struct scan *s, uint64_t *ret)
{
    char c = scan_peek (s);
    unsigned places;
    struct raw raw;

    if (take_plain (&s->at, 0, ret, &places))
        return true;
    if (!take_raw (s, c, &raw))
        return false;
    if (!all_digits (raw, ret))
        *ret = hash_text (raw.s, raw.n);
    return true;
}

/* Read a usual time at '*at'.  False, and nothing is read: it is none. */
static INLINE bool take_time (const char **at, struct trace_time *t)
{
    unsigned places = 0;

    t->n = 1;
    t->plain = take_plain (at, PLACES_MAX, &t->digits, &places);
    t->places = (uint8_t)places;
    return t->plain;
}

static bool read_time (struct scan *s, struct trace_time *t)
{
    char c = scan_peek (s);
    struct raw raw;

    if (take_time (&s->at, t))
        return !s->failed;
    if (!take_raw (s, c, &raw))
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

/* A number that is too large is -1. */
static int64_t count_of (uint64_t digits)
{
    return digits <= INT64_MAX ? (int64_t)digits : -1;
}

/* Read an integer, possibly in quotes; anything else is -1. */
static bool read_count (struct scan *s, int64_t *ret)
{
    struct raw raw;
    unsigned places;
    uint64_t v;
    char c;

    *ret = -1;
    c = scan_peek (s);
    if (take_plain (&s->at, 0, &v, &places)) {
        *ret = count_of (v);
        return true;
    }
    if (c != '"' && c != '-' && (c < '0' || c > '9'))
        return scan_skip (s);
    if (!take_raw (s, c, &raw))
        return false;
    if (all_digits (raw, &v))
        *ret = count_of (v);
    return true;
}

enum { ARG_NAME, ARG_LABELS, ARG_KIND, ARG_SRC, ARG_DST, ARG_TRANSPORT,
       ARG_SIZE, ARG_LINK, ARG_TYPE };

static const struct predicted_key arg_fields[] = {
    [ARG_NAME] = SCAN_FIELD ("name"),
    [ARG_LABELS] = SCAN_FIELD ("labels"),
    [ARG_KIND] = SCAN_FIELD ("task type"),
    [ARG_SRC] = SCAN_FIELD ("src rank"),
    [ARG_DST] = SCAN_FIELD ("dst rank"),
    [ARG_TRANSPORT] = SCAN_FIELD ("transport type"),
    [ARG_SIZE] = SCAN_FIELD ("size(Byte)"),
    [ARG_LINK] = SCAN_FIELD ("link type"),
    [ARG_TYPE] = SCAN_FIELD ("Task Type"),
};

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

#define KIND_SAID 0x100         // a kind that is not empty

/* Read a text with one of a few words; any other value is skipped, and -1. */
static bool read_word (struct scan *s, int field, int64_t *ret)
{
    const char *text;
    size_t n;

    *ret = -1;
    if (scan_peek (s) != '"')
        return scan_skip (s);
    if (!scan_text (s, &text, &n))
        return false;
    if (field == ARG_KIND)
        *ret = (int64_t)comm_task_kind (text, n) | (n > 0 ? KIND_SAID : 0);
    else if (field == ARG_TRANSPORT)
        *ret = comm_task_transport (text, n);
    else if (field == ARG_LINK)
        *ret = comm_task_link (text, n);
    else
        *ret = task_type (text, n);
    return true;
}

/* Read the value of an argument but a text. */
static bool read_arg (struct scan *s, int field, int64_t *ret)
{
    switch (field) {
    case ARG_SRC:
    case ARG_DST:
    case ARG_SIZE:
        return read_count (s, ret);
    case ARG_KIND:
    case ARG_TRANSPORT:
    case ARG_LINK:
    case ARG_TYPE:
        return read_word (s, field, ret);
    default:
        *ret = 0;
        return scan_skip (s);
    }
}

static void set_arg (struct trace_task *t, int field, int64_t value)
{
    t->known = t->known || field == ARG_TRANSPORT;
    if (field == ARG_SRC)
        t->src = value;
    else if (field == ARG_DST)
        t->dst = value;
    else if (field == ARG_SIZE)
        t->size = value;
    else if (value < 0)
        return;                 // it is no word
    else if (field == ARG_TRANSPORT)
        t->transport = (uint8_t)value;
    else if (field == ARG_LINK)
        t->link = (uint8_t)value;
    else if (field == ARG_TYPE)
        t->type = (uint8_t)value;
    else if (field == ARG_KIND) {
        t->kind = (uint8_t)value;
        t->has_kind = (value & KIND_SAID) != 0;
    }
}

/* Take the value at the cursor: the last one again, or what 'read' reads. */
static INLINE bool take_value (struct scan *s, struct key_predictor *keys,
                               struct key_cursor *c, int field,
                               bool (*read) (struct scan *s, int field,
                                             int64_t *ret), int64_t *ret)
{
    const char *from = c->at;
    uint64_t offset = s->offset;

    if (key_cursor_again (c, ret))
        return true;
    key_cursor_leave (c, keys, s);
    if (!read (s, field, ret))
        return false;
    key_predictor_keep (keys, s, from, offset, *ret);
    *c = key_cursor_enter (keys, s);
    return true;
}

static inline bool take_arg (struct trace_scan *t, struct key_cursor *c,
                             int field, struct trace_event *e)
{
    uint64_t digits = 0;
    unsigned places;
    int64_t value;

    if (field == ARG_NAME || field == ARG_LABELS) {
        key_cursor_leave (c, &t->arg_keys, &t->s);
        if (!scan_copy (&t->s, e->text, sizeof (e->text)))
            return false;
        *c = key_cursor_enter (&t->arg_keys, &t->s);
        return true;
    }
    if ((field == ARG_SIZE || field == ARG_DST) &&
        take_plain (&c->at, 0, &digits, &places))
        value = count_of (digits);
    else if (!take_value (&t->s, &t->arg_keys, c, field, read_arg, &value))
        return false;
    set_arg (&e->task, field, value);
    return true;
}

static bool read_args (struct trace_scan *t, struct trace_event *e)
{
    struct scan *s = &t->s;
    struct key_cursor c;
    int field;

    if (scan_peek (s) != '{')
        return scan_skip (s);
    if (!scan_object (s))
        return false;
    key_predictor_begin (&t->arg_keys);
    c = key_cursor_enter (&t->arg_keys, s);
    while ((field = key_cursor_next (&c, &t->arg_keys, s)) != SCAN_DONE) {
        if (!take_arg (t, &c, field, e))
            return false;
    }
    key_cursor_leave (&c, &t->arg_keys, s);
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

static bool read_ph (struct scan *s, int64_t *ret)
{
    const char *text;
    size_t n;

    if (!scan_text (s, &text, &n))
        return false;
    *ret = n == 1 ? text[0] : '?';
    return true;
}

/* Read the category, -1 for one that does not matter. */
static bool read_cat (struct scan *s, int64_t *ret)
{
    char cat[16] = "";          // those that matter are shorter

    if (!scan_copy (s, cat, sizeof (cat)))
        return false;
    *ret = strcmp (cat, "cpu_op") == 0         ? TRACE_CAT_CPU_OP
           : strcmp (cat, "HostToDevice") == 0 ? TRACE_CAT_FLOW
           : strcmp (cat, "GC") == 0           ? TRACE_CAT_GC
                                               : -1;
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

enum { EVENT_NAME, EVENT_TS, EVENT_DUR, EVENT_ARGS, EVENT_PH, EVENT_PID,
       EVENT_TID, EVENT_CAT, EVENT_ID };

static const struct predicted_key event_fields[] = {
    [EVENT_NAME] = SCAN_FIELD ("name"), [EVENT_TS] = SCAN_FIELD ("ts"),
    [EVENT_DUR] = SCAN_FIELD ("dur"),   [EVENT_ARGS] = SCAN_FIELD ("args"),
    [EVENT_PH] = SCAN_FIELD ("ph"),     [EVENT_PID] = SCAN_FIELD ("pid"),
    [EVENT_TID] = SCAN_FIELD ("tid"),   [EVENT_CAT] = SCAN_FIELD ("cat"),
    [EVENT_ID] = SCAN_FIELD ("id"),
};

/* Read a value that is often that of the last event. */
static bool read_short (struct scan *s, int field, int64_t *ret)
{
    uint64_t id = 0;
    bool good;

    switch (field) {
    case EVENT_PH:
        return read_ph (s, ret);
    case EVENT_CAT:
        return read_cat (s, ret);
    case EVENT_PID:
    case EVENT_TID:
    case EVENT_ID:
        good = read_id (s, &id);
        *ret = (int64_t)id;
        return good;
    default:
        *ret = 0;
        return scan_skip (s);
    }
}

static void set_short (struct trace_event *e, int field, int64_t value)
{
    if (field == EVENT_PID) {
        e->pid = (uint64_t)value;
        e->has_pid = true;
    } else if (field == EVENT_TID) {
        e->tid = (uint64_t)value;
    } else if (field == EVENT_PH) {
        e->ph = (char)value;
    } else if (field == EVENT_ID) {
        e->id = (uint64_t)value;
    } else if (field == EVENT_CAT && value >= 0) {
        e->cat = (enum trace_cat)value;
    }
}

/* Read a value that is another one for most events. */
static bool read_long (struct trace_scan *t, int field, struct trace_event *e)
{
    struct scan *s = &t->s;

    switch (field) {
    case EVENT_NAME:
        return read_name (s, e);
    case EVENT_TS:
        return read_time (s, &e->ts);
    case EVENT_DUR:
        return read_time (s, &e->dur);
    default:
        return args_wanted (t, e) ? read_args (t, e) : scan_skip_quick (s);
    }
}

/* Read a plain name at the cursor.  False: it is another one. */
static inline bool take_name (struct key_cursor *c, struct trace_event *e)
{
    const char *end = text_plain_end (c->at + 1);
    size_t n = (size_t)(end - c->at) - 1;

    if (*c->at != '"' || *end != '"' || n >= sizeof (e->name))
        return false;
    for (size_t i = 0; i <= n; i += 16) // as a call takes longer
        memcpy (e->name + i, c->at + 1 + i, 16);
    e->name[n] = '\0';
    e->name_size = (uint32_t)n;
    c->at = end + 1;
    return true;
}

static inline bool take_member (struct trace_scan *t, struct key_cursor *c,
                                int field, struct trace_event *e)
{
    int64_t value;

    if (field > EVENT_ARGS || field == SCAN_OTHER) {
        if (!take_value (&t->s, &t->event_keys, c, field, read_short, &value))
            return false;
        set_short (e, field, value);
        return true;
    }
    if (field == EVENT_NAME   ? take_name (c, e)
        : field == EVENT_TS  ? take_time (&c->at, &e->ts)
        : field == EVENT_DUR ? take_time (&c->at, &e->dur)
                             : false)
        return true;
    key_cursor_leave (c, &t->event_keys, &t->s);
    if (!read_long (t, field, e))
        return false;
    *c = key_cursor_enter (&t->event_keys, &t->s);
    return true;
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
    key_predictor_init (&t->event_keys, event_fields,
                        sizeof (event_fields) / sizeof (event_fields[0]));
    key_predictor_init (&t->arg_keys, arg_fields,
                        sizeof (arg_fields) / sizeof (arg_fields[0]));
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

/* Enter the next event.  False at the end, and on failure. */
static inline bool next_event (struct trace_scan *t)
{
    struct scan *s = &t->s;

    // what is usually between two of them
    if (!t->first && !s->failed && memcmp (s->at, ", {", 3) == 0) {
        s->at += 3;
        s->depth++;
        return true;
    }
    if (scan_element (s, &t->first))
        return scan_object (s);
    leave (t);
    return false;
}

bool trace_scan_next (struct trace_scan *t, struct trace_event *e)
{
    struct scan *s = &t->s;
    struct key_cursor c;
    int field;

    if (!t->open && !(t->open = trace_scan_enter (t)))
        return false;
    if (!next_event (t))
        return false;
    clear (e);
    key_predictor_begin (&t->event_keys);
    c = key_cursor_enter (&t->event_keys, s);
    while ((field = key_cursor_next (&c, &t->event_keys, s)) != SCAN_DONE) {
        if (!take_member (t, &c, field, e))
            return false;
    }
    key_cursor_leave (&c, &t->event_keys, s);
    t->events += !s->failed;
    return !s->failed;
}
