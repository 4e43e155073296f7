/* aggregator/intake/ledger_senders.c - whose key speaks for which host, and
 * whose rows a rank's are
 *
 * For people, and so that a key cannot speak for other hosts from one life of
 * the aggregator to the next: rows without checksums, which a repair copies as
 * they are, or loses.
 */
#include "intake/ledger_inside.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

struct binding {
    const char *who, *host;
    char *ret;
};

static int bind_key (struct ledger *l, void *arg, struct err *err)
{
    struct binding *b = arg;
    sqlite3_stmt *st = l->st[GET_BOUND];
    int rc;

    db_bind_text (st, 1, b->who);
    if ((rc = ledger_has_row (l, st, err)) == 1)
        ledger_copy_column (b->ret, MESSAGE_NAME_MAX, st, 0);
    (void)sqlite3_reset (st);
    if (rc != 0)
        return rc < 0 ? rc : 0;
    (void)snprintf (b->ret, MESSAGE_NAME_MAX, "%s", b->host);
    st = l->st[SET_BOUND];
    db_bind_text (st, 1, b->who);
    db_bind_text (st, 2, b->host);
    (void)sqlite3_bind_int64 (st, 3, clock_wall_ns ());
    rc = db_run (st, err);
    return rc < 0 ? rc : 1;
}

int ledger_bind (struct ledger *l, const char *who, const char *host,
                 char ret[MESSAGE_NAME_MAX], struct err *err)
{
    struct binding b = { who, host, ret };

    return ledger_within (l, bind_key, &b, err);
}

/* ---- whose rows ---- */

static void read_sender (sqlite3_stmt *st, struct ledger_sender *s)
{
    s->rank = sqlite3_column_int64 (st, 0);
    ledger_copy_column (s->who, sizeof (s->who), st, 1);
    ledger_copy_column (s->host, sizeof (s->host), st, 2);
    ledger_copy_column (s->former, sizeof (s->former), st, 3);
    ledger_copy_column (s->former_host, sizeof (s->former_host), st, 4);
}

static int get_sender (struct ledger *l, const char *job, int64_t rank,
                       struct ledger_sender *ret, struct err *err)
{
    sqlite3_stmt *st = l->st[GET_SENDER];
    int rc;

    memset (ret, 0, sizeof (*ret));
    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int64 (st, 2, rank);
    if ((rc = ledger_has_row (l, st, err)) == 1)
        read_sender (st, ret);
    (void)sqlite3_reset (st);
    return rc;
}

int ledger_changed_sender (struct ledger *l, const char *job, int64_t rank,
                           struct ledger_sender *ret, struct err *err)
{
    int rc = get_sender (l, job, rank, ret, err);

    return rc < 0 ? rc : ret->former[0] != '\0';
}

int ledger_note_sender (struct ledger *l, const struct ledger_item *item,
                        struct err *err)
{
    sqlite3_stmt *st = l->st[SET_SENDER];
    struct ledger_sender s;
    int rc;

    if (!item->who[0] || item->kind != ITEM_ROWS || item->rank < 0)
        return 0;
    rc = get_sender (l, item->job, item->rank, &s, err);
    if (rc < 0 || (rc == 1 && strcmp (s.who, item->who) == 0 &&
                   strcmp (s.host, item->host) == 0))
        return rc < 0 ? rc : 0;
    if (rc == 1 && strcmp (s.who, item->who) != 0) {
        memcpy (s.former, s.who, sizeof (s.former));
        memcpy (s.former_host, s.host, sizeof (s.former_host));
    }
    db_bind_text (st, 1, item->job);
    (void)sqlite3_bind_int64 (st, 2, item->rank);
    db_bind_text (st, 3, item->who);
    db_bind_text (st, 4, item->host);
    db_bind_text (st, 5, s.former);
    db_bind_text (st, 6, s.former_host);
    return db_run (st, err);
}

int ledger_each_sender (struct ledger *l, const char *job,
                        int (*fn) (void *arg, const struct ledger_sender *s),
                        void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT rank, who, host, former, former_host "
                                "FROM sender WHERE job=?1 AND former<>'' "
                                "ORDER BY rank", &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        struct ledger_sender s;

        read_sender (st, &s);
        if ((rc = fn (arg, &s)) < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

void ledger_sender_text (const struct ledger_sender *s, char *out, size_t size)
{
    (void)snprintf (out, size, "rank %lld: its rows came with key %s of host "
                    "%.100s, and then with key %s of host %.100s: if these "
                    "are not its own, rollcall key revoke, and rollcall "
                    "archive ls has both", (long long)s->rank, s->former,
                    s->former_host, s->who, s->host);
}

/* ---- a ledger that is made again ---- */

static int copy_rows (struct ledger *l, sqlite3 *from, const char *select,
                      const char *insert, struct err *err)
{
    struct ledger other = { .db = from };
    sqlite3_stmt *get = NULL, *put = NULL;
    int rc = db_prepare (l->db, insert, &put, err);

    if (rc == 0 && db_prepare (from, select, &get, NULL) == 0) {
        while (rc == 0 && ledger_has_row (&other, get, NULL) == 1) {
            for (int i = 0; i < sqlite3_column_count (get); i++)
                (void)sqlite3_bind_value (put, i + 1,
                                          sqlite3_column_value (get, i));
            rc = db_run (put, err);
        }
    }
    (void)sqlite3_finalize (get);
    (void)sqlite3_finalize (put);
    return rc;
}

int ledger_copy_keys (struct ledger *l, sqlite3 *from, struct err *err)
{
    int rc = copy_rows (l, from, "SELECT who, host, since_ns FROM bound",
                        "INSERT OR IGNORE INTO bound VALUES (?1,?2,?3)", err);

    return rc < 0 ? rc : copy_rows (l, from, "SELECT job, rank, who, host, "
                                    "former, former_host FROM sender",
                                    "INSERT OR IGNORE INTO sender VALUES "
                                    "(?1,?2,?3,?4,?5,?6)", err);
}
