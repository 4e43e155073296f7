/* aggregator/ledger/ledger.c - what is known to be durable here */
#include "ledger/ledger_private.h"

#include "base/clock.h"
#include "base/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// a reader waits so long for a writer that changes the journal
#define BUSY_MS 10000

// to find blobs among contents; it tells nothing that the table does not
static const char blobs_sql[] =
    "CREATE INDEX IF NOT EXISTS content_blob ON content(id) WHERE segment=0";

// what is known stays where this word says nothing of it (0)
#define NEW_IF(said, column) \
    column "=iif(excluded." said ">0, excluded." column ", " column ")"

// +?2: beside an index with a kind in its condition SQLite would look at what
// ?2 is, and so prepare a statement again whenever it is bound
static const char *const statements[LEDGER_STATEMENTS] = {
    [FIND_CONTENT] = "SELECT segment, offset, size, sum FROM content WHERE "
                     "id=?1",
    [ADD_CONTENT] = "INSERT OR REPLACE INTO content (id, segment, offset, "
                    "size, sum) VALUES (?1,?2,?3,?4,?5)",
    [DROP_CONTENT] = "DELETE FROM content WHERE id=?1",
    [FIND_ITEM] = "SELECT seq, superseded, newest_ns, host, received_ns, who, "
                  "rows FROM item WHERE job=?1 AND kind=+?2 AND rank=?3 "
                  "AND capture=?4 AND path=?5 AND content=?6 AND place='' ORDER BY "
                  "superseded, newest_ns DESC LIMIT 1",
    [FIND_NEWER] = "SELECT 1 FROM item WHERE job=?1 AND kind=+?2 AND rank=?3 "
                   "AND capture=?4 AND path=?5 AND superseded=0 AND "
                   "newest_ns>?6 AND place=''",
    [SET_NEWEST] = "UPDATE item SET newest_ns=?2, sum=?3 WHERE seq=?1",
    [SUPERSEDE] = "UPDATE item SET superseded=1, sum=~sum WHERE job=?1 AND "
                  "kind=+?2 AND rank=?3 AND capture=?4 AND path=?5 AND "
                  "superseded=0 AND place=''",
    [ADD_ITEM] = "INSERT INTO item (job, kind, rank, capture, path, content, "
                 "host, received_ns, newest_ns, superseded, sum, scope, place,"
                 " who, rows) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,"
                 "?13,?14,?15)",
    [GET_JOB] = "SELECT world_size, built, sum FROM job WHERE id=?1",
    [SET_JOB] = "INSERT OR REPLACE INTO job (id, world_size, built, sum) "
                "VALUES (?1,?2,?3,?4)",
    [NEWEST] = "SELECT ifnull(max(seq), 0) FROM item WHERE job=?1 AND "
               "kind<=?2",
    [SET_SEGMENT] = "INSERT OR REPLACE INTO segment (number, end, sum) VALUES "
                    "(?1,?2,?3)",
    [SET_TOTAL] = "INSERT OR REPLACE INTO total (id, rows, total, sum) VALUES "
                  "(1,?1,?2,?3)",
    [ADD_INCOMING] = "INSERT OR REPLACE INTO incoming (content, first, size, "
                     "hashes, touched_ns, sum) VALUES (?1,?2,?3,?4,?5,?6)",
    [DROP_INCOMING] = "DELETE FROM incoming WHERE content=?1",
    [SET_CLOCK] = "INSERT OR REPLACE INTO clock VALUES (?1,?2,?3,?4,?5)",
    [SET_WORD] = "INSERT OR REPLACE INTO word VALUES (?1,?2,?3,?4,?5,?6)",
    [SET_HEARD] = "INSERT INTO heard VALUES (?1,?2,?3,?4,?5,?6,?7,?8) "
                  "ON CONFLICT DO UPDATE SET host=excluded.host, "
                  NEW_IF ("mpi_size", "mpi_rank") ", "
                  NEW_IF ("mpi_size", "mpi_size") ", "
                  NEW_IF ("ended_ns", "ended_ns") ", "
                  NEW_IF ("ended_ns", "signal") ", "
                  NEW_IF ("ended_ns", "status"),
    [GET_BOUND] = "SELECT who, host, since_ns, sum FROM bound WHERE who=?1",
    [SET_BOUND] = "INSERT OR IGNORE INTO bound (who, host, since_ns, sum) "
                  "VALUES (?1,?2,?3,?4)",
    [LAST_ITEM] = "SELECT ifnull(max(seq), 0) FROM item",
    [FIND_EPOCH] = "SELECT (SELECT n.began FROM epoch n WHERE n.number>"
                   "e.number ORDER BY n.number LIMIT 1) FROM epoch e WHERE "
                   "e.id=?1",
    [FIND_VERSION] = "SELECT seq FROM item WHERE scope=?1 AND place=?7 AND "
                     "place<>'' AND capture=?4 AND rank=?3 AND newest_ns=?8 "
                     "AND kind=+?2 AND path=?5 AND content=?6",
    [GET_ASSIGNMENT] = "SELECT " LEDGER_ASSIGNMENT " FROM assignment WHERE "
                       "scope=?1 AND place=?2 AND rank=?3 AND capture=?4 AND "
                       "newest_ns=?5",
};

