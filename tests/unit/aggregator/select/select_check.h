/* tests/unit/aggregator/select/select_check.h - a job of some captures */
#ifndef ROLLCALL_TESTS_SELECT_CHECK_H
#define ROLLCALL_TESTS_SELECT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "select/capture_select.h"

#define ITEMS 5

struct job {                    // begins as zeros
    struct select_item items[ITEMS];
    size_t n;
};

void job_add (struct job *j, int64_t rank, const char *name, const char *host,
              int64_t order, enum capture_state s);
void job_fini (struct job *j);

/* A capture has these two steps. */
void note_steps (struct capture *c, const char *a, const char *b);

/* Its rows are read, and have no rank. */
void take_no_rank (struct select_item *item);

#endif
