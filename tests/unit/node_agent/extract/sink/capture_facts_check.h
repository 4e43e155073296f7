/* tests/unit/node_agent/extract/sink/capture_facts_check.h - a capture of one
 * step and what a test puts beside it, and the rows that come of that */
#ifndef ROLLCALL_TESTS_EXTRAS_CHECK_H
#define ROLLCALL_TESTS_EXTRAS_CHECK_H

#include "node_agent/extract/capture_check.h"

#define OUT "ASCEND_PROFILER_OUTPUT/"

int extras_setup (void **state);        // cmocka's; ends with capture_teardown

/* A capture of one step, complete without anything else. */
void make_capture (void);

/* Read it, and keep the rows of one table, as "a|b|c\n". */
extern struct kept {
    enum table_id table;
    char text[65536];
    size_t rows;
} kept;

void read_table (enum table_id table, struct capture *c);

/* What the capture gives for a table, and how it is judged. */
void check (enum table_id table, const char *rows, enum capture_state state,
            const char *reason);

/* It is complete, and gives so many rows, this among them. */
void check_many (enum table_id table, size_t rows, const char *row);

#endif
