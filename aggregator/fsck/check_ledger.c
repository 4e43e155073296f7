/* aggregator/fsck/check_ledger.c - compare the ledger with the records */
#include "fsck/check_private.h"

#include "base/fault.h"
#include "ledger/ledger_private.h"
#include "store/fileio.h"

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

/* ---- what only the old ledger knows ---- */

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

static int take_over_deletions (struct check *c, sqlite3 *db)
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

/* ---- comparing ---- */

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

static int take_over (struct check *c, sqlite3 *db)
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
    rc = db ? take_over_deletions (c, db) : 0;
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
        rc = take_over (c, db);
    (void)sqlite3_close (db);
    return rc;
}

/* ---- replacing ---- */

/* Choose a name in the quarantine that no earlier repair used. */
static int choose_aside (struct check *c, char name[PATH_MAX])
{
    (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE, c->root);
    int rc = fileio_mkdirs (name, FILEIO_DIR_MODE, c->err);
    char wal[PATH_MAX];

    for (unsigned n = 1; rc == 0; n++) {
        if (n == 1)
            (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE
                            "/ledger.db", c->root);
        else
            (void)snprintf (name, PATH_MAX, "%s/" STORE_QUARANTINE
                            "/ledger-%u.db", c->root, n);
        PRINT (wal, "%.*s-wal", PATH_MAX - 5, name);
        if (access (name, F_OK) < 0 && access (wal, F_OK) < 0)
            break;
    }
    return rc;
}

/* Merge the journal into the file, if SQLite can read both; the journal is gone
 * then.
 */
static int fold_journal (struct check *c)
{
    sqlite3 *db = NULL;
    char path[PATH_MAX];
    int code;

    check_ledger_path (c, "", path);
    code = db_open (path, SQLITE_OPEN_READWRITE, &db);
    if (code == SQLITE_OK)
        code = sqlite3_exec (db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL,
                             NULL);
    (void)sqlite3_close (db);
    return code == SQLITE_FULL ? err_sys (c->err, ENOSPC, "cannot write %s",
                                          path) : 0;
}

/* Move the old ledger, and then its journal, which must not meet the new
 * ledger.  In the other order the old one would be taken for good, without its
 * latest changes.  While there is no ledger nobody serves the root until the
 * repair is repeated.
 */
static int move_aside (struct check *c, const char *aside)
{
    static const char *const ends[] = { "", "-wal", "-shm" };
    char from[PATH_MAX], to[PATH_MAX];
    int rc = 0;

    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]) && rc == 0; i++) {
        check_ledger_path (c, ends[i], from);
        PRINT (to, "%.*s%s", PATH_MAX - 5, aside, ends[i]);
        if (access (from, F_OK) == 0)
            rc = fileio_rename (from, to, c->err);
    }
    return rc;
}

/* Link the old ledger into the quarantine; it also keeps its name until the new
 * one replaces it.  So there is a ledger whenever this process is killed, and
 * the next repair finds in it what no record has.  Only a ledger whose journal
 * remains has to be moved first.
 */
static int set_old_aside (struct check *c, char aside[PATH_MAX])
{
    char from[PATH_MAX], wal[PATH_MAX];
    int rc = choose_aside (c, aside);

    if (rc == 0)
        rc = fold_journal (c);
    if (rc < 0)
        return rc;
    if ((rc = FAULT ("aggregator.check.aside")) < 0)
        return err_sys (c->err, -rc, "cannot set the ledger aside");
    check_ledger_path (c, "", from);
    check_ledger_path (c, "-wal", wal);
    if (access (wal, F_OK) == 0 || link (from, aside) < 0)
        return move_aside (c, aside);
    PRINT (wal, "%s/" STORE_QUARANTINE, c->root);
    return fileio_sync_dir (wal, c->err);
}

/* Append what has no record, and the records of all items. */
static int describe_all (struct check *c, struct store *s, struct ledger *l)
{
    int rc = ledger_begin (l, c->err);

    if (rc < 0)
        return rc;
    rc = check_rehouse (c, s, l);
    if (rc == 0)
        rc = store_sync (s, c->err);
    if (rc == 0)
        rc = store_account (s, l, c->err);
    if ((rc = ledger_finish (l, rc, c->err)) < 0)
        return rc;
    store_committed (s);
    return store_describe (s, l, c->err);
}

static int describe_again (struct check *c)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];
    int rc;

    check_ledger_path (c, "", path);
    rc = ledger_open (path, &l, c->err);
    if (rc == 0)
        rc = store_open (c->root, l, &s, c->err);
    if (rc == 0)
        rc = describe_all (c, s, l);
    store_close (s);
    ledger_close (l);
    return rc;
}

/* Set aside unfinished bytes: the new ledger accounts for them, and for whole
 * records behind them.
 */
static int set_unfinished_aside (struct check *c)
{
    int rc = 0;

    for (size_t i = 0; i < c->ngaps && rc == 0; i++) {
        if (c->gaps[i].unfinished)
            rc = check_quarantine_gap (c, &c->gaps[i]);
    }
    return rc;
}

/* Replace the old ledger: from here on the new one counts. */
static int put_in_place (struct check *c)
{
    char from[PATH_MAX], to[PATH_MAX];
    int rc = FAULT ("aggregator.check.replace");

    if (rc < 0)
        return err_sys (c->err, -rc, "cannot replace the ledger");
    check_ledger_path (c, ".check", from);
    check_ledger_path (c, "", to);
    if ((rc = fileio_rename (from, to, c->err)) < 0)
        return rc;
    if ((rc = FAULT ("aggregator.check.describe")) < 0)
        return err_sys (c->err, -rc, "cannot write records");
    return describe_again (c);
}

int check_replace_ledger (struct check *c)
{
    char aside[PATH_MAX];
    size_t damaged = c->report->damaged;
    int rc = ledger_commit (c->fresh, c->err);

    ledger_close (c->fresh);    // its journal goes into it
    c->fresh = NULL;
    if (rc == 0)
        rc = set_unfinished_aside (c);
    if (rc == 0)
        rc = set_old_aside (c, aside);
    if (rc == 0)
        rc = put_in_place (c);
    if (rc == 0) {
        c->report->repaired = damaged;
        check_say (c, "the ledger was rebuilt from the segments%s%s",
                   access (aside, F_OK) == 0 ? "; the old one is " : "",
                   access (aside, F_OK) == 0 ? aside : "");
    }
    return rc;
}
