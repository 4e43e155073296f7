/* node_agent/extract/kineto/kineto_events.c - process one event of a trace
 *
 * Most events are host ops, of which only the time is needed, and flows, which
 * are not needed: their arguments are skipped.
 */
#include "extract/kineto/kineto.h"

#include <errno.h>

struct event {
    char ph;
    struct span cat, name, pid, tid, args;
    int64_t ts, dur;            // ns
    bool has_ts, has_dur;
    bool odd;                   // it has an impossible time
};

/* ---- the object ---- */

enum { EVENT_PH, EVENT_CAT, EVENT_NAME, EVENT_PID, EVENT_TID, EVENT_TS,
       EVENT_DUR, EVENT_ARGS };

static const struct predicted_key event_keys[] = {
    [EVENT_PH] = SCAN_FIELD ("ph"),     [EVENT_CAT] = SCAN_FIELD ("cat"),
    [EVENT_NAME] = SCAN_FIELD ("name"), [EVENT_PID] = SCAN_FIELD ("pid"),
    [EVENT_TID] = SCAN_FIELD ("tid"),   [EVENT_TS] = SCAN_FIELD ("ts"),
    [EVENT_DUR] = SCAN_FIELD ("dur"),   [EVENT_ARGS] = SCAN_FIELD ("args"),
};

/* Read a time: '*has' whether it is one. */
static const char *take_time (struct event *e, const char *p, const char *end,
                              int64_t *ns, bool *has)
{
    bool good = true;

    p = trace_time (p, end, ns, &good);
    *has = good;
    e->odd = e->odd || !good;
    return p;
}

/* Read the value of a member.  Returns the position after it, or NULL. */
static inline const char *take_member (struct event *e, int key, const char *p,
                                       const char *end)
{
    struct span ignored, *to = &ignored, v;
    char type = *p;

    switch (key) {
    case EVENT_TS:
        return take_time (e, p, end, &e->ts, &e->has_ts);
    case EVENT_DUR:
        return take_time (e, p, end, &e->dur, &e->has_dur);
    case EVENT_CAT:
        to = &e->cat;
        break;
    case EVENT_NAME:
        to = &e->name;
        break;
    case EVENT_PID:
        to = &e->pid;
        break;
    case EVENT_TID:
        to = &e->tid;
        break;
    case EVENT_ARGS:
        to = type == '{' ? &e->args : to;
        break;
    default:
        break;
    }
    if (!(p = trace_value (p, end, &v)))
        return NULL;
    *to = v;
    if (key == EVENT_PH)
        e->ph = v.n == 1 ? v.s[0] : '?';
    return p;
}

static uint32_t hash_text (struct span text)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < text.n && i < 32; i++)
        h = (h ^ (unsigned char)text.s[i]) * 16777619u;
    return h;
}

/* ---- arguments ---- */

struct gpu_args {
    int64_t device, stream, correlation, external;
};

enum { ARG_EXTERNAL, ARG_DEVICE, ARG_STREAM, ARG_CORRELATION };

static const struct predicted_key arg_keys[] = {
    [ARG_EXTERNAL] = SCAN_FIELD ("External id"),
    [ARG_DEVICE] = SCAN_FIELD ("device"),
    [ARG_STREAM] = SCAN_FIELD ("stream"),
    [ARG_CORRELATION] = SCAN_FIELD ("correlation"),
};

static void read_gpu_args (struct kineto *k, const struct event *e,
                           struct gpu_args *a)
{
    int64_t *const values[] = { &a->external, &a->device, &a->stream,
                                &a->correlation };
    const char *p, *end;
    unsigned found = 0;
    struct span v;
    int key;

    *a = (struct gpu_args){ -1, -1, -1, -1 };
    if (e->args.n == 0)
        return;
    p = e->args.s + 1;
    end = e->args.s + e->args.n;
    key_predictor_begin (&k->arg_keys);
    while (found < 15 &&
           (key = trace_keys_next (&k->arg_keys, &p, end)) >= TRACE_KEY_OTHER &&
           (p = trace_value (p, end, &v))) {
        if (key >= 0 && trace_int (v, values[key]))
            found |= 1u << key;
    }
}

static struct comm_record empty_record (void)
{
    return (struct comm_record){ .in = -1, .out = -1,
                                 .second = -1, .seq = -1,
                                 .group = KINETO_NONE, .splits = KINETO_NONE,
                                 .peer = -1 };
}

static uint32_t add_record (struct kineto *k, const struct comm_record *r)
{
    struct comm_record *room;

    if (k->nrecords == KINETO_RECORDS) {
        k->lost++;
        return KINETO_NONE;
    }
    room = kineto_reserve (k, &k->records, &k->nrecords, &k->records_cap,
                           sizeof (*room));
    if (!room)
        return KINETO_NONE;
    *room = *r;
    return (uint32_t)(room - k->records);
}

/* ---- events of the device ---- */

