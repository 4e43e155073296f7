/* tests/unit/node_agent/discovery/watch_check.h - a watch over a directory of
 * its own
 *
 * Time is given, never waited for.
 */
#ifndef ROLLCALL_TESTS_WATCH_CHECK_H
#define ROLLCALL_TESTS_WATCH_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "discovery/watch.h"
#include "store/fileio.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET (60 * NS_PER_S)
#define WALL (INT64_C (1) << 61)        // in 2043, after any date on this disk

struct fixture {
    char dir[PATH_MAX - 256];
    struct watch *w;
    unsigned settled, unfinished;
    char last[PATH_MAX], fingerprint[FINGERPRINT_MAX];
    int64_t hint;
    int rc;                     // what the callback returns
};

int watch_setup (void **state);
int watch_teardown (void **state);

#define WATCH_TEST(name) \
    cmocka_unit_test_setup_teardown (name, watch_setup, watch_teardown)

/* A watch_fn: counts, and keeps what it was told last in the fixture. */
int on_settled (void *arg, const struct watch_settled *s, struct err *err);

/* Write a file below the directory; those above it are made. */
void put (struct fixture *f, const char *name, const char *text);

/* Search, or flush, at a time of the monotonic clock; 'wall' 0: dates say
 * nothing.
 */
int scan_at (struct fixture *f, int64_t mono_s, int64_t wall);
int flush_at (struct fixture *f, int64_t mono_s);

#endif
