/* node_agent/spool/spool_captures.c - captures: seen, settled, sealed */
#include "spool/spool_private.h"

#include "base/counter.h"
#include "base/fault.h"
#include "identity/fingerprint.h"
#include "spool/release_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SPOOL_FINGERPRINT_MAX (FINGERPRINT_MAX + 32)    // after it "=SUM+N"
#define SAME_DATE_NS 1000       // less than a tick; more than versions of one

// a fingerprint without "~" and 16 digits: older agents had no sum
#define OLD_FORM(fingerprint) \
    "substr(" fingerprint ", 1, instr(" fingerprint ", '~') - 1) || " \
    "substr(" fingerprint ", instr(" fingerprint ", '~') + 17)"

/* The id of a version of a capture (NULL: any) with a state from 'least' to
 * 'most'; 0: none, or the ledger cannot tell.  SQLite reads indexed columns
 * from the index, so the row is looked up by its id: otherwise a key that is
 * damaged only in the row would count as valid here, and nowhere else.
 */
static uint64_t spool_captures_find (struct spool *s, const char *path,
                                     const char *fingerprint,
                                     enum spool_state least,
                                     enum spool_state most)
{
    return (uint64_t)db_number (spool_rows (s, NULL,
        "SELECT id FROM capture WHERE id IN (SELECT id FROM capture WHERE "
        "key=row_sum(?1)) AND path=?1 AND "
        "(?2 IS NULL OR fingerprint=?2 OR fingerprint GLOB ?2 || '=*' OR "
        "fingerprint GLOB " OLD_FORM ("?2") " || '=*') AND "
        "state BETWEEN ?3 AND ?4 AND "
        CAPTURE_IS_GOOD, path, fingerprint, least, most), 0);
}

bool spool_knows (struct spool *s, const char *path, const char *fingerprint)
{
    return spool_captures_find (s, path, fingerprint, SPOOL_SEALED,
                                SPOOL_RELEASED) > 0;
}

bool spool_settles (struct spool *s, const char *path, const char *fingerprint)
{
    return spool_captures_find (s, path, fingerprint, SPOOL_SETTLED,
                                SPOOL_SETTLED) > 0;
}

struct capture_row {
    char path[PATH_MAX];
    uint64_t open;              // items that are open or asked
    int state;
    bool good;                  // the row is valid
};

/* 1 found, 0 not found. */
static int find_row (struct spool *s, uint64_t id, struct capture_row *ret,
                     struct err *err)
{
    return db_one (spool_rows (s, err, "SELECT path, open, state, "
                               CAPTURE_IS_GOOD " FROM capture WHERE id=?1", id),
                   ret->path, ret->open, ret->state, ret->good);
}

static bool change (struct spool *s, uint64_t id, struct capture_row *r,
                    enum spool_event event, const char *why)
{
    return spool_change (s, SPOOL_TABLE_CAPTURE, id, r->path, &r->state, event,
                         why);
}

/* Write a capture's version (NULL: it stays) and state; 'more' items are open.
 */
static int update (struct spool *s, uint64_t id, const char *fingerprint,
                   int state, int more, struct err *err)
{
    return spool_do (s, err,
        "UPDATE capture SET fingerprint=ifnull(?2, fingerprint), "
        "key=row_sum(path), state=?3, open=open+?4, sum="
        CAPTURE_SUM ("ifnull(?2, fingerprint)", "row_sum(path)", "name",
                     "rank", "?3", "open+?4") " WHERE id=?1", id, fingerprint,
        state, more);
}

int capture_move (struct spool *s, uint64_t id, enum spool_event event,
                  const char *fingerprint, const char *why, struct err *err)
{
    struct capture_row r;
    int rc = find_row (s, id, &r, err);

    if (rc <= 0)
        return rc;
    if (!change (s, id, &r, event, why))
        return 1;
    return update (s, id, fingerprint, r.state, 0, err);
}

int capture_forget_raw (struct spool *s, uint64_t id, struct err *err)
{
    char fingerprint[SPOOL_FINGERPRINT_MAX], *raw;
    int state;
    int rc = db_one (spool_rows (s, err, "SELECT fingerprint, state FROM "
                                 "capture WHERE id=?1", id), fingerprint, state);

    if (rc <= 0 || !(raw = strstr (fingerprint, FINGERPRINT_RAW)))
        return rc < 0 ? rc : 0;
    memmove (raw, raw + strlen (FINGERPRINT_RAW),
             strlen (raw + strlen (FINGERPRINT_RAW)) + 1);
    return update (s, id, fingerprint, state, 0, err);
}