/* Whether it is the host waiting for the whole device.  Such events have no
 * stream, which before 2024 was written without a sign.  Work of MTIA may have
 * none, too.
 */
static bool is_wait_of_host (struct span cat, const struct gpu_args *a)
{
    return (a->stream < 0 || a->stream == UINT32_MAX) &&
           !span_starts (cat, "mtia_");
}

static void take_gpu (struct kineto *k, const struct event *e)
{
    struct kineto_known *known = kineto_know (k->known, e->cat, e->name);
    struct comm_record r;
    struct gpu_event g;
    struct gpu_args a;

    read_gpu_args (k, e, &a);
    if (!k->own_clock && is_wait_of_host (e->cat, &a))
        return;
    if (!known->has_number) {
        known->number = kineto_name_number (k, &k->kernels, e->name,
                                            known->kind);
        known->has_number = true;
    }
    kineto_name_add (&k->kernels, known->number, e->ts, e->dur);
    g = (struct gpu_event){ .start = e->ts, .dur = e->dur,
                            .correlation = a.correlation > 0
                                               ? (uint32_t)a.correlation : 0,
                            .external = (uint32_t)a.external,
                            .record = KINETO_NONE, .step = KINETO_NO_STEP,
                            .kind = known->kind };
    if (k->device < 0 && a.device >= 0 && a.device < INT32_MAX)
        k->device = a.device;
    if (known->kind == GPU_COMMUNICATION) {
        r = empty_record ();
        k->ncomm_kernels++;
        g.coll = (uint8_t)kineto_coll (e->name);
        if (e->args.n > 0 &&
            kineto_comm_args (k, e->args.s + 1, e->args.s + e->args.n, &r))
            g.record = add_record (k, &r);
    }
    kineto_keep_event (k, &g);
}

static void take_launch (struct kineto *k, const struct event *e)
{
    struct gpu_args a;

    read_gpu_args (k, e, &a);
    if (a.correlation <= 0)
        return;
    k->ncalls++;
    k->nlaunches += kineto_know (k->known, e->cat, e->name)->starts;
    kineto_keep_launch (k, &(struct launch){ e->ts, (uint32_t)a.correlation,
                                             hash_text (e->tid) });
}

/* ---- events of the host ---- */

/* Find or add the step of an id.  NULL: there is no room. */
static struct step *find_step (struct kineto *k, struct span id)
{
    char text[KINETO_STEP_ID] = "", (*known)[KINETO_STEP_ID];
    struct step *s;
    bool is_new;

    (void)trace_plain (id, text, sizeof (text));
    if ((known = map_get (&k->step_ids, text)))
        return &k->steps[known - (char (*)[KINETO_STEP_ID])k->step_ids.records];
    if (k->nsteps >= CAPTURE_STEPS_MAX) {
        k->lost++;
        return NULL;
    }
    s = kineto_reserve (k, &k->steps, &k->nsteps, &k->steps_cap, sizeof (*s));
    if (!s)
        return NULL;
    *s = (struct step){ .end = INT64_MIN, .device_end = INT64_MIN };
    memcpy (s->id, text, sizeof (text));
    if (map_put (&k->step_ids, text, &is_new))
        return s;
    k->src->stopped = err_set (k->err, ENOMEM, "no memory for steps");
    return NULL;
}

static const char step_name[] = "ProfilerStep#";

/* Take the span of a step, whose name is "ProfilerStep#N". */
static void take_step (struct kineto *k, const struct event *e, bool device)
{
    const size_t n = sizeof (step_name) - 1;
    struct step *s = find_step (k, (struct span){ e->name.s + n,
                                                  e->name.n - n });
    int64_t end = e->ts + e->dur;

    if (!s)
        return;
    if (device) {
        if (s->device_end == INT64_MIN || e->ts < s->device_start)
            s->device_start = e->ts;
        s->device_end = end > s->device_end ? end : s->device_end;
    } else {
        if (s->end == INT64_MIN || e->ts < s->start)
            s->start = e->ts;
        s->end = end > s->end ? end : s->end;
    }
}

/* Take a time in which host ops ran; without a device that is computing. */
static void take_stretch (struct kineto *k, const struct event *e)
{
    struct interval *last = k->nstretches > 0
                               ? &k->stretches[k->nstretches - 1] : NULL;
    int64_t end = e->ts + e->dur;

    if (k->many_stretches || k->ngpu > 0)
        return;
    if (last && e->ts >= last->start && e->ts <= last->end) {
        last->end = end > last->end ? end : last->end;
        return;
    }
    if (k->nstretches == KINETO_STRETCHES) {
        k->nstretches = intervals_merge (k->stretches, k->nstretches);
        if (k->nstretches > KINETO_STRETCHES / 2) {
            k->many_stretches = true;
            return;
        }
    }
    last = kineto_reserve (k, &k->stretches, &k->nstretches, &k->stretches_cap,
                           sizeof (*last));
    if (last)
        *last = (struct interval){ e->ts, end };
}

/* Take a range of the host that describes a communication, or is one:
 * record_param_comms, c10d::..., nccl:..., gloo:...
 */
