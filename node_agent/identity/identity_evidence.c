/* node_agent/identity/identity_evidence.c - record evidence of rank, process,
 * host and window
 */
#include "identity/identity.h"

#include "identity/info_file.h"

#include "base/utf8.h"

#include <string.h>

/* ---- profiler_info*.json ---- */

static void note_count (const struct json *schedule, const char *key,
                        int64_t *ret)
{
    int64_t v;

    if (json_int (json_get (schedule, key), &v) && v >= 0)
        *ret = v;
}

static void note_schedule (struct evidence_schedule *s,
                           const struct json *schedule)
{
    note_count (schedule, "skip_first", &s->skip_first);
    note_count (schedule, "wait", &s->wait);
    note_count (schedule, "warmup", &s->warmup);
    note_count (schedule, "active", &s->active);
    note_count (schedule, "repeat", &s->repeat);
}

/* The time of the boot is as exact as the date. */
static void note_window (struct evidence *e, const struct json *start,
                         const struct json *end)
{
    int64_t date;

    (void)info_ns (json_get (start, "start_monotonic"), &e->mono_start_ns);
    if (info_ns (json_get (end, "MonotonicTimeEnd"), &e->mono_end_ns) &&
        info_ns (json_get (end, "collectionTimeEnd"), &date) &&
        date > e->mono_end_ns)
        e->boot_ns = date - e->mono_end_ns;
}

void identity_note_info (struct capture *c, const struct json *info)
{
    struct evidence *e = &c->evidence;
    int64_t rank;

    if (info_rank (json_get (info, "rank_id"), &rank))
        e->ranks.info = rank;
    note_schedule (&e->schedule,
                   json_get (json_get (json_get (info, "config"),
                                       "common_config"), "schedule"));
    note_window (e, json_get (info, "start_info"),
                 json_get (info, "end_info"));
}

/* ---- event databases ---- */

/* Prepare a query of one row, and step to it.  NULL if there is none, or no
 * such table.
 */
static sqlite3_stmt *first_row (struct profiler_db *db, const char *sql)
{
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2 (db->sql, sql, -1, &st, NULL) == SQLITE_OK &&
        sqlite3_step (st) == SQLITE_ROW)
        return st;
    (void)sqlite3_finalize (st);
    return NULL;
}

static int64_t first_number (struct profiler_db *db, const char *sql)
{
    sqlite3_stmt *st = first_row (db, sql);
    int64_t v = st && sqlite3_column_type (st, 0) == SQLITE_INTEGER
                    ? sqlite3_column_int64 (st, 0)
                    : EVIDENCE_UNKNOWN;

    (void)sqlite3_finalize (st);
    return v;
}

static void copy_column (char *out, size_t max, sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);
    char fixed[3 * EVIDENCE_TEXT_MAX];
    uint64_t bad = 0;
    size_t n = strnlen (text ? text : "", EVIDENCE_TEXT_MAX - 1);

    n = utf8_repair (text ? text : "", n, fixed, &bad);
    n = utf8_cut (fixed, n, max - 1);
    memcpy (out, fixed, n);
    out[n] = '\0';
}

/* Record the host. Its id is a number in old databases, a text in new ones. */
static void note_host (struct profiler_db *db, struct capture *c)
{
    sqlite3_stmt *st = first_row (db, "SELECT hostName, hostUid FROM "
                                      "HOST_INFO LIMIT 1");

    if (!st)
        return;
    copy_column (c->evidence.host_name, sizeof (c->evidence.host_name), st, 0);
    copy_column (c->host_uid, sizeof (c->host_uid), st, 1);
    if (c->evidence.host_name[0])       // the directory's name tells it
        copy_column (c->host, sizeof (c->host), st, 0);
    (void)sqlite3_finalize (st);
}

/* Record the process.  Tasks have its number; calls of the host have it in the
 * upper half of the thread's.
 */
static void note_process (struct profiler_db *db, struct evidence *e)
{
    int64_t pid = first_number (db, "SELECT globalPid FROM TASK LIMIT 1");

    if (pid <= 0)
        pid = first_number (db, "SELECT globalTid>>32 FROM PYTORCH_API "
                                "LIMIT 1");
    if (pid > 0 && pid <= INT32_MAX)
        e->pid = pid;
}

void identity_note_db (struct profiler_db *db, struct capture *c)
{
    int64_t rank = first_number (db, "SELECT rankId FROM RANK_DEVICE_MAP "
                                     "WHERE typeof(rankId)='integer' ORDER "
                                     "BY rowid LIMIT 1");

    if (rank >= 0 && rank < capture_world_max)
        c->evidence.ranks.db_map = rank;
    note_host (db, c);
    note_process (db, &c->evidence);
}
