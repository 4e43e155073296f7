/* aggregator/ledger/ledger_presence.c - a ledger whose files were removed while
 * they are in use
 *
 * It is put back from what has it open, and not made again of the segments,
 * which tell less: not what agents were told, nor whose a key is.
 */
#include "ledger/ledger_private.h"

#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool ledger_is_there (struct ledger *l)
{
    return l->db && db_is_there (&l->there);
}

static void quarantine_of (const struct ledger *l, char out[PATH_MAX])
{
    const char *slash = strrchr (l->path, '/');

    (void)snprintf (out, PATH_MAX, "%.*s/quarantine",
                    slash ? (int)(slash - l->path) : 1, slash ? l->path : ".");
}

int ledger_put_back (struct ledger *l, char aside[PATH_MAX], struct err *err)
{
    char quarantine[PATH_MAX];
    int rc;

    aside[0] = '\0';
    if (!l->db)
        return err_set (err, ENODEV, "%s is not open", l->path);
    quarantine_of (l, quarantine);
    if ((rc = db_put_back (&l->there, l->db, quarantine, FILEIO_FILE_MODE,
                           aside, err)) < 0)
        return rc;
    ledger_close_db (l);
    if (ledger_open_db (l, SQLITE_OPEN_READWRITE, err) < 0) {
        ledger_close_db (l);    // what is asked of it until the end fails
        (void)sqlite3_open_v2 (":memory:", &l->db, SQLITE_OPEN_READWRITE,
                               NULL);
        return -ENODEV;
    }
    return 0;
}
