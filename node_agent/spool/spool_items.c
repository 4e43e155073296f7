/* node_agent/spool/spool_items.c - items: next, durable, gone, set aside */
#include "spool/spool_private.h"

#include "base/counter.h"
#include "base/fault.h"
#include "identity/fingerprint.h"
#include "model/beside.h"
#include "store/fileio.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static const char next_sql[] =
    "SELECT i.id, i.capture, i.number, i.kind, i.own, i.path, i.size, "
    "i.content, i.state, c.path, c.name, c.rank, "
    "i.sum IS row_sum('i', i.id, i.capture, i.number, i.kind, i.own, i.path, "
    "i.size, i.content, i.state, i.at, i.why, i.mode, i.mtime_ns, i.uid, "
    "i.gid), "
    "c.sum IS row_sum('c', c.id, c.path, c.fingerprint, c.key, c.name, "
    "c.rank, c.state, c.open), c.fingerprint, i.mode, i.mtime_ns, i.uid, "
    "i.gid "
    "FROM item i INDEXED BY item_open LEFT JOIN capture c ON c.id=i.capture "
    "WHERE i.state<6 AND i.kind=?1 AND i.id>?2 ORDER BY i.id LIMIT 1";

/* The path of a raw file that is not in the spool: in the capture, or beside
 * it.
 */
static void place_original (struct spool_item *item, const char *capture)
{
    const char *slash = strrchr (capture, '/');
    char dir[PATH_MAX];

    PRINT (dir, "%s", capture);
    if (slash && beside_size (slash + 1, item->path) > 0)
        dir[slash - capture] = '\0';
    if (!fileio_join (item->file, sizeof (item->file), dir, item->path))
        item->file[0] = '\0';   // its path is too long: it cannot be opened
}

/* Check a file in the spool without reading it. */
static const char *look_at_file (const struct spool_item *item)
{
    struct stat st;

    if (!item->own)
        return NULL;            // somebody else's, who may change it
    if (lstat (item->file, &st) < 0)
        return "its file is missing";
    if ((uint64_t)st.st_size != item->size && item->kind == ITEM_ROWS)
        return "its file has another size";
    return NULL;
}

/* Whether a raw file of that size is in its capture. */
static bool has_original (const struct spool_item *item)
{
    struct stat st;

    return item->kind == ITEM_RAW && lstat (item->file, &st) == 0 &&
           S_ISREG (st.st_mode) && (uint64_t)st.st_size == item->size;
}

/* Fill in from a row of next_sql; NULL, or why the row is invalid. */
static const char *take_row (struct spool *s, sqlite3_stmt *st,
                             struct spool_item *ret)
{
    const char *below, *version;
    bool good, capture_good;
    unsigned number;

    memset (ret, 0, sizeof (*ret));
    db_columns (st, ret->id, ret->capture_id, number, ret->kind, ret->own,
                ret->path, ret->size, ret->content, ret->state, below,
                ret->capture, ret->rank, good, capture_good, version,
                ret->facts.mode, ret->facts.mtime_ns, ret->facts.uid,
                ret->facts.gid);
    if (*s->host)
        spool_place (s->host, below ? below : "", ret->place);
    ret->newest_ns = version ? fingerprint_newest_ns (version) : 0;
    if (ret->own)
        spool_file_path (s, ret->capture_id, number, ret->file);
    if (ret->state == SPOOL_ASKED)      // what was kept may be here still
        ret->own = ret->own && look_at_file (ret) == NULL;
    if (!ret->own)
        place_original (ret, below ? below : "");
    ret->here = ret->state != SPOOL_ASKED || ret->own || has_original (ret);
    if (!good || ret->size > CONTENT_SIZE_MAX)
        return "its row in the ledger is damaged";
    if (!capture_good)
        return "its capture's row in the ledger is damaged";
    return NULL;
}

int item_peek (struct spool *s, enum item_kind kind, uint64_t id,
               struct spool_item *ret, const char **why, struct err *err)
{
    struct db_rows r;
    bool found;
    int rc = FAULT ("agent.spool.next");

