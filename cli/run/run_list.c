/* cli/run/run_list.c - the runs of this machine: STATE/JOB/HOST */
#include "run/run_list.h"

#include "base/clock.h"
#include "control/control.h"
#include "json/json.h"
#include "run/run.h"
#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ignore a directory that somebody else created, even below 'state': it is not
 * ours to list or remove.
 */
static bool is_run (const char *dir)
{
    return fileio_has (dir, RUN_CALL) || fileio_has (dir, RUN_AGGREGATOR) ||
           fileio_has (dir, "agent.log") || fileio_has (dir, RUN_OVER);
}

/* Its aggregator, or its agent: one of which nobody can tell may live. */
static bool lives (const char *dir, const struct json *aggregator)
{
    int fd = run_aggregator_lives (aggregator) ? -EBUSY
                                               : control_connect (dir, NULL);

    fileio_close (fd);
    return fd != -ENOENT && fd != -ECONNREFUSED;
}

/* Derive the state from the files on this host.  The run's spool and root are
 * removed once everything is in the result.
 */
static enum runs_state state_of (const char *dir)
{
    struct json *j = run_read_object (dir, RUN_AGGREGATOR);
    bool left = fileio_has (dir, "spool") || fileio_has (dir, "root");
    enum runs_state state = RUNS_OVER;

    if (lives (dir, j))
        state = RUNS_UNDER_WAY;
    else if (!fileio_has (dir, RUN_AGGREGATOR))
        state = left || !fileio_has (dir, RUN_OVER) ? RUNS_PART : RUNS_OVER;
    else if (left || !run_has_result (dir))
        state = RUNS_LEFT;
    json_free (j);
    return state;
}

/* If the result is gone or was replaced by another run's, the captures are all
 * that is left.
 */
static void look_at_result (struct runs_one *r)
{
    struct summary s;

    if (run_result_db (r->dir, r->db) == 0) {
        r->gone = summary_read_back (r->db, &s, NULL) < 0;
        if (!r->gone) {
            r->replaced = s.job_id[0] && strcmp (s.job_id, r->job) != 0;
            if (!r->replaced)
                summary_roll (&s, r->roll);
            summary_fini (&s);
        }
    }
    if (r->state == RUNS_OVER && fileio_has (r->dir, RUN_AGGREGATOR) &&
        (!*r->db || r->gone || r->replaced))
        r->state = RUNS_LEFT;
}

static void add_size (struct runs_one *r, const FTSENT *e)
{
    int64_t ns;

    if (e->fts_info != FTS_F && e->fts_info != FTS_D)
        return;
    if (e->fts_info == FTS_F)
        r->bytes += (uint64_t)e->fts_statp->st_size;
    ns = clock_ns (&e->fts_statp->st_mtim);
    if (r->ended_ns < ns)
        r->ended_ns = ns;
}

/* Add up everything below it; links are not followed. */
static void look_at_size (struct runs_one *r)
{
    char *paths[] = { r->dir, NULL };
    FTS *fts = fts_open (paths, FTS_PHYSICAL | FTS_XDEV, NULL);
    const FTSENT *e;

    while (fts && (e = fts_read (fts)))
        add_size (r, e);
    if (fts)
        (void)fts_close (fts);
}

int runs_remove (const struct runs_one *r, struct err *err)
{
    const char *slash = strrchr (r->dir, '/');
    int lock = run_lock (r->dir, LOCK_EX | LOCK_NB), rc;
    char job[PATH_MAX];

    if (lock < 0)
        return err_set (err, EBUSY, "job %s is being finished, or %s cannot be "
                        "locked", r->job, r->dir);
    if (state_of (r->dir) == RUNS_UNDER_WAY)    // it has been finished since
        rc = err_set (err, EBUSY, "job %s is under way", r->job);
    else
        rc = fileio_remove_tree (r->dir, err);
    (void)close (lock);
    if (rc < 0)
        return rc;
    PRINT (job, "%.*s", (int)(slash - r->dir), r->dir);
    (void)rmdir (job);          // unless it has another one
    return 0;
}

static int is_shown (const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static bool is_directory (const char *path)
{
    struct stat st;

    return lstat (path, &st) == 0 && S_ISDIR (st.st_mode);
}

/* All of a job on this host: one, unless it was booted meanwhile. */
static int each_host (const char *path, const char *job,
                      int (*fn) (void *arg, const struct runs_one *r),
                      void *arg)
{
    struct runs_one *r = calloc (1, sizeof (*r));
    struct dirent **list = NULL;
    int n = r ? scandir (path, &list, is_shown, alphasort) : 0;
    int rc = r ? 0 : -ENOMEM;

    for (int i = 0; i < n; i++) {
        if (rc == 0 && fileio_join (r->dir, PATH_MAX, path, list[i]->d_name) &&
            is_directory (r->dir) && is_run (r->dir)) {
            PRINT (r->job, "%s", job);
            r->db[0] = r->roll[0] = '\0';
            r->bytes = 0;
            r->ended_ns = 0;
            r->replaced = r->gone = false;
            r->state = state_of (r->dir);
            look_at_result (r);
            look_at_size (r);
            rc = fn (arg, r);
        }
        free (list[i]);
    }
    free (list);
    free (r);
    return rc;
}

int runs_each (const char *state,
               int (*fn) (void *arg, const struct runs_one *r), void *arg,
               struct err *err)
{
    struct dirent **list = NULL;
    char path[PATH_MAX];
    int n = scandir (state, &list, is_shown, alphasort), rc = 0;

    if (n < 0)
        return err_sys (err, errno, "cannot read directory %s", state);
    for (int i = 0; i < n; i++) {
        if (rc == 0 &&
            fileio_join (path, sizeof (path), state, list[i]->d_name) &&
            is_directory (path))
            rc = each_host (path, list[i]->d_name, fn, arg);
        free (list[i]);
    }
    free (list);
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for runs") : rc;
}

const char *runs_state_text (const struct runs_one *r)
{
    switch (r->state) {
    case RUNS_UNDER_WAY:        // its processes end a moment after the result
        return *r->roll ? "over" : "under way";
    case RUNS_LEFT:
        return r->replaced ? "over, result replaced"
               : r->gone   ? "over, result gone"
               : *r->db    ? "over, incomplete"
                           : "ended without a result";
    case RUNS_PART:
        return "not all delivered, aggregator elsewhere";
    default:
        return "over";
    }
}