int ledger_open_db (struct ledger *l, int flags, struct err *err)
{
    int rc = 0;

    if (!db_lets_write (l->path))
        return err_set (err, EBADMSG, "%s is damaged: its header; rollcall "
                        "fsck aggregator --repair rebuilds it from the "
                        "segments", l->path);
    if (sqlite3_open_v2 (l->path, &l->db, flags | SQLITE_OPEN_NOMUTEX,
                         NULL) != SQLITE_OK)
        return db_error (l->db, l->path, err);
    db_harden (l->db);
    (void)sqlite3_busy_timeout (l->db, BUSY_MS);
    if (!l->reader)
        rc = db_exec (l->db, "PRAGMA journal_mode=WAL;PRAGMA "
                             "synchronous=FULL;", err);
    else
        rc = db_exec (l->db, "BEGIN", err);
    if (rc == 0)
        rc = ledger_prepare (l, l->path, err);
    if (rc == 0)
        rc = ledger_verify (l, l->path, err);
    if (rc == 0 && !l->reader)
        rc = db_exec (l->db, blobs_sql, err);
    if (rc == 0 && !l->reader)
        rc = ledger_note_lost (l, err);
    for (unsigned i = 0; i < LEDGER_STATEMENTS && rc == 0; i++)
        rc = db_prepare (l->db, statements[i], &l->st[i], err);
    if (rc == 0 && !l->reader)
        db_there_note (&l->there, l->path);
    return rc;
}

static int open_ledger (const char *path, int flags, struct ledger **ret,
                        struct err *err)
{
    struct ledger *l = calloc (1, sizeof (*l));
    int rc;

    if (!l)
        return err_set (err, ENOMEM, "no memory for the ledger");
    l->reader = flags & SQLITE_OPEN_READONLY;
    if (strlen (path) >= sizeof (l->path))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", path);
    else
        rc = 0;
    (void)snprintf (l->path, sizeof (l->path), "%s", path);
    if (rc < 0 || (rc = ledger_open_db (l, flags, err)) < 0) {
        ledger_close (l);
        return rc;
    }
    *ret = l;
    return 0;
}

int ledger_open (const char *path, struct ledger **ret, struct err *err)
{
    return open_ledger (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ret,
                        err);
}

int ledger_open_read (const char *path, struct ledger **ret, struct err *err)
{
    if (access (path, F_OK) < 0)
        return err_sys (err, errno, "cannot open %s", path);
    return open_ledger (path, SQLITE_OPEN_READONLY, ret, err);
}

void ledger_close_db (struct ledger *l)
{
    for (unsigned i = 0; i < LEDGER_STATEMENTS; i++) {
        (void)sqlite3_finalize (l->st[i]);
        l->st[i] = NULL;
    }
    db_close_there (&l->there, l->db);
    l->db = NULL;
}

void ledger_close (struct ledger *l)
{
    if (!l)
        return;
    ledger_close_db (l);
    free (l);
}

