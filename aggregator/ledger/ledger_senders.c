/* aggregator/ledger/ledger_senders.c - whose key speaks for which host, and
 * whose rows a rank's are
 */
#include "ledger/ledger_private.h"

#include <stdio.h>
#include <string.h>

bool ledger_valid_bound (const struct ledger_bound *b)
{
    return message_valid_name (b->who) && *b->host;
}

bool ledger_read_bound (sqlite3_stmt *st, struct ledger_bound *b)
{
    ledger_copy_column (b->who, sizeof (b->who), st, 0);
    ledger_copy_column (b->host, sizeof (b->host), st, 1);
    b->since_ns = sqlite3_column_int64 (st, 2);
    return ledger_valid_bound (b) &&
           sqlite3_column_int64 (st, 3) == ledger_bound_sum (b);
}

int ledger_find_bound (struct ledger *l, const char *who,
                       struct ledger_bound *ret, struct err *err)
{
    sqlite3_stmt *st = l->st[GET_BOUND];
    int rc;

    db_bind_text (st, 1, who);
    if ((rc = ledger_has_row (l, st, err)) == 1 &&
        !ledger_read_bound (st, ret))
        rc = ledger_damaged (err);
    (void)sqlite3_reset (st);
    return rc;
}

int ledger_bind (struct ledger *l, const struct ledger_bound *b,
                 struct err *err)
{
    sqlite3_stmt *st = l->st[SET_BOUND];

    db_bind_text (st, 1, b->who);
    db_bind_text (st, 2, b->host);
    (void)sqlite3_bind_int64 (st, 3, b->since_ns);
    (void)sqlite3_bind_int64 (st, 4, ledger_bound_sum (b));
    return db_run (st, err);
}

int ledger_each_bound (struct ledger *l,
                       int (*fn) (void *arg, const struct ledger_bound *b),
                       void *arg, struct err *err)
{
    struct ledger_bound b;
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT who, host, since_ns, sum FROM bound",
                         &st, err);

    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1)
        rc = ledger_read_bound (st, &b) ? fn (arg, &b) : ledger_damaged (err);
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- whose rows ---- */

// rows that came again are of whose they were; ?2 is a rank
#define ROWS_OF "SELECT rank, who, host, min(received_ns) AS at, seq FROM " \
    "item WHERE job=?1 AND kind=1 AND who<>'' AND rank"
#define IN_ORDER " GROUP BY rank, iif(rows<>0, rows, content) " \
    "ORDER BY rank, at, seq"

// the index item_sender tells which ranks these are
static const char all_sql[] =
    ROWS_OF " IN (SELECT rank FROM item WHERE job=?1 AND kind=1 AND who<>'' "
    "AND rank>=0 GROUP BY rank HAVING min(who)<max(who))" IN_ORDER;

static const char rank_sql[] = ROWS_OF "=?2" IN_ORDER;

static const char several_sql[] =
    "SELECT (SELECT min(who) FROM item WHERE job=?1 AND rank=?2 AND kind=1 AND"
    " who<>'')<(SELECT max(who) FROM item WHERE job=?1 AND rank=?2 AND kind=1 "
    "AND who<>'')";

/* The next rows of the same rank. */
static void add_rows (struct ledger_sender *s, sqlite3_stmt *st)
{
    char who[NET_WHO_MAX];

    ledger_copy_column (who, sizeof (who), st, 1);
    if (*s->who && strcmp (s->who, who) != 0) {
        memcpy (s->former, s->who, sizeof (s->former));
        memcpy (s->former_host, s->host, sizeof (s->former_host));
    }
    memcpy (s->who, who, sizeof (s->who));
    ledger_copy_column (s->host, sizeof (s->host), st, 2);
}

static int ledger_senders_prepare (struct ledger *l, const char *sql,
                                   const char *job,
                                   int64_t rank, sqlite3_stmt **ret,
                                   struct err *err)
{
    int rc = db_prepare (l->db, sql, ret, err);

    if (rc < 0)
        return rc;
    db_bind_text (*ret, 1, job);
    if (rank >= 0)
        (void)sqlite3_bind_int64 (*ret, 2, rank);
    return 0;
}

/* Whether the rows of a rank came with several keys at all. */
static int has_several (struct ledger *l, const char *job, int64_t rank,
                        struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = ledger_senders_prepare (l, several_sql, job, rank, &st, err);

    if (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1)
        rc = sqlite3_column_int (st, 0);
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_changed_sender (struct ledger *l, const char *job, int64_t rank,
                           struct ledger_sender *ret, struct err *err)
{
    int rc = rank < 0 ? 0 : has_several (l, job, rank, err);
    sqlite3_stmt *st = NULL;

    memset (ret, 0, sizeof (*ret));
    ret->rank = rank;
    if (rc <= 0)
        return rc;
    rc = ledger_senders_prepare (l, rank_sql, job, rank, &st, err);
    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        add_rows (ret, st);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc < 0 ? rc : ret->former[0] != '\0';
}

int ledger_each_sender (struct ledger *l, const char *job,
                        int (*fn) (void *arg, const struct ledger_sender *s),
                        void *arg, struct err *err)
{
    struct ledger_sender s = { .rank = -1 };
    sqlite3_stmt *st = NULL;
    int rc = ledger_senders_prepare (l, all_sql, job, -1, &st, err);

    while (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        int64_t rank = sqlite3_column_int64 (st, 0);

        rc = rank != s.rank && *s.former ? fn (arg, &s) : 0;
        if (rank != s.rank)
            s = (struct ledger_sender){ .rank = rank };
        add_rows (&s, st);
    }
    (void)sqlite3_finalize (st);
    return rc == 0 && *s.former ? fn (arg, &s) : rc;
}

void ledger_sender_text (const struct ledger_sender *s, char *out, size_t size)
{
    (void)snprintf (out, size, "rank %lld: its rows arrived with key %s of "
                    "host %.100s, then with key %s of host %.100s: revoke a "
                    "key that is not its own (rollcall key revoke); rollcall "
                    "archive ls lists both versions",
                    (long long)s->rank, s->former,
                    s->former_host, s->who, s->host);
}
