/* aggregator/fsck/check_ledger.c - compare the ledger with the records */
#include "fsck/check_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void check_ledger_path (const struct check *c, const char *end,
                        char out[PATH_MAX])
{
    (void)snprintf (out, PATH_MAX, "%s/ledger.db%s", c->root, end);
}

static int count_unknown (void *arg, const struct ledger_item *i)
{
    struct check *c = arg;

    if (i->superseded || ledger_has_item (c->old, i, NULL) == 1)
        return 0;
    c->differs = true;
    if (i->seq > c->finished) {
        c->report->leftovers++;
        check_say (c, "job %s rank %lld %s%s%s: it arrived complete, but was "
                   "not acknowledged", i->job, (long long)i->rank, i->capture,
                   *i->path ? "/" : "", i->path);
    } else {
        check_damage (c, "job %s rank %lld %s%s%s: the ledger does not have "
                      "it", i->job, (long long)i->rank, i->capture,
                      *i->path ? "/" : "", i->path);
    }
    return 0;
}

static int compare_job (void *arg, const struct ledger_job *j)
{
    struct check *c = arg;
    int rc = 0;

    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (c->fresh, j->id, k, count_unknown, c, c->err);
    return rc;
}

/* If the old ledger lacks it, the next start enters it. */
static int compare_assignment (void *arg, const struct ledger_assignment *a)
{
    struct check *c = arg;
    struct ledger_assignment known = *a;

    if (ledger_find_assignment (c->old, &known, NULL) == 1)
        return 0;
    c->report->leftovers++;
    check_say (c, "job %s rank %lld %s: the ledger does not know yet that it "
               "was given to this job", a->job, (long long)a->rank,
               a->capture);
    return 0;
}

static int compare_fact (void *arg, const struct ledger_fact *f)
{
    struct check *c = arg;

    if (ledger_has_fact (c->old, f, NULL) == 1)
        return 0;
    c->report->leftovers++;
    check_say (c, "job %s: the ledger does not know its %s yet", f->job,
               f->key);
    return 0;
}

static int compare_deletion (void *arg, const struct ledger_deletion *d)
{
    struct check *c = arg;

    if (ledger_has_deletion (c->old, d, NULL) == 1)
        return 0;
    c->report->leftovers++;
    check_say (c, "job %s rank %lld %s: the ledger does not know yet that it "
               "was removed", d->job, (long long)d->rank, d->capture);
    return 0;
}

static int compare_old (struct check *c)
{
    int rc = ledger_each_job (c->fresh, ITEM_RAW, compare_job, c, c->err);

    if (rc == 0)
        rc = ledger_each_deletion (c->fresh, NULL, compare_deletion, c,
                                   c->err);

    if (rc == 0)
        rc = ledger_each_assignment (c->fresh, NULL, compare_assignment, c,
                                     c->err);
    return rc < 0 ? rc : ledger_each_fact (c->fresh, NULL, 0, compare_fact, c,
                                           c->err);
}

/* Whether it is behind all that was committed. */
static bool is_unfinished (const struct check *c, const struct check_gap *g)
{
    return g->segment > c->last_segment ||
           (g->segment == c->last_segment && g->offset >= c->last_end);
}

static int check_gaps (struct check *c)
{
    int rc = 0;

    for (size_t i = 0; i < c->ngaps && rc == 0; i++) {
        struct check_gap *g = &c->gaps[i];

        if (check_gap_is_aside (c, g))
            continue;
        if (c->old && is_unfinished (c, g)) {
            c->report->leftovers++;
            g->unfinished = true;
            check_say (c, "segment %" PRId64 ": the last %" PRIu64 " bytes "
                       "belong to an unfinished commit", g->segment,
                       g->size);
            continue;
        }
        check_damage (c, "segment %" PRId64 ": %" PRIu64 " bytes at "
                      "%" PRIu64 " are not a record",
                      g->segment, g->size, g->offset);
        c->differs = true;
        if (c->repair)
            rc = check_quarantine_gap (c, g);
    }
    return rc;
}

int check_open_old (struct check *c)
{
    char path[PATH_MAX];

    check_ledger_path (c, "", path);
    c->old_rc = ledger_open_read (path, &c->old, &c->old_why);
    if (c->old_rc == -ENOMEM || c->old_rc == -EBUSY || c->old_rc == -ENOSPC)
        return err_set (c->err, -c->old_rc, "%s", c->old_why.text);
    return c->old ? ledger_last_segment (c->old, &c->last_segment,
                                         &c->last_end, c->err) : 0;
}

/* A new root has no ledger.  A ledger that this program cannot read may have
 * data that no record has: it is not replaced then.
 */
static int blame_old (struct check *c)
{
    if (c->old_rc == -ENOTSUP && !c->report->items)
        return err_set (c->err, ENOTSUP, "%s", c->old_why.text);
    if (c->old_rc == -ENOENT && c->nsegments == 0)
        return 0;
    check_damage (c, "%s", c->old_rc == -ENOENT ? "the ledger is not there"
                                                : c->old_why.text);
    c->differs = true;
    return 0;
}

/* A service does not continue in a segment that is shorter than its ledger
 * says.
 */
static void check_last_segment (struct check *c)
{
    struct stat st = { .st_size = 0 };
    char path[PATH_MAX];

    store_segment_path (c->root, c->last_segment, path);
    if (lstat (path, &st) < 0)
        st.st_size = 0;
    if (!c->old || (uint64_t)st.st_size >= c->last_end)
        return;
    check_damage (c, "segment %" PRId64 ": the ledger records %" PRIu64 " "
                  "bytes, the file has %lld", c->last_segment, c->last_end,
                  (long long)st.st_size);
    c->differs = true;
}

int check_old_ledger (struct check *c)
{
    sqlite3 *db = NULL;
    char path[PATH_MAX];
    int rc;

    check_ledger_path (c, "", path);
    if (db_open (path, SQLITE_OPEN_READONLY, &db) == SQLITE_OK) {
        db_harden (db);
    } else {
        (void)sqlite3_close (db);
        db = NULL;
    }
    rc = db ? check_take_deletions (c, db) : 0;
    if (rc == 0)                // what was removed has no content to be missed
        rc = check_contents (c, db);
    if (rc == 0)
        rc = c->old ? compare_old (c) : blame_old (c);
    check_last_segment (c);
    if (rc == 0)
        rc = check_gaps (c);
    ledger_close (c->old);      // before it is moved
    c->old = NULL;
    if (rc == 0 && db)
        rc = check_take_over (c, db);
    (void)sqlite3_close (db);
    return rc;
}
