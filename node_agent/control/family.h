/* node_agent/control/family.h - the processes of this run on this host
 *
 * COMMAND's descendants are known by two things: the tree, whose orphans come
 * back to the wrapper (it is their reaper), so that one without environment, in
 * a session or in a pid namespace of its own is in it, too; and ROLLCALL_JOB in
 * their environment.  A process that has another job's ROLLCALL_JOB is not of
 * this run, wherever it stands, nor are its children.  A process that was seen
 * once is known by pid and start time, even after its end.  Other processes in
 * the control group of a wrapper (a server that the same batch script started
 * before) are of this run if no other run's group has them.
 */
#ifndef ROLLCALL_CONTROL_FAMILY_H
#define ROLLCALL_CONTROL_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct family;

enum family_says {
    FAMILY_NO,                  // none of those that were seen
    FAMILY_GROUP,               // one that is in a wrapper's control group
    FAMILY_MAYBE,               // one whose pid is so in a namespace of its own:
                                // others may have that number in theirs
    FAMILY_SURE,
};

/* 'job' is borrowed.  NULL: no memory. */
struct family *family_create (const char *job);
void family_destroy (struct family *f);         // f may be NULL

/* This process is a wrapper: its descendants are of this run. */
void family_add_wrapper (struct family *f, pid_t pid);

/* Scan all processes.  Without memory, or /proc, there is nothing new. */
void family_look (struct family *f);

/* Whether that process may have written a file made at 'born_ns' (since 1970):
 * it was alive then.
 */
enum family_says family_had (const struct family *f, pid_t pid,
                             int64_t born_ns);

/* Whether one of this run has a file at or below 'path' open for writing. */
bool family_writes (const struct family *f, const char *path);

/* Whether that process has another job's ROLLCALL_JOB now, and was alive at
 * 'born_ns'.
 */
bool family_is_others (const struct family *f, pid_t pid, int64_t born_ns);

/* How many are alive, by the last scan. */
size_t family_living (const struct family *f);

#endif
