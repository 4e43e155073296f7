/* cli/find_result.c - find the result that a user means */
#include "find_result.h"

#include "base/buf.h"
#include "options/shell.h"
#include "builder/build.h"
#include "ledger/ledger.h"
#include "publish/publish.h"
#include "publish/result_parts.h"
#include "query/finished.h"
#include "run/run.h"
#include "run/run_list.h"
#include "several/result_cache.h"
#include "store/fileio.h"
#include "store/root.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEVERAL_SHOWN 20        // results that are named
#define SEVERAL_MAX (SEVERAL_SHOWN * (PATH_MAX + 256))

/* ROOT/jobs/JOB: built by an aggregator that runs as a service. */
static bool find_built (const char *root, const char *job, char ret[PATH_MAX])
{
    char dir[PATH_MAX];

    return fileio_join (dir, sizeof (dir), root, "jobs") &&
           snprintf (ret, PATH_MAX, "%s/%s/" PUBLISH_OUTPUT_DIR "/"
                     BUILD_DB_NAME, dir, job) < PATH_MAX &&
           access (ret, F_OK) == 0;
}

/* STATE/JOB/HOST/result.json: a run whose aggregator was on this host. */
static bool has_db (const char *dir, void *ret)
{
    return run_result_db (dir, ret) == 0;
}

static bool find_run (const char *state, const char *job, char ret[PATH_MAX],
                      char dir[PATH_MAX])
{
    return run_find_dir (state, job, has_db, ret, dir);
}

/* ---- OUT of `rollcall analyze --all-jobs` ---- */

