/* cli/interchange/archive_get.c - rollcall archive get: stored files, byte for
 * byte
 */
#include "archive_verb.h"
#include "get_missing.h"

#include "archive/archive_stream.h"
#include "archive/capture_place.h"
#include "base/units.h"
#include "base/utf8.h"
#include "model/beside.h"
#include "model/job_mark.h"
#include "options/shell.h"
#include "several/job_copies.h"
#include "shared/root.h"
#include "shared/view.h"
#include "store/content.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct get_words {              // of the command line, with "get"
    const struct archive_options *opt;
    int n;
    char *const *words;
};

struct getting {
    const struct command_spec *command;         // for messages
    const char *job, *what, *dir, *file;        // what: NULL: all of the job
    struct tree out;            // 'dir', once there is something to get
    struct capture_places places;
    int64_t rank;               // -1: 'what' is the name of a capture
    bool superseded;            // those, and only those
    bool owner;                 // restore it
    bool foreign;               // it may be another user's
    FILE *in;                   // the items come from there; or NULL
    int64_t world_size;         // of the job of this one; 0: nobody said it
    bool read;                  // the bytes of this one have been read
    size_t files, shipments;    // of the files
    size_t bad, there;          // of the bad ones: DIR has them already
    bool several;               // places have the job: the first one has its
    bool later;                 // rows; and this is another one
    const char *place;          // on another host that is asked; or NULL
    struct cli_rest rest;       // of the job; home: "" if it was said
    struct get_missing missing;
};

/* The path in DIR: CAPTURE/PATH for a raw file, CAPTURE/rollcall.shipment for
 * rows, with a mark beside it; a file that was beside its capture is beside it.
 * Captures of one name are kept apart by capture_place.  A path may have any
 * number of superseded versions, each followed by the name that ls gives it.
 */
static int target_path (struct getting *g, const struct ledger_item *i,
                        char path[PATH_MAX])
{
    bool beside = i->kind == ITEM_RAW && beside_size (i->capture, i->path) > 0;
    char place[CAPTURE_PLACE_MAX], hex[DIGEST_HEX_SIZE];
    int n;

    if (capture_place (&g->places, i, place) < 0)
        return cli_fail (g->command, -ENOMEM, "no memory for a name");
    digest_hex (&i->content, hex);
    n = snprintf (path, PATH_MAX, "%s%s%s%s%s%.*s", place,
                  beside ? "" : i->capture, beside ? "" : "/",
                  i->kind == ITEM_ROWS ? SHIPMENT_NAME : i->path,
                  g->superseded ? "~" : "", g->superseded ? 16 : 0, hex);
    return n < PATH_MAX ? 0 : cli_fail (g->command, -ENAMETOOLONG,
                                        "path is too long: %s", g->dir);
}

static int open_out (struct getting *g, struct err *err)
{
    int rc = tree_make_out (g->dir, FILEIO_DIR_MODE, g->foreign, err);

    if (rc == 0)
        rc = tree_open (&g->out, g->dir, err);
    if (rc == 0 && (rc = tree_check_owner (&g->out, g->foreign, err)) < 0)
        tree_close (&g->out);
    return rc;
}

/* Whether --file names it, or it is no shipment that an earlier add took for a
 * raw file.
 */
static bool has_file (const struct getting *g, const struct ledger_item *i)
{
    const char *slash = strrchr (i->path, '/');

    if (!g->file)
        return i->kind == ITEM_ROWS || strcmp (i->path, SHIPMENT_NAME) != 0;
    return i->kind == ITEM_RAW &&
           (fnmatch (g->file, i->path, FNM_NOESCAPE) == 0 ||
            (slash && !strchr (g->file, '/') &&
             fnmatch (g->file, slash + 1, FNM_NOESCAPE) == 0));
}

static bool is_wanted (const struct getting *g, const struct ledger_item *i)
{
    return i->superseded == g->superseded && has_file (g, i) &&
           !(g->later && i->kind == ITEM_ROWS) &&
           (!g->what || (g->rank >= 0 && i->rank == g->rank) ||
            strcmp (i->capture, g->what) == 0);
}

static int fill_from_stream (void *arg, int out, struct err *err)
{
    struct getting *g = arg;

    g->read = true;
    return archive_stream_fill (g->in, out, err);
}

/* From the root, or what has come of it. */
static int write_item (struct getting *g, struct archive *a,
                       const struct ledger_item *i, const char *path,
                       struct err *err)
{
    return g->in ? archive_write (&g->out, path, &i->facts, g->owner,
                                  fill_from_stream, g, err)
                 : archive_get (a, i, &g->out, path, g->owner, err);
}

