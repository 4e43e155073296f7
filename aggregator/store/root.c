/* aggregator/store/root.c - the lock and the id of an aggregator's root */
#include "store/root.h"

#include "options/shell.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int name_holder (int fd, const char *root, struct err *err)
{
    char text[32] = "";
    ssize_t n = pread (fd, text, sizeof (text) - 1, 0);
    long pid = n > 0 ? strtol (text, NULL, 10) : 0;

    return err_set (err, EBUSY, "%s is locked: process %ld has it (an "
                    "aggregator that serves, or a verb that changes or checks "
                    "it)", root, pid);
}

int root_make_dir (const char *root, struct err *err)
{
    struct err why = { "" };
    int rc = fileio_mkdirs (root, FILEIO_DIR_MODE, &why);

    if (rc == 0)
        return 0;
    return err_set (err, -rc, "%s%s", why.text,
                    rc == -EACCES && strcmp (root, ROOT_DEFAULT) == 0
                        ? ": name another directory with --root DIR" : "");
}

int root_lock (const char *root, bool make, struct err *err)
{
    char path[PATH_MAX], text[32];
    int fd, n, rc;

    if (make && (rc = root_make_dir (root, err)) < 0)
        return rc;
    if (!fileio_join (path, sizeof (path), root, "lock"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    fd = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
               FILEIO_FILE_MODE);
    if (fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    if (flock (fd, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK ? name_holder (fd, root, err)
                                  : err_sys (err, errno, "cannot lock %s",
                                             path);
        (void)close (fd);
        return rc;
    }
    // for people only: the lock counts, not the text in the file
    n = snprintf (text, sizeof (text), "%ld\n", (long)getpid ());
    if (ftruncate (fd, 0) < 0 ||
        pwrite (fd, text, (size_t)n, 0) != (ssize_t)n)
        (void)errno;
    return fd;
}

int root_check_free (const char *root, struct err *err)
{
    char path[PATH_MAX];
    int fd, rc = 0;

    if (!fileio_join (path, sizeof (path), root, "lock") ||
        (fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) < 0)
        return 0;
    if (flock (fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        rc = name_holder (fd, root, err);
    (void)close (fd);
    return rc;
}

int root_check_owner (const char *root, struct err *err)
{
    const struct passwd *owner;
    char name[64], word[SHELL_WORD (sizeof (name))];
    char path[PATH_MAX];
    struct stat st;

    // the directory may be that of a volume
    if (geteuid () != 0 ||
        !fileio_join (path, sizeof (path), root, "ledger.db") ||
        (stat (path, &st) < 0 && stat (root, &st) < 0) || st.st_uid == 0)
        return 0;
    if ((owner = getpwuid (st.st_uid)))
        PRINT (name, "%s", owner->pw_name);
    else
        PRINT (name, "#%ld", (long)st.st_uid);
    return err_set (err, EPERM, "%s belongs to user %s, whose service could not "
                    "read what root puts there: sudo -u %s with the same "
                    "command", root, name, shell_word (name, word));
}

bool root_is_backup (const char *root)
{
    char path[PATH_MAX];
    struct stat st;

    return fileio_join (path, sizeof (path), root, ROOT_BACKUP) &&
           lstat (path, &st) == 0 && S_ISREG (st.st_mode);
}

int root_check_backup (const char *root, struct err *err)
{
    return root_is_backup (root)
               ? err_set (err, EPERM, "%s is a backup, which nothing but rollcall "
                          "backup may change: rollcall restore makes a root of "
                          "it", root) : 0;
}

int root_check_new (const char *root, struct err *err)
{
    // what one has whose ledger is not made yet, or lost
    bool is_root = fileio_has (root, "lock") || fileio_has (root, "segments") ||
                   fileio_has (root, "incoming") ||
                   fileio_has (root, "ledger.db");
    DIR *dir = is_root ? NULL : opendir (root);
    struct dirent *e;
    int listed = 0, rc = 0;

    while (rc == 0 && dir && (e = fileio_next_entry (dir, &listed))) {
        if (strcmp (e->d_name, "lost+found") != 0)
            rc = err_set (err, EEXIST, "%s is no root, and has something else in "
                          "it (%.80s): name a new directory with --root", root,
                          e->d_name);
    }
    fileio_close_dir (dir);
    return rc;
}

bool root_is_there (int fd, const char *root)
{
    struct stat held, named;
    char path[PATH_MAX];

    if (!fileio_join (path, sizeof (path), root, "lock") ||
        fstat (fd, &held) < 0)
        return true;
    if (lstat (path, &named) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* ---- digits in files ---- */

static int read_digits (const char *root, const char *name,
                        char id[ROOT_ID_SIZE], struct err *err)
{
    char path[PATH_MAX];
    int fd, rc;

    if (!fileio_join (path, sizeof (path), root, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if ((fd = fileio_open_at (AT_FDCWD, path, err)) < 0)
        return fd;
    rc = fileio_pread_all (fd, id, ROOT_ID_SIZE - 1, 0);
    (void)close (fd);
    id[ROOT_ID_SIZE - 1] = '\0';
    if (rc < 0 && rc != -ENODATA)
        return err_sys (err, -rc, "cannot read %s", path);
    return rc < 0 || strspn (id, "0123456789abcdef") != ROOT_ID_SIZE - 1
               ? -ENOENT : 0;
}

static int write_digits (const char *root, const char *name, const char *id,
                         struct err *err)
{
    char path[PATH_MAX];

    if (!fileio_join (path, sizeof (path), root, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    return fileio_replace (path, id, strlen (id), FILEIO_FILE_MODE, err);
}

static int make_digits (const char *root, const char *name,
                        char id[ROOT_ID_SIZE], struct err *err)
{
    uint64_t random[2];
    int rc = read_digits (root, name, id, err);

    if (rc != -ENOENT)
        return rc;
    if (getrandom (random, sizeof (random), 0) != sizeof (random))
        return err_sys (err, errno, "no random numbers");
    (void)snprintf (id, ROOT_ID_SIZE, "%016llx%016llx",
                    (unsigned long long)random[0],
                    (unsigned long long)random[1]);
    return write_digits (root, name, id, err);
}

int root_read_id (const char *root, char id[ROOT_ID_SIZE], struct err *err)
{
    return read_digits (root, ROOT_ID, id, err);
}

int root_write_id (const char *root, const char *id, struct err *err)
{
    return write_digits (root, ROOT_ID, id, err);
}

int root_make_id (const char *root, struct err *err)
{
    char id[ROOT_ID_SIZE];

    return make_digits (root, ROOT_ID, id, err);
}

int root_make_token (const char *root, char token[ROOT_ID_SIZE],
                     struct err *err)
{
    return make_digits (root, ROOT_TOKEN, token, err);
}

int root_need_id (const char *root, char id[ROOT_ID_SIZE], struct err *err)
{
    int lock, rc = root_read_id (root, id, err);

    if (rc != -ENOENT || !fileio_has (root, "ledger.db"))
        return rc == -ENOENT ? err_set (err, ENOMEDIUM, "%s is not the root of "
                                        "an aggregator", root) : rc;
    if ((rc = root_check_owner (root, err)) < 0)
        return rc;
    if ((lock = root_lock (root, false, err)) < 0)
        return lock;
    rc = root_make_id (root, err);
    (void)close (lock);
    return rc < 0 ? rc : root_read_id (root, id, err);
}
