/* node_agent/extract/text/read_memory_timeline.c - read files of
 * export_memory_timeline of torch
 *
 * Programs choose the names of these files, so they are recognised by their
 * beginning.  See doc/formats.md, "Memory timelines".
 */
#include "extract/input/capture_file.h"

#include "base/vec.h"
#include "extract/sink/capture_facts.h"
#include "extract/text/read_text.h"

#include "store/inflate.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMES_MAX (1u << 22)    // later ones are unknown; 32 MiB
#define CONTENT_MAX (INT64_C (4) << 30)         // bytes of text
#define KIND "timeline"
#define MIB 1048576.0

/* The order is that of torch, which calls UNKNOWN None. */
static const char *const categories[] = {
    "PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION",
    "GRADIENT", "AUTOGRAD_DETAIL", "UNKNOWN",
};

#define CATEGORIES (sizeof (categories) / sizeof (categories[0]))
#define TOTAL CATEGORIES        // the index of their sum, which has its own
                                // peak

struct timeline {
    struct scan s;
    struct source *src;
    struct capture_file *file;
    int64_t left;               // bytes left of CONTENT_MAX
    double *times;              // us, of the samples
    size_t ntimes;              // TIMES_MAX at most
    bool no_memory;
    double now[CATEGORIES + 1]; // bytes
    double peak[CATEGORIES + 1], at[CATEGORIES + 1];
};

static ssize_t read_content (void *arg, void *buf, size_t size)
{
    struct timeline *t = arg;
    ssize_t n = capture_file_read (t->file, buf, size);

    if (n > 0 && (t->left -= n) < 0)
        return -EFBIG;
    return n;
}

/* ---- samples and events ---- */

static void note_now (struct timeline *t, double at)
{
    t->now[TOTAL] = 0;
    for (size_t i = 0; i < CATEGORIES; i++)
        t->now[TOTAL] += t->now[i];
    for (size_t i = 0; i <= TOTAL; i++) {
        if (t->now[i] > t->peak[i]) {
            t->peak[i] = t->now[i];
            t->at[i] = at > 0 ? at : NAN;
        }
    }
}

static bool add_time (struct timeline *t, double at)
{
    double *time;

    if (t->ntimes++ >= TIMES_MAX)
        return true;
    if (!(time = vec_next (&t->times, t->ntimes - 1, sizeof (*time)))) {
        t->no_memory = true;
        return false;
    }
    *time = at;
    return true;
}

/* Read numbers up to the end of an array; the scanner is at the first one.
 * Returns how many there were.
 */
static size_t take_rest (struct scan *s, double *v, size_t max)
{
    bool first = false;
    size_t n = 0;

    do {
        if (n == max) {
            (void)scan_fail (s, "more than %zu numbers", max);
            return 0;
        }
        if (!scan_real (s, &v[n++]))
            return 0;
    } while (scan_element (s, &first));
    return n;
}

static size_t take_numbers (struct scan *s, double *v, size_t max)
{
    bool first = true;

    return scan_array (s) && scan_element (s, &first) ? take_rest (s, v, max)
                                                      : 0;
}

static bool take_times (struct timeline *t)
{
    double at;

    if (!scan_array (&t->s))
        return false;
    for (bool first = true; scan_element (&t->s, &first);) {
        if (!scan_real (&t->s, &at) || !add_time (t, at))
            return false;
    }
    return !t->s.failed;
}

/* Use an event, [time in ns, action, bytes, category]: memory is allocated or
 * freed.
 */
static bool use_event (struct timeline *t, const double e[4])
{
    double category = e[3];

    if (!(category >= 0 && category < CATEGORIES))
        return scan_fail (&t->s, "no such category: %g", category);
    t->now[(size_t)category] += e[2];
    note_now (t, e[0] / 1000);
    return true;
}

static bool use_numbers (struct timeline *t, const double *e, size_t n)
{
    if (t->s.failed)
        return false;
    return n == 4 ? use_event (t, e)
                  : scan_fail (&t->s, "an event has 4 numbers, not %zu", n);
}

/* Read a sample: a zero and then the bytes of each category. */
static bool take_sample (struct timeline *t, size_t i)
{
    double v[1 + CATEGORIES] = { 0 };

    (void)take_numbers (&t->s, v, 1 + CATEGORIES);
    if (t->s.failed)
        return false;
    if (i >= t->ntimes)
        return scan_fail (&t->s, "more samples than times");
    memcpy (t->now, v + 1, CATEGORIES * sizeof (v[0]));
    note_now (t, i < TIMES_MAX ? t->times[i] : NAN);
    return true;
}

/* ---- the two forms ---- */

