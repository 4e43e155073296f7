/* node_agent/agent/seal_items.c - items sealed of a capture: rows, raw files */
#include "agent/seal_items.h"

#include "agent/wanted_files.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "discovery/raw_files.h"
#include "model/beside.h"
#include "store/content.h"
#include "store/fileio.h"
#include "throttle/bulk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct spool_new *seal_add_item (struct sealed *s, enum item_kind kind,
                                 const char *path)
{
    struct spool_new *p = vec_add (&s->items, &s->nitems, sizeof (*p));

    if (!p)
        return NULL;
    p->kind = kind;
    p->number = (unsigned)s->nitems - 1 +
                (s->wanted ? s->wanted->known.next_number : 0);
    content_hash_init (&p->hash);
    if ((p->path = strdup (path)))
        return p;
    s->nitems--;
    return NULL;
}

void seal_drop_item (struct sealed *s)
{
    struct spool_new *p = &s->items[--s->nitems];

    content_hash_fini (&p->hash);
    free (p->path);
}

int seal_pause (struct bulk *bulk, struct err *err)
{
    int rc = bulk_pause (bulk);

    return rc < 0 ? err_set (err, -rc, "the agent is ending") : 0;
}

bool seal_may_pass (const struct sealed *s, int rc)
{
    enum fileio_trouble trouble = fileio_trouble (rc);

    return trouble == FILEIO_SHORTAGE ||
           (trouble == FILEIO_DISK && !s->again);
}

static int rest_chunk (void *bulk)
{
    return bulk_pause (bulk);
}

int seal_hash (int fd, struct spool_new *item, struct bulk *bulk,
               struct err *err)
{
    return content_hash_file (fd, item->size, &item->hash, rest_chunk, bulk,
                              err);
}

/* ---- raw files ---- */

static void link_path (const struct sealed *s, unsigned number,
                       char out[PATH_MAX])
{
    size_t n = strlen (s->file) - 1;    // without the 0 of the shipment

    (void)snprintf (out, PATH_MAX, "%.*s%u", (int)n, s->file, number);
}

/* A link in the spool keeps a file that its owner deletes.  Without one (the
 * file is on another file system, or belongs to somebody else) the file is read
 * where it is.
 */
static bool link_file (const struct sealed *s, int dirfd, const char *name,
                       const struct stat *st, unsigned number)
{
    char path[PATH_MAX];
    struct stat made;

    link_path (s, number, path);
    if (FAULT ("agent.seal.link") < 0)
        return false;
    if (linkat (dirfd, name, AT_FDCWD, path, 0) < 0 &&
        (errno != EEXIST || unlink (path) < 0 ||    // of one left out later
         linkat (dirfd, name, AT_FDCWD, path, 0) < 0))
        return false;
    if (lstat (path, &made) == 0 && made.st_ino == st->st_ino &&
        made.st_dev == st->st_dev)
        return true;
    (void)unlink (path);        // replaced by another file meanwhile
    return false;
}

/* Raw files on their way into the items. */
struct raw {
    struct sealed *s;
    const char *name;           // of the capture
    struct bulk *bulk;
};

/* Something cannot be delivered; the first reason is kept for all. */
static void leave_out (void *arg, const char *path, const char *why)
{
    const struct raw *r = arg;

    if (r->s->skipped++ == 0)
        (void)err_set (&r->s->skipped_why, EIO, "%s: %s",
                       *path ? path : "all of it", why);
}

/* A file that cannot be opened is tried again, left out, or was just removed.
 */
static int pass_over (void *arg, const char *path, int rc, struct err *err)
{
    struct raw *r = arg;

    if (seal_may_pass (r->s, rc))
        return err_sys (err, -rc, "%s", *path ? path : r->s->what.path);
    if (rc < 0 && rc != -ENOENT)
        leave_out (r, path, strerror (-rc));
    return 0;
}

/* Whether the disk cannot read a file, not even the second time. */
static bool is_unreadable (const struct sealed *s, int rc)
{
    return fileio_trouble (rc) == FILEIO_DISK && !seal_may_pass (s, rc);
}

static void drop_raw (struct sealed *s, const struct spool_new *item)
{
    char made[PATH_MAX];

    link_path (s, item->number, made);
    if (item->own)
        (void)unlink (made);
    seal_drop_item (s);
}

void seal_remove_links (const struct sealed *s, size_t first)
{
    char made[PATH_MAX];

    for (size_t i = first; i < s->nitems; i++) {
        link_path (s, s->items[i].number, made);
        if (s->items[i].own)
            (void)unlink (made);
    }
}

