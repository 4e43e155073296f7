/* aggregator/cluster_db/cluster_text.c - write cluster_analysis.db as JSON and
 * CSV
 */
#include "cluster_db/cluster_text.h"

#include "base/units.h"
#include "cluster_db/cluster_rows.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_SIZE 65536

/* Marks our files: other tools' JSON has no blank there, and their CSV ends
 * with a newline.
 */
#define JSON_BEGIN "{ \n"

struct writer {
    sqlite3 *db;
    FILE *f;
    int fd, failed;             // the file; the result of writing, or -ENOMEM
    sqlite3_stmt *bands;        // columns of an op
    char *open[3];              // ranks, step, op whose objects are open
    struct err *err;
};

/* ---- values ---- */

/* Write a number as Python does: a double always shows a point or an exponent.
 */
static void put_number (FILE *f, double v)
{
    char text[UNITS_REAL_TEXT] = "0";

    if (v != 0)                 // most values are 0
        units_real_text (v, text);
    if (*text == '\0')          // infinite: JSON has no word for it
        (void)fputs ("0", f);
    (void)fputs (text, f);
    if (!strpbrk (text, ".e"))
        (void)fputs (".0", f);
}

/* "(0,2)" as a Python tuple: "(0, 2)", or "(0,)". */
static void put_tuple (FILE *f, const char *set)
{
    bool several = strchr (set, ',');

    for (; *set; set++) {
        if (*set == ')' && !several)
            (void)fputc (',', f);
        (void)fputc (*set, f);
        if (*set == ',')
            (void)fputc (' ', f);
    }
}

static void put_list (FILE *f, const char *set)
{
    set += strspn (set, "(");
    (void)fprintf (f, "[%.*s]", (int)strcspn (set, ")"), set);
}

/* ---- nested objects, as rows come ---- */

/* Rows begin with ranks, step, op and group.  Close the objects that this row
 * is not in, and open those it is in.  True if its op already has a member.
 */
static bool go_to (struct writer *w, sqlite3_stmt *st)
{
    static const char *const close[] = { "}}}", "}}", "}" };
    char op[CLUSTER_NAME_SIZE * 2];
    const char *now[3] = { db_text (st, 0), db_text (st, 1), op };
    unsigned same = 0;
    bool first = !w->open[0];

    (void)snprintf (op, sizeof (op), "%s@%s", db_text (st, 2), db_text (st, 3));
    while (same < 3 && w->open[same] && strcmp (w->open[same], now[same]) == 0)
        same++;
    if (same == 3)
        return true;
    if (!first)
        (void)fprintf (w->f, "%s, ", close[same]);
    for (unsigned i = same; i < 3; i++) {
        (void)fputc ('"', w->f);
        if (i == 0)
            put_tuple (w->f, now[i]);
        else
            (void)fputs (now[i], w->f);
        (void)fputs ("\": {", w->f);
        free (w->open[i]);
        if (!(w->open[i] = strdup (now[i])))
            w->failed = -ENOMEM;
    }
    return false;
}

static void go_out (struct writer *w)
{
    (void)fputs (w->open[0] ? "}}}}" : "}", w->f);
    for (unsigned i = 0; i < 3; i++) {
        free (w->open[i]);
        w->open[i] = NULL;
    }
}

/* The query whose order of sets of ranks, steps and ops is used. */
#define GROUPS \
    "WITH m AS MATERIALIZED (SELECT group_name, rank_set, rowid AS id," \
    " min(rowid) OVER (PARTITION BY rank_set) AS place" \
    " FROM CommunicationGroupMapping) "
#define IN_ORDER \
    " JOIN m USING (group_name) ORDER BY m.place," \
    " CAST(substr(t.step, 5) AS INTEGER), t.step, m.id," \
    " t.hccl_op_name='" CLUSTER_TOTAL "', t.hccl_op_name"

static int cluster_text_each (struct writer *w, const char *sql,
                              int (*row) (struct writer *w, sqlite3_stmt *st))
{
    struct db_rows r = db_rows (w->db, w->err, sql);

    while (!w->failed && db_step (&r))
        r.rc = row (w, r.st);
    return db_end (&r) == -EINTR ? err_set (w->err, EINTR, "interrupted")
                                 : r.rc;
}

/* ---- cluster_communication.json ---- */

