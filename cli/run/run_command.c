/* cli/run/run_command.c - COMMAND as a child: its environment, its directory */
#include "run/run.h"

#include "base/units.h"
#include "model/job_mark.h"
#include "store/fileio.h"
#include "world/process_reports.h"

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

    PRINT (text, "%lld", (long long)value);
    (void)setenv (name, text, replace);
}

static int64_t run_command_number (const char *name)
{
    const char *text = getenv (name);
    int64_t n;

    return text && units_int (text, 0, INT32_MAX, &n) == 0 ? n : -1;
}

/* Put 'text' in front of a variable's value, if it has one. */
static void put_before (const char *name, const char *text)
{
    const char *old = getenv (name);
    char *both = NULL;

    if (old && *old && asprintf (&both, "%s:%s", text, old) < 0)
        return;
    (void)setenv (name, both ? both : text, 1);
    free (both);
}

static const char *told_mode (const struct run *r)
{
    if (r->child == RUN_CHILD_PLAIN)
        return PRELOAD_WARN;
    if (r->way == RUN_WAY_MPI)
        return PRELOAD_MET;
    // without a launcher of MPI, worlds of 1 are as they should be
    return r->world.size == 1 || world_is_torchrun (&r->world) ? PRELOAD_LOOK
                                                               : PRELOAD_END;
}

static bool say_unseen (const struct run *r, const char *why)
{
    if (r->world.rank == 0)
        (void)RUN_FAIL (0, "the world that MPI_Init finds in COMMAND is not "
                           "checked: "
                        PRELOAD_LIBRARY " cannot be loaded: %s", why);
    return false;
}

/* A path that LD_PRELOAD can have: it has no quotes, and both ' ' and ':' end
 * one.
 */
static bool find_library (const struct run *r, char out[PATH_MAX])
{
    char path[PATH_MAX];
    struct err err = { "" };

    if (run_library (out, &err) < 0)
        return say_unseen (r, err.text);
    if (!strpbrk (out, " :"))
        return true;
    PRINT (path, "%s", out);
    if (!fileio_join (out, PATH_MAX, r->dir, PRELOAD_LIBRARY) ||
        strpbrk (out, " :"))
        return say_unseen (r, "its path has a space or a colon, and that of "
                           "--state, too");
    return symlink (path, out) == 0 || errno == EEXIST;
}

/* See world/process_reports.h.  Our library comes before other preloaded ones:
 * a tool that wraps MPI_Init calls MPI's own, and nothing between the two.
 */
static void set_library (const struct run *r)
{
    char path[PATH_MAX], text[PATH_MAX + 128];

    if (!find_library (r, path))
        return;
    PRINT (text, "%s %lld %lld %lld %lld %s", told_mode (r),
           (long long)r->world.rank, (long long)r->world.size,
           (long long)run_command_number ("RANK"),
           (long long)run_command_number ("WORLD_SIZE"), r->dir);
    (void)setenv (PRELOAD_VARIABLE, text, 1);
    put_before ("LD_PRELOAD", path);
    // or a COMMAND with that sanitizer ends: it wants to be the first library
    put_before ("ASAN_OPTIONS", "verify_asan_link_order=0");
}

static void set_environment (const struct run *r, const char *capture_dir)
{
    // a COMMAND that may use MPI keeps the variables that it was given
    bool own = r->child == RUN_CHILD_PLAIN || r->way == RUN_WAY_MPI;

    if (own && !world_is_torchrun (&r->world))
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
    set_library (r);
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
