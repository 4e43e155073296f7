/* tests/unit/node_agent/agent/sealer_check.h - a sealer and a capture in a
 * directory of their own, and what may go wrong while it reads
 */
#ifndef ROLLCALL_TESTS_SEALER_CHECK_H
#define ROLLCALL_TESTS_SEALER_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/seal_items.h"
#include "base/clock.h"
#include "store/content.h"
#include "store/fileio.h"
#include "throttle/bulk.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char dir[PATH_MAX - 256], capture[PATH_MAX - 128], shipment[PATH_MAX];
    struct loop *loop;
    struct bulk *bulk;
    struct sealer *sealer;
    int rc;                     // of what was sealed last
    size_t nitems;
    uint64_t skipped;
    size_t manifest;            // bytes of it
    char raw_path[PATH_MAX];    // of the last item
    struct err why, err;
    bool again, moved, unfinished;
    const char *left;           // what is sealed is left out, after this file
                                // was removed
};

extern atomic_uint rests, end_at;       // end_at 0: never

#define BAD_SIZE 4711           // of a file whose reading fails
extern int bad_with;            // 0: nothing is bad
extern const char *bad_name;    // NULL: none; its opening fails
extern char made_at_read[PATH_MAX];     // this file, at the first reading
extern char renamed_at_read[PATH_MAX];  // from this one, if that is not ""

extern ino_t synced;            // last; 0: nothing was
extern atomic_uint syncs;       // so many
extern off_t synced_size;       // as it was then
extern int sync_error;          // 0: none

int sealer_setup (void **state);
int sealer_teardown (void **state);

#define SEALER_TEST(name) \
    cmocka_unit_test_setup_teardown (name, sealer_setup, sealer_teardown)

/* Have another sealer, which tells this function. */
void other_sealer (struct fixture *f, bool raw, bool manifests,
                   void (*on_sealed) (void *arg, struct sealed *s));

/* A file of the capture, all of it a hole; and its path, until the next call. */
void put (struct fixture *f, const char *name, off_t size);
const char *in (const struct fixture *f, const char *name);

unsigned links (const struct fixture *f);       // of raw files, in the spool

/* Let the loop run until it is stopped; and after the capture was added. */
void run (struct fixture *f);
void seal (struct fixture *f);

void on_sealed (void *arg, struct sealed *s);   // notes it in the fixture

#endif
