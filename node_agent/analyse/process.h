/* node_agent/analyse/process.h - run another program within limits
 *
 * It runs in its own session and group at the lowest priority, with empty
 * standard input, and dies with the thread that started it.  Its output goes
 * through a pipe into a log of bounded size.  Its child processes are killed
 * with it, even outside its group: an inherited variable marks them.
 */
#ifndef ROLLCALL_ANALYSE_PROCESS_H
#define ROLLCALL_ANALYSE_PROCESS_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_ANALYSIS "ROLLCALL_ANALYSIS"    // our pid, and the log: one
                                                // analysis of one analyser
#define PROCESS_ANALYSER "ROLLCALL_ANALYSER"    // the log's directory: all

#define PROCESS_LOG_MAX (1u << 20)      // bytes of a log, but for its end ...
#define PROCESS_TAIL_MAX 16384u         // ... of which so much is kept

struct process_spec {
    const char *command;        // words for a shell, see process_start
    const char *argument;       // NULL: none
    const char *log;            // DIR/FILE: a file that is made anew ...
    int log_dir;                // ... in this directory, which DIR has led to
    uint64_t memory;            // bytes of address space of each; 0: any
    bool idle;                  // SCHED_IDLE, else nice 19
    int lock;                   // a descriptor to be inherited, -1: none
};

struct process {
    pid_t pid;
    int pidfd;                  // readable when it has ended
    int out;                    // readable when it says something
    int log;
    char log_path[PATH_MAX];
    char mark[PATH_MAX + 32];   // of what it starts: PROCESS_ANALYSIS
    uint64_t said;              // bytes
    char tail[PROCESS_TAIL_MAX];        // a ring: byte n is at n % its size
    uint64_t most_memory;       // of its largest process, when it has ended
};

/* sh -c 'exec COMMAND "$@"' sh ARGUMENT: the shell splits COMMAND's words as
 * its user expects; ARGUMENT is not seen by the shell.  0 or -errno.
 */
int process_start (const struct process_spec *spec, struct process *p,
                   struct err *err);

/* Read its output; false: it has closed it, or 'most' bytes were read. */
bool process_hear (struct process *p, size_t most);

/* Kill it and its group; 'pidfd' becomes readable. */
void process_kill (struct process *p);

/* After its end, or to end it: reap it, kill its children, finish its log.
 * Waits for so long at most; false: it cannot be killed (it hangs in the
 * kernel), and '*status' (else as of waitpid(2)) is -1.
 */
bool process_end (struct process *p, int wait_ms, int *status);

/* The last line of its output, without control bytes. */
void process_last_line (const struct process *p, char *out, size_t max);

#endif
