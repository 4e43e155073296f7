/* aggregator/service/aggregator_build.c - a job's result, built in a thread of
 * its own so that agents are answered meanwhile */
#include "service/aggregator_private.h"

#include "base/counter.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/units.h"
#include "catalogue/catalogue.h"
#include "store/fileio.h"
#include "store/space.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNBUILT_NAMED 4         // jobs, in the status: that of a full disk is
                                // written over, and has room for a few more texts

void aggregator_forget_build (struct aggregator *a)
{
    job_build_destroy (a->build);
    roster_fini (&a->roster);
    a->build = NULL;
    a->building = NULL;
    (void)malloc_trim (0);      // the next build may be hours away
}

/* The job is built again after a restart, since nothing of this build was
 * recorded.
 */
void aggregator_cancel_build (struct aggregator *a)
{
    if (!a->building)
        return;
    if (a->threaded) {
        job_build_cancel (a->build);
        (void)pthread_join (a->thread, NULL);
    }
    aggregator_forget_build (a);
}

static void build_ended (struct aggregator *a)
{
    uint64_t one = 1;
    ssize_t n = write (a->build_fd, &one, sizeof (one));

    (void)n;
}

static void *run_build (void *arg)
{
    struct aggregator *a = arg;

    a->build_rc = job_build_run (a->build, a->out,
                                 (unsigned)a->opt->threads, &a->roster,
                                 &a->built, &a->build_err);
    if (a->build_rc == 0)
        aggregator_find_suspects (a);
    if (a->build_rc == 0 && !a->opt->run_dir && !a->opt->out)
        catalogue_note_build (a->opt->root, a->building->job.id);
    build_ended (a);
    return NULL;
}

static int prepare_roster (struct aggregator *a, struct served *s)
{
    int rc = job_build_expect (a->build, &s->job.claims, a->opt->job != NULL,
                               &a->roster);

    if (a->opt->note)
        roster_add_note (&a->roster, a->opt->note);
    for (size_t i = 0; i < a->roster.nnotes; i++)
        aggregator_note (s, NULL, a->roster.notes[i]);
    s->job.resumed = a->resumed;
    job_build_say_fates (a->build, &a->roster);
    if (rc == 0)
        rc = job_fill_roster (&s->job, &a->roster);
    return rc < 0 ? rc : job_build_say_gone (a->build, &a->roster);
}

static void say (void *served, const char *sentence)
{
    const struct served *s = served;

    log_warn ("build-note", "job %s: %s", s->job.id, sentence);
}

static void prepare_build (struct aggregator *a, struct served *s)
{
    struct job_build_options *how;

    a->build_rc = 0;            // the previous build may have failed
    a->build_err.text[0] = '\0';
    memset (&a->built, 0, sizeof (a->built));
    a->nsuspects = 0;
    roster_init (&a->roster);
    aggregator_name_out (a, s->job.id, a->out);
    a->build_seq = ledger_newest (a->ledger, s->job.id,
                                  aggregator_last_kind (a));
    a->build_rc = job_build_create (a->ledger, a->store, s->job.id,
                                    (unsigned)a->opt->threads, &a->build,
                                    &a->build_err);
    if (a->build_rc == 0 && a->opt->raw)
        a->build_rc = job_build_add_raw (a->build, a->ledger, &a->build_err);
    if (a->build_rc < 0)
        return;
    how = job_build_options (a->build);
    how->wanted = a->opt->wanted;
    how->derive = &a->opt->derive;
    how->foreign = !a->opt->out || a->opt->foreign;
    how->digest = a->opt->run_dir == NULL;
    how->later = a->opt->run_dir != NULL;
    how->began_ns = a->opt->run_dir ? a->run_ns : 0;
    how->say = say;
    how->say_arg = s;
    if (how->digest)
        a->build_rc = ledger_forget_rows (a->ledger, s->job.id, &a->build_err);
    if (a->build_rc < 0)
        return;
    if ((a->build_rc = prepare_roster (a, s)) < 0)
        (void)err_sys (&a->build_err, -a->build_rc, "cannot determine which "
                       "ranks came");
}

/* ---- what could not be built ---- */

/* What it had written is gone again, also where it sorts, which may be another
 * disk.
 */
