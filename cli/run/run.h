/* cli/run/run.h - rollcall run, between its files
 *
 * Each file calls only those above it in this list:
 *
 *   run_way.c       how wrappers meet
 *   run_origin.c    what is known of the job beside ranks
 *   run_state.c     the directory of all runs
 *   run_slurm.c     what Slurm knows of the job
 *   run_keys.c      keys: made, distributed, removed
 *   run_result.c    the result, and whether processes live (also for verbs)
 *   run_list.c      the runs of this machine, for verbs
 *   run_progress.c  a progress line
 *   run_job.c       directories, names and daemons of a run
 *   run_net.c       addresses: binding, announcing, probing
 *   run_targets.c   several aggregators
 *   run_master.c    where the COMMANDs' own rendezvous is
 *   run_options.c   options, and what they may be
 *   run_child.c     what COMMAND is
 *   run_disk.c      problems of the capture directories
 *   run_command.c   start COMMAND
 *   run_meet.c      how wrappers find the aggregator: over MPI, or by a file
 *   run_finish.c    a run whose daemons died with its launcher
 *   run_wrap.c      the wrapper of one COMMAND (see run_wrap.h)
 *   run_launch.c    in front of a launcher (--launcher)
 *   run_main.c      which part this process plays
 *
 * This folder: wrapper, launch and daemons of a run (rollcall run).
 */
#ifndef ROLLCALL_RUN_RUN_H
#define ROLLCALL_RUN_RUN_H

#include "shared/command.h"

#include "offline_analysis/analyser.h"
#include "options/shell.h"
#include "json/json.h"
#include "net/endpoints.h"
#include "store/tree.h"
#include "world/host.h"
#include "world/world.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#define RUN_AGGREGATOR "aggregator.json"        // its process, and OUT
#define RUN_OVER "agent.over"           // made by an agent at the run's end
#define RUN_LEFT "wrappers.over"        // made by the last wrapper that ends, if
                                        // something was not delivered
#define RUN_CALL "run.json"             // how the run was called
#define RUN_LOCK "finish.lock"          // held to finish or remove the run
#define RUN_RESTARTS_MAX 3              // of each daemon that dies
#define RUN_JOINED "joined"             // made when the first agent says hello

struct run_options {
    const char *out;            // OUT
    struct option_list watch;
    int64_t deadline_ns, quiet_ns;
    const char *child;          // auto, plain, mpi
    const char *launcher;       // "mpirun -np 8"
    const char *aggregator;     // its endpoints, comma separated
    const char *aggregators;    // a list of several, or its file
    int64_t copies, away_ns, spread;    // of that
    const char *job;
    const char *state;          // local directory of runs
    const char *interface, *ports;
    int64_t expect_bytes;       // of raw data from the profilers of a node
    const char *compress;       // how raw files are packed
    int64_t max_rate;           // bytes that an agent ships in a second
    const char *release;        // when captures in the run's own directories
                                // are removed
    int64_t max_ranks;          // capture_world_max
    const char *only;           // the results to make
    int64_t one_file;           // as in struct derive_options
    struct analyser_settings analyse;   // for each agent
    bool raw, owner, insecure, foreign, json, text;
    bool launched;              // started by the front end of --launcher
    const char *finish;         // STATE/JOB/HOST of a run to be finished
};

extern const struct command_spec run_command;   // of run_options.c

#define RUN_FAIL(status, ...) cli_fail (&run_command, status, __VA_ARGS__)

enum run_child {                // what COMMAND is
    RUN_CHILD_ANY,              // not known
    RUN_CHILD_PLAIN,            // the user says: it does not call MPI_Init
    RUN_CHILD_MPI,              // an MPI program: the user or its file says so
};

enum run_way {                  // how wrappers find the aggregator
    RUN_WAY_GIVEN,              // options of the user or a front end name it
    RUN_WAY_ALONE,              // there is only one wrapper
    RUN_WAY_HOST,               // by a file in STATE: all are on one host
    RUN_WAY_OUT,                // by a file in OUT
    RUN_WAY_MPI,                // over MPI; COMMAND then cannot use MPI
};

