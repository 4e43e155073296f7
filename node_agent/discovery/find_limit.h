/* node_agent/discovery/find_limit.h - limit a search
 *
 * A home directory may have a million entries on a remote file system.
 * Directories that changed since COMMAND began are searched first, then those
 * nearer to the root.  At the limit the other directories are counted, but not
 * searched.
 */
#ifndef ROLLCALL_DISCOVERY_FIND_LIMIT_H
#define ROLLCALL_DISCOVERY_FIND_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits for old directories.  For new ones, and for the root, they are
 * FIND_NEW_TIMES as high.
 */
#define FIND_ENTRIES_MAX 50000          // less than 1 s on a fast disk
#define FIND_TIME_NS (INT64_C (1000000000))
#define FIND_NEW_TIMES 2

struct find_limit {
    int64_t since_ns;           // wall clock: what has changed since then is
                                // new
    uint64_t entries;           // usually FIND_ENTRIES_MAX
    int64_t time_ns;            // usually FIND_TIME_NS
    int64_t (*now) (void);      // usually clock_mono_ns
    size_t nleft;               // result: how many directories were not (fully)
    char *left;                 // searched, and the first of them
    // private
    int64_t began_ns;
    uint64_t nread;
    bool fresh;                 // the current directory is new
    bool spent;
    struct find_waiting *waiting;
    size_t nwaiting;
};

/* A directory to be searched. */
struct find_waiting {
    char *path;                 // malloced
    dev_t above;                // the device of its parent directory
    unsigned depth;             // how many levels below it may be searched
    bool fresh;
    uint64_t order;
};

void find_limit_begin (struct find_limit *l);
void find_limit_free (struct find_limit *l);    // l may be NULL

/* Whether one more entry of the current directory may be read. */
bool find_limit_entry (struct find_limit *l);

/* Queue a directory.  Returns 0 or -ENOMEM. */
int find_limit_wait (struct find_limit *l, const char *path, dev_t above,
                     unsigned depth, int64_t changed_ns);

/* Get the next directory; the caller frees its path.  False: there is none, or
 * the limit is reached.
 */
bool find_limit_next (struct find_limit *l, struct find_waiting *ret);

/* Record that this directory was not searched completely. */
void find_limit_leave (struct find_limit *l, const char *path);

#endif
