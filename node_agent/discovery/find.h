/* node_agent/discovery/find.h - the captures below a directory
 *
 * A capture is a directory, or one file (a trace of torch.profiler).  It is
 * recognised by its name (..._ascend_pt, ..._ascend_ms, PROF_...,
 * ....pt.trace.json) or by what is in it (doc/formats.md, "Captures").
 * Symbolic links below the root are not followed; captures, /proc, /sys and the
 * like are not searched.
 */
#ifndef ROLLCALL_DISCOVERY_FIND_H
#define ROLLCALL_DISCOVERY_FIND_H

#include "base/err.h"
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
    ino_t ino;                          // 0: nothing is known
    int64_t born_ns;                    // 0: its file system does not tell
};

struct found {
    char *path;
    const char *name;                   // its last component, within 'path'
    struct find_id id;
};

struct found_list {
    struct found *items;                // sorted by path
    size_t n;
    char **problems;                    // what was not searched, and why
    size_t nproblems;
    bool unread;                        // a directory cannot be read
    size_t nfrom_earlier_roots;         // items that earlier roots gave
    bool names_only;                    // files are not opened to see what
                                        // they are
    const atomic_bool *cancel;          // ends a search early; may be NULL
    struct find_limit *limit;           // the caller's, or NULL: none.  What
                                        // it finds is in no order
};

/* Add the captures at and below 'root', which may be a file whose name or
 * content shows a capture.  Directories that cannot be read and links named
 * like captures become problems, as sentences.  Returns 0, -ENOENT or -ENOTDIR
 * for the root itself, -E2BIG, -ENOMEM, -ECANCELED.
 */
int find_captures (const char *root, struct found_list *list,
                   struct err *err);
void find_free (struct found_list *list);

/* Whether the problem is a directory that was not searched: a home directory
 * may have hundreds of these, unrelated to any capture.
 */
bool find_is_unsearched (const char *problem);

#endif
