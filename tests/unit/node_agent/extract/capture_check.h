/* tests/unit/node_agent/extract/capture_check.h - captures that a test makes,
 * and reads
 *
 * They are in a directory of their own.  There is one at a time that the
 * functions are about; it need not be there yet.
 */
#ifndef ROLLCALL_TESTS_CAPTURE_CHECK_H
#define ROLLCALL_TESTS_CAPTURE_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "extract/extract.h"
#include "row_sinks.h"
#include "store/fileio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make the directory, and begin with this capture; -1 if that fails. */
int capture_begin (const char *name);
int capture_setup (void **state);           // cmocka's: one of any name
int capture_teardown (void **state);

/* From now on it is this one. */
void capture_choose (const char *name);
const char *capture_chosen (void);          // its path

/* The path of a file of it, whose directory is there from now on.  The text
 * is static.
 */
const char *capture_path (const char *name);
void capture_put (const char *name, const char *text);
void capture_put_bytes (const char *name, const void *data, size_t size);

/* Initialize 'c' and read all steps; the result is extract_capture's. */
int capture_read (const struct row_sink *sink, struct capture *c);

#endif
