/* node_agent/spool/wrapper_reports.c - what wrappers said, and notes */
#include "spool/spool_private.h"

#include "base/fault.h"

#include <stdio.h>

/* One statement, in a transaction of its own. */
static int write_one (struct spool *s, sqlite3_stmt *st, const char *point,
                      struct err *err)
{
    int rc = st ? spool_ledger_begin (s, err) : ledger_error (s, NULL);

    if (rc < 0) {
        spool_ledger_end (s, st);
        return rc;
    }
    if ((rc = ledger_run (s, st, err)) < 0) {
        spool_ledger_rollback (s);
        return rc;
    }
    return spool_ledger_commit (s, point, err);
}

int spool_keep_report (struct spool *s, int64_t rank, const char *type,
                       const char *packet, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "INSERT OR REPLACE INTO said VALUES (?1,?2,?3,"
        "row_sum('s',?1,?2,?3))", err);

    (void)sqlite3_bind_int64 (st, 1, rank);
    db_bind_text (st, 2, type);
    db_bind_text (st, 3, packet);
    return write_one (s, st, "agent.spool.said.commit", err);
}

int spool_each_report (struct spool *s,
                       void (*fn) (void *arg, int64_t rank, const char *packet),
                       void *arg, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT rank, packet FROM said WHERE "
        "sum=row_sum('s', rank, type, packet) "
        "ORDER BY type='hello' DESC, rank", err);
    int code;

    if (!st)
        return ledger_error (s, NULL);
    while ((code = sqlite3_step (st)) == SQLITE_ROW)
        fn (arg, sqlite3_column_int64 (st, 0),
            (const char *)sqlite3_column_text (st, 1));
    spool_ledger_end (s, st);
    return code == SQLITE_DONE ? 0 : ledger_error (s, err);
}

static sqlite3_stmt *note_of (struct spool *s, const char *name,
                              const char *text, struct err *err)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "INSERT OR REPLACE INTO note VALUES (?1,?2,row_sum('n',?1,?2))", err);

    db_bind_text (st, 1, name);
    db_bind_text (st, 2, text);
    return st;
}

int note_write (struct spool *s, const char *name, const char *text,
                struct err *err)
{
    return ledger_run (s, note_of (s, name, text, err), err);
}

int spool_keep_note (struct spool *s, const char *name, const char *text,
                     struct err *err)
{
    return write_one (s, note_of (s, name, text, err),
                      "agent.spool.note.commit", err);
}

bool spool_note (struct spool *s, const char *name, char *out, size_t size)
{
    sqlite3_stmt *st = spool_ledger_prepare (s,
        "SELECT text FROM note WHERE name=?1 AND sum=row_sum('n', name, text)",
        NULL);
    bool found = false;

    db_bind_text (st, 1, name);
    if (st && sqlite3_step (st) == SQLITE_ROW) {
        (void)snprintf (out, size, "%s",
                        (const char *)sqlite3_column_text (st, 0));
        found = true;
    }
    spool_ledger_end (s, st);
    return found;
}
