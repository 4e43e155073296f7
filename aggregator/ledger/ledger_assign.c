/* aggregator/ledger/ledger_assign.c - assign captures to jobs
 *
 * The job of an item with a scope and a place was unknown when it arrived.  A
 * row of 'assignment' assigns a version of a capture to a job.  The items of
 * that version have the job too, so that the rest of the ledger need not know
 * about assignments.
 */
#include "ledger/ledger_private.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// the version: parameters 1 to 5, and their values
#define VERSION "scope=?1 AND place=?2 AND rank=?3 AND capture=?4 AND " \
    "newest_ns=?5"
#define ITS_VERSION(a) (a)->scope, (a)->dir, (a)->rank, (a)->capture, \
    (a)->newest_ns

int ledger_find_assignment (struct ledger *l, struct ledger_assignment *a,
                            struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_ASSIGNMENT " FROM "
                                    "assignment WHERE " VERSION,
                                    ITS_VERSION (a));
    bool found = db_step (&r);
    int rc;

    if (found && !ledger_read_assignment (r.st, a))
        r.rc = ledger_damaged (err);
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

int ledger_choose_job (struct ledger *l, struct ledger_item *item,
                       struct err *err)
{
    struct ledger_assignment a = { .rank = item->rank,
                                   .newest_ns = item->newest_ns };
    int rc;

    memcpy (a.scope, item->scope, sizeof (a.scope));
    memcpy (a.dir, item->dir, sizeof (a.dir));
    memcpy (a.capture, item->capture, sizeof (a.capture));
    memcpy (item->job, item->scope, sizeof (item->job));
    if ((rc = ledger_find_assignment (l, &a, err)) == 1)
        memcpy (item->job, a.job, sizeof (item->job));
    return rc < 0 ? rc : 0;
}

/* Of a job's versions of one place, rank and name the newest counts, separately
 * for each path; among equals the last one to arrive.
 */
#define SETTLE(which) \
    "UPDATE item SET superseded=1-superseded, sum=~sum WHERE job=?1 AND " \
    "kind IN (1, 2) AND rank=?3 AND capture=?4 AND place=?2 AND " which \
    "superseded<>EXISTS (SELECT 1 FROM item n WHERE n.job=item.job AND " \
    "n.kind=item.kind AND n.rank=item.rank AND n.capture=item.capture AND " \
    "n.path=item.path AND n.place=item.place AND (n.newest_ns>" \
    "item.newest_ns OR (n.newest_ns=item.newest_ns AND (n.received_ns>" \
    "item.received_ns OR (n.received_ns=item.received_ns AND n.seq>" \
    "item.seq)))))"

static int settle_capture (struct ledger *l, const char *job,
                           const struct ledger_assignment *a, struct err *err)
{
    return ledger_do (l, err, SETTLE (""), job, a->dir, a->rank, a->capture);
}

int ledger_settle_path (struct ledger *l, const char *job, const char *dir,
                        int64_t rank, const char *capture, const char *path,
                        struct err *err)
{
    return ledger_do (l, err, SETTLE ("path=?5 AND "), job, dir, rank, capture,
                      path);
}

/* ---- assigning ---- */

struct moved {                  // an item of the version
    int64_t seq;
    bool superseded;
    struct ledger_item item;
};

/* List the items of a version; the caller frees the list. */
static int list_items (struct ledger *l, const struct ledger_assignment *a,
                       struct moved **list, size_t *n, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT seq, superseded, job, kind,"
                                    " path, host, content, received_ns, who, "
                                    "rows, " LEDGER_FACTS_OF ("") " FROM item "
                                    "WHERE " VERSION " AND place<>''",
                                    ITS_VERSION (a));

    while (db_step (&r)) {
        struct moved *p = vec_add (list, n, sizeof (*p));
        struct ledger_item *i;

        if (!p) {
            r.rc = err_set (err, ENOMEM, "no memory to give items to a job");
            break;
        }
        i = &p->item;
        db_columns (r.st, p->seq, p->superseded, i->job, i->kind, i->path,
                    i->host, i->content, i->received_ns, i->who, i->rows,
                    LEDGER_FACTS (i));
        i->rank = a->rank;
        i->newest_ns = a->newest_ns;
        memcpy (i->scope, a->scope, sizeof (i->scope));
        memcpy (i->dir, a->dir, sizeof (i->dir));
        memcpy (i->capture, a->capture, sizeof (i->capture));
    }
    return db_end (&r);
}

static int move_item (struct ledger *l, struct moved *m, const char *job,
                      struct err *err)
{
    int64_t was = ledger_item_sum (&m->item), sum;

    PRINT (m->item.job, "%s", job);
    sum = ledger_item_sum (&m->item);
    l->total.sum += (uint64_t)sum - (uint64_t)was;
    return ledger_do (l, err, "UPDATE item SET job=?2, sum=?3 WHERE seq=?1",
                      m->seq, job, m->superseded ? ~sum : sum);
}

