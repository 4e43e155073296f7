/* node_agent/spool/spool_kept.c - what only one aggregator has acknowledged,
 * although two copies are needed
 *
 * The column 'at' of such an item is the position of that aggregator's ledger with
 * its ACK, which is not 0.  While the item is durable, its file is in the spool;
 * when the aggregator's object store has this position, it is released, and 'at'
 * stays.
 *
 * The note "keepers" says which copies the positions are of, for rows and for raw
 * files.  If two aggregators acknowledge again, or only the other one does, these
 * items are revised: it is offered what is here.
 */
#include "spool/spool_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define KEEPERS "keepers"
#define MIXED (SPOOL_NO_COPY + 1)       // positions of several ledgers
#define AT_ONCE 1024            // items, in a transaction
#define WINDOW 16384            // items that are searched in one

/* ---- whose positions there are ---- */

/* Look at all items that there are now. */
static void begin_revision (struct spool *s)
{
    s->revised = s->revised_capture = 0;
    s->revise_to = (uint64_t)db_number (spool_rows (s, NULL, "SELECT "
                                        "ifnull(max(id), 0) FROM item"), 0);
}

/* A note that is missing, or damaged, says nothing about what is kept. */
void keepers_load (struct spool *s)
{
    unsigned rows, raw;
    char text[32];

    begin_revision (s);
    for (int kind = 0; kind < SPOOL_KINDS; kind++) {
        s->keepers.of[kind] = SPOOL_NO_COPY;
        s->ledgers[kind] = s->kept[kind].items > 0 ? MIXED : SPOOL_NO_COPY;
    }
    if (!spool_note (s, KEEPERS, text, sizeof (text)) ||
        sscanf (text, "%u %u", &rows, &raw) != 2 || rows > MIXED || raw > MIXED)
        return;
    s->ledgers[ITEM_ROWS] = rows;
    s->ledgers[ITEM_RAW] = raw;
}

static int keepers_write (struct spool *s, const unsigned ledgers[SPOOL_KINDS],
                          struct err *err)
{
    char text[32];

    if (ledgers[ITEM_ROWS] == SPOOL_NO_COPY && ledgers[ITEM_RAW] == SPOOL_NO_COPY)
        return spool_do (s, err, "DELETE FROM note WHERE name='" KEEPERS "'");
    PRINT (text, "%u %u", ledgers[ITEM_ROWS], ledgers[ITEM_RAW]);
    return note_write (s, KEEPERS, text, err);
}

static bool is_outdated (const struct spool *s, int kind)
{
    return s->ledgers[kind] != SPOOL_NO_COPY &&
           s->ledgers[kind] != s->keepers.of[kind];
}

bool spool_has_to_revise (const struct spool *s)
{
    return is_outdated (s, ITEM_ROWS) || is_outdated (s, ITEM_RAW);
}

int spool_keep (struct spool *s, const struct spool_keepers *k,
                struct err *err)
{
    unsigned ledgers[SPOOL_KINDS];
    bool changed = false;
    int rc = 0;

    memcpy (ledgers, s->ledgers, sizeof (ledgers));
    for (enum item_kind kind = ITEM_ROWS; kind <= ITEM_RAW; kind++) {
        if (k->of[kind] != SPOOL_NO_COPY && k->of[kind] != ledgers[kind]) {
            ledgers[kind] = ledgers[kind] == SPOOL_NO_COPY ? k->of[kind]
                                                           : MIXED;
            changed = true;
        }
    }
    if (changed && (rc = spool_ledger_begin (s, err)) == 0)
        rc = spool_ledger_finish (s, keepers_write (s, ledgers, err),
                                  "agent.spool.note.commit", err);
    if (rc < 0)
        return rc;
    memcpy (s->ledgers, ledgers, sizeof (ledgers));
    s->keepers = *k;
    begin_revision (s);
    return 0;
}

/* ---- stored ---- */

/* The first after 'id' of these kinds that may go: an older version of a capture
 * that was sealed again is no longer needed.
 */
static uint64_t next_stored (struct spool *s, uint64_t id, uint64_t seq,
                             int rows, int raw)
{
    uint64_t next = (uint64_t)db_number (spool_rows (s, NULL,
        "SELECT i.id FROM item i INDEXED BY item_durable LEFT JOIN capture c ON "
        "c.id=i.capture WHERE i.state=6 AND i.id>?1 AND i.kind IN (?3, ?4) AND "
        "(i.at<=?2 OR ifnull(c.state, 6) NOT IN (3, 6, 11)) AND i.sum IS "
        "row_sum('i', i.id, i.capture, i.number, i.kind, i.own, i.path, i.size, "
        "i.content, i.state, i.at, i.why, i.mode, i.mtime_ns, i.uid, i.gid) "
        "ORDER BY i.id LIMIT 1", id, seq, rows, raw), 0);

    return next > id ? next : 0;        // else an index is damaged
}

