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
#include "archive_add_private.h"

#include "archive/audit.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/utf8.h"
#include "discovery/raw_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void add_note (const struct adding_all *all, const char *path,
               const char *file, const char *why)
{
    char text[PATH_MAX + RAW_FILES_PATH_MAX + ERR_TEXT_MAX];
    char shown[UTF8_ESCAPED (sizeof (text))];

    PRINT (text, "%s%s%s: %s", path, file && *file ? "/" : "",
           file ? file : "", why);
    (void)cli_fail (all->a->opt->command, 0, "%s",
                    utf8_escape (text, UTF8_COLUMN, shown));
}

void add_tell (struct adding_all *all, const char *path, const char *file,
               const char *why)
{
    add_note (all, path, file, why);
    all->failed++;
}

/* ---- jobs ---- */

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
    json_add_text (request, "job", ADD_SCOPE);
    rc = intake_ask (all->a->in, request, &answer, err);
    json_free (answer);
    for (size_t i = 0; i < all->nscoped && rc == 0; i++) {
        const struct add_scoped *s = &all->scoped[i];

        item = (struct ledger_item){ .kind = ITEM_ROWS, .rank = s->rank,
                                     .newest_ns = s->newest_ns };
        PRINT (item.scope, ADD_SCOPE);
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
    static char name[AUDIT_USER_MAX];

    audit_name_user (getuid (), name);
    return name;
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

static int print_json_sums (const struct adding_all *all,
                            const struct intake_sums *sums)
{
    struct json *o = json_object (), *list = json_add_array (o, "jobs");

    for (uint32_t i = 0; i < all->jobs.map.n; i++)
        json_push_text (list, texts_at (&all->jobs, i));
    json_add_int (o, "captures", (int64_t)all->captures);
    json_add_int (o, "files", (int64_t)all->files);
    json_add_int (o, "bytes", (int64_t)all->bytes);
    json_add_int (o, "stored", (int64_t)sums->bytes);
    json_add_int (o, "failed", (int64_t)all->failed);
    return cli_flush (all->a->opt->command, cli_print_json (o));
}

static int print_sums (const struct adding_all *all)
{
    struct intake_sums sums = intake_sums (all->a->in);
    uint32_t jobs = all->jobs.map.n;
    char shown[UTF8_ESCAPED (MESSAGE_NAME_MAX)], bytes[16], stored[16];

    if (all->a->opt->json)
        return print_json_sums (all, &sums);
    for (uint32_t i = 0; i < jobs; i++)
        (void)printf ("job %s%s\n", utf8_escape (texts_at (&all->jobs, i),
                                                 UTF8_COLUMN, shown),
                      intake_is_assumed (all->a->in, texts_at (&all->jobs, i))
                          ? " (assumed: nothing says that all of its captures "
                            "are of one job)" : "");
    units_bytes_text (all->bytes, bytes);
    units_bytes_text (sums.bytes, stored);
    (void)printf ("%zu capture%s of %u job%s, %zu file%s, %s; %s newly stored; "
                  "%s\n", all->captures, units_s (all->captures), jobs,
                  units_s (jobs), all->files, units_s (all->files), bytes,
                  stored, sums.served
                      ? "the aggregator of this root builds their results"
                      : "rollcall build --all builds their results");
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
                   : cli_fail (a->opt->command,
                               rc == -ENOMEM ? EX_OSERR : EX_NOINPUT, "%s",
                               err.text);
    for (size_t i = 0; i < found->nproblems; i++)
        (void)cli_fail (a->opt->command, 0, "%s", found->problems[i]);
    return found->n > 0 ? 0 : cli_fail (a->opt->command, EX_NOINPUT,
                                        "no captures below %s", a->called);
}

static int open_writers (struct adding_all *all, struct err *err)
{
    const struct archive_options *opt = all->a->opt;
    enum chunk_codec codec = CODEC_LZ4;
    int64_t n = opt->threads > 0 ? opt->threads : thread_processors ();
    int rc = pack_parse_codec (opt->compress, &codec, err);

    all->threads = n < 1                 ? 1
                   : n > ADD_THREADS_MAX ? ADD_THREADS_MAX : (unsigned)n;
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
    job_marks_fini (&all->marks);
    texts_fini (&all->jobs);
    free (all->scoped);
}

int archive_add_dir (struct adding *a)
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

void archive_add_end (struct adding *a)
{
    map_fini (&a->added);
    texts_fini (&a->paths);
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
    archive_add_end (&a);
    intake_close (a.in);
    return status;
}