/* ---- transactions ---- */

void ledger_end_read (struct ledger *l)
{
    if (l->reader)
        ledger_rollback (l);
}

int ledger_begin_read (struct ledger *l, struct err *err)
{
    return !l->reader || !sqlite3_get_autocommit (l->db)
               ? 0 : db_exec (l->db, "BEGIN", err);
}

int ledger_begin (struct ledger *l, struct err *err)
{
    return db_exec (l->db, "BEGIN IMMEDIATE", err);
}

static int write_total (struct ledger *l, struct err *err)
{
    sqlite3_stmt *st = l->st[SET_TOTAL];

    if (l->total.rows == l->committed.rows &&
        l->total.sum == l->committed.sum)
        return 0;
    (void)sqlite3_bind_int64 (st, 1, (int64_t)l->total.rows);
    (void)sqlite3_bind_int64 (st, 2, (int64_t)l->total.sum);
    (void)sqlite3_bind_int64 (st, 3, ledger_total_sum (&l->total));
    return db_run (st, err);
}

int ledger_commit (struct ledger *l, struct err *err)
{
    int rc = write_total (l, err);

    if (rc == 0 && (rc = FAULT ("aggregator.ledger.commit")) < 0)
        rc = err_sys (err, -rc, "ledger");
    if (rc == 0)
        rc = db_exec (l->db, "COMMIT", err);
    if (rc == 0) {
        l->committed = l->total;
        ledger_note_mark (l);
    }
    return rc;
}

void ledger_rollback (struct ledger *l)
{
    if (!sqlite3_get_autocommit (l->db))
        (void)sqlite3_exec (l->db, "ROLLBACK", NULL, NULL, NULL);
    l->total = l->committed;
}

int ledger_within (struct ledger *l, int (*fn) (struct ledger *l, void *arg,
                                                struct err *err),
                   void *arg, struct err *err)
{
    bool alone = sqlite3_get_autocommit (l->db);
    int rc = alone ? ledger_begin (l, err) : 0;

    if (rc < 0)
        return rc;
    if ((rc = fn (l, arg, err)) >= 0 && alone) {
        int committed = ledger_commit (l, err);

        rc = committed < 0 ? committed : rc;
    }
    if (rc < 0 && alone)
        ledger_rollback (l);
    return rc;
}

/* ---- rows ---- */

int ledger_has_row (struct ledger *l, sqlite3_stmt *st, struct err *err)
{
    (void)l;
    return db_next (st, "ledger", err);
}

void ledger_bind_digest (sqlite3_stmt *st, int i, const struct digest *d)
{
    (void)sqlite3_bind_blob (st, i, d->bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
}

bool ledger_digest_column (struct digest *out, sqlite3_stmt *st, int column)
{
    const void *bytes = sqlite3_column_blob (st, column);

    if (!bytes || sqlite3_column_bytes (st, column) != DIGEST_SIZE)
        return false;
    memcpy (out->bytes, bytes, DIGEST_SIZE);
    return true;
}

void ledger_copy_column (char *out, size_t max, sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text (st, column);

    (void)snprintf (out, max, "%s", text ? text : "");
}

int ledger_damaged (struct err *err)
{
    return err_set (err, EBADMSG, "a row of the ledger is damaged; rollcall "
                    "fsck aggregator --repair rebuilds it");
}

/* ---- content ---- */

int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err)
{
    sqlite3_stmt *st = l->st[FIND_CONTENT];
    int rc;

    ledger_bind_digest (st, 1, content);
    rc = ledger_has_row (l, st, err);
    if (rc == 1) {
        ret->segment = sqlite3_column_int64 (st, 0);
        ret->offset = (uint64_t)sqlite3_column_int64 (st, 1);
        ret->size = (uint64_t)sqlite3_column_int64 (st, 2);
        if (!ledger_valid_place (ret) || sqlite3_column_int64 (st, 3) !=
                                             ledger_content_sum (content, ret))
            rc = ledger_damaged (err);
    }
    (void)sqlite3_reset (st);
    return rc;
}

