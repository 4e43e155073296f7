/* cli/several/result_cache.c - results of other aggregators, kept here */
#include "several/result_cache.h"

#include "shared/view.h"

#include "base/clock.h"
#include "base/digest.h"
#include "publish/result_parts.h"
#include "store/db.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define UNUSED_S (7 * 24 * 3600)
#define REPLACED_S 3600         // by another build; or it did not come whole
#define HALF 32                 // of the digits of a hash
#define PART 65536
#define CHECK_THREADS 2

/* ---- the directory ---- */

static int cache_name (char out[PATH_MAX], struct err *err)
{
    const char *cache = getenv ("XDG_CACHE_HOME"), *home = getenv ("HOME");
    int n = cache && *cache == '/'
                ? snprintf (out, PATH_MAX, "%s/rollcall/results", cache)
            : home && *home == '/'
                ? snprintf (out, PATH_MAX, "%s/.cache/rollcall/results", home)
                : -1;

    if (n < 0 || n >= PATH_MAX)
        return err_set (err, ENOENT, "no place for results of other "
                        "aggregators: neither XDG_CACHE_HOME nor HOME is set");
    return 0;
}

static int cache_dir (char out[PATH_MAX], struct err *err)
{
    int rc = cache_name (out, err);

    return rc < 0 ? rc : fileio_mkdirs (out, 0700, err);
}

bool result_cache_has (const char *path)
{
    char name[PATH_MAX], cache[PATH_MAX], file[PATH_MAX];
    size_t n;

    if (cache_name (name, NULL) < 0 || !realpath (name, cache) ||
        !realpath (path, file))
        return false;
    n = strlen (cache);
    return strncmp (file, cache, n) == 0 && file[n] == '/';
}

