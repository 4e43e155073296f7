/* node_agent/spool/spool_dir.c - the spool's directory: paths of files, and the
 * quarantine
 */
#include "spool/spool_private.h"

#include "base/clock.h"
#include "base/fault.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define PLACE_DIGITS 16         // of the hash: 64 bits distinguish directories

void spool_place (const char *host, const char *path,
                  char out[MESSAGE_PLACE_MAX])
{
    const char *slash = strrchr (path, '/');
    char hex[DIGEST_HEX_SIZE];
    struct digest d = { { 0 } };
    struct buf b;

    buf_init (&b, PATH_MAX + MESSAGE_NAME_MAX);
    buf_put (&b, host, strlen (host) + 1);
    buf_put (&b, path, slash ? (size_t)(slash - path) : 0);
    (void)digest_of (b.data, b.size, &d);
    buf_fini (&b);
    digest_hex (&d, hex);
    (void)snprintf (out, MESSAGE_PLACE_MAX, "%.*s", PLACE_DIGITS, hex);
}

/* ---- the directory ---- */

int spool_lock_dir (struct spool *s, struct err *err)
{
    char path[PATH_MAX];

    PRINT (path, "%s/lock", s->dir);
    s->lock = open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->lock < 0)
        return err_sys (err, errno, "cannot open %s", path);
    if (flock (s->lock, LOCK_EX | LOCK_NB) < 0)
        return err_set (err, EBUSY, "another agent has the spool %s", s->dir);
    return 0;
}

int spool_make_dirs (struct spool *s, struct err *err)
{
    static const char *const names[] = { SPOOL_ITEMS, SPOOL_QUARANTINE };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        PRINT (path, "%s/%s", s->dir, names[i]);
        if (mkdir (path, 0700) < 0 && errno != EEXIST)
            return err_sys (err, errno, "cannot make directory %s", path);
    }
    return fileio_sync_dir (s->dir, err);
}

void spool_group_path (const struct spool *s, uint64_t id,
                       char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" SPOOL_ITEMS "/%llu", s->dir,
                    (unsigned long long)(id >> FILES_SHIFT));
}

void spool_file_path (const struct spool *s, uint64_t id, unsigned number,
                      char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/" SPOOL_ITEMS "/%llu/%llu-%u", s->dir,
                    (unsigned long long)(id >> FILES_SHIFT),
                    (unsigned long long)id, number);
}

int spool_file (struct spool *s, uint64_t id, unsigned number,
                char path[PATH_MAX], struct err *err)
{
    char dir[PATH_MAX];
    int rc = 0;

    spool_file_path (s, id, number, path);
    spool_group_path (s, id, dir);
    // somebody may have removed it
    if (s->made_dir == (id >> FILES_SHIFT) + 1 && access (dir, F_OK) == 0)
        return 0;
    if ((rc = spool_make_dirs (s, err)) < 0)
        return rc;
    if ((rc = FAULT ("agent.spool.mkdir")) < 0)
        return err_sys (err, -rc, "cannot make directory %s", dir);
    if (mkdir (dir, 0700) < 0 && errno != EEXIST)
        return err_sys (err, errno, "cannot make directory %s", dir);
    PRINT (dir, "%s/" SPOOL_ITEMS, s->dir);
    if ((rc = fileio_sync_dir (dir, err)) == 0)
        s->made_dir = (id >> FILES_SHIFT) + 1;
    return rc;
}

int spool_remove_files (struct spool *s, uint64_t id, struct err *err)
{
    char path[PATH_MAX], prefix[32];
    struct dirent *e;
    DIR *dir;
    int n, rc = FAULT ("agent.spool.remove.unlink");

    if (rc < 0)
        return err_sys (err, -rc, "cannot remove files of %s", s->dir);
    spool_group_path (s, id, path);
    if (!(dir = opendir (path)))
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot read %s",
                                              path);
    n = snprintf (prefix, sizeof (prefix), "%llu-", (unsigned long long)id);
    while ((e = readdir (dir))) {
        if (strncmp (e->d_name, prefix, (size_t)n) == 0)
            (void)unlinkat (dirfd (dir), e->d_name, 0);
    }
    (void)closedir (dir);
    return 0;
}

/* ---- quarantine ---- */

static int write_reason (const char *path, const char *why, struct err *err)
{
    char text[ERR_TEXT_MAX + 128], date[32];
    time_t now = (time_t)(clock_wall_ns () / NS_PER_S);
    struct tm tm;
    int n, rc = FAULT ("agent.spool.quarantine.reason");

    if (rc < 0)
        return err_sys (err, -rc, "cannot write %s", path);
    (void)gmtime_r (&now, &tm);
    (void)strftime (date, sizeof (date), "%Y-%m-%dT%H:%M:%SZ", &tm);
    n = snprintf (text, sizeof (text), "%s set aside by rollcall-agent: %s\n",
                  date, why);
    return fileio_replace (path, text, (size_t)n < sizeof (text)
                                           ? (size_t)n : sizeof (text) - 1,
                           0600, err);
}

int spool_set_file_aside (struct spool *s, const char *file, const char *name,
                          const char *why, struct err *err)
{
    char to[PATH_MAX], reason[PATH_MAX];
    int rc;

    if ((rc = spool_make_dirs (s, err)) < 0)
        return rc;              // somebody may have removed them
    PRINT (to, "%s/" SPOOL_QUARANTINE "/%s", s->dir, name);
    PRINT (reason, "%s/" SPOOL_QUARANTINE "/%s.reason", s->dir, name);
    if ((rc = write_reason (reason, why, err)) < 0 || !file)
        return rc;
    if ((rc = FAULT ("agent.spool.quarantine.rename")) < 0)
        return err_sys (err, -rc, "cannot rename %s", file);
    if (rename (file, to) < 0 && errno != ENOENT)
        return err_sys (err, errno, "cannot rename %s to %s", file, to);
    return 0;
}

void spool_condemned_path (const struct spool *s, char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/condemned", s->dir);
}

void spool_mark_damaged (struct spool *s, const char *why)
{
    char path[PATH_MAX];

    spool_condemned_path (s, path);
    (void)fileio_replace (path, why, strlen (why), 0600, NULL);
}
