/* aggregator/builder/build.c - build one analysis.db from all captures of a job
 *
 * Each thread reads a contiguous range of captures and writes their rows as
 * pages of one file.  SQLite then opens the file and adds the small tables.
 * Finally the file is checked, fsynced and renamed.
 *
 * This folder: shipments into analysis.db, and the choice of result files.
 */
#include "builder/build_private.h"

#include "base/clock.h"
#include "base/units.h"
#include "base/vec.h"
#include "builder/conflicts.h"
#include "builder/split.h"
#include "builder/previous_result.h"
#include "builder/rollup.h"
#include "builder/tables.h"
#include "select/select_hosts.h"
#include "select/select_steps.h"
#include "select/select_verify.h"
#include "store/db.h"
#include "store/fileio.h"
#include "waits/wait.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANCEL_OPS 100000       // of SQLite's virtual machine: some 5 ms

/* Also a progress handler: a nonzero result ends the statement. */
static int is_cancelled (void *arg)
{
    const struct builder *b = arg;

    return build_is_cancelled (b);
}

bool build_is_cancelled (const struct builder *b)
{
    return atomic_load (&b->cancel) || atomic_load (b->job->cancel);
}

static int open_result (struct builder *b, struct err *err)
{
    if (db_open (b->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                 &b->db) != SQLITE_OK)
        return db_error (b->db, b->path, err);
    sqlite3_progress_handler (b->db, CANCEL_OPS, is_cancelled, b);
    return db_exec (b->db, "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                           "PRAGMA locking_mode=EXCLUSIVE;"
                           "PRAGMA secure_delete=OFF", err);
}

/* Turn the file that the threads wrote into a database, and open it. */
static int join_rows (struct builder *b, struct err *err)
{
    int rc = row_file_finish (b->file, b->spans, b->job->nitems, b->threads,
                              b->job->cancel, err);

    row_file_close (b->file);
    b->file = NULL;
    if (rc == 0)
        rc = open_result (b, err);
    return rc < 0 || !b->former ? rc : former_attach (b->former, b->db, err);
}

static int drop_conflicts (sqlite3 *db, struct builder *b, struct err *err)
{
    struct select_item *items = b->job->items;
    struct select_conflict *list = NULL;
    size_t n = 0;
    int rc;

    select_settle (items, b->job->nitems);
    if (select_name_hosts (items, b->job->nitems) < 0)
        return err_set (err, ENOMEM, "no memory for hosts");
    rc = select_conflicts (items, b->job->nitems, &list, &n);
    if (rc < 0)
        return err_set (err, ENOMEM, "no memory for conflicts");
    b->plain = former_is_plain (b->job, n) && groups_all_known (b->groups);
    rc = b->former && !b->plain
             ? err_set (err, ESTALE, "rows of the former result change")
             : conflicts_drop (db, list, n, err);
    free (list);
    return rc;
}

/* The captures may show more ranks than anybody expected. */
static void tell_larger (const struct build_job *job)
{
    const char *known_by;
    int64_t world = select_world_size (job->items, job->nitems, &known_by);
    char text[160];

    if (world <= job->roster->world_size || strcmp (known_by, "guess") == 0)
        return;
    (void)snprintf (text, sizeof (text), "the captures show %lld rank%s at "
                    "least (%s); %lld %s expected (%s)", (long long)world,
                    units_s ((uint64_t)world), known_by,
                    (long long)job->roster->world_size,
                    units_are ((uint64_t)job->roster->world_size),
                    job->roster->known_by);
    roster_add_note (job->roster, text);
}

static int fill_roster (const struct builder *b)
{
    const struct build_job *job = b->job;
    const char *known_by;
    int64_t world;
    int rc = 0;

    if (job->roster->world_size == 0) {
        world = select_world_size (job->items, job->nitems, &known_by);
        rc = roster_expect_world (job->roster, world, known_by);
    }
    select_tell_worlds (job->items, job->nitems);
    tell_larger (job);
    previous_result_note_missing (b->out, job);
    return rc < 0 ? rc : select_fill_roster (job->items, job->nitems,
                                             job->roster);
}

struct job_origin build_origin (const struct select_item *items, size_t n)
{
    struct job_origin a = { "", "", "" };

    for (size_t i = 0; i < n; i++) {
        const struct job_origin *x = items[i].capture.evidence.about;

        if (!x)
            continue;
        if (!a.scheduler_id[0])
            memcpy (a.scheduler_id, x->scheduler_id, sizeof (a.scheduler_id));
        if (!a.user[0])
            memcpy (a.user, x->user, sizeof (a.user));
        if (!a.command[0])
            memcpy (a.command, x->command, sizeof (a.command));
    }
    return a;
}

