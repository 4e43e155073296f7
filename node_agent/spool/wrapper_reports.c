/* node_agent/spool/wrapper_reports.c - what wrappers said, and notes */
#include "spool/spool_private.h"

#include <stdio.h>

int spool_keep_report (struct spool *s, int64_t rank, const char *type,
                       const char *packet, struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    rc = spool_do (s, err, "INSERT OR REPLACE INTO said VALUES (?1,?2,?3,"
                   "row_sum('s',?1,?2,?3))", rank, type, packet);
    return spool_ledger_finish (s, rc, "agent.spool.said.commit", err);
}

int spool_each_report (struct spool *s,
                       void (*fn) (void *arg, int64_t rank, const char *packet),
                       void *arg, struct err *err)
{
    struct db_rows r = spool_rows (s, err, "SELECT rank, packet FROM said "
                                   "WHERE sum=row_sum('s', rank, type, packet) "
                                   "ORDER BY type='hello' DESC, rank");
    const char *packet;
    int64_t rank;

    while (db_row (&r, rank, packet))
        fn (arg, rank, packet);
    return db_end (&r);
}

int note_write (struct spool *s, const char *name, const char *text,
                struct err *err)
{
    return spool_do (s, err, "INSERT OR REPLACE INTO note VALUES (?1,?2,"
                     "row_sum('n',?1,?2))", name, text);
}

int spool_keep_note (struct spool *s, const char *name, const char *text,
                     struct err *err)
{
    int rc = spool_ledger_begin (s, err);

    if (rc < 0)
        return rc;
    return spool_ledger_finish (s, note_write (s, name, text, err),
                                "agent.spool.note.commit", err);
}

bool spool_note (struct spool *s, const char *name, char *out, size_t size)
{
    struct db_rows r = spool_rows (s, NULL, "SELECT text FROM note WHERE "
                                   "name=?1 AND sum=row_sum('n', name, text)",
                                   name);
    const char *text;
    bool found = db_row (&r, text);

    if (found)
        (void)snprintf (out, size, "%s", text);
    (void)db_end (&r);
    return found;
}
