/* aggregator/ledger/ledger_senders.c - which key speaks for which host, and
 * which key sent a rank's rows
 */
#include "ledger/ledger_private.h"

#include <stdio.h>
#include <string.h>

int ledger_find_bound (struct ledger *l, const char *who,
                       struct ledger_bound *ret, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_BOUND " FROM bound"
                                            " WHERE who=?1", who);
    bool found = db_step (&r);
    int rc;

    if (found && !ledger_read_bound (r.st, ret))
        r.rc = ledger_damaged (err);
    rc = db_end (&r);
    return rc < 0 ? rc : found;
}

int ledger_bind (struct ledger *l, const struct ledger_bound *b,
                 struct err *err)
{
    return ledger_do (l, err, "INSERT OR IGNORE INTO bound (" LEDGER_BOUND ") "
                      "VALUES (?1,?2,?3,?4)", b->who, b->host, b->since_ns,
                      ledger_bound_sum (b));
}

int ledger_each_bound (struct ledger *l,
                       int (*fn) (void *arg, const struct ledger_bound *b),
                       void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_BOUND " FROM "
                                            "bound");
    struct ledger_bound b;

    while (db_step (&r))
        r.rc = ledger_read_bound (r.st, &b) ? fn (arg, &b)
                                            : ledger_damaged (err);
    return db_end (&r);
}

/* ---- senders of rows ---- */

// repeated rows keep their sender; ?2 is a rank
#define ROWS_OF "SELECT rank, who, host, min(received_ns) AS at, seq FROM " \
    "item WHERE job=?1 AND kind=1 AND who<>'' AND rank"
#define IN_ORDER " GROUP BY rank, iif(rows<>0, rows, content) " \
    "ORDER BY rank, at, seq"

// the index item_sender finds these ranks
static const char all_sql[] =
    ROWS_OF " IN (SELECT rank FROM item WHERE job=?1 AND kind=1 AND who<>'' "
    "AND rank>=0 GROUP BY rank HAVING min(who)<max(who))" IN_ORDER;

static const char rank_sql[] = ROWS_OF "=?2" IN_ORDER;

static const char several_sql[] =
    "SELECT (SELECT min(who) FROM item WHERE job=?1 AND rank=?2 AND kind=1 AND"
    " who<>'')<(SELECT max(who) FROM item WHERE job=?1 AND rank=?2 AND kind=1 "
    "AND who<>'')";

struct of_rank {                // the next row of a rank, with its sender
    int64_t rank;
    char who[NET_WHO_MAX], host[MESSAGE_NAME_MAX];
};

static void add_rows (struct ledger_sender *s, const struct of_rank *rows)
{
    if (*s->who && strcmp (s->who, rows->who) != 0) {
        memcpy (s->former, s->who, sizeof (s->former));
        memcpy (s->former_host, s->host, sizeof (s->former_host));
    }
    memcpy (s->who, rows->who, sizeof (s->who));
    memcpy (s->host, rows->host, sizeof (s->host));
}

int ledger_changed_sender (struct ledger *l, const char *job, int64_t rank,
                           struct ledger_sender *ret, struct err *err)
{
    int several = 0;
    int rc = rank < 0 ? 0 : db_one (ledger_rows (l, err, several_sql, job,
                                                 rank), several);
    struct of_rank next;
    struct db_rows r;

    memset (ret, 0, sizeof (*ret));
    ret->rank = rank;
    if (rc <= 0 || !several)
        return rc < 0 ? rc : 0;
    r = ledger_rows (l, err, rank_sql, job, rank);
    while (db_row (&r, next.rank, next.who, next.host))
        add_rows (ret, &next);
    rc = db_end (&r);
    return rc < 0 ? rc : ret->former[0] != '\0';
}

int ledger_each_sender (struct ledger *l, const char *job,
                        int (*fn) (void *arg, const struct ledger_sender *s),
                        void *arg, struct err *err)
{
    struct ledger_sender s = { .rank = -1 };
    struct db_rows r = ledger_rows (l, err, all_sql, job);
    struct of_rank next;
    int rc;

    while (db_row (&r, next.rank, next.who, next.host)) {
        if (next.rank != s.rank) {
            r.rc = *s.former ? fn (arg, &s) : 0;
            s = (struct ledger_sender){ .rank = next.rank };
        }
        add_rows (&s, &next);
    }
    rc = db_end (&r);
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
