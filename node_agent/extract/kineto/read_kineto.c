/* node_agent/extract/kineto/read_kineto.c - read a trace of torch.profiler, a
 * file of libkineto
 *
 * The document is an object with a long member "traceEvents" or, from torch
 * without Kineto, only a list of events.  A malformed event is skipped and
 * reading continues at the next one: the content of the file becomes rows, and
 * the capture is partial.
 */
#include "extract/kineto/read_kineto.h"
#include "extract/input/capture_file.h"
#include "extract/kineto/kineto.h"

#include "base/units.h"
#include "store/inflate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the document ---- */

static bool read_kineto_damaged (struct kineto *k, const char *what)
{
    struct trace_text *t = &k->text;
    unsigned long long at = trace_text_offset (t, t->at);

    if (t->failed == -ENODATA)
        err_set (k->err, EBADMSG, "%s: the compressed file ends at byte %llu "
                 "of its content", k->src->file, at);
    else if (t->failed)
        err_set (k->err, EBADMSG, "%s: byte %llu of its content: %s",
                 k->src->file, at, t->failed == -EBADMSG
                                       ? "the compressed data is damaged"
                                       : strerror (-t->failed));
    else
        err_set (k->err, EBADMSG, "%s: byte %llu: %s", k->src->file, at,
                 what);
    return false;
}

/* Go to the next event after a malformed one.  False: there is none. */
static bool find_event (struct trace_text *t)
{
    if (t->at < t->end)
        t->at++;
    for (;;) {
        const char *p = t->at;

        while ((p = memchr (p, '{', (size_t)(t->end - p)))) {
            const char *q = trace_space (p + 1);

            if (q + 4 >= t->end)
                break;          // what follows is not in the window
            if (memcmp (q, "\"ph\"", 4) == 0) {
                t->at = p;
                return true;
            }
            p++;
        }
        t->at = p ? p : t->end;
        if (!trace_text_more (t))
            return false;
    }
}

/* Skip malformed content. */
static bool skip_bad (struct kineto *k)
{
    uint64_t at = trace_text_offset (&k->text, k->text.at);

    if (!find_event (&k->text))
        return read_kineto_damaged (k, "the file ends within an event");
    if (k->bad++ == 0)
        k->bad_at = at;
    return true;
}

/* Process the event at t->at.  False at the end of the readable content. */
static bool take_event (struct kineto *k)
{
    struct trace_text *t = &k->text;

    for (;;) {
        const char *next = kineto_event (k, t->at, t->end);

        if (k->src->stopped)
            return false;
        // an event may end at the end of the window only at the end of the file
        if (next && (next < t->end || t->eof)) {
            t->at = next;
            return true;
        }
        // no event is as long as a window
        if (t->end - t->at > (ptrdiff_t)TRACE_WINDOW || !trace_text_more (t))
            return skip_bad (k);
    }
}

/* Read the events; the position is after their bracket. */
static bool read_events (struct kineto *k)
{
    struct trace_text *t = &k->text;
    char c;

    while ((c = trace_text_peek (t)) != ']') {
        if (c == ',') {
            t->at++;
        } else if (c == '{') {
            if (!take_event (k))
                return false;
        } else if (c == '\0') {
            return read_kineto_damaged (k, "the file ends within the events");
        } else if (!skip_bad (k)) {
            return false;
        }
    }
    t->at++;
    return true;
}

/* Read a key and the colon after it. */
static bool take_key (struct kineto *k, char out[64])
{
    struct trace_text *t = &k->text;

    if (!trace_text_key (t, out))
        return read_kineto_damaged (k, "a key was expected");
    if (trace_text_peek (t) != ':')
        return read_kineto_damaged (k, "':' was expected");
    t->at++;
    (void)trace_text_peek (t);
    return true;
}

static bool take_value (struct kineto *k, const char *key)
{
    struct trace_text *t = &k->text;
    struct span value;

    if (!trace_text_value (t, &value))
        return read_kineto_damaged (
            k, "a value of the header is cut off or malformed");
    if (value.s)
        kineto_header_take (&k->header, (struct span){ key, strlen (key) },
                            value);
    return true;
}

/* Check that nothing follows the document. */
static bool read_end (struct kineto *k)
{
    struct trace_text *t = &k->text;

    if (trace_text_peek (t) != '\0')
        return read_kineto_damaged (k,
                                    "there is something after the document");
    return t->failed == 0 || read_kineto_damaged (k, "");
}

