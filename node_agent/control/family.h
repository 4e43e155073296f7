/* node_agent/control/family.h - the processes of this run on this host
 *
 * COMMAND's descendants are known by two things.  One is the tree of processes:
 * the wrapper is the reaper, so orphans remain in its tree, even those without
 * environment or in a session or pid namespace of their own.  The other is
 * ROLLCALL_JOB in their environment.  A process with another job's ROLLCALL_JOB
 * is never of this run, and neither are its children.  A process that was seen
 * once is known by pid and start time even after its end.  Other processes in
 * the control group of a wrapper (a server that the same batch script started
 * before) are of this run unless another run's group has them.
 */
#ifndef ROLLCALL_CONTROL_FAMILY_H
#define ROLLCALL_CONTROL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct family;

enum family_says {
    FAMILY_NO,                  // it is none that was seen
    FAMILY_GROUP,               // it is in a wrapper's control group
    FAMILY_MAYBE,               // it has this pid in a namespace of its own;
                                // others may have it in theirs
    FAMILY_SURE,
};

/* 'job' is borrowed.  NULL: no memory. */
struct family *family_create (const char *job);
void family_destroy (struct family *f);         // f may be NULL

/* Add a wrapper: its descendants are of this run. */
void family_add_wrapper (struct family *f, pid_t pid);

/* Scan all processes.  Without memory or /proc it has no effect. */
void family_look (struct family *f);

/* Whether that process may have written a file that was created at 'born_ns'
 * (since 1970): it was alive then.
 */
enum family_says family_had (const struct family *f, pid_t pid,
                             int64_t born_ns);

/* Whether a process of this run has a file at or below 'path' open for writing.
 */
bool family_writes (const struct family *f, const char *path);

/* Whether that process has another job's ROLLCALL_JOB, and was alive at
 * 'born_ns' (since 1970).
 */
bool family_is_others (const struct family *f, pid_t pid, int64_t born_ns);

/* How many processes were alive at the last scan. */
size_t family_living (const struct family *f);

#endif