static int fill_from_text (void *arg, int out, struct err *err)
{
    int rc = fileio_write_all (out, arg, strlen (arg));

    return rc < 0 ? err_sys (err, -rc, "cannot write it") : 0;
}

/* Beside the shipment: whose capture it is, for who adds or analyses it. */
static int write_mark (struct getting *g, const struct ledger_item *i,
                       char path[PATH_MAX])
{
    static const struct file_facts facts = { .mode = 0 };
    struct job_mark mark;
    struct err err = { "" };
    char *text;
    int rc;

    archive_mark (i, g->job, g->world_size, &mark);
    if (!(text = job_mark_text (&mark)))
        return cli_fail (g->command, -ENOMEM, "no memory for a mark");
    (void)strcpy (strrchr (path, '/') + 1, JOB_MARK_NAME);
    rc = archive_write (&g->out, path, &facts, false, fill_from_text, text,
                        &err);
    free (text);
    if (rc != -EEXIST)
        return rc < 0 ? cli_fail (g->command, rc, "%s/%s: %s", g->dir, path,
                                  err.text) : 0;
    g->bad++;
    g->there++;
    return cli_fail (g->command, 0, "%s/%s: %s", g->dir, path, err.text);
}

/* Whether a file has the bytes of an item: of two copies, one was got. */
static bool is_same (const struct getting *g, const struct ledger_item *i,
                     const char *path)
{
    int fd = tree_openat (g->out.fd, path, O_RDONLY | O_NONBLOCK, 0, false);
    struct digest id;
    struct stat st;
    bool same = fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode) &&
                content_id_of_file (fd, (uint64_t)st.st_size, &id, NULL) == 0 &&
                digest_is (&id, &i->content);

    fileio_close (fd);
    return same;
}

/* 0: the others are worth having. */
static int not_written (struct getting *g, const char *path, int rc,
                        const struct err *err)
{
    const char *from = g->place ? ", from " : "", *place = g->place ? g->place : "";

    if (rc == -EBADMSG || rc == -ENOENT || rc == -ENOTDIR ||
        rc == -ENAMETOOLONG || rc == -ELOOP || rc == -EXDEV ||
        (rc == -EEXIST && g->files > 0)) {
        g->bad++;
        g->there += rc == -EEXIST;
        return cli_fail (g->command, 0, "%s/%s%s%s: %s", g->dir, path, from,
                         place, err->text);
    }
    if (rc == -EEXIST)
        return cli_fail (g->command, rc, "%s/%s exists, and nothing is "
                         "overwritten: name another directory",
                         g->dir, path);
    return cli_fail (g->command, rc, "%s/%s%s%s: %s", g->dir, path, from, place,
                     err->text);
}

static int get_item (void *arg, struct archive *a, const struct ledger_item *i)
{
    struct getting *g = arg;
    struct err err = { "" };
    char path[PATH_MAX];
    bool bad, damaged;
    int rc;

    if (atomic_load (&cli_cancelled))
        return -EINTR;
    if (!is_wanted (g, i))
        return 0;
    if (cli_is_view ()) {
        g->files++;
        return archive_stream_put (a, i);
    }
    if (!g->out.path[0] && (rc = open_out (g, &err)) < 0)
        return cli_fail (g->command, rc, "%s", err.text);
    if ((rc = target_path (g, i, path)) < 0)
        return rc;
    rc = write_item (g, a, i, path, &err);
    if (rc == -EEXIST && g->later && is_same (g, i, path))
        return 0;
    damaged = rc == -EBADMSG || rc == -ENOENT;
    bad = rc < 0;
    if (bad) {
        rc = not_written (g, path, rc, &err);
    } else {
        g->files++;
        g->shipments += i->kind == ITEM_ROWS;
    }
    if (rc < 0 || g->file || g->superseded)
        return rc;
    rc = get_missing_note (&g->missing, &g->out, path, i, bad);
    if (rc < 0 || i->kind != ITEM_ROWS || (bad && !damaged))
        return rc;
    if (a)
        g->world_size = ledger_world_size (a->ledger, i->job);
    return write_mark (g, i, path);
}

static void tell_got (const struct getting *g)
{
    char shown[UTF8_ESCAPED (FACT_VALUE_MAX)],
         elsewhere[sizeof (shown) + 32] = "";
    size_t raw = g->files - g->shipments;

    if (*g->rest.raw_at)
        PRINT (elsewhere, "%s%s",
               utf8_escape (g->rest.raw_at, UTF8_COLUMN, shown),
               g->several ? "" : " (--aggregators asks there, too)");
    if (raw > 0)
        (void)printf ("%zu raw file%s", raw, units_s (raw));
    if (g->shipments == 1)
        (void)printf ("%s" SHIPMENT_NAME, raw > 0 ? " and " : "");
    else if (g->shipments > 1 || raw == 0)
        (void)printf ("%s%zu shipment%s", raw > 0 ? " and " : "",
                      g->shipments, units_s (g->shipments));
    (void)printf (" in %s%s", g->dir,
                  g->bad == 0          ? ""
                  : g->bad == g->there ? ", which had others already"
                                       : ", others are damaged or cannot be "
                                         "written");
    get_missing_tell (&g->missing, g->job, raw == 0, elsewhere, stdout);
    (void)fputc ('\n', stdout);
}

