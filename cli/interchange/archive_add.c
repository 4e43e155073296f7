/* cli/interchange/archive_add.c - rollcall archive add: captures of a directory
 * into a root
 *
 * As if agents had delivered them: the rows of each capture and its raw files,
 * under the same names.  Contents are put as they are read, their names when the
 * whole capture was read and is still what it was: so what is interrupted leaves
 * contents that the next try finds, and no half capture.
 *
 * This folder: what rollcall archive puts into a root, or takes out as a file.
 */
#include "archive_verb.h"

#include "base/clock.h"
#include "base/texts.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "discovery/find.h"
#include "discovery/raw_files.h"
#include "extract/extract.h"
#include "model/beside.h"
#include "model/job_mark.h"
#include "model/shipment.h"
#include "interchange/content_writer.h"
#include "spool/spool.h"
#include "store/fileio.h"
#include "world/host.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCOPE "default"         // of services that were given no job
#define GROUP_FILES 8192        // raw files that are under way, ...
#define GROUP_CAPTURES 256      // ... and captures: what memory is for
#define READ_TRIES 3            // of a capture that somebody writes to
#define THREADS_MAX 64

struct add_file {
    size_t capture;             // in the group
    char *path;                 // as the item is called
    struct stat st;
    struct digest content;
    int rc;                     // -EAGAIN: it changed; another: it was not read
};

struct add_capture {
    const char *path;           // where it was found
    const char *name;
    char job[MESSAGE_NAME_MAX]; // given; "": as the scope is divided
    int64_t world_size;         // of a run's mark; 0: none
    int parent;                 // the directory above it, open
    struct extract_look look;   // before it was read
    int64_t rank;
    char capture_name[MESSAGE_NAME_MAX];
    struct digest rows;
    size_t nfiles;
    bool changed, failed, done;
    struct err why;
};

/* A version of a capture whose job the scope's division finds. */
struct scoped {
    char capture[MESSAGE_NAME_MAX], place[MESSAGE_PLACE_MAX];
    int64_t rank, newest_ns;
};

/* Captures that are read at one time. */
struct group {
    struct adding_all *all;
    struct add_capture *captures;
    size_t n;
    struct add_file *files;
    size_t nfiles;
};

struct adding_all {
    const struct adding *a;
    struct content_writer *writers[THREADS_MAX];
    unsigned threads;
    char host[HOST_NAME_MAX_BYTES], host_id[HOST_KEY_SIZE];
    struct texts jobs;          // that got captures
    struct scoped *scoped;      // captures that no job was given for
    size_t nscoped;
    size_t captures, files, failed;
    uint64_t bytes;
};

/* ---- a capture's files ---- */

/* Name something that is not added: it costs that only. */
static void tell (struct adding_all *all, const char *path, const char *file,
                  const char *why)
{
    char text[PATH_MAX + RAW_FILES_PATH_MAX + ERR_TEXT_MAX];
    char shown[UTF8_ESCAPED (sizeof (text))];

    PRINT (text, "%s%s%s: %s", path, file && *file ? "/" : "",
           file ? file : "", why);
    (void)cli_fail (all->a->opt->command, 0, "%s", utf8_escape (text, UTF8_COLUMN, shown));
    all->failed++;
}

static void leave_out (void *arg, const char *path, const char *why)
{
    const struct group *g = arg;

    tell (g->all, g->captures[g->n - 1].path, path, why);
}

static int note_file (void *arg, int dirfd, const char *name, const char *path,
                      struct err *err)
{
    struct group *g = arg;
    struct add_file *f;

    if (g->captures[g->n - 1].nfiles++ >= RAW_FILES_MAX) {
        leave_out (g, path, "it has more files than can be stored");
        return 0;
    }
    f = vec_add (&g->files, &g->nfiles, sizeof (*f));
    if (!f || !(f->path = strdup (path)))
        return err_set (err, ENOMEM, "no memory for raw files");
    f->capture = g->n - 1;
    if (fstatat (dirfd, name, &f->st, AT_SYMLINK_NOFOLLOW) < 0)
        f->rc = -errno;
    return 0;
}

static int pass_over (void *arg, const char *path, int rc, struct err *err)
{
    (void)err;
    leave_out (arg, path, strerror (-rc));
    return 0;
}

