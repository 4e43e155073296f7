/* aggregator/service/aggregator_keys.c - which key may speak for which host
 *
 * The key's file names the host; else the key is bound to the first host that
 * uses it.  A binding holds at once and becomes durable with the next commit,
 * before anything that came with the key is acknowledged.
 */
#include "service/aggregator_private.h"

#include "base/log.h"
#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Find the host that a key is bound to: 1, or 0 for none. */
static int find_bound (struct aggregator *a, const char *who,
                       struct ledger_bound *ret, struct err *err)
{
    for (size_t i = 0; i < a->nbound; i++) {
        if (strcmp (a->bound[i].who, who) == 0) {
            *ret = a->bound[i];
            return 1;
        }
    }
    return ledger_find_bound (a->ledger, who, ret, err);
}

static int bind_key (struct aggregator *a, const char *who, const char *host,
                     struct err *err)
{
    struct ledger_bound *p = vec_add (&a->bound, &a->nbound, sizeof (*p));

    if (!p)
        return err_set (err, ENOMEM, "no memory to bind key %s", who);
    PRINT (p->who, "%s", who);
    PRINT (p->host, "%s", host);
    p->since_ns = clock_wall_ns ();
    log_info ("key-bound", "key %s is now bound to host %s, the first one that "
              "it was used for: rollcall key bind changes that", who, host);
    return 0;
}

bool aggregator_may_speak (struct aggregator *a, const struct net_peer *from,
                           const struct message *m, struct err *why)
{
    struct ledger_bound b;
    int rc;

    if (!*from->who || !a->peer_access.keyring)
        return true;            // no key: its identity is unknown
    rc = keyring_speaks (a->peer_access.keyring, from->who, m->host, why);
    if (rc != 0)
        return rc > 0;
    if (!*m->host)
        rc = err_set (why, EACCES, "key %s is used for a host without a "
                      "name", from->who);
    else if ((rc = find_bound (a, from->who, &b, why)) == 0)
        return bind_key (a, from->who, m->host, why) == 0;
    if (rc < 0 || strcmp (b.host, m->host) == 0)
        return rc > 0;
    (void)err_set (why, EACCES, "key %s is bound to host %.100s, the first one "
                   "that it was used for, and not to %.100s: to allow that, "
                   "rollcall key bind %s --host HOST, or --any-host, in the "
                   "aggregator's keys", from->who, b.host, m->host, from->who);
    return false;
}

int aggregator_commit_bound (struct aggregator *a, enum transfer_phase phase,
                             struct err *err)
{
    int rc = 0;

    for (size_t i = 0; i < a->nbound && rc == 0; i++) {
        if (phase == TRANSFER_APPEND)
            rc = store_note_bound (a->store, &a->bound[i], err);
        else if (phase == TRANSFER_ENTER)
            rc = ledger_bind (a->ledger, &a->bound[i], err);
    }
    if (phase == TRANSFER_COMMITTED)
        aggregator_forget_bound (a);
    return rc;
}

void aggregator_forget_bound (struct aggregator *a)
{
    free (a->bound);
    a->bound = NULL;
    a->nbound = 0;
}
