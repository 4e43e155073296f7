/* aggregator/ledger/ledger_heard.c - what agents said of each rank
 *
 * Rows without checksums, which a repair copies as they are, or loses: they
 * confirm a roster, which is complete without them, and tell people where to
 * look for what did not come.
 */
#include "ledger/ledger_private.h"

#define HEARD "SELECT job, rank, mpi_rank, mpi_size, host, ended_ns, signal, " \
              "status FROM heard"

static int set (sqlite3_stmt *st, const char *job,
                const struct ledger_heard *h, struct err *err)
{
    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int64 (st, 2, h->rank);
    (void)sqlite3_bind_int64 (st, 3, h->mpi_rank);
    (void)sqlite3_bind_int64 (st, 4, h->mpi_size);
    db_bind_text (st, 5, h->host);
    (void)sqlite3_bind_int64 (st, 6, h->command.ns);
    (void)sqlite3_bind_int64 (st, 7, h->command.signal);
    (void)sqlite3_bind_int64 (st, 8, h->command.status);
    return db_run (st, err);
}

static struct ledger_heard read_row (sqlite3_stmt *st)
{
    struct ledger_heard h = {
        .rank = sqlite3_column_int64 (st, 1),
        .mpi_rank = sqlite3_column_int64 (st, 2),
        .mpi_size = sqlite3_column_int64 (st, 3),
        .command = { sqlite3_column_int64 (st, 5), sqlite3_column_int64 (st, 6),
                     sqlite3_column_int64 (st, 7) },
    };

    ledger_copy_column (h.host, sizeof (h.host), st, 4);
    return h;
}

int ledger_set_heard (struct ledger *l, const char *job,
                      const struct ledger_heard *heard, struct err *err)
{
    return set (l->st[SET_HEARD], job, heard, err);
}

int ledger_each_heard (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_heard *heard),
                       void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, HEARD " WHERE job=?1 ORDER BY rank", &st, err);

    if (rc == 0)
        db_bind_text (st, 1, job);
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        struct ledger_heard h = read_row (st);

        rc = fn (arg, &h);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_copy_heard (struct ledger *l, sqlite3 *from, struct err *err)
{
    struct ledger old = { .db = from };
    sqlite3_stmt *st = NULL;
    int rc = 0;

    if (db_prepare (from, HEARD, &st, NULL) < 0)
        return 0;
    while (rc == 0 && ledger_has_row (&old, st, NULL) == 1) {
        struct ledger_heard h = read_row (st);
        char job[MESSAGE_NAME_MAX];

        ledger_copy_column (job, sizeof (job), st, 0);
        rc = set (l->st[SET_HEARD], job, &h, err);
    }
    (void)sqlite3_finalize (st);
    return rc;
}
