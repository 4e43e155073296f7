/* tests/unit/node_agent/extract/event_db/event_check.h - event databases for
 * tests: made of SQL, read as a capture, and their rows as text */
#ifndef EVENT_CHECK_H
#define EVENT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/extract.h"

#define KEY "5862276093215481612"       // of group_name_0

int event_check_setup (void **state);           // cmocka's
int event_check_teardown (void **state);

/* The path of the database that the next event_read reads. */
const char *event_path (void);

/* Begin anew, on small pages, with the schema and then 'sql': tables and
 * enumerations, whose ids are not those of any version, since only their names
 * count.  Strings 1 to 9 are "Memcpy", "Reduce_Inline", "Notify_Wait",
 * "Notify_Record", "group_name_0", "MatMul", "AI_CORE", "RDMASend" and
 * "12345"; rank 0 has device 3.
 */
void event_make (const char *sql);
void event_run (const char *sql);       // more of it

/* One task of an op, in both tables; and usual ones. */
struct task {
    int plane, type;
    int64_t start, ns;
    int64_t bytes;
    int transport, link, rdma;
    int64_t src, dst;
};

enum { MEMCPY = 1, REDUCE = 2, WAIT = 3, RECORD = 4, SEND = 8 };    // strings

#define DATA(plane, type, start, ns, bytes, link, src, dst) \
    { plane, type, start, ns, bytes, 10, link, 99, src, dst }
#define OTHER(plane, type, start, ns) \
    { plane, type, start, ns, 0, 99, 99, 99, 0, 4294967295 }

/* Op number 'op', and its tasks, whose ids begin with 'first'. */
void event_put_op (int op, const char *name, int64_t start, int64_t end);
void event_put_tasks (int op, int first, const struct task *t, size_t n);

#define ADD(op, first, tasks) \
    event_put_tasks (op, first, tasks, sizeof (tasks) / sizeof (tasks[0]))

/* Tasks that compute, from and to, whose ids begin with 'first'. */
void event_put_compute (int first, const int64_t (*spans)[2], size_t n);

/* Read the capture; 'steps' may be NULL. */
void event_read (const char *steps);

/* The rows that came of a table, as "a|b|c\n", numbers as "%.10g". */
const char *event_rows (enum table_id table);
const struct capture *event_capture (void);

/* All of it was read. */
void event_is_complete (void);

/* 'rows' has this line. */
void event_has_line (enum table_id table, const char *line);

#endif