bool build_is_of (const struct select_item *items, size_t n, const char *user)
{
    for (size_t i = 0; i < n; i++) {
        const struct job_origin *x = items[i].capture.evidence.about;

        if (!x || strcmp (x->user, user) != 0)
            return false;
    }
    return n > 0 && *user;
}

static struct job_origin origin_of (const struct build_job *job)
{
    struct job_origin a = build_origin (job->items, job->nitems);

    if (job->forget)
        memset (a.command, 0, sizeof (a.command));
    return a;
}

/* Values must not stay in pages that are free. */
static int forget_environment (sqlite3 *db, const struct build_job *job,
                               struct err *err)
{
    return job->forget
               ? db_exec (db, "PRAGMA secure_delete=ON;DELETE FROM CaptureInfo "
                              "WHERE kind='environment'", err) : 0;
}

static int write_rest (struct builder *b, sqlite3 *db, struct err *err)
{
    const struct build_job *job = b->job;
    const struct tables_job about = { job->job_id, job->steps, job->inputs,
                                      job->others,
                                      job->assumed && *job->assumed,
                                      origin_of (job),
                                      *b->began ? b->began : NULL };
    char temp[PATH_MAX];
    int rc = publish_temp (b->out, "wait", 0, temp, err);

    if (rc < 0)
        return rc;
    rc = db_execf (db, err, "PRAGMA application_id=%d;PRAGMA "
                       "user_version=%d;BEGIN", PUBLISH_APPLICATION_ID,
                       TABLES_SCHEMA_VERSION);

    build_report (b, "checking which ranks are present");
    if (rc == 0)
        rc = tables_create (db, err);
    if (rc == 0)
        rc = forget_environment (db, job, err);
    if (rc == 0)
        rc = drop_conflicts (db, b, err);
    if (rc == 0)
        rc = groups_write (b->groups, db, err);
    if (rc == 0 && b->former)
        rc = former_groups (db, err);
    if (rc == 0 && select_check_steps (job->items, job->nitems) < 0)
        rc = err_set (err, ENOMEM, "no memory for steps");
    if (rc == 0 && fill_roster (b) < 0)
        rc = err_set (err, ENOMEM, "no memory for the roster");
    if (rc == 0)
        rc = tables_write_captures (db, job->items, job->nitems, err);
    if (rc == 0)
        rc = tables_write_ranges (db, job->items, job->nitems, err);
    if (rc == 0)
        rc = tables_write_roster (db, job->roster, err);
    if (rc == 0)
        rc = tables_write_excluded (db, job->items, job->nitems, err);
    if (rc == 0)
        rc = select_mark_edges (db, job->items, job->nitems,
                                !(job->derive && job->derive->all_steps), err);
    if (rc == 0)
        rc = tables_write_job (db, &about, job->roster, err);
    if (rc == 0)
        rc = rollup_links (db, err);
    build_report (b, "computing who waited for whom");
    if (rc == 0)
        rc = wait_derive (db, job->items, job->nitems, temp, b->threads,
                          job->cancel, err);
    build_report (b, "making indexes");
    if (rc == 0)
        rc = tables_index (db, err);
    build_report (b, "summing up");
    if (rc == 0)
        rc = rollup_derive (db, job->derive ? job->derive->topology : NULL,
                            err);
    build_report (b, "computing findings");
    if (rc == 0)
        rc = findings_derive (db, job->derive ? job->derive->findings : NULL,
                              b->threads, job->cancel, err);
    return rc < 0 ? rc : db_exec (db, "COMMIT", err);
}

static bool any_read (const struct builder *b)
{
    const struct select_item *items = b->job->items;

    for (size_t i = 0; i < b->job->nitems; i++) {
        if (!items[i].skip && items[i].capture.whole_tables != 0)
            return true;
    }
    return false;
}

static void close_result (struct builder *b)
{
    (void)sqlite3_close (b->db);
    b->db = NULL;
}

/* For the next build.  Without memory it reads all captures. */
static void leave_state (struct builder *b)
{
    struct build_state *s = b->job->state, made = { .pages = b->sums };
    const struct row_span *span = b->spans;     // in the same order
    bool ok = b->plain;

    b->sums = (struct page_sums){ 0 };
    for (size_t i = 0; i < b->job->nitems && ok; i++) {
        const struct select_item *item = &b->job->items[i];
        struct build_capture c = { .id = item->id,
                                   .first_row = item->first_row,
                                   .rows_max = item->rows_max };

        if (item->skip || !capture_has_rows (&item->capture))
            continue;
        while (span->first != item->first_row)
            span++;
        memcpy (c.rows, span->rows, sizeof (c.rows));
        if ((ok = item->content)) {
            c.content = *item->content;
            ok = vec_push (&made.captures, &made.ncaptures, &c,
                           sizeof (c)) == 0;
        }
    }
    if (ok && b->former) {
        made.blocks = s->blocks;
        s->blocks = (struct rows_blocks){ NULL, 0 };
    }
    build_state_fini (s);
    if (ok)
        *s = made;
    else
        build_state_fini (&made);
}

