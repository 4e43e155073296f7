/* cli/mpi/team_verb.h - verbs that several processes of a launch do together */
#ifndef ROLLCALL_CLI_MPI_TEAM_VERB_H
#define ROLLCALL_CLI_MPI_TEAM_VERB_H

#include "base/buf.h"
#include "base/err.h"
#include "builder/team.h"
#include "shared/command.h"

/* The others, for builds of rank 0; NULL: this process is alone. */
extern struct team *cli_team;

/* Run a verb.  If a launcher has started several processes of it, only rank 0
 * does, and the others read captures for its builds until it has ended.
 * Returns the exit status.
 */
int team_verb (const char *name, int (*verb) (int argc, char **argv), int argc,
               char **argv);

/* Say it on standard error if mpirun has bound the processes of this host to fewer
 * processors than they would use: 'threads' of a host, or all if nobody said how
 * many (0).
 */
void team_tell_binding (const struct command_spec *c, int64_t threads);

/* ---- analyze_member.c: how other processes read captures ---- */

extern const struct build_member analyze_member;

/* What rank 0 tells of a capture; of the directories, of some captures, which
 * tell whether they are the same here, and the wanted steps (NULL: all).
 */
void analyze_put_order (struct buf *out, const char *path);
void analyze_put_settings (struct buf *out, char *const *dirs, size_t ndirs,
                           const char *const *captures, size_t n,
                           const char *steps);

#endif
