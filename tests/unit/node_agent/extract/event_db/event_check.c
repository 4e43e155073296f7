/* tests/unit/node_agent/extract/event_db/event_check.c - event databases for
 * tests */
#include "node_agent/extract/event_db/event_check.h"
#include "../../../../maker/event_schema.h"

#include "base/buf.h"
#include "store/fileio.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROWS_MAX (1u << 24)

static char top[64], dir[160], db_path[320];
static struct buf rows[TABLE_COUNT];
static struct capture capture;
static bool read_once;

int event_check_setup (void **state)
{
    char out[256];

    (void)state;
    (void)snprintf (top, sizeof (top), "/tmp/rollcall-event-XXXXXX");
    if (!mkdtemp (top))
        return -1;
    (void)snprintf (dir, sizeof (dir), "%s/a_ascend_pt", top);
    (void)snprintf (db_path, sizeof (db_path), "%s/ASCEND_PROFILER_OUTPUT/"
                    "ascend_pytorch_profiler_0.db", dir);
    for (unsigned t = 0; t < TABLE_COUNT; t++)
        buf_init (&rows[t], ROWS_MAX);
    (void)snprintf (out, sizeof (out), "%s/ASCEND_PROFILER_OUTPUT", dir);
    return fileio_mkdirs (out, 0700, NULL);
}

int event_check_teardown (void **state)
{
    (void)state;
    for (unsigned t = 0; t < TABLE_COUNT; t++)
        buf_fini (&rows[t]);
    if (read_once)
        capture_fini (&capture);
    read_once = false;
    return fileio_remove_tree (top, NULL);
}

const char *event_path (void)
{
    return db_path;
}

void event_run (const char *sql)
{
    char *why = NULL;
    sqlite3 *db;

    assert_int_equal (sqlite3_open (db_path, &db), SQLITE_OK);
    (void)sqlite3_exec (db, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    if (sqlite3_exec (db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg ("%s", why);
    assert_int_equal (sqlite3_close (db), SQLITE_OK);
}

void event_make (const char *sql)
{
    (void)unlink (db_path);
    event_run ("PRAGMA page_size=512;" EVENT_SCHEMA);
    event_run (sql);
}

void event_put_tasks (int op, int first, const struct task *t, size_t n)
{
    char sql[512];

    for (size_t i = 0; i < n; i++, t++) {
        (void)snprintf (
            sql, sizeof (sql),
            "INSERT INTO TASK VALUES (%lld, %lld, 3, %d, %d, 0, 0, 0, 0, 0, 0);"
            "INSERT INTO COMMUNICATION_TASK_INFO VALUES (0, %d, %d, %d, 5, 0, "
            "%d, %lld, %lld, %d, %lld, 99, %d, %d)",
            (long long)t->start, (long long)(t->start + t->ns), 1000 + op,
            first + (int)i, first + (int)i, t->type, t->plane, t->rdma,
            (long long)t->src, (long long)t->dst, t->transport,
            (long long)t->bytes, t->link, op);
        event_run (sql);
    }
}

void event_put_op (int op, const char *name, int64_t start, int64_t end)
{
    char sql[512];

    (void)snprintf (
        sql, sizeof (sql),
        "INSERT INTO STRING_IDS VALUES (%d, '%s');"
        "INSERT INTO COMMUNICATION_OP VALUES (%d, %lld, %lld, %d, 5, %d, 0, 0,"
        " 41, 0, 1000, 0)", 100 + op, name, 100 + op, (long long)start,
        (long long)end, 1000 + op, op);
    event_run (sql);
}

void event_put_compute (int first, const int64_t (*spans)[2], size_t n)
{
    char sql[256];

    for (size_t i = 0; i < n; i++) {
        (void)snprintf (
            sql, sizeof (sql),
            "INSERT INTO TASK VALUES (%lld, %lld, 3, %d, %d, 0,0,0,0,0,0);"
            "INSERT INTO COMPUTE_TASK_INFO VALUES (6, %d, 1, 1, 7, 6)",
            (long long)spans[i][0], (long long)spans[i][1], first + (int)i,
            first + (int)i, first + (int)i);
        event_run (sql);
    }
}

static int take (void *arg, const struct batch *b, struct err *err)
{
    const struct table *t = schema_table (b->table);
    char text[64];

    (void)arg;
    (void)err;
    for (uint32_t i = 0; i < b->nrows; i++) {
        for (unsigned c = 0; c < t->ncolumns; c++) {
            size_t n = 0;
            const char *s = text;

            if (b->text[c])
                s = batch_text_at (b, b->text[c][i], &n);
            else if (isnan (b->real[c][i]))
                s = NULL;
            else
                n = (size_t)snprintf (text, sizeof (text), "%.10g",
                                      b->real[c][i]);
            if (c > 0)
                buf_put (&rows[b->table], "|", 1);
            if (s)
                buf_put (&rows[b->table], s, n);
        }
        buf_put (&rows[b->table], "\n", 1);
    }
    return 0;
}

static int forget (void *arg, enum table_id table, struct err *err)
{
    (void)arg;
    (void)err;
    buf_clear (&rows[table]);
    return 0;
}

void event_read (const char *steps)
{
    const struct row_sink sink = { take, forget, NULL };
    struct steps_filter filter;
    struct err err = { "" };

    for (unsigned t = 0; t < TABLE_COUNT; t++)
        buf_clear (&rows[t]);
    if (read_once)
        capture_fini (&capture);
    read_once = true;
    capture_init (&capture);
    if (steps)
        assert_int_equal (steps_parse (steps, &filter, &err), 0);
    if (extract_capture (dir, steps ? &filter : NULL, &sink, &capture, &err) <
        0)
        fail_msg ("%s", err.text);
}

const char *event_rows (enum table_id table)
{
    return buf_text (&rows[table]);
}

const struct capture *event_capture (void)
{
    return &capture;
}

void event_has_line (enum table_id table, const char *line)
{
    const char *at = event_rows (table);
    size_t n = strlen (line);

    for (; at && (at = strstr (at, line)); at++) {
        if ((at == event_rows (table) || at[-1] == '\n') && at[n] == '\n')
            return;
    }
    fail_msg ("%s has no row %s but:\n%s(%s)", schema_table (table)->name,
              line, event_rows (table), capture.reason);
}

void event_is_complete (void)
{
    if (event_capture ()->state != CAPTURE_COMPLETE)
        fail_msg ("%s: %s", capture_state_name (event_capture ()->state),
                  event_capture ()->reason);
}