/* What others can write is theirs. */
static int open_cache (const char *path, struct err *err)
{
    int dir = fileio_open_dir_at (AT_FDCWD, path, err);
    struct stat st;

    if (dir >= 0 && fstat (dir, &st) == 0 && st.st_uid == geteuid () &&
        (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return dir;
    fileio_close (dir);
    return dir < 0 ? dir : err_set (err, EPERM, "%s belongs to another user, or "
                                    "others may write there: set "
                                    "XDG_CACHE_HOME", path);
}

static int put_hash (const char *text, char hex[DIGEST_HEX_SIZE])
{
    struct digest sum;
    int rc = digest_of (text, strlen (text), &sum);

    if (rc == 0)
        digest_hex (&sum, hex);
    return rc;
}

/* Another result has another name: what is there is never replaced.  The first half
 * of a name is that of the job.
 */
static int name_of (const struct job_copy *copy, char name[NAME_MAX + 1])
{
    const struct net_security *security = copy->place->security;
    char text[2 * PATH_MAX], job[DIGEST_HEX_SIZE], built[DIGEST_HEX_SIZE];
    int rc;

    PRINT (text, "%s\n%s\n%s", copy->place->name, copy->job,
           security ? security->server_key : "");
    if ((rc = put_hash (text, job)) < 0)
        return rc;
    PRINT (text, "%s\n%" PRId64 "\n%" PRId64 "\n%" PRId64, copy->built,
           copy->result_bytes, copy->captures, copy->bytes);
    if ((rc = put_hash (text, built)) < 0)
        return rc;
    (void)snprintf (name, NAME_MAX + 1, "%.*s-%.*s.db", HALF, job, HALF,
                    built);
    return 0;
}

/* For how long one is kept that is not used: whoever reads one has it open, and
 * whoever brings one writes to it.
 */
static int64_t keep_s (const char *name, const char *instead)
{
    const size_t n = strlen (name);

    return n > 3 && strcmp (name + n - 3, ".db") == 0 &&
                   strncmp (name, instead, HALF) != 0
               ? UNUSED_S : REPLACED_S;
}

/* 'instead' comes. */
static void drop_unused (int dir, const char *instead)
{
    DIR *d = fileio_list (dir, ".");
    int64_t now = clock_wall_ns () / NS_PER_S;
    struct dirent *e;
    struct stat st;
    int rc;

    while (d && (e = fileio_next_entry (d, &rc))) {
        if (fstatat (dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG (st.st_mode) &&
            now - st.st_mtime > keep_s (e->d_name, instead))
            (void)unlinkat (dir, e->d_name, 0);
    }
    fileio_close_dir (d);
}

/* ---- one that comes ---- */

/* 'part': of the result; NULL: its analysis.db. */
static struct json *ask_for (const char *job, const char *part)
{
    return cli_view_words ("archive", NULL, (const char *[]){ "result", job, part,
                                                              NULL });
}

/* At most 'most' bytes: their number; -EFBIG: there are more; -errno. */
static int64_t copy_bytes (int from, int to, int64_t most)
{
    char part[PART];
    int64_t came = 0;
    ssize_t n;
    int rc = 0;

    while ((n = read (from, part, sizeof (part))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if ((came += n) > most)
            return -EFBIG;
        if ((rc = fileio_write_all (to, part, (size_t)n)) < 0)
            return rc;
    }
    return came;
}

static int check_room (int dir, const struct job_copy *copy, struct err *err)
{
    struct statvfs fs;

    if (copy->result_bytes <= 0)
        return err_set (err, EBADMSG, "%s does not say how large the result "
                        "is", copy->place->name);
    if (fstatvfs (dir, &fs) == 0 &&
        (uint64_t)copy->result_bytes / fs.f_frsize >= fs.f_bavail)
        return err_set (err, ENOSPC, "the result of job %s has %" PRId64
                        " bytes, for which there is no room in the cache "
                        "(XDG_CACHE_HOME)", copy->job, copy->result_bytes);
    return 0;
}

/* A result that comes, file by file. */
struct coming {
    const struct command_spec *c;
    const struct job_copy *copy;
    const char *path;           // of the cache
    int dir;                    // the same
    bool fresh;                 // its analysis.db came just now
    int64_t rest;               // bytes that may still come
    int status;                 // of the first failure, which was told
};

static int other_size (const struct coming *x)
{
    return cli_fail (x->c, EX_TEMPFAIL, "%s: the result of job %s is not as "
                     "large as it was said to be: it may have been built "
                     "again, ask again", x->copy->place->name, x->copy->job);
}

/* 0, or an exit status after a message. */
static int bring (struct coming *x, const char *part, int to)
{
    struct json *request = ask_for (x->copy->job, part);
    struct place_view v;
    struct err err = { "" };
    int rc = place_begin (x->copy->place, request, &v, &err), status;
    int64_t came;

    json_free (request);
    if (rc < 0)
        return cli_fail (x->c, EX_OSERR, "%s", err.text);
    came = copy_bytes (v.out, to, x->rest);
    (void)close (v.out);
    v.out = -1;
    status = place_print (x->c, &v, 0);
    if (came == -EFBIG)
        return other_size (x);
    if (came < 0)
        return cli_fail (x->c, cli_output_status ((int)came), "cannot keep the "
                         "result of job %s: %s", x->copy->job,
                         strerror ((int)-came));
    x->rest -= came;
    return status;
}

static int rename_new (struct coming *x, const char *temp, const char *name)
{
    return renameat (x->dir, temp, x->dir, name) == 0 ? 0
           : cli_fail (x->c, cli_output_status (-errno), "cannot keep a "
                       "result: %s", strerror (errno));
}

/* Into a temporary file, whose name is then in 'temp'. */
static int bring_temp (struct coming *x, const char *part, const char *name,
                       char temp[NAME_MAX + 1])
{
    int fd = fileio_create_temp (x->dir, name, temp), status, rc;

    if (fd < 0)
        return cli_fail (x->c, cli_output_status (fd), "cannot keep a result: "
                         "%s", strerror (-fd));
    status = bring (x, part, fd);
    rc = fileio_close_written (fd, 0);
    if (status == 0 && rc < 0)
        status = cli_fail (x->c, cli_output_status (rc), "cannot keep a result: "
                           "%s", strerror (-rc));
    if (status != 0)
        (void)unlinkat (x->dir, temp, 0);
    return status;
}

/* A part has a name of its own in each build, so one of this size that is here is
 * it.  But another aggregator may have given its own parts these names, and one
 * whose analysis.db did not come may not be whole.
 */
static bool is_here (const struct coming *x, const char *file, int64_t bytes,
                     const char *sum)
{
    struct stat st;

    return fstatat (x->dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG (st.st_mode) && st.st_size == bytes &&
           utimensat (x->dir, file, NULL, 0) == 0 &&
           (!x->fresh || parts_check_one (x->path, file, bytes, sum,
                                          CHECK_THREADS, NULL) == 0);
}

static int take_part (void *arg, const char *file, int64_t bytes,
                      const char *sum, struct err *err)
{
    struct coming *x = arg;
    char temp[NAME_MAX + 1];

    if (bytes < 0 || bytes > x->rest) {
        x->status = other_size (x);
        return err_set (err, EBADMSG, "a part is larger than was said");
    }
    if (is_here (x, file, bytes, sum)) {
        x->rest -= bytes;
        return 0;
    }
    x->status = bring_temp (x, file, file, temp);
    if (x->status == 0 && (x->status = rename_new (x, temp, file)) != 0)
        (void)unlinkat (x->dir, temp, 0);
    return x->status ? err_set (err, ECANCELED, "a part did not come") : 0;
}

/* The parts that belong to the analysis.db 'name' of the cache. */
static int take_parts (struct coming *x, const char *name)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    struct err err = { "" };
    int rc = fileio_join (path, sizeof (path), x->path, name) ? 0 : -ENAMETOOLONG;

    if (rc == 0 && db_open (path, SQLITE_OPEN_READONLY, &db) != SQLITE_OK)
        rc = db_error (db, path, &err);
    if (rc == 0) {
        db_harden (db);
        rc = parts_each (db, take_part, x, &err);
    }
    (void)sqlite3_close (db);
    if (rc == 0 || x->status)
        return x->status;
    return cli_fail (x->c, EX_DATAERR, "%s: the result of job %s: %s",
                     x->copy->place->name, x->copy->job, err.text);
}

static int bring_as (struct coming *x, const char *name)
{
    struct err err = { "" };
    char temp[NAME_MAX + 1];
    int rc, status;

    if ((rc = check_room (x->dir, x->copy, &err)) < 0)
        return cli_fail (x->c, rc == -EBADMSG ? EX_DATAERR : EX_CANTCREAT, "%s",
                         err.text);
    if ((status = bring_temp (x, NULL, name, temp)) != 0)
        return status;
    x->fresh = true;
    status = take_parts (x, temp);
    if (status == 0 && x->rest != 0)
        status = other_size (x);
    if (status == 0)
        status = rename_new (x, temp, name);
    if (status != 0)
        (void)unlinkat (x->dir, temp, 0);
    return status;
}

int result_cache_get (const struct command_spec *c,
                      const struct job_copy *copy, char ret[PATH_MAX])
{
    struct coming x = { .c = c, .copy = copy, .rest = copy->result_bytes };
    char path[PATH_MAX], name[NAME_MAX + 1];
    struct err err = { "" };
    int status, rc = cache_dir (path, &err);

    if (rc < 0)
        return cli_fail (c, EX_CANTCREAT, "%s", err.text);
    if (name_of (copy, name) < 0 || !fileio_join (ret, PATH_MAX, path, name))
        return cli_fail (c, EX_OSERR, "no memory for a result");
    if ((x.dir = open_cache (path, &err)) < 0)
        return cli_fail (c, EX_CANTCREAT, "%s", err.text);
    x.path = path;
    if (*copy->built && utimensat (x.dir, name, NULL, 0) == 0) {
        status = take_parts (&x, name);
    } else {
        drop_unused (x.dir, name);
        status = bring_as (&x, name);
    }
    (void)close (x.dir);
    return status;
}