static int see (struct spool *s, const char *path, uint64_t *id,
                struct err *err)
{
    struct capture_row r = { .state = SPOOL_NO_ROW };
    int rc;

    if ((*id = spool_captures_find (s, path, "", SPOOL_SEEN, SPOOL_SEEN)) > 0)
        return 0;
    rc = spool_do (s, err, "INSERT INTO capture (path, fingerprint, key, name, "
                   "rank, state, open, sum) VALUES (?1, '', 0, '', -1, 1, 0, "
                   "0)", path);
    *id = (uint64_t)sqlite3_last_insert_rowid (s->db);
    if (rc < 0)
        return rc;
    PRINT (r.path, "%s", path);
    (void)change (s, *id, &r, SPOOL_IS_FOUND, NULL);
    return update (s, *id, "", r.state, 0, err);
}

int spool_seen (struct spool *s, const char *const *paths, size_t n,
                struct err *err)
{
    int rc = n > 0 ? spool_ledger_begin (s, err) : 0;
    uint64_t id;

    if (rc < 0 || n == 0)
        return rc;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (spool_captures_find (s, paths[i], NULL, SPOOL_SEEN,
                                 SPOOL_RELEASED) == 0)
            rc = see (s, paths[i], &id, err);
    }
    return spool_ledger_finish (s, rc, "agent.spool.seen.commit", err);
}

/* Call it in a transaction. */
static int vanish (struct spool *s, uint64_t id, const char *path,
                   struct err *err)
{
    char text[SPOOL_LOSS_MAX];
    int rc;

    PRINT (text, "%.600s vanished before it was read", path);
    rc = capture_move (s, id, SPOOL_IS_GONE, "", NULL, err);
    return rc < 0 ? rc : loss_write (s, id, text, err);
}

int spool_vanished (struct spool *s, const char *path, struct err *err)
{
    uint64_t id = spool_captures_find (s, path, "", SPOOL_SEEN, SPOOL_SEEN);
    int rc;

    if (id == 0 && spool_captures_find (s, path, NULL, SPOOL_SEEN,
                                        SPOOL_RELEASED) > 0)
        return 0;
    if ((rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    if ((rc = see (s, path, &id, err)) == 0)
        rc = vanish (s, id, path, err);
    rc = spool_ledger_finish (s, rc, "agent.spool.vanished.commit", err);
    return rc < 0 ? rc : 1;
}

int spool_moved (struct spool *s, const char *path, struct err *err)
{
    uint64_t id = spool_captures_find (s, path, "", SPOOL_SEEN, SPOOL_SEEN);
    int rc = id > 0 ? spool_ledger_begin (s, err) : 0;

    if (rc < 0 || id == 0)
        return rc;
    rc = capture_move (s, id, SPOOL_ELSEWHERE, "", NULL, err);
    return spool_ledger_finish (s, rc, "agent.spool.vanished.commit", err);
}

int spool_find_gone (struct spool *s,
                     void (*fn) (void *arg, const char *capture_path),
                     void *arg, struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT path FROM capture WHERE state<3 AND state=1 AND "
        CAPTURE_IS_GOOD " ORDER BY id");
    const char *path;

    while (db_row (&r, path)) {
        if (path && access (path, F_OK) < 0 && errno == ENOENT)
            fn (arg, path);
    }
    return db_end (&r);
}

int spool_settle (struct spool *s, const char *path, const char *fingerprint,
                  uint64_t *id, struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc == 0)
        rc = see (s, path, id, err);
    if (rc == 0)
        rc = capture_move (s, *id, SPOOL_IS_BEGUN, fingerprint, NULL, err);
    return spool_ledger_finish (s, rc, "agent.spool.settle.commit", err);
}

void spool_unsettle (struct spool *s, uint64_t id)
{
    int rc;

    // if this fails, the next start does it
    (void)spool_remove_files (s, id, NULL);
    if (spool_ledger_begin (s, NULL) < 0)
        return;
    rc = capture_move (s, id, SPOOL_GIVEN_UP, "", NULL, NULL);
    (void)spool_ledger_finish (s, rc, "agent.spool.unsettle.commit", NULL);
}

/* ---- sealing ---- */

static int add_segment (struct spool *s, int64_t item,
                        const struct content_hash *h, size_t first,
                        struct err *err)
{
    size_t n = h->n - first < SPOOL_SEGMENT ? h->n - first : SPOOL_SEGMENT;

    return spool_do (s, err, "INSERT INTO chunks VALUES (?1,?2,?3,"
                     "row_sum('h',?1,?2,?3))", item, first,
                     db_blob (h->chunks + first, n * DIGEST_SIZE));
}

