/* node_agent/spool/spool_presence.c - a spool whose files are removed while it
 * is in use
 *
 * The ledger is restored from the open database: without it the next agent
 * would not know what is lost, or what may be removed.
 */
#include "spool/spool_private.h"

#include <errno.h>
#include <sys/stat.h>

/* The lock of another directory does not protect this one. */
static bool has_dir (const struct spool *s)
{
    struct stat held, named;
    char path[PATH_MAX];

    PRINT (path, "%s/lock", s->dir);
    if (fstat (s->lock, &held) < 0)
        return true;
    if (lstat (path, &named) < 0)
        return errno != ENOENT && errno != ENOTDIR;
    return held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

/* Until the agent ends, every call fails with an error. */
static int give_up (struct spool *s)
{
    spool_ledger_close (s);
    (void)sqlite3_open_v2 (":memory:", &s->db, SQLITE_OPEN_READWRITE, NULL);
    return -ENODEV;
}

int spool_look (struct spool *s, char aside[PATH_MAX], struct err *err)
{
    char quarantine[PATH_MAX];
    int rc;

    aside[0] = '\0';
    if (!has_dir (s))
        return err_set (err, ENODEV, "the spool %s was removed, or another one "
                        "is in its place", s->dir);
    if (db_is_there (&s->there))
        return 0;
    PRINT (quarantine, "%s/" SPOOL_QUARANTINE, s->dir);
    if ((rc = db_put_back (&s->there, s->db, quarantine, 0600, aside,
                           err)) < 0)
        return rc;
    spool_ledger_close (s);
    return spool_ledger_open (s, err) < 0 ? give_up (s) : 1;
}
