/* aggregator/fsck/check_segments.c - read the records of a root's segments */
#include "fsck/check_private.h"

#include "base/units.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int check_list_names (const char *root, const char *name, int64_t **numbers,
                      size_t *n, struct err *err)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;
    int rc = 0;

    if (!fileio_join (path, sizeof (path), root, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (!(dir = opendir (path)))
        return err_sys (err, errno, "cannot read %s: is this the root of an "
                        "aggregator?", path);
    while (rc == 0 && (e = readdir (dir))) {
        int64_t number;

        if (units_int (e->d_name, 0, LEDGER_SEGMENT_MAX, &number) == 0 &&
            vec_push (numbers, n, &number, sizeof (number)) < 0)
            rc = err_set (err, ENOMEM, "no memory to check");
    }
    (void)closedir (dir);
    return rc;
}

static int add_gap (struct check *c, const struct ledger_place *gap)
{
    struct check_gap g = { gap->segment, gap->offset, gap->size, false };

    return vec_push (&c->gaps, &c->ngaps, &g, sizeof (g)) < 0
               ? err_set (c->err, ENOMEM, "no memory to check") : 0;
}

/* "job j rank 3 capture/path" */
static const char *name_of (const struct ledger_item *i, char text[512])
{
    (void)snprintf (text, 512, "job %.100s rank %lld %.200s%s%.150s", i->job,
                    (long long)i->rank, i->capture, *i->path ? "/" : "",
                    i->path);
    return text;
}

static int add_good (struct check *c, const struct ledger_item *i)
{
    c->report->contents++;
    c->report->bytes += i->place.size;
    return ledger_add_content (c->fresh, &i->content, &i->place, c->err);
}

/* Find the same item with the same content, which arrived or was written again.
 */
static struct check_bad *find_bad (struct check *c,
                                   const struct ledger_item *i)
{
    for (size_t k = 0; k < c->nbad; k++) {
        struct check_bad *b = &c->bad[k];

        if (digest_is (&b->item.content, &i->content) &&
            b->item.kind == i->kind && b->item.rank == i->rank &&
            strcmp (b->item.job, i->job) == 0 &&
            strcmp (b->item.dir, i->dir) == 0 &&
            strcmp (b->item.capture, i->capture) == 0 &&
            strcmp (b->item.path, i->path) == 0)
            return b;
    }
    return NULL;
}

/* Keep a damaged item until all records are read, since it may have arrived
 * again.  Of several records the last one counts.
 */
static int add_bad (struct check *c, const struct ledger_item *i,
                    const char *why)
{
    struct check_bad *b = find_bad (c, i);

    if (!b && !(b = vec_add (&c->bad, &c->nbad, sizeof (*b))))
        return err_set (c->err, ENOMEM, "no memory to check");
    b->item = *i;
    PRINT (b->why.text, "%s", why);
    return 0;
}

/* Whether a check set this content aside and it has not arrived again: then the
 * ledger has no place for it.  The file in quarantine/ alone does not prove
 * that, since it stays when the content arrives again.
 */
static int is_aside (struct check *c, const struct digest *id)
{
    struct ledger_place place;
    int rc;

    if (!c->old || !check_has_reason (c, id))
        return 0;
    rc = ledger_find_content (c->old, id, &place, c->err);
    return rc < 0 ? rc : rc == 0;
}

static int check_segments_judge (struct check *c, const struct check_bad *b)
{
    const struct ledger_item *i = &b->item;
    struct ledger_place place;
    char name[512];
    int rc = ledger_find_content (c->fresh, &i->content, &place, c->err);

    if (rc != 0)
        return rc < 0 ? rc : 0;         // another copy of it is good
    if ((rc = is_aside (c, &i->content)) < 0)
        return rc;
    if (rc == 1) {
        check_say (c, "%s: was set aside already, and was not delivered again",
                   name_of (i, name));
        return 0;
    }
    check_damage (c, "%s: its stored data is damaged: %s%s",
                  name_of (i, name), b->why.text,
                  c->repair ? "; it is set aside, and requested again when an "
                              "agent offers it" : "");
    c->differs = true;
    return c->repair ? check_quarantine (c, i, b->why.text) : 0;
}

/* Check content that is elsewhere: in a blob, or in a segment of version 1. */
static int look_elsewhere (struct check *c, const struct ledger_item *i)
{
    struct ledger_place place;
    struct err why = { "" };
    int rc = ledger_find_content (c->fresh, &i->content, &place, c->err);
    int fd;

    if (rc != 0)
        return rc < 0 ? rc : 0;         // it was checked already
    if ((fd = store_read (c->store, &i->content, &i->place, &why)) < 0)
        return add_bad (c, i, why.text);
    rc = record_check_content (fd, &i->content, &i->place, &why);
    (void)close (fd);
    if (rc == -EBADMSG)
        return add_bad (c, i, why.text);
    return rc < 0 ? err_set (c->err, -rc, "%s", why.text) : add_good (c, i);
}

static int on_record (void *arg, const struct record *r, int bad,
                      const struct ledger_place *gap)
{
    struct check *c = arg;
    const struct ledger_item *i = r ? &r->item : NULL;
    struct ledger_item item;
    int rc;

    if (!r)
        return add_gap (c, gap);
    if (r->kind == RECORD_JOB)
        return ledger_set_claim (c->fresh, i->job, &r->word, c->err);
    if (r->kind == RECORD_ASSIGN) {
        rc = ledger_assign (c->fresh, &r->assignment, c->err);
        return rc < 0 ? rc : 0;
    }
    if (r->kind == RECORD_BOUND)
        return ledger_bind (c->fresh, &r->bound, c->err);
    if (r->kind == RECORD_REFER)
        rc = look_elsewhere (c, i);
    else
        rc = bad < 0 ? add_bad (c, i, "its hash is wrong")
                     : add_good (c, i);
    item = *i;
    item.rows = bad < 0 ? 0 : store_sum_rows (c->store, i);
    if (rc == 0)
        rc = ledger_add_item (c->fresh, &item, c->err);
    c->report->items += rc == 1;
    return rc < 0 ? rc : 0;
}

static int check_segment (struct check *c, int64_t n)
{
    char path[PATH_MAX];
    struct stat st;
    int fd, rc;

    store_segment_path (c->root, n, path);
    fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat (fd, &st) < 0) {
        rc = err_sys (c->err, errno, "cannot read %s", path);
        fileio_close (fd);
        return rc;
    }
    rc = record_scan (fd, n, 0, (uint64_t)st.st_size, on_record, c, c->err);
    (void)close (fd);
    if (rc == 0)
        rc = ledger_set_segment (c->fresh, n, (uint64_t)st.st_size, c->err);
    return rc;
}

int check_segments (struct check *c)
{
    int rc = 0;

    for (size_t i = 0; i < c->nsegments && rc == 0; i++)
        rc = check_segment (c, c->segments[i]);
    for (size_t i = 0; i < c->nbad && rc == 0; i++)
        rc = check_segments_judge (c, &c->bad[i]);
    return rc;
}