static int is_shown (const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* Name the results of the jobs below 'what'; false if there are none. */
static bool tell_several (const struct command_spec *c, const char *what,
                          const struct result_place *place)
{
    char dir[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    struct dirent **list = NULL;
    struct buf text;
    size_t found = 0;
    int n = scandir (what, &list, is_shown, alphasort);

    buf_init (&text, SEVERAL_MAX);
    for (int i = 0; i < n; i++) {
        if (fileio_join (dir, sizeof (dir), what, list[i]->d_name) &&
            fileio_has (dir, PUBLISH_OUTPUT_DIR "/" BUILD_DB_NAME) &&
            ++found <= SEVERAL_SHOWN)
            buf_printf (&text, "\n  %s%s%s %s", c->name,
                        place->asked ? " " : "",
                        place->asked ? place->asked : "",
                        shell_word (dir, word));
        free (list[i]);
    }
    free (list);
    if (found > SEVERAL_SHOWN)
        buf_printf (&text, "\n  and %zu more", found - SEVERAL_SHOWN);
    if (found > 0)
        (void)cli_fail (c, 0, found > 1
                            ? "several results are here, each of one job in a "
                              "directory of its own; take one of them:%s"
                            : "the result is in a directory of its job:%s",
                        buf_text (&text));
    buf_fini (&text);
    return found > 0;
}

/* ---- a run that has no result yet ---- */

struct awaited {
    const struct command_spec *c;
    const char *what;           // as the user named it
    char path[PATH_MAX];        // the same, if it is a directory
    char state[PATH_MAX];       // of runs
};

/* Whether a run of this host is, or writes to, what the user means; it says so.
 */
static int tell_run (void *arg, const struct runs_one *r)
{
    const struct awaited *a = arg;
    char word[SHELL_WORD (PATH_MAX)];
    struct json *j;
    bool is_it;

    if (*r->db || (r->state != RUNS_UNDER_WAY && r->state != RUNS_LEFT))
        return 0;
    j = run_read_object (r->dir, RUN_AGGREGATOR);
    is_it = *a->path ? strcmp (json_text (json_get (j, "out"), ""),
                               a->path) == 0
                     : strcmp (r->job, a->what) == 0;
    json_free (j);
    if (is_it)
        (void)cli_fail (a->c, 0, "there is no result in %s yet: job %s, which "
                        "makes it, %s; rollcall wait %s --state %s waits for "
                        "it, finishes it if need be, and prints the summary "
                        "(rollcall jobs lists all runs)", a->what, r->job,
                        r->state == RUNS_UNDER_WAY ? "is under way"
                                                   : "ended without a result",
                        r->job, shell_word (a->state, word));
    return is_it;
}

static bool tell_awaited (const struct command_spec *c, const char *what,
                          const struct result_place *place)
{
    struct awaited a = { .c = c, .what = what };

    if (!realpath (what, a.path)) {
        if (!cli_valid_job (what))
            return false;
        a.path[0] = '\0';
    }
    return run_state_dir (place->state, a.state, NULL) == 0 &&
           runs_each (a.state, tell_run, &a, NULL) > 0;
}

/* A backup has no results, and none is built in it. */
static int tell_backup (const struct command_spec *c, const char *dir,
                        const char *job)
{
    char word[SHELL_WORD (PATH_MAX)];

    (void)shell_word (dir, word);
    return cli_fail (c, EX_NOINPUT, "%s is a backup, which has no results: "
                     "rollcall build --root %s %s -o DIR makes one in DIR; "
                     "rollcall restore %s ROOT makes a root of it", dir, word,
                     job, word);
}

/* The job is nowhere that has a result: say what the root has of it. */
static int tell_unbuilt (const struct command_spec *c, const char *job,
                         const char *root)
{
    char path[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    struct ledger *l = NULL;
    int rc = fileio_join (path, sizeof (path), root, "ledger.db")
                 ? ledger_open_quick (path, &l, NULL) : -ENOENT;
    bool there = rc == 0 && ledger_newest (l, job, ITEM_RAW) > 0;
    int status = there ? cli_no_rows (c, l, root, job) : 0;

    ledger_close (l);
    if (status != 0)
        return status;
    if (there && root_is_backup (root))
        return tell_backup (c, root, job);
    if (there)
        return cli_fail (c, EX_NOINPUT, "job %s of %s has no result yet: a "
                         "service builds it 2 s after the last item; without "
                         "a service: rollcall build --root %s %s", job, root,
                         shell_word (root, word), job);
    if (rc == -EACCES)
        return cli_fail (c, EX_NOPERM, "%s is not a file or directory here, "
                         "and cannot be looked for as a job in %s: Permission "
                         "denied%s", job, root, cli_owner_text (root, path));
    return cli_fail (c, EX_NOINPUT, "%s is not a file or directory here, not a "
                     "job that was built below %s (--root), and not a run of "
                     "this host that has a result (--state)", job, root);
}

/* In the root of a service, or a run of this host; *status unless it is 0. */
static bool find_job (const struct command_spec *c, const char *job,
                      const struct result_place *place, char ret[PATH_MAX],
                      int *status)
{
    char state[PATH_MAX], dir[PATH_MAX];

    *status = 0;
    if (find_built (cli_first_root (&place->where), job, ret))
        return true;
    if (run_state_dir (place->state, state, NULL) < 0 ||
        !find_run (state, job, ret, dir))
        return false;
    if (access (ret, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        *status = run_tell_gone (c, dir, job);
    return true;
}

/* ---- several aggregators ---- */

/* Of a root of this host it is where it is, if this user can read that. */
static int find_copy (const struct command_spec *c, const struct cli_places *p,
                      const char *job, char ret[PATH_MAX])
{
    struct job_copies j = { .n = 0 };
    const struct job_copy *copy;
    int status = job_copies_find (c, p, job, true, &j, &copy);
    const char *path = status == 0 && !copy->place->security
                           ? json_text (json_get (copy->o, "analysis_db"), "")
                           : "";

    if (status == 0 && *path && access (path, R_OK) == 0)
        (void)snprintf (ret, PATH_MAX, "%s", path);
    else if (status == 0)
        status = result_cache_get (c, copy, ret);
    job_copies_fini (&j);
    return status;
}

static int find_at_several (const struct command_spec *c,
                            const struct cli_where *where, const char *job,
                            char ret[PATH_MAX])
{
    struct cli_places p;
    int status = cli_places_open (c, where, &p);

    if (status == 0)
        status = find_copy (c, &p, job, ret);
    cli_places_close (&p);
    return status;
}

int cli_find_result (const struct command_spec *c, const char *what,
                     const struct result_place *place, char ret[PATH_MAX])
{
    struct err err = { "" };
    int rc = finished_find (what, ret, &err), status;

    if (rc == 0)
        return 0;
    // a directory here may have the name of a job, and no result
    if (rc == -ENOENT && cli_valid_job (what) &&
        cli_asks_several (&place->where))
        return find_at_several (c, &place->where, what, ret);
    if (rc == -ENOENT && cli_valid_job (what) &&
        find_job (c, what, place, ret, &status))
        return status;
    if (rc == -ENOENT &&
        (tell_several (c, what, place) || tell_awaited (c, what, place)))
        return EX_NOINPUT;
    if (root_is_backup (what))
        return tell_backup (c, what, "JOB");
    if (rc == -ENOENT && access (what, F_OK) != 0 && cli_valid_job (what) &&
        cli_needs_view (cli_first_root (&place->where)))
        return find_at_several (c, &place->where, what, ret);
    if (access (what, F_OK) == 0 || !cli_valid_job (what))
        return cli_fail (c, cli_input_status (rc), "%s", err.text);
    return tell_unbuilt (c, what, cli_first_root (&place->where));
}

int cli_find_operand (const struct command_spec *c, int n,
                      char *const *operands, const struct result_place *place,
                      char ret[PATH_MAX])
{
    if (n > 1)
        return cli_fail (c, EXIT_USAGE, "unexpected argument \"%s\"",
                         operands[1]);
    return cli_find_result (c, n > 0 ? operands[0] : ".", place, ret);
}

int cli_open_result (const struct command_spec *c, const char *path, bool any,
                     struct sqlite3 **ret)
{
    struct err err = { "" };
    int rc = any ? finished_open (path, ret, &err)
                 : finished_open_analysis (path, ret, &err);

    if (rc < 0)
        return cli_fail (c, cli_input_status (rc), "%s", err.text);
    if (!any && parts_is_one (*ret))
        (void)fprintf (stderr, "%s: %s is one part of a result: it has ops, "
                       "steps and captures of some hosts, and no sums, waits "
                       "and findings, which analysis.db has\n", c->name, path);
    return 0;
}