/* The words behind get. */
static void begin_get (struct getting *g, const struct archive_options *opt,
                       int n, char *const *words)
{
    *g = (struct getting){ .command = opt->command, .job = words[0],
                           .what = n > 2 ? words[1] : NULL,
                           .dir = words[n - 1], .rank = -1,
                           .superseded = opt->superseded, .owner = opt->owner,
                           .file = opt->file, .foreign = opt->foreign };
    capture_places_init (&g->places);
    get_missing_init (&g->missing);
    if (g->what)
        (void)units_rank (g->what, &g->rank);
}

static void end_get (struct getting *g)
{
    get_missing_fini (&g->missing);
    tree_close (&g->out);
    capture_places_fini (&g->places);
}

static int nothing_wanted (const struct getting *g)
{
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];

    return cli_fail (g->command, EX_NOINPUT, "job %s has no capture%s%s%s%s: "
                     "rollcall archive ls %s lists them%s", g->job,
                     g->what ? " and no rank " : "", g->what ? g->what : "",
                     g->superseded ? " with superseded versions" : "",
                     g->file ? " with such a file" : "",
                     shell_word (g->job, word),
                     g->what && strcmp (g->what, "-1") == 0
                         ? ", and those of rank -1, which is not known, are "
                           "named" : "");
}

/* Files are whole, but the same command would find them in its way. */
static int interrupted (const struct getting *g)
{
    if (g->files == 0)
        return cli_interrupted (g->command, "nothing was written");
    return cli_interrupted (g->command, "%zu file%s of %s %s whole in %s: remove "
                            "that to get all", g->files, units_s (g->files),
                            g->job, units_are (g->files), g->dir);
}

/* Where the rest of a divided job is. */
static void tell_home (const struct getting *g)
{
    char shown[UTF8_ESCAPED (FACT_VALUE_MAX)];

    if (*g->rest.home && !*g->rest.raw_at && !g->file && g->shipments == 0)
        (void)cli_fail (g->command, 0, "the rows of job %s are at %s", g->job,
                        utf8_escape (g->rest.home, UTF8_COLUMN, shown));
}

static int told (struct getting *g)
{
    int missing = get_missing_end (&g->missing);

    if (missing < 0)
        return cli_fail (g->command, EX_OSERR, "no memory for ranks");
    if (!cli_is_view ())
        tell_home (g);
    if (g->files + g->bad == 0)
        return nothing_wanted (g);
    if (!cli_is_view ())
        tell_got (g);
    return cli_flush (g->command, 0)           ? EX_IOERR
           : g->bad > 0 && g->bad == g->there ? EX_CANTCREAT
                                              : g->bad > 0;
}

/* What comes of the service, which cannot name another place: the names are
 * checked as those of agents are.
 */
static int get_all_of (struct getting *g, FILE *in)
{
    struct ledger_item i;
    struct err err = { "" };
    int rc;

    g->in = in;
    while ((rc = archive_stream_next (in, &i, &g->world_size, &err)) > 0) {
        g->read = false;
        if (is_wanted (g, &i) && (rc = get_item (g, NULL, &i)) < 0)
            return rc;
        if (!g->read)
            (void)archive_stream_fill (in, -1, &err);
    }
    return rc < 0 && !atomic_load (&cli_cancelled)
               ? cli_fail (g->command, rc, "%s%s%s", g->place ? g->place : "",
                           g->place ? ": " : "", err.text) : rc;
}

/* Another process reads, and prints into 'out', which is closed; this one writes.
 * 'end' waits for its exit status.
 */
static int get_from (struct getting *g, int out,
                     int (*end) (struct getting *g, void *arg), void *arg)
{
    FILE *in = fdopen (out, "r");
    int rc, status;

    if (!in)
        return cli_fail (g->command, EX_OSERR, "no memory");
    rc = get_all_of (g, in);
    (void)fclose (in);
    g->in = NULL;
    status = end (g, arg);
    return rc < 0 ? cli_output_status (rc) : status;
}

static int end_view (struct getting *g, void *v)
{
    return cli_view_end (g->command, v);
}

