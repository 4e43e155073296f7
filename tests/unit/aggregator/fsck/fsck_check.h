/* tests/unit/aggregator/fsck/fsck_check.h - a root with four items, and a copy
 * of it to be damaged and mended */
#ifndef ROLLCALL_TESTS_FSCK_CHECK_H
#define ROLLCALL_TESTS_FSCK_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fsck/check_root.h"
#include "store/fileio.h"
#include "store/root.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ITEMS 4                 // of job "j", ranks 0 to 3; the last is raw

struct fixture {
    char dir[PATH_MAX / 4], root[PATH_MAX / 2], copy[PATH_MAX / 2];
    char said[65536];           // by the last check
};

/* For cmocka: its state is a fixture, with 'root' filled and no copy yet. */
int fsck_setup (void **state);
int fsck_teardown (void **state);

/* Replace the copy by one of the root. */
void fsck_copy (struct fixture *f);

/* Change one bit of the byte at 'at'; twice: as before. */
void fsck_flip (const char *path, off_t at);

/* Commit what was written, and close both. */
void fsck_end (struct store *s, struct ledger *l);

off_t fsck_size (const char *path);

/* Check a root; what that says is in f->said. */
struct check_report fsck_check (struct fixture *f, const char *root,
                                bool repair);

/* The items that are whole, in the order of their ranks: "0123"; and the job
 * has its tag.
 */
void fsck_whole (const char *root, char out[16]);

/* Repair the copy.  Then an aggregator can serve it, and there is nothing more
 * to be found.  'whole': as fsck_whole, or NULL.
 */
void fsck_mended (struct fixture *f, const char *whole);

/* The last place in a file where a text stands. */
off_t fsck_last_of (const char *path, const char *text);

/* Rows of rank 0 come, into a root that is there. */
void fsck_deliver (const char *root, const char *capture, const char *bytes,
                   int64_t newest_ns);

/* Append the bytes as a chunk, and the item. */
void fsck_put (struct store *s, struct ledger_item *item, const char *bytes);

#endif
