/* cli/build_all.c - rollcall build --all: each job that needs it, some at once
 *
 * Each job is built by a process of its own, which prints a line and reports
 * through a pipe what it built; this process enters that into the ledger.  One
 * that is killed leaves the other jobs' results; the next --all builds the rest.
 * The processes of a launch build one job after the other together.
 */
#include "build.h"
#include "mpi/team_verb.h"

#include "base/units.h"
#include "base/vec.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNAL_MS 200

#define FAIL(status, ...) cli_fail (&build_command, status, __VA_ARGS__)

/* A process that builds a job. */
struct builder_process {
    pid_t pid;                  // 0: none
    int report;                 // the pipe's end to read
    const char *job;
};

struct build_all {
    const struct build_options *opt;
    const struct derive_options *derive;
    struct build_share share;   // of the jobs
    struct build_ledger to;     // NULL: results go elsewhere
    char **jobs;                // that need it
    size_t njobs, all;
    struct builder_process *running;
    size_t room;                // of 'running'
    size_t built, incomplete;
    bool told;                  // the processes, of a signal
    int failed;                 // the status of the first job that failed
};

/* ---- which jobs ---- */

struct choosing {
    struct build_all *b;
    const char *root;
};

static void result_of (const struct build_options *opt, const char *root,
                       const char *job, char path[PATH_MAX])
{
    int n = snprintf (path, PATH_MAX, "%s%s/%s", opt->out ? opt->out : root,
                      opt->out ? "" : "/jobs", job);

    if (n >= PATH_MAX)
        path[0] = '\0';
}

/* Whether this version of rollcall wrote the result. */
static bool is_of_this_version (const char *dir)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    bool same = false;

    if (!fileio_join (path, sizeof (path), dir,
                      PUBLISH_OUTPUT_DIR "/" BUILD_DB_NAME) ||
        !publish_is_our_db (path))
        return false;
    if (db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK)
        same = db_int (db, "SELECT count(*) FROM Job WHERE key="
                           "'rollcall_version' AND value='" ROLLCALL_VERSION
                           "'", 0) == 1;
    (void)sqlite3_close (db);
    return same;
}

static int choose_job (void *arg, const struct ledger_job *j)
{
    struct choosing *c = arg;
    char dir[PATH_MAX];

    if (!build_share_has (&c->b->share, j->id))
        return 0;
    c->b->all++;
    result_of (c->b->opt, c->root, j->id, dir);
    if ((c->b->opt->out ||
         (j->built >= j->newest && ledger_knows_rows (j))) &&
        is_of_this_version (dir))
        return 0;
    return vec_add_text (&c->b->jobs, &c->b->njobs, j->id);
}

static int choose_jobs (struct build_all *b)
{
    struct choosing c = { b, NULL };
    struct archive a;
    struct err err = { "" };
    int rc, status = cli_open_archive (&build_command, b->opt->root, &a);

    if (status)
        return status;
    c.root = a.root;
    rc = ledger_each_job (a.ledger, ITEM_ROWS, choose_job, &c, &err);
    archive_close (&a);
    return rc < 0 ? FAIL (EX_IOERR, "%s: %s", b->opt->root,
                          rc == -ENOMEM ? "no memory for its jobs" : err.text)
                  : 0;
}

/* ---- a process for a job ---- */

static int build_here (const struct build_all *b, const char *job,
                       struct build_outcome *ret)
{
    char out[PATH_MAX];
    struct archive a;
    int status = cli_open_archive (&build_command, b->opt->root, &a);

    *ret = (struct build_outcome){ .built = false };
    if (status)
        return status;
    result_of (b->opt, a.root, job, out);
    status = build_one (b->opt, b->derive, &a, job, out, true, ret);
    archive_close (&a);
    return status;
}

/* In the new process: nothing of the parent's SQLite is used. */
static int build_and_report (const struct build_all *b, const char *job,
                             int report)
{
    struct build_outcome outcome;
    int status = build_here (b, job, &outcome);

    if (outcome.built && write (report, &outcome, sizeof (outcome)) !=
                             (ssize_t)sizeof (outcome))
        status = EX_IOERR;
    return status;
}

/* What its result has is not known from now on. */
static int forget_rows (struct build_all *b, const char *job)
{
    struct err err = { "" };

    return b->to.ledger && ledger_forget_rows (b->to.ledger, job, &err) < 0
               ? FAIL (EX_IOERR, BUILD_NOT_NOTED, job, err.text) : 0;
}

static int start_job (struct build_all *b, struct builder_process *p,
                      const char *job)
{
    int ends[2], status = forget_rows (b, job);

    if (status)
        return status;
    if (pipe (ends) < 0)
        return FAIL (EX_OSERR, "cannot make a pipe: %s", strerror (errno));
    (void)fflush (stdout);
    *p = (struct builder_process){ fork (), ends[0], job };
    if (p->pid == 0) {
        (void)close (ends[0]);
        exit (build_and_report (b, job, ends[1]));
    }
    (void)close (ends[1]);
    if (p->pid > 0)
        return 0;
    (void)close (ends[0]);
    p->pid = 0;
    return FAIL (EX_OSERR, "cannot start a process: %s", strerror (errno));
}

/* A job is over: enter what was built. */
static void take_outcome (struct build_all *b, const char *job, int status,
                          const struct build_outcome *o)
{
    struct err err = { "" };

    if (o->built && b->to.ledger &&
        build_ledger_note (&b->to, job, o, &err) < 0)
        b->failed = FAIL (EX_IOERR, BUILD_NOT_NOTED, job, err.text);
    b->built += o->built;
    b->incomplete += status == EXIT_NOT_ALL;
    if (b->failed == 0 && status > EXIT_NOT_ALL)
        b->failed = status;
}