static int move_items (struct ledger *l, const struct ledger_assignment *a,
                       struct err *err)
{
    struct moved *list = NULL;
    size_t n = 0;
    int rc = list_items (l, a, &list, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = move_item (l, &list[i], a->job, err);
    free (list);
    return rc;
}

static int write_row (struct ledger *l, const struct ledger_assignment *a,
                      struct err *err)
{
    int64_t sum = ledger_assignment_sum (a);

    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return ledger_do (l, err, "INSERT OR REPLACE INTO assignment (scope, "
                      "place, rank, capture, newest_ns, job, at_ns, assumed, "
                      "why, sum) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)",
                      ITS_VERSION (a), a->job, a->at_ns, a->assumed, a->why,
                      sum);
}

/* Move a version from its job to another one, in a transaction. */
static int assign (struct ledger *l, void *arg, struct err *err)
{
    const struct ledger_assignment *a = arg;
    struct ledger_assignment was = *a;
    int rc = ledger_find_assignment (l, &was, err);
    bool had = rc == 1;

    bool same = had && strcmp (was.job, a->job) == 0;

    if (rc < 0 || (same && was.at_ns >= a->at_ns))
        return rc < 0 ? rc : 0;
    if (had) {
        l->total.rows--;
        l->total.sum -= (uint64_t)ledger_assignment_sum (&was);
    }
    if (same)                   // a deletion may lie between
        return write_row (l, a, err);
    if ((rc = write_row (l, a, err)) == 0 &&
        (rc = move_items (l, a, err)) == 0)
        rc = settle_capture (l, a->job, a, err);
    if (rc == 0)
        rc = ledger_set_built (l, a->job, 0, NULL, err);
    if (rc == 0 && had &&
        (rc = settle_capture (l, was.job, a, err)) == 0)
        rc = ledger_set_built (l, was.job, 0, NULL, err);
    return rc < 0 ? rc : 1;
}

int ledger_assign (struct ledger *l, const struct ledger_assignment *a,
                   struct err *err)
{
    struct ledger_assignment copy = *a;

    return ledger_within (l, assign, &copy, err);
}

/* ---- queries ---- */

int ledger_each_assignment (struct ledger *l, const char *job,
                            int (*fn) (void *arg,
                                       const struct ledger_assignment *a),
                            void *arg, struct err *err)
{
    struct db_rows r = job
        ? ledger_rows (l, err, "SELECT " LEDGER_ASSIGNMENT " FROM assignment "
                       "WHERE job=?1", job)
        : ledger_rows (l, err, "SELECT " LEDGER_ASSIGNMENT " FROM assignment");
    struct ledger_assignment a;

    while (db_step (&r))
        r.rc = ledger_read_assignment (r.st, &a) ? fn (arg, &a)
                                                 : ledger_damaged (err);
    return db_end (&r);
}

int ledger_each_of_scope (struct ledger *l, const char *scope,
                          int (*fn) (void *arg,
                                     const struct ledger_item *item),
                          void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct db_rows r = ledger_rows (l, err, LEDGER_ITEM " FROM item i LEFT "
                                    "JOIN content c ON c.id=i.content WHERE "
                                    "i.scope=?1 AND i.place<>'' AND i.kind=1 "
                                    "ORDER BY i.seq", scope);

    while (db_step (&r))
        r.rc = ledger_read_item (r.st, &item) ? fn (arg, &item)
                                              : ledger_damaged (err);
    return db_end (&r);
}

bool ledger_has_scope (struct ledger *l, const char *scope)
{
    return db_number (ledger_rows (l, NULL, "SELECT EXISTS (SELECT 1 FROM item "
                                   "WHERE scope=?1 AND place<>'' AND kind=1)",
                                   scope), 0) != 0;
}

int64_t ledger_count_open (struct ledger *l, const char *scope)
{
    return db_number (ledger_rows (l, NULL,
        "SELECT count(*) FROM item i WHERE i.scope=?1 AND "
        "i.place<>'' AND i.kind=1 AND NOT EXISTS (SELECT 1 FROM "
        "assignment a WHERE a.scope=i.scope AND a.place=i.place AND"
        " a.capture=i.capture AND a.rank=i.rank AND a.newest_ns="
        "i.newest_ns)", scope), 0);
}

bool ledger_has_job (struct ledger *l, const char *job)
{
    return db_number (ledger_rows (l, NULL,
        "SELECT EXISTS (SELECT 1 FROM item WHERE job=?1) OR EXISTS (SELECT 1 "
        "FROM assignment WHERE job=?1) OR EXISTS (SELECT 1 FROM job WHERE "
        "id=?1)", job), 0) != 0;
}

int ledger_each_empty_job (struct ledger *l,
                           int (*fn) (void *arg, const char *job), void *arg,
                           struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT id FROM job WHERE "
                                    "world_size=0 AND id NOT IN (SELECT job "
                                    "FROM item) UNION SELECT job FROM deletion "
                                    "WHERE gone=0 AND job NOT IN (SELECT job "
                                    "FROM item)");
    char id[MESSAGE_NAME_MAX];

    while (db_row (&r, id))
        r.rc = fn (arg, id);
    return db_end (&r);
}
