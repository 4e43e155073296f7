/* node_agent/extract/event_db/event_metadata.c - metadata in an event database
 */
#include "extract/event_db/event_db.h"
#include "identity/metadata_info.h"

#include <stdio.h>
#include <string.h>

#define THREADS_MAX 65536u      // threads that are distinguished

/* Add a value: JSON, or a text that is none, such as a version. */
static bool carry_metadata (struct event_db *e, const char *name, size_t size,
                            struct scan_bytes value)
{
    struct scan s;
    bool good;

    if (value.left == 0 || !strchr ("{[\"", value.at[0])) {
        capture_facts_info (e->src, "metadata", name, size, value.at,
                            value.left);
        return true;
    }
    good = scan_init (&s, scan_read_bytes, &value) == 0 ||
           event_no_memory (e);
    if (good && !(metadata_value (e->src, &s, name, size) && scan_end (&s)))
        event_note_bad_row (e, "META_DATA", s.err.text, 0);
    scan_fini (&s);
    return good;
}

/* Send META_DATA without groups, which have their own tables. */
static bool give_metadata (struct event_db *e)
{
    struct event_query q = event_ask (
        e, "META_DATA", "name, value", "SELECT name, value FROM META_DATA "
        "WHERE name <> 'parallel_group_info'");
    char name[CAPTURE_FACTS_NAME_MAX], value[EVENT_NAME_MAX];

    while (event_next (&q)) {
        sqlite3_value *v = sqlite3_column_value (q.st, 1);
        const char *text = (const char *)sqlite3_value_text (v);
        struct scan_bytes bytes = { text, (size_t)sqlite3_value_bytes (v) };

        event_text (e, sqlite3_column_value (q.st, 0), name, sizeof (name));
        if (text && !strchr ("{[\"", text[0])) {
            event_text (e, v, value, sizeof (value));
            bytes = (struct scan_bytes){ value, strlen (value) };
        }
        if (text && !carry_metadata (e, name, strlen (name), bytes))
            break;
    }
    return event_end (&q);
}

/* Send the columns of a small table, which 'sql' returns as pairs of name and
 * value.
 */
static bool give_pairs (struct event_db *e, const char *table,
                        const char *columns, const char *sql, const char *kind)
{
    struct event_query q = event_ask (e, table, columns, sql);
    char name[CAPTURE_FACTS_NAME_MAX], value[EVENT_NAME_MAX];

    while (event_next (&q)) {
        event_text (e, sqlite3_column_value (q.st, 0), name, sizeof (name));
        event_text (e, sqlite3_column_value (q.st, 1), value, sizeof (value));
        capture_facts_info (e->src, kind, name, strlen (name), value,
                            strlen (value));
    }
    return event_end (&q);
}

/* Count threads.  A thread is a process and a number; the number of the first
 * thread of a process is that of the process.  The count is limited.
 */
static bool count_threads (struct event_db *e, struct event_rows *rows,
                           struct map *threads, unsigned *beside_main)
{
    const struct db_row *row;
    bool is_new;
    int rc = 1;

    while (threads->n < THREADS_MAX &&
           (rc = event_rows_next (e, rows, &row)) == 1) {
        int64_t id = row->value[0];

        if (!(row->integers & 1))
            continue;
        if (!map_put (threads, &id, &is_new))
            return event_no_memory (e);
        if (is_new && id >> 32 != (id & UINT32_MAX))
            (*beside_main)++;
    }
    return rc >= 0;
}

static void give_number (struct event_db *e, const char *name, unsigned n)
{
    char value[16];
    int size = snprintf (value, sizeof (value), "%u", n);

    capture_facts_info (e->src, "threads", name, strlen (name), value,
                        (size_t)size);
}

static bool give_threads (struct event_db *e)
{
    static const char *const names[] = { "globalTid", "startNs" };
    static const bool have[] = { true };
    struct map threads = MAP (int64_t, 1);
    struct event_rows *rows;
    unsigned beside_main = 0;
    bool good;

    if (!event_has_all (e, "PYTORCH_API", names, 2))
        return e->how == READING_WHOLE;
    if (!(rows = event_rows_open (e, "PYTORCH_API", names, have, 1, false)))
        return false;
    if ((good = count_threads (e, rows, &threads, &beside_main))) {
        give_number (e, "profiled", threads.n);
        give_number (e, "beside_main", beside_main);
    }
    event_rows_close (rows);
    map_fini (&threads);
    return good;
}

bool event_give_info (struct event_db *e)
{
    return give_metadata (e) &&
           give_pairs (e, "HOST_INFO", "hostUid, hostName",
                       "SELECT 'hostUid', hostUid FROM HOST_INFO UNION ALL "
                       "SELECT 'hostName', hostName FROM HOST_INFO", "host") &&
           give_pairs (e, "SESSION_TIME_INFO", "startTimeNs, endTimeNs",
                       "SELECT 'startTimeNs', startTimeNs FROM "
                       "SESSION_TIME_INFO UNION ALL SELECT 'endTimeNs', "
                       "endTimeNs FROM SESSION_TIME_INFO", "session") &&
           give_pairs (e, "NPU_INFO", "id, name", NULL, "npu") &&
           give_threads (e);
}