/* One run as this process sees it. */
struct run {
    const struct run_options *opt;
    char **command;             // COMMAND and its arguments; NULL: this process
                                // only finishes a run
    struct world world;
    char host[HOST_NAME_MAX_BYTES], key[HOST_KEY_SIZE];
    char job[WORLD_TEXT_MAX];
    char out[PATH_MAX];         // OUT, absolute
    struct tree held;           // OUT, in the process that made the aggregator
    char dir[PATH_MAX];         // this host's directory of the run
    struct endpoints targets;   // of --aggregators, in the order of the job
    char endpoints[1024];       // of the aggregator, as they are announced
    char endpoint[256];         // the one of them that this host can reach
    char master_addr[WORLD_TEXT_MAX];   // where COMMANDs meet each other
    int64_t master_port;
    struct world_keys keys;     // what the agents need: their pair, and the
                                // aggregator's public key
    char server_secret[WORLD_KEY_SIZE]; // in the process that made the keys
    pid_t parent;               // the launcher
    int listener;               // bound socket for the aggregator; -1: none
    int launch[2];              // pipe to the aggregator, open while the
                                // launcher runs; -1: there is none
    bool all_interfaces;        // other hosts can connect
    bool owns_aggregator;       // this process started it, waits and reports
    enum run_child child;
    enum run_way way;
    pid_t aggregator;
    unsigned restarts;          // of the aggregator
    char note[128];             // for the summary, or ""
};

/* Whether the aggregator is a service, which serves other jobs, too. */
static inline bool run_is_served (const struct run *r)
{
    return r->opt->aggregator && !r->opt->launched;
}

/* ---- run_options.c ---- */

/* Check what the table cannot check; 0, or EXIT_USAGE after a message. */
int run_check_options (const struct run_options *opt);

/* ---- run_child.c ---- */

/* Set r->child by --child and COMMAND; 0, or EXIT_USAGE after a message. */
int run_choose_child (struct run *r);

/* ---- run_way.c ---- */

/* Choose r->way; rank 0 prints the choice. */
enum run_way run_choose_way (const struct run *r);
void run_print_way (const struct run *r);

/* Whether OUT, or its existing parent, is on a shared file system. */
bool run_out_is_shared (const struct run_options *opt);

/* The file system of OUT if it seems to be local and rank 0 is on another
 * machine; or NULL.  It may be exported nevertheless, and rank 0 may start
 * later: do not give up at once.
 */
const char *run_out_is_elsewhere (const struct run *r);

/* ---- run_meet.c ---- */

/* For the process with the aggregator: create job, directory and keys, bind,
 * and set the endpoints.  If b->ok is false, b->why has the error.
 */
void run_fill_bulletin (struct run *r, struct world_bulletin *b);

/* Set job, endpoints and keys of 'r' to those of rank 0: over MPI, with all
 * ranks and before any daemon is started, or by a file that rank 0 writes and
 * removes when the run is over.  0, or an exit status; rank 0 alone prints a
 * message that all ranks would.
 */
int run_discover (struct run *r);
int run_meet_by_files (struct run *r);
void run_remove_meeting (struct run *r);

/* ---- run_disk.c ---- */

/* Warn of problems that may prevent this host's captures. */
void run_warn_of_disk (const struct run *r);

/* ---- run_origin.c ---- */

/* Store scheduler's id, user and COMMAND for the agent of r->dir. */
void run_write_origin (const struct run *r);

/* ---- run_job.c ---- */

/* A new id that no other run has. */
void run_new_job (char out[WORLD_TEXT_MAX]);

/* Create OUT, hold it and check that it is writable; gives its absolute path.
 * -EACCES and the like, -EPERM for root if it is another user's.
 */
int run_check_out (struct run *r, struct err *err);

/* Make r->dir for r->job below the state directory. */
int run_make_dir (struct run *r, struct err *err);

/* As run_make_dir, for the process that starts the aggregator or has a given
 * one: -EEXIST if that job was run here before.
 */
int run_make_new_dir (struct run *r, struct err *err);

/* " --state DIR", as a later `rollcall wait` of this run needs it in a shell
 * without our variables.
 */
