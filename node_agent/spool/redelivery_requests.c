/* node_agent/spool/redelivery_requests.c - acknowledged items that no longer
 * exist here
 *
 * When the aggregator reports a loss, nobody knows what it has lost.  Items
 * that do not exist here are offered without their bytes: an acknowledgement
 * says that the aggregator has the item, a request for bytes that it is lost.
 */
#include "spool/spool_private.h"

struct asked {
    uint64_t capture;
    enum item_kind kind;
    char path[MESSAGE_PATH_MAX], capture_path[PATH_MAX];
};

bool spool_asks (const struct spool *s)
{
    return s->tally[ITEM_ROWS][SPOOL_ASKED].items > 0 ||
           s->tally[ITEM_RAW][SPOOL_ASKED].items > 0;
}

/* 1 found, 0 not asked. */
static int redelivery_requests_find (struct spool *s, uint64_t id,
                                     struct asked *ret,
                                     struct err *err)
{
    return db_one (spool_rows (s, err,
        "SELECT c.id, i.kind, i.path, c.path FROM item i JOIN capture c ON "
        "c.id=i.capture WHERE i.id=?1 AND i.state=0", id), ret->capture,
        ret->kind, ret->path, ret->capture_path);
}

/* It may have appeared again meanwhile, as another version or elsewhere. */
static int lose (struct spool *s, uint64_t id, struct err *err)
{
    struct asked a;
    int rc = redelivery_requests_find (s, id, &a, err);

    if (rc <= 0)
        return rc;
    // the capture first: without an open item it would count as durable
    if ((rc = capture_lose (s, a.capture, err)) == 0)
        rc = item_close (s, id, SPOOL_NOT_THERE, "neither this host nor the "
                         "aggregator has it", err);
    if (rc < 0 || capture_is_superseded (s, a.capture) ||
        capture_is_elsewhere (s, a.capture))
        return rc;
    return loss_there (s, a.capture, a.capture_path, a.kind, a.path, err);
}

int spool_lost (struct spool *s, const uint64_t *ids, size_t n,
                struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = lose (s, ids[i], err);
    return spool_ledger_finish (s, rc, "agent.spool.redeliver.commit", err);
}
