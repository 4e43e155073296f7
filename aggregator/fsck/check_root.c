/* aggregator/fsck/check_root.c - check that all acknowledged data is intact */
#include "fsck/check_private.h"

#include "store/root.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void remove_fresh (const struct check *c)
{
    static const char *const ends[] = { ".check", ".check-wal", ".check-shm" };
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof (ends) / sizeof (ends[0]); i++) {
        check_ledger_path (c, ends[i], path);
        (void)unlink (path);
    }
}

static int check_all (struct check *c)
{
    char path[PATH_MAX];
    int rc = store_list_segments (c->root, &c->segments, &c->nsegments,
                                  c->err);

    remove_fresh (c);
    check_ledger_path (c, ".check", path);
    if (rc == 0)
        rc = ledger_open (path, &c->fresh, c->err);
    if (rc == 0)
        rc = ledger_begin (c->fresh, c->err);
    if (rc == 0)
        rc = store_open_read (c->root, &c->store, c->err);
    if (rc == 0 && !c->repair)
        segments_ask (store_segments (c->store), SEGMENTS_HERE);
    if (rc == 0)
        rc = check_open_old (c);
    if (rc == 0)
        rc = check_segments (c);
    if (rc == 0)
        rc = check_old_ledger (c);
    if (rc == 0 && c->repair && c->differs)
        rc = check_replace_ledger (c);
    else if (rc == 0)           // a new ledger builds all results again
        rc = check_results (c);
    return rc;
}

int store_check (const char *root, bool repair, struct check_report *report,
                 struct err *err)
{
    struct check c = { .root = root, .repair = repair, .report = report,
                       .err = err };
    int lock, rc;

    if (strlen (root) > PATH_MAX - 256)
        return err_set (err, ENAMETOOLONG, "path is too long: %s", root);
    if (access (root, F_OK) < 0)
        return err_sys (err, errno, "cannot open %s", root);
    if (repair && ((rc = root_check_owner (root, err)) < 0 ||
                   (rc = root_check_backup (root, err)) < 0))
        return rc;
    if ((lock = root_lock (root, false, err)) < 0)
        return lock;
    rc = check_all (&c);
    ledger_close (c.fresh);
    ledger_close (c.old);
    store_close (c.store);
    remove_fresh (&c);
    free (c.segments);
    free (c.gaps);
    free (c.bad);
    free (c.homeless);
    (void)close (lock);
    return rc;
}
