/* node_agent/spool/spool_kept.c - what is acknowledged, and kept until the
 * aggregator's object store has it
 *
 * Such an item is durable, and its column 'at' is the position of the
 * aggregator's ledger with its ACK, which is not 0.  Then the file is in the spool
 * until this position is stored.
 */
#include "spool/spool_private.h"

/* The first after 'id' that may go: an older version of a capture that was sealed
 * again is no longer needed.
 */
static uint64_t next_stored (struct spool *s, uint64_t id, uint64_t seq)
{
    uint64_t next = (uint64_t)db_number (spool_rows (s, NULL,
        "SELECT i.id FROM item i INDEXED BY item_durable LEFT JOIN capture c ON "
        "c.id=i.capture WHERE i.state=6 AND i.id>?1 AND (i.at<=?2 OR "
        "ifnull(c.state, 6) NOT IN (3, 6, 11)) AND i.sum IS row_sum('i', i.id, "
        "i.capture, i.number, i.kind, i.own, i.path, i.size, i.content, "
        "i.state, i.at, i.why, i.mode, i.mtime_ns, i.uid, i.gid) ORDER BY i.id "
        "LIMIT 1", id, seq), 0);

    return next > id ? next : 0;        // else an index is damaged
}

int spool_stored (struct spool *s, uint64_t seq, struct err *err)
{
    uint64_t id = 0;
    int rc = 0;

    if (spool_kept (s) == 0 || spool_redelivers (s))
        return 0;
    if (seq > INT64_MAX)
        seq = INT64_MAX;
    while (rc == 0 && (id = next_stored (s, id, seq)) > 0)
        item_release (s, id);
    if (s->nadvice > 0 && (rc = spool_ledger_begin (s, err)) == 0)
        rc = spool_ledger_finish (s, 0, "agent.spool.released.commit", err);
    return rc;
}

int spool_keep (struct spool *s, bool keep, struct err *err)
{
    s->keeps = keep;
    return keep ? 0 : spool_stored (s, INT64_MAX, err);
}

uint64_t spool_kept (const struct spool *s)
{
    return s->tally[ITEM_ROWS][SPOOL_DURABLE].items +
           s->tally[ITEM_RAW][SPOOL_DURABLE].items;
}