    if (rc < 0)
        return ledger_fail (s, rc, "cannot read the ledger", err);
    r = spool_rows (s, err, next_sql, kind, id);
    if ((found = db_step (&r)) && sqlite3_column_int64 (r.st, 0) <= (int64_t)id)
        // or it would never end
        r.rc = ledger_fail (s, -EBADMSG, "an index is out of order", err);
    else if (found && (*why = take_row (s, r.st, ret))) {
        ret->own = false;       // its file may be another item's
        ret->capture_id = 0;    // and the capture another one
    } else if (found && state_is_open (ret->state)) {
        *why = look_at_file (ret);
    }
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

int spool_next (struct spool *s, enum item_kind kind, uint64_t id,
                struct spool_item *ret, struct err *err)
{
    const char *why;
    int rc;

    while ((rc = item_peek (s, kind, id, ret, &why, err)) > 0) {
        id = ret->id;
        if (why && (rc = spool_quarantine (s, ret, why, err)) < 0)
            return rc;
        // a damaged index may find a delivered one
        if (!why && state_is_offered (ret->state))
            return 1;
    }
    if (rc < 0)
        ret->id = 0;
    return rc;
}

int spool_hashes (struct spool *s, uint64_t id, uint64_t first,
                  struct digest out[SPOOL_SEGMENT], struct err *err)
{
    struct db_rows r = spool_rows (s, err, "SELECT hashes FROM chunks WHERE "
                                   "item=?1 AND first=?2 AND "
                                   "sum=row_sum('h', item, first, hashes)",
                                   id, first);
    struct db_blob hashes = { NULL, 0 };
    size_t n = 0;

    if (r.rc == 0 && db_row (&r, hashes))
        n = hashes.size / DIGEST_SIZE;
    if (n > 0 && n <= SPOOL_SEGMENT)
        memcpy (out, hashes.data, n * DIGEST_SIZE);
    (void)db_end (&r);
    if (n == 0 || n > SPOOL_SEGMENT)
        return err_set (err, EBADMSG, "the ledger's list of its chunks is "
                        "damaged");
    return (int)n;
}

/* ---- states ---- */

/* Up to which position of the keeper's ledger an item that becomes durable now is
 * kept; 0: it is not.
 */
static uint64_t kept_until (const struct spool *s, int kind)
{
    unsigned copy = s->keepers.of[kind % SPOOL_KINDS];
    const struct ledger_mark *m = &s->marks[copy % SPOOL_COPIES_ALL].last;

    return copy == SPOOL_NO_COPY ? 0
           : m->epoch == 0 || m->seq > INT64_MAX ? INT64_MAX
           : m->seq > 0 ? m->seq : 1;
}

int item_close (struct spool *s, uint64_t id, enum spool_event event,
                const char *why, struct err *err)
{
    struct item_row r;
    int rc = item_find (s, id, &r, err);
    uint64_t at = rc > 0 && event == SPOOL_ACKNOWLEDGED
                      ? kept_until (s, r.kind) : 0;

    if (rc <= 0 || (rc = item_move (s, id, &r, event, at, why, err)) != 0)
        return rc;
    return capture_close_one (s, r.capture, err);
}

int item_ask (struct spool *s, uint64_t id, struct err *err)
{
    struct item_row r;
    int rc = item_find (s, id, &r, err);

    if (rc <= 0 ||
        (rc = item_move (s, id, &r, SPOOL_ASK_AGAIN, 0, "", err)) != 0)
        return rc;
    rc = capture_reopen (s, r.capture, SPOOL_ASK_AGAIN, 1, err);
    return rc < 0 ? rc : 0;
}

/* Such an item does not show its capture: no count of open items changes. */
static int set_stray (struct spool *s, uint64_t id, const char *why,
                      struct err *err)
{
    struct item_row r;
    int rc = item_find (s, id, &r, err);