int item_add (struct spool *s, uint64_t capture, const struct spool_new *item,
              struct err *err)
{
    struct spool_tally *t = &s->tally[item->kind][SPOOL_SEALED];
    int state = SPOOL_NO_ROW, rc;
    struct digest content;
    int64_t id;

    if ((rc = content_hash_end (&item->hash, &content)) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    rc = spool_do (s, err, "INSERT INTO item (capture, number, kind, own, "
                   "path, size, content, state, at, why, sum, mode, mtime_ns, "
                   "uid, gid) VALUES (?1,?2,?3,?4,?5,?6,?7,3,0,'',0,?8,?9,?10,"
                   "?11)", capture, item->number, item->kind, item->own,
                   item->path ? item->path : "", item->size, &content,
                   item->facts.mode, item->facts.mtime_ns, item->facts.uid,
                   item->facts.gid);
    if (rc < 0)
        return rc;
    id = sqlite3_last_insert_rowid (s->db);
    (void)spool_change (s, SPOOL_TABLE_ITEM, (uint64_t)id, NULL, &state,
                        SPOOL_IS_SEALED, NULL);
    rc = spool_do (s, err, "UPDATE item SET state=?2, sum="
                   ITEM_SUM ("?2", "at", "why") " WHERE id=?1", id, state);
    for (size_t i = 0; item->hash.n > 1 && i < item->hash.n && rc == 0;
         i += SPOOL_SEGMENT)
        rc = add_segment (s, id, &item->hash, i, err);
    t->items++;
    t->bytes += item->size;
    return rc;
}

/* A sum that is equal for copies of a capture, in whatever order their files
 * are found: of its raw files if there are any, because rows contain dates.
 */
static int sum_of (const struct spool_new *items, size_t n, uint64_t *ret)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct digest parts[2], d;
        const char *path = items[i].path ? items[i].path : "";
        uint64_t first;
        int rc;

        if (n > 1 && items[i].kind == ITEM_ROWS)
            continue;
        if ((rc = digest_of (path, strlen (path), &parts[0])) < 0 ||
            (rc = content_hash_end (&items[i].hash, &parts[1])) < 0 ||
            (rc = digest_of (parts, sizeof (parts), &d)) < 0)
            return rc;
        memcpy (&first, d.bytes, sizeof (first));
        sum += first;
    }
    *ret = sum;
    return 0;
}

/* File clocks tick only some hundred times a second: another version may have
 * the same date.
 */
static int date_after_others (struct spool *s, uint64_t id, const char *name,
                              int64_t rank, uint64_t sum,
                              char fingerprint[SPOOL_FINGERPRINT_MAX],
                              struct err *err)
{
    struct db_rows r = spool_rows (s, err,
        "SELECT fingerprint FROM capture WHERE id=?1 UNION ALL SELECT "
        "fingerprint FROM capture WHERE name=?2 AND rank=?3 AND state BETWEEN "
        "3 AND 7 AND id<>?1 AND is_one_capture(path, (SELECT path FROM "
        "capture WHERE id=?1))", id, name, rank);
    int64_t own = 0, later = 0;
    const char *text;
    size_t n;

    fingerprint[0] = '\0';
    for (bool first = true; db_row (&r, text); first = false) {
        int64_t ns = text ? fingerprint_newest_ns (text) : 0;

        if (first) {
            own = ns;
            (void)snprintf (fingerprint, SPOOL_FINGERPRINT_MAX, "%.*s=%016llx",
                            FINGERPRINT_MAX, text ? text : "",
                            (unsigned long long)sum);
        } else if (ns >= own && ns - own < SAME_DATE_NS && ns - own >= later) {
            later = ns - own + 1;
        }
    }
    n = strlen (fingerprint);
    if (own > 0 && later > 0)
        (void)snprintf (fingerprint + n, SPOOL_FINGERPRINT_MAX - n, "+%d",
                        (int)later);
    return db_end (&r);
}

