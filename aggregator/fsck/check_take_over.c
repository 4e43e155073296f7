/* aggregator/fsck/check_take_over.c - what only the old ledger knows: rows whose
 * records are damaged
 */
#include "fsck/check_private.h"

#include "ledger/ledger_private.h"

#include <errno.h>
#include <string.h>

/* An item that is taken over may have lost its content. */
static int take_content (struct check *c, const struct ledger_item *i)
{
    struct ledger_place place;
    int rc = ledger_find_content (c->fresh, &i->content, &place, c->err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    return c->repair && !check_has_reason (c, &i->content)
               ? check_quarantine (c, i, "its stored data is damaged, or not "
                                         "there") : 0;
}

/* Whether the records have a superseded version.  *late is set if it could not
 * be told from the version that counts: a record written now comes after that
 * one, and its date is not older.
 */
static int has_superseded (struct check *c, const struct ledger_item *i,
                           bool *late)
{
    int known, count;
    int rc = db_one (ledger_rows (c->fresh, c->err,
                         "SELECT ifnull(max(content=?6), 0), count(*) FROM "
                         "item WHERE job=?1 AND kind=?2 AND rank=?3 AND "
                         "capture=?4 AND path=?5 AND place='' AND (content=?6 "
                         "OR (superseded=0 AND newest_ns<=?7))",
                         LEDGER_NAME (i), &i->content, i->newest_ns),
                     known, count);

    if (rc <= 0)
        return rc;
    *late = !known && count > 0;
    return known;
}

/* Take over an item whose record is damaged, if its content is there. */
static int take_over_item (struct check *c, const struct ledger_item *i)
{
    bool late = false;
    int rc = i->superseded && !*i->dir
                 ? has_superseded (c, i, &late)
                 : ledger_has_item (c->fresh, i, c->err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    c->differs = true;
    check_damage (c, "job %s rank %lld %s%s%s: %s is damaged or missing%s",
                  i->job, (long long)i->rank, i->capture,
                  *i->path ? "/" : "", i->path,
                  i->superseded ? "the record of a superseded version"
                                : "its record",
                  !c->repair ? "" : late ? "; it is dropped, since without a "
                                           "date it looks like the current "
                                           "version"
                                         : "; it is rewritten");
    if (late)
        return 0;
    rc = take_content (c, i);
    if (rc == 0)
        rc = ledger_add_item (c->fresh, i, c->err);
    return rc < 0 ? rc : 0;
}

/* Ignore read errors of the old ledger, whose unreadable rows are lost; errors
 * of the new one count.
 */
static int unless_damaged (struct db_rows *r)
{
    int rc = db_end (r);

    return rc == -EIO || rc == -EBADMSG ? 0 : rc;
}

/* Each row is trusted if its own checksum is right, whatever the other rows. */
static int take_over_items (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, LEDGER_ITEM ", i.kind FROM item i "
                                "LEFT JOIN content c ON c.id=i.content ORDER "
                                "BY i.seq");

    while (db_step (&r)) {
        struct ledger_item i = {
            .kind = (unsigned)sqlite3_column_int (r.st, LEDGER_ITEM_COLUMNS),
        };

        if (ledger_read_row (r.st, &i))
            r.rc = take_over_item (c, &i);
    }
    return unless_damaged (&r);
}

/* Take over an assignment whose record is damaged. */
static int take_over_assignment (struct check *c,
                                 const struct ledger_assignment *a)
{
    struct ledger_assignment known = *a;
    int rc = ledger_find_assignment (c->fresh, &known, c->err);

    if (rc < 0 || (rc == 1 && strcmp (known.job, a->job) == 0))
        return rc < 0 ? rc : 0;
    c->differs = true;
    check_damage (c, "job %s rank %lld %s: the record that gave it to this job"
                  " is damaged or missing%s", a->job, (long long)a->rank,
                  a->capture, c->repair ? "; it is rewritten" : "");
    rc = ledger_assign (c->fresh, a, c->err);
    return rc < 0 ? rc : 0;
}

static int take_over_assignments (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, "SELECT " LEDGER_ASSIGNMENT " FROM "
                                          "assignment");
    struct ledger_assignment a;

    while (db_step (&r)) {
        if (ledger_read_assignment (r.st, &a))
            r.rc = take_over_assignment (c, &a);
    }
    return unless_damaged (&r);
}