    return rc > 0 ? item_move (s, id, &r, SPOOL_ROW_DAMAGED, 0, why, err) : rc;
}

/* ---- advice ---- */

void spool_offered (struct spool *s, uint64_t id)
{
    item_advise (s, id, SPOOL_WAS_OFFERED, 0);
}

void spool_transferring (struct spool *s, uint64_t id, uint64_t offset)
{
    item_advise (s, id, SPOOL_WAS_SENT, offset);
}

/* ---- ends ---- */

/* Remove the file of an item, if it has one. */
static bool remove_file (struct spool *s, const struct item_row *r)
{
    char path[PATH_MAX];

    if (!r->own)
        return true;
    spool_file_path (s, r->capture, r->number, path);
    return FAULT ("agent.spool.durable.unlink") == 0 &&
           (unlink (path) == 0 || errno == ENOENT);
}

/* The next start tries again what failed. */
void item_release (struct spool *s, uint64_t id)
{
    struct item_row r;

    if (item_find (s, id, &r, NULL) > 0 && r.state == SPOOL_DURABLE &&
        remove_file (s, &r))
        item_advise (s, id, SPOOL_FILE_REMOVED, r.at);
}

uint64_t spool_next_durable (struct spool *s, uint64_t id)
{
    uint64_t next = (uint64_t)db_number (spool_rows (s, NULL,
        "SELECT id FROM item INDEXED BY item_durable WHERE state=6 AND id>?1 "
        "AND at=0 AND sum IS " ITEM_SUM ("state", "at", "why") " ORDER BY id LIMIT 1",
        id), 0);

    return next > id ? next : 0;        // else an index is damaged
}

void item_release_all (struct spool *s)
{
    uint64_t id = 0;

    while ((id = spool_next_durable (s, id)) > 0)
        item_release (s, id);
}

static bool is_kept (struct spool *s, uint64_t id)
{
    struct item_row r;

    return spool_kept (s) > 0 && item_find (s, id, &r, NULL) > 0 && r.at != 0;
}

static uint64_t count_asked (const struct spool *s)
{
    return s->tally[ITEM_ROWS][SPOOL_ASKED].items +
           s->tally[ITEM_RAW][SPOOL_ASKED].items;
}

int spool_durable (struct spool *s, const uint64_t *ids, size_t n,
                   struct err *err)
{
    uint64_t asked = count_asked (s);
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n && rc >= 0; i++)
        rc = item_close (s, ids[i], SPOOL_ACKNOWLEDGED, "", err);
    if (rc >= 0)
        rc = marks_save (s, err);
    rc = spool_ledger_finish (s, rc, "agent.spool.durable.commit", err);
    if (rc < 0)
        return rc;
    marks_saved (s);
    asked -= count_asked (s);
    counter_add (COUNTER_ITEMS_CONFIRMED, asked);
    counter_add (COUNTER_ITEMS_DURABLE, n - asked);
    for (size_t i = 0; i < n; i++) {
        if (!is_kept (s, ids[i]))
            item_release (s, ids[i]);
    }
    return 0;
}