/* Read the members of the document.  False: one is damaged. */
static bool read_members (struct kineto *k, bool *events)
{
    struct trace_text *t = &k->text;
    char key[64], c;

    while ((c = trace_text_peek (t)) != '}') {
        if (c == ',') {
            t->at++;
            continue;
        }
        if (c == '\0')
            return read_kineto_damaged (k, "the file ends within its header");
        if (!take_key (k, key))
            return false;
        if (strcmp (key, "traceEvents") == 0 && trace_text_peek (t) == '[') {
            *events = true;
            t->at++;
            if (!read_events (k))
                return false;
        } else if (!take_value (k, key)) {
            return false;
        }
    }
    t->at++;
    return read_end (k);
}

/* Read a document that is a list of events. */
static bool read_list (struct kineto *k)
{
    char c;

    k->text.at++;
    c = trace_text_peek (&k->text);
    if (c != '{' && c != ']')
        return read_kineto_damaged (k, "a list of events was expected");
    return read_events (k) && read_end (k);
}

static bool read_document (struct kineto *k)
{
    bool events = false;
    char c = trace_text_peek (&k->text);

    if (c == '[')
        return read_list (k);
    if (c != '{')
        return read_kineto_damaged (k, "an object was expected");
    k->text.at++;
    if (read_members (k, &events))
        return true;
    // events may follow a damaged header
    if (!events && !k->src->stopped && find_event (&k->text)) {
        struct err why = *k->err;

        if (read_events (k))
            (void)read_members (k, &events);
        *k->err = why;
    }
    return false;
}

/* ---- what it means ---- */

static void take_header (struct kineto *k)
{
    struct capture *c = k->src->capture;
    const struct kineto_header *h = &k->header;

    if (h->rank >= 0)
        c->rank = h->rank;
    if (h->world_size > 0)
        c->world_size = h->world_size;
    c->evidence.ranks.trace = h->rank;
    if (h->host[0]) {
        (void)snprintf (c->host, sizeof (c->host), "%s", h->host);
        (void)snprintf (c->evidence.host_name, sizeof (c->evidence.host_name),
                        "%s", h->host);
    }
    if (k->pid > 0)
        c->evidence.pid = k->pid;
    if (k->device >= 0)
        c->device_id = k->device;
    k->src->own_clock = k->own_clock;
    if (k->last >= k->first && k->first + h->base_ns > 0 && !k->own_clock) {
        c->started_ns = k->first + h->base_ns;
        c->ended_ns = k->last + h->base_ns;
    }
    if (h->why[0]) {
        capture_reason (c, "%s", h->why);
        k->src->damaged = true;
    }
}

static bool read_kineto_emit (struct kineto *k)
{
    take_header (k);
    kineto_choose_ops (k);
    return kineto_groups (k) && kineto_assign (k) && kineto_sum_steps (k) &&
           kineto_emit_ops (k) &&
           (!(k->want >> TABLE_STEP & 1) || kineto_emit_steps (k)) &&
           (!(k->want >> TABLE_STEP_EXTRA & 1) || kineto_emit_extras (k)) &&
           (!(k->want >> TABLE_INFO & 1) || kineto_emit_info (k)) &&
           (!(k->want >> TABLE_OPERATOR & 1) || kineto_emit_kernels (k)) &&
           (!(k->want >> TABLE_RANGE & 1) || kineto_emit_ranges (k));
}

/* Report events that belong to no step. */
static void tell_outside (const struct kineto *k)
{
    const struct step *o = &k->outside;
    int64_t both = interval_union_length (&o->both);

    capture_reason (k->src->capture, "left out of the steps: %llu of %zu "
                    "events of the device, computing %.3f us, communication "
                    "%.3f us, memory only %.3f us (%llu of them without their "
                    "launch in the trace)",
                    (unsigned long long)k->noutside, k->ngpu,
                    time_us (interval_union_length (&o->computing)),
                    time_us (interval_union_length (&o->communication)),
                    time_us (interval_union_length (&o->work) - both),
                    (unsigned long long)k->nunlaunched);
}

