/* aggregator/builder/previous_result.c - find captures that only an older
 * result has
 */
#include "builder/previous_result.h"

#include "base/cmp.h"
#include "base/units.h"
#include "store/db_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 8             // more are counted
#define GONE_SIZE 2048          // bytes: this many names of NAME_MAX

struct former {
    const char **now;           // names of the job's captures, sorted
    size_t n, at;
    size_t same, gone;          // names of the former ones
    char named[GONE_SIZE];
};

static bool list_now (struct former *f, const struct build_job *job)
{
    if (!(f->now = calloc (job->nitems + 1, sizeof (*f->now))))
        return false;
    for (size_t i = 0; i < job->nitems; i++)
        f->now[f->n++] = job->items[i].capture.name;
    qsort (f->now, f->n, sizeof (*f->now), cmp_text);
    return true;
}

/* Both lists are sorted by name, so one pass compares them.  Ranks are ignored,
 * as they may have been corrected since.
 */
static void previous_result_compare (struct former *f, const char *name,
                                     int64_t rank)
{
    size_t used = strlen (f->named);
    int order = 1;

    while (f->at < f->n && (order = strcmp (f->now[f->at], name)) < 0)
        f->at++;
    if (f->at < f->n && order == 0) {
        f->at++;
        f->same++;
        return;
    }
    if (f->gone++ >= NAMED_MAX)
        return;
    if (rank >= 0)
        (void)snprintf (f->named + used, sizeof (f->named) - used,
                        "%srank %" PRId64 ": %s", used ? ", " : "", rank,
                        name);
    else
        (void)snprintf (f->named + used, sizeof (f->named) - used, "%s%s",
                        used ? ", " : "", name);
}

static bool is_of_job (sqlite3 *db, const char *job)
{
    return job && db_number (db_rows (db, NULL, "SELECT 1 FROM Job WHERE "
                                      "key='job' AND value=?1", job), 0) == 1;
}

static void compare_all (struct former *f, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL,
        "SELECT name, ifnull(rank, -1) FROM Capture WHERE state IN "
        "('complete', 'partial', 'unexpected') AND name IS NOT NULL ORDER BY "
        "CAST(name AS BLOB)");
    const char *name;
    int64_t rank;

    while (db_row (&r, name, rank))
        previous_result_compare (f, name, rank);
    (void)db_end (&r);
}

static void previous_result_tell (const struct former *f, struct roster *r)
{
    char text[GONE_SIZE + 256], more[48] = "";

    if (f->gone > NAMED_MAX)
        (void)snprintf (more, sizeof (more), " and %zu more",
                        f->gone - NAMED_MAX);
    (void)snprintf (text, sizeof (text), "the replaced result had %zu "
                    "capture%s that %s now missing or of another job: %s%s",
                    f->gone, units_s (f->gone), units_are (f->gone), f->named,
                    more);
    roster_add_note (r, text);
}

void previous_result_note_missing (const struct publish *p,
                                   const struct build_job *job)
{
    struct former f = { .now = NULL };
    char path[PATH_MAX];
    sqlite3 *db = NULL;

    if (publish_path (p, BUILD_DB_NAME, path, NULL) < 0 ||
        !publish_is_our_db (path) || !list_now (&f, job))
        return;
    if (db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK) {
        db_harden (db);
        compare_all (&f, db);
        // another job's captures are not missed here
        if (f.gone > 0 && (f.same > 0 || is_of_job (db, job->job_id)))
            previous_result_tell (&f, job->roster);
    }
    (void)sqlite3_close (db);
    free (f.now);
}
