/* aggregator/build/publish.c - results appear whole or not at all */
#include "build/publish.h"

#include "base/db.h"
#include "base/fault.h"
#include "base/fileio.h"
#include "base/thread.h"
#include "build/oldfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APPLICATION_ID_AT 68            // in SQLite's file header
#define CHECK_TABLES_MAX 32     // analysis.db has 13
#define CHECK_NAME_MAX 64       // bytes
#define CHECK_THREADS_MAX 4     // there are three big tables

int publish_open (struct publish *p, const char *out, struct err *err)
{
    char dir[PATH_MAX];
    struct stat st;
    int rc;

    memset (p, 0, sizeof (*p));
    if (stat (out, &st) < 0 && errno != ENOENT)
        return err_sys (err, errno, "cannot use %s", out);
    if (!fileio_join (dir, sizeof (dir), out, PUBLISH_OUTPUT_DIR))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", out);
    if ((rc = fileio_mkdirs (dir, FILEIO_DIR_MODE, err)) < 0)
        return rc;
    return publish_open_dir (p, dir, err);
}

int publish_open_dir (struct publish *p, const char *dir, struct err *err)
{
    const char *tmp = getenv ("TMPDIR");

    memset (p, 0, sizeof (*p));
    if (snprintf (p->dir, sizeof (p->dir), "%s", dir) >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    if (access (p->dir, W_OK | X_OK) < 0)
        return err_sys (err, errno, "cannot write into %s", p->dir);
    p->copied = fileio_remote_fs (p->dir) != NULL;
    scratch_clean (p->dir);
    if (!p->copied)
        return scratch_create (&p->work, p->dir, err);
    tmp = tmp && *tmp ? tmp : "/tmp";
    scratch_clean (tmp);
    return scratch_create (&p->work, tmp, err);
}

void publish_close (struct publish *p)
{
    scratch_destroy (&p->work);
    scratch_destroy (&p->near);
}

int publish_temp (const struct publish *p, const char *name, unsigned number,
                  char path[PATH_MAX], struct err *err)
{
    int n = snprintf (path, PATH_MAX, "%s/%u.%s", p->work.path, number, name);

    if (n < 0 || n >= PATH_MAX)
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        p->work.path);
    return 0;
}

bool publish_is_our_db (const char *path)
{
    static const unsigned char ours[] = { 'R', 'O', 'L', 'L' };
    unsigned char id[4];
    int fd = fileio_open_at (AT_FDCWD, path, NULL);
    bool same = fd >= 0 &&
                fileio_pread_all (fd, id, 4, APPLICATION_ID_AT) == 0 &&
                memcmp (id, ours, 4) == 0;

    if (fd >= 0)
        (void)close (fd);
    return same;
}

bool publish_has_rows (const char *path)
{
    sqlite3 *db = NULL;
    bool any = publish_is_our_db (path) &&
               sqlite3_open_v2 (path, &db, SQLITE_OPEN_READONLY, NULL) ==
                   SQLITE_OK &&
               db_int (db, "SELECT EXISTS (SELECT 1 FROM StepTraceTime) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerTime) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerBandwidth) "
                       "OR EXISTS (SELECT 1 FROM CommAnalyzerMatrix)", 0);

    (void)sqlite3_close (db);
    return any;
}

/* ---- a database, checked and on disk ---- */

/* The tables to be checked: each thread takes the next until none is left. */
struct check {
    const char *path;
    char names[CHECK_TABLES_MAX][CHECK_NAME_MAX];
    unsigned n;
    atomic_uint next;
};

struct checker {
    struct check *check;
    pthread_t thread;
    bool started;
    int rc;
    struct err err;
};