int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err)
{
    sqlite3_stmt *st = l->st[ADD_CONTENT];
    int rc;

    ledger_bind_digest (st, 1, content);
    (void)sqlite3_bind_int64 (st, 2, place->segment);
    (void)sqlite3_bind_int64 (st, 3, (int64_t)place->offset);
    (void)sqlite3_bind_int64 (st, 4, (int64_t)place->size);
    (void)sqlite3_bind_int64 (st, 5, ledger_content_sum (content, place));
    rc = db_run (st, err);
    return rc < 0 ? rc : ledger_content_restored (l, content, err);
}

int ledger_drop_content (struct ledger *l, const struct digest *content,
                         struct err *err)
{
    ledger_bind_digest (l->st[DROP_CONTENT], 1, content);
    return db_run (l->st[DROP_CONTENT], err);
}

/* ---- items ---- */

void ledger_bind_identity (sqlite3_stmt *st, const struct ledger_item *item)
{
    db_bind_text (st, 1, item->job);
    (void)sqlite3_bind_int (st, 2, (int)item->kind);
    (void)sqlite3_bind_int64 (st, 3, item->rank);
    db_bind_text (st, 4, item->capture);
    db_bind_text (st, 5, item->path);
}

void ledger_copy_identity (struct ledger_item *item, sqlite3_stmt *st)
{
    ledger_copy_column (item->job, sizeof (item->job), st, 0);
    item->kind = (unsigned)sqlite3_column_int (st, 1);
    item->rank = sqlite3_column_int64 (st, 2);
    ledger_copy_column (item->capture, sizeof (item->capture), st, 3);
    ledger_copy_column (item->path, sizeof (item->path), st, 4);
    ledger_copy_column (item->host, sizeof (item->host), st, 5);
}

/* What the ledger has of an item with the same content. */
struct known {
    int64_t seq;                // 0: nothing
    bool superseded;
    struct ledger_item item;
};

static int find_item (struct ledger *l, const struct ledger_item *item,
                      struct known *k, struct err *err)
{
    sqlite3_stmt *st = l->st[FIND_ITEM];
    int rc;

    k->seq = 0;
    ledger_bind_identity (st, item);
    ledger_bind_digest (st, 6, &item->content);
    if ((rc = ledger_has_row (l, st, err)) == 1) {
        k->item = *item;
        k->seq = sqlite3_column_int64 (st, 0);
        k->superseded = sqlite3_column_int (st, 1) != 0;
        k->item.newest_ns = sqlite3_column_int64 (st, 2);
        ledger_copy_column (k->item.host, sizeof (k->item.host), st, 3);
        k->item.received_ns = sqlite3_column_int64 (st, 4);
        ledger_copy_column (k->item.who, sizeof (k->item.who), st, 5);
        k->item.rows = sqlite3_column_int64 (st, 6);
    }
    (void)sqlite3_reset (st);
    return rc;
}

/* Whether the item says nothing that is not known: it counts, or it was
 * superseded and is sent again.  Where no time is known an older content may
 * come back.
 */
static bool is_known (const struct known *k, const struct ledger_item *item)
{
    return k->seq > 0 && k->item.newest_ns >= item->newest_ns &&
           (!k->superseded || item->newest_ns > 0);
}

/* Of one whose job is not known when it comes each version is told from all
 * others: 1 when it is there.
 */
static int find_version (struct ledger *l, const struct ledger_item *item,
                         struct err *err)
{
    sqlite3_stmt *st = l->st[FIND_VERSION];
    int rc;

    ledger_bind_identity (st, item);
    db_bind_text (st, 1, item->scope);
    ledger_bind_digest (st, 6, &item->content);
    db_bind_text (st, 7, item->dir);
    (void)sqlite3_bind_int64 (st, 8, item->newest_ns);
    rc = ledger_has_row (l, st, err);
    (void)sqlite3_reset (st);
    return rc;
}

int ledger_has_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err)
{
    struct known k;
    int rc;

    if (*item->dir)
        return find_version (l, item, err);
    rc = find_item (l, item, &k, err);

    return rc < 0 ? rc : is_known (&k, item);
}

