/* cli/run/run_result.c - print the result of a run */
#include "run/run.h"

#include "options/shell.h"
#include "base/units.h"
#include "json/json.h"
#include "json/status.h"
#include "query/labels.h"
#include "store/fileio.h"
#include "summary/summary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RESULT_NAME "result.json"

#define OBJECT_MAX (64u << 20)          // bytes, of a result

int64_t run_start_time (pid_t pid)
{
    return status_start_time (pid);
}

int run_open_process (pid_t pid, int64_t start_time)
{
    int fd = (int)syscall (SYS_pidfd_open, pid, 0);

    if (fd < 0)
        return -errno;
    if (start_time > 0 && run_start_time (pid) != start_time) {
        (void)close (fd);       // another process has this number now
        return -ESRCH;
    }
    return fd;
}

int run_open_recorded (const struct json *process)
{
    int64_t pid = cli_number (process, "pid");

    return pid <= 0 ? -ESRCH
                    : run_open_process ((pid_t)pid,
                                        cli_number (process, "start_time"));
}

bool run_aggregator_lives (const struct json *aggregator)
{
    int fd = run_open_recorded (aggregator);

    fileio_close (fd);
    // no process has the number now, or a thread has it; else it is unknown
    return fd != -ESRCH && fd != -EINVAL && fd != -ENOENT;
}

