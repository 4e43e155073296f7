/* aggregator/uploads/carry.c - one segment on its way to the store */
#include "uploads/carry.h"

#include "store/object_owner.h"
#include "store/record.h"
#include "store/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_mark (struct carried *c, enum object_mark_state state,
                     struct err *err)
{
    c->mark.state = state;
    return object_mark_set (c->root, c->segment, &c->mark, err);
}

static int note_upload (void *arg, const char *upload, struct err *err)
{
    struct carried *c = arg;

    PRINT (c->mark.upload, "%s", upload);
    return set_mark (c, OBJECT_BEGUN, err);
}

static int put_or_check (struct carried *c, struct object_file *f,
                         struct err *err)
{
    struct object_facts there;
    int rc = object_head (c->store, f->key, &there, err);

    if (rc == 0) {
        rc = object_check_file (c->store, f, err);
        if (rc != -EBADMSG)
            return rc;
        PRINT (c->other, "%s", there.etag);
        return err_set (err, EEXIST, "%s/%s has other bytes than segment %lld: "
                        "does another root have the id of this one?",
                        object_store_url (c->store), f->key,
                        (long long)c->segment);
    }
    if (rc != -ENOENT ||
        (rc = object_owner_check (c->store, c->root, c->id, err)) < 0 ||
        (rc = set_mark (c, OBJECT_BEGUN, err)) < 0)
        return rc;
    return object_put_file (c->store, f, err);
}

/* What is here is not what was hashed, or was changed on its way: damage is named,
 * and not sent; else all is hashed anew.
 */
static int judge (struct carried *c, int fd, uint64_t size, struct err *err)
{
    struct segment f = { .fd = fd, .number = c->segment };
    struct err why;
    size_t bad;

    early_sums_forget (c->early);
    if (record_count_bad (&f, size, &bad, &why) < 0 || bad == 0)
        return -EBADMSG;
    return err_set (err, EEXIST, "segment %lld is damaged, and is not uploaded: "
                    "see rollcall fsck", (long long)c->segment);
}

/* ---- uploads that nobody goes on with ---- */

static int drop_upload (void *arg, const char *key, const char *upload)
{
    const struct carried *c = arg;
    char mine[OBJECT_MARK_KEY_MAX];

    object_mark_key (c->id, c->segment, mine);
    return strcmp (key, mine) == 0 ? object_abort (c->store, key, upload, NULL)
                                   : 0;
}

/* The object is whole.  If an answer that began an upload was lost, or an earlier
 * process was killed before it noted that, its parts would stay.  A check names
 * what cannot be dropped now.
 */
static void drop_uploads (struct carried *c)
{
    char key[OBJECT_MARK_KEY_MAX];

    object_mark_key (c->id, c->segment, key);
    (void)object_list_uploads (c->store, key, drop_upload, c, NULL);
}

/* ---- one segment ---- */

/* Write it, unless it is there.  -EEXIST: with other bytes, or it is damaged. */
static int put (struct carried *c, int fd, uint64_t size, struct err *err)
{
    char key[OBJECT_MARK_KEY_MAX];
    struct object_file f = { .key = key, .fd = fd, .size = size,
                             .sums = early_sums_of (c->early, c->segment),
                             .begun = note_upload, .arg = c };
    uint64_t again = object_store_counts (c->store).again;
    bool before = c->mark.state == OBJECT_BEGUN;
    int rc;

    object_mark_key (c->id, c->segment, key);
    PRINT (f.upload, "%s", c->mark.upload);
    rc = put_or_check (c, &f, err);
    if (rc == -EBADMSG && f.sums)
        return judge (c, fd, size, err);
    PRINT (c->mark.etag, "%s", f.etag);
    c->mark.upload[0] = '\0';
    if (rc == 0 && size > OBJECT_PART_BYTES &&
        (before || object_store_counts (c->store).again > again))
        drop_uploads (c);
    return rc < 0 ? rc : set_mark (c, OBJECT_WHOLE, err);
}

/* What is not all here is never written there, unless nobody has the rest. */
static int put_whole (struct carried *c, const struct store_extent *e, int fd,
                      struct err *err)
{
    int rc = cache_adopt (c->cache, e, fd, err);

    if (rc == -EBADMSG && c->mark.lost)
        rc = 0;
    if (rc == -EBADMSG)         // to try again is no use
        return -EEXIST;
    return rc == 0 ? put (c, fd, e->end, err) : rc < 0 ? rc : 0;
}

/* Its file is not there, or too short: 1 it was collected, or somebody else has done
 * that.
 */
static int lacks (const struct carried *c, struct err *err)
{
    struct object_mark mark;
    int rc = object_mark_read (c->root, c->segment, &mark, err);

    if (rc < 0 || mark.state == OBJECT_GONE)
        return rc < 0 ? rc : 1;
    return err_set (err, EEXIST, "segment %lld was removed or cut before it was "
                    "in %s: what it had is requested again",
                    (long long)c->segment, object_store_url (c->store));
}

static bool is_short (int fd, uint64_t size)
{
    struct stat st;

    return fstat (fd, &st) == 0 && (uint64_t)st.st_size < size;
}

/* One that was cut since then is there, with more. */
static bool is_whole (const struct object_mark *m, const char *url, uint64_t size)
{
    return m->state == OBJECT_WHOLE && m->size >= size &&
           strcmp (m->url, url) == 0;
}

bool carry_knows (const char *root, const char *url,
                  const struct store_extent *e)
{
    struct object_mark m;

    return object_mark_read (root, e->segment, &m, NULL) == 0 &&
           is_whole (&m, url, e->end);
}

int carry (struct carried *c, const struct store_extent *e, struct err *err)
{
    const char *url = object_store_url (c->store);
    char path[PATH_MAX];
    int rc, fd;

    c->segment = e->segment;
    rc = object_mark_read (c->root, e->segment, &c->mark, err);
    if (rc < 0 || c->mark.state == OBJECT_GONE)
        return rc < 0 ? rc : 1;
    if (is_whole (&c->mark, url, e->end))
        return 0;
    if (strcmp (c->mark.url, url) != 0 || c->mark.size != e->end)
        c->mark = (struct object_mark){ .size = e->end };
    PRINT (c->mark.url, "%s", url);
    store_segment_path (c->root, e->segment, path);
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? lacks (c, err)
                               : err_sys (err, errno, "cannot open %s", path);
    rc = is_short (fd, e->end) ? lacks (c, err) : put_whole (c, e, fd, err);
    (void)close (fd);
    return rc == -ESTALE ? 1 : rc;
}
