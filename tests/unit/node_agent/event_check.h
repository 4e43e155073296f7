/* tests/unit/node_agent/event_check.h - event databases for tests: made of SQL,
 * read as a capture, and their rows as text
 */
#ifndef EVENT_CHECK_H
#define EVENT_CHECK_H

#include "extract/extract.h"

#include <stddef.h>

/* Tables and enumerations of an event database, whose ids are not those of any
 * version: only their names count.  Strings 1 to 9 are "Memcpy",
 * "Reduce_Inline", "Notify_Wait", "Notify_Record", "group_name_0", "MatMul",
 * "AI_CORE", "RDMASend" and "12345"; rank 0 has device 3.
 */
extern const char event_schema[];

int event_check_setup (void **state);           // cmocka's
int event_check_teardown (void **state);

/* The path of the database that the next event_read reads. */
const char *event_path (void);

/* Begin anew with the schema and then 'sql'. */
void event_make (const char *sql);
void event_run (const char *sql);       // more of it

/* Read the capture; 'steps' may be NULL. */
void event_read (const char *steps);

/* The rows that came of a table, as "a|b|c\n", numbers as "%.10g". */
const char *event_rows (enum table_id table);
const struct capture *event_capture (void);

/* 'rows' has this line. */
void event_has_line (enum table_id table, const char *line);

#endif
