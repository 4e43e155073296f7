/* node_agent/spool/redeliver.c - acknowledged items that the aggregator lost */
#include "spool/spool_private.h"

#include "spool/manifest.h"
#include "spool/release_rows.h"

#include <errno.h>
#include <sys/stat.h>

#define AT_ONCE 1024            // items, in a transaction

bool spool_redelivers (const struct spool *s)
{
    return s->redeliver > 0;
}

static uint64_t last_item (struct spool *s)
{
    return (uint64_t)db_number (spool_rows (s, NULL, "SELECT ifnull(max(id), 0) "
                                            "FROM item"), 0);
}

void spool_ask_gone (struct spool *s)
{
    if (spool_redelivers (s))
        return;
    s->redeliver = last_item (s);
    s->only_gone = s->redeliver > 0;
}

int spool_begin_redelivery (struct spool *s, unsigned copy, struct err *err)
{
    static const struct ledger_mark none = { 0, 0 };
    uint64_t last = last_item (s);
    bool doubt = spool_lacks_mark (s, copy);
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    if ((rc = marks_drop_bad (s, err)) == 0 &&
        (rc = mark_write (s, copy, &none, err)) == 0)
        rc = redeliver_write (s, last, doubt, err);
    rc = spool_ledger_finish (s, rc, "agent.spool.redeliver.commit", err);
    if (rc == 0) {
        s->marks[copy] = (struct copy_mark){ .known = true };
        s->redeliver = last;
        s->in_doubt = doubt;
        s->only_gone = false;
    }
    return rc;
}

struct row {                    // an item, and its capture
    uint64_t id, capture;
    enum spool_state state;
    bool good;                  // its row in the ledger is valid
    char path[PATH_MAX];        // of the capture; "": it is sealed again
                                // already, or its row is damaged
};

static int find_path (struct spool *s, struct row *d, struct err *err)
{
    int rc;

    d->path[0] = '\0';
    rc = db_one (spool_rows (s, err, "SELECT path FROM capture WHERE id=?1 AND "
                             "state IN (3, 6, 11) AND " CAPTURE_IS_GOOD,
                             d->capture), d->path);
    return rc < 0 ? rc : 0;
}

/* Find the first affected item after 'after': 1, or 0. */
static int next_item (struct spool *s, uint64_t after, struct row *ret,
                      struct err *err)
{
    int rc = db_one (spool_rows (s, err,
        "SELECT id, capture, state, sum IS " ITEM_SUM ("state", "at", "why")
        " FROM item NOT INDEXED WHERE id>?1 AND id<=?2 ORDER BY id LIMIT 1",
        after, s->redeliver), ret->id, ret->capture, ret->state, ret->good);

    if (rc > 0 && ret->id <= after)     // otherwise this would never end
        return ledger_fail (s, -EBADMSG, "a table is out of order", err);
    return rc;
}

/* Whether the directory has only what was added to the capture before it was
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

/* Whether the capture exists, so that it can be sealed again. */
static bool is_here (struct spool *s, const char *path)
{
    struct stat st;

    return (lstat (path, &st) == 0 || errno != ENOENT) &&
           !is_only_left (s, path);
}

/* Have it sealed again, whatever else of it is being delivered; until then a
 * note says that it may be lost; 'why' NULL: no note.
 */
static int forget_one (struct spool *s, struct row *d, const char *why,
                       struct err *err)
{
    int rc = spool_forget_release (s, d->path, err);

    return rc < 0 ? rc : capture_forget (s, d->capture, why, d->path, err);
}

/* It does not exist here: ask the aggregator about it without its bytes. */
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

    if (s->only_gone)
        return !is_here (s, d->path) && newest && d->good &&
                       !capture_is_elsewhere (s, d->capture)
                   ? ask_for (s, d, r, err) : 0;
    if (is_here (s, d->path)) {
        r->captures += newest;
        return forget_one (s, d, why, err);
    }
    if (!newest || capture_is_elsewhere (s, d->capture))
        return forget_one (s, d, NULL, err);
    // a damaged item cannot be asked about
    return d->good ? ask_for (s, d, r, err) : forget_one (s, d, why, err);
}

bool capture_is_current (struct spool *s, uint64_t capture)
{
    struct row d = { .capture = capture };

    return find_path (s, &d, NULL) == 0 && *d.path &&
           !capture_is_superseded (s, capture);
}

int redeliver_if_here (struct spool *s, uint64_t capture, struct err *err)
{
    struct row d = { .capture = capture };
    int rc = find_path (s, &d, err);

    if (rc < 0 || !*d.path || !is_here (s, d.path))
        return rc;
    rc = forget_one (s, &d, NULL, err);
    return rc < 0 ? rc : 1;
}

/* 1 if there may be more. */
static int forget_some (struct spool *s, struct spool_redelivery *r,
                        struct err *err)
{
    struct row d;
    int rc = 1;

    for (unsigned n = 0; n < AT_ONCE && rc >= 0; n++) {
        if ((rc = next_item (s, r->at, &d, err)) <= 0)
            return rc < 0 ? rc : redeliver_write (s, 0, false, err);
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
    rc = forget_some (s, &next, err);
    committed = spool_ledger_finish (s, rc, "agent.spool.redeliver.commit",
                                     err);
    if (committed < 0)
        return committed;
    next.in_doubt = s->in_doubt;
    next.only_gone = s->only_gone;
    if (rc == 0) {
        s->redeliver = 0;
        s->only_gone = false;
    }
    *r = next;
    return rc;
}
