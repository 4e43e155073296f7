/* tests/bench/parsers/bench_parsers.c - how fast one file is parsed
 *
 *     bench_parsers FILE [ROUNDS]
 *
 * Every parser reads the file anew, in a process of its own, and looks at all
 * of its values.  The best of ROUNDS (5) counts.  See README.md.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "json/scan.h"
#include "store/fileio.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_YAJL
#include <yajl/yajl_parse.h>
#endif

/* What was seen, so that no parser can leave something out: all but the
 * first and the last must agree.
 */
struct seen {
    uint64_t numbers;
    uint64_t texts;             // with keys
    uint64_t bytes;             // of texts
    double sum;
};

typedef bool parse_fn (const char *path, struct seen *seen);

static void see_text (struct seen *seen, size_t n)
{
    seen->texts++;
    seen->bytes += n;
}

static void see_real (struct seen *seen, double v)
{
    seen->numbers++;
    seen->sum += v;
}

static bool run_read (const char *path, struct seen *seen)
{
    static char chunk[SCAN_BUFFER];
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    (void)seen;
    if (fd < 0)
        return false;
    while ((n = read (fd, chunk, sizeof (chunk))) > 0)
        ;
    (void)close (fd);
    return n == 0;
}

/* ---- cJSON ---- */

static void see_tree (struct seen *seen, const cJSON *j)
{
    for (; j; j = j->next) {
        if (j->string)
            see_text (seen, strlen (j->string));
        if (cJSON_IsNumber (j))
            see_real (seen, j->valuedouble);
        else if (cJSON_IsString (j))
            see_text (seen, strlen (j->valuestring));
        else
            see_tree (seen, j->child);
    }
}

static bool run_cjson (const char *path, struct seen *seen)
{
    struct buf text;
    cJSON *tree = NULL;

    buf_init (&text, (size_t)1 << 40);
    if (fileio_read_at (AT_FDCWD, path, &text, NULL) == 0)
        tree = cJSON_ParseWithLength ((const char *)text.data, text.size);
    see_tree (seen, tree);
    cJSON_Delete (tree);
    buf_fini (&text);
    return tree != NULL;
}

/* ---- yajl ---- */

#ifdef HAVE_YAJL
static int on_real (void *arg, double v)
{
    see_real (arg, v);
    return 1;
}

static int on_int (void *arg, long long v)
{
    see_real (arg, (double)v);
    return 1;
}

static int on_text (void *arg, const unsigned char *text, size_t n)
{
    (void)text;
    see_text (arg, n);
    return 1;
}

static bool run_yajl (const char *path, struct seen *seen)
{
    static const yajl_callbacks calls = {
        .yajl_integer = on_int,
        .yajl_double = on_real,
        .yajl_string = on_text,
        .yajl_map_key = on_text,
    };
    static unsigned char chunk[SCAN_BUFFER];
    yajl_handle y = yajl_alloc (&calls, NULL, seen);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    bool ok = y && fd >= 0;
    ssize_t n;

    while (ok && (n = read (fd, chunk, sizeof (chunk))) != 0)
        ok = n > 0 && yajl_parse (y, chunk, (size_t)n) == yajl_status_ok;
    ok = ok && yajl_complete_parse (y) == yajl_status_ok;
    if (fd >= 0)
        (void)close (fd);
    if (y)
        yajl_free (y);
    return ok;
}
#endif

/* ---- the scanner ---- */

static void see_value (struct seen *seen, struct scan *s)
{
    char c = scan_peek (s);
    bool first = true;
    const char *text;
    size_t n;
    double v;

    if (c == '{' && scan_object (s)) {
        while (scan_member (s, &first)) {
            see_text (seen, s->key_size);
            see_value (seen, s);
        }
    } else if (c == '[' && scan_array (s)) {
        while (scan_element (s, &first))
            see_value (seen, s);
    } else if (c == '"' && scan_text (s, &text, &n)) {
        see_text (seen, n);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        if (scan_real (s, &v))
            see_real (seen, v);
    } else {
        (void)scan_skip (s);
    }
}

