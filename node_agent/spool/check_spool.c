/* node_agent/spool/check_spool.c - check a spool, and repair it */
#include "spool/check_spool.h"

#include "spool/spool_private.h"

#include "store/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check {
    struct spool *s;
    bool repair;
    spool_fault_fn *fn;
    void *arg;
    int faults;
};

static void fault (struct check *c, const char *file, const char *what,
                   const char *done)
{
    size_t n = strlen (c->s->dir);

    if (strncmp (file, c->s->dir, n) == 0 && file[n] == '/')
        file += n + 1;
    c->faults++;
    if (c->fn)
        c->fn (c->arg, file, what, c->repair ? done : "");
}

/* ---- the ledger ---- */

static bool integrity_is_ok (struct spool *s, char *text, size_t size)
{
    struct err why = { "" };
    struct db_rows r = spool_rows (s, &why, "PRAGMA integrity_check(1)");
    const char *said = NULL;
    bool ok = db_row (&r, said) && said && strcmp (said, "ok") == 0;

    (void)snprintf (text, size, "%s", r.rc < 0 ? why.text : said ? said : "");
    (void)db_end (&r);
    return ok;
}

/* Damaged indexes can be rebuilt, a damaged table cannot: -EBADMSG. */
static int check_integrity (struct check *c, struct err *err)
{
    char text[ERR_TEXT_MAX];

    if (integrity_is_ok (c->s, text, sizeof (text)))
        return 0;
    if (c->repair && spool_recount (c->s, NULL) == 0) {
        char now[ERR_TEXT_MAX];

        if (integrity_is_ok (c->s, now, sizeof (now))) {
            fault (c, SPOOL_LEDGER, text, "its indexes were rebuilt");
            return 0;
        }
    }
    return err_set (err, EBADMSG, "%s", text);
}

static const char bad_capture_sql[] =
    "SELECT id FROM capture WHERE sum IS NOT "
    CAPTURE_SUM ("fingerprint", "key", "name", "rank", "state", "open");

static const char bad_open_sql[] = SPOOL_SHORT_CAPTURES;

static const char bad_said_sql[] =
    "SELECT rowid FROM said WHERE sum IS NOT row_sum('s', rank, type, packet)";

static const char bad_note_sql[] =
    "SELECT rowid FROM note WHERE sum IS NOT row_sum('n', name, text) AND NOT "
    NOTE_OF_LOSS;

// its existence says that something is lost: it stays
static const char bad_loss_sql[] =
    "SELECT rowid FROM note WHERE sum IS NOT row_sum('n', name, text) AND "
    NOTE_OF_LOSS;

static const char bad_closed_sql[] =
    "SELECT id FROM item WHERE state NOT BETWEEN 3 AND 5 AND sum IS NOT "
    ITEM_SUM ("state", "at", "why");

static const char bad_release_sql[] =
    "SELECT id FROM release WHERE sum IS NOT " RELEASE_SUM ("state");

struct row_rule {
    const char *sql, *what;     // each row that 'sql' finds is this fault
    const char *capture;        // query: the capture it is about; NULL: none
    const char *mend, *done;    // the repair, with %lld
};

static int mend_row (struct spool *s, const struct row_rule *rule, int64_t id,
                     struct err *err)
{
    uint64_t capture;
    int rc = rule->capture
                 ? db_one (spool_rows (s, err, rule->capture, id), capture) : 0;

    if (rc > 0)
        rc = capture_move (s, capture, SPOOL_SET_ASIDE, "", rule->what, err);
    return rc < 0 ? rc : db_execf (s->db, err, rule->mend, id, id, id);
}

static int check_rows (struct check *c, const struct row_rule *rule,
                       struct err *err)
{
    struct db_rows r = spool_rows (c->s, err, rule->sql);
    int64_t id;

    while (db_row (&r, id)) {
        char text[128];

        PRINT (text, "row %lld: %s", (long long)id, rule->what);
        fault (c, SPOOL_LEDGER, text, rule->done);
        if (c->repair)
            r.rc = mend_row (c->s, rule, id, err);
    }
    return db_end (&r);
}

/* is_there(path), for the rules below */
static void is_there (sqlite3_context *c, int n, sqlite3_value **v)
{
    const char *path = (const char *)sqlite3_value_text (v[0]);

    (void)n;
    sqlite3_result_int (c, path && access (path, F_OK) == 0);
}

