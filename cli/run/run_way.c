/* cli/run/run_way.c - choose how the wrappers of a run meet
 *
 * The choice depends only on what all of them share: options, the launcher's
 * variables, the file system of OUT.  Nobody can know beforehand whether
 * COMMAND ends in a program that calls MPI_Init, so MPI is left to COMMAND if
 * there is another way.
 */
#include "run/run.h"

#include "control/orphans.h"
#include "store/fileio.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NFS_SERVER "/proc/net/rpc/nfsd" // there if this machine exports any

/* OUT, or the directory in which it will be made. */
static void name_out (const struct run_options *opt, char path[PATH_MAX])
{
    char *slash;

    (void)snprintf (path, PATH_MAX, "%s", opt->out ? opt->out : ".");
    while (path[0] && access (path, F_OK) < 0) {
        if (!(slash = strrchr (path, '/')))
            (void)strcpy (path, ".");
        else
            slash[slash == path] = '\0';
        if (strcmp (path, "/") == 0)
            break;
    }
}

bool run_out_is_shared (const struct run_options *opt)
{
    char path[PATH_MAX];

    name_out (opt, path);
    return fileio_remote_fs (path) != NULL;
}

/* Whether all processes of this machine can be seen: those of containers, too,
 * from outside of them.  The kernel's own are in the first namespace only.
 */
static bool sees_machine (void)
{
    struct buf b;
    bool yes;

    buf_init (&b, 64);
    yes = fileio_read_at (AT_FDCWD, "/proc/2/comm", &b, NULL) == 0 &&
          strcmp (buf_text (&b), "kthreadd\n") == 0;
    buf_fini (&b);
    return yes;
}

/* Whether a process is rank 0 of this launch, or of any launch if Open MPI does
 * not name ours.  'process': a descriptor of its /proc/PID.
 */
static bool is_first (int process)
{
    const char *launch = getenv ("PMIX_NAMESPACE");

    return orphans_compare (process, "OMPI_COMM_WORLD_RANK", "0") == 1 &&
           (!launch ||
            orphans_compare (process, "PMIX_NAMESPACE", launch) == 1);
}

static bool sees_first (void)
{
    DIR *dir = opendir ("/proc");
    bool found = !dir;
    struct dirent *e;
    int process;

    while (!found && (e = readdir (dir))) {
        if (strtol (e->d_name, NULL, 10) <= 0 ||
            (process = openat (dirfd (dir), e->d_name,
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            continue;
        found = is_first (process);
        (void)close (process);
    }
    fileio_close_dir (dir);
    return found;
}

const char *run_out_is_elsewhere (const struct run *r)
{
    char path[PATH_MAX];
    const char *fs;

    name_out (r->opt, path);
    fs = fileio_local_fs (path);
    return r->way == RUN_WAY_OUT && strcmp (r->world.launcher, "open mpi") == 0 &&
                   access (NFS_SERVER, F_OK) < 0 && sees_machine () &&
                   !sees_first ()
               ? fs : NULL;
}

enum run_way run_choose_way (const struct run *r)
{
    const struct world *w = &r->world;

    if (r->opt->aggregator)
        return RUN_WAY_GIVEN;
    if (w->size == 1)
        return RUN_WAY_ALONE;
    if (world_is_torchrun (w))          // which has no MPI to meet over
        return w->local_size == w->size ? RUN_WAY_HOST : RUN_WAY_OUT;
    if (r->child == RUN_CHILD_PLAIN)
        return RUN_WAY_MPI;
    if (w->local_size == w->size)
        return RUN_WAY_HOST;
    return r->child == RUN_CHILD_MPI || run_out_is_shared (r->opt)
               ? RUN_WAY_OUT : RUN_WAY_MPI;
}

static const char *launcher_name (const char *launcher)
{
    return strcmp (launcher, "open mpi") == 0 ? "Open MPI"
           : strcmp (launcher, "mpich") == 0  ? "MPICH"
           : strcmp (launcher, "slurm") == 0  ? "Slurm"
                                              : launcher;
}

void run_print_way (const struct run *r)
{
    FILE *f = r->opt->json ? stderr : stdout;
    const char *left = r->child == RUN_CHILD_PLAIN
                           ? "" : "; MPI is left to COMMAND";

    if (r->way == RUN_WAY_GIVEN || r->way == RUN_WAY_ALONE)
        return;
    (void)fprintf (f, r->opt->json ? "ranks %lld, " : "ranks         %lld, ",
                   (long long)r->world.size);
    if (r->way == RUN_WAY_HOST)
        (void)fprintf (f, "as %s says, all on this host\n",
                       launcher_name (r->world.launcher));
    else if (r->way == RUN_WAY_OUT)
        (void)fprintf (f, "as %s says, which meet in OUT%s\n",
                       launcher_name (r->world.launcher), left);
    else if (r->child == RUN_CHILD_PLAIN)
        (void)fprintf (f, "by MPI, which COMMAND does not use (--child "
                       "plain)\n");
    else
        (void)fprintf (f, "by MPI, since their hosts share no OUT: a COMMAND "
                       "that calls MPI_Init will be ended (use --launcher for "
                       "it)\n");
    (void)fflush (f);
}
