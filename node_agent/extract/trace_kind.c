/* node_agent/extract/trace_kind.c - what a file of JSON is, by its content */
#include "extract/trace_kind.h"

#include "extract/kineto.h"

#include "base/fileio.h"
#include "base/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_SIZE 16384u
#define TAIL_SIZE (1u << 20)

bool trace_may_be (const char *name)
{
    struct span s = { name, strlen (name) };

    return span_ends (s, ".json") || span_ends (s, ".json.gz");
}

bool trace_is_gzip (int fd)
{
    char head[2];

    return pread (fd, head, sizeof (head), 0) == (ssize_t)sizeof (head) &&
           inflate_is_gzip (head, sizeof (head));
}

/* ---- what it is ---- */

/* Up to 'max' bytes of the content. */
static size_t read_head (int fd, char *out, size_t max)
{
    struct inflate *z = NULL;
    size_t used = 0;
    ssize_t n = 1;

    if (lseek (fd, 0, SEEK_SET) < 0)
        return 0;
    if (trace_is_gzip (fd) && !(z = inflate_open (fd)))
        return 0;
    while (used < max && n > 0) {
        n = z ? inflate_read (z, out + used, max - used)
              : scan_read_fd (&fd, out + used, max - used);
        used += n > 0 ? (size_t)n : 0;
    }
    inflate_close (z);
    return used;
}

/* "ts": "123": a time in quotes, in the first event that has one. */
static bool quoted_times (const char *text)
{
    const char *p = strstr (text, "\"ts\"");

    if (!p || *(p = trace_space (p + 4)) != ':')
        return false;
    p = trace_space (p + 1);
    return *p == '"' && (unsigned)(p[1] - '0') <= 9;
}

/* A list of events is nobody's, unless it says so: torch_npu by times that are
 * texts, torch without Kineto by the names that it gives to all processes.
 */
static enum trace_kind judge_list (const char *text, bool events)
{
    if (events && quoted_times (text))
        return TRACE_TORCH_NPU;
    return events && (strstr (text, "\"CPU functions\"") ||
                      strstr (text, "\"CUDA functions\""))
               ? TRACE_KINETO : TRACE_OTHER;
}

static enum trace_kind judge (const char *text)
{
    static const char *const keys[] = {
        "\"traceEvents\"", "\"schemaVersion\"", "\"distributedInfo\"",
        "\"deviceProperties\"", "\"baseTimeNanoseconds\"",
    };
    const char *p = trace_space (text);
    bool events = strstr (text, "\"ph\"") != NULL;
    unsigned found = 0;

    if (*p == '[')
        return judge_list (text, events);
    if (*p != '{')
        return TRACE_OTHER;
    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++)
        found += strstr (text, keys[i]) != NULL;
    if (found == 0)
        return TRACE_OTHER;
    if (events && quoted_times (text))
        return TRACE_TORCH_NPU;
    return found > 1 || events ? TRACE_KINETO : TRACE_OTHER;
}

enum trace_kind trace_kind_of (int fd)
{
    char head[HEAD_SIZE + TRACE_PAD];
    size_t n = read_head (fd, head, HEAD_SIZE);

    memset (head + n, 0, TRACE_PAD);
    return judge (head);
}

enum trace_kind trace_kind_at (int dir, const char *name)
{
    int fd = fileio_open_at (dir, name, NULL);
    enum trace_kind kind = TRACE_OTHER;

    if (fd >= 0) {
        kind = trace_kind_of (fd);
        (void)close (fd);
    }
    return kind;
}

/* ---- whose it is ---- */

static const char info_key[] = "\"distributedInfo\"";

/* The value behind the key at 'p', if it is there as a whole. */
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

/* Look for the key in what comes, and take its value. */
static void search (struct trace_text *t, struct kineto_header *h)
{
    const size_t n = sizeof (info_key) - 1;

    do {
        const char *p = memmem (t->at, (size_t)(t->end - t->at), info_key, n);

        if (p && take_info (t, p, h))
            return;
        if (p)                  // it may go on behind the window
            t->at = p;
        else if ((size_t)(t->end - t->at) > n)
            t->at = t->end - n;
    } while (trace_text_more (t));
}

/* From 'offset' of the content; a compressed file has no other place than its
 * start.
 */
static void search_from (int fd, off_t offset, struct kineto_header *h)
{
    struct trace_text t = { .buf = NULL };
    struct inflate *z = NULL;
    bool gz = trace_is_gzip (fd);

    if (lseek (fd, gz ? 0 : offset, SEEK_SET) < 0 ||
        (gz && !(z = inflate_open (fd))))
        return;
    if (trace_text_init (&t, gz ? inflate_read : scan_read_fd,
                         gz ? (void *)z : (void *)&fd) == 0)
        search (&t, h);
    trace_text_fini (&t);
    inflate_close (z);
}

/* Whether there is no need to search on: it is in the first bytes, or this is
 * a compressed list of events, beside which nothing is: it would have to be
 * inflated to its end to see that.
 */
static bool in_head (int fd, struct kineto_header *h)
{
    struct trace_text t = { .buf = NULL };
    struct inflate *z = NULL;
    bool gz = trace_is_gzip (fd), found = false;

    if (lseek (fd, 0, SEEK_SET) < 0 || (gz && !(z = inflate_open (fd))))
        return false;
    if (trace_text_init (&t, gz ? inflate_read : scan_read_fd,
                         gz ? (void *)z : (void *)&fd) == 0 &&
        trace_text_more (&t)) {
        bool list = *trace_space (t.at) == '[';

        t.eof = true;           // one window, no more
        search (&t, h);
        found = h->seen || (gz && list);
    }
    trace_text_fini (&t);
    inflate_close (z);
    return found;
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
    if (fstat (fd, &st) == 0 && !in_head (fd, &h))
        search_from (fd, st.st_size > TAIL_SIZE ? st.st_size - TAIL_SIZE : 0,
                     &h);
    if (h.rank >= 0)
        c->rank = h.rank;
    c->evidence.ranks.trace = h.rank;
    if (h.world_size > 0)
        c->world_size = h.world_size;
    kineto_header_fini (&h);
    (void)close (fd);
}