static void hint_at_room (const struct aggregator *a, struct unbuilt *u)
{
    const char *out = a->opt->out ? a->opt->out : a->opt->root;
    const char *temp = fileio_temp_dir ();
    char room[SPACE_TEXT_MAX], more[SPACE_TEXT_MAX];
    struct space s, t;

    PRINT (u->hint, "make room there");
    if (space_of (out, &s, NULL) < 0)
        return;
    space_text (&s, room);
    PRINT (u->hint, "%.350s has %s without it: make room there", out, room);
    if (space_of (temp, &t, NULL) < 0 || t.id == s.id)
        return;
    space_text (&t, more);
    PRINT (u->hint, "%.190s has %s without it, and %.190s, where it sorts, %s: "
           "make room on the full one", out, room, temp, more);
}

/* A build of this job has ended, or could not be begun: for the status. */
static void note_end (const struct aggregator *a, struct served *s, int rc,
                      const struct err *why)
{
    struct unbuilt *u = &s->unbuilt;

    if (rc >= 0) {
        *u = (struct unbuilt){ .since_ns = 0 };
        return;
    }
    if (u->since_ns == 0)
        u->since_ns = clock_wall_ns ();
    u->tries++;
    PRINT (u->why, "%s", why->text);
    u->hint[0] = '\0';
    if (rc == -ENOSPC || rc == -EDQUOT)
        hint_at_room (a, u);
}

static void add_unbuilt (struct json *list, const struct served *s)
{
    struct json *j = json_push_object (list);
    char since[CLOCK_TEXT_MAX];

    clock_text (s->unbuilt.since_ns, since);
    json_add_text (j, "job", s->job.id);
    json_add_text (j, "since", since);
    json_add_int (j, "tries", (int64_t)s->unbuilt.tries);
    json_add_text (j, "why", s->unbuilt.why);
    json_add_nonempty (j, "hint", s->unbuilt.hint);
}

bool aggregator_has_unbuilt (const struct aggregator *a)
{
    const struct served *s = a->jobs;

    while (s && s->unbuilt.since_ns == 0)
        s = s->next;
    return s != NULL;
}

void aggregator_add_unbuilt (const struct aggregator *a, struct json *status)
{
    struct json *list = json_add_array (status, "unbuilt");
    size_t n = 0;

    for (const struct served *s = a->jobs; s; s = s->next) {
        if (s->unbuilt.since_ns == 0)
            continue;
        if (n++ < UNBUILT_NAMED)
            add_unbuilt (list, s);
    }
    json_add_int (status, "unbuilt_jobs", (int64_t)n);
}

/* ---- builds ---- */

void aggregator_start_build (struct aggregator *a, struct served *s)
{
    int64_t now = clock_mono_ns (), came_ns = s->schedule.first_ns;
    struct err err = { "" };
    int rc;

    a->building = s;
    build_schedule_began (&s->schedule, now);
    if (!a->opt->job && (rc = aggregator_divide (a, s, came_ns, &err)) != 0) {
        build_schedule_ended (&s->schedule, rc > 0, clock_mono_ns ());
        note_end (a, s, rc, &err);
        a->building = NULL;
        return;
    }
    a->threaded = false;
    prepare_build (a, s);
    if (a->build_rc < 0)
        build_ended (a);
    else if (thread_start (&a->thread, run_build, a) == 0)
        a->threaded = true;
    else
        (void)run_build (a);    // no thread: build here, agents wait
}

/* Report raw files that could not be written, where users look. */
static void tell_raw (struct aggregator *a)
{
    const struct raw_tree *t = a->build_rc < 0 ? NULL
                                               : job_build_raw (a->build);
    size_t named;
    char more[64];

    if (!t)
        return;
    log_info ("raw", "%zu of %zu raw file%s in %s/captures", t->n - t->missing,
              t->n, units_s (t->n), a->out);
    named = t->missing < RAW_TREE_NAMED_MAX ? t->missing : RAW_TREE_NAMED_MAX;
    for (size_t i = 0; i < named; i++) {
        log_warn ("raw-missing", "%s", t->named[i].text);
        (void)job_note (&a->building->job, t->named[i].text);
    }
    if (named == t->missing)
        return;
    PRINT (more, "%zu more raw files are missing", t->missing - named);
    (void)job_note (&a->building->job, more);
}

/* Add a note to the run's result, since users look at nothing else. */
static void tell_left (struct aggregator *a)
{
    char note[MESSAGE_TEXT_MAX];

    a->left = a->build_rc < 0 ? 0 : job_build_left (a->build);
    if (a->left == 0 || !a->opt->run_dir)
        return;
    PRINT (note, "captures were delivered again with other content: versions "
           "that are not in the result stay in %.500s (rollcall archive --root "
           "there: ls lists them, get and get --superseded return them)",
           a->opt->root);
    (void)job_note (&a->building->job, note);
}

bool aggregator_raw_is_whole (const struct aggregator *a)
{
    const struct raw_tree *t = a->build ? job_build_raw (a->build) : NULL;

    return !t || t->missing == 0;
}

