/* tests/unit/aggregator/store/root_check.h - an aggregator's ledger and store,
 * in a directory of their own */
#ifndef ROLLCALL_TESTS_ROOT_CHECK_H
#define ROLLCALL_TESTS_ROOT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/fileio.h"
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct root {
    char dir[PATH_MAX / 4], db[PATH_MAX / 2];
    struct ledger *l;
    struct store *s;
};

/* A new one, opened; and its end. */
void root_make (struct root *r);
void root_remove (struct root *r);

/* Its death and next life. */
void root_close (struct root *r);
void root_open (struct root *r);

/* The hash of bytes that are one chunk at the most. */
struct digest root_digest (const char *bytes);

/* For tests that have nothing but a root: cmocka's state is it. */
int root_setup (void **state);
int root_teardown (void **state);

#define ROOT_TEST(name) \
    cmocka_unit_test_setup_teardown (name, root_setup, root_teardown)

#endif
