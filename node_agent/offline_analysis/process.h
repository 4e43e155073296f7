/* node_agent/offline_analysis/process.h - run another program within limits
 *
 * It runs in its own session and group at the lowest priority, with empty
 * standard input, and dies with the thread that started it.  Its output goes
 * through a pipe into a log of limited size.  Its child processes are killed
 * with it, even outside its group: an inherited variable marks them.
 */
#ifndef ROLLCALL_OFFLINE_ANALYSIS_PROCESS_H
#define ROLLCALL_OFFLINE_ANALYSIS_PROCESS_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_ANALYSIS "ROLLCALL_ANALYSIS"    // our pid and the log, which
                                                // mark one analysis
#define PROCESS_ANALYSER "ROLLCALL_ANALYSER"    // the log's directory, for all
                                                // of an analyser

#define PROCESS_LOG_MAX (1u << 20)      // bytes of a log without its end ...
#define PROCESS_TAIL_MAX 16384u         // ... and bytes of its end

struct process_spec {
    const char *command;        // words for a shell, see process_start
    const char *argument;       // NULL: none
    const char *log;            // DIR/FILE, a file that is created ...
    int log_dir;                // ... in this open directory DIR
    uint64_t memory;            // of address space of each process; 0: no limit
    bool idle;                  // SCHED_IDLE, else nice 19
    int lock;                   // a descriptor that it inherits; -1: none
};

struct process {
    pid_t pid;
    int pidfd;                  // readable once it has ended
    int out;                    // readable when there is output
    int log;
    char log_path[PATH_MAX];
    char mark[PATH_MAX + 32];   // value of PROCESS_ANALYSIS in its children
    uint64_t said;              // bytes of output
    char tail[PROCESS_TAIL_MAX];        // a ring buffer: byte n is at n % its
                                        // size
    uint64_t most_memory;       // bytes, of its largest process, once it has
                                // ended
};

/* Run sh -c 'exec COMMAND "$@"' sh ARGUMENT.  The shell splits COMMAND into
 * words as its user expects, and does not interpret ARGUMENT.  Returns 0 or
 * -errno.
 */
int process_start (const struct process_spec *spec, struct process *p,
                   struct err *err);

/* Read its output.  False: it has closed its output, or 'most' bytes were read.
 */
bool process_hear (struct process *p, size_t most);

/* Kill it and its group; then 'pidfd' becomes readable. */
void process_kill (struct process *p);

/* Finish a process, whether it has ended or not: kill and reap it, kill its
 * children, complete its log.  Waits at most 'wait_ms'.  *status is as from
 * waitpid(2).  False: it cannot be killed, since it hangs in the kernel, and
 * *status is -1.
 */
bool process_end (struct process *p, int wait_ms, int *status);

/* The last line of its output, without control bytes. */
void process_last_line (const struct process *p, char *out, size_t max);

#endif
