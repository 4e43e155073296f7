/* common/model/job_mark.c - whose captures a directory is for */
#include "model/job_mark.h"

#include "base/units.h"
#include "base/vec.h"
#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK_MAX 4096           // bytes of the file
#define LIST_MAX (16u << 20)    // of that with the list: a hundred for a capture

static bool job_mark_take (const struct json *j, struct job_mark *ret)
{
    const char *job = json_text (json_get (j, "job"), NULL);
    const char *host = json_text (json_get (j, "host"), "");

    *ret = (struct job_mark){ "", -1, -1, "" };
    if (!job || strlen (job) >= sizeof (ret->job) ||
        strlen (host) >= sizeof (ret->host))
        return false;
    PRINT (ret->job, "%s", job);
    PRINT (ret->host, "%s", host);
    (void)json_int (json_get (j, "rank"), &ret->rank);
    (void)json_int (json_get (j, "world_size"), &ret->world_size);
    return true;
}

int job_mark_read (int dirfd, struct job_mark *ret)
{
    struct json *j;
    struct buf b;
    int rc;

    buf_init (&b, MARK_MAX);
    rc = fileio_read_at (dirfd, JOB_MARK_NAME, &b, NULL);
    if (rc == -EFBIG || rc == -ELOOP || rc == -EINVAL)
        rc = -EBADMSG;
    if (rc == 0) {
        j = json_parse (buf_text (&b), b.size, NULL);
        rc = job_mark_take (j, ret) ? 0 : -EBADMSG;
        json_free (j);
    }
    buf_fini (&b);
    return rc;
}

/* ---- writing ---- */

static struct json *json_of (const struct job_mark *m)
{
    struct json *j = json_object ();

    json_add_text (j, "job", m->job);
    json_add_int (j, "rank", m->rank);
    json_add_int (j, "world_size", m->world_size);
    json_add_nonempty (j, "host", m->host);
    return j;
}

char *job_mark_text (const struct job_mark *m)
{
    struct json *j = json_of (m);
    char *text = json_print (j, false);

    json_free (j);
    return text;
}

/* Numbers and texts, each with a NUL behind it: as any name may be read. */
static int write_list (const char *dir, const struct job_mark_capture *list,
                       size_t n, struct err *err)
{
    char path[PATH_MAX];
    struct buf b;
    int rc;

    buf_init (&b, LIST_MAX);
    for (size_t i = 0; i < n; i++)
        buf_printf (&b, "%lld%c%s%c%.*s%c", (long long)list[i].rank, 0,
                    list[i].host, 0, (int)list[i].size, list[i].path, 0);
    rc = b.failed || !fileio_join (path, sizeof (path), dir, JOB_MARK_CAPTURES)
             ? err_set (err, EFBIG, "too many captures for one mark: %s", dir)
             : fileio_replace (path, b.data, b.size, FILEIO_FILE_MODE, err);
    buf_fini (&b);
    return rc;
}

static int write_mark (const char *dir, const struct job_mark *m,
                       const struct job_mark_capture *list, size_t n,
                       struct err *err)
{
    int rc = n > 0 ? write_list (dir, list, n, err) : 0;

    return rc < 0 ? rc : json_replace (json_of (m), false, dir, JOB_MARK_NAME,
                                       FILEIO_FILE_MODE, err);
}

/* Whether the old mark says all of this. */
static bool says (const struct job_mark *old, const struct job_mark *m)
{
    return strcmp (old->job, m->job) == 0 && old->rank == m->rank &&
           (old->world_size == m->world_size ||
            (m->rank < 0 && m->world_size < 0));
}

static int replace_mark (const char *dir, const char *job, int64_t rank,
                         int64_t world_size,
                         const struct job_mark_capture *list, size_t n,
                         struct err *err)
{
    struct job_mark mark = { "", rank, world_size, "" }, old;
    int fd, rc, there;

    if (snprintf (mark.job, sizeof (mark.job), "%s", job) >=
        (int)sizeof (mark.job))
        return err_set (err, ENAMETOOLONG, "the job's id is too long: %s",
                        job);
    fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys (err, errno, "cannot open directory %s", dir);
    (void)flock (fd, LOCK_EX);  // of two that come at once one is the first
    fileio_forget_temps (fd, JOB_MARK_NAME);
    fileio_forget_temps (fd, JOB_MARK_CAPTURES);
    there = job_mark_read (fd, &old);
    if (there == 0 && rank < 0 && strcmp (old.job, job) != 0)
        rc = err_set (err, EEXIST, "%s has captures of another job: %s", dir,
                      old.job);
    else if (there == 0 && n == 0 && says (&old, &mark))
        rc = 0;
    else
        rc = write_mark (dir, &mark, list, n, err);
    (void)close (fd);
    return rc;
}

