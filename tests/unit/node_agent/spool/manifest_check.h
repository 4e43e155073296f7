/* tests/unit/node_agent/spool/manifest_check.h - a capture of three files, and
 * its manifest */
#ifndef ROLLCALL_TESTS_MANIFEST_CHECK_H
#define ROLLCALL_TESTS_MANIFEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spool/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char dir[64];            // of one test

/* Its setup and teardown: the capture "c" with the files a, sub/b and z, and
 * the file "outside" beside it.
 */
int make_capture (void **state);
int remove_capture (void **state);

#define ON_CAPTURE(test) \
    cmocka_unit_test_setup_teardown (test, make_capture, remove_capture)

/* A path in the directory: valid until the fourth call from here. */
const char *in_dir (const char *name);
void put (const char *name, const char *text);

/* The manifest of "c", which the caller frees. */
struct buf take (void);

#endif
