/* cli/mpi/team_verb.c - verbs that several processes of a launch do together */
#include "mpi/team_verb.h"

#include "base/map.h"
#include "base/texts.h"
#include "base/thread.h"
#include "builder/build_member.h"
#include "job_build/job_member.h"
#include "run/run.h"
#include "shared/command.h"
#include "world/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MPI_MODULE "librollcall_mpi.so"
#define TOGETHER_VARIABLE "ROLLCALL_TOGETHER"

struct team *cli_team;
static unsigned alone_of;       // a launch of so many; 0: there is none, or this
                                // process builds with them
static bool of_mpirun;          // it is Open MPI's

static const struct {
    const char *verb;
    const struct build_member *how;
} team_verbs[] = {
    { "build", &job_member },
    { "analyze", &analyze_member },
};

static const struct build_member *member_of (const char *verb)
{
    for (size_t i = 0; i < sizeof (team_verbs) / sizeof (team_verbs[0]); i++) {
        if (strcmp (verb, team_verbs[i].verb) == 0)
            return team_verbs[i].how;
    }
    return NULL;
}

/* Whether all processes of the launch are this program, as far as can be known:
 * what waits for another one in MPI would wait for ever.  A shell may run the last
 * command of its script without a process of its own.  Open MPI names the command
 * that it was given; that does not help if it is a script.  Slurm does not: the
 * environment of its tasks has the name of the job, which is the user's.
 */
static bool is_whole_launch (void)
{
    const char *together = getenv (TOGETHER_VARIABLE);
    const char *command = getenv ("OMPI_COMMAND"), *base;

    if (together)
        return strcmp (together, "1") == 0;
    if (!command)
        return false;
    base = strrchr (command, '/');
    return strcmp (base ? base + 1 : command, program_invocation_short_name) == 0;
}

/* Whether the launcher itself has started us.  A script that is one of many
 * processes, and calls a verb once, has the same variables.
 */
static bool parent_is_launcher (void)
{
    static const char *const names[] = {
        "mpirun", "mpiexec", "orterun", "orted", "prterun", "prted",
        "slurmstepd",
    };
    char path[64], name[32] = "";
    FILE *f;

    PRINT (path, "/proc/%ld/comm", (long)getppid ());
    if (!(f = fopen (path, "re")))
        return false;
    if (!fgets (name, sizeof (name), f))
        name[0] = '\0';
    (void)fclose (f);
    name[strcspn (name, "\n")] = '\0';
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (strcmp (name, names[i]) == 0)
            return true;
    }
    return false;
}

/* How many processes are to do it: Open MPI's mpirun, or srun --mpi=pmix; of one
 * program, not of several as in "mpirun A : B".
 */
static unsigned launched (void)
{
    const char *programs = getenv ("OMPI_NUM_APP_CTX");
    struct world w;
    struct err err;

    if (programs && strcmp (programs, "1") != 0)
        return 1;
    if (world_from_environment (&w, &err) < 0 || w.size < 2 ||
        !getenv ("PMIX_NAMESPACE") ||
        (strcmp (w.launcher, "open mpi") != 0 &&
         strcmp (w.launcher, "slurm") != 0))
        return 1;
    if (!parent_is_launcher ())
        return 1;
    if (!is_whole_launch ())
        alone_of = (unsigned)w.size;
    of_mpirun = strcmp (w.launcher, "open mpi") == 0;
    return alone_of > 0 ? 1 : (unsigned)w.size;
}

/* Others of the launch may have been in the way. */
static int do_alone (const char *name, int (*verb) (int argc, char **argv),
                     int argc, char **argv)
{
    int status = verb (argc, argv);

    if (status == EX_TEMPFAIL && alone_of > 0 && !getenv (TOGETHER_VARIABLE))
        (void)fprintf (stderr, "rollcall %s: this is one of %u processes of a "
                       "launcher, and each works alone; with "
                       TOGETHER_VARIABLE "=1 in the environment%s they build "
                       "one result together\n", name, alone_of,
                       of_mpirun ? "" : " and srun --kill-on-bad-exit");
    return status;
}

/* Which one of many it is that complains. */
static int complain (const char *verb, int status, const struct err *err)
{
    char host[HOST_NAME_MAX + 1] = "";

    (void)gethostname (host, sizeof (host) - 1);
    (void)fprintf (stderr, "rollcall %s: on %s: %s\n", verb, host, err->text);
    return status;
}

static int lead (const char *name, int (*verb) (int argc, char **argv),
                 int argc, char **argv)
{
    struct err err = { "" };
    int status;

    cli_interrupted_by = "ended by the launcher, as a process of it has failed "
                         "or it was told to end, ";
    status = verb (argc, argv);
    (void)fflush (stdout);
    if (atomic_load (&cli_cancelled)) {
        team_forget (cli_team);
    } else if (team_dismiss (cli_team, &err) < 0) {
        team_forget (cli_team);
        status = complain (name, EX_OSERR, &err);
    } else {
        team_end (cli_team);
    }
    cli_team = NULL;
    return status;
}

static int follow (const char *name, struct team *t)
{
    struct err err = { "" };
    int rc = build_member_run (t, member_of (name), &cli_cancelled, &err);

    if (rc == 0) {
        team_end (t);
        return 0;
    }
    team_forget (t);
    // rank 0 says that it ended
    return rc == -EINTR ? EX_TEMPFAIL : complain (name, EX_OSERR, &err);
}

/* A number for the command line, of this version. */
static uint64_t hash_of (int argc, char **argv)
{
    uint64_t hash = texts_hash (ROLLCALL_VERSION, strlen (ROLLCALL_VERSION));

    for (int i = 0; i < argc; i++)
        hash = map_key (hash, texts_hash (argv[i], strlen (argv[i])));
    return hash;
}

/* What mpirun has itself is what they would have without its binding. */
void team_tell_binding (const struct command_spec *c, int64_t threads)
{
    unsigned here = thread_processors (), all = thread_processors_of (getppid ());
    char host[HOST_NAME_MAX + 1] = "";

    if (!cli_team || !of_mpirun || all <= here || (threads > 0 && threads <= here))
        return;
    (void)gethostname (host, sizeof (host) - 1);
    (void)cli_fail (c, 0, "on %s mpirun lets its processes use %u of %u "
                    "processors; mpirun --bind-to none lets them use all, and "
                    "--threads %u says that this is meant", host, here, all,
                    here);
}

int team_verb (const char *name, int (*verb) (int argc, char **argv), int argc,
               char **argv)
{
    unsigned n = member_of (name) ? launched () : 1;
    char module[PATH_MAX];
    struct err err = { "" };
    struct team *t = NULL;
    int rc;

    if (n < 2)
        return do_alone (name, verb, argc, argv);
    cli_catch_signals ();
    rc = run_module (MPI_MODULE, module, &err);
    if (rc == 0)
        rc = team_begin (module, n, hash_of (argc, argv), &cli_cancelled, &t,
                         &err);
    if (rc < 0)
        return complain (name, rc == -ENOENT ? EX_OSFILE : EX_OSERR, &err);
    if (team_place (t)->rank > 0)
        return follow (name, t);
    cli_team = t;
    return lead (name, verb, argc, argv);
}
