/* tests/bench/bench_events.c - how fast an event database is read
 *
 *     bench_events DATABASE CAPTURE
 *
 * On one thread: reading the same rows of TASK, COMPUTE_TASK_INFO,
 * COMMUNICATION_TASK_INFO and CANN_API in their own order, which is the floor;
 * then reading CAPTURE, whose event database DATABASE is.  Prints one line
 * "name=value ..." for tests/bench/run; seconds are CPU time.
 */
#include "extract/extract.h"
#include "row_sinks.h"
#include "store/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static _Noreturn void die (const char *what)
{
    (void)fprintf (stderr, "bench_events: %s\n", what);
    exit (EXIT_FAILURE);
}

/* Of this process, user and system: others use the machine too. */
static double cpu_seconds (void)
{
    struct timespec t;

    if (clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
        die ("clock");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long peak_kib (void)
{
    struct rusage u;

    return getrusage (RUSAGE_SELF, &u) == 0 ? u.ru_maxrss : 0;
}

/* Rows of a query, every value of which is looked at. */
static uint64_t scan (sqlite3 *db, const char *sql, int64_t *sum)
{
    sqlite3_stmt *st;
    uint64_t n = 0;

    if (db_prepare (db, sql, &st, NULL) < 0)
        die (sqlite3_errmsg (db));
    for (; sqlite3_step (st) == SQLITE_ROW; n++) {
        for (int c = 0; c < sqlite3_column_count (st); c++)
            *sum += sqlite3_column_int64 (st, c) & 1;
    }
    (void)sqlite3_finalize (st);
    return n;
}

static uint64_t floor_of (const char *path)
{
    double began = cpu_seconds ();
    int64_t sum = 0;
    uint64_t tasks;
    sqlite3 *db;

    if (sqlite3_open_v2 (path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        die (path);
    tasks = scan (db, "SELECT startNs, endNs, deviceId, connectionId, "
                      "globalTaskId FROM TASK NOT INDEXED", &sum);
    (void)scan (db, "SELECT globalTaskId, opType, taskType FROM "
                    "COMPUTE_TASK_INFO", &sum);
    (void)scan (db, "SELECT globalTaskId, opId, taskType, planeId, rdmaType, "
                    "srcRank, dstRank, transportType, size, linkType FROM "
                    "COMMUNICATION_TASK_INFO", &sum);
    (void)scan (db, "SELECT startNs, endNs, type, connectionId, name FROM "
                    "CANN_API", &sum);
    (void)sqlite3_close (db);
    (void)printf ("tasks=%" PRIu64 " floor_cpu_s=%.4f odd=%" PRId64 " ", tasks,
                  cpu_seconds () - began, sum);
    return tasks;
}

int main (int argc, char **argv)
{
    uint64_t rows = 0;
    const struct row_sink sink = { sink_count, sink_forget_nothing, &rows };
    struct err err = { "" };
    struct capture c;
    double began, seconds;

    if (argc != 3) {
        (void)fprintf (stderr, "usage: bench_events DATABASE CAPTURE\n");
        return 2;
    }
    capture_init (&c);
    began = cpu_seconds ();
    if (extract_capture (argv[2], NULL, &sink, &c, &err) < 0)
        die (err.text);
    seconds = cpu_seconds () - began;
    if (c.state != CAPTURE_COMPLETE)
        die (c.reason);
    (void)printf ("rows=%" PRIu64 " read_cpu_s=%.4f peak_kib=%ld ", rows,
                  seconds, peak_kib ());
    capture_fini (&c);
    (void)floor_of (argv[1]);
    (void)printf ("\n");
    return 0;
}