int run_lock (const char *dir, int how)
{
    char path[PATH_MAX];
    int fd = fileio_join (path, sizeof (path), dir, RUN_LOCK)
                 ? open (path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;

    if (fd >= 0 && flock (fd, how) == 0)
        return fd;
    fileio_close (fd);
    return -1;
}

bool run_has_result (const char *dir)
{
    return fileio_has (dir, RESULT_NAME);
}

struct json *run_read_object (const char *dir, const char *name)
{
    struct json *j = NULL;
    char path[PATH_MAX];
    struct buf b;

    buf_init (&b, OBJECT_MAX);
    if (fileio_join (path, sizeof (path), dir, name) &&
        fileio_read_at (AT_FDCWD, path, &b, NULL) == 0)
        j = json_parse ((const char *)b.data, b.size, NULL);
    buf_fini (&b);
    return j;
}

int run_result_db (const char *dir, char out[PATH_MAX])
{
    struct json *result = run_read_object (dir, RESULT_NAME);
    const char *path = json_text (json_get (result, "analysis_db"), NULL);

    if (path)
        (void)snprintf (out, PATH_MAX, "%s", path);
    json_free (result);
    return path ? 0 : -ENOENT;
}

bool run_find_dir (const char *state, const char *job,
                   bool (*is_it) (const char *dir, void *arg), void *arg,
                   char dir[PATH_MAX])
{
    char path[PATH_MAX];
    struct dirent *e;
    bool found = false;
    DIR *d;

    if (strchr (job, '/') || !fileio_join (path, sizeof (path), state, job) ||
        !(d = opendir (path)))
        return false;
    while (!found && (e = readdir (d)))
        found = e->d_name[0] != '.' &&
                fileio_join (dir, PATH_MAX, path, e->d_name) &&
                (!is_it || is_it (dir, arg));
    (void)closedir (d);
    return found;
}

static bool has_aggregator (const char *dir, void *arg)
{
    (void)arg;
    return fileio_has (dir, RUN_AGGREGATOR);
}

bool run_find_aggregator (const char *state, const char *job,
                          char dir[PATH_MAX], struct json **ret)
{
    bool found = run_find_dir (state, job, has_aggregator, NULL, dir);

    *ret = found ? run_read_object (dir, RUN_AGGREGATOR) : NULL;
    return found;
}

/* Whether the roster explains it already: a rank whose COMMAND failed before it
 * wrote a capture is missing for that reason.
 */
static bool is_told (const struct summary *s, int64_t rank, const char *why)
{
    for (size_t i = 0; i < s->nothers; i++) {
        const struct summary_rank *r = &s->others[i];

        if (r->rank == rank && r->reason && strcmp (r->reason, why) == 0)
            return true;
    }
    return false;
}

struct failures {
    const struct summary *s;
    const struct json *result;
};

/* List COMMANDs that failed by themselves one by one, and those that were ended
 * because of them in one line.  If a COMMAND has no reason, nobody knows
 * whether it ended; a note says why.
 */
static void put_failures (const void *arg, FILE *f)
{
    const struct failures *x = arg;
    const struct json *r = json_first (json_get (x->result, "failed_ranks"));
    const struct json *n = json_first (json_get (x->result, "notes"));
    const char *why = "", *reason;
    int64_t status, rank;
    size_t ended = 0;

    for (; r; r = json_next (r)) {
        reason = json_text (json_get (r, "reason"), "");
        if (!json_int (json_get (r, "status"), &status) ||
            !json_int (json_get (r, "rank"), &rank) ||
            is_told (x->s, rank, reason))
            continue;
        if (status >= 0)
            (void)fprintf (f, "COMMAND       rank %lld: %s\n",
                           (long long)rank,
                           strncmp (reason, "COMMAND ", 8) == 0 ? reason + 8
                                                                : reason);
        else if (*reason && ended++ == 0)
            why = reason;       // they were ended
    }
    if (ended > 0)
        (void)fprintf (f, "COMMAND       of %zu rank%s: %s\n", ended,
                       units_s (ended), why);
    for (; n; n = json_next (n))
        (void)fprintf (f, "note          %s\n", json_text (n, ""));
}

static void copy_list (struct json *out, const char *key,
                       const struct json *list)
{
    struct json *to = json_add_array (out, key);

    for (const struct json *e = json_first (list); e; e = json_next (e)) {
        const char *text = json_text (e, NULL);
        int64_t v;
        struct json *o;

        if (text) {
            json_push_text (to, text);
            continue;
        }
        o = json_push_object (to);
        if (json_int (json_get (e, "rank"), &v))
            json_add_int (o, "rank", v);
        if (json_int (json_get (e, "status"), &v))
            json_add_int (o, "status", v);
        json_add_text (o, "host", json_text (json_get (e, "host"), NULL));
        json_add_text (o, "reason", json_text (json_get (e, "reason"), NULL));
    }
}

static void print_json (const struct summary *s, const struct json *result,
                        const char *job)
{
    struct json *j = summary_to_json (s);
    char *text;

    json_add_text (j, "job", job);
    copy_list (j, "failed_ranks", json_get (result, "failed_ranks"));
    copy_list (j, "run_notes", json_get (result, "notes"));
    text = json_print (j, true);
    if (text)
        (void)puts (text);
    (void)fflush (stdout);
    free (text);
    json_free (j);
}

/* Delivered data may exist nowhere else. */
static int tell_unwritten (const struct command_spec *who,
                           const struct json *result, const char *dir,
                           const char *job)
{
    char root[PATH_MAX], word[SHELL_WORD (PATH_MAX)];

    PRINT (root, "%s/root", dir);
    (void)shell_word (root, word);
    return cli_fail (who, EX_CANTCREAT, "job %s: the result could not be "
                     "written: %s; everything delivered is in %s: "
                     "rollcall build --root %s -o OUT %s makes the "
                     "result, rollcall archive --root %s get %s RANK DIR "
                     "returns raw files", job,
                     json_text (json_get (result, "error"), ""), root, word,
                     job, word, job);
}

/* OUT was removed, or another run ('by') wrote into it since: print what this
 * run's state knows without the result.
 */
static int tell_gone (const struct command_spec *who,
                      const struct json *result, const char *dir,
                      const char *job, const char *by)
{
    int64_t roll = EX_SOFTWARE, command = 0;
    const char *path = json_text (json_get (result, "analysis_db"), "");
    char root[PATH_MAX], word[SHELL_WORD (PATH_MAX)];
    bool kept = fileio_join (root, sizeof (root), dir, "root") &&
                access (root, F_OK) == 0;

    (void)json_int (json_get (result, "roll_status"), &roll);
    (void)json_int (json_get (result, "command_status"), &command);
    return cli_fail (who, EX_NOINPUT, "job %s ended with %s%s; its result is "
                     "gone: %s %s%s%s%s%s%s%s", job,
                     roll == EXIT_ALL_PRESENT ? "all ranks present"
                     : roll == EXIT_NOT_ALL   ? "not all ranks present"
                                              : "no capture that could be read",
                     command > 0 ? ", and a COMMAND that failed" : "", path,
                     by ? "is now that of job " : "no longer exists",
                     by ? by : "", kept ? "; rollcall build --root " : "",
                     kept ? shell_word (root, word) : "", kept ? " -o OUT " : "",
                     kept ? job : "", kept ? " makes it again" : "");
}

int run_tell_gone (const struct command_spec *who, const char *dir,
                   const char *job)
{
    struct json *result = run_read_object (dir, RESULT_NAME);
    int status = tell_gone (who, result, dir, job, NULL);

    json_free (result);
    return status;
}

static int print_summary (const struct command_spec *who,
                          const struct json *result, const char *dir,
                          const char *job, bool json)
{
    const char *path = json_text (json_get (result, "analysis_db"), NULL);
    const char *kept = json_text (json_get (result, "kept_path"), "");
    struct results beside;
    struct err err = { "" };
    struct summary s;

    if (!path)
        return tell_unwritten (who, result, dir, job);
    if (access (path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
        return tell_gone (who, result, dir, job, NULL);
    if (summary_read_back (path, &s, &err) < 0)
        return cli_fail (who, EX_SOFTWARE, "cannot read back %s: %s", path,
                         err.text);
    if (s.job_id[0] && strcmp (s.job_id, job) != 0) {
        int status = tell_gone (who, result, dir, job, s.job_id);

        summary_fini (&s);
        return status;
    }
    PRINT (s.kept, "%s", kept);
    PRINT (s.newer, "%s", json_text (json_get (result, "newer_job"), ""));
    results_from_json (&beside, result);
    s.beside = &beside;
    if (json) {
        print_json (&s, result, job);
    } else {
        (void)summary_print_text (&s, STDOUT_FILENO);
        (void)labels_print (STDOUT_FILENO, put_failures,
                            &(struct failures){ &s, result });
    }
    summary_fini (&s);
    return 0;
}

int run_print_result (const struct command_spec *who, const char *dir,
                      const char *job, bool json, int *command_status)
{
    struct json *result = run_read_object (dir, RESULT_NAME);
    int64_t roll = EX_SOFTWARE, command = 0;
    int status;

    *command_status = 0;
    if (!result)
        return -ENOENT;
    (void)json_int (json_get (result, "roll_status"), &roll);
    (void)json_int (json_get (result, "command_status"), &command);
    status = print_summary (who, result, dir, job, json);
    json_free (result);
    *command_status = (int)command;
    return status ? status : (int)roll;
}
