/* node_agent/world/process_reports.h - what processes of COMMAND say of
 * themselves
 *
 * librollcall_world.so (world_preload.c) is loaded into COMMAND and into what
 * COMMAND starts.  It writes small files into PRELOAD_DIR of the run's
 * directory on its host, and the agent of the run reads them:
 *   said-RANK-SIZE      a process that has been told its rank by variables that
 *                       COMMAND itself was not given: COMMAND is a launcher
 *   mpi-FROM-RANK-SIZE  a process that MPI has told its rank; FROM is the rank
 *                       that the launcher's variables had said
 * The first process writes the file, as ".PID.NUMBER" until it is whole; those
 * that follow leave it.  It has lines "NAME VALUE": parent, the rank of the
 * wrapper; local_rank (-1: not said); pid; host, MPI's name of the processor
 * (for the log).
 */
#ifndef ROLLCALL_WORLD_PROCESS_REPORTS_H
#define ROLLCALL_WORLD_PROCESS_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#define PRELOAD_DIR "told"
#define PRELOAD_LIBRARY "librollcall_world.so"

/* What the library is told, in one variable: "MODE RANK SIZE RANK_GIVEN
 * SIZE_GIVEN DIR": those of the wrapper; RANK and WORLD_SIZE as COMMAND has
 * them, -1 if they are no numbers; the run's directory.
 */
#define PRELOAD_VARIABLE "ROLLCALL_WORLD"

/* MODE: what to do when MPI finds a world of 1, where there should be SIZE. */
#define PRELOAD_LOOK "look"     // nothing: it may be meant
#define PRELOAD_WARN "warn"     // --child plain: say so, and go on
#define PRELOAD_END "end"       // say so, and end
#define PRELOAD_MET "met"       // the same; the wrapper has used MPI itself
#define PRELOAD_STATUS 78       // to end with

struct process_report {
    bool mpi;                   // by MPI, not by variables
    int64_t parent;             // rank of the wrapper
    int64_t from;               // the rank that variables had said, if 'mpi'
    int64_t rank, size, local_rank;
    char host[256];             // "" if not 'mpi'
};

/* Read what is in 'dir'/PRELOAD_DIR: 'fn' for each file that is whole, in no
 * order; each time all of them.
 */
void process_reports_read (const char *dir,
                           void (*fn) (void *arg,
                                       const struct process_report *t),
                           void *arg);

#endif