int spool_gone (struct spool *s, uint64_t id, enum spool_event event,
                const char *why, struct err *err)
{
    char path[PATH_MAX];
    struct item_row r;
    int rc = item_find (s, id, &r, err);

    if (rc <= 0 || (rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    rc = item_close (s, id, event, why, err);
    if (rc == 0)
        rc = loss_add_raw (s, r.capture, id, why, err);
    if ((rc = spool_ledger_finish (s, rc, "agent.spool.gone.commit", err)) < 0)
        return rc;
    counter_add (COUNTER_ITEMS_GONE, 1);
    if (r.own) {                // a link to a file that was changed
        spool_file_path (s, r.capture, r.number, path);
        if (FAULT ("agent.spool.gone.unlink") == 0)
            (void)unlink (path);
    }
    return 0;
}

/* A damaged row does not show its capture, but one capture lacks it. */
static int find_owner (struct spool *s, uint64_t *capture, struct err *err)
{
    int rc = capture_find_short (s, capture, err);

    return rc > 0 ? capture_close_one (s, *capture, err) : rc;
}

/* End a transaction that set an item aside, or failed to ('rc'): its capture
 * (0: unknown) is to be sealed again.
 */
static int give_back (struct spool *s, uint64_t capture, const char *why,
                      int rc, struct err *err)
{
    char path[PATH_MAX];

    if (rc >= 0 && capture == 0)
        rc = find_owner (s, &capture, err);
    if (rc >= 0)
        rc = capture_forget (s, capture, "its data in the spool is damaged",
                             path, err);
    rc = spool_ledger_finish (s, rc, "agent.spool.quarantine.commit", err);
    if (rc < 0)
        return rc;
    counter_add (COUNTER_ITEMS_QUARANTINED, 1);
    if (s->again)
        s->again (s->again_arg, path, why);
    return 0;
}

int spool_quarantine (struct spool *s, const struct spool_item *item,
                      const char *why, struct err *err)
{
    char name[64], text[ERR_TEXT_MAX];
    int rc;

    PRINT (name, "item-%llu", (unsigned long long)item->id);
    PRINT (text, "item %llu, %s of capture %.255s (rank %lld), %llu bytes: %s",
           (unsigned long long)item->id,
           item->kind == ITEM_ROWS ? "the rows" : "a raw file", item->capture,
           (long long)item->rank, (unsigned long long)item->size, why);
    rc = spool_set_file_aside (s, item->own ? item->file : NULL, name, text,
                               err);
    if (rc < 0 || (rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    rc = item->capture_id > 0
             ? item_close (s, item->id, SPOOL_SET_ASIDE, why, err)
             : set_stray (s, item->id, why, err);
    return give_back (s, item->capture_id, text, rc, err);
}

/* ---- numbers ---- */

struct spool_tally spool_tally (const struct spool *s, enum item_kind kind,
                                enum spool_state state)
{
    return s->tally[kind][state];
}

uint64_t spool_bytes (const struct spool *s)
{
    uint64_t n = 0;

    for (int state = SPOOL_SEALED; state < SPOOL_DURABLE; state++)
        n += s->tally[ITEM_ROWS][state].bytes;
    return n;
}

uint64_t spool_kept (const struct spool *s)
{
    return s->kept[ITEM_ROWS].items + s->kept[ITEM_RAW].items;
}

uint64_t spool_kept_bytes (const struct spool *s)
{
    return s->kept[ITEM_ROWS].bytes;
}

uint64_t spool_undelivered_of (const struct spool *s, enum item_kind kind)
{
    uint64_t n = s->tally[kind][SPOOL_ASKED].items;

    for (int state = SPOOL_SEALED; state < SPOOL_DURABLE; state++)
        n += s->tally[kind][state].items;
    return n;
}

uint64_t spool_undelivered (const struct spool *s)
{
    return spool_undelivered_of (s, ITEM_ROWS) +
           spool_undelivered_of (s, ITEM_RAW);
}

/* The first item after *id whose invalid row says that it is finished: 1, or 0
 * if there is none.
 */
static int find_doubtful (struct spool *s, uint64_t *id, struct err *err)
{
    uint64_t before = *id;
    int rc = db_one (spool_rows (s, err,
        "SELECT id FROM item WHERE state NOT BETWEEN 3 AND 5 AND "
        "sum IS NOT " ITEM_SUM ("state", "at", "why") " AND id>?1 ORDER BY id "
        "LIMIT 1", before), *id);

    if (rc > 0 && (int64_t)*id <= (int64_t)before)  // or it would never end
        return ledger_fail (s, -EBADMSG, "a table is out of order", err);
    return rc;
}

/* It may be undelivered: then its capture lacks an open item. */
static int doubt (struct spool *s, uint64_t id, struct err *err)
{
    static const char why[] = "its row in the ledger is damaged";
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    rc = set_stray (s, id, why, err);
    return give_back (s, 0, why, rc, err);
}

int spool_recount (struct spool *s, struct err *err)
{
    uint64_t id = 0;
    int rc;

    while ((rc = find_doubtful (s, &id, err)) > 0) {
        if ((rc = doubt (s, id, err)) < 0)
            break;
    }
    if (rc < 0 || (rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    if (sqlite3_exec (s->db, "REINDEX", NULL, NULL, NULL) != SQLITE_OK)
        rc = ledger_error (s, err);
    if (rc == 0)
        rc = tally_count (s, err);
    s->recounted = s->recounted || rc == 0;
    return spool_ledger_finish (s, rc, "agent.spool.recount.commit", err);
}

bool spool_has_rank (struct spool *s, int64_t rank)
{
    return db_number (spool_rows (s, NULL, "SELECT 1 FROM capture WHERE rank=?1"
                                  " AND state>=3 LIMIT 1", rank), 0) == 1;
}