/* The kind, or 0 if its positions are not all of this copy. */
static int if_of (const struct spool *s, enum item_kind kind, unsigned copy)
{
    return s->keepers.of[kind] == copy && s->ledgers[kind] == copy ? (int)kind
                                                                   : 0;
}

int spool_stored (struct spool *s, unsigned copy, uint64_t seq,
                  struct err *err)
{
    int rows = if_of (s, ITEM_ROWS, copy), raw = if_of (s, ITEM_RAW, copy);
    uint64_t id = 0;
    int rc;

    if (spool_kept (s) == 0 || spool_redelivers (s) || rows + raw == 0)
        return 0;
    if (seq > INT64_MAX)
        seq = INT64_MAX;
    while ((id = next_stored (s, id, seq, rows, raw)) > 0)
        item_release (s, id);
    if (s->nadvice == 0)
        return 0;
    if ((rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    return spool_ledger_finish (s, 0, "agent.spool.released.commit", err);
}

/* ---- revised ---- */

struct alone {                  // an item that one aggregator alone has
    uint64_t id, capture;
    int kind, state;
};

/* The next one up to 'end': 1, or 0. */
static int next_alone (struct spool *s, uint64_t end, struct alone *ret,
                       struct err *err)
{
    int rc = db_one (spool_rows (s, err, "SELECT id, capture, kind, state FROM "
                                 "item NOT INDEXED WHERE id>?1 AND id<=?2 AND "
                                 "state IN (6, 7) AND at<>0 AND sum IS "
                                 ITEM_SUM ("state", "at", "why")
                                 " ORDER BY id LIMIT 1", s->revised, end),
                     ret->id, ret->capture, ret->kind, ret->state);

    if (rc > 0 && ret->id <= s->revised)        // or it would never end
        return ledger_fail (s, -EBADMSG, "a table is out of order", err);
    return rc;
}

/* What is released may still be there in its capture; what has gone with it has
 * two copies, one of which is in an object store.
 */
static int revise_one (struct spool *s, const struct alone *i,
                       uint64_t *captures, struct err *err)
{
    int rc;

    if (!is_outdated (s, i->kind))
        return 0;
    if (i->state == SPOOL_RELEASED)
        rc = s->keepers.two ? redeliver_if_here (s, i->capture, err) : 0;
    else if (!s->keepers.two || !capture_is_current (s, i->capture))
        return item_let_go (s, i->id, err);
    else if ((rc = item_ask (s, i->id, err)) >= 0)
        rc = rc == 0;           // else it could not be
    if (rc > 0 && s->revised_capture != i->capture)
        ++*captures;
    if (rc > 0)
        s->revised_capture = i->capture;
    return rc < 0 ? rc : 0;
}

/* From now on all positions are of those who keep. */
static int end_revision (struct spool *s, struct err *err)
{
    return keepers_write (s, s->keepers.of, err);
}

/* 1: there may be more. */
static int revise_some (struct spool *s, uint64_t *captures, struct err *err)
{
    uint64_t end = s->revised + WINDOW < s->revise_to ? s->revised + WINDOW
                                                      : s->revise_to;
    struct alone i;
    int rc;

    for (unsigned n = 0; n < AT_ONCE; n++) {
        if ((rc = next_alone (s, end, &i, err)) < 0)
            return rc;
        if (rc == 0) {
            s->revised = end;
            return end < s->revise_to ? 1 : end_revision (s, err);
        }
        s->revised = i.id;
        if ((rc = revise_one (s, &i, captures, err)) < 0)
            return rc;
    }
    return 1;
}

int spool_revise (struct spool *s, uint64_t *captures, struct err *err)
{
    uint64_t before = s->revised, n = *captures;
    int rc, committed;

    if (!spool_has_to_revise (s))
        return 0;
    if (spool_redelivers (s))
        return err_set (err, EAGAIN, "what was lost is delivered again first");
    if ((rc = spool_ledger_begin (s, err)) < 0)
        return rc;
    rc = revise_some (s, &n, err);
    committed = spool_ledger_finish (s, rc, "agent.spool.redeliver.commit", err);
    if (committed < 0) {
        s->revised = before;
        return committed;
    }
    item_release_all (s);
    *captures = n;
    if (rc == 0)
        memcpy (s->ledgers, s->keepers.of, sizeof (s->ledgers));
    return rc;
}