static int open_db (const char *path, sqlite3 **db, struct err *err)
{
    if (sqlite3_open_v2 (path, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        return db_error (*db, path, err);
    return 0;
}

static int list_tables (struct check *c, struct err *err)
{
    sqlite3_stmt *st = NULL;
    sqlite3 *db = NULL;
    int rc = open_db (c->path, &db, err);

    if (rc == 0)
        rc = db_prepare (db, "SELECT 'sqlite_schema' UNION ALL SELECT "
                         "name FROM sqlite_schema WHERE type='table'", &st,
                         err);
    while (rc == 0 && c->n < CHECK_TABLES_MAX &&
           sqlite3_step (st) == SQLITE_ROW)
        (void)snprintf (c->names[c->n++], CHECK_NAME_MAX, "%s",
                        (const char *)sqlite3_column_text (st, 0));
    if (rc == 0 && (c->n == 0 || c->n == CHECK_TABLES_MAX))
        rc = err_set (err, EIO, "%s: %u tables", c->path, c->n);
    (void)sqlite3_finalize (st);
    (void)sqlite3_close (db);
    return rc;
}

static int check_table (sqlite3 *db, const char *name, struct err *err)
{
    sqlite3_stmt *st = NULL;
    char sql[CHECK_NAME_MAX + 32];
    int rc;

    (void)snprintf (sql, sizeof (sql), "PRAGMA quick_check(%s)", name);
    rc = db_prepare (db, sql, &st, err);
    if (rc == 0 && sqlite3_step (st) != SQLITE_ROW)
        rc = db_error (db, "quick_check", err);
    else if (rc == 0 && strcmp ((const char *)sqlite3_column_text (st, 0),
                                "ok") != 0)
        rc = err_set (err, EIO, "the database that was built is damaged (%s): "
                      "is the disk or the memory faulty?",
                      (const char *)sqlite3_column_text (st, 0));
    (void)sqlite3_finalize (st);
    return rc;
}

static void *check_some (void *arg)
{
    struct checker *k = arg;
    struct check *c = k->check;
    sqlite3 *db = NULL;
    unsigned i;

    k->rc = open_db (c->path, &db, &k->err);
    while (k->rc == 0 && (i = atomic_fetch_add (&c->next, 1)) < c->n)
        k->rc = check_table (db, c->names[i], &k->err);
    (void)sqlite3_close (db);
    return NULL;
}

static int check_all (struct check *c, unsigned threads, struct err *err)
{
    struct checker all[CHECK_THREADS_MAX];
    unsigned n = threads < CHECK_THREADS_MAX ? threads : CHECK_THREADS_MAX;
    int rc = 0;

    for (unsigned t = 0; t < n; t++) {
        all[t] = (struct checker){ .check = c };
        // the calling thread checks, too: it does not matter if one fails
        all[t].started = t > 0 && thread_start (&all[t].thread, check_some,
                                                &all[t]) == 0;
    }
    (void)check_some (&all[0]);
    for (unsigned t = 0; t < n; t++) {
        if (all[t].started)
            (void)pthread_join (all[t].thread, NULL);
        if (rc == 0 && (rc = all[t].rc) < 0 && err)
            *err = all[t].err;
    }
    return rc;
}

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

int publish_check_db (const char *path, unsigned threads, struct err *err)
{
    struct check c = { .path = path };
    struct syncer s = { .fd = open (path, O_RDWR | O_CLOEXEC) };
    pthread_t thread;
    int rc;

    if (s.fd < 0)
        return err_sys (err, errno, "cannot open %s", path);
    // the disk writes while the tables are checked
    rc = thread_start (&thread, sync_file, &s);
    if (rc < 0) {
        (void)close (s.fd);
        return err_sys (err, -rc, "cannot start a thread");
    }
    if ((rc = list_tables (&c, err)) == 0)
        rc = check_all (&c, threads, err);
    (void)pthread_join (thread, NULL);
    (void)close (s.fd);
    if (rc == 0 && s.rc < 0)
        rc = err_sys (err, -s.rc, "cannot fsync %s", path);
    return rc;
}

/* ---- under its final name ---- */

static int copy_over (const char *from, const char *to, struct err *err)
{
    char block[65536];
    int in = open (from, O_RDONLY | O_CLOEXEC);
    int out = open (to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    FILEIO_FILE_MODE);
    int rc = in < 0 || out < 0 ? -errno : 0;

    while (rc == 0) {
        ssize_t n = read (in, block, sizeof (block));

        if (n == 0)
            break;
        if (n > 0)
            rc = fileio_write_all (out, block, (size_t)n);
        else if (errno != EINTR)
            rc = -errno;
    }
    if (rc == 0 && fsync (out) < 0)
        rc = -errno;
    if (in >= 0)
        (void)close (in);
    if (out >= 0 && close (out) < 0 && rc == 0)
        rc = -errno;
    if (rc < 0) {
        (void)unlink (to);
        return err_sys (err, -rc, "cannot copy the result to %s", to);
    }
    return 0;
}

int publish_finish (struct publish *p, const char *temp,
                    const char *name, bool (*is_ours) (const char *path),
                    char kept[PATH_MAX], struct err *err)
{
    char final[PATH_MAX], near[PATH_MAX];
    int rc;

    kept[0] = '\0';
    if (!fileio_join (final, sizeof (final), p->dir, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", p->dir);
    (void)snprintf (near, sizeof (near), "%s", temp);
    if (p->copied) {
        scratch_destroy (&p->near);
        if ((rc = scratch_create (&p->near, p->dir, err)) < 0)
            return rc;
        if (!fileio_join (near, sizeof (near), p->near.path, name))
            return err_set (err, ENAMETOOLONG, "path is too long: %s", p->dir);
        if ((rc = copy_over (temp, near, err)) < 0)
            return rc;
    }
    rc = oldfile_make_way (final, !p->keep && is_ours (final), kept, err);
    if (rc < 0)
        return rc;
    if ((rc = FAULT ("aggregator.publish.rename")) < 0)
        return err_sys (err, -rc, "cannot rename %s", near);
    return fileio_rename (near, final, err);
}