#define RUN_STATE_OPTION (SHELL_WORD (PATH_MAX) + 16)
const char *run_state_option (const struct run *r, char out[RUN_STATE_OPTION]);

int run_start_aggregator (struct run *r, struct err *err);
int run_start_agent (struct run *r, struct err *err);

/* Connect to this host's agent, which is started ('start') or waited for.  A
 * descriptor or -errno.
 */
int run_join_agent (struct run *r, bool start, struct err *err);

/* The path of a program or a module that is installed with this one; and of the
 * library that is loaded into COMMAND.
 */
int run_program (const char *name, char out[PATH_MAX], struct err *err);
int run_module (const char *name, char out[PATH_MAX], struct err *err);
int run_library (char out[PATH_MAX], struct err *err);

/* ---- run_state.c ---- */

/* The directory of all runs, created if needed: that of the option (or its
 * variable), or the first of several places that is a directory of this user
 * with mode 0700.  All programs of this user on this host with the same
 * XDG_RUNTIME_DIR and TMPDIR find the same one.  -EACCES: others could write
 * there; -ENOTSUP: it is on a shared file system.
 */
int run_state_dir (const char *option, char out[PATH_MAX], struct err *err);

/* ---- run_targets.c ---- */

/* Read --aggregators, for the job; they are then the endpoints that
 * opt->aggregator has, the first choice first, as far as there is room.
 */
int run_read_targets (struct run *r, struct run_options *opt, struct err *err);

/* The list for an agent, whose directory is another one; "": there is none. */
const char *run_list_for_agent (const struct run *r, char path[PATH_MAX]);

/* The server key of r->endpoint, or NULL: that of the environment. */
const char *run_server_key (const struct run *r);

/* ---- run_net.c ---- */

/* Check the syntax of --port. */
int run_check_net (const struct run_options *opt, struct err *err);

/* Whether other hosts cannot connect: --interface names loopback. */
bool run_is_local_only (const struct run_options *opt);

/* Bind a listening socket (where: r->all_interfaces), and set r->listener and
 * r->endpoints.
 */
int run_bind (struct run *r, struct err *err);

/* Set r->endpoint to the first announced endpoint that answers or accepts
 * connections.  With --launcher an aggregator must answer: COMMAND may begin
 * long after it was started.  Uses the run's key, so the aggregator logs no
 * stranger.
 */
int run_probe (struct run *r, struct err *err);

/* Whether the aggregator that this process started answers. */
bool run_aggregator_answers (const struct run *r);

/* An address and a port for the COMMANDs' own rendezvous: on this host. */
void run_choose_master (struct run *r);

/* ---- run_master.c ---- */

/* With a given aggregator and all ranks on this host: the first rank writes the
 * result of run_choose_master to r->dir, before there is an agent; others read
 * it after they joined the agent.  Otherwise does nothing, and COMMAND itself
 * must know where its rank 0 is.
 */
int run_leave_master (struct run *r, struct err *err);
void run_find_master (struct run *r);

/* ---- run_keys.c ---- */

/* Make r->keys and r->server_secret; nothing with --insecure. */
int run_make_keys (struct run *r, struct err *err);
bool run_has_keys (const struct run *r);

/* Put the keys into the environment for a launcher: 0 or -1.  And take them out
 * of it, so that COMMAND does not get them; -EBADMSG: they were changed.
 */
int run_export_keys (const struct run *r);
int run_import_keys (struct run *r, struct err *err);

/* -ENOKEY: the aggregator is on another host and there is no key for it.  Makes
 * the paths in ROLLCALL_KEY and ROLLCALL_SERVER_KEY absolute.
 */
int run_check_keys (const struct run *r, struct err *err);

/* Create a directory for the aggregator's --keys.  It removes the secret after
 * reading it, and the rest when it ends.
 */
int run_write_server_keys (const struct run *r, char dir[PATH_MAX],
                           struct err *err);

/* Create a file for an agent's --key, which it removes after reading it. */
int run_write_agent_key (const struct run *r, char path[PATH_MAX],
                         struct err *err);