/* Where a raw file is, relative to the directory above its capture. */
static bool path_from_parent (const struct add_capture *c, const char *path,
                              char out[PATH_MAX])
{
    bool beside = beside_size (c->name, path) > 0;
    struct stat st;
    int n;

    if (!beside && strcmp (path, c->name) == 0 &&
        fstatat (c->parent, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG (st.st_mode))
        beside = true;          // a capture that is one file
    n = snprintf (out, PATH_MAX, "%s%s%s", beside ? "" : c->name,
                  beside ? "" : "/", path);
    return n > 0 && n < PATH_MAX;
}

static bool is_same (const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
           a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Read a raw file: negative only if the root failed. */
static int add_file (struct group *g, struct add_file *f,
                     struct content_writer *w, struct err *err)
{
    const struct add_capture *c = &g->captures[f->capture];
    char path[PATH_MAX];
    struct stat st;
    int fd, rc;

    if (f->rc < 0)
        return 0;
    fd = path_from_parent (c, f->path, path)
             ? tree_openat (c->parent, path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                            0, false) : -ENAMETOOLONG;
    if (fd < 0) {
        f->rc = fd;
        return 0;
    }
    rc = fstat (fd, &st) < 0 ? -errno : 0;
    if (rc == 0 && !is_same (&st, &f->st))
        f->rc = -EAGAIN;
    else if (rc == 0 && (uint64_t)st.st_size > CONTENT_SIZE_MAX)
        f->rc = -EFBIG;
    else if (rc == 0)
        rc = content_writer_put (w, fd, (uint64_t)st.st_size, true,
                                 &f->content, &f->rc, err);
    if (rc == 0 && f->rc == 0 &&
        (fstat (fd, &st) < 0 || !is_same (&st, &f->st)))
        f->rc = -EAGAIN;
    (void)close (fd);
    return rc;
}

/* ---- a capture's rows ---- */

/* Who wrote it, for the facts of its job. */
static void sign (const struct add_capture *c, struct evidence *e)
{
    struct passwd user, *found = NULL;
    char text[1024];
    struct stat st;

    if (lstat (c->path, &st) == 0 &&
        getpwuid_r (st.st_uid, &user, text, sizeof (text), &found) == 0 &&
        found && evidence_about (e))
        PRINT (e->about->user, "%s", found->pw_name);
    if (*c->job)
        PRINT (e->job, "%s", c->job);
}

static int write_rows (struct add_capture *c, int fd, uint64_t *size,
                       struct err *err)
{
    struct shipment_writer *w = shipment_writer_create (fd);
    struct capture capture;
    int rc;

    if (!w)
        return err_set (err, ENOMEM, "no memory for rows");
    capture_init (&capture);
    rc = extract_capture (c->path, NULL, shipment_sink (w), &capture, err);
    sign (c, &capture.evidence);
    if (rc == 0 && capture.transient_error) {
        c->failed = true;
        (void)err_set (&c->why, EIO, "%s", capture.reason[0]
                           ? capture.reason : "it cannot be read now");
    }
    c->rank = capture.rank == CAPTURE_NO_RANK ? -1 : capture.rank;
    PRINT (c->capture_name, "%s", capture.name);
    if (rc == 0)
        rc = shipment_finish (w, &capture, size, err);
    capture_fini (&capture);
    shipment_writer_destroy (w);
    return rc;
}

static int add_rows (struct add_capture *c, struct content_writer *w,
                     struct err *err)
{
    uint64_t size = 0;
    int fd = content_temp (NULL, err), rc, bad = 0;

    if (fd < 0)
        return fd;
    rc = write_rows (c, fd, &size, err);
    if (rc == 0 && !c->failed)
        rc = content_writer_put (w, fd, size, false, &c->rows, &bad, err);
    if (rc == 0 && bad < 0)
        rc = err_sys (err, -bad, "cannot read rows that were just written");
    (void)close (fd);
    return rc;
}

/* ---- a group ---- */

/* A piece of work: the rows of a capture, or after those a raw file. */
static int add_piece (void *state, size_t piece, struct err *err)
{
    struct content_writer *w = state;
    struct group *g = content_writer_arg (w);

    if (atomic_load (&cli_cancelled))
        return err_set (err, EINTR, "interrupted");
    if (piece < g->n)
        return g->captures[piece].done ? 0
                   : add_rows (&g->captures[piece], w, err);
    piece -= g->n;
    return g->captures[g->files[piece].capture].done
               ? 0 : add_file (g, &g->files[piece], w, err);
}

static void drop_files (struct group *g)
{
    for (size_t i = 0; i < g->nfiles; i++)
        free (g->files[i].path);
    free (g->files);
    g->files = NULL;
    g->nfiles = 0;
}

static void drop_group (struct group *g)
{
    drop_files (g);
    for (size_t i = 0; i < g->n; i++)
        fileio_close (g->captures[i].parent);
    free (g->captures);
    g->captures = NULL;
    g->n = 0;
}

/* ---- the names of what was read ---- */

static void item_of (const struct adding_all *all, const struct add_capture *c,
                     enum item_kind kind, struct ledger_item *i)
{
    *i = (struct ledger_item){ .kind = kind, .rank = c->rank,
                               .newest_ns = c->look.newest_ns };
    PRINT (i->capture, "%s", c->capture_name);
    PRINT (i->host, "%s", all->host);
    if (*c->job) {
        PRINT (i->job, "%s", c->job);
        return;
    }
    PRINT (i->job, SCOPE);
    PRINT (i->scope, SCOPE);
    // what comes once more from a tar file has the place that it had
    spool_place (all->a->unpacked ? "" : all->host_id,
                 c->path + (all->a->unpacked ? strlen (all->a->dir) : 0),
                 i->dir);
}

static int put_claim (const struct adding_all *all, const struct add_capture *c,
                      struct record *r, struct err *err)
{
    memset (r, 0, sizeof (*r));
    r->kind = RECORD_JOB;
    PRINT (r->item.job, "%s", c->job);
    r->word.by = CLAIM_NODE;
    r->word.world_size = c->world_size;
    PRINT (r->word.host, "%s", all->host);
    return intake_put_record (all->a->in, r, err);
}

static int put_item (struct adding_all *all, struct record *r, struct err *err)
{
    r->kind = RECORD_ITEM;
    if (!message_valid_item (r->item.kind, r->item.rank, r->item.capture,
                             r->item.path))
        return -EINVAL;
    r->item.received_ns = clock_wall_ns ();
    return intake_put_record (all->a->in, r, err);
}

static int put_file (struct adding_all *all, const struct add_capture *c,
                     const struct add_file *f, struct record *r,
                     struct err *err)
{
    int rc;

    if (f->rc < 0) {
        tell (all, c->path, f->path, strerror (-f->rc));
        return 0;
    }
    item_of (all, c, ITEM_RAW, &r->item);
    PRINT (r->item.path, "%s", f->path);
    r->item.content = f->content;
    r->item.facts = file_facts_of (&f->st, all->a->opt->owner);
    if ((rc = put_item (all, r, err)) == -EINVAL) {
        tell (all, c->path, f->path, "it has a name that cannot be stored");
        return 0;
    }
    all->files++;
    all->bytes += (uint64_t)f->st.st_size;
    return rc;
}

/* Remember what got the capture, to tell of its job. */
static int note_put (struct adding_all *all, const struct ledger_item *i,
                     struct err *err)
{
    struct scoped *s;

    if (!*i->dir)
        return texts_intern (&all->jobs, i->job, strlen (i->job)) == TEXTS_NONE
                   ? err_set (err, ENOMEM, "no memory for jobs") : 0;
    if (!(s = vec_add (&all->scoped, &all->nscoped, sizeof (*s))))
        return err_set (err, ENOMEM, "no memory for captures");
    PRINT (s->capture, "%s", i->capture);
    PRINT (s->place, "%s", i->dir);
    s->rank = i->rank;
    s->newest_ns = i->newest_ns;
    return 0;
}

static int put_capture (struct group *g, size_t i, struct err *err)
{
    struct adding_all *all = g->all;
    const struct add_capture *c = &g->captures[i];
    struct record *r = calloc (1, sizeof (*r));
    int rc = r ? 0 : err_set (err, ENOMEM, "no memory for a capture");

    if (rc == 0 && c->world_size > 0)
        rc = put_claim (all, c, r, err);
    if (rc == 0) {
        item_of (all, c, ITEM_ROWS, &r->item);
        r->item.content = c->rows;
        if ((rc = put_item (all, r, err)) == -EINVAL) {
            tell (all, c->path, NULL, "it has a name that cannot be stored");
            free (r);
            return 0;
        }
        if (rc == 0)
            rc = note_put (all, &r->item, err);
    }
    for (size_t k = 0; k < g->nfiles && rc == 0; k++) {
        if (g->files[k].capture == i)
            rc = put_file (all, c, &g->files[k], r, err);
    }
    free (r);
    all->captures += rc == 0;
    return rc;
}

/* Whether it is still what it was when its files were listed. */
static bool has_changed (const struct group *g, size_t i)
{
    const struct add_capture *c = &g->captures[i];
    struct extract_look now = { .newest_ns = 0 };

    for (size_t k = 0; k < g->nfiles; k++) {
        if (g->files[k].capture == i && g->files[k].rc == -EAGAIN)
            return true;
    }
    return extract_measure (c->path, &now) < 0 ||
           now.tree_sum != c->look.tree_sum ||
           now.newest_ns != c->look.newest_ns ||
           now.tree_bytes != c->look.tree_bytes ||
           now.tree_files != c->look.tree_files;
}

/* Put the captures that did not change meanwhile; the others are read again. */
static int settle (struct group *g, bool last, size_t *again, struct err *err)
{
    int rc = 0;

    *again = 0;
    for (size_t i = 0; i < g->n && rc == 0; i++) {
        struct add_capture *c = &g->captures[i];

        if (c->done)
            continue;
        c->changed = has_changed (g, i);
        c->done = last || !c->changed;
        *again += !c->done;
        if (!c->done)
            continue;
        if (c->changed)
            tell (g->all, c->path, NULL, "it changes while it is read; it was "
                  "not added");
        else if (c->failed)
            tell (g->all, c->path, NULL, c->why.text);
        else
            rc = put_capture (g, i, err);
    }
    return rc;
}

/* ---- listing ---- */

/* A run's mark above the capture names its job. */
static void read_mark (struct add_capture *c)
{
    struct job_mark mark;
    int up = -1;
    int rc = job_mark_read (c->parent, &mark);

    if (rc < 0 && (up = openat (c->parent, "..", O_PATH | O_DIRECTORY |
                                O_CLOEXEC)) >= 0)
        rc = job_mark_read (up, &mark);
    fileio_close (up);
    if (rc == 0 && message_valid_name (mark.job)) {
        PRINT (c->job, "%s", mark.job);
        c->world_size = mark.world_size > 0 ? mark.world_size : 0;
    }
}

static int list_files (struct group *g, struct add_capture *c, struct err *err)
{
    const struct raw_files files = { note_file, pass_over, leave_out, NULL, g };

    c->failed = false;
    c->nfiles = 0;
    (void)extract_measure (c->path, &c->look);
    return g->all->a->opt->no_raw ? 0 : raw_files_each (c->path, &files, err);
}

static int open_capture (struct group *g, const struct found *found,
                         struct err *err)
{
    struct add_capture *c = vec_add (&g->captures, &g->n, sizeof (*c));
    char dir[PATH_MAX];
    size_t n = (size_t)(found->name - found->path);

    if (!c)
        return err_set (err, ENOMEM, "no memory for captures");
    c->path = found->path;
    c->name = found->name;
    PRINT (dir, "%.*s", (int)n, found->path);
    c->parent = open (n ? dir : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->parent < 0)
        return err_sys (err, errno, "cannot open %s", dir);
    if (g->all->a->opt->job)
        PRINT (c->job, "%s", g->all->a->opt->job);
    else
        read_mark (c);
    return list_files (g, c, err);
}

static int read_once (struct group *g, struct err *err)
{
    const struct thread_pieces pieces = { .n = g->n + g->nfiles,
                                          .work = add_piece };
    void *states[THREADS_MAX];

    for (unsigned t = 0; t < g->all->threads; t++) {
        states[t] = g->all->writers[t];
        content_writer_set_arg (g->all->writers[t], g);
    }
    return thread_each (&pieces, states, g->all->threads, err);
}

/* List the files of the captures that changed once more. */
static int list_again (struct group *g, struct err *err)
{
    size_t all = g->n;
    int rc = 0;

    drop_files (g);
    for (g->n = 1; g->n <= all && rc == 0; g->n++) {
        if (!g->captures[g->n - 1].done)
            rc = list_files (g, &g->captures[g->n - 1], err);
    }
    g->n = all;
    return rc;
}

static int add_group (struct group *g, struct err *err)
{
    size_t again = g->n;
    int rc = 0;

    for (unsigned i = 1; rc == 0 && again > 0; i++) {
        if (i > 1)
            rc = list_again (g, err);
        if (rc == 0)
            rc = read_once (g, err);
        if (rc == 0)
            rc = settle (g, i == READ_TRIES, &again, err);
    }
    return rc;
}

/* ---- all of it ---- */

static int add_found (struct adding_all *all, const struct found_list *found,
                      struct err *err)
{
    struct group g = { .all = all };
    int rc = 0;

    for (size_t i = 0; i < found->n && rc == 0; i++) {
        rc = open_capture (&g, &found->items[i], err);
        if (rc == 0 && (i + 1 == found->n || g.nfiles >= GROUP_FILES ||
                        g.n >= GROUP_CAPTURES)) {
            rc = add_group (&g, err);
            drop_group (&g);
        }
    }
    drop_group (&g);
    return rc < 0 ? rc : intake_flush (all->a->in, err);
}

/* Have the captures without a job assigned to one, and find out to which. */
static int divide (struct adding_all *all, struct err *err)
{
    struct json *request, *answer;
    struct ledger_item item;
    int rc;

    if (all->nscoped == 0)
        return 0;
    request = json_object ();
    json_add_text (request, "do", "divide");
    json_add_text (request, "job", SCOPE);
    rc = intake_ask (all->a->in, request, &answer, err);
    json_free (answer);
    for (size_t i = 0; i < all->nscoped && rc == 0; i++) {
        const struct scoped *s = &all->scoped[i];

        item = (struct ledger_item){ .kind = ITEM_ROWS, .rank = s->rank,
                                     .newest_ns = s->newest_ns };
        PRINT (item.scope, SCOPE);
        PRINT (item.dir, "%s", s->place);
        PRINT (item.capture, "%s", s->capture);
        rc = intake_find_job (all->a->in, &item, err);
        if (rc == 0 && texts_intern (&all->jobs, item.job,
                                     strlen (item.job)) == TEXTS_NONE)
            rc = err_set (err, ENOMEM, "no memory for jobs");
    }
    return rc;
}

const char *archive_my_name (void)
{
    const struct passwd *me = getpwuid (getuid ());
    static char number[24];

    if (me)
        return me->pw_name;
    PRINT (number, "%ld", (long)getuid ());
    return number;
}

int archive_give_tags (struct intake *in, const char *job,
                       const struct option_list *tags, struct err *err)
{
    struct json *request, *answer, *list;
    int rc;

    if (tags->n == 0)
        return 0;
    request = json_object ();
    json_add_text (request, "do", "tag");
    json_add_text (request, "job", job);
    json_add_text (request, "by", archive_my_name ());
    list = json_add_array (request, "tags");
    for (size_t k = 0; k < tags->n; k++)
        json_push_text (list, tags->items[k]);
    rc = intake_ask (in, request, &answer, err);
    json_free (answer);
    return rc;
}

static int give_tags (struct adding_all *all, struct err *err)
{
    int rc = 0;

    for (uint32_t i = 0; i < all->jobs.map.n && rc == 0; i++)
        rc = archive_give_tags (all->a->in, texts_at (&all->jobs, i),
                                &all->a->opt->tags, err);
    return rc;
}

/* ---- what it says ---- */

static int print_sums (const struct adding_all *all)
{
    struct intake_sums sums = intake_sums (all->a->in);
    uint32_t jobs = all->jobs.map.n;
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)];
    struct json *o, *list;

    if (all->a->opt->json) {
        o = json_object ();
        list = json_add_array (o, "jobs");
        for (uint32_t i = 0; i < jobs; i++)
            json_push_text (list, texts_at (&all->jobs, i));
        json_add_int (o, "captures", (int64_t)all->captures);
        json_add_int (o, "files", (int64_t)all->files);
        json_add_int (o, "bytes", (int64_t)all->bytes);
        json_add_int (o, "stored", (int64_t)sums.bytes);
        json_add_int (o, "failed", (int64_t)all->failed);
        return cli_flush (all->a->opt->command, cli_print_json (o));
    }
    for (uint32_t i = 0; i < jobs; i++)
        (void)printf ("job %s\n", utf8_escape (texts_at (&all->jobs, i),
                                               UTF8_COLUMN, shown));
    (void)printf ("%zu capture%s of %u job%s, %zu file%s, %llu bytes; %llu new "
                  "bytes are stored%s\n", all->captures,
                  units_s (all->captures), jobs, units_s (jobs), all->files,
                  units_s (all->files), (unsigned long long)all->bytes,
                  (unsigned long long)sums.bytes, sums.served
                      ? "; the aggregator of this root builds their results"
                      : "");
    return cli_flush (all->a->opt->command, 0);
}