/* Log the roll in the order and words of all other views. */
static void log_roll (struct logline *l, const struct roster *r)
{
    static const enum roster_state bad[] = {
        ROSTER_MISSING, ROSTER_FAILED, ROSTER_PARTIAL, ROSTER_RAW,
        ROSTER_UNEXPECTED,
    };

    log_int (l, "present", (int64_t)roster_count (r, ROSTER_PRESENT));
    log_int (l, "expected", r->world_size);
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        size_t n = roster_count (r, bad[i]);

        if (n > 0)              // rollcall query missing names them
            log_int (l, roster_state_name (bad[i]), (int64_t)n);
    }
}

static void log_built (const struct aggregator *a)
{
    const bool complete = roster_complete (&a->roster);
    struct logline l = log_line (a->build_rc < 0 ? LOG_LEVEL_ERROR
                                 : complete      ? LOG_LEVEL_INFO
                                                 : LOG_LEVEL_WARN,
                                 a->build_rc < 0 ? "build-failed" : "built");

    log_str (&l, "job", a->building->job.id);
    if (a->build_rc < 0) {
        log_str (&l, "text", a->build_err.text);
    } else {
        log_str (&l, "path", a->built.path);
        log_int (&l, "rows", (int64_t)a->built.rows);
        if (a->built.reused > 0)
            log_int (&l, "reused", (int64_t)a->built.reused);
        log_roll (&l, &a->roster);
    }
    log_end (&l);
}

/* Record what was built, for the next start, and before whose it is.  If that
 * fails, or if claims about the job changed meanwhile, the next start builds it
 * again.
 */
static void note_built (struct aggregator *a)
{
    struct err err = { "" };

    if (a->build_rc == 0 && aggregator_note_origin (a) &&
        build_schedule_due_ns (&a->building->schedule) == INT64_MAX &&
        ledger_set_built (a->ledger, a->building->job.id, a->build_seq,
                          job_build_rows (a->build), &err) < 0)
        log_error ("ledger-failed", "job %s: %s", a->building->job.id,
                   err.text);
}

bool aggregator_end_build (struct aggregator *a)
{
    uint64_t count;

    if (read (a->build_fd, &count, sizeof (count)) < 0)
        return false;
    if (a->threaded)
        (void)pthread_join (a->thread, NULL);
    tell_raw (a);
    tell_left (a);
    aggregator_want_suspects (a);       // or a restart would not want them
    note_built (a);
    counter_add (a->build_rc < 0 ? COUNTER_BUILDS_FAILED : COUNTER_BUILDS, 1);
    build_schedule_ended (&a->building->schedule, a->build_rc == 0,
                          clock_mono_ns ());
    note_end (a, a->building, a->build_rc, &a->build_err);
    log_built (a);
    return true;
}

/* ---- results that an earlier aggregator left unbuilt ---- */

static bool has_result (const struct aggregator *a, const char *job)
{
    char out[PATH_MAX], path[PATH_MAX];

    aggregator_name_out (a, job, out);
    return fileio_join (path, sizeof (path), out,
                        PUBLISH_OUTPUT_DIR "/" BUILD_DB_NAME) &&
           publish_is_our_db (path);
}

static int note_unbuilt (void *arg, const struct ledger_job *j)
{
    struct aggregator *a = arg;
    bool behind = j->newest > j->built, known = ledger_knows_rows (j);
    int rc;

    if (!behind && known && has_result (a, j->id))
        return 0;
    if ((rc = aggregator_note_unbuilt (a, j->id)) < 0)
        return rc;
    log_info ("unbuilt", "job %s: %s; it will be built", j->id,
              behind   ? "its result lacks some of what was delivered"
              : !known ? "its last build was interrupted"
                       : "its result is missing");
    return 0;
}

int aggregator_find_unbuilt (struct aggregator *a, struct err *err)
{
    int rc = a->opt->job ? 0 : aggregator_drop_empty (a, err);

    if (rc == 0 && !a->opt->job)
        rc = ledger_each_job (a->ledger, aggregator_last_kind (a),
                              note_unbuilt, a, err);

    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for the jobs of "
                                    "the ledger") : rc;
}

bool aggregator_build_next_unbuilt (struct aggregator *a)
{
    struct served *s;

    if (a->nunbuilt == 0 ||
        !(s = aggregator_job (a, a->unbuilt[a->nunbuilt - 1])))
        return false;           // no room for another job now: later
    free (a->unbuilt[--a->nunbuilt]);
    aggregator_start_build (a, s);
    return true;
}
