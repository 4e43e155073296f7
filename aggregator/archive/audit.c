/* aggregator/archive/audit.c - the log of what was removed from a root */
#include "archive/audit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "json/json.h"
#include "options/shell.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void add_time (struct json *line, int64_t at_ns)
{
    time_t at = (time_t)(at_ns / NS_PER_S);
    char text[32] = "";
    struct tm tm;

    if (gmtime_r (&at, &tm))
        (void)strftime (text, sizeof (text), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_add_text (line, "time", text);
}

static void add_count (struct json *line, const char *name, int64_t n)
{
    if (n > 0)
        json_add_int (line, name, n);
}

static char *line_of (const struct audit *a)
{
    struct json *line = json_object ();
    char *text, *longer;

    add_time (line, a->at_ns);
    if (a->uid >= 0)
        json_add_int (line, "uid", a->uid);
    json_add_text (line, "user", a->user);
    json_add_text (line, "verb", a->verb);
    json_add_nonempty (line, "job", a->job ? a->job : "");
    json_add_nonempty (line, "what", a->what ? a->what : "");
    add_count (line, "captures", a->captures);
    add_count (line, "files", a->files);
    add_count (line, "bytes", a->bytes);
    text = json_print (line, false);
    json_free (line);
    if (text && (longer = realloc (text, strlen (text) + 2))) {
        (void)strcat (longer, "\n");
        return longer;
    }
    free (text);
    return NULL;
}

void audit_name_user (uid_t uid, char out[AUDIT_USER_MAX])
{
    const struct passwd *user = getpwuid (uid);

    if (user)
        (void)snprintf (out, AUDIT_USER_MAX, "%s", user->pw_name);
    else
        (void)snprintf (out, AUDIT_USER_MAX, "%ld", (long)uid);
}

/* A line that could be written only in part is cut off again. */
static int append (int fd, const char *text)
{
    struct stat st;
    int rc = FAULT ("aggregator.audit.write");

    if (rc < 0 || fstat (fd, &st) < 0)
        return rc < 0 ? rc : -errno;
    if ((rc = fileio_write_all (fd, text, strlen (text))) < 0) {
        (void)!ftruncate (fd, st.st_size);
        return rc;
    }
    return fsync (fd) < 0 ? -errno : 0;
}

int audit_denied (const char *root, const char *what, struct err *err)
{
    char path[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    char its[AUDIT_USER_MAX], owner[AUDIT_USER_MAX];
    struct stat log, dir;

    if (!fileio_join (path, sizeof (path), root, AUDIT_LOG) ||
        lstat (path, &log) < 0 || stat (root, &dir) < 0)
        return err_sys (err, EACCES, "cannot %s " AUDIT_LOG " of %s", what,
                        root);
    audit_name_user (log.st_uid, its);
    audit_name_user (dir.st_uid, owner);
    (void)shell_word (path, word);
    return log.st_uid == dir.st_uid
               ? err_set (err, EACCES, "cannot %s %s, which belongs to user %s: "
                          "as this user, chmod u+rw %s", what, path, its, word)
               : err_set (err, EACCES, "cannot %s %s, which belongs to user %s, "
                          "and its root to %s: sudo chown %s %s", what, path,
                          its, owner, owner, word);
}

int audit_write (const char *root, const struct audit *a, struct err *err)
{
    char path[PATH_MAX], *text;
    int fd, rc;

    if (!fileio_join (path, sizeof (path), root, AUDIT_LOG))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (!(text = line_of (a)))
        return err_set (err, ENOMEM, "no memory for %s", path);
    fd = open (path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    rc = fd < 0 ? -errno : append (fd, text);
    fileio_close (fd);
    free (text);
    if (rc == 0)
        return fileio_sync_dir (root, err);
    return rc == -EACCES ? audit_denied (root, "write", err)
                         : err_sys (err, -rc, "cannot write %s", path);
}