static const struct {
    const char *key;
    int column;
    bool in_totals;
} times[] = {
    { "Start Timestamp(us)", 5, false },
    { "Elapse Time(ms)", 6, true },
    { "Transit Time(ms)", 7, true },
    { "Wait Time(ms)", 8, true },
    { "Synchronization Time(ms)", 9, true },
    { "Idle Time(ms)", 10, true },
    { "Wait Time Ratio", 12, true },
    { "Synchronization Time Ratio", 11, true },
};

static const char *const bands[] = { "RDMA", "HCCS", "PCIE", "SDMA", "SIO" };

#define BANDS ((unsigned)(sizeof (bands) / sizeof (bands[0])))

/* Write the name of a member, behind others or not. */
static void put_key (FILE *f, bool first, const char *key)
{
    (void)fputs (first ? "\"" : ", \"", f);
    (void)fputs (key, f);
    (void)fputs ("\": ", f);
}

static void put_member (FILE *f, bool *first, const char *key, double v)
{
    put_key (f, *first, key);
    put_number (f, v);
    *first = false;
}

/* Write one transport.  st is at its first row, or NULL if the op did not use
 * it, and ends up behind the last one.  Returns the last sqlite3_step result.
 */
static int put_band (struct writer *w, unsigned band, sqlite3_stmt *st,
                     bool total)
{
    static const char *const keys[] = { "Transit Size(MB)", "Transit Time(ms)",
                                        "Bandwidth(GB/s)",
                                        "Large Packet Ratio" };
    bool first = true;
    int code = SQLITE_ROW;

    put_key (w->f, band == 0, bands[band]);
    (void)fputc ('{', w->f);
    for (int i = 0; i < (total ? 3 : 4); i++)
        put_member (w->f, &first, keys[i],
                    st ? sqlite3_column_double (st, i + 1) : 0);
    (void)fputs (", \"Size Distribution\": {", w->f);
    first = true;
    for (; st && code == SQLITE_ROW &&
           strcmp (db_text (st, 0), bands[band]) == 0;
         code = sqlite3_step (st)) {
        if (sqlite3_column_double (st, 6) == 0)
            continue;           // packets were not counted
        (void)fputs (first ? "\"" : ", \"", w->f);
        put_number (w->f, sqlite3_column_double (st, 5));
        (void)fprintf (w->f, "\": [%lld, ",
                       (long long)sqlite3_column_int64 (st, 6));
        put_number (w->f, sqlite3_column_double (st, 7));
        (void)fputc (']', w->f);
        first = false;
    }
    (void)fputs ("}}", w->f);
    return code;
}

/* Write all transports, even those that an op did not use. */
static void put_bands (struct writer *w, sqlite3_stmt *op, bool total)
{
    sqlite3_stmt *st = w->bands;
    int code;

    (void)db_bind (st, DB_VALUES (db_text (op, 1), db_text (op, 3),
                                  sqlite3_column_int64 (op, 4),
                                  db_text (op, 2)));
    code = sqlite3_step (st);
    for (unsigned b = 0; b < BANDS; b++) {
        bool used = code == SQLITE_ROW &&
                    strcmp (db_text (st, 0), bands[b]) == 0;

        if (used)
            code = put_band (w, b, st, total);
        else
            (void)put_band (w, b, NULL, total);
    }
    (void)sqlite3_reset (st);
}

static int put_op (struct writer *w, sqlite3_stmt *st)
{
    bool total = strcmp (db_text (st, 2), CLUSTER_TOTAL) == 0, first = true;

    if (go_to (w, st))
        (void)fputs (", ", w->f);
    (void)fprintf (w->f, "\"%lld\": {\"Communication Time Info\": {",
                   (long long)sqlite3_column_int64 (st, 4));
    for (size_t i = 0; i < sizeof (times) / sizeof (times[0]); i++) {
        if (times[i].in_totals || !total)
            put_member (w->f, &first, times[i].key,
                        sqlite3_column_double (st, times[i].column));
    }
    (void)fputs ("}, \"Communication Bandwidth Info\": {", w->f);
    put_bands (w, st, total);
    (void)fputs ("}}", w->f);
    return 0;
}

