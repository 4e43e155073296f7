/* cli/run/run_finish.c - a run whose daemons died with its launcher
 *
 * A scheduler kills everything that a job has left behind.  What was delivered
 * until then is in the aggregator's root, what was not is in the directory of
 * its host, and how the run was called is in RUN_CALL: so both daemons can be
 * started again, by `rollcall wait`, and go on.
 */
#include "run/run.h"

#include "json/json.h"
#include "store/fileio.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORDS_MAX 512

/* ---- what is kept ---- */

static int push_word (void *arg, const char *word)
{
    json_push_text (arg, word);
    return 0;
}

int run_save_options (const struct run *r, struct err *err)
{
    struct run_options o = *r->opt;
    struct json *j = json_object ();
    int rc;

    // the process that finishes the run has its own, or no use for them
    o.out = o.launcher = o.interface = o.ports = o.job = o.state = NULL;
    o.json = o.text = false;
    json_add_text (j, "job", r->job);
    json_add_text (j, "out", r->out);
    json_add_int (j, "world_size", r->opt->launcher ? 0 : r->world.size);
    json_add_text (j, "slurm_job", run_slurm_job ());
    rc = options_words (&run_command, &o, push_word,
                        json_add_array (j, "options"));
    if (rc == 0)
        return json_replace (j, true, r->dir, RUN_CALL, 0600, err);
    json_free (j);
    return err_set (err, ENOMEM, "cannot save the command line of %s", r->job);
}

/* Parse the run's former options into 'opt', which points into 'call' and to
 * 'words'.
 */
static int recall_options (const struct json *call, char *words[WORDS_MAX],
                           struct run_options *opt, struct err *err)
{
    const struct json *w = json_first (json_get (call, "options"));
    int n = 0, rest;

    words[n++] = (char *)"rollcall-run";
    for (; w && n < WORDS_MAX - 1; w = json_next (w))
        words[n++] = (char *)json_text (w, "");
    words[n] = NULL;
    memset (opt, 0, sizeof (*opt));
    return options_parse (&run_command, n, words, true, opt, &rest, err) ==
                   OPTIONS_OK ? 0 : -EBADMSG;
}

/* ---- restarting ---- */

static bool aggregator_lives (const char *dir)
{
    struct json *j = run_read_object (dir, RUN_AGGREGATOR);
    bool lives = run_aggregator_lives (j);

    json_free (j);
    return lives;
}

/* The former keys are lost: the restarted daemons get new ones. */
static void remove_keys (const char *dir)
{
    char path[PATH_MAX];

    if (fileio_join (path, sizeof (path), dir, "keys"))
        (void)fileio_remove_tree (path, NULL);
}

/* An earlier run of the daemons may have ended before any agent said hello.
 * The restarted aggregator must not look like the first one: the run began when
 * it was called, and hosts that are silent now may have taken part then.
 */
static void mark_joined (const char *dir)
{
    char call[PATH_MAX], joined[PATH_MAX];
    struct timespec times[2];
    struct stat st;

    if (fileio_has (dir, RUN_JOINED) ||
        !fileio_join (call, sizeof (call), dir, RUN_CALL) ||
        !fileio_join (joined, sizeof (joined), dir, RUN_JOINED) ||
        stat (call, &st) < 0)
        return;
    times[0] = times[1] = st.st_mtim;
    if (fileio_replace (joined, "", 0, FILEIO_FILE_MODE, NULL) == 0)
        (void)utimensat (AT_FDCWD, joined, times, 0);
}

/* When a job exceeds its time limit, Slurm ends it as if somebody cancelled it,
 * and there may have been no time to ask which it was.
 */
static void name_limit (struct run *r, const struct json *call)
{
    const char *job = json_text (json_get (call, "slurm_job"), "");

    if (run_past_limit (job))
        PRINT (r->note, "Slurm ended its job %.40s at the time limit", job);
}

static int start_again (struct run *r, const struct json *call,
                        struct err *err)
{
    int64_t size = 0;
    int rc;

    (void)json_int (json_get (call, "world_size"), &size);
    r->world = (struct world){ .size = size, .launcher = "none" };
    PRINT (r->job, "%s", json_text (json_get (call, "job"), ""));
    PRINT (r->out, "%s", json_text (json_get (call, "out"), ""));
    name_limit (r, call);
    remove_keys (r->dir);
    mark_joined (r->dir);
    if ((rc = run_make_keys (r, err)) < 0 || (rc = run_bind (r, err)) < 0 ||
        (rc = run_start_aggregator (r, err)) < 0)
        return rc;
    if (!fileio_has (r->dir, "spool"))    // no rank ran on this host
        return 0;
    rc = run_probe (r, err);
    return rc < 0 ? rc : run_start_agent (r, err);
}

int run_finish (struct run *r, const char *dir)
{
    struct json *call = run_read_object (dir, RUN_CALL);
    char *words[WORDS_MAX];
    struct run_options opt;
    struct err err = { "" };
    int lock, status = 0;

    if (!call)
        return RUN_FAIL (EX_NOINPUT, "there is no %s in %s", RUN_CALL, dir);
    // only one process does so, and the others find the daemons of that one
    if (strlen (dir) >= sizeof (r->dir) ||
        (lock = run_lock (dir, LOCK_EX)) < 0) {
        json_free (call);
        return RUN_FAIL (EX_CANTCREAT, "cannot lock %s", dir);
    }
    (void)strcpy (r->dir, dir);
    r->opt = &opt;
    if (!run_has_result (dir) && !aggregator_lives (dir) &&
        (recall_options (call, words, &opt, &err) < 0 ||
         start_again (r, call, &err) < 0))
        status = RUN_FAIL (EX_OSERR, "%s", err.text);
    (void)close (lock);
    json_free (call);
    return status;
}