static void tell_doubts (const struct kineto *k, bool whole)
{
    struct capture *c = k->src->capture;

    if (k->implausible > 0)
        capture_reason (c, "left out: %llu event%s of negative duration, of "
                        "more than seven days, or with an invalid time",
                        (unsigned long long)k->implausible,
                        units_s (k->implausible));
    if (k->host_only && k->nstretches + k->nrecords == 0)
        capture_reason (c, "it has nothing to report: no op and no work of a "
                        "device");
    else if (k->host_only)
        capture_reason (c, "no device was recorded: computing is the time of "
                        "host ops");
    if (k->noutside > 0)
        tell_outside (k);
    if (k->own_clock)
        capture_reason (c, "its times count from the start of its profiler, "
                        "and the trace does not say when that was");
    if (k->host_only && k->many_stretches)
        capture_reason (c, "and there are too many host ops to compute it");
    if (k->ngpu == 0 && !k->host_only && k->events > 0)
        capture_reason (c, "work of the device was not %s: the parts of the "
                        "steps are not known",
                        whole ? "recorded" : "reached");
}

/* The verdict after reading; 'whole': the file was read to its end. */
static enum reading verdict (struct kineto *k, struct capture_file *file,
                             bool whole)
{
    if (k->src->stopped)
        return READING_STOPPED;
    if (!whole)
        return READING_DAMAGED;
    if (k->bad > 0) {
        err_set (k->err, EBADMSG, "%s: %llu event%s %s malformed and left "
                 "out, the first at byte %llu", k->src->file,
                 (unsigned long long)k->bad, units_s (k->bad),
                 units_are (k->bad), (unsigned long long)k->bad_at);
        return READING_DAMAGED;
    }
    if (k->ngpu == 0 && k->nlaunches > 0) {
        err_set (k->err, EBADMSG, "%s: there %s %zu launch%s, and no event "
                 "of the device", k->src->file, units_are (k->nlaunches),
                 k->nlaunches, k->nlaunches == 1 ? "" : "es");
        return READING_DAMAGED;
    }
    if (k->lost > 0) {
        err_set (k->err, E2BIG, "%s: it has too much communication or too many "
                 "steps: %llu record%s left out", k->src->file,
                 (unsigned long long)k->lost, units_s (k->lost));
        return READING_DAMAGED;
    }
    return capture_file_verdict (file, NULL, k->err);
}

static void read_kineto_fini (struct kineto *k)
{
    for (size_t i = 0; i < k->ngroups; i++)
        free (k->groups[i].members);
    sorter_destroy (k->events_by_call);
    sorter_destroy (k->events_by_start);
    free (k->comms);
    free (k->records);
    free (k->steps);
    free (k->stretches);
    free (k->groups);
    free (k->splits);
    map_fini (&k->step_ids);
    kineto_names_fini (&k->kernels);
    kineto_names_fini (&k->ranges);
    kineto_header_fini (&k->header);
    trace_text_fini (&k->text);
}

static enum reading read_open (struct kineto *k, struct capture_file *file)
{
    bool gz = inflate_is_gzip (file->fd), whole;
    enum reading how;

    if ((gz && !(file->gz = inflate_open (file->fd))) ||
        trace_text_init (&k->text, capture_file_read, file) < 0) {
        inflate_close (file->gz);
        k->src->stopped = err_set (k->err, ENOMEM, "no memory to read a "
                                   "trace");
        return READING_STOPPED;
    }
    whole = read_document (k);
    // without Kineto, kernels are beside the ops, and would have appeared by
    // now; calls of which none started work show a device, too
    k->host_only = (whole || k->own_clock) && k->ngpu == 0 &&
                   k->nlaunches == 0 &&
                   (!k->header.devices || k->ncalls > 0);
    if (k->header.no_memory)
        k->src->stopped = err_set (k->err, ENOMEM, "no memory for groups");
    if (!k->src->stopped)
        (void)read_kineto_emit (k);
    how = verdict (k, file, whole);
    if (how != READING_STOPPED)
        tell_doubts (k, whole);
    inflate_close (file->gz);
    return how;
}

enum reading read_kineto (struct source *src, unsigned want, struct err *err)
{
    struct kineto k = { .src = src, .err = err, .want = want, .device = -1,
                        .first = 1,
                        .step_ids = MAP (char[KINETO_STEP_ID],
                                         KINETO_STEP_ID / 8) };
    struct capture_file file;
    enum reading how = capture_file_open (&file, src, src->dir, src->file,
                                          err);

    kineto_header_init (&k.header);
    kineto_events_init (&k);
    if (how == READING_WHOLE)
        how = read_open (&k, &file);
    capture_file_close (&file);
    read_kineto_fini (&k);
    return how;
}