/* Sort transports in the order of 'bands'. */
static int write_communication (struct writer *w)
{
    int rc = db_prepare (
        w->db, "SELECT band_type, transit_size, transit_time, bandwidth,"
               " large_packet_ratio, package_size, count, total_duration"
               " FROM ClusterCommunicationBandwidth WHERE step=?1 AND"
               " group_name=?2 AND rank_id=?3 AND hccl_op_name=?4 ORDER BY"
               " instr('RDMA HCCS PCIE SDMA SIO', band_type), rowid",
        &w->bands, w->err);

    (void)fputs (JSON_BEGIN, w->f);
    if (rc == 0)
        rc = cluster_text_each (
            w,
            GROUPS "SELECT m.rank_set, t.step, t.hccl_op_name,"
                   " t.group_name, t.rank_id, t.start_timestamp,"
                   " t.elapsed_time, t.transit_time, t.wait_time,"
                   " t.synchronization_time, t.idle_time,"
                   " t.synchronization_time_ratio, t.wait_time_ratio FROM "
                   "ClusterCommunicationTime t" IN_ORDER ", t.rank_id",
            put_op);
    go_out (w);
    (void)sqlite3_finalize (w->bands);
    return rc;
}

/* ---- the others ---- */

static int put_link (struct writer *w, sqlite3_stmt *st)
{
    const char *transport = (const char *)sqlite3_column_text (st, 6);
    bool first = false;

    if (go_to (w, st))
        (void)fputs (", ", w->f);
    (void)fprintf (w->f, "\"%lld-%lld\": {\"Transport Type\": ",
                   (long long)sqlite3_column_int64 (st, 4),
                   (long long)sqlite3_column_int64 (st, 5));
    if (transport)
        (void)fprintf (w->f, "\"%s\"", transport);
    else
        (void)fputs ("null", w->f);
    put_member (w->f, &first, "Transit Size(MB)",
                sqlite3_column_double (st, 7));
    put_member (w->f, &first, "Transit Time(ms)",
                sqlite3_column_double (st, 8));
    put_member (w->f, &first, "Bandwidth(GB/s)",
                sums_round4 (sqlite3_column_double (st, 9)));
    (void)fprintf (w->f, ", \"Op Name\": \"%s\"}", db_text (st, 10));
    return 0;
}

static int write_matrix (struct writer *w)
{
    int rc;

    (void)fputs (JSON_BEGIN, w->f);
    rc = cluster_text_each (
        w,
        GROUPS "SELECT m.rank_set, t.step, t.hccl_op_name,"
               " t.group_name, t.src_rank, t.dst_rank, t.transport_type,"
               " t.transit_size, t.transit_time, t.bandwidth, t.op_name"
               " FROM ClusterCommunicationMatrix t" IN_ORDER
               ", t.src_rank, t.dst_rank",
        put_link);
    go_out (w);
    return rc;
}

static int put_set (struct writer *w, sqlite3_stmt *st)
{
    if (sqlite3_column_int (st, 1) > 1)
        (void)fputs (", ", w->f);
    put_list (w->f, db_text (st, 0));
    return 0;
}

static int put_group (struct writer *w, sqlite3_stmt *st)
{
    (void)fprintf (w->f, "%s{\"type\": \"%s\", \"rank_set\": ",
                   sqlite3_column_int (st, 5) > 1 ? ", " : "", db_text (st, 0));
    put_list (w->f, db_text (st, 1));
    (void)fprintf (w->f, ", \"group_name\": \"%s\", \"group_id\": \"%s\", "
                   "\"pg_name\": \"%s\"}", db_text (st, 2), db_text (st, 3),
                   db_text (st, 4));
    return 0;
}

#define SETS(type) \
    "SELECT rank_set, row_number() OVER (ORDER BY min(rowid)) FROM" \
    " CommunicationGroupMapping WHERE type='" type "' GROUP BY rank_set" \
    " ORDER BY 2"

static int write_group (struct writer *w)
{
    int rc;

    (void)fputs (JSON_BEGIN "\"collective\": [", w->f);
    rc = cluster_text_each (w, SETS ("collective"), put_set);
    (void)fputs ("], \"p2p\": [", w->f);
    if (rc == 0)
        rc = cluster_text_each (w, SETS ("p2p"), put_set);
    (void)fputs ("], \"comm_group_parallel_info\": [", w->f);
    if (rc == 0)
        rc = cluster_text_each (
            w,
            "SELECT type, rank_set, group_name, group_id, pg_name,"
            " rowid FROM CommunicationGroupMapping ORDER BY rowid",
            put_group);
    (void)fputs ("]}", w->f);
    return rc;
}

#define FIRST_TIME 3            // columns of the first and the last number
#define LAST_TIME 11

