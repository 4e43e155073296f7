/* tests/unit/node_agent/spool/spool_check.h - a spool in a directory of its
 * own, and ways to fill it */
#ifndef ROLLCALL_TESTS_SPOOL_CHECK_H
#define ROLLCALL_TESTS_SPOOL_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spool/check_spool.h"
#include "spool/spool.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX - 256];
    char raw[PATH_MAX - 128];   // a capture's directory, beside the spool
    char spool[PATH_MAX - 128];
    struct spool *s;
    unsigned again;             // calls of spool_on_reseal's function
    char again_path[PATH_MAX], again_why[ERR_TEXT_MAX];
};

int spool_setup (void **state);
int spool_teardown (void **state);

void spool_reopen (struct fixture *f);
void spool_reopen_new (struct fixture *f);      // after spool_close

/* Seal some rows and an empty raw file that is not linked. */
void spool_seal_raw (struct fixture *f, uint64_t id, char *path);

/* One capture ("PATH", version) of rank 2: its shipment of these bytes, and if
 * 'raw' is not NULL a raw file "x" with those, linked if 'link'.  Its id.
 */
uint64_t spool_put (struct fixture *f, const char *path, const char *version,
                    const char *rows, const char *raw, bool link);

/* A capture at 'raw' with a raw file, noted for its release, of which the first
 * 'delivered' items are durable.
 */
void spool_put_releasable (struct fixture *f, unsigned delivered);

/* The path of file 'number' of a capture in the spool. */
void spool_path_of (struct fixture *f, uint64_t id, unsigned number,
                    char out[PATH_MAX]);

/* How many files there are below a directory of the spool. */
unsigned spool_files (struct fixture *f, const char *name);

/* Change the ledger behind the spool's back: it is closed then. */
void spool_sql (struct fixture *f, const char *text);

/* Change one byte of a file. */
void spool_flip (const char *path, long at, unsigned char bits);

#endif