/* The same content in a newer version of its capture. */
static int renew_item (struct ledger *l, const struct known *k,
                       const struct ledger_item *item, struct err *err)
{
    sqlite3_stmt *st = l->st[SET_NEWEST];
    struct ledger_item renewed = k->item;
    int64_t sum;
    int rc;

    renewed.newest_ns = item->newest_ns;
    sum = ledger_item_sum (&renewed);
    (void)sqlite3_bind_int64 (st, 1, k->seq);
    (void)sqlite3_bind_int64 (st, 2, renewed.newest_ns);
    (void)sqlite3_bind_int64 (st, 3, sum);
    if ((rc = db_run (st, err)) < 0)
        return rc;
    l->total.sum += (uint64_t)sum - (uint64_t)ledger_item_sum (&k->item);
    return 0;
}

/* Whether a newer one is there already; else what is there is older: 1, 0. */
static int supersede (struct ledger *l, const struct ledger_item *item,
                      struct err *err)
{
    sqlite3_stmt *newer = l->st[FIND_NEWER];
    int rc;

    ledger_bind_identity (newer, item);
    (void)sqlite3_bind_int64 (newer, 6, item->newest_ns);
    rc = ledger_has_row (l, newer, err);
    (void)sqlite3_reset (newer);
    if (rc != 0)
        return rc;
    ledger_bind_identity (l->st[SUPERSEDE], item);
    return db_run (l->st[SUPERSEDE], err);
}

static int insert_item (struct ledger *l, const struct ledger_item *item,
                        bool superseded, struct err *err)
{
    sqlite3_stmt *add = l->st[ADD_ITEM];
    int64_t sum = ledger_item_sum (item);
    int rc;

    ledger_bind_identity (add, item);
    ledger_bind_digest (add, 6, &item->content);
    db_bind_text (add, 7, item->host);
    (void)sqlite3_bind_int64 (add, 8, item->received_ns);
    (void)sqlite3_bind_int64 (add, 9, item->newest_ns);
    (void)sqlite3_bind_int (add, 10, superseded);
    (void)sqlite3_bind_int64 (add, 11, superseded ? ~sum : sum);
    db_bind_text (add, 12, item->scope);
    db_bind_text (add, 13, item->dir);
    db_bind_text (add, 14, item->who);
    (void)sqlite3_bind_int64 (add, 15, item->rows);
    if ((rc = db_run (add, err)) < 0)
        return rc;
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return 1;
}

static int add_version (struct ledger *l, struct ledger_item *item,
                        struct err *err)
{
    int rc = find_version (l, item, err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    if (item->received_ns == 0)
        item->received_ns = clock_wall_ns ();
    if ((rc = ledger_choose_job (l, item, err)) < 0)
        return rc;
    if ((rc = insert_item (l, item, false, err)) > 0 &&
        strcmp (item->job, item->scope) != 0 &&
        ledger_settle_versions (l, item, err) < 0)
        return -EIO;
    return rc;
}

static int add_item (struct ledger *l, void *arg, struct err *err)
{
    struct ledger_item item = *(const struct ledger_item *)arg;
    struct known k;
    int rc;

    if (*item.dir)
        return add_version (l, &item, err);
    rc = find_item (l, &item, &k, err);
    if (rc < 0 || is_known (&k, &item))
        return rc < 0 ? rc : 0;
    if (k.seq > 0 && !k.superseded)
        return renew_item (l, &k, &item, err);
    if (item.received_ns == 0)
        item.received_ns = clock_wall_ns ();
    rc = supersede (l, &item, err);
    return rc < 0 ? rc : insert_item (l, &item, rc == 1, err);
}

int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err)
{
    struct ledger_item copy = *item;

    return ledger_within (l, add_item, &copy, err);
}