/* Take over a claim that the records lack: theirs are at least as new. */
static int take_over_word (struct check *c, const char *job,
                           const struct size_claim *word)
{
    struct size_claims claims;
    int rc = ledger_size_claims (c->fresh, job, &claims, c->err);
    bool known;

    if (rc < 0)
        return rc;
    known = size_claims_find (&claims, word) != NULL;
    size_claims_fini (&claims);
    return known ? 0 : ledger_set_claim (c->fresh, job, word, c->err);
}

static int take_over_words (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, "SELECT " LEDGER_CLAIM " FROM word");
    char job[MESSAGE_NAME_MAX];
    struct size_claim w;

    while (db_step (&r)) {
        db_columns (r.st, job);
        if (ledger_read_claim (r.st, &w))
            r.rc = take_over_word (c, job, &w);
    }
    return db_end (&r) == -ENOMEM ? -ENOMEM : 0;
}

/* Take over a binding whose record is damaged; the others are entered already.
 */
static int take_over_bound (struct check *c, const struct ledger_bound *b)
{
    struct ledger_bound known;
    int rc = ledger_find_bound (c->fresh, b->who, &known, c->err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    c->differs = true;
    check_damage (c, "key %s: the record that binds it to host %s is damaged "
                  "or missing%s", b->who, b->host,
                  c->repair ? "; it is rewritten" : "");
    return ledger_bind (c->fresh, b, c->err);
}

static int take_over_keys (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, "SELECT " LEDGER_BOUND " FROM bound");
    struct ledger_bound b;

    while (db_step (&r)) {
        if (ledger_read_bound (r.st, &b))
            r.rc = take_over_bound (c, &b);
    }
    return unless_damaged (&r);
}

/* 1: the records say so, or something later.  One that is gone has no row if the
 * record of what it withdrew was collected.
 */
static int is_known_fact (struct check *c, const struct ledger_fact *f)
{
    int known = f->gone ? ledger_has_fact (c->fresh, f, c->err) : 0;

    return known != 0 ? known
        : db_one (ledger_rows (c->fresh, c->err, "SELECT 1 FROM fact WHERE "
                               "job=?1 AND key=?2 AND (key<>'" FACT_TAG "' OR "
                               "value=?3) AND at_ns>=?4 LIMIT 1", f->job,
                               f->key, f->value, f->at_ns), known);
}

/* Take over a fact whose record is damaged; what records say later counts. */
static int take_over_fact (struct check *c, const struct ledger_fact *f)
{
    int rc = is_known_fact (c, f);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    c->differs = true;
    check_damage (c, "job %s: the record of its %s is damaged or missing%s",
                  f->job, f->key, c->repair ? "; it is rewritten" : "");
    rc = ledger_set_fact (c->fresh, f, c->err);
    return rc < 0 ? rc : 0;
}

static int take_over_facts (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, "SELECT " LEDGER_FACT " FROM fact "
                                          "ORDER BY seq");
    struct ledger_fact f;

    while (db_step (&r)) {
        if (ledger_read_fact (r.st, &f))
            r.rc = take_over_fact (c, &f);
    }
    return unless_damaged (&r);
}

/* Take over a deletion whose record is damaged, before any items. */
static int take_over_deletion (struct check *c,
                               const struct ledger_deletion *d)
{
    int rc = ledger_delete (c->fresh, d, c->err);
    char text[DELETION_TEXT_MAX];

    if (rc <= 0)
        return rc;
    c->differs = true;
    ledger_deletion_text (d, text);
    check_damage (c, "job %s rank %lld %s, %s: the record of that is damaged "
                  "or missing%s", d->job, (long long)d->rank, d->capture, text,
                  c->repair ? "; it is rewritten" : "");
    return 0;
}

int check_take_deletions (struct check *c, sqlite3 *db)
{
    struct db_rows r = db_rows (db, NULL, "SELECT " LEDGER_DELETION " FROM "
                                          "deletion ORDER BY seq");
    struct ledger_deletion d;

    while (db_step (&r)) {
        if (ledger_read_deletion (r.st, &d))
            r.rc = take_over_deletion (c, &d);
    }
    return unless_damaged (&r);
}

int check_take_over (struct check *c, sqlite3 *db)
{
    int rc = take_over_items (c, db);

    if (rc == 0)
        rc = take_over_assignments (c, db);
    if (rc == 0)
        rc = take_over_words (c, db);
    if (rc == 0)
        rc = take_over_keys (c, db);
    if (rc == 0)
        rc = take_over_facts (c, db);
    return rc < 0 ? rc : ledger_copy_heard (c->fresh, db, c->err);
}
