/* aggregator/intake/job_build.c - a job's shipments into its analysis.db */
#include "intake/job_build.h"

#include "base/fault.h"
#include "base/fileio.h"
#include "model/shipment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct job_build {
    struct store *store;
    char job[MESSAGE_NAME_MAX];
    struct ledger_item *sources;        // by roll_item.source
    struct roll_item *items;
    size_t n;
    atomic_bool cancel;
};

static int add_source (void *arg, const struct ledger_item *item)
{
    struct job_build *b = arg;
    struct ledger_item *p;

    if ((b->n & (b->n - 1)) == 0) {     // full at every power of two
        p = realloc (b->sources, (b->n ? 2 * b->n : 1) * sizeof (*p));
        if (!p)
            return -ENOMEM;
        b->sources = p;
    }
    b->sources[b->n++] = *item;
    return 0;
}

static int read_shipment (struct job_build *b, size_t source,
                          const struct row_sink *sink, struct capture *c,
                          struct err *err)
{
    const struct ledger_item *s = &b->sources[source];
    int fd, rc;

    if (s->lost)
        return err_set (err, EBADMSG, "what was stored of it was damaged, and "
                        "set aside (see quarantine/ in the aggregator's "
                        "root); offer it again: remove the agent's spool, or "
                        "copy the capture");
    if ((fd = store_read (b->store, &s->content, &s->place, err)) < 0)
        return fd;
    rc = sink ? shipment_replay (fd, (off_t)s->place.offset, s->place.size,
                                 sink, c, err)
              : shipment_read_meta (fd, (off_t)s->place.offset, s->place.size,
                                    c, err);
    (void)close (fd);
    return rc;
}

/* A shipment that is here but cannot be read: a failed capture. */
static void blame (struct job_build *b, size_t source, struct capture *c,
                   const struct err *why)
{
    capture_fini (c);
    c->rank = b->sources[source].rank;
    c->state = CAPTURE_FAILED;
    (void)snprintf (c->name, sizeof (c->name), "%s",
                    b->sources[source].capture);
    capture_reason (c, "its shipment cannot be read: %s", why->text);
}

static int look_at (struct job_build *b, size_t i, struct err *err)
{
    struct roll_item *item = &b->items[i];
    struct err why = { "" };
    int rc;

    item->source = i;
    item->weight = b->sources[i].place.size;
    capture_init (&item->capture);
    rc = read_shipment (b, i, NULL, &item->capture, &why);
    if (rc == -ENOMEM)
        return err_set (err, ENOMEM, "%s", why.text);
    if (rc < 0)
        blame (b, i, &item->capture, &why);
    if (item->capture.host[0] == '\0')
        (void)snprintf (item->capture.host, sizeof (item->capture.host), "%s",
                        b->sources[i].host);
    item->skip = item->capture.state != CAPTURE_COMPLETE &&
                 item->capture.state != CAPTURE_PARTIAL;
    capture_drop_groups (&item->capture);
    return 0;
}

/* ---- versions of a capture ---- */

static int compare_versions (const void *pa, const void *pb)
{
    const struct ledger_item *a = *(const struct ledger_item *const *)pa;
    const struct ledger_item *b = *(const struct ledger_item *const *)pb;
    int names = strcmp (a->capture, b->capture);

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (names != 0)
        return names;
    return a < b ? -1 : a > b;  // as they came
}

/* An older version is not read, unless there is more of it than of the newest:
 * somebody was removing the capture when it was sealed again, or the newest
 * has been damaged here.
 */
static void choose_version (struct job_build *b,
                            const struct ledger_item *const *versions,
                            size_t n)
{
    size_t newest = n - 1;
    int grade;

    for (size_t i = 0; i < n; i++)
        newest = versions[i]->superseded ? newest : i;
    grade = roll_grade (&b->items[versions[newest] - b->sources].capture);
    for (size_t i = 0; i < n; i++) {
        struct roll_item *item = &b->items[versions[i] - b->sources];

        if (i == newest || roll_grade (&item->capture) > grade)
            continue;
        item->skip = true;
        item->capture.state = CAPTURE_SUPERSEDED;
        capture_reason (&item->capture, "it came again with other content");
    }
}

static int choose_versions (struct job_build *b, struct err *err)
{
    const struct ledger_item **by = calloc (b->n + 1, sizeof (*by));

    if (!by)
        return err_set (err, ENOMEM, "no memory to build");
    for (size_t i = 0; i < b->n; i++)
        by[i] = &b->sources[i];
    if (b->n > 0)
        qsort (by, b->n, sizeof (*by), compare_versions);
    for (size_t i = 0, end; i < b->n; i = end) {
        for (end = i + 1; end < b->n && by[end]->rank == by[i]->rank &&
                          strcmp (by[end]->capture, by[i]->capture) == 0;)
            end++;
        choose_version (b, by + i, end - i);
    }
    free (by);
    return 0;
}

struct job_build *job_build_create (struct ledger *ledger,
                                    struct store *store, const char *job,
                                    struct err *err)
{
    struct job_build *b = calloc (1, sizeof (*b));
    int rc;

    if (!b) {
        err_set (err, ENOMEM, "no memory to build");
        return NULL;
    }
    b->store = store;
    (void)snprintf (b->job, sizeof (b->job), "%s", job);
    rc = ledger_each (ledger, job, ITEM_ROWS, add_source, b, err);
    if (rc == 0 && !(b->items = calloc (b->n + 1, sizeof (*b->items))))
        rc = err_set (err, ENOMEM, "no memory to build");
    for (size_t i = 0; i < b->n && rc == 0; i++)
        rc = look_at (b, i, err);
    if (rc == 0)
        rc = choose_versions (b, err);
    if (rc < 0) {
        job_build_destroy (b);
        return NULL;
    }
    roll_plan (b->items, b->n);
    return b;
}

