/* aggregator/publish/publish_choose.c - which job's result is in the output
 * directory
 */
#include "publish/publish.h"

#include "base/clock.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ASIDE_JOB_MAX 128               // bytes of an id in a directory's name

/* The job whose result is there, and its start; "" if unknown. */
static void read_job (const char *path, char job[PUBLISH_JOB_MAX],
                      char began[CLOCK_TEXT_MAX])
{
    char value[PUBLISH_JOB_MAX] = "", when[CLOCK_TEXT_MAX] = "";
    sqlite3 *db = NULL;

    job[0] = began[0] = '\0';
    if (publish_is_our_db (path) &&
        db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK) {
        db_harden (db);
        (void)db_one (db_rows (db, NULL,
                               "SELECT (SELECT value FROM Job WHERE key='job')"
                               ", (SELECT value FROM Job WHERE "
                               "key='began_at')"), value, when);
        (void)snprintf (job, PUBLISH_JOB_MAX, "%s", value);
        (void)snprintf (began, CLOCK_TEXT_MAX, "%s", when);
    }
    (void)sqlite3_close (db);
}

static int go_aside (struct publish *p, const char *job, struct err *err)
{
    char name[NAME_MAX + 1];
    struct tree aside;
    int rc;

    PRINT (name, PUBLISH_OUTPUT_DIR ".of-%.*s", ASIDE_JOB_MAX, job);
    if ((rc = tree_open_in (&aside, &p->above, name, FILEIO_DIR_MODE, NULL,
                            err)) < 0)
        return rc;
    tree_close (&p->dir);
    p->dir = aside;
    return 0;
}

int publish_choose (struct publish *p, const char *job, const char *began,
                    const struct publish_caller *caller,
                    char newer[PUBLISH_JOB_MAX], struct err *err)
{
    char path[PATH_MAX], other[PUBLISH_JOB_MAX], since[CLOCK_TEXT_MAX];
    int rc;

    newer[0] = '\0';
    if (!p->above.path[0])      // the results' directory itself was given
        return 0;
    if ((rc = publish_lock_take (&p->lock, &p->dir, caller, err)) < 0)
        return rc;
    if (!job || !began)
        return 0;
    if ((rc = publish_path (p, PUBLISH_DB_NAME, path, err)) < 0)
        return rc;
    read_job (path, other, since);
    if (!other[0] || strcmp (other, job) == 0 || strcmp (since, began) <= 0)
        return 0;
    if ((rc = go_aside (p, job, err)) == 0)
        memcpy (newer, other, sizeof (other));
    return rc;
}

void publish_end (struct publish *p)
{
    publish_lock_drop (&p->lock);
}
