/* tests/unit/cli/verb_check.h - verbs as functions, and what they print */
#ifndef ROLLCALL_TESTS_VERB_CHECK_H
#define ROLLCALL_TESTS_VERB_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "store/fileio.h"
#include "json/json.h"
#include "cli.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The date, for all that asks for it here; it stands still. */
extern int64_t verb_now_ns;

/* A directory, and its end; cmocka's state is its path. */
int verb_setup (void **state);
int verb_teardown (void **state);

/* Call a verb with words up to NULL, which has to return 0: what it printed,
 * until the next call; and the same as JSON, to be freed.
 */
const char *verb_text (int (*verb) (int argc, char **argv), ...);
struct json *verb_json (const char *text);

#endif