static void take_record (struct kineto *k, const struct event *e,
                         enum comm_range range)
{
    struct comm_record r = empty_record ();
    struct gpu_args a;

    if (e->args.n > 0)
        (void)kineto_comm_args (k, e->args.s + 1, e->args.s + e->args.n, &r);
    if (!r.args && span_is (e->name, "record_param_comms"))
        r.coll = COLL_NONE;     // an old one only has its size
    else if (!r.args)
        r.coll = (uint8_t)kineto_coll (e->name);
    read_gpu_args (k, e, &a);
    r.external = (uint32_t)a.external;
    r.tid = hash_text (e->tid);
    r.start = e->ts;
    r.end = e->ts + e->dur;
    r.range = (uint8_t)range;
    if (range == RANGE_CALL)
        kineto_comm_call (&r);
    r.op = range == RANGE_GLOO;
    (void)add_record (k, &r);
}

static void take_range (struct kineto *k, const struct event *e, uint8_t what)
{
    uint32_t number = kineto_name_number (k, &k->ranges, e->name, what);

    kineto_name_add (&k->ranges, number, e->ts, e->dur);
}

static void take_host (struct kineto *k, const struct event *e, bool user)
{
    enum comm_range range = kineto_comm_range (e->name);

    if (k->pid == 0 && (!trace_int (e->pid, &k->pid) || k->pid <= 0 ||
                        k->pid > INT32_MAX))
        k->pid = -1;            // a text, which is not examined again
    if (span_starts (e->name, step_name)) {
        take_step (k, e, false);
        return;
    }
    if (range != RANGE_NONE)
        take_record (k, e, range);
    else if (!user)
        take_stretch (k, e);
    if (user)
        take_range (k, e, 0);
}

static void take_device_range (struct kineto *k, const struct event *e)
{
    if (span_starts (e->name, step_name))
        take_step (k, e, true);
    else
        take_range (k, e, 1);
}

/* ---- all of them ---- */

static void take_event (struct kineto *k, const struct event *e)
{
    bool none = k->last < k->first;

    if (none || e->ts < k->first)
        k->first = e->ts;
    if (none || e->ts + e->dur > k->last)
        k->last = e->ts + e->dur;
    if (span_is (e->cat, "cpu_op") || span_is (e->cat, "Operator"))
        take_host (k, e, false);
    else if (kineto_is_gpu (e->cat))
        take_gpu (k, e);
    else if (kineto_is_call (e->cat))
        take_launch (k, e);
    else if (span_is (e->cat, "user_annotation"))
        take_host (k, e, true);
    else if (span_is (e->cat, "gpu_user_annotation"))
        take_device_range (k, e);
}

/* Take an event of torch without Kineto: it has no category, and the name of
 * the process is that of the device.  Ranges that the program marked look like
 * ops, except those that torch marks.
 */
static void take_old_event (struct kineto *k, struct event *e)
{
    static const char *const marks[] = {
        step_name, "Optimizer.", "DistributedDataParallel.", "DataParallel.",
        "enumerate(DataLoader)", "## ",
    };

    k->own_clock = true;
    e->cat = span_is (e->pid, "CUDA functions")
                 ? (struct span){ "kernel", 6 } : (struct span){ "cpu_op", 6 };
    for (size_t i = 0; i < sizeof (marks) / sizeof (marks[0]); i++) {
        if (e->cat.s[0] == 'c' && span_starts (e->name, marks[i]))
            e->cat = (struct span){ "user_annotation", 15 };
    }
    take_event (k, e);
}

void kineto_events_init (struct kineto *k)
{
    key_predictor_init (&k->event_keys, event_keys,
                     sizeof (event_keys) / sizeof (event_keys[0]));
    key_predictor_init (&k->arg_keys, arg_keys,
                     sizeof (arg_keys) / sizeof (arg_keys[0]));
}

const char *kineto_event (struct kineto *k, const char *p, const char *end)
{
    struct event e = { .ph = '\0' };
    bool old;
    int key;

    p++;                        // skip the brace
    key_predictor_begin (&k->event_keys);
    while ((key = trace_keys_next (&k->event_keys, &p, end)) >=
           TRACE_KEY_OTHER) {
        if (!(p = take_member (&e, key, p, end)))
            return NULL;
    }
    if (key == TRACE_KEY_BAD)
        return NULL;
    k->events++;
    old = e.cat.n == 0 && (span_is (e.pid, "CPU functions") ||
                           span_is (e.pid, "CUDA functions"));
    if (e.ph != 'X' || (e.cat.n == 0 && !old) || span_is (e.cat, "Trace") ||
        (!e.odd && (!e.has_ts || !e.has_dur)))
        return p;               // it has no time or no meaning
    if (e.odd || e.dur < 0 || e.dur > KINETO_DUR_MAX)
        k->implausible++;
    else if (old)
        take_old_event (k, &e);
    else
        take_event (k, &e);
    return p;
}
