/* aggregator/ledger/ledger_assign.c - captures, and the jobs they were given to
 *
 * Of an item that has a scope and a place nobody knew the job when it came.  A
 * row of 'assignment' gives a version of a capture to one, and the items of
 * that version have the job, too, so that all else of the ledger need not know
 * how they got it.
 */
#include "ledger/ledger_private.h"

#include "base/vec.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "scope=?1 AND place=?2 AND rank=?3 AND capture=?4 AND " \
    "newest_ns=?5"

bool ledger_valid_assignment (const struct ledger_assignment *a)
{
    return message_valid_name (a->scope) && *a->dir &&
           message_valid_place (a->dir) && message_valid_name (a->job) &&
           message_valid_item (ITEM_ROWS, a->rank, a->capture, "");
}

bool ledger_read_assignment (sqlite3_stmt *st, struct ledger_assignment *a)
{
    ledger_copy_column (a->scope, sizeof (a->scope), st, 0);
    ledger_copy_column (a->dir, sizeof (a->dir), st, 1);
    a->rank = sqlite3_column_int64 (st, 2);
    ledger_copy_column (a->capture, sizeof (a->capture), st, 3);
    a->newest_ns = sqlite3_column_int64 (st, 4);
    ledger_copy_column (a->job, sizeof (a->job), st, 5);
    a->at_ns = sqlite3_column_int64 (st, 6);
    a->assumed = sqlite3_column_int (st, 7) != 0;
    ledger_copy_column (a->why, sizeof (a->why), st, 8);
    return ledger_valid_assignment (a) &&
           sqlite3_column_int64 (st, 9) == ledger_assignment_sum (a);
}

static void bind_version (sqlite3_stmt *st, const struct ledger_assignment *a)
{
    db_bind_text (st, 1, a->scope);
    db_bind_text (st, 2, a->dir);
    (void)sqlite3_bind_int64 (st, 3, a->rank);
    db_bind_text (st, 4, a->capture);
    (void)sqlite3_bind_int64 (st, 5, a->newest_ns);
}

int ledger_find_assignment (struct ledger *l, struct ledger_assignment *a,
                            struct err *err)
{
    sqlite3_stmt *st = l->st[GET_ASSIGNMENT];
    int rc;

