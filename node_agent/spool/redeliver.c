/* node_agent/spool/redeliver.c - what was acknowledged, and is lost there
 *
 * Two rows of the table 'note': the mark that came with the latest
 * acknowledgements, and, while what came before it is to be delivered again,
 * the last item that this is about.  Acknowledgements without any mark are of a
 * version that had none, or a note is damaged: whether they still hold nobody
 * can tell.
 */
#include "spool/spool_private.h"

#include "spool/manifest.h"
#include "spool/release_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#define MARK "mark"             // EPOCH SEQ
#define REDELIVER "redeliver"   // the item's id, or 0; whether it is in doubt
#define AT_ONCE 1024            // items, in a transaction

// notes that may be one of these, or have been
#define BAD_NOTES " FROM note WHERE sum IS NOT row_sum('n', name, text) AND " \
    "NOT " NOTE_OF_LOSS

static bool any_bad (struct spool *s)
{
    return ledger_int (s, "SELECT EXISTS (SELECT 1" BAD_NOTES ")", 1) != 0;
}

static int drop_bad (struct spool *s, struct err *err)
{
    return ledger_run (s, spool_ledger_prepare (s, "DELETE" BAD_NOTES, err),
                       err);
}

void redeliver_load (struct spool *s)
{
    char text[64];
    int doubt = 0;

    s->marked = !any_bad (s) && spool_note (s, MARK, text, sizeof (text)) &&
                sscanf (text, "%" SCNu64 " %" SCNu64, &s->mark.epoch,
                        &s->mark.seq) == 2;
    if (!s->marked)
        s->mark = (struct ledger_mark){ 0, 0 };
    if (!spool_note (s, REDELIVER, text, sizeof (text)) ||
        sscanf (text, "%" SCNu64 " %d", &s->redeliver, &doubt) < 1)
        s->redeliver = 0;
    s->in_doubt = doubt != 0;
}

static int write_mark (struct spool *s, const struct ledger_mark *m,
                       struct err *err)
{
    char text[64];

    (void)snprintf (text, sizeof (text), "%" PRIu64 " %" PRIu64, m->epoch,
                    m->seq);
    return note_write (s, MARK, text, err);
}

static int drop_mark (struct spool *s, struct err *err)
{
    return ledger_run (s, spool_ledger_prepare (s, "DELETE FROM note WHERE "
                                                "name='" MARK "'", err), err);
}

int mark_save (struct spool *s, struct err *err)
{
    if (!s->mark_due)
        return 0;
    return s->mark.epoch == 0 ? drop_mark (s, err)
                              : write_mark (s, &s->mark, err);
}

struct ledger_mark spool_mark (const struct spool *s)
{
    return s->mark;
}

void spool_set_mark (struct spool *s, const struct ledger_mark *mark)
{
    if (mark->epoch == 0) {     // what was said before still holds, unless
        if (s->marked && s->mark.epoch == 0)    // that is nothing, either
            s->mark_due = true;
        s->marked = s->marked && s->mark.epoch != 0;
        return;
    }
    s->mark_due = s->mark_due || mark->epoch != s->mark.epoch ||
                  mark->seq != s->mark.seq;
    s->mark = *mark;
}

bool spool_has_delivered (const struct spool *s)
{
    uint64_t n = 0;

    for (int kind = ITEM_ROWS; kind <= ITEM_RAW; kind++)
        n += s->tally[kind][SPOOL_DURABLE].items +
             s->tally[kind][SPOOL_RELEASED].items;
    return n > 0;
}

bool spool_lacks_mark (const struct spool *s)
{
    return !s->marked && s->mark.epoch == 0 && spool_has_delivered (s);
}

/* ---- again ---- */

bool spool_redelivers (const struct spool *s)
{
    return s->redeliver > 0;
}

static int write_redeliver (struct spool *s, uint64_t last, bool doubt,
                            struct err *err)
{
    char text[32];

    (void)snprintf (text, sizeof (text), "%" PRIu64 " %d", last, doubt);
    return note_write (s, REDELIVER, text, err);
}

int spool_begin_redelivery (struct spool *s, struct err *err)
{
    static const struct ledger_mark none = { 0, 0 };
    uint64_t last = (uint64_t)ledger_int (s, "SELECT ifnull(max(id), 0) FROM "
                                             "item", 0);
    bool doubt = spool_lacks_mark (s);
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    if ((rc = drop_bad (s, err)) == 0 &&
        (rc = write_mark (s, &none, err)) == 0)
        rc = write_redeliver (s, last, doubt, err);
    if (rc < 0) {
        spool_ledger_rollback (s);
        return rc;
    }
    rc = spool_ledger_commit (s, "agent.spool.redeliver.commit", err);
    if (rc == 0) {
        s->mark = none;
        s->mark_due = false;
        s->marked = true;
        s->redeliver = last;
        s->in_doubt = doubt;
    }
    return rc;
}

struct row {                    // an item, and its capture
    uint64_t id, capture;
    enum spool_state state;
    bool good;                  // its row in the ledger is
    char path[PATH_MAX];        // of the capture; "": it is sealed again
                                // already, or its row is damaged
};