int job_mark_write (const char *dir, const char *job, int64_t rank,
                    int64_t world_size, struct err *err)
{
    return replace_mark (dir, job, rank, world_size, NULL, 0, err);
}

int job_mark_list (const char *dir, const char *job, int64_t world_size,
                   const struct job_mark_capture *list, size_t n,
                   struct err *err)
{
    return replace_mark (dir, job, -1, world_size, list, n, err);
}

/* ---- what it says of captures ---- */

static int compare_captures (const void *a, const void *b)
{
    return strcmp (((const struct job_mark_capture *)a)->path,
                   ((const struct job_mark_capture *)b)->path);
}

/* The next text, or NULL; 'at' becomes what is behind it. */
static const char *next_text (const char **at, const char *end)
{
    const char *text = *at, *nul = memchr (text, '\0', (size_t)(end - text));

    *at = nul ? nul + 1 : end;
    return nul ? text : NULL;
}

static int read_list (struct job_marks_read *m, int dir)
{
    struct job_mark_capture c = { .rank = -1 };
    const char *at, *end, *rank;

    buf_init (&m->texts, LIST_MAX);
    if (fileio_read_at (dir, JOB_MARK_CAPTURES, &m->texts, NULL) < 0)
        return 0;
    at = buf_text (&m->texts);
    end = at + m->texts.size;
    while ((rank = next_text (&at, end)) && (c.host = next_text (&at, end)) &&
           (c.path = next_text (&at, end))) {
        if (units_int (rank, 0, INT64_MAX, &c.rank) < 0)
            c.rank = -1;
        if (vec_push (&m->list, &m->n, &c, sizeof (c)) < 0)
            return -ENOMEM;
    }
    if (m->n > 0)
        qsort (m->list, m->n, sizeof (*m->list), compare_captures);
    return 0;
}

static void forget (struct job_marks_read *m)
{
    buf_fini (&m->texts);
    free (m->list);
    *m = (struct job_marks_read){ .is = false };
}

void job_marks_fini (struct job_marks *m)
{
    forget (&m->last[0]);
    forget (&m->last[1]);
}

static int load (struct job_marks_read *m, int dir)
{
    struct stat st;

    if (fstat (dir, &st) < 0)
        return -errno;
    if (m->is && m->dev == st.st_dev && m->ino == st.st_ino)
        return m->rc;
    forget (m);
    m->is = true;
    m->dev = st.st_dev;
    m->ino = st.st_ino;
    m->rc = job_mark_read (dir, &m->mark);
    return m->rc < 0 ? m->rc : (m->rc = read_list (m, dir));
}

static int look_up (struct job_marks_read *m, int dir, const char *path,
                    struct job_mark *ret)
{
    const struct job_mark_capture key = { .path = path }, *c;
    int rc = load (m, dir);

    if (rc < 0)
        return rc;
    *ret = m->mark;
    c = m->n == 0 ? NULL : bsearch (&key, m->list, m->n, sizeof (key), compare_captures);
    if (c) {
        ret->rank = c->rank;
        PRINT (ret->host, "%s", c->host);
    }
    return 0;
}

int job_marks_find (struct job_marks *m, int above, const char *name,
                    struct job_mark *ret)
{
    char link[64], dir[PATH_MAX], path[PATH_MAX];
    const char *slash;
    int rc, up;
    ssize_t n;

    if ((rc = look_up (&m->last[0], above, name, ret)) == 0)
        return 0;
    PRINT (link, "/proc/self/fd/%d", above);
    n = readlink (link, dir, sizeof (dir) - 1);
    dir[n < 0 ? 0 : n] = '\0';
    slash = strrchr (dir, '/');
    if (!slash || !fileio_join (path, sizeof (path), slash + 1, name) ||
        (up = openat (above, "..", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        return rc;
    rc = look_up (&m->last[1], up, path, ret);
    (void)close (up);
    return rc;
}