void seal_leave_raw (struct sealed *s)
{
    char made[PATH_MAX];
    size_t kept = 1;

    for (size_t i = 1; i < s->nitems; i++) {
        struct spool_new item = s->items[i];

        link_path (s, item.number, made);
        if (item.own && fileio_is_last_link (made)) {
            s->items[i] = s->items[kept];
            s->items[kept++] = item;
        }
    }
    seal_remove_links (s, kept);
    while (s->nitems > kept)
        seal_drop_item (s);
    s->raw = false;
}

static int hash_raw (struct raw *r, int fd, int dirfd, const char *name,
                     const char *path, const struct stat *st, struct err *err)
{
    struct spool_new *item = seal_add_item (r->s, ITEM_RAW, path);
    int rc;

    if (!item)
        return err_set (err, ENOMEM, "no memory for raw files");
    item->size = (uint64_t)st->st_size;
    item->facts = file_facts_of (st, r->s->owner);
    item->own = link_file (r->s, dirfd, name, st, item->number);
    rc = seal_hash (fd, item, r->bulk, err);
    if (rc == -ENODATA) {       // it shrank, and will count as changed
        drop_raw (r->s, item);
        rc = 0;
    } else if (is_unreadable (r->s, rc)) {
        drop_raw (r->s, item);
        leave_out (r, path, strerror (-rc));
        rc = 0;
    }
    return rc < 0 ? err_prefix (err, rc, "%s", path) : 0;
}

/* Whether it is in the spool, or was: only a file that was given up may be
 * sealed once more.
 */
static bool is_known (const struct spool_raw_list *l, const char *path)
{
    for (size_t low = 0, high = l->n; low < high; ) {
        size_t mid = low + (high - low) / 2;
        int c = strcmp (path, l->files[mid].path);

        if (c == 0)
            return l->files[mid].state <= SPOOL_RELEASED;
        low = c > 0 ? mid + 1 : low;
        high = c > 0 ? high : mid;
    }
    return false;
}

static bool is_to_seal (const struct raw *r, const char *path)
{
    const struct seal_wanted *w = r->s->wanted;

    return !w || (wanted_matches (w->pattern, path) &&
                  !is_known (&w->known, path));
}

/* Whether it was written to after the rows were sealed.  The date of a version
 * does not cover what is beside the capture.
 */
static bool is_later (const struct raw *r, const char *path,
                      const struct stat *st)
{
    int64_t ns = clock_ns (&st->st_mtim);
    const struct seal_wanted *w = r->s->wanted;

    return w && w->newest_ns > 0 && ns > w->newest_ns &&
           beside_size (r->name, path) == 0;
}

static int rest (void *arg, struct err *err)
{
    return seal_pause (((struct raw *)arg)->bulk, err);
}

static int seal_file (void *arg, int dirfd, const char *name, const char *path,
                      struct err *err)
{
    struct raw *r = arg;
    struct stat st;
    int fd, rc = 0;

    if (!is_to_seal (r, path))
        return 0;
    if (r->s->nitems > RAW_FILES_MAX) {
        leave_out (r, path, "it has more files than can be delivered");
        return 0;
    }
    if ((fd = fileio_open_at (dirfd, name, NULL)) < 0)
        return pass_over (r, path, fd, err);
    if (fstat (fd, &st) < 0)
        rc = pass_over (r, path, -errno, err);
    else if (is_later (r, path, &st))
        leave_out (r, path, "it was written to after the rows of its capture "
                   "were read");
    else if (r->s->user >= 0 && st.st_uid != r->s->user)
        leave_out (r, path, "it is another user's than its capture is");
    else if ((uint64_t)st.st_size > CONTENT_SIZE_MAX)
        leave_out (r, path, "it is larger than what can be delivered");
    else
        rc = hash_raw (r, fd, dirfd, name, path, &st, err);
    (void)close (fd);
    return rc;
}

/* A capture that is one file is its own raw file. */
int seal_raw (struct sealed *s, struct bulk *bulk, struct err *err)
{
    const char *path = s->what.path, *slash = strrchr (path, '/');
    struct raw r = { s, slash ? slash + 1 : path, bulk };
    const struct raw_files files = { .file = seal_file, .pass_over = pass_over,
                                     .leave_out = leave_out, .rest = rest,
                                     .arg = &r };

    return raw_files_each (path, &files, err);
}
