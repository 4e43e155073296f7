/* node_agent/world/process_reports.h - reports of processes of COMMAND
 *
 * librollcall_world.so (world_preload.c) is loaded into COMMAND and into all
 * that COMMAND starts.  It writes small files into PRELOAD_DIR of the run's
 * directory on its host, and the agent of the run reads them:
 *   said-RANK-SIZE      from a process whose rank is in variables that COMMAND
 *                       itself did not have: COMMAND is a launcher
 *   mpi-FROM-RANK-SIZE  from a process that got its rank from MPI; FROM is the
 *                       rank in the launcher's variables
 *
 * The first process writes the file, as ".PID.NUMBER" until it is complete;
 * later ones leave it alone.  It has lines "NAME VALUE": parent, the rank of
 * the wrapper; local_rank (-1: not known); pid; host, MPI's name of the
 * processor (for the log).
 */
#ifndef ROLLCALL_WORLD_PROCESS_REPORTS_H
#define ROLLCALL_WORLD_PROCESS_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#define PRELOAD_DIR "told"
#define PRELOAD_LIBRARY "librollcall_world.so"

/* The variable that tells the library "MODE RANK SIZE RANK_GIVEN SIZE_GIVEN
 * DIR": rank and size of the wrapper; RANK and WORLD_SIZE of COMMAND, -1 if
 * they are no numbers; the run's directory.
 */
#define PRELOAD_VARIABLE "ROLLCALL_WORLD"

/* MODE says what to do if MPI finds a world of 1 where SIZE is expected. */
#define PRELOAD_LOOK "look"     // nothing: it may be intended
#define PRELOAD_WARN "warn"     // --child plain: warn, and continue
#define PRELOAD_END "end"       // print an error, and exit
#define PRELOAD_MET "met"       // the same; the wrapper itself has used MPI
#define PRELOAD_STATUS 78       // exit status

struct process_report {
    bool mpi;                   // the rank is from MPI, not from variables
    int64_t parent;             // rank of the wrapper
    int64_t from;               // the rank in the launcher's variables, if
                                // 'mpi'
    int64_t rank, size, local_rank;
    char host[256];             // unless 'mpi'
};

/* Call 'fn' for each complete file in 'dir'/PRELOAD_DIR, in no order.  Each
 * call reads all of them.
 */
void process_reports_read (const char *dir,
                           void (*fn) (void *arg,
                                       const struct process_report *t),
                           void *arg);

#endif
