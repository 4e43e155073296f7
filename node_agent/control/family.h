/* node_agent/control/family.h - the processes of this run on this host
 *
 * COMMAND's descendants are known by two things: the tree, whose orphans come
 * back to the wrapper (it is their reaper), so that one without environment, in
 * a session or in a pid namespace of its own is in it, too; and ROLLCALL_JOB in
 * their environment.  A process that has another job's ROLLCALL_JOB is not of
 * this run, wherever it stands, nor are its children.  Who was seen once is
 * known by pid and start time, also when it has ended.  Others may be in the
 * control group of a wrapper (a server that the same script of a scheduler's
 * has started before): they are of this run if that of no other run has them.
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

/* This process is a wrapper: what is below it is of this run. */
void family_add_wrapper (struct family *f, pid_t pid);

/* Look at all processes.  Without memory, or /proc, nothing new is known. */
void family_look (struct family *f);

/* Whether the process of that number wrote what was made at 'born_ns' (since
 * 1970): if it began before and was there then.
 */
enum family_says family_had (const struct family *f, pid_t pid,
                             int64_t born_ns);

/* Whether one of this run has a file at or below 'path' open to write it. */
bool family_writes (const struct family *f, const char *path);

/* Whether the process of that number has another job's ROLLCALL_JOB now, and
 * was there at 'born_ns'.
 */
bool family_is_others (const struct family *f, pid_t pid, int64_t born_ns);

/* How many live, by the last look. */
size_t family_living (const struct family *f);

#endif