static int put_step (struct writer *w, sqlite3_stmt *st)
{
    const char *step = db_text (st, 0);
    const char *quote = strchr (step, ',') ? "\"" : "";  // it has none itself

    (void)fprintf (w->f, "\n%s%s%s,%s,", quote, step, quote, db_text (st, 1));
    if (strcmp (db_text (st, 1), "stage") == 0) {
        (void)fputc ('"', w->f);
        put_tuple (w->f, db_text (st, 2));
        (void)fputc ('"', w->f);
    } else {
        (void)fputs (db_text (st, 2), w->f);
    }
    for (int i = FIRST_TIME; i <= LAST_TIME; i++) {
        (void)fputc (',', w->f);
        put_number (w->f, sqlite3_column_double (st, i));
    }
    (void)fprintf (w->f, ",%s,%s,%s", db_text (st, 12), db_text (st, 13),
                   db_text (st, 14));
    return 0;
}

static int write_steps (struct writer *w)
{
    (void)fputs ("Step,Type,Index,Computing,Communication(Not Overlapped),"
                 "Overlapped,Communication,Free,Stage,Bubble,"
                 "Communication(Not Overlapped and Exclude Receive),Preparing,"
                 "DP Index,PP Index,TP Index", w->f);
    return cluster_text_each (
        w, "SELECT * FROM ClusterStepTraceTime ORDER BY rowid", put_step);
}

/* ---- files ---- */

static const struct {
    const char *name;
    int (*write) (struct writer *w);
} texts[CLUSTER_TEXTS] = {
    { "communication_group.json", write_group },
    { "cluster_communication.json", write_communication },
    { "cluster_communication_matrix.json", write_matrix },
    { "cluster_step_trace_time.csv", write_steps },
};

const char *cluster_text_name (unsigned i)
{
    return texts[i].name;
}

/* Write the stream's data; a failure ends the whole output. */
static ssize_t cluster_text_take (void *arg, const char *data, size_t size)
{
    struct writer *w = arg;
    int rc = fileio_write_all (w->fd, data, size);

    if (rc == 0)
        return (ssize_t)size;
    w->failed = rc;
    return 0;
}

static int open_file (struct writer *w, const char *path)
{
    static const cookie_io_functions_t io = { .write = cluster_text_take };

    w->fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  FILEIO_FILE_MODE);
    if (w->fd < 0)
        return err_sys (w->err, errno, "cannot write %s", path);
    if (!(w->f = fopencookie (w, "w", io)) ||
        setvbuf (w->f, NULL, _IOFBF, BUFFER_SIZE) != 0)
        return err_set (w->err, ENOMEM, "no memory to write %s", path);
    (void)__fsetlocking (w->f, FSETLOCKING_BYCALLER);   // of one thread
    return 0;
}

/* Close the file, fsynced if 'rc', the result so far, is 0. */
static int close_file (struct writer *w, const char *path, int rc)
{
    if (w->f && fclose (w->f) != 0 && !w->failed)
        w->failed = -EIO;
    if (w->fd >= 0 && rc == 0 && !w->failed &&
        (fchmod (w->fd, FILEIO_FILE_MODE) < 0 || fsync (w->fd) < 0))
        w->failed = -errno;
    if (w->fd >= 0 && close (w->fd) < 0 && !w->failed)
        w->failed = -errno;
    if (rc == 0 && w->failed)
        rc = err_sys (w->err, -w->failed, "cannot write %s", path);
    return rc;
}

int cluster_text_write (unsigned i, const char *db, const char *path,
                        const atomic_bool *cancel, struct err *err)
{
    struct writer w = { .err = err };
    int rc = open_file (&w, path);

    if (rc == 0 &&
        db_open (db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &w.db) !=
            SQLITE_OK)
        rc = db_error (w.db, db, err);
    if (rc == 0)
        db_cancel (w.db, cancel);
    if (rc == 0)
        rc = texts[i].write (&w);
    (void)sqlite3_close (w.db);
    return close_file (&w, path, rc);
}

bool cluster_text_is_ours (const char *path)
{
    const size_t n = strlen (JSON_BEGIN);
    const char *dot = strrchr (path, '.');
    int fd = fileio_open_at (AT_FDCWD, path, NULL);
    char text[sizeof (JSON_BEGIN)];
    bool ours;
    off_t end;

    if (fd < 0)
        return false;
    end = lseek (fd, 0, SEEK_END);
    if (dot && strcmp (dot, ".csv") == 0)
        ours = end > 0 && fileio_pread_all (fd, text, 1, end - 1) == 0 &&
               text[0] != '\n';
    else
        ours = end >= (off_t)n && fileio_pread_all (fd, text, n, 0) == 0 &&
               memcmp (text, JSON_BEGIN, n) == 0;
    (void)close (fd);
    return ours;
}
