/* aggregator/ledger/ledger_deletions.c - what was removed on purpose */
#include "ledger/ledger_private.h"

#include "base/clock.h"
#include "base/vec.h"
#include "store/row_sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool ledger_valid_deletion (const struct ledger_deletion *d)
{
    return message_valid_name (d->scope) && message_valid_place (d->dir) &&
           message_valid_name (d->job) &&
           message_valid_item (ITEM_ROWS, d->rank, d->capture, "");
}

void ledger_deletion_of (const struct ledger_item *i,
                         struct ledger_deletion *ret)
{
    *ret = (struct ledger_deletion){ .rank = i->rank,
                                     .newest_ns = i->newest_ns };
    PRINT (ret->scope, "%s", *i->dir ? i->scope : i->job);
    PRINT (ret->dir, "%s", i->dir);
    PRINT (ret->capture, "%s", i->capture);
    PRINT (ret->job, "%s", i->job);
}

void ledger_deletion_text (const struct ledger_deletion *d,
                           char out[DELETION_TEXT_MAX])
{
    time_t at = (time_t)(d->at_ns / NS_PER_S);
    struct tm tm;
    char date[32];

    if (!gmtime_r (&at, &tm) ||
        strftime (date, sizeof (date), "%Y-%m-%d %H:%M UTC", &tm) == 0)
        PRINT (date, "an unknown date");
    (void)snprintf (out, DELETION_TEXT_MAX, "removed on %s by %s", date,
                    *d->by ? d->by : "an unknown user");
}

/* ---- rows ---- */

int64_t ledger_deletion_sum (const struct ledger_deletion *d)
{
    return row_sum (d->scope, d->dir, d->rank, d->capture, d->newest_ns,
                    d->job, d->at_ns, d->by, d->gone);
}

bool ledger_read_deletion (sqlite3_stmt *st, struct ledger_deletion *d)
{
    int64_t sum;

    db_columns (st, d->seq, d->scope, d->dir, d->rank, d->capture,
                d->newest_ns, d->job, d->at_ns, d->by, d->gone, sum);
    return ledger_valid_deletion (d) && sum == ledger_deletion_sum (d);
}

int64_t ledger_last_seq (struct ledger *l)
{
    return db_number (ledger_rows (l, NULL, "SELECT max(ifnull((SELECT "
                                   "max(seq) FROM main.item), 0), ifnull(("
                                   "SELECT max(seq) FROM deletion), 0))"), 0);
}

int ledger_note_deleted (struct ledger *l, struct err *err)
{
    int any = 0;
    int rc = db_one (ledger_rows (l, err, "SELECT EXISTS (SELECT 1 FROM "
                                          "deletion)"), any);

    l->any_deleted = any != 0;
    return rc < 0 ? rc : 0;
}

#define ITS_CAPTURE "scope=?1 AND place=?2 AND capture=?3 AND rank=?4 "
#define ITS_VERSION(d) (d)->scope, (d)->dir, (d)->capture, (d)->rank, \
    (d)->newest_ns

/* The first row of a query: 1, 0. */
static int one_deletion (struct db_rows r, struct ledger_deletion *ret,
                         struct err *err)
{
    bool found = db_step (&r);
    int rc;

    if (found && !ledger_read_deletion (r.st, ret))
        r.rc = ledger_damaged (err);
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

// of a place this version, else it and those of newer versions; of what had
// arrived before also if it has no date
#define DELETES \
    ITS_CAPTURE "AND (newest_ns=?5 OR (place='' AND ?5>0 AND newest_ns>?5)) "
#define DELETED \
    ITS_CAPTURE "AND (newest_ns=?5 OR (place='' AND newest_ns>?5)) "

int ledger_removed_at (struct ledger *l, const struct ledger_item *item,
                       int64_t *at_ns, struct err *err)
{
    struct ledger_deletion d;
    int found = 0, rc;

    *at_ns = 0;
    if (!l->any_deleted)
        return 0;
    ledger_deletion_of (item, &d);
    rc = db_one (ledger_rows (l, err, "SELECT count(*), ifnull(max(at_ns), 0) "
                              "FROM deletion WHERE " DELETED,
                              ITS_VERSION (&d)), found, *at_ns);
    return rc < 0 ? rc : found > 0;
}

int ledger_each_deletion_of (struct ledger *l, const struct ledger_item *item,
                             ledger_deletion_fn *fn, void *arg,
                             struct err *err)
{
    struct ledger_deletion d;
    struct db_rows r;

