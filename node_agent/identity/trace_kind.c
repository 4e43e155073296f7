/* node_agent/identity/trace_kind.c - recognise a trace by its content */
#include "identity/trace_kind.h"

#include "extract/input/kineto_header.h"

#include "store/fileio.h"
#include "store/inflate.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_SIZE 16384u        // of the events: the first ones show what they
                                // are
#define LOOK_MAX (16u << 20)    // of content before a key; no trace has so much
#define TAIL_SIZE (1u << 20)
#define EVENT_HEAD 512

bool trace_may_be (const char *name)
{
    struct span s = { name, strlen (name) };

    return span_ends (s, ".json") || span_ends (s, ".json.gz");
}

/* ---- what it is ---- */

/* Whether the first event that has a time has it in quotes: "ts": "123". */
static bool quoted_times (const char *text)
{
    const char *p = strstr (text, "\"ts\"");

    if (!p || *(p = trace_space (p + 4)) != ':')
        return false;
    p = trace_space (p + 1);
    return *p == '"' && (unsigned)(p[1] - '0') <= 9;
}

/* Whether an object begins here that has a "ph" near its start. */
static bool is_event (const char *text)
{
    const char *p = trace_space (text), *ph = strstr (p, "\"ph\"");

    return *p == '{' && ph && ph - p < EVENT_HEAD;
}

/* A plain list of events does not show who wrote it, with two exceptions:
 * torch_npu writes times as texts, and torch without Kineto gives all processes
 * certain names.
 */
static enum trace_kind judge_list (const char *text, bool events)
{
    if (events && quoted_times (text))
        return TRACE_TORCH_NPU;
    return events && (strstr (text, "\"CPU functions\"") ||
                      strstr (text, "\"CUDA functions\""))
               ? TRACE_KINETO : TRACE_OTHER;
}

static bool is_key (const char *name)
{
    static const char *const keys[] = {
        "traceEvents", "schemaVersion", "distributedInfo", "deviceProperties",
        "baseTimeNanoseconds",
    };

    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++) {
        if (strcmp (name, keys[i]) == 0)
            return true;
    }
    return false;
}

/* Judge the events at t->at, of which HEAD_SIZE bytes are examined. */
static enum trace_kind judge_events (struct trace_text *t, unsigned found,
                                     const char **why)
{
    bool events;

    if (t->end - t->at < (ptrdiff_t)HEAD_SIZE)
        (void)trace_text_more (t);
    events = strstr (t->at, "\"ph\"") != NULL;
    if (events && quoted_times (t->at))
        return TRACE_TORCH_NPU;
    if (events || found > 1)
        return TRACE_KINETO;
    *why = "its traceEvents are not events";
    return TRACE_OTHER;
}

/* Judge the members of an object.  Those that show a trace may follow any
 * others.
 */
static enum trace_kind judge_object (struct trace_text *t, const char **why)
{
    unsigned found = 0;
    struct span value;
    char key[64], c;

    t->at++;
    while ((c = trace_text_peek (t)) == ',' || c == '"') {
        if (c == ',') {
            t->at++;
            continue;
        }
        if (!trace_text_key (t, key) || trace_text_peek (t) != ':')
            break;
        t->at++;
        found += is_key (key);
        if (strcmp (key, "traceEvents") == 0 && trace_text_peek (t) == '[')
            return judge_events (t, found, why);
        (void)trace_text_peek (t);
        if (!trace_text_value (t, &value) ||
            trace_text_offset (t, t->at) > LOOK_MAX)
            break;
    }
    if (found > 1)
        return TRACE_KINETO;
    if (c == '\0' && t->failed)
        *why = "its compressed content is damaged";
    else if (found > 0)
        *why = "it has no traceEvents";
    return TRACE_OTHER;
}

static enum trace_kind trace_kind_judge (struct trace_text *t, const char **why)
{
    enum trace_kind kind;

    switch (trace_text_peek (t)) {
    case '[':
        kind = judge_list (t->at, strstr (t->at, "\"ph\"") != NULL);
        if (kind == TRACE_OTHER && is_event (t->at + 1))
            *why = "it is a list of events, but neither torch.profiler's nor "
                   "torch_npu's";
        return kind;
    case '{':
        return judge_object (t, why);
    default:
        if (t->failed)
            *why = "its compressed content is damaged";
        return TRACE_OTHER;
    }
}