static int64_t one_file (const struct build_job *job)
{
    return !job->derive                ? SPLIT_DEFAULT
           : job->derive->one_file > 0 ? job->derive->one_file : INT64_MAX;
}

static int check (struct builder *b, struct err *err)
{
    int rc;

    build_report (b, "checking the file");
    rc = publish_check_db (b->path, b->threads,
                           b->job->state ? &b->sums : NULL, err);
    b->checked = rc == 0;
    return rc;
}

/* What was copied is gone, so this cannot be done twice.  The next build reads
 * all captures.
 */
static int divide (struct builder *b, struct err *err)
{
    char one[PATH_MAX];
    int rc;

    build_report (b, "dividing the result");
    b->checked = true;
    b->plain = false;
    memcpy (one, b->path, sizeof (one));
    rc = split_write (&b->split, b->out, one, b->threads, b->job->cancel,
                       err);
    if (rc == 0)
        memcpy (b->path, b->split.path, sizeof (b->path));
    (void)unlink (one);
    return rc;
}

/* Other builds wait from now on. */
static int choose_place (struct builder *b, struct build_result *ret,
                         struct err *err)
{
    const struct publish_caller caller = { b->job->cancel, b->job->say,
                                           b->job->say_arg };
    int rc;

    build_report (b, "writing it to disk");
    rc = split_bring (&b->split, b->out, b->job->cancel, err);
    if (rc == 0)
        rc = publish_bring (b->out, b->path, b->job->cancel, err);
    return rc < 0 ? rc : publish_choose (b->out, b->job->job_id,
                                         *b->began ? b->began : NULL, &caller,
                                         ret->newer, err);
}

/* Of the former result, or of this one if it was not published. */
static void remove_parts (struct builder *b, struct parts_names *former,
                          int published)
{
    struct err err = { "" };

    if (published < 0) {
        parts_names_fini (former);
        (void)split_names (&b->split, former);
    }
    if (parts_clean (b->out, former, &err) < 0 && b->job->say)
        b->job->say (b->job->say_arg, err.text);
    parts_names_fini (former);
}

static int put_in_place (struct builder *b, struct build_result *ret,
                         struct err *err)
{
    struct parts_names former;
    char old[PATH_MAX];
    int rc;

    if ((rc = choose_place (b, ret, err)) < 0)
        return rc;
    if (!fileio_join (ret->path, sizeof (ret->path), b->out->dir.path,
                      BUILD_DB_NAME))
        return err_set (err, ENAMETOOLONG, "path is too long: %s",
                        b->out->dir.path);
    if ((rc = publish_path (b->out, BUILD_DB_NAME, old, err)) < 0)
        return rc;
    // a COMMAND that did not start must not replace an earlier result
    b->out->keep = ret->rows == 0 && publish_has_rows (old);
    rc = split_finish (&b->split, b->out, b->job->cancel, err);
    // late: without a lock, another build may have replaced it just now
    parts_note (b->out, &former);
    if (rc == 0)
        rc = publish_finish (b->out, b->path, BUILD_DB_NAME, publish_is_our_db,
                             b->job->cancel, ret->kept, err);
    remove_parts (b, &former, rc);
    if (rc == 0 && b->job->state)
        leave_state (b);
    return rc;
}

static int build_finish (struct builder *b, struct build_result *ret,
                         struct err *err)
{
    int rc;

    ret->rows = b->member_rows;
    for (unsigned t = 0; t < b->nworkers; t++)
        ret->rows += part_rows (b->workers[t].part);
    for (size_t i = 0; i < b->job->nitems; i++)
        ret->reused += b->job->items[i].kept != NULL;
    if (ret->rows == 0 && b->job->steps && any_read (b))
        return err_set (err, ENODATA, "no capture has any of the steps %s",
                        b->job->steps);
    build_report (b, "joining the rows of the threads");
    if ((rc = join_rows (b, err)) < 0 || (rc = write_rest (b, b->db, err)) < 0)
        return rc;
    close_result (b);           // its lock was exclusive
    if ((rc = split_plan (&b->split, b->job->items, b->job->nitems, b->spans,
                           one_file (b->job), err)) < 0)
        return rc;
    if ((rc = b->split.n > 0 ? divide (b, err) : check (b, err)) < 0)
        return rc;
    if (is_cancelled (b))
        return err_set (err, EINTR, "interrupted");
    return put_in_place (b, ret, err);
}