/* ---- all of it ---- */

static int find (const struct adding *a, struct found_list *found)
{
    struct err err = { "" };
    int rc;

    found->cancel = &cli_cancelled;
    if ((rc = find_captures (a->dir, found, &err)) < 0)
        return rc == -ECANCELED
                   ? cli_interrupted (a->opt->command, "nothing was added")
                   : cli_fail (a->opt->command, rc == -ENOMEM ? EX_OSERR
                                                             : EX_NOINPUT, "%s",
                                   err.text);
    for (size_t i = 0; i < found->nproblems; i++)
        (void)cli_fail (a->opt->command, 0, "%s", found->problems[i]);
    return found->n > 0 ? 0 : cli_fail (a->opt->command, EX_NOINPUT, "no captures below %s",
                                            a->called);
}

static int open_writers (struct adding_all *all, struct err *err)
{
    const struct archive_options *opt = all->a->opt;
    enum chunk_codec codec = CODEC_LZ4;
    int64_t n = opt->threads > 0 ? opt->threads : sysconf (_SC_NPROCESSORS_ONLN);
    int rc = pack_parse_codec (opt->compress, &codec, err);

    all->threads = n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
    for (unsigned t = 0; t < all->threads && rc == 0; t++)
        rc = content_writer_create (all->a->in, codec, &all->writers[t], err);
    host_name (all->host, sizeof (all->host));
    host_id (all->host_id);
    return rc;
}