static int seal_capture (struct spool *s, uint64_t id, const char *name,
                         int64_t rank, const struct spool_new *items,
                         size_t n, struct err *err)
{
    char fingerprint[SPOOL_FINGERPRINT_MAX];
    struct capture_row r;
    uint64_t sum = 0;
    int rc = sum_of (items, n, &sum);

    if (rc < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if ((rc = find_row (s, id, &r, err)) < 0)
        return rc;
    if (rc == 0 || !change (s, id, &r, SPOOL_IS_SEALED, NULL))
        return err_set (err, EINVAL, "capture %llu has not settled",
                        (unsigned long long)id);
    if ((rc = date_after_others (s, id, name, rank, sum, fingerprint, err)) < 0)
        return rc;
    return spool_do (s, err, "UPDATE capture SET name=?2, rank=?3, state=?6, "
                     "open=?4, fingerprint=?5, sum="
                     CAPTURE_SUM ("?5", "key", "?2", "?3", "?6", "?4")
                     " WHERE id=?1", id, name, rank, n, fingerprint, r.state);
}

/* An agent that dies behind the seal knows the capture, and would not look at its
 * files again.
 */
static int note_release (struct spool *s, const struct spool_releasable *r,
                         size_t nitems, struct err *err)
{
    return !r ? 0
           : r->manifest
               ? spool_add_release (s, r->path, r->sealed, nitems, r->manifest,
                                    r->now_ns, err)
               : spool_forget_release (s, r->path, err);
}

int spool_seal (struct spool *s, uint64_t id, const char *name, int64_t rank,
                const struct spool_new *items, size_t n,
                struct spool_left_out left_out,
                const struct spool_releasable *release, struct err *err)
{
    char dir[PATH_MAX];
    int rc = FAULT ("agent.spool.seal.fsync");

    spool_group_path (s, id, dir);
    if (rc < 0)
        rc = err_sys (err, -rc, "cannot fsync directory %s", dir);
    else
        rc = fileio_sync_dir (dir, err);
    if (rc < 0 || (rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    rc = seal_capture (s, id, name, rank, items, n, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = item_add (s, id, &items[i], err);
    if (rc == 0)
        rc = loss_forget (s, id, name, err);
    if (rc == 0 && left_out.n > 0)
        rc = loss_left_out (s, id, left_out.n, left_out.first, err);
    if (rc == 0)
        rc = note_release (s, release, n, err);
    rc = spool_ledger_finish (s, rc, "agent.spool.seal.commit", err);
    if (rc == 0)
        counter_add (COUNTER_ITEMS_SEALED, n);
    return rc;
}

int spool_find_name_collision (struct spool *s, uint64_t id,
                               char path[PATH_MAX],
                               struct err *err)
{
    struct db_rows r = spool_rows (s, err, COLLISION_OF ("?1"), id);
    const char *other;
    int rc;

    path[0] = '\0';
    if (db_row (&r, other) && other)
        (void)snprintf (path, PATH_MAX, "%s", other);
    rc = db_end (&r);
    return rc < 0 ? rc : *path != '\0';
}

/* ---- sealing again ---- */

int capture_find_short (struct spool *s, uint64_t *id, struct err *err)
{
    return db_one (spool_rows (s, err, "SELECT id FROM capture WHERE "
                               CAPTURE_IS_GOOD " AND id IN ("
                               SPOOL_SHORT_CAPTURES ") LIMIT 1"), *id);
}

int capture_forget (struct spool *s, uint64_t id, const char *why,
                    char path[PATH_MAX], struct err *err)
{
    char text[SPOOL_LOSS_MAX];
    struct capture_row r;
    int rc = find_row (s, id, &r, err);

    path[0] = '\0';
    // a damaged row keeps its wrong sum, so that it never becomes valid
    if (rc <= 0 || !r.good)
        return rc < 0 ? rc : 0;
    (void)snprintf (path, PATH_MAX, "%s", r.path);
    rc = capture_move (s, id, SPOOL_SET_ASIDE, NULL, why, err);
    if (rc != 0 || !why)
        return rc;
    PRINT (text, "%.600s was not read again, and %s", path, why);
    return loss_write (s, id, text, err);
}

int capture_close_one (struct spool *s, uint64_t id, struct err *err)
{
    struct capture_row r;
    int rc = find_row (s, id, &r, err);

    if (rc <= 0 || !r.good)
        return rc < 0 ? rc : 0;
    if (r.open == 1)
        (void)change (s, id, &r, SPOOL_IS_CLOSED, NULL);
    return update (s, id, NULL, r.state, -1, err);
}

int capture_reopen (struct spool *s, uint64_t id, enum spool_event event,
                    unsigned items, struct err *err)
{
    struct capture_row r;
    int rc = find_row (s, id, &r, err);

    if (rc <= 0 || !r.good || !change (s, id, &r, event, NULL))
        return rc < 0 ? rc : 0;
    rc = update (s, id, NULL, r.state, (int)items, err);
    return rc < 0 ? rc : 1;
}

int capture_lose (struct spool *s, uint64_t id, struct err *err)
{
    int rc = capture_move (s, id, SPOOL_NOT_THERE, NULL, NULL, err);

    return rc < 0 ? rc : 0;
}
