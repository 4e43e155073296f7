/* common/model/job_mark.c - whose captures a directory is for */
#include "model/job_mark.h"

#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define MARK_MAX 4096           // bytes of the file: an id and two numbers

static bool job_mark_take (const struct json *j, struct job_mark *ret)
{
    const char *job = json_text (json_get (j, "job"), NULL);

    *ret = (struct job_mark){ "", -1, -1 };
    if (!job || strlen (job) >= sizeof (ret->job))
        return false;
    PRINT (ret->job, "%s", job);
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

static int write_mark (const char *dir, const struct job_mark *m,
                       struct err *err)
{
    struct json *j = json_object ();

    json_add_text (j, "job", m->job);
    json_add_int (j, "rank", m->rank);
    json_add_int (j, "world_size", m->world_size);
    return json_replace (j, false, dir, JOB_MARK_NAME, FILEIO_FILE_MODE, err);
}

int job_mark_write (const char *dir, const char *job, int64_t rank,
                    int64_t world_size, struct err *err)
{
    struct job_mark mark = { "", rank, world_size }, old;
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
    there = job_mark_read (fd, &old);
    if (there == 0 && rank < 0 && strcmp (old.job, job) != 0)
        rc = err_set (err, EEXIST, "%s has captures of another job: %s", dir,
                      old.job);
    else if (there == 0 && strcmp (old.job, job) == 0 && old.rank == rank &&
             old.world_size == world_size)
        rc = 0;
    else
        rc = write_mark (dir, &mark, err);
    (void)close (fd);
    return rc;
}
