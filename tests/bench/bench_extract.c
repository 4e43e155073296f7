/* tests/bench/bench_extract.c - how fast rows are read, without a database
 *
 *     bench_extract DIR [SCRATCH]
 *
 * Reads all captures below DIR three times on one thread: metadata only; all
 * rows into a sink that counts them; and, with SCRATCH, all rows into a part of
 * an analysis.db of that name.  Prints one line "name=value ..." for
 * tests/bench/run.  Seconds are this thread's CPU time, so that other
 * processes on the machine count little.
 */
#include "base/clock.h"
#include "builder/part.h"
#include "discovery/find.h"
#include "extract/extract.h"
#include "row_sinks.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// As build_run sets them, so that buffers are not returned to the system.
#define HEAP_KEPT (4 << 20)
#define HEAP_CHUNK_MAX (1 << 20)

struct totals {
    uint64_t captures, bytes, rows;
    double look_s, extract_s, load_s;
};

static double cpu_s (void)
{
    struct timespec ts;

    (void)clock_gettime (CLOCK_THREAD_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / (double)NS_PER_S;
}

static void die (const struct err *err)
{
    (void)fprintf (stderr, "bench_extract: %s\n", err->text);
    exit (EXIT_FAILURE);
}

static int forget_rows (void *arg, enum table_id table, struct err *err)
{
    (void)arg;
    (void)table;
    return err_set (err, EXIT_FAILURE, "a capture is damaged");
}

static void look_at_all (const struct found_list *list, struct totals *sum)
{
    double began = cpu_s ();

    for (size_t i = 0; i < list->n; i++) {
        struct extract_look look;
        struct capture c;
        struct err err = { "" };

        capture_init (&c);
        if (extract_look (list->items[i].path, &c, &look, &err) < 0)
            die (&err);
        sum->bytes += look.work_bytes;
        capture_fini (&c);
    }
    sum->captures = list->n;
    sum->look_s = cpu_s () - began;
}

/* All rows into a sink; into a part if there is one.  Returns CPU seconds. */
static double read_all (const struct found_list *list,
                        const struct row_sink *sink, struct part *part)
{
    double began = cpu_s ();

    for (size_t i = 0; i < list->n; i++) {
        const struct select_item item = {
            .rank = (int64_t)i, .id = (int64_t)i + 1,
            .first_row = ((int64_t)i + 1) << 32, .rows_max = UINT32_MAX };
        struct capture c;
        struct err err = { "" };

        capture_init (&c);
        if (part)
            part_begin_capture (part, &item);
        if (extract_capture (list->items[i].path, NULL, sink, &c, &err) < 0)
            die (&err);
        if (c.state != CAPTURE_COMPLETE) {
            (void)snprintf (err.text, sizeof (err.text), "%.200s: %.200s",
                            list->items[i].path, c.reason);
            die (&err);
        }
        if (part && part_end_capture (part, &err) < 0)
            die (&err);
        capture_fini (&c);
    }
    return cpu_s () - began;
}

static double load_all (const struct found_list *list, const char *scratch)
{
    const atomic_bool cancel = false;
    struct err err = { "" };
    struct row_file *file = NULL;
    struct part *part = NULL;
    double seconds, began;

    (void)unlink (scratch);
    if (row_file_create (scratch, &file, &err) < 0 ||
        part_create (file, &cancel, &part, &err) < 0)
        die (&err);
    seconds = read_all (list, part_sink (part), part);
    began = cpu_s ();
    if (part_close (part, &err) < 0 ||
        row_file_finish (file, NULL, 0, 1, &cancel, &err) < 0)
        die (&err);
    part_destroy (part);
    row_file_close (file);
    (void)unlink (scratch);
    return seconds + cpu_s () - began;
}

int main (int argc, char **argv)
{
    struct found_list list = { 0 };
    struct totals sum = { 0 };
    struct err err = { "" };
    struct row_sink counter = { sink_count, forget_rows, &sum.rows };

    if (argc < 2 || argc > 3) {
        (void)fprintf (stderr, "usage: bench_extract DIR [SCRATCH]\n");
        return 2;
    }
    (void)mallopt (M_TRIM_THRESHOLD, HEAP_KEPT);
    (void)mallopt (M_MMAP_THRESHOLD, HEAP_CHUNK_MAX);
    if (find_captures (argv[1], &list, &err) < 0)
        die (&err);
    look_at_all (&list, &sum);
    sum.extract_s = read_all (&list, &counter, NULL);
    if (argc > 2)
        sum.load_s = load_all (&list, argv[2]);
    (void)printf ("captures=%" PRIu64 " bytes=%" PRIu64 " rows=%" PRIu64
                  " look_s=%.4f extract_s=%.4f load_s=%.4f\n",
                  sum.captures, sum.bytes, sum.rows, sum.look_s,
                  sum.extract_s, sum.load_s);
    find_free (&list);
    return 0;
}