// a raw file that the newest version of its capture does not have any more is
// superseded, too
static const char each_sql[] =
    "WITH shared AS (SELECT capture FROM item WHERE job=?1 AND kind=?2 GROUP "
    "BY capture HAVING min(rank)<max(rank)), "
    "newest AS (SELECT rank, capture, place, max(newest_ns) AS ns FROM item "
    "WHERE job=?1 AND kind=?2 AND superseded=0 GROUP BY rank, capture, place) "
    LEDGER_ITEM ", i.capture IN shared, i.newest_ns<n.ns AND i.job<>"
    "i.scope FROM item i "
    "LEFT JOIN content c ON c.id=i.content LEFT JOIN newest n ON "
    "n.rank=i.rank AND n.capture=i.capture AND n.place=i.place "
    "WHERE i.job=?1 AND i.kind=?2 ORDER BY i.seq";

bool ledger_valid_item (const struct ledger_item *i)
{
    return message_valid_name (i->job) && message_valid_place (i->dir) &&
           (!*i->who || message_valid_name (i->who)) &&
           (*i->dir ? message_valid_name (i->scope) : !*i->scope) &&
           message_valid_item (i->kind, i->rank, i->capture, i->path);
}

bool ledger_valid_place (const struct ledger_place *p)
{
    return p->segment >= 0 && p->segment <= LEDGER_SEGMENT_MAX &&
           p->size <= CONTENT_SIZE_MAX &&
           p->offset <= (uint64_t)INT64_MAX - CONTENT_SIZE_MAX;
}

bool ledger_valid_segment (int64_t segment, uint64_t end)
{
    return segment > 0 && segment <= LEDGER_SEGMENT_MAX && end <= INT64_MAX;
}

bool ledger_valid_job (const char *id, int64_t world_size)
{
    return message_valid_name (id) && world_size >= 0 &&
           world_size <= LEDGER_WORLD_MAX;
}

bool ledger_read_row (sqlite3_stmt *st, struct ledger_item *i)
{
    int64_t sum;

    i->rank = sqlite3_column_int64 (st, 0);
    ledger_copy_column (i->capture, sizeof (i->capture), st, 1);
    ledger_copy_column (i->path, sizeof (i->path), st, 2);
    ledger_copy_column (i->host, sizeof (i->host), st, 3);
    if (!ledger_digest_column (&i->content, st, 4))
        return false;
    i->superseded = sqlite3_column_int (st, 5) != 0;
    i->received_ns = sqlite3_column_int64 (st, 6);
    i->lost = sqlite3_column_int (st, 8) != 0;
    i->place.segment = sqlite3_column_int64 (st, 9);
    i->place.offset = (uint64_t)sqlite3_column_int64 (st, 10);
    i->place.size = (uint64_t)sqlite3_column_int64 (st, 11);
    i->newest_ns = sqlite3_column_int64 (st, 13);
    ledger_copy_column (i->job, sizeof (i->job), st, 14);
    ledger_copy_column (i->scope, sizeof (i->scope), st, 15);
    ledger_copy_column (i->dir, sizeof (i->dir), st, 16);
    ledger_copy_column (i->who, sizeof (i->who), st, 17);
    i->rows = sqlite3_column_int64 (st, 18);
    if (!ledger_valid_item (i) || !ledger_valid_place (&i->place))
        return false;
    sum = ledger_item_sum (i);
    return sqlite3_column_int64 (st, 7) == (i->superseded ? ~sum : sum);
}

bool ledger_read_item (sqlite3_stmt *st, struct ledger_item *i)
{
    return ledger_read_row (st, i) &&
           (i->lost || sqlite3_column_int64 (st, 12) ==
                           ledger_content_sum (&i->content, &i->place));
}

static bool read_each (sqlite3_stmt *st, struct ledger_item *i)
{
    bool good = ledger_read_item (st, i);

    i->shared_name = sqlite3_column_int (st, LEDGER_ITEM_COLUMNS) != 0;
    i->superseded = i->superseded ||
                    sqlite3_column_int (st, LEDGER_ITEM_COLUMNS + 1) != 0;
    return good;
}

int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err)
{
    struct ledger_item item = { .kind = kind };
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, each_sql, &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int (st, 2, (int)kind);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        rc = read_each (st, &item) ? fn (arg, &item) : ledger_damaged (err);
        if (rc < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}
