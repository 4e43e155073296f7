/* tests/unit/common/store/dir_check.h - a directory for each test, which is the
 * working directory, too; and files in it */
#ifndef ROLLCALL_TESTS_DIR_CHECK_H
#define ROLLCALL_TESTS_DIR_CHECK_H

#include <limits.h>
#include <stdbool.h>

extern char dir[PATH_MAX];          // its path

/* Setup and teardown of cmocka. */
int dir_setup (void **state);
int dir_teardown (void **state);

void put_file (const char *name, const char *text);
/* A file with this text, of less than 256 bytes, is there. */
void assert_file (const char *name, const char *want);
/* A link is there, whatever it points to. */
bool exists (const char *name);
unsigned count_entries (const char *name);      // of a directory

#endif
