/* aggregator/intake/ledger_mpi.c - which rank each rank is for MPI
 *
 * Rows without checksums, which a repair copies as they are, or loses: they
 * confirm a roster, which is complete without them.
 */
#include "intake/ledger_inside.h"

static int set (sqlite3_stmt *st, const char *job, const struct ledger_mpi *m,
                struct err *err)
{
    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int64 (st, 2, m->rank);
    (void)sqlite3_bind_int64 (st, 3, m->mpi_rank);
    (void)sqlite3_bind_int64 (st, 4, m->mpi_size);
    return db_run (st, err);
}

static struct ledger_mpi read_row (sqlite3_stmt *st)
{
    return (struct ledger_mpi){ sqlite3_column_int64 (st, 1),
                                sqlite3_column_int64 (st, 2),
                                sqlite3_column_int64 (st, 3) };
}

int ledger_set_mpi (struct ledger *l, const char *job,
                    const struct ledger_mpi *mpi, struct err *err)
{
    return set (l->st[SET_MPI], job, mpi, err);
}

int ledger_each_mpi (struct ledger *l, const char *job,
                     int (*fn) (void *arg, const struct ledger_mpi *mpi),
                     void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT job, rank, mpi_rank, mpi_size FROM "
                                "mpi WHERE job=?1 ORDER BY rank", &st, err);

    if (rc == 0)
        db_bind_text (st, 1, job);
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        struct ledger_mpi m = read_row (st);

        rc = fn (arg, &m);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_copy_mpi (struct ledger *l, sqlite3 *from, struct err *err)
{
    struct ledger old = { .db = from };
    sqlite3_stmt *st = NULL;
    int rc = 0;

    if (db_prepare (from, "SELECT job, rank, mpi_rank, mpi_size FROM mpi", &st,
                    NULL) < 0)
        return 0;
    while (rc == 0 && ledger_has_row (&old, st, NULL) == 1) {
        struct ledger_mpi m = read_row (st);
        char job[MESSAGE_NAME_MAX];

        ledger_copy_column (job, sizeof (job), st, 0);
        rc = set (l->st[SET_MPI], job, &m, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}