static int find_path (struct spool *s, struct row *d, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT path FROM capture WHERE id=?1 AND state IN (3, 6, 11) AND "
        CAPTURE_IS_GOOD, err);

    if (!st)
        return ledger_error (s, NULL);
    d->path[0] = '\0';
    (void)sqlite3_bind_int64 (st, 1, (int64_t)d->capture);
    if (sqlite3_step (st) == SQLITE_ROW)
        (void)snprintf (d->path, sizeof (d->path), "%s",
                        (const char *)sqlite3_column_text (st, 0));
    spool_ledger_end (s, st);
    return 0;
}

/* The first item behind 'after' that this is about: 1, or 0. */
static int next_item (struct spool *s, uint64_t after, struct row *ret,
                      struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT id, capture, state, sum IS " ITEM_SUM ("state", "at", "why")
        " FROM item NOT INDEXED WHERE id>?1 AND id<=?2 ORDER BY id LIMIT 1",
        err);
    int code;

    if (!st)
        return ledger_error (s, NULL);
    (void)sqlite3_bind_int64 (st, 1, (int64_t)after);
    (void)sqlite3_bind_int64 (st, 2, (int64_t)s->redeliver);
    if ((code = sqlite3_step (st)) == SQLITE_ROW) {
        ret->id = (uint64_t)sqlite3_column_int64 (st, 0);
        ret->capture = (uint64_t)sqlite3_column_int64 (st, 1);
        ret->state = (enum spool_state)sqlite3_column_int (st, 2);
        ret->good = sqlite3_column_int (st, 3) != 0;
    }
    spool_ledger_end (s, st);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        return ledger_error (s, err);
    if (code == SQLITE_ROW && ret->id <= after)     // else it would never end
        return ledger_fail (s, -EBADMSG, "a table is out of order", err);
    return code == SQLITE_ROW;
}

/* Whether what is there is only what had come to the capture before it was
 * removed.
 */
static bool is_only_left (struct spool *s, const char *path)
{
    struct released r;
    bool left;

    if (spool_find_releasing (s, path, &r, NULL) <= 0)
        return false;
    left = r.state == RELEASE_LEFT && !r.why &&
           manifest_is_of (path, r.manifest.data, r.manifest.size,
                           r.sealed_ns) != 0;
    buf_fini (&r.manifest);
    return left;
}

/* Whether it is there, so that it can be sealed once more. */
static bool is_here (struct spool *s, const char *path)
{
    struct stat st;

    return (lstat (path, &st) == 0 || errno != ENOENT) &&
           !is_only_left (s, path);
}

/* It is sealed once more, whatever else of it is on its way, and the note of it
 * says that it may be lost until it is; 'why' NULL: no note.
 */
static int forget_one (struct spool *s, struct row *d, const char *why,
                       struct err *err)
{
    int rc = spool_forget_release (s, d->path, err);

    return rc < 0 ? rc : capture_forget (s, d->capture, why, d->path, err);
}

/* It is not here: whether it is there can be asked without having it. */
static int ask_for (struct spool *s, const struct row *d,
                    struct spool_redelivery *r, struct err *err)
{
    int rc = spool_forget_release (s, d->path, err);

    if (rc == 0)
        rc = loss_clear_there (s, d->capture, err);
    if (rc == 0)
        rc = item_ask (s, d->id, err);
    r->gone += d->capture != r->last_gone;
    r->last_gone = d->capture;
    return rc;
}

static int take_one (struct spool *s, struct row *d,
                     struct spool_redelivery *r, struct err *err)
{
    const char *why = s->in_doubt
        ? "it is not known whether its acknowledged data still exists"
        : "the aggregator has lost data that it had acknowledged: it may lack "
          "this one";
    bool newest = !capture_is_superseded (s, d->capture);

    if (is_here (s, d->path)) {
        r->captures += newest;
        return forget_one (s, d, why, err);
    }
    if (!newest || capture_is_elsewhere (s, d->capture))
        return forget_one (s, d, NULL, err);
    // what is damaged cannot be asked for
    return d->good ? ask_for (s, d, r, err) : forget_one (s, d, why, err);
}

/* 1 when there may be more. */
static int forget_some (struct spool *s, struct spool_redelivery *r,
                        struct err *err)
{
    struct row d;
    int rc = 1;

    for (unsigned n = 0; n < AT_ONCE && rc >= 0; n++) {
        if ((rc = next_item (s, r->at, &d, err)) <= 0)
            return rc < 0 ? rc : write_redeliver (s, 0, false, err);
        r->at = d.id;
        if (d.state != SPOOL_DURABLE && d.state != SPOOL_RELEASED &&
            d.state != SPOOL_LOST)
            continue;
        if ((rc = find_path (s, &d, err)) == 0 && *d.path)
            rc = take_one (s, &d, r, err);
    }
    return rc < 0 ? rc : 1;
}

int spool_redeliver (struct spool *s, struct spool_redelivery *r,
                     struct err *err)
{
    struct spool_redelivery next = *r;
    int rc = spool_ledger_begin (s, err), committed;

    if (rc < 0)
        return rc;
    if ((rc = forget_some (s, &next, err)) < 0) {
        spool_ledger_rollback (s);
        return rc;
    }
    committed = spool_ledger_commit (s, "agent.spool.redeliver.commit", err);
    if (committed < 0)
        return committed;
    next.in_doubt = s->in_doubt;
    if (rc == 0)
        s->redeliver = 0;
    *r = next;
    return rc;
}
