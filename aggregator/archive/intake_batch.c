/* aggregator/archive/intake_batch.c - files of records for the aggregator that
 * serves a root
 */
#include "archive/intake_private.h"

#include "archive/root_control.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_MAX (INTAKE_BATCH + 2 * CONTENT_CHUNK)    // bytes, with the last
                                                        // content
#define HOLD_TRIES 8            // others may remove what is not locked yet

/* ---- in the verb ---- */

static bool batch_path (const char *root, const char *name,
                        char path[PATH_MAX])
{
    int n = snprintf (path, PATH_MAX, "%s/%s/%s", root, INTAKE_DIR, name);

    return n > 0 && n < PATH_MAX;
}

static void forget (const char *dir, const char *name)
{
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), dir, name) && unlink (path) < 0)
        (void)fileio_remove_tree (path, NULL);
}

/* Whether the open file still has this name. */
static bool is_named (int fd, const char *path)
{
    struct stat held, named;

    return fstat (fd, &held) == 0 && lstat (path, &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Open what has been made, and hold it: intake_forget_batches removes what
 * nobody holds, whatever process and container it is of.
 */
static int hold (const char *path, int flags, struct err *err)
{
    int fd = open (path, flags | O_CLOEXEC | O_NOFOLLOW, FILEIO_FILE_MODE);

    if (fd < 0)
        return err_sys (err, errno, "cannot create %s", path);
    if (flock (fd, LOCK_EX) == 0 && is_named (fd, path))
        return fd;
    (void)close (fd);
    return err_set (err, EAGAIN, "%s was removed at once", path);
}

/* A name of digits that no other process uses, in another container neither. */
static int choose_name (struct intake *in, const char *end, char path[PATH_MAX],
                        char name[64], struct err *err)
{
    uint32_t random;

    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        return err_sys (err, errno, "no random numbers");
    (void)snprintf (name, 64, "%ld-%lu-%s", (long)getpid (),
                    (unsigned long)random, end);
    return batch_path (store_root (in->store), name, path)
               ? 0 : err_set (err, ENAMETOOLONG, "path is too long: %s",
                              store_root (in->store));
}

int intake_scratch (struct intake *in, char path[PATH_MAX], struct err *err)
{
    char name[64];
    int rc = choose_name (in, "files", path, name, err);

    for (unsigned i = 0; i < HOLD_TRIES && rc == 0; i++) {
        fileio_close (in->scratch);
        if ((rc = fileio_mkdirs (path, 0700, err)) == 0 &&
            (in->scratch = hold (path, O_RDONLY | O_DIRECTORY, err)) >= 0)
            return 0;
        if (rc == 0 && in->scratch != -EAGAIN && in->scratch != -ENOENT)
            rc = in->scratch;
    }
    return rc < 0 ? rc : -EAGAIN;
}

void intake_forget_batches (const char *root)
{
    DIR *dir;
    struct dirent *e;
    int listed = 0;
    char path[PATH_MAX];

    if (!batch_path (root, "", path) || !(dir = opendir (path)))
        return;
    while ((e = fileio_next_entry (dir, &listed))) {
        int fd = openat (dirfd (dir), e->d_name, O_RDONLY | O_CLOEXEC |
                         O_NOFOLLOW | O_NONBLOCK);

        if (fd >= 0 && flock (fd, LOCK_EX | LOCK_NB) == 0)
            forget (path, e->d_name);
        fileio_close (fd);
    }
    (void)closedir (dir);
}

/* Write it, and hold it: its descriptor.  It is not fsynced: the aggregator
 * copies it into a segment.
 */
static int write_batch (const struct intake *in, const char *path,
                        struct err *err)
{
    char dir[PATH_MAX];
    int fd = -EAGAIN, rc;

    (void)batch_path (store_root (in->store), "", dir);
    if ((rc = fileio_mkdirs (dir, FILEIO_DIR_MODE, err)) < 0)
        return rc;
    for (unsigned i = 0; i < HOLD_TRIES && fd == -EAGAIN; i++)
        fd = hold (path, O_WRONLY | O_CREAT | O_EXCL, err);
    if (fd < 0)
        return fd;
    rc = fileio_write_all (fd, in->records.data, in->records.size);
    if (rc == 0)
        return fd;
    (void)unlink (path);
    (void)close (fd);
    return err_sys (err, -rc, "cannot write %s", path);
}

int intake_deliver (struct intake *in, struct err *err)
{
    const char *root = store_root (in->store);
    struct json *request, *answer;
    char name[64], path[PATH_MAX];
    bool served;
    int fd, rc = choose_name (in, "0", path, name, err);

    if (rc < 0)
        return rc;
    if ((rc = fd = write_batch (in, path, err)) >= 0) {
        request = json_object ();
        json_add_text (request, "do", "take");
        json_add_text (request, "job", INTAKE_DIR);
        json_add_text (request, "batch", name);
        json_add_bool (request, "verify", in->verify);
        rc = control_ask (root, request, &answer, &served, err);
        if (rc == 0)
            json_free (answer);
        (void)unlink (path);
        (void)close (fd);
    }
    return rc;
}

/* ---- in the owner of the root ---- */

struct taking {
    struct intake *in;
    int fd;
    void *bytes;                // of one content
    struct err *err;
};

static int take_content (struct taking *t, const struct record *r)
{
    size_t n = (size_t)r->place.stored;
    int rc = fileio_pread_all (t->fd, t->bytes, n, (off_t)r->place.offset);

    if (rc < 0)
        return err_sys (t->err, -rc, "cannot read a batch");
    return r->kind == RECORD_CHUNK
               ? intake_put_chunk (t->in, &r->id, r->place.size,
                                   (enum chunk_codec)r->place.form, t->bytes,
                                   n, t->err)
               : intake_put_list (t->in, &r->id, r->place.size, t->bytes,
                                  n / DIGEST_SIZE, t->err);
}

static int take_record (void *arg, const struct record *r, int bad,
                        const struct ledger_place *gap)
{
    struct taking *t = arg;

    (void)gap;
    if (!r || bad < 0 || record_inside (r) > BATCH_MAX)
        return err_set (t->err, EBADMSG, "a batch is damaged: nothing of it "
                        "was taken");
    return record_inside (r) > 0 || r->kind <= RECORD_LIST
               ? take_content (t, r) : intake_put_record (t->in, r, t->err);
}

static int open_batch (const char *root, const char *name, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    int fd;

    if (!*name || name[strspn (name, "0123456789-")] ||
        !batch_path (root, name, path))
        return err_set (err, EINVAL, "\"%.80s\" is not the name of a batch",
                        name);
    fd = fileio_open_at (AT_FDCWD, path, err);
    if (fd == -ENOENT)
        return err_set (err, ENOENT, "there is no batch %s", path);
    if (fd >= 0 && fstat (fd, &st) == 0 && st.st_size > BATCH_MAX) {
        (void)close (fd);
        return err_set (err, EINVAL, "%s is larger than a batch", path);
    }
    return fd;
}

static int take_all (struct taking *t, struct err *err)
{
    struct segment f = { .fd = t->fd, .number = 1 };
    struct stat st;
    int rc = fstat (t->fd, &st) < 0 ? err_sys (err, errno, "cannot read a batch")
                                    : 0;

    if (rc == 0 && !(t->bytes = malloc (BATCH_MAX)))
        rc = err_set (err, ENOMEM, "no memory for a batch");
    if (rc == 0)
        rc = record_scan (&f, 0, (uint64_t)st.st_size, true, take_record, t,
                          err);
    if (rc == 0)
        rc = intake_flush (t->in, err);
    free (t->bytes);
    return rc;
}

int intake_take (struct ledger *ledger, struct store *store,
                 const struct json *asked, struct json *answer,
                 struct err *err)
{
    const char *name = json_text (json_get (asked, "batch"), "");
    struct json *jobs = json_add_array (answer, "jobs");
    struct taking t = { .err = err };
    int rc;

    if (!*name)                 // whoever asks wants to know who answers
        return 0;
    if ((t.fd = open_batch (store_root (store), name, err)) < 0)
        return t.fd;
    if ((rc = intake_begin (ledger, store, &t.in, err)) == 0) {
        t.in->verify = json_is_true (json_get (asked, "verify"));
        if (json_int (json_get (asked, "uid"), &t.in->uid))
            PRINT (t.in->by, "%s", json_text (json_get (asked, "by"), ""));
        rc = take_all (&t, err);
        for (size_t i = 0; i < t.in->njobs && rc == 0; i++)
            json_push_text (jobs, t.in->jobs[i]);
    }
    intake_close (t.in);
    (void)close (t.fd);
    return rc;
}