static int init_sync (struct builder *b)
{
    pthread_condattr_t attr;

    (void)pthread_mutex_init (&b->lock, NULL);
    (void)pthread_condattr_init (&attr);
    (void)pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init (&b->ended, &attr);
    (void)pthread_condattr_destroy (&attr);
    b->groups = groups_create ();
    return b->groups ? 0 : -ENOMEM;
}

static void drop_parts (struct builder *b)
{
    for (unsigned t = 0; t < b->nworkers; t++) {
        part_destroy (b->workers[t].part);
        former_reader_destroy (b->workers[t].reader);
    }
    memset (b->workers, 0, sizeof (b->workers));
    close_result (b);
    row_file_close (b->file);
    b->file = NULL;
    free (b->spans);
    b->spans = NULL;
    atomic_store (&b->captures, 0);
    atomic_store (&b->bytes, 0);
    b->member_rows = 0;
}

static void drop_former (struct builder *b)
{
    former_close (b->former);
    b->former = NULL;
    page_sums_fini (&b->sums);
    for (size_t i = 0; i < b->job->nitems; i++)
        b->job->items[i].kept = NULL;
}

/* Drop everything that was read, including the file. */
static void drop_rows_read (struct builder *b)
{
    drop_parts (b);
    drop_former (b);
    if (*b->path)
        (void)unlink (b->path);
}

/* The lists of items point into the groups, so both are dropped. */
static void drop_groups (struct builder *b)
{
    for (size_t i = 0; i < b->job->nitems; i++) {
        free (b->job->items[i].groups.list);
        b->job->items[i].groups = (struct group_list){ NULL, 0 };
    }
    groups_destroy (b->groups);
    b->groups = NULL;
}

/* Drop everything that was read, and read it again. */
static int read_again (struct builder *b, struct err *err)
{
    drop_rows_read (b);
    drop_groups (b);
    atomic_store (&b->cancel, false);
    if (!(b->groups = groups_create ()))
        return err_set (err, ENOMEM, "no memory to build " BUILD_DB_NAME);
    select_sort (b->job->items, b->job->nitems);
    return build_read (b, err);
}

/* If the former result is damaged, or if the captures show that some belong to
 * another job or another rank, the rows read so far are useless.
 */
static int read_job (struct builder *b, struct err *err)
{
    const struct build_job *job = b->job;
    int rc = build_read (b, err);
    bool again = false;

    if (rc < 0 && rc != -EINTR && b->former)
        rc = read_again (b, err);
    if (rc == 0 && job->decide)
        rc = job->decide (job->decide_arg, job->items, job->nitems, err);
    if (rc >= 0 && select_verify (job->items, job->nitems, &again) < 0)
        rc = err_set (err, ENOMEM, "no memory for the captures");
    return rc < 0 || (rc == 0 && !again) ? rc : read_again (b, err);
}

/* What is derived may show that the former result is of no use.  What fails
 * after the check fails without it, too.
 */
static int finish (struct builder *b, struct build_result *ret,
                   struct err *err)
{
    int rc = build_finish (b, ret, err);

    if (rc == 0 || rc == -EINTR || !b->former || b->checked)
        return rc;
    memset (ret, 0, sizeof (*ret));
    rc = read_again (b, err);
    return rc < 0 ? rc : build_finish (b, ret, err);
}

static struct builder *build_create (const struct build_job *job,
                                     struct publish *out, struct err *err)
{
    struct builder *b = calloc (1, sizeof (*b));

    build_keep_heap ();
    if (!b || init_sync (b) < 0) {
        free (b);
        (void)err_set (err, ENOMEM, "no memory to build " BUILD_DB_NAME);
        return NULL;
    }
    b->job = job;
    b->out = out;
    if (job->began_ns)
        clock_text (job->began_ns, b->began);
    return b;
}

static void destroy (struct builder *b)
{
    drop_parts (b);
    split_fini (&b->split);
    drop_former (b);
    drop_groups (b);
    (void)pthread_cond_destroy (&b->ended);
    (void)pthread_mutex_destroy (&b->lock);
    free (b);
}

int build_run (const struct build_job *job, struct publish *out,
               struct build_result *ret, struct err *err)
{
    struct builder *b = build_create (job, out, err);
    int rc;

    memset (ret, 0, sizeof (*ret));
    if (!b)
        return -ENOMEM;
    b->former = job->remote ? NULL : former_open (out, job);
    rc = read_job (b, err);
    if (rc == 0)
        rc = finish (b, ret, err);
    if (rc < 0)
        drop_rows_read (b);
    publish_tell (out, err);
    destroy (b);
    return rc;
}

int build_look (const struct build_job *job, struct err *err)
{
    struct builder *b = build_create (job, NULL, err);
    int rc;

    if (!b)
        return -ENOMEM;
    rc = build_read (b, err);
    if (rc == 0)
        rc = job->decide (job->decide_arg, job->items, job->nitems, err);
    destroy (b);
    return rc;
}
