/* aggregator/ledger/ledger_heard.c - what agents reported about each rank
 *
 * These rows have no checksums; a repair copies them as they are, or loses
 * them.  They only add to a roster, which is complete without them, and tell
 * people where to look for missing data.
 */
#include "ledger/ledger_private.h"

// its columns, and the members for them
#define HEARD "SELECT job, rank, mpi_rank, mpi_size, host, ended_ns, signal, " \
              "status FROM heard"
#define HEARD_OF(h) (h)->rank, (h)->mpi_rank, (h)->mpi_size, (h)->host, \
    (h)->command.ns, (h)->command.signal, (h)->command.status

// a report without a value (0) keeps the known value
#define NEW_IF(said, column) \
    column "=iif(excluded." said ">0, excluded." column ", " column ")"

int ledger_set_heard (struct ledger *l, const char *job,
                      const struct ledger_heard *h, struct err *err)
{
    return ledger_do (l, err, "INSERT INTO heard VALUES (?1,?2,?3,?4,?5,?6,?7,"
                      "?8) ON CONFLICT DO UPDATE SET host=excluded.host, "
                      NEW_IF ("mpi_size", "mpi_rank") ", "
                      NEW_IF ("mpi_size", "mpi_size") ", "
                      NEW_IF ("ended_ns", "ended_ns") ", "
                      NEW_IF ("ended_ns", "signal") ", "
                      NEW_IF ("ended_ns", "status"), job, HEARD_OF (h));
}

int ledger_each_heard (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_heard *heard),
                       void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, HEARD " WHERE job=?1 ORDER BY rank",
                                    job);
    char of[MESSAGE_NAME_MAX];
    struct ledger_heard h;

    while (db_row (&r, of, HEARD_OF (&h)))
        r.rc = fn (arg, &h);
    return db_end (&r);
}

int ledger_copy_heard (struct ledger *l, sqlite3 *from, struct err *err)
{
    struct db_rows r = db_rows (from, NULL, HEARD);
    char job[MESSAGE_NAME_MAX];
    struct ledger_heard h;
    int rc = 0;

    while (rc == 0 && db_row (&r, job, HEARD_OF (&h)))
        rc = ledger_set_heard (l, job, &h, err);
    (void)db_end (&r);          // unreadable rows are lost
    return rc;
}
