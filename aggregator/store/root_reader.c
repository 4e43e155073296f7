/* aggregator/store/root_reader.c - read a root in a thread of its own, while this
 * process serves it
 */
#include "store/root_reader.h"

#include "base/thread.h"
#include "store/fileio.h"
#include "store/lease.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

struct root_reader {
    struct ledger *ledger;
    struct store *store;
    struct lease lease;
    root_reader_fn *fn;
    void *arg;
    pthread_t thread;
    atomic_bool ended, cancel;
    int rc;
    struct err err;
};

static void *work (void *arg)
{
    struct root_reader *r = arg;

    r->rc = r->fn (r->arg, r->ledger, r->store, &r->err);
    lease_end (&r->lease);      // whoever waits for it may look late
    atomic_store (&r->ended, true);
    return NULL;
}

static void destroy (struct root_reader *r)
{
    store_close (r->store);
    ledger_close (r->ledger);
    lease_end (&r->lease);
    free (r);
}

static int open_root (struct root_reader *r, const char *root, struct err *err)
{
    char path[PATH_MAX];
    int rc;

    if (!fileio_join (path, sizeof (path), root, "ledger.db"))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if ((rc = lease_take (root, "the aggregator itself", &r->lease, err)) < 0 ||
        (rc = ledger_open_quick (path, &r->ledger, err)) < 0)
        return rc;
    ledger_cancel (r->ledger, &r->cancel);
    return store_open_read (root, &r->store, err);
}

int root_reader_begin (const char *root, root_reader_fn *fn, void *arg,
                       struct root_reader **ret, struct err *err)
{
    struct root_reader *r = calloc (1, sizeof (*r));
    int rc;

    if (!r)
        return err_set (err, ENOMEM, "no memory to read %s", root);
    r->lease = (struct lease)LEASE_NONE;
    r->fn = fn;
    r->arg = arg;
    rc = open_root (r, root, err);
    if (rc == 0 && (rc = thread_start (&r->thread, work, r)) < 0)
        (void)err_sys (err, -rc, "cannot start a thread");
    if (rc < 0)
        destroy (r);
    else
        *ret = r;
    return rc;
}

bool root_reader_ended (const struct root_reader *r)
{
    return atomic_load (&r->ended);
}

void root_reader_cancel (struct root_reader *r)
{
    if (r)
        atomic_store (&r->cancel, true);
}

int root_reader_end (struct root_reader *r, struct err *err)
{
    int rc;

    if (!r)
        return 0;
    (void)pthread_join (r->thread, NULL);
    rc = r->rc;
    if (rc < 0)
        (void)err_set (err, -rc, "%s", r->err.text);
    destroy (r);
    return rc;
}