    if (!l->any_deleted)
        return 0;
    ledger_deletion_of (item, &d);
    r = ledger_rows (l, err, "SELECT " LEDGER_DELETION " FROM deletion WHERE "
                     DELETES "AND gone=0 ORDER BY newest_ns DESC",
                     ITS_VERSION (&d));
    while (db_step (&r))
        r.rc = ledger_read_deletion (r.st, &d) ? fn (arg, &d)
                                               : ledger_damaged (err);
    return db_end (&r);
}

static int note_any (void *arg, const struct ledger_deletion *d)
{
    struct ledger_deletion *ret = arg;

    if (!*ret->job)
        *ret = *d;
    return 0;
}

int ledger_find_deletion (struct ledger *l, const struct ledger_item *item,
                          struct ledger_deletion *ret, struct err *err)
{
    struct ledger_deletion d = { .rank = 0 };
    int rc = ledger_each_deletion_of (l, item, note_any, &d, err);

    if (rc == 0 && ret)
        *ret = d;
    return rc < 0 ? rc : *d.job != '\0';
}

int ledger_date_arrival (struct ledger *l, struct ledger_item *item,
                         struct err *err)
{
    int64_t at_ns;
    int rc = ledger_find_deletion (l, item, NULL, err);

    if (rc == 1)
        item->received_ns = 0;
    if (rc != 0 || (rc = ledger_removed_at (l, item, &at_ns, err)) <= 0)
        return rc;
    if (item->received_ns <= at_ns)
        item->received_ns = at_ns + 1;
    return 0;
}

static int find_same (struct ledger *l, const struct ledger_deletion *d,
                      struct ledger_deletion *ret, struct err *err)
{
    return one_deletion (ledger_rows (l, err, "SELECT " LEDGER_DELETION " FROM "
                                      "deletion WHERE " ITS_CAPTURE "AND "
                                      "newest_ns=?5", ITS_VERSION (d)),
                         ret, err);
}

int ledger_has_deletion (struct ledger *l, const struct ledger_deletion *d,
                         struct err *err)
{
    struct ledger_deletion known;
    int rc = find_same (l, d, &known, err);

    return rc <= 0 ? rc : ledger_deletion_sum (&known) ==
                              ledger_deletion_sum (d);
}

int ledger_each_deletion (struct ledger *l, const char *job,
                          ledger_deletion_fn *fn, void *arg, struct err *err)
{
    struct db_rows r = job
        ? ledger_rows (l, err, "SELECT " LEDGER_DELETION " FROM deletion "
                       "WHERE job=?1 ORDER BY seq", job)
        : ledger_rows (l, err, "SELECT " LEDGER_DELETION " FROM deletion "
                       "ORDER BY seq");
    struct ledger_deletion d;

    while (db_step (&r))
        r.rc = ledger_read_deletion (r.st, &d) ? fn (arg, &d)
                                               : ledger_damaged (err);
    return db_end (&r);
}

int ledger_last_deletion (struct ledger *l, const char *job,
                          struct ledger_deletion *ret, struct err *err)
{
    return one_deletion (ledger_rows (l, err, "SELECT " LEDGER_DELETION " FROM "
                                      "deletion WHERE job=?1 AND gone=0 ORDER "
                                      "BY seq DESC LIMIT 1", job), ret, err);
}

/* ---- forgetting items ---- */

// of a place this version, else all up to it, and those without a date
#define ITS_ITEMS_OF_PLACE \
    "scope=?1 AND place=?2 AND place<>'' AND capture=?3 AND rank=?4 AND " \
    "newest_ns=?5 AND received_ns<=?6"
#define ITS_ITEMS_OF_JOB \
    "job=?1 AND place=?2 AND capture=?3 AND rank=?4 AND kind IN (1, 2) AND " \
    "newest_ns<=?5 AND received_ns<=?6"
#define READ_ITEM \
    "SELECT seq, superseded, sum, content, job, kind, path FROM item WHERE "

struct forgotten {
    int64_t seq, sum;
    bool superseded;
    struct digest content;
    char job[MESSAGE_NAME_MAX];
    int kind;
    char path[MESSAGE_PATH_MAX];
};

static int list_items (struct ledger *l, const struct ledger_deletion *d,
                       struct forgotten **list, size_t *n, struct err *err)
{
    struct db_rows r = *d->dir
        ? ledger_rows (l, err, READ_ITEM ITS_ITEMS_OF_PLACE, ITS_VERSION (d),
                       d->at_ns)
        : ledger_rows (l, err, READ_ITEM ITS_ITEMS_OF_JOB, ITS_VERSION (d),
                       d->at_ns);