static int get_by_view (struct getting *g, const struct get_words *w,
                        const char *root)
{
    struct cli_view v;
    int status = cli_view_begin (g->command, root, w->opt, w->n, w->words, &v);
    int out = v.out;

    v.out = -1;
    return status ? status : get_from (g, out, end_view, &v);
}

/* One of several may have nothing of what is wanted. */
static int end_place (struct getting *g, void *v)
{
    return place_print (g->command, v, g->several ? EX_NOINPUT : 0);
}

static int get_by_place (struct getting *g, const struct get_words *w,
                         const struct cli_place *place)
{
    struct json *request = cli_view_request (g->command, w->opt, w->n,
                                             w->words);
    struct place_view v;
    struct err err = { "" };
    int rc = place_begin (place, request, &v, &err), out = v.out;

    json_free (request);
    v.out = -1;
    g->place = place->name;
    return rc < 0 ? cli_fail (g->command, EX_OSERR, "%s", err.text)
                  : get_from (g, out, end_place, &v);
}

static int get_of_root (struct getting *g, const struct get_words *w,
                        const char *root)
{
    struct archive a;
    int status = cli_open_archive (g->command, root, &a);
    long items;

    if (status)
        return status;
    a.threads = (unsigned)w->opt->threads;
    items = cli_each_item (g->command, &a, g->job, true, get_item, g);
    status = items < 0    ? cli_output_status ((int)items)
             : items == 0 ? cli_no_job (g->command, a.root, g->job,
                                        ARCHIVE_JOBS_LISTED) : 0;
    archive_close (&a);
    return status;
}

static int get_at (struct getting *g, const struct get_words *w,
                   const struct cli_place *place)
{
    return place->security                ? get_by_place (g, w, place)
           : cli_needs_view (place->name) ? get_by_view (g, w, place->name)
                                          : get_of_root (g, w, place->name);
}

/* The first status that is not 0, but of those that have nothing. */
static int get_at_each (struct getting *g, const struct get_words *w,
                        const struct archive_sources *from)
{
    int status = 0;

    for (size_t i = 0; i < from->n && !atomic_load (&cli_cancelled); i++) {
        int one;

        g->later = i > 0;
        g->place = NULL;
        one = get_at (g, w, from->list[i]);
        if (status == 0 && (one != EX_NOINPUT || !g->several))
            status = one;
    }
    return status;
}

/* ---- where the rest of a job is ---- */

/* As a root that this user can read says. */
static void rest_in_root (const char *root, const char *job,
                          struct cli_rest *ret)
{
    char path[PATH_MAX];
    struct ledger *l = NULL;

    if (fileio_join (path, sizeof (path), root, "ledger.db") &&
        ledger_open_quick (path, &l, NULL) == 0)
        cli_rest_read (l, job, ret);
    ledger_close (l);
}

/* As its service says: without an answer get fails, too, and says why. */
static void rest_at_place (const struct cli_place *place, const char *job,
                           struct cli_rest *ret)
{
    struct cli_places p = { .list = { *place }, .n = 1 };
    struct job_copies j;

    job_copies_peek (&p, job, &j);
    if (j.n > 0) {
        PRINT (ret->home, "%s", j.list[0].home);
        PRINT (ret->raw_at, "%s", j.list[0].raw_at);
    }
    job_copies_fini (&j);
}

static void find_rest (const struct cli_place *place, const char *job,
                       struct cli_rest *ret)
{
    if (cli_is_view ())
        return;                 // whoever asked finds out
    if (place->security || cli_needs_view (place->name))
        rest_at_place (place, job, ret);
    else
        rest_in_root (place->name, job, ret);
}

/* ---- the verb ---- */

int archive_get_all (const struct archive_options *opt,
                     const struct archive_sources *from, int nwords,
                     char *const *words)
{
    const struct get_words w = { opt, nwords, words };
    struct getting g;
    int status, all;

    if (!cli_is_view ())
        cli_catch_signals ();
    begin_get (&g, opt, nwords - 1, words + 1);
    g.rest = from->rest;
    g.several = from->n > 1;
    status = get_at_each (&g, &w, from);
    if (atomic_load (&cli_cancelled)) {
        status = interrupted (&g);
    } else if (status == 0 || (g.several && g.files > 0)) {
        all = told (&g);
        status = status ? status : all;
    }
    end_get (&g);
    return status;
}

int archive_get_of_root (const struct archive_options *opt, int nwords,
                         char *const *words)
{
    const struct cli_place root = { opt->root, NULL };
    struct archive_sources from = { .list = { &root }, .n = 1 };

    find_rest (&root, words[1], &from.rest);
    return archive_get_all (opt, &from, nwords, words);
}