static void end_job (struct build_all *b, struct builder_process *p, int status)
{
    struct build_outcome o = { .built = false };

    if (read (p->report, &o, sizeof (o)) != (ssize_t)sizeof (o))
        o.built = false;
    (void)close (p->report);
    p->pid = 0;
    if (WIFSIGNALED (status))
        (void)FAIL (0, "job %s: its build was killed by signal %d", p->job,
                    WTERMSIG (status));
    take_outcome (b, p->job,
                  WIFEXITED (status) ? WEXITSTATUS (status) : EX_SOFTWARE, &o);
}

/* A signal is for all of them, whoever got it. */
static void pass_on_signal (struct build_all *b)
{
    if (b->told || !atomic_load (&cli_cancelled))
        return;
    b->told = true;
    for (size_t i = 0; i < b->room; i++) {
        if (b->running[i].pid > 0)
            (void)kill (b->running[i].pid, SIGTERM);
    }
}

/* Wait until some process has ended, or a signal came. */
static void wait_for_some (struct build_all *b)
{
    struct pollfd fds[BUILD_THREADS_MAX];
    int status;

    for (size_t i = 0; i < b->room; i++) {
        bool runs = b->running[i].pid > 0;

        fds[i] = (struct pollfd){ runs ? b->running[i].report : -1, POLLIN, 0 };
    }
    // the time is for a signal that came just before
    (void)poll (fds, b->room, SIGNAL_MS);
    pass_on_signal (b);
    for (size_t i = 0; i < b->room; i++) {
        // it reports just before it ends
        if (fds[i].revents && waitpid (b->running[i].pid, &status, 0) > 0)
            end_job (b, &b->running[i], status);
    }
}

static size_t count_running (const struct build_all *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->room; i++)
        n += b->running[i].pid > 0;
    return n;
}

static struct builder_process *free_place (const struct build_all *b)
{
    for (size_t i = 0; i < b->room; i++) {
        if (b->running[i].pid == 0)
            return &b->running[i];
    }
    return NULL;
}

static int run_jobs (struct build_all *b)
{
    int status = 0;

    for (size_t i = 0; i < b->njobs && status == 0;) {
        struct builder_process *p = free_place (b);

        if (atomic_load (&cli_cancelled))
            break;
        if (p)
            status = start_job (b, p, b->jobs[i++]);
        else
            wait_for_some (b);
    }
    while (count_running (b) > 0)
        wait_for_some (b);
    return status;
}

/* One after the other, each by all processes of the launch; no more once one of
 * them was sent away.
 */
static int run_together (struct build_all *b)
{
    int status = 0;
    size_t i;

    for (i = 0; i < b->njobs && status == 0 && team_is_whole (cli_team); i++) {
        struct build_outcome o;

        if (atomic_load (&cli_cancelled))
            return 0;
        if ((status = forget_rows (b, b->jobs[i])) == 0)
            take_outcome (b, b->jobs[i], build_here (b, b->jobs[i], &o), &o);
    }
    if (i < b->njobs && !team_is_whole (cli_team))
        (void)FAIL (0, "a process of this launch has left: %zu of %zu jobs were "
                    "not tried; the same command builds the rest",
                    b->njobs - i, b->njobs);
    return status;
}

/* ---- all of it ---- */

static size_t choose_room (const struct build_options *opt)
{
    size_t n = cli_processors () / (size_t)opt->threads;

    return opt->at_once > 0 ? (size_t)opt->at_once : n > 0 ? n : 1;
}

static int open_ledger (struct build_all *b)
{
    struct err err = { "" };

    if (b->opt->out || b->njobs == 0)
        return 0;
    return build_ledger_open (&b->to, b->opt->root, true, &err) == 0
               ? 0 : FAIL (EX_IOERR, "%s", err.text);
}

static int build_chosen (struct build_all *b)
{
    int status = open_ledger (b);

    b->room = choose_room (b->opt);
    b->running = calloc (b->room, sizeof (*b->running));
    if (status == 0 && !b->running)
        status = FAIL (EX_OSERR, "no memory to build");
    if (status == 0)
        status = cli_team ? run_together (b) : run_jobs (b);
    if (status)
        return status;
    if (b->share.count > 1)
        (void)printf ("share %llu/%llu: ", (unsigned long long)b->share.index,
                      (unsigned long long)b->share.count);
    (void)printf ("%zu of %zu job%s built%s\n", b->built, b->all,
                  units_s (b->all), b->built == b->njobs && b->built < b->all
                                        ? "; the others are up to date" : "");
    if (atomic_load (&cli_cancelled))
        return cli_interrupted (&build_command, "the same command builds the "
                                "rest");
    return cli_flush (&build_command, 0) ? EX_IOERR
           : b->failed > 0 ? b->failed
           : b->incomplete > 0 ? EXIT_NOT_ALL : 0;
}

int build_every_job (const struct build_options *opt,
                     const struct derive_options *derive)
{
    struct build_all b = { .opt = opt, .derive = derive };
    struct err err = { "" };
    int status = build_share_read (opt, &b.share, &err) < 0
                     ? FAIL (EXIT_USAGE, "%s", err.text) : choose_jobs (&b);

    if (status == 0)
        status = build_chosen (&b);
    build_ledger_close (&b.to);
    for (size_t i = 0; i < b.njobs; i++)
        free (b.jobs[i]);
    free (b.jobs);
    free (b.running);
    return status;
}