static int check_ledger_rows (struct check *c, struct err *err)
{
    static const struct row_rule rules[] = {
        // items with such rows are found later, and set aside; the loss of one
        // that is sealed again is found then
        { bad_capture_sql, "a capture with a wrong checksum", NULL,
          "DELETE FROM note WHERE CAST(substr(name, 6) AS INTEGER)=%lld AND "
          NOTE_OF_LOSS " AND "
          "(SELECT is_there(path) FROM capture WHERE id=%lld);"
          "DELETE FROM capture WHERE id=%lld", "it is sealed again" },
        { bad_closed_sql, "a delivered item with a wrong checksum",
          "SELECT capture FROM item WHERE id=?1",
          "DELETE FROM item WHERE id=%lld", "its capture is sealed again" },
        { bad_open_sql, "a capture that has lost items", "SELECT ?1",
          "UPDATE capture SET open=(SELECT count(*) "
          "FROM item WHERE capture=capture.id AND state<6) "
          "WHERE id=%lld; UPDATE capture SET sum="
          CAPTURE_SUM ("fingerprint", "key", "name", "rank", "state", "open")
          " WHERE id=%lld", "it is sealed again" },
        { bad_said_sql, "a wrapper's report with a wrong checksum", NULL,
          "DELETE FROM said WHERE rowid=%lld", "removed" },
        { bad_note_sql, "a note with a wrong checksum", NULL,
          // it may have been about a redelivery
          "DELETE FROM note WHERE rowid=%lld OR name GLOB 'mark*'", "removed: the "
          "aggregator is asked about everything here again" },
        { bad_loss_sql, "a note of a loss with a wrong checksum", NULL,
          "UPDATE note SET text='" LOSS_UNKNOWN "', "
          "sum=row_sum('n', name, '" LOSS_UNKNOWN "') WHERE rowid=%lld",
          "it is kept as an unknown loss" },
        { bad_release_sql, "a capture to be released with a wrong checksum",
          NULL,
          "DELETE FROM release WHERE id=%lld", "the capture stays" },
    };
    int rc = 0;

    if (sqlite3_create_function (c->s->db, "is_there", 1, SQLITE_UTF8, NULL,
                                 is_there, NULL, NULL) != SQLITE_OK)
        return ledger_error (c->s, err);
    for (size_t i = 0; i < sizeof (rules) / sizeof (rules[0]) && rc == 0; i++)
        rc = check_rows (c, &rules[i], err);
    return rc;
}

/* ---- items and their files ---- */

/* Check the whole list of an item's chunks, whose hash is its content. */
static const char *check_list (struct spool *s, const struct spool_item *item)
{
    struct digest *d = malloc (SPOOL_SEGMENT * sizeof (*d)), id;
    struct content_hash h;
    uint64_t n = content_chunks (item->size);
    const char *why = NULL;

    content_hash_init (&h);
    h.chunks = calloc (n ? n : 1, sizeof (*h.chunks));
    for (uint64_t at = 0; d && h.chunks && at < n && !why;
         at += SPOOL_SEGMENT) {
        int got = spool_hashes (s, item->id, at, d, NULL);

        if (got <= 0 || at + (uint64_t)got > n)
            why = "the ledger's list of its chunks is damaged";
        else
            memcpy (h.chunks + at, d, (size_t)got * sizeof (*d));
    }
    h.n = n;
    if (!d || !h.chunks || content_hash_end (&h, &id) < 0)
        why = "no memory to check it";
    else if (!why && !digest_is (&id, &item->content))
        why = "the ledger's list of its chunks is damaged";
    content_hash_fini (&h);
    free (d);
    return why;
}