static bool run_scanner (const char *path, struct seen *seen, bool skip)
{
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    struct scan s;
    bool ok;

    if (fd < 0 || scan_init (&s, scan_read_fd, &fd) < 0)
        return false;
    if (skip)
        (void)scan_skip (&s);
    else
        see_value (seen, &s);
    ok = scan_end (&s);
    if (!ok)
        fprintf (stderr, "%s\n", s.err.text);
    scan_fini (&s);
    (void)close (fd);
    return ok;
}

static bool run_scan (const char *path, struct seen *seen)
{
    return run_scanner (path, seen, false);
}

static bool run_skip (const char *path, struct seen *seen)
{
    return run_scanner (path, seen, true);
}

/* ---- measuring ---- */

struct outcome {
    bool ok;
    int64_t ns;
    struct seen seen;
};

/* One round in a child, so that memory is its own.  Peak memory in KiB. */
static bool measure (parse_fn *parse, const char *path, struct outcome *ret,
                     long *peak_kib)
{
    struct outcome o = { .ok = false };
    struct rusage usage;
    int p[2], status;
    pid_t pid;

    if (pipe (p) < 0 || (pid = fork ()) < 0)
        return false;
    if (pid == 0) {
        int64_t start = clock_mono_ns ();

        o.ok = parse (path, &o.seen);
        o.ns = clock_mono_ns () - start;
        _exit (fileio_write_all (p[1], &o, sizeof (o)) < 0);
    }
    (void)close (p[1]);
    if (read (p[0], &o, sizeof (o)) != (ssize_t)sizeof (o))
        o.ok = false;
    (void)close (p[0]);
    if (wait4 (pid, &status, 0, &usage) == pid)
        *peak_kib = usage.ru_maxrss;
    *ret = o;
    return o.ok;
}

static bool report (const char *name, parse_fn *parse, const char *path,
                    int rounds, double megabytes)
{
    struct outcome best = { .ok = false }, o;
    long peak = 0;

    for (int i = 0; i < rounds; i++) {
        if (!measure (parse, path, &o, &peak)) {
            printf ("%-28s failed\n", name);
            return false;
        }
        if (!best.ok || o.ns < best.ns)
            best = o;
    }
    printf ("%-28s %8.1f %10.1f %9.1f   %llu %llu %llu %.17g\n", name,
            (double)best.ns / 1e6, megabytes / ((double)best.ns / 1e9),
            (double)peak / 1024, (unsigned long long)best.seen.numbers,
            (unsigned long long)best.seen.texts,
            (unsigned long long)best.seen.bytes, best.seen.sum);
    return true;
}

int main (int argc, char **argv)
{
    static const struct {
        const char *name;
        parse_fn *parse;
    } parsers[] = {
        { "read(2) only", run_read },
        { "cJSON, file in memory", run_cjson },
#ifdef HAVE_YAJL
        { "yajl, callbacks", run_yajl },
#endif
        { "scan, all values", run_scan },
        { "scan, all skipped", run_skip },
    };
    int rounds = argc > 2 ? atoi (argv[2]) : 5;
    bool ok = true;
    struct stat st;

    if (argc < 2 || rounds < 1) {
        fprintf (stderr, "usage: bench_parsers FILE [ROUNDS]\n");
        return 2;
    }
    if (stat (argv[1], &st) < 0) {
        perror (argv[1]);
        return 1;
    }
    printf ("%s: %.1f MB, best of %d\n", argv[1], (double)st.st_size / 1e6,
            rounds);
    printf ("%-28s %8s %10s %9s   %s\n", "", "ms", "MB/s", "peak MiB",
            "numbers texts bytes sum");
    (void)fflush (stdout);
    for (size_t i = 0; i < sizeof (parsers) / sizeof (parsers[0]); i++)
        ok &= report (parsers[i].name, parsers[i].parse, argv[1], rounds,
                      (double)st.st_size / 1e6);
    return ok ? 0 : 1;
}