    while (db_step (&r)) {
        struct forgotten *f = vec_add (list, n, sizeof (*f));

        if (!f) {
            r.rc = err_set (err, ENOMEM, "no memory to remove items");
            break;
        }
        db_columns (r.st, f->seq, f->superseded, f->sum, f->content, f->job,
                    f->kind, f->path);
    }
    return db_end (&r);
}

static int forget_item (struct ledger *l, const struct forgotten *f,
                        struct err *err)
{
    int rc = ledger_do (l, err, "DELETE FROM main.item WHERE seq=?1", f->seq);

    if (rc < 0)
        return rc;
    l->total.rows--;
    l->total.sum -= (uint64_t)(f->superseded ? ~f->sum : f->sum);
    rc = ledger_do (l, err, "INSERT OR IGNORE INTO dead VALUES (?1)",
                    &f->content);
    if (rc == 0 && l->any_lost)
        rc = ledger_do (l, err, "DELETE FROM temp.lost WHERE content=?1 AND "
                                "seq=?2", &f->content, f->seq);
    return rc;
}

/* If the item superseded one that arrived after the removal, this one counts. */
static int restore_older (struct ledger *l, const struct ledger_deletion *d,
                          const struct forgotten *f, struct err *err)
{
    if (f->superseded)
        return 0;
    if (*d->dir)                // without a job none superseded another
        return strcmp (f->job, d->scope) == 0
            ? 0 : ledger_settle_path (l, f->job, d->dir, d->rank, d->capture,
                                      f->path, err);
    return ledger_do (l, err, "UPDATE item SET superseded=0, sum=~sum WHERE "
                      "superseded=1 AND seq=(SELECT seq FROM item WHERE job=?1 "
                      "AND kind=+?2 AND rank=?3 AND capture=?4 AND path=?5 AND "
                      "place='' ORDER BY newest_ns DESC, received_ns DESC LIMIT "
                      "1)", f->job, f->kind, d->rank, d->capture, f->path);
}

static int forget_assignment (struct ledger *l,
                              const struct ledger_deletion *d,
                              struct err *err)
{
    struct ledger_assignment a = { .rank = d->rank,
                                   .newest_ns = d->newest_ns };
    int rc;

    PRINT (a.scope, "%s", d->scope);
    PRINT (a.dir, "%s", d->dir);
    PRINT (a.capture, "%s", d->capture);
    if (!*d->dir || (rc = ledger_find_assignment (l, &a, err)) == 0)
        return 0;
    if (rc < 0 || a.at_ns > d->at_ns)
        return rc < 0 ? rc : 0;
    l->total.rows--;
    l->total.sum -= (uint64_t)ledger_assignment_sum (&a);
    return ledger_do (l, err, "DELETE FROM assignment WHERE " ITS_CAPTURE "AND "
                              "newest_ns=?5", ITS_VERSION (d));
}

/* The job's result has to be made again; if nothing is left of the job, what
 * agents said of its ranks and clocks has no use.
 */
static int end_job (struct ledger *l, const char *job, struct err *err)
{
    int left = 0;
    int rc = ledger_built (l, job) == 0
                 ? 0 : ledger_set_built (l, job, 0, NULL, err);

    if (rc == 0)
        rc = db_one (ledger_rows (l, err, "SELECT EXISTS (SELECT 1 FROM item "
                                  "WHERE job=?1)", job), left);
    if (rc < 0 || left)
        return rc < 0 ? rc : 0;
    rc = ledger_do (l, err, "DELETE FROM heard WHERE job=?1", job);
    return rc < 0 ? rc : ledger_do (l, err, "DELETE FROM clock WHERE job=?1",
                                    job);
}

static int forget_items (struct ledger *l, const struct ledger_deletion *d,
                         struct err *err)
{
    struct forgotten *list = NULL;
    size_t n = 0;
    int rc = list_items (l, d, &list, &n, err);

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = forget_item (l, &list[i], err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = restore_older (l, d, &list[i], err);
    if (rc == 0)
        rc = forget_assignment (l, d, err);
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (i == 0 || strcmp (list[i].job, list[i - 1].job) != 0)
            rc = end_job (l, list[i].job, err);
    }
    free (list);
    return rc;
}

/* ---- entering ---- */

/* Drop the row that this one replaces: 1, there is none; 0: it counts. */
static int drop_older (struct ledger *l, const struct ledger_deletion *d,
                       struct err *err)
{
    struct ledger_deletion old;
    int rc = find_same (l, d, &old, err);

