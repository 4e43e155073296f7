/* aggregator/ledger/ledger_changes.c - what has changed since somebody looked */
#include "ledger/ledger_private.h"

#include <errno.h>
#include <sys/stat.h>

int ledger_stamp (struct ledger *l, struct ledger_stamp *ret, struct err *err)
{
    struct stat st;
    int rc;

    if (stat (l->path, &st) < 0)
        return err_sys (err, errno, "cannot stat %s", l->path);
    *ret = (struct ledger_stamp){ .file = (int64_t)st.st_ino };
    rc = db_one (ledger_rows (l, err,
                     "SELECT rows, total, (SELECT ifnull(max(seq), 0) FROM "
                     "fact), (SELECT ifnull(max(number), 0) FROM epoch WHERE "
                     "id=1) FROM total"),
                 ret->rows, ret->sum, ret->facts, ret->lost);
    ret->items = ledger_last_seq (l);
    return rc < 0 ? rc : 0;
}

int64_t ledger_built (struct ledger *l, const char *job)
{
    return db_number (ledger_rows (l, NULL, "SELECT built FROM job WHERE "
                                            "id=?1", job), 0);
}

int64_t ledger_state_sum (struct ledger *l, const char *job)
{
    return db_number (ledger_rows (l, NULL, "SELECT sum FROM job WHERE id=?1",
                                   job), 0);
}

int ledger_each_changed (struct ledger *l, const struct ledger_stamp *since,
                         int (*fn) (void *arg, const char *job), void *arg,
                         struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT job FROM item WHERE seq>?1 "
                                    "UNION ALL SELECT job FROM deletion WHERE "
                                    "seq>?1 UNION ALL SELECT job FROM fact "
                                    "WHERE seq>?2", since->items,
                                    since->facts);
    char job[MESSAGE_NAME_MAX];

    while (db_row (&r, job))
        r.rc = fn (arg, job);
    return db_end (&r);
}

int ledger_each_state (struct ledger *l,
                       int (*fn) (void *arg, const char *job, int64_t sum),
                       void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT id, sum FROM job");
    char job[MESSAGE_NAME_MAX];
    int64_t sum;

    while (db_row (&r, job, sum))
        r.rc = fn (arg, job, sum);
    return db_end (&r);
}