static const char *check_file (const struct spool_item *item)
{
    int fd = open (item->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct digest id;
    int rc;

    if (fd < 0)
        return "its file is missing";
    rc = content_id_of_file (fd, item->size, &id, NULL);
    (void)close (fd);
    if (rc < 0)
        return "its file cannot be read to its end";
    return digest_is (&id, &item->content)
               ? NULL : "its file differs from what was sealed";
}

static int check_item (struct check *c, const struct spool_item *item,
                       const char *why, struct err *err)
{
    char name[64];

    if (!why && !state_is_open (item->state))
        return 0;               // by a damaged index, or not sealed at all
    if (!why && item->size > CONTENT_CHUNK)
        why = check_list (c->s, item);
    // a raw file belongs to a user, who may write to it
    if (!why && item->kind == ITEM_ROWS)
        why = check_file (item);
    if (!why)
        return 0;
    PRINT (name, "item %llu", (unsigned long long)item->id);
    fault (c, item->own ? item->file : name, why, "set aside; its capture is "
           "sealed again");
    return c->repair ? spool_quarantine (c->s, item, why, err) : 0;
}

static int check_items (struct check *c, struct err *err)
{
    static const enum item_kind kinds[] = { ITEM_ROWS, ITEM_RAW };
    int rc = 0;

    for (size_t i = 0; i < 2 && rc == 0; i++) {
        struct spool_item item = { .id = 0 };
        const char *why;

        while ((rc = item_peek (c->s, kinds[i], item.id, &item, &why,
                                err)) > 0) {
            if ((rc = check_item (c, &item, why, err)) < 0)
                break;
        }
    }
    return rc;
}

/* ---- files without a row ---- */

/* Files of captures that were being sealed, and of items that were just
 * delivered, are removed by the next start.
 */
static const char known_sql[] =
    "CREATE TEMP TABLE known (name TEXT PRIMARY KEY) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO known SELECT capture || '-' || number FROM item "
    "WHERE own AND state<7;"
    "CREATE TEMP TABLE begun AS SELECT id FROM capture WHERE state=2";

static bool is_known (struct spool *s, const char *name)
{
    return db_number (spool_rows (s, NULL, "SELECT 1 FROM known WHERE name=?1 "
                                  "UNION ALL SELECT 1 FROM begun WHERE ?1 GLOB "
                                  "id || '-*' LIMIT 1", name), 0) == 1;
}

static int orphan (struct check *c, const char *file, const char *name,
                   struct err *err)
{
    static const char what[] = "no row of the ledger refers to it";

    fault (c, file, what, "set aside");
    return c->repair ? spool_set_file_aside (c->s, file, name, what, err) : 0;
}

static int check_group (struct check *c, const char *path, const char *name,
                        struct err *err)
{
    DIR *dir = opendir (path);
    struct dirent *e;
    int rc = 0;

    if (!dir && errno == ENOTDIR)
        return orphan (c, path, name, err);
    if (!dir)
        return err_sys (err, errno, "cannot read %s", path);
    while (rc == 0 && (e = readdir (dir))) {
        char file[PATH_MAX];

        if (e->d_name[0] == '.' || is_known (c->s, e->d_name) ||
            !fileio_join (file, sizeof (file), path, e->d_name))
            continue;
        rc = orphan (c, file, e->d_name, err);
    }
    (void)closedir (dir);
    return rc;
}

static int check_orphans (struct check *c, struct err *err)
{
    char path[PATH_MAX];
    struct dirent *e;
    DIR *dir;
    int rc = db_exec (c->s->db, known_sql, err);

    PRINT (path, "%s/" SPOOL_ITEMS, c->s->dir);
    if (rc < 0)
        return rc;
    if (!(dir = opendir (path)))
        return errno == ENOENT ? 0 : err_sys (err, errno, "cannot read %s",
                                              path);
    while (rc == 0 && (e = readdir (dir))) {
        char group[PATH_MAX];

        if (e->d_name[0] != '.' &&
            fileio_join (group, sizeof (group), path, e->d_name))
            rc = check_group (c, group, e->d_name, err);
    }
    (void)closedir (dir);
    return rc;
}

/* ---- the whole check ---- */

/* What is written to a table with a damaged schema cannot be read back. */
static int count_again (struct check *c, struct err *err)
{
    int rc = spool_recount (c->s, err);

    if (rc == 0)
        rc = tally_load (c->s, err);
    if (rc == 0 && (c->s->recounted || !tally_is_true (c->s)))
        rc = ledger_fail (c->s, -EBADMSG, "its counts cannot be stored", err);
    return rc;
}

static int check_all (struct check *c, struct err *err)
{
    int rc = check_integrity (c, err);

    if (rc == 0)
        rc = check_ledger_rows (c, err);
    if (rc == 0)
        rc = check_items (c, err);
    if (rc == 0)
        rc = check_orphans (c, err);
    if (rc == 0 && (c->s->recounted || !tally_is_true (c->s))) {
        fault (c, SPOOL_LEDGER, "its counts are wrong", "counted again");
        if (c->repair)
            rc = count_again (c, err);
    }
    return rc;
}

/* The ledger cannot be used at all: opening the spool sets it aside. */
static int replace_ledger (struct check *c, const char *dir, const char *why,
                           struct err *err)
{
    struct spool *s = NULL;
    int rc = 0;

    fault (c, SPOOL_LEDGER, why, "it and its files were set aside; all "
           "captures are sealed again");
    if (c->repair) {
        spool_mark_damaged (c->s, why);
        spool_close (c->s);
        c->s = NULL;
        rc = spool_open (dir, &s, err);
        spool_close (s);
    }
    return rc;
}

int spool_check (const char *dir, bool repair, spool_fault_fn *fn, void *arg,
                 struct err *err)
{
    struct check c = { NULL, repair, fn, arg, 0 };
    struct err why = { "" };
    int rc;

    if (!fileio_has (dir, SPOOL_LEDGER))
        return err_set (err, ENOENT, "there is no spool in %s (no %s)", dir,
                        SPOOL_LEDGER);
    if (!(c.s = spool_new_struct (dir, err)))
        return -ENOMEM;
    rc = spool_lock_dir (c.s, err);
    if (rc == 0)                // an older ledger may need them
        rc = spool_make_dirs (c.s, err);
    if (rc == 0) {
        rc = spool_ledger_open (c.s, &why);
        if (rc == 0)
            rc = check_all (&c, &why);
        // a start needs this, by an index that may be damaged
        if (rc == 0 && spool_next_durable (c.s, INT64_MAX) == 0 &&
            *c.s->damage)
            rc = err_set (&why, EBADMSG, "%s", c.s->damage);
        if (rc == -EBADMSG)
            rc = replace_ledger (&c, dir, why.text, err);
        else if (rc < 0)
            (void)err_set (err, -rc, "%s", why.text);
    }
    spool_close (c.s);
    return rc < 0 ? rc : c.faults;
}
