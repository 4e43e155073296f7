/* node_agent/discovery/find.h - find the captures below a directory
 *
 * A capture is a directory, or one file (a trace of torch.profiler).  It is
 * recognised by its name (..._ascend_pt, ..._ascend_ms, PROF_...,
 * ....pt.trace.json) or by its content (doc/formats.md, "Captures").  A search
 * does not follow symbolic links below the root, and does not enter captures,
 * /proc, /sys and the like.
 */
#ifndef ROLLCALL_DISCOVERY_FIND_H
#define ROLLCALL_DISCOVERY_FIND_H

#include "base/err.h"
#include "base/map.h"
#include "discovery/find_limit.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FIND_DEPTH_MAX 16               // directories below the root
#define FIND_CAPTURES_MAX (1u << 20)

/* Identifies a directory or file even if it is moved.  Inodes are reused. */
struct find_id {
    dev_t dev;
    ino_t ino;                          // 0: not known
    int64_t born_ns;                    // 0: its file system has no birth times
};

struct found {
    char *path;
    const char *name;                   // its last component, within 'path'
    struct find_id id;
};

struct found_list {
    struct found *items;                // sorted by path
    size_t n;
    char **problems;                    // sentences: what was not searched, and
                                        // why
    size_t nproblems;
    bool unread;                        // a directory could not be read
    size_t nfrom_earlier_roots;         // how many items earlier roots gave
    struct map places;                  // of the items' inodes
    bool names_only;                    // do not open files to recognise them
    const atomic_bool *cancel;          // set: end the search early; may be
                                        // NULL
    struct find_limit *limit;           // the caller's; NULL: no limit.  With
                                        // one the items are not sorted
};

/* Add the captures at and below 'root', which may also be a file that is a
 * capture.  Directories that cannot be read, and links named like captures, are
 * added to the problems.  Returns 0; -ENOENT or -ENOTDIR for the root itself;
 * -E2BIG: more than FIND_CAPTURES_MAX; -ENOMEM; -ECANCELED.  After a failure
 * the list may have some of the captures.  The caller frees it by find_free in
 * any case.
 */
int find_captures (const char *root, struct found_list *list,
                   struct err *err);
void find_free (struct found_list *list);

/* Whether the problem is only that a directory was not searched.  A home
 * directory may have hundreds of these, unrelated to any capture.
 */
bool find_is_unsearched (const char *problem);

#endif
