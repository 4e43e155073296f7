/* tests/unit/aggregator/findings/job_check.h - a job's tables, which a test
 * fills */
#ifndef ROLLCALL_TESTS_JOB_CHECK_H
#define ROLLCALL_TESTS_JOB_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <limits.h>
#include <sqlite3.h>

struct job {
    char dir[64], path[PATH_MAX];       // of the database, alone in 'dir'
    sqlite3 *db;                // with all tables, empty; in a transaction
};

struct job *job_make (void);

/* Commits; fails if there is another file than the database. */
void job_destroy (struct job *j);

void run (struct job *j, const char *sql);

#endif