    bind_version (st, a);
    if ((rc = ledger_has_row (l, st, err)) == 1 &&
        !ledger_read_assignment (st, a))
        rc = ledger_damaged (err);
    (void)sqlite3_reset (st);
    return rc;
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

/* Of what a job has of one place, rank and name the newest counts, path by
 * path, and of those the last that came.
 */
static int assign_settle (struct ledger *l, const char *job, const char *dir,
                          int64_t rank, const char *capture, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db,
        "UPDATE item SET superseded=1-superseded, sum=~sum WHERE job=?1 AND "
        "kind IN (1, 2) AND rank=?3 AND capture=?4 AND place=?2 AND "
        "superseded<>EXISTS (SELECT 1 FROM item n WHERE n.job=item.job AND "
        "n.kind=item.kind AND n.rank=item.rank AND n.capture=item.capture AND "
        "n.path=item.path AND n.place=item.place AND (n.newest_ns>"
        "item.newest_ns OR (n.newest_ns=item.newest_ns AND n.seq>item.seq)))",
        &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    db_bind_text (st, 2, dir);
    (void)sqlite3_bind_int64 (st, 3, rank);
    db_bind_text (st, 4, capture);
    rc = db_run (st, err);
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_settle_versions (struct ledger *l, const struct ledger_item *item,
                            struct err *err)
{
    return assign_settle (l, item->job, item->dir, item->rank, item->capture,
                          err);
}

/* ---- giving ---- */

struct moved {                  // an item of the version
    int64_t seq;
    bool superseded;
    struct ledger_item item;
};

/* The items of a version, which are to be free'd. */
static int list_items (struct ledger *l, const struct ledger_assignment *a,
                       struct moved **list, size_t *n, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT seq, superseded, job, kind, path, "
                                "host, content, received_ns, who, rows FROM "
                                "item WHERE " VERSION " AND place<>''", &st, err);

    if (rc < 0)
        return rc;
    bind_version (st, a);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        struct moved *p = vec_one_more (*list, *n, sizeof (*p));
        struct ledger_item *i;

        if (!p) {
            rc = err_set (err, ENOMEM, "no memory to give items to a job");
            break;
        }
        *list = p;
        p += (*n)++;
        i = &p->item;
        memset (p, 0, sizeof (*p));
        p->seq = sqlite3_column_int64 (st, 0);
        p->superseded = sqlite3_column_int (st, 1) != 0;
        ledger_copy_column (i->job, sizeof (i->job), st, 2);
        i->kind = (unsigned)sqlite3_column_int (st, 3);
        ledger_copy_column (i->path, sizeof (i->path), st, 4);
        ledger_copy_column (i->host, sizeof (i->host), st, 5);
        (void)ledger_digest_column (&i->content, st, 6);
        i->received_ns = sqlite3_column_int64 (st, 7);
        ledger_copy_column (i->who, sizeof (i->who), st, 8);
        i->rows = sqlite3_column_int64 (st, 9);
        i->rank = a->rank;
        i->newest_ns = a->newest_ns;
        memcpy (i->scope, a->scope, sizeof (i->scope));
        memcpy (i->dir, a->dir, sizeof (i->dir));
        memcpy (i->capture, a->capture, sizeof (i->capture));
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static int move_item (struct ledger *l, struct moved *m, const char *job,
                      struct err *err)
{
    int64_t was = ledger_item_sum (&m->item), sum;
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "UPDATE item SET job=?2, sum=?3 WHERE seq=?1",
                         &st, err);

    if (rc < 0)
        return rc;
    (void)snprintf (m->item.job, sizeof (m->item.job), "%s", job);
    sum = ledger_item_sum (&m->item);
    (void)sqlite3_bind_int64 (st, 1, m->seq);
    db_bind_text (st, 2, job);
    (void)sqlite3_bind_int64 (st, 3, m->superseded ? ~sum : sum);
    rc = db_run (st, err);
    (void)sqlite3_finalize (st);
    l->total.sum += (uint64_t)sum - (uint64_t)was;
    return rc;
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
    sqlite3_stmt *st = NULL;
    int64_t sum = ledger_assignment_sum (a);
    int rc = db_prepare (l->db, "INSERT OR REPLACE INTO assignment (scope, "
                                "place, rank, capture, newest_ns, job, at_ns, "
                                "assumed, why, sum) VALUES (?1,?2,?3,?4,?5,?6,"
                                "?7,?8,?9,?10)", &st, err);

    if (rc < 0)
        return rc;
    bind_version (st, a);
    db_bind_text (st, 6, a->job);
    (void)sqlite3_bind_int64 (st, 7, a->at_ns);
    (void)sqlite3_bind_int (st, 8, a->assumed);
    db_bind_text (st, 9, a->why);
    (void)sqlite3_bind_int64 (st, 10, sum);
    rc = db_run (st, err);
    (void)sqlite3_finalize (st);
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return rc;
}

/* The job that loses it, and the one that gets it, in a transaction. */
static int assign (struct ledger *l, void *arg, struct err *err)
{
    const struct ledger_assignment *a = arg;
    struct ledger_assignment was = *a;
    int rc = ledger_find_assignment (l, &was, err);
    bool had = rc == 1;

    if (rc < 0 || (had && strcmp (was.job, a->job) == 0))
        return rc < 0 ? rc : 0;
    if (had) {
        l->total.rows--;
        l->total.sum -= (uint64_t)ledger_assignment_sum (&was);
    }
    if ((rc = write_row (l, a, err)) == 0 &&
        (rc = move_items (l, a, err)) == 0)
        rc = assign_settle (l, a->job, a->dir, a->rank, a->capture, err);
    if (rc == 0)
        rc = ledger_set_built (l, a->job, 0, err);
    if (rc == 0 && had &&
        (rc = assign_settle (l, was.job, a->dir, a->rank, a->capture,
                             err)) == 0)
        rc = ledger_set_built (l, was.job, 0, err);
    return rc < 0 ? rc : 1;
}

int ledger_assign (struct ledger *l, const struct ledger_assignment *a,
                   struct err *err)
{
    struct ledger_assignment copy = *a;