/* Read [event, event, ...].  The first event was read as times; the scanner is
 * at the first number of the second.
 */
static bool walk_events (struct timeline *t, bool *outer)
{
    double e[4];
    size_t n = take_rest (&t->s, e, 4);

    if (!use_numbers (t, t->times, t->ntimes) || !use_numbers (t, e, n))
        return false;
    while (scan_element (&t->s, outer)) {
        n = take_numbers (&t->s, e, 4);
        if (!use_numbers (t, e, n))
            return false;
    }
    return !t->s.failed;
}

/* Read [times, samples]; the scanner is at the first sample. */
static bool walk_samples (struct timeline *t, bool *outer)
{
    bool inner = false;
    size_t i = 0;

    do {
        if (!take_sample (t, i++))
            return false;
    } while (scan_element (&t->s, &inner));
    if (scan_element (&t->s, outer))
        return scan_fail (&t->s, "unexpected data after times and samples");
    return !t->s.failed;
}

static bool read_memory_timeline_walk (struct timeline *t)
{
    struct scan *s = &t->s;
    bool outer = true, inner = true;

    if (!scan_array (s))
        return false;
    if (!scan_element (s, &outer))
        return !s->failed;      // nothing was recorded
    if (!take_times (t))
        return false;
    if (!scan_element (s, &outer))
        return !s->failed && use_numbers (t, t->times, t->ntimes);
    if (!scan_array (s))
        return false;
    if (scan_element (s, &inner))
        return scan_peek (s) == '[' ? walk_samples (t, &outer)
                                    : walk_events (t, &outer);
    if (s->failed || t->ntimes > 0)
        return scan_fail (s, "times without samples");
    return !scan_element (s, &outer) && !s->failed;
}

/* ---- files ---- */

static bool ends_in (const char *name, const char *end)
{
    size_t n = strlen (name), size = strlen (end);

    return n > size && strcmp (name + n - size, end) == 0;
}

bool may_be_memory_timeline (const char *path)
{
    return ends_in (path, ".json") || ends_in (path, ".json.gz");
}

/* Whether the content begins with two brackets, unlike all other files in
 * captures.  Afterwards the file is at its start.
 */
static bool begins_so (int fd)
{
    char head[256];
    struct inflate *z;
    size_t brackets = 0;
    ssize_t n;

    if (inflate_is_gzip (fd)) {
        z = inflate_open (fd);
        n = z ? inflate_read (z, head, sizeof (head)) : -ENOMEM;
        inflate_close (z);
        (void)lseek (fd, 0, SEEK_SET);
    } else {
        n = pread (fd, head, sizeof (head), 0);
    }
    for (ssize_t i = 0; i < n && brackets < 2; i++) {
        if (head[i] == '[')
            brackets++;
        else if (!strchr (" \t\r\n", head[i]) || head[i] == '\0')
            return false;
    }
    return brackets == 2;
}

static void give_peaks (const struct timeline *t)
{
    for (size_t i = 0; i <= TOTAL; i++) {
        const char *name = i < TOTAL ? categories[i] : "TOTAL";

        capture_facts_peak (t->src, NAN, name, strlen (name), KIND,
                            t->peak[i] / MIB,
                            t->at[i]);
    }
}

static enum reading no_memory (struct source *src, struct err *err)
{
    src->stopped = err_set (err, ENOMEM, "no memory for a memory timeline");
    return READING_STOPPED;
}

static enum reading read_open (struct timeline *t, struct capture_file *file,
                               struct err *err)
{
    enum reading how;

    t->file = file;
    t->left = CONTENT_MAX;
    if (inflate_is_gzip (file->fd) && !(file->gz = inflate_open (file->fd)))
        return no_memory (t->src, err);
    if (scan_init (&t->s, read_content, t) < 0) {
        how = no_memory (t->src, err);
    } else {
        if (read_memory_timeline_walk (t))
            (void)scan_end (&t->s);
        give_peaks (t);
        how = t->no_memory ? no_memory (t->src, err)
                           : capture_file_verdict (file, &t->s, err);
    }
    scan_fini (&t->s);
    inflate_close (file->gz);
    free (t->times);
    return how;
}

enum reading read_memory_timeline (struct source *src, const char *path,
                                   struct err *err)
{
    struct timeline t = { .src = src };
    struct capture_file file;
    enum reading how = READING_ABSENT;

    if (capture_file_open (&file, src, src->dir, path, NULL) != READING_WHOLE)
        return READING_ABSENT;  // it is listed like any other file
    if (begins_so (file.fd))
        how = read_open (&t, &file, err);
    capture_file_close (&file);
    return how;
}