    if (rc <= 0)
        return rc < 0 ? rc : 1;
    if (old.at_ns > d->at_ns ||
        (old.at_ns == d->at_ns &&
         ledger_deletion_sum (&old) >= ledger_deletion_sum (d)))
        return 0;
    l->total.rows--;
    l->total.sum -= (uint64_t)ledger_deletion_sum (&old);
    rc = ledger_do (l, err, "DELETE FROM deletion WHERE seq=?1", old.seq);
    return rc < 0 ? rc : 1;
}

static int enter (struct ledger *l, void *arg, struct err *err)
{
    const struct ledger_deletion *d = arg;
    int64_t sum = ledger_deletion_sum (d), seq = ledger_last_seq (l) + 1;
    int rc = drop_older (l, d, err);

    if (rc <= 0)
        return rc;
    l->any_deleted = true;
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    rc = ledger_do (l, err, "INSERT INTO deletion (" LEDGER_DELETION ") VALUES "
                    "(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)", seq, d->scope,
                    d->dir, d->rank, d->capture, d->newest_ns, d->job,
                    d->at_ns, d->by, d->gone, sum);
    if (rc == 0)
        rc = forget_items (l, d, err);
    return rc < 0 ? rc : 1;
}

int ledger_delete (struct ledger *l, const struct ledger_deletion *d,
                   struct err *err)
{
    struct ledger_deletion copy = *d;

    return ledger_within (l, enter, &copy, err);
}

/* ---- choosing ---- */

#define CHOSEN "job=?1 AND (?2<0 OR rank=?2) AND (?3='' OR capture=?3) "
#define CHOICE(c) (c)->job, (c)->rank, (c)->capture
// versions of one deletion
#define VERSIONS \
    "SELECT scope, place, rank, capture, max(newest_ns) AS ns, job, " \
    "max(received_ns) FROM item WHERE " CHOSEN "GROUP BY scope, place, rank, capture, CASE place WHEN '' " \
    "THEN newest_ns>0 ELSE newest_ns END "

#define MINE "WITH mine AS (SELECT DISTINCT content FROM item WHERE " CHOSEN ")"

int ledger_sum_chosen (struct ledger *l, const struct ledger_choice *c,
                       struct ledger_chosen *ret, struct err *err)
{
    int rc;

    *ret = (struct ledger_chosen){ .items = 0 };
    rc = db_one (ledger_rows (l, err, MINE "SELECT (SELECT count(*) FROM item "
                     "WHERE " CHOSEN "), (SELECT count(*) FROM (" VERSIONS ")), "
                     "(SELECT ifnull(sum(size), 0) FROM content WHERE id IN "
                     "mine), (SELECT count(*) FROM item WHERE job=?1)",
                     CHOICE (c)),
                 ret->items, ret->captures, ret->bytes, ret->of_job);
    return rc < 0 ? rc : 0;
}

int ledger_sum_shared (struct ledger *l, const struct ledger_choice *c,
                       uint64_t *ret, struct err *err)
{
    int rc = db_one (ledger_rows (l, err, MINE "SELECT ifnull(sum(size), 0) FROM "
                         "content WHERE id IN (SELECT content FROM item WHERE "
                         "content IN mine AND NOT (" CHOSEN "))",
                         CHOICE (c)), *ret);

    return rc < 0 ? rc : 0;
}

int ledger_each_version (struct ledger *l, const struct ledger_choice *c,
                         size_t limit, ledger_deletion_fn *fn, void *arg,
                         struct err *err)
{
    struct db_rows r = ledger_rows (l, err, VERSIONS "LIMIT ?4", CHOICE (c),
                                    limit);
    struct ledger_deletion d, old;

    memset (&d, 0, sizeof (d));
    while (db_row (&r, d.scope, d.dir, d.rank, d.capture, d.newest_ns, d.job,
                   d.at_ns)) {
        int rc;

        if (!*d.dir)
            PRINT (d.scope, "%s", d.job);
        if ((rc = find_same (l, &d, &old, err)) == 1 && old.at_ns > d.at_ns)
            d.at_ns = old.at_ns;
        r.rc = rc < 0 ? rc : fn (arg, &d);
    }
    return db_end (&r);
}