    return ledger_within (l, assign, &copy, err);
}

/* ---- asking ---- */

int ledger_each_assignment (struct ledger *l, const char *job,
                            int (*fn) (void *arg,
                                       const struct ledger_assignment *a),
                            void *arg, struct err *err)
{
    struct ledger_assignment a;
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT " LEDGER_ASSIGNMENT " FROM assignment "
                                "WHERE ?1 IS NULL OR job=?1", &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        rc = ledger_read_assignment (st, &a) ? fn (arg, &a)
                                             : ledger_damaged (err);
        if (rc < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_each_of_scope (struct ledger *l, const char *scope,
                          int (*fn) (void *arg,
                                     const struct ledger_item *item),
                          void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, LEDGER_ITEM " FROM item i LEFT JOIN content c "
                                "ON c.id=i.content WHERE i.scope=?1 AND "
                                "i.place<>'' AND i.kind=1 ORDER BY i.seq", &st,
                         err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, scope);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        rc = ledger_read_item (st, &item) ? fn (arg, &item)
                                          : ledger_damaged (err);
        if (rc < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

static int64_t assign_ask (struct ledger *l, const char *sql, const char *name)
{
    sqlite3_stmt *st = NULL;
    int64_t n = 0;

    if (db_prepare (l->db, sql, &st, NULL) == 0) {
        db_bind_text (st, 1, name);
        if (ledger_has_row (l, st, NULL) == 1)
            n = sqlite3_column_int64 (st, 0);
    }
    (void)sqlite3_finalize (st);
    return n;
}

int64_t ledger_count_open (struct ledger *l, const char *scope)
{
    return assign_ask (
        l,
        "SELECT count(*) FROM item i WHERE i.scope=?1 AND "
        "i.place<>'' AND i.kind=1 AND NOT EXISTS (SELECT 1 FROM "
        "assignment a WHERE a.scope=i.scope AND a.place=i.place AND"
        " a.capture=i.capture AND a.rank=i.rank AND a.newest_ns="
        "i.newest_ns)",
        scope);
}

void ledger_count_given (struct ledger *l, const char *job,
                         struct ledger_summary *ret)
{
    ret->divided = assign_ask (l,
                               "SELECT count(*) FROM assignment WHERE job=?1",
                               job);
    ret->assumed =
        assign_ask (l,
                    "SELECT count(*) FROM assignment WHERE job=?1 AND "
                    "assumed",
                    job);
    ret->by_hand =
        assign_ask (l,
                    "SELECT count(*) FROM assignment WHERE job=?1 AND "
                    "why='" LEDGER_BY_HAND "'",
                    job);
}

bool ledger_has_job (struct ledger *l, const char *job)
{
    return assign_ask (
               l,
               "SELECT EXISTS (SELECT 1 FROM item WHERE job=?1) OR EXISTS "
               "(SELECT 1 FROM assignment WHERE job=?1) OR EXISTS (SELECT "
               "1 FROM job WHERE id=?1)",
               job) != 0;
}

int ledger_each_empty_job (struct ledger *l,
                           int (*fn) (void *arg, const char *job), void *arg,
                           struct err *err)
{
    char id[MESSAGE_NAME_MAX];
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT id FROM job WHERE world_size=0 AND "
                                "id NOT IN (SELECT job FROM item)", &st, err);

    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        ledger_copy_column (id, sizeof (id), st, 0);
        rc = fn (arg, id);
    }
    (void)sqlite3_finalize (st);
    return rc;
}
