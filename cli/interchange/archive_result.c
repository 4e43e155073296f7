/* cli/interchange/archive_result.c - rollcall archive result: the analysis.db of a
 * job, byte for byte
 */
#include "archive_verb.h"

#include "builder/build.h"
#include "options/shell.h"
#include "publish/publish.h"
#include "publish/result_parts.h"
#include "shared/root.h"
#include "shared/view.h"
#include "store/db.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FAIL(opt, status, ...) cli_fail ((opt)->command, status, __VA_ARGS__)

static int nothing_of (const struct archive_options *opt,
                       const struct archive *a, const char *job)
{
    return cli_no_job (opt->command, a->root, job, ARCHIVE_JOBS_LISTED);
}

/* Whether whoever this process runs for may see the job. */
static int check_visible (const struct archive_options *opt, struct archive *a,
                          const char *job)
{
    struct err err = { "" };
    int rc = !a->visible_to ? 1 : ledger_is_of_user (a->ledger, job,
                                                     a->visible_to, &err);

    return rc < 0 ? FAIL (opt, EX_IOERR, "%s", err.text)
           : rc   ? 0 : nothing_of (opt, a, job);
}

static int copy_to_stdout (int fd)
{
    char part[65536];
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read (fd, part, sizeof (part))) != 0) {
        if (n > 0)
            rc = fileio_write_all (STDOUT_FILENO, part, (size_t)n);
        else if (errno != EINTR)
            rc = -errno;
    }
    return rc;
}

struct told_parts {
    const struct archive_options *opt;
    const char *job;
};

static int tell_part (void *arg, const char *file, int64_t bytes,
                      const char *sum, struct err *err)
{
    const struct told_parts *t = arg;
    char word[SHELL_WORD (MESSAGE_NAME_MAX)];

    (void)bytes;
    (void)sum;
    (void)err;
    return FAIL (t->opt, 0, "a copy of this result needs %s beside it, too: "
                 "rollcall archive result %s %s", file,
                 shell_word (t->job, word), file);
}

/* Say what the analysis.db lacks. */
static void tell_parts (const struct archive_options *opt, const char *path,
                        const char *job)
{
    struct told_parts t = { opt, job };
    sqlite3 *db = NULL;

    if (db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK) {
        db_harden (db);
        (void)parts_each (db, tell_part, &t, NULL);
    }
    (void)sqlite3_close (db);
}

/* The path of the file in the root; false: there can be none. */
static bool path_of (const struct archive *a, const char *job,
                     const char *file, char path[PATH_MAX])
{
    char dir[PATH_MAX];

    return cli_valid_job (job) &&
           fileio_join (dir, PATH_MAX, a->root, "jobs") &&
           snprintf (path, PATH_MAX, "%s/%s/" PUBLISH_OUTPUT_DIR "/%s", dir,
                     job, file) < PATH_MAX;
}

int archive_result (const struct archive_options *opt, struct archive *a,
                    const char *job, const char *part)
{
    char path[PATH_MAX];
    struct err err = { "" };
    int status = check_visible (opt, a, job), fd, rc;

    if (status)
        return status;
    if (part && !parts_is_name (part))
        return FAIL (opt, EXIT_USAGE, "%s cannot be the name of a part: the "
                     "table Part of analysis.db has their names", part);
    if (!path_of (a, job, part ? part : BUILD_DB_NAME, path))
        return nothing_of (opt, a, job);
    fd = fileio_open_at (AT_FDCWD, path, &err);
    if (fd == -ENOENT && part)
        return FAIL (opt, EX_NOINPUT, "the result of job %s has no part %s: it "
                     "may have been built again", job, part);
    if (fd == -ENOENT)
        return ledger_newest (a->ledger, job, ITEM_RAW) > 0
                   ? FAIL (opt, EX_NOINPUT, "job %s has no result yet", job)
                   : nothing_of (opt, a, job);
    if (fd < 0)
        return FAIL (opt, cli_input_status (fd), "%s", err.text);
    if (!part && !cli_is_view ())
        tell_parts (opt, path, job);
    rc = copy_to_stdout (fd);
    (void)close (fd);
    return rc < 0 ? FAIL (opt, EX_IOERR, "cannot print the result: %s",
                          strerror (-rc)) : 0;
}
