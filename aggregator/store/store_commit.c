/* aggregator/store/store_commit.c - records and their rows, in one commit */
#include "store/store_commit.h"

static int enter (struct store *s, struct ledger *l,
                  const struct store_change *change, struct err *err)
{
    int rc = ledger_begin (l, err);

    if (rc < 0)
        return rc;
    if ((rc = change->enter (change->arg, l, err)) >= 0)
        rc = store_account (s, l, err);
    return ledger_finish (l, rc, err);
}

int store_commit (struct store *s, struct ledger *l,
                  const struct store_change *change, struct err *err)
{
    int rc = change->append (change->arg, s, err);

    if (rc >= 0)
        rc = store_sync (s, err);
    if (rc >= 0)
        rc = enter (s, l, change, err);
    if (rc < 0)
        store_revert (s);
    else
        store_committed (s);
    return rc;
}
