/* cli/run/run_state.c - find the directory of runs on this host
 *
 * Anybody who knows a user's number can create /tmp/rollcall-UID before that
 * user does.  So there are several names, and the existing directories decide
 * which one counts, since wrappers, wait and status must all find the same one.
 */
#include "run/run.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBERED 9              // rollcall-UID.1 and so on
#define PLACES_MAX (3 + NUMBERED)

struct places {
    char path[PLACES_MAX][PATH_MAX];
    int n;
    int to_make;                // those before it are taken if they are there,
                                // and made if no other place can be
};

/* ABOVE/rollcall-UID, or ABOVE/rollcall-UID.NUMBER */
static void add_place (struct places *p, const char *above, int number)
{
    char tail[16] = "";
    int n;

    if (number > 0)
        PRINT (tail, ".%d", number);
    n = snprintf (p->path[p->n], PATH_MAX, "%s/rollcall-%ld%s", above,
                  (long)getuid (), tail);
    p->n += n > 0 && n < PATH_MAX;
}

/* Nobody else can take this place, but it is in memory and disappears with the
 * user's last session.  So it only counts if the user created it there, and is
 * created if nothing else is possible.
 */
static void add_runtime (struct places *p)
{
    const char *dir = getenv ("XDG_RUNTIME_DIR");
    struct stat st;

    if (dir && dir[0] == '/' && stat (dir, &st) == 0 &&
        st.st_uid == geteuid () && (st.st_mode & 022) == 0)
        p->n += fileio_join (p->path[p->n], PATH_MAX, dir, "rollcall");
    p->to_make = p->n;
}

static void list_places (struct places *p)
{
    const char *tmp = getenv ("TMPDIR");
    bool said = tmp && *tmp;
    const char *above = said ? tmp : "/tmp";

    p->n = 0;
    add_runtime (p);
    add_place (p, above, 0);
    if (!said && access ("/var/tmp", F_OK) == 0)
        add_place (p, "/var/tmp", 0);
    for (int i = 1; i <= NUMBERED; i++)
        add_place (p, above, i);
}

/* A directory of this user, on a local disk, that nobody else may enter. */
static bool is_ours (const char *path)
{
    struct stat st;

    return lstat (path, &st) == 0 && S_ISDIR (st.st_mode) &&
           st.st_uid == geteuid () && (st.st_mode & 0777) == 0700 &&
           !fileio_remote_fs (path);
}

/* An existing directory comes before one that could be created: if others took
 * a name and it is free again, a run must still be found.
 */
static const char *choose_place (const struct places *p)
{
    for (int i = 0; i < p->n; i++) {
        if (is_ours (p->path[i]))
            return p->path[i];
    }
    for (int i = 0; i < p->n; i++) {
        const char *path = p->path[(p->to_make + i) % p->n];

        if (fileio_mkdirs (path, 0700, NULL) == 0 && is_ours (path))
            return path;
    }
    return NULL;
}

static int default_dir (char out[PATH_MAX], struct err *err)
{
    struct places *p = malloc (sizeof (*p));
    const char *path;
    int rc = 0;

    if (!p)
        return err_set (err, ENOMEM, "no memory to look for the directory of "
                        "runs");
    list_places (p);
    if (!(path = choose_place (p)))
        rc = err_set (err, EACCES, "%s is not a directory of yours with mode "
                      "0700 on a local disk, nor is any other place for runs "
                      "(up to %s): choose one with --state",
                      p->path[p->to_make], p->path[p->n - 1]);
    else if (!realpath (path, out))
        rc = err_sys (err, errno, "cannot resolve %s", path);
    free (p);
    return rc;
}

int run_state_dir (const char *option, char out[PATH_MAX], struct err *err)
{
    const char *remote;
    struct stat st;
    int rc;

    if (!option)
        return default_dir (out, err);
    if ((rc = fileio_mkdirs (option, 0700, err)) < 0)
        return rc;
    // others must not be able to put their own directory here
    if (lstat (option, &st) < 0 || !S_ISDIR (st.st_mode) ||
        st.st_uid != geteuid () || (st.st_mode & 022))
        return err_set (err, EACCES, "%s is not a directory that only you can "
                        "write: choose another with --state", option);
    if (!realpath (option, out))
        return err_sys (err, errno, "cannot resolve %s", option);
    if ((remote = fileio_remote_fs (out)))
        return err_set (err, ENOTSUP, "%s is on a shared file system (%s): "
                        "choose a local directory with --state", out, remote);
    return 0;
}