static void end_all (struct adding_all *all)
{
    for (unsigned t = 0; t < all->threads; t++)
        content_writer_destroy (all->writers[t]);
    texts_fini (&all->jobs);
    free (all->scoped);
}

int archive_add_dir (const struct adding *a)
{
    struct adding_all all = { .a = a };
    struct found_list found = { .items = NULL };
    struct err err = { "" };
    int status = find (a, &found), rc = 0;

    if (status == 0) {
        if ((rc = open_writers (&all, &err)) == 0)
            rc = add_found (&all, &found, &err);
        if (rc == 0)
            rc = divide (&all, &err);
        if (rc == 0)
            rc = give_tags (&all, &err);
        status = rc < 0 ? archive_fail (a->opt, rc, &err) : print_sums (&all);
        if (status == 0 && (all.failed > 0 || found.unread))
            status = EXIT_NOT_ALL;
    }
    end_all (&all);
    find_free (&found);
    return status;
}

int archive_fail (const struct archive_options *opt, int rc,
                  const struct err *err)
{
    if (rc == -EINTR)
        return cli_interrupted (opt->command, "what came so far is kept; "
                                "the same command goes on");
    return cli_fail (opt->command, rc == -EINVAL    ? EXIT_USAGE
                         : rc == -ENOENT  ? EX_NOINPUT
                         : rc == -EBUSY   ? EX_TEMPFAIL
                         : rc == -EBADMSG || rc == -EFBIG ? EX_DATAERR
                         : rc == -ENOTSUP || rc == -EEXIST || rc == -ENOSPC
                             ? EX_CANTCREAT
                         : rc == -EACCES || rc == -EPERM ? EX_NOPERM
                                                         : EX_IOERR,
                         "%s", err->text);
}

int archive_add (const struct archive_options *opt, int n, char **dirs)
{
    struct adding a = { .opt = opt };
    struct err err = { "" };
    int status = 0, rc;

    cli_catch_signals ();
    if ((rc = intake_open (opt->root, true, &a.in, &err)) < 0)
        return archive_fail (opt, rc, &err);
    if (opt->verify)
        intake_verify (a.in);
    for (int i = 0; i < n && (status == 0 || status == EXIT_NOT_ALL); i++) {
        int one;

        a.dir = a.called = dirs[i];
        one = archive_add_dir (&a);
        status = one > status ? one : status;
    }
    intake_close (a.in);
    return status;
}