void job_build_destroy (struct job_build *b)
{
    if (!b)
        return;
    for (size_t i = 0; b->items && i < b->n; i++)
        capture_fini (&b->items[i].capture);
    free (b->items);
    free (b->sources);
    free (b);
}

size_t job_build_captures (const struct job_build *b)
{
    return b->n;
}

static int feed (void *arg, size_t source, const struct row_sink *sink,
                 struct capture *c, struct err *err)
{
    struct job_build *b = arg;
    struct err why = { "" };
    int rc = read_shipment (b, source, sink, c, &why);

    if (rc == -EBADMSG || rc == -ENOENT) {
        for (unsigned t = 0; t < TABLE_COUNT; t++) {
            if ((rc = sink->forget (sink->arg, t, err)) < 0)
                return rc;
        }
        blame (b, source, c, &why);
        return 0;
    }
    if (rc < 0)
        return err_set (err, -rc, "%s", why.text);
    if (c->host[0] == '\0')
        (void)snprintf (c->host, sizeof (c->host), "%s",
                        b->sources[source].host);
    return 0;
}

int job_build_run (struct job_build *b, const char *out, unsigned threads,
                   struct roster *roster, struct build_result *ret,
                   struct err *err)
{
    struct build_job job = {
        .items = b->items, .nitems = b->n, .roster = roster,
        .threads = threads, .feed = feed, .feed_arg = b,
        .cancel = &b->cancel, .job_id = b->job,
    };
    struct publish p;
    int rc = publish_open (&p, out, err);

    if (rc < 0)
        return rc;
    rc = build_run (&job, &p, ret, err);
    publish_close (&p);
    return rc;
}

bool job_build_any_rows (const struct job_build *b)
{
    for (size_t i = 0; i < b->n; i++) {
        if (b->items[i].capture.state == CAPTURE_COMPLETE ||
            b->items[i].capture.state == CAPTURE_PARTIAL)
            return true;
    }
    return false;
}

/* ---- raw files ---- */

#define NO_RANK_DIR "no-rank"

struct raw_tree {
    struct store *store;
    const char *dir;
    size_t n;
    struct err *err;
};

static int copy_out (int in, const struct ledger_place *place,
                     const char *path, struct err *err)
{
    char block[65536];
    int out = open (path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
                              O_NOFOLLOW, FILEIO_FILE_MODE);
    int rc = out < 0 ? -errno : 0;

    for (uint64_t at = 0; at < place->size && rc == 0;) {
        size_t n = place->size - at < sizeof (block)
                       ? (size_t)(place->size - at) : sizeof (block);

        rc = fileio_pread_all (in, block, n, (off_t)(place->offset + at));
        if (rc == 0)
            rc = fileio_write_all (out, block, n);
        at += n;
    }
    if (out >= 0 && close (out) < 0 && rc == 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", path) : 0;
}

/* Whether a capture is called as one of the directories between. */
static bool is_rank_dir (const char *name)
{
    return strcmp (name, NO_RANK_DIR) == 0 ||
           (strncmp (name, "rank", 4) == 0 &&
            name[4 + strspn (name + 4, "0123456789")] == '\0');
}

/* Where a raw file goes; false if the path is too long. */
static bool raw_path (const struct raw_tree *t, const struct ledger_item *item,
                      char path[PATH_MAX])
{
    char between[32] = "";
    int n;

    if (!item->shared_name && !is_rank_dir (item->capture))
        ;                       // its name is enough
    else if (item->rank < 0)
        (void)snprintf (between, sizeof (between), NO_RANK_DIR "/");
    else
        (void)snprintf (between, sizeof (between), "rank%lld/",
                        (long long)item->rank);
    n = snprintf (path, PATH_MAX, "%s/%s%s/%s", t->dir, between, item->capture,
                  item->path);
    return n >= 0 && n < PATH_MAX;
}

static int put_raw (void *arg, const struct ledger_item *item)
{
    struct raw_tree *t = arg;
    char path[PATH_MAX];
    char *slash;
    int fd, rc;

    if (item->superseded || item->lost)
        return 0;
    if (!raw_path (t, item, path))
        return err_set (t->err, ENAMETOOLONG, "path is too long: %s", t->dir);
    slash = strrchr (path, '/');
    *slash = '\0';
    if ((rc = fileio_mkdirs (path, FILEIO_DIR_MODE, t->err)) < 0)
        return rc;
    *slash = '/';
    if ((fd = store_read (t->store, &item->content, &item->place, t->err)) < 0)
        return fd;
    if ((rc = FAULT ("aggregator.raw.write")) < 0)
        rc = err_sys (t->err, -rc, "cannot write %s", path);
    else
        rc = copy_out (fd, &item->place, path, t->err);
    (void)close (fd);
    t->n += rc == 0;
    return rc;
}

/* All files and names of the tree at once: there may be a hundred thousand. */
static int sync_tree (const char *dir, struct err *err)
{
    int fd = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -errno : FAULT ("aggregator.raw.fsync");

    if (rc == 0 && syncfs (fd) < 0)
        rc = -errno;
    if (fd >= 0)
        (void)close (fd);
    return rc < 0 ? err_sys (err, -rc, "cannot fsync %s", dir) : 0;
}

int job_build_raw_tree (struct ledger *ledger, struct store *store,
                        const char *job, const char *dir, size_t *n,
                        struct err *err)
{
    struct raw_tree t = { store, dir, 0, err };
    int rc = ledger_each (ledger, job, ITEM_RAW, put_raw, &t, err);

    *n = t.n;
    return rc < 0 || t.n == 0 ? rc : sync_tree (dir, err);
}
