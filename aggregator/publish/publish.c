/* aggregator/publish/publish.c - publish results whole or not at all */
#include "publish/publish.h"

#include "base/fault.h"
#include "base/thread.h"
#include "sqlite_pages/page_check.h"
#include "publish/existing_output.h"
#include "publish/result_parts.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID_AT 68            // in SQLite's file header

/* ---- directories ---- */

/* Choose a directory for temporary files where SQLite can write. */
static int choose_work (struct publish *p, struct err *err)
{
    const char *tmp = getenv ("TMPDIR");
    struct tree local = { .fd = -1 };
    int rc;

    if (faccessat (p->dir.fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
        return err_sys (err, errno, "cannot write into %s", p->dir.path);
    if ((rc = tree_can_hold (&p->dir, err)) < 0)
        return rc;
    p->copied = fileio_remote_fs (p->dir.path) != NULL;
    scratch_clean (&p->dir);
    if (!p->copied)
        return scratch_create (&p->work, &p->dir, err);
    if ((rc = tree_open (&local, tmp && *tmp ? tmp : "/tmp", err)) < 0)
        return rc;
    scratch_clean (&local);
    rc = scratch_create (&p->work, &local, err);
    tree_close (&local);
    return rc;
}

/* Open 'out' and the directory of a job in it. */
static int open_above (struct publish *p, const char *out, const char *job,
                       bool foreign, struct err *err)
{
    struct tree all;
    int rc = tree_make_out (out, FILEIO_DIR_MODE, foreign, err);

    if (rc < 0 || (rc = tree_open (&p->above, out, err)) < 0 ||
        (rc = tree_check_owner (&p->above, foreign, err)) < 0 || !job)
        return rc;
    all = p->above;
    rc = tree_open_in (&p->above, &all, job, FILEIO_DIR_MODE, NULL, err);
    tree_close (&all);
    return rc < 0 ? rc : tree_check_owner (&p->above, foreign, err);
}

static int open_below (struct publish *p, bool foreign, struct err *err)
{
    int rc;

    if ((rc = tree_open_in (&p->dir, &p->above, PUBLISH_OUTPUT_DIR,
                            FILEIO_DIR_MODE, NULL, err)) < 0 ||
        (rc = tree_check_owner (&p->dir, foreign, err)) < 0)
        return rc;
    return choose_work (p, err);
}

int publish_open (struct publish *p, const char *out, const char *job,
                  bool foreign, struct err *err)
{
    struct stat st;
    int rc;

    memset (p, 0, sizeof (*p));
    if (stat (out, &st) < 0 && errno != ENOENT)
        return err_sys (err, errno, "cannot use %s", out);
    if ((rc = open_above (p, out, job, foreign, err)) < 0 ||
        (rc = open_below (p, foreign, err)) < 0)
        publish_close (p);
    return rc;
}

int publish_open_in (struct publish *p, const struct tree *out, bool foreign,
                     struct err *err)
{
    int rc;

    memset (p, 0, sizeof (*p));
    if ((rc = tree_open_in (&p->above, out, ".", 0, NULL, err)) < 0)
        return rc;
    (void)strcpy (p->above.path, out->path);
    if ((rc = tree_check_owner (&p->above, foreign, err)) < 0 ||
        (rc = open_below (p, foreign, err)) < 0)
        publish_close (p);
    return rc;
}

int publish_open_dir (struct publish *p, const char *dir, bool foreign,
                      struct err *err)
{
    int rc;

    memset (p, 0, sizeof (*p));
    if ((rc = tree_open (&p->dir, dir, err)) < 0 ||
        (rc = tree_check_owner (&p->dir, foreign, err)) < 0 ||
        (rc = choose_work (p, err)) < 0)
        publish_close (p);
    return rc;
}

void publish_close (struct publish *p)
{
    scratch_destroy (&p->work);
    scratch_destroy (&p->near);
    tree_close (&p->dir);
    tree_close (&p->above);
    publish_end (p);
}

void publish_drop (struct publish *p)
{
    struct stat st;

    scratch_destroy (&p->work);
    scratch_destroy (&p->near);
    if (p->above.path[0] && p->dir.path[0] && fstat (p->dir.fd, &st) == 0)
        (void)tree_remove (p->above.fd, PUBLISH_OUTPUT_DIR, &st);
    publish_close (p);
}

int publish_temp (const struct publish *p, const char *name, unsigned number,
                  char path[PATH_MAX], struct err *err)
{
    char numbered[NAME_MAX + 1];

    PRINT (numbered, "%u.%s", number, name);
    return tree_hold (&p->work.tree, numbered, path, err);
}

int publish_path (const struct publish *p, const char *name,
                  char path[PATH_MAX], struct err *err)
{
    return tree_hold (&p->dir, name, path, err);
}

void publish_tell (const struct publish *p, struct err *err)
{
    tree_tell (&p->work.tree, err);
    tree_tell (&p->near.tree, err);
    tree_tell (&p->dir, err);
}

int publish_look_at_db (const char *path)
{
    return fileio_look_for_bytes (AT_FDCWD, path, APPLICATION_ID_AT, "ROLL", 4);
}

bool publish_is_our_db (const char *path)
{
    return publish_look_at_db (path) > 0;
}

bool publish_has_rows (const char *path)
{
    sqlite3 *db = NULL;
    bool any = publish_is_our_db (path) &&
               db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK &&
               (parts_are_beside (db) ||
                db_int (db, "SELECT EXISTS (SELECT 1 FROM StepTraceTime) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerTime) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerBandwidth) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerMatrix)", 0));

    (void)sqlite3_close (db);
    return any;
}

/* ---- a database, checked and on disk ---- */

struct syncer {
    int fd, rc;
};

static void *sync_file (void *arg)
{
    struct syncer *s = arg;

    s->rc = FAULT ("aggregator.publish.fsync");
    if (s->rc == 0 &&
        (fchmod (s->fd, FILEIO_FILE_MODE) < 0 || fsync (s->fd) < 0))
        s->rc = -errno;
    return NULL;
}

static int check_pages (const char *path, unsigned threads,
                        struct page_sums *sums, struct err *err)
{
    struct err what = { "" };
    int rc = page_check_sums (path, threads < PAGE_CHECK_THREADS_MAX
                                        ? threads : PAGE_CHECK_THREADS_MAX,
                              sums, &what);

    if (rc == -EBADMSG)
        return err_set (err, EIO, "the database that was built is damaged "
                        "(%s): is the disk or the memory faulty?", what.text);
    if (rc < 0 && err)
        *err = what;
    return rc;
}

int publish_check_db (const char *path, unsigned threads,
                      struct page_sums *sums, struct err *err)
{
    struct syncer s = { .fd = open (path, O_RDWR | O_CLOEXEC | O_NOFOLLOW) };
    pthread_t thread;
    int rc;

    if (s.fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    // the disk writes during the check of the tables
    rc = thread_start (&thread, sync_file, &s);
    if (rc < 0) {
        (void)close (s.fd);
        return err_sys (err, -rc, "cannot start a thread");
    }
    rc = check_pages (path, threads, sums, err);
    (void)pthread_join (thread, NULL);
    (void)close (s.fd);
    if (rc == 0 && s.rc < 0)
        rc = err_sys (err, -s.rc, "cannot fsync %s", path);
    return rc;
}

/* ---- under its final name ---- */

static int copy_over (const char *from, const struct tree *to,
                      const char *name, const atomic_bool *cancel,
                      struct err *err)
{
    char block[65536];
    int in = open (from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int out = in < 0 ? -errno
                     : tree_openat (to->fd, name, O_WRONLY | O_CREAT | O_EXCL,
                                    FILEIO_FILE_MODE, true);
    int rc = out < 0 ? out : 0;

    while (rc == 0) {
        ssize_t n = read (in, block, sizeof (block));

        if (cancel && atomic_load (cancel))
            rc = -EINTR;
        else if (n == 0)
            break;
        else if (n > 0)
            rc = fileio_write_all (out, block, (size_t)n);
        else if (errno != EINTR)
            rc = -errno;
    }
    if (rc == 0 && fsync (out) < 0)
        rc = -errno;
    fileio_close (in);
    rc = fileio_close_written (out, rc);
    if (rc < 0 && out >= 0)
        (void)unlinkat (to->fd, name, 0);
    return rc < 0 ? err_sys (err, -rc, "cannot copy the result to %s/%s",
                             to->path, name) : 0;
}

int publish_bring (struct publish *p, const char *temp,
                   const atomic_bool *cancel, struct err *err)
{
    const char *base = strrchr (temp, '/') + 1;
    int rc;

    if (!p->copied)
        return 0;
    if (!p->near.tree.path[0] &&
        (rc = scratch_create (&p->near, &p->dir, err)) < 0)
        return rc;
    return faccessat (p->near.tree.fd, base, F_OK, 0) == 0
               ? 0 : copy_over (temp, &p->near.tree, base, cancel, err);
}

/* Whether analysis.db is still the one that was published.  It is opened, since
 * NFS may tell anything else from its cache.
 */
static int check_put (const struct publish *p, struct err *err)
{
    int fd = tree_openat (p->dir.fd, PUBLISH_DB_NAME, O_RDONLY | O_NONBLOCK, 0,
                          true);
    struct stat now;
    bool same = fd >= 0 && fstat (fd, &now) == 0 &&
                now.st_dev == p->put.st_dev && now.st_ino == p->put.st_ino;

    fileio_close (fd);
    return same ? 0
                : err_set (err, ESTALE, "another build has replaced "
                           PUBLISH_DB_NAME " in %s meanwhile, and the file "
                           "system has no locks to wait with: build again when "
                           "no other one writes there", p->dir.path);
}

/* Rename a file from beside the output directory into it. */
static int put_in_place (struct publish *p, const struct tree *from,
                         const char *temp, const char *name,
                         bool (*is_ours) (const char *path),
                         char kept[PATH_MAX], struct err *err)
{
    char final[PATH_MAX];
    bool is_main = strcmp (name, PUBLISH_DB_NAME) == 0;
    int rc = publish_path (p, name, final, err);

    if (rc == 0 && p->put.st_ino && !is_main && !p->lock.held && !p->lock.blind)
        rc = check_put (p, err);
    if (rc == 0)
        rc = existing_output_move_aside (&p->dir, name, !p->keep &&
                                         is_ours (final),
                                         kept, err);
    if (rc < 0)
        return rc;
    if ((rc = FAULT ("aggregator.publish.rename")) < 0)
        return err_sys (err, -rc, "cannot rename %s/%s", from->path, temp);
    if (is_main && fstatat (from->fd, temp, &p->put, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys (err, errno, "cannot read %s/%s", from->path, temp);
    return tree_rename (from, temp, &p->dir, name, err);
}

int publish_finish (struct publish *p, const char *temp,
                    const char *name, bool (*is_ours) (const char *path),
                    const atomic_bool *cancel, char kept[PATH_MAX],
                    struct err *err)
{
    int rc = publish_bring (p, temp, cancel, err);

    kept[0] = '\0';
    return rc < 0 ? rc : put_in_place (p, p->copied ? &p->near.tree
                                                    : &p->work.tree,
                                       strrchr (temp, '/') + 1, name, is_ours,
                                       kept, err);
}
