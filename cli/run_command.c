/* cli/run_command.c - COMMAND as a child: its environment, its directory */
#include "run.h"

#include "base/fileio.h"
#include "model/job_mark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void drop_launcher_variables (void)
{
    for (size_t k = 0; world_launcher_variables[k]; k++) {
        const char *pattern = world_launcher_variables[k];
        size_t n = strlen (pattern) - (strchr (pattern, '*') != NULL);

        for (char **e = environ; *e;) {
            char name[256];
            size_t size = strcspn (*e, "=");

            if (strncmp (*e, pattern, n) != 0 || size >= sizeof (name)) {
                e++;
                continue;
            }
            memcpy (name, *e, size);
            name[size] = '\0';
            (void)unsetenv (name);
        }
    }
}

static void set_number (const char *name, int64_t value, bool replace)
{
    char text[24];

    (void)snprintf (text, sizeof (text), "%lld", (long long)value);
    (void)setenv (name, text, replace);
}

static void set_environment (const struct run *r, const char *capture_dir)
{
    bool own = !r->mpi_child;   // an MPI program keeps what it was given

    if (own && strcmp (r->world.launcher, "torchrun") != 0)
        drop_launcher_variables ();
    set_number ("RANK", r->world.rank, own);
    set_number ("WORLD_SIZE", r->world.size, own);
    set_number ("LOCAL_RANK", r->world.local_rank, own);
    if (r->master_addr[0]) {
        (void)setenv ("MASTER_ADDR", r->master_addr, 0);
        set_number ("MASTER_PORT", r->master_port, false);
    }
    (void)setenv ("ROLLCALL_JOB", r->job, 1);
    (void)setenv ("ROLLCALL_CAPTURE_DIR", capture_dir, 1);
    (void)setenv ("ASCEND_WORK_PATH", capture_dir, 1);
}

static void become_command (const struct run *r, const struct run_given *given,
                            const char *capture_dir, pid_t wrapper)
{
    (void)prctl (PR_SET_PDEATHSIG, SIGKILL);
    if (getppid () != wrapper)
        _exit (128 + SIGKILL);          // it died before we asked
    (void)signal (SIGPIPE, given->on_pipe);
    (void)sigprocmask (SIG_SETMASK, &given->mask, NULL);
    set_environment (r, capture_dir);
    (void)execvp (r->command[0], r->command);
    (void)RUN_FAIL (127, "cannot run %s: %s", r->command[0],
                    strerror (errno));
    _exit (errno == ENOENT ? 127 : 126);
}

int run_capture_dir (const struct run *r, char out[PATH_MAX], struct err *err)
{
    int n = snprintf (out, PATH_MAX, "%s/captures/rank%lld", r->dir,
                      (long long)r->world.rank);

    if (n < 0 || n >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", r->dir);
    return fileio_mkdirs (out, FILEIO_DIR_MODE, err);
}

pid_t run_start_command (const struct run *r, const struct run_given *given,
                         struct err *err)
{
    char dir[PATH_MAX];
    pid_t self = getpid (), child;
    int rc = run_capture_dir (r, dir, err);

    if (rc == 0)
        rc = job_mark_write (dir, r->job, r->world.rank, r->world.size, err);
    if (rc < 0)
        return rc;
    child = fork ();
    if (child == 0)
        become_command (r, given, dir, self);
    return child < 0 ? err_sys (err, errno, "cannot fork") : child;
}
