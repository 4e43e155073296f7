/* node_agent/discovery/finder.h - search large directories in a thread
 *
 * A working directory may be "/" and take seconds to search, while the loop
 * must go on.  A round searches a list of directories once; the loop gets all
 * of its results at the end.
 */
#ifndef ROLLCALL_DISCOVERY_FINDER_H
#define ROLLCALL_DISCOVERY_FINDER_H

#include "base/loop.h"
#include "discovery/find.h"

struct finder;

/* A directory to be searched. */
struct finder_dir {
    const char *path;
    bool bounded;               // within the limits of find_limit.h
    int64_t since_ns;           // wall clock: what is new, if bounded
};

struct finder_result {
    char *dir;
    struct find_limit limit;    // if it is bounded
    struct found_list list;
    int rc;                     // result of find_captures; 'err' says why
    struct err err;
};

/* The loop calls 'done' at the end of each round, and frees the results
 * afterwards.
 */
typedef void finder_fn (void *arg, struct finder_result *results, size_t n);

int finder_create (struct loop *loop, finder_fn *done, void *arg,
                   struct finder **ret, struct err *err);
void finder_destroy (struct finder *f); // cancels a round; f may be NULL

/* Begin a round over these directories, which are copied.  -EBUSY: one is under
 * way; -ENOMEM, -EAGAIN (no thread available): try again later.
 */
int finder_start (struct finder *f, const struct finder_dir *dirs, size_t n);
bool finder_is_busy (const struct finder *f);

#endif