/* ---- run_command.c ---- */

struct run_given {              // to this process, for COMMAND to have again
    sigset_t mask;              // what was blocked
    void (*on_pipe) (int);      // what became of a broken pipe
};

/* Create the directory for this rank's profiler. */
int run_capture_dir (const struct run *r, char out[PATH_MAX], struct err *err);

/* Start COMMAND, which dies with this process.  Returns its pid, or -errno. */
pid_t run_start_command (const struct run *r, const struct run_given *given,
                         struct err *err);

/* ---- run_wrap.c, run_launch.c ---- */

/* Run COMMAND to its end; returns the exit status of the wrapper. */
int run_wrap (struct run *r);
int run_launch (struct run *r);

/* ---- run_slurm.c ---- */

/* The job of Slurm that this process is in, or "". */
const char *run_slurm_job (void);

/* Whether Slurm ends, or has ended, this job because it reached its time limit.
 * Asks Slurm's controller, which knows it for some minutes, and waits 1.5 s at
 * most; false for "", where there is no Slurm, or no answer.
 */
bool run_past_limit (const char *job);

/* ---- run_finish.c ---- */

/* Store this run's command line in r->dir, for run_finish. */
int run_save_options (const struct run *r, struct err *err);

/* Restart the daemons of the run of 'dir' (STATE/JOB/HOST), if its aggregator
 * ended without a result: they resume from its files.  They serve this host
 * only.  0, or an exit status after a message.
 */
int run_finish (struct run *r, const char *dir);

/* ---- run_progress.c ---- */

/* On a terminal, show what is waited for since COMMAND or the launcher ended
 * (monotonic); clear that line.
 */
void run_show_end (const struct run *r, int64_t ended_ns);
void run_hide_end (void);

/* Elsewhere: say once, some seconds after that, what is waited for, and how long at
 * most.  'said' begins as false.
 */
void run_say_wait (const struct run *r, int64_t ended_ns, bool *said);

/* ---- run_result.c ---- */

/* Print result.json of 'dir'; returns its exit status, or -ENOENT when there is
 * none. *command_status is that of a failed COMMAND; 'who' begins error
 * messages.
 */
int run_print_result (const struct command_spec *who, const char *dir,
                      const char *job, bool json, int *command_status);

/* The JSON object in a file of a run's directory; NULL: there is none. */
struct json *run_read_object (const char *dir, const char *name);

/* Say that the analysis.db of result.json in 'dir' no longer exists, and what
 * makes it again; the exit status.
 */
int run_tell_gone (const struct command_spec *who, const char *dir,
                   const char *job);

bool run_has_result (const char *dir);  // is there one already?

/* The path of the analysis.db that it names; -ENOENT. */
int run_result_db (const char *dir, char out[PATH_MAX]);

/* Find the first STATE/JOB/HOST for which 'is_it' is true, or any one if that
 * is NULL: its path into 'dir'.
 */
bool run_find_dir (const char *state, const char *job,
                   bool (*is_it) (const char *dir, void *arg), void *arg,
                   char dir[PATH_MAX]);

/* Find a run whose aggregator is or was on this host, below 'state':
 * STATE/JOB/HOST in 'dir', and the content of its RUN_AGGREGATOR, to be freed;
 * NULL: that cannot be read.
 */
bool run_find_aggregator (const char *state, const char *job,
                          char dir[PATH_MAX], struct json **ret);

/* A descriptor that becomes readable when a process ends; -ESRCH: it is gone,
 * or did not start then (0: at any time); or another -errno.
 */
int run_open_process (pid_t pid, int64_t start_time);
int64_t run_start_time (pid_t pid);     // in clock ticks since boot, 0: gone

/* The same for one whose "pid" and "start_time" a file has. */
int run_open_recorded (const struct json *process);

/* Whether the process of RUN_AGGREGATOR lives; true if that is unknown. */
bool run_aggregator_lives (const struct json *aggregator);

/* Lock RUN_LOCK, as finishing a run or removing its directory requires:
 * flock(2) with 'how', until the descriptor is closed; -1: failed.
 */
int run_lock (const char *dir, int how);

#endif