enum trace_kind trace_kind_of (int fd, const char **why)
{
    enum trace_kind kind = TRACE_OTHER;
    struct trace_text t = { .buf = NULL };
    struct inflate *z = NULL;
    const char *ignored;

    why = why ? why : &ignored;
    *why = NULL;
    if (lseek (fd, 0, SEEK_SET) < 0 ||
        (inflate_is_gzip (fd) && !(z = inflate_open (fd))))
        return TRACE_OTHER;
    if (trace_text_init (&t, z ? inflate_read : scan_read_fd,
                         z ? (void *)z : (void *)&fd) == 0) {
        t.cap = HEAD_SIZE;      // this shows most files to be no trace
        kind = trace_kind_judge (&t, why);
    }
    trace_text_fini (&t);
    inflate_close (z);
    return kind;
}

enum trace_kind trace_kind_at (int dir, const char *name, const char **why)
{
    int fd = fileio_open_at (dir, name, NULL);
    enum trace_kind kind = TRACE_OTHER;

    *why = fd == -EACCES ? "it cannot be opened: permission denied" : NULL;
    if (fd >= 0) {
        kind = trace_kind_of (fd, why);
        (void)close (fd);
    }
    return kind;
}

/* ---- whose it is ---- */

static const char info_key[] = "\"distributedInfo\"";

/* Read the value after the key at 'p'. False if it is not in the window as a
 * whole.
 */
static bool take_info (const struct trace_text *t, const char *p,
                       struct kineto_header *h)
{
    const size_t n = sizeof (info_key) - 1;
    struct span value;

    if (*(p = trace_space (p + n)) != ':' ||
        !trace_value (trace_space (p + 1), t->end, &value))
        return false;
    kineto_header_take (h, (struct span){ &info_key[1], n - 2 }, value);
    return true;
}

/* Look for the key in the rest of the content, and read its value. */
static void trace_kind_search (struct trace_text *t, struct kineto_header *h)
{
    const size_t n = sizeof (info_key) - 1;

    do {
        const char *p = memmem (t->at, (size_t)(t->end - t->at), info_key, n);

        if (p && take_info (t, p, h))
            return;
        if (p)                  // its value may extend beyond the window
            t->at = p;
        else if ((size_t)(t->end - t->at) > n)
            t->at = t->end - n;
    } while (trace_text_more (t));
}

/* From 'offset' of the content; a compressed file has no other place than its
 * start.  Of one 'window' only: whether there is no need to search on, since it
 * is there, or this is a compressed list of events, beside which nothing is: it
 * would have to be inflated to its end to see that.
 */
static bool search_from (int fd, off_t offset, bool window,
                         struct kineto_header *h)
{
    struct trace_text t = { .buf = NULL };
    struct inflate *z = NULL;
    bool gz = inflate_is_gzip (fd), list = false;

    if (lseek (fd, gz ? 0 : offset, SEEK_SET) < 0 ||
        (gz && !(z = inflate_open (fd))))
        return false;
    if (trace_text_init (&t, gz ? inflate_read : scan_read_fd,
                         gz ? (void *)z : (void *)&fd) == 0 &&
        (!window || trace_text_more (&t))) {
        list = window && *trace_space (t.at) == '[';
        t.eof = t.eof || window;        // one window, no more
        trace_kind_search (&t, h);
    }
    trace_text_fini (&t);
    inflate_close (z);
    return h->seen || (gz && list);
}

void trace_identify (struct source *src)
{
    int fd = fileio_open_at (src->dir, src->file, NULL);
    struct capture *c = src->capture;
    struct kineto_header h;
    struct stat st;

    if (fd < 0)
        return;
    kineto_header_init (&h);
    if (fstat (fd, &st) == 0 && !search_from (fd, 0, true, &h))
        (void)search_from (fd, st.st_size > TAIL_SIZE ? st.st_size - TAIL_SIZE
                                                      : 0, false, &h);
    if (h.rank >= 0)
        c->rank = h.rank;
    c->evidence.ranks.trace = h.rank;
    if (h.world_size > 0)
        c->world_size = h.world_size;
    kineto_header_fini (&h);
    (void)close (fd);
}
