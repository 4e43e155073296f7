/* aggregator/ledger/ledger_jobs.c - jobs, segments, clocks */
#include "ledger/ledger_private.h"

#include <errno.h>
#include <string.h>

/* ---- claims of the number of ranks ---- */

int ledger_each_claim (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct size_claim *word),
                       void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT " LEDGER_CLAIM " FROM word "
                                    "WHERE job=?1 ORDER BY by, who, host",
                                    job);
    struct size_claim w;

    while (db_step (&r))
        r.rc = ledger_read_claim (r.st, &w) ? fn (arg, &w)
                                            : ledger_damaged (err);
    return db_end (&r);
}

static int take_word (void *arg, const struct size_claim *word)
{
    int rc = size_claims_put (arg, word);

    return rc < 0 ? rc : 0;
}

int ledger_size_claims (struct ledger *l, const char *job,
                        struct size_claims *ret,
                        struct err *err)
{
    int rc;

    *ret = (struct size_claims){ .list = NULL };
    rc = ledger_each_claim (l, job, take_word, ret, err);
    for (size_t i = 0; i < ret->n; i++)
        ret->list[i].noted = true;
    if (rc < 0)
        size_claims_fini (ret);
    return rc == -ENOMEM || rc == -E2BIG
               ? err_set (err, -rc, "no memory for what agents reported of job "
                          "%s", job) : rc;
}

/* ---- jobs ---- */

struct job_row {
    const char *id;
    int64_t world_size, built;
    struct digest rows;         // of the result; zeros: unknown
    bool there;
};

static int get_job (struct ledger *l, struct job_row *row, struct err *err)
{
    int rc;

    row->world_size = row->built = 0;
    rc = db_one (ledger_rows (l, err, "SELECT world_size, built, rows FROM job "
                                      "WHERE id=?1", row->id),
                 row->world_size, row->built, row->rows);
    row->there = rc == 1;
    return rc < 0 ? rc : 0;
}

/* Update a job's row; -1 leaves a member as it is. */
static int set_job (struct ledger *l, void *arg, struct err *err)
{
    const struct job_row *want = arg;
    struct job_row row = { .id = want->id };
    int rc = get_job (l, &row, err);
    int64_t sum;

    if (rc < 0)
        return rc;
    if (row.there) {
        l->total.rows--;
        l->total.sum -= (uint64_t)ledger_job_sum (row.id, row.world_size,
                                                  row.built, &row.rows);
    }
    if (want->world_size >= 0 && want->world_size != row.world_size) {
        row.world_size = want->world_size;
        row.built = 0;          // the result lacks ranks, or has
    }                           // too many
    if (want->built >= 0) {
        row.built = want->built;
        row.rows = want->rows;
    }
    sum = ledger_job_sum (row.id, row.world_size, row.built, &row.rows);
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return ledger_do (l, err, "INSERT OR REPLACE INTO job (id, world_size, "
                      "built, rows, sum) VALUES (?1,?2,?3,?4,?5)", row.id,
                      row.world_size, row.built, &row.rows, sum);
}

static int put_word (struct ledger *l, const char *job,
                     const struct size_claim *w,
                     struct err *err)
{
    return ledger_do (l, err, "INSERT OR REPLACE INTO word VALUES (?1,?2,?3,?4,"
                      "?5,?6)", job, w->by, w->who, w->host, w->world_size,
                      ledger_claim_sum (job, w));
}

struct said {
    const char *job;
    const struct size_claim *word;
};

static int set_word (struct ledger *l, void *arg, struct err *err)
{
    const struct said *said = arg;
    struct job_row row = { .id = said->job, .built = -1 };
    struct size_claims claims;
    const struct size_claim *counts;
    int rc = put_word (l, said->job, said->word, err);

    if (rc < 0 || (rc = ledger_size_claims (l, said->job, &claims, err)) < 0)
        return rc;
    if ((counts = size_claims_settle (&claims)))
        row.world_size = counts->world_size;
    size_claims_fini (&claims);
    return set_job (l, &row, err);
}

int ledger_set_claim (struct ledger *l, const char *job,
                      const struct size_claim *word, struct err *err)
{
    struct said said = { job, word };

    return ledger_within (l, set_word, &said, err);
}

int64_t ledger_world_size (struct ledger *l, const char *job)
{
    struct job_row row = { .id = job };

    return get_job (l, &row, NULL) < 0 ? 0 : row.world_size;
}

int64_t ledger_newest (struct ledger *l, const char *job, enum item_kind last)
{
    return db_number (ledger_rows (l, NULL, "SELECT ifnull(max(seq), 0) FROM "
                                   "item WHERE job=?1 AND kind<=?2", job,
                                   last), 0);
}

int ledger_set_built (struct ledger *l, const char *job, int64_t seq,
                      const struct digest *rows, struct err *err)
{
    struct job_row row = { .id = job, .world_size = -1, .built = seq };

    if (rows)
        row.rows = *rows;
    return ledger_within (l, set_job, &row, err);
}

bool ledger_knows_rows (const struct ledger_job *j)
{
    static const struct digest none;

    return j->built > 0 && !digest_is (&j->rows, &none);
}

int ledger_forget_rows (struct ledger *l, const char *job, struct err *err)
{
    static const struct digest none;
    struct job_row row = { .id = job };
    int rc = get_job (l, &row, err);

    return rc < 0 || !row.there || digest_is (&row.rows, &none)
               ? rc : ledger_set_built (l, job, row.built, NULL, err);
}

int ledger_each_job (struct ledger *l, enum item_kind last,
                     int (*fn) (void *arg, const struct ledger_job *job),
                     void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT i.job, max(i.seq), "
                                    "ifnull(j.built, 0), j.rows FROM item i "
                                    "LEFT JOIN job j ON j.id=i.job WHERE "
                                    "i.kind<=?1 GROUP BY i.job", last);
    struct ledger_job job;

    while (db_row (&r, job.id, job.newest, job.built, job.rows))
        r.rc = fn (arg, &job);
    return db_end (&r);
}

int ledger_summary (struct ledger *l, const char *job,
                    struct ledger_summary *ret, struct err *err)
{
    int rc;

    memset (ret, 0, sizeof (*ret));
    rc = db_one (ledger_rows (l, err,
                     "SELECT count(*), count(DISTINCT i.rank || '/' || i.place "
                     "|| '/' || i.capture), count(DISTINCT CASE WHEN i.rank>=0 "
                     "THEN i.rank END), ifnull(sum(c.size), 0), "
                     "min(i.received_ns), max(i.received_ns), sum(c.id IS "
                     "NULL) FROM item i LEFT JOIN content c ON c.id=i.content "
                     "WHERE i.job=?1 AND i.superseded=0", job),
                 ret->items, ret->captures, ret->ranks, ret->bytes,
                 ret->first_ns, ret->last_ns, ret->lost);
    if (rc < 0)
        return rc;
    ret->world_size = ledger_world_size (l, job);
    rc = db_one (ledger_rows (l, err, "SELECT count(*), ifnull(sum(assumed<>0)"
                              ", 0), ifnull(sum(why='" LEDGER_BY_HAND "'), 0) "
                              "FROM assignment WHERE job=?1", job),
                 ret->divided, ret->assumed, ret->by_hand);
    return rc < 0 ? rc : 0;
}

/* ---- segments ---- */

int ledger_set_segment (struct ledger *l, int64_t segment, uint64_t end,
                        struct err *err)
{
    return ledger_do (l, err, "INSERT OR REPLACE INTO segment (number, end, "
                      "sum) VALUES (?1,?2,?3)", segment, end,
                      ledger_segment_sum (segment, end));
}

int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err)
{
    int rc;

    *segment = 0;
    *end = 0;
    rc = db_one (ledger_rows (l, err, "SELECT number, end FROM segment ORDER "
                                      "BY number DESC LIMIT 1"),
                 *segment, *end);
    return rc < 0 ? rc : 0;
}

int64_t ledger_last_used (struct ledger *l)
{
    return db_int (l->db, "SELECT ifnull(max(segment), 0) FROM content", 0);
}

int ledger_each_segment (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment, uint64_t end),
                         void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err,
        "SELECT number, max(end) FROM (SELECT number, end FROM segment UNION "
        "ALL SELECT segment, max(offset+stored) FROM content GROUP BY "
        "segment) GROUP BY number ORDER BY number");
    int64_t segment;
    uint64_t end;

    while (db_row (&r, segment, end))
        r.rc = fn (arg, segment, end);
    return db_end (&r);
}

/* ---- clocks ---- */

int ledger_set_clock (struct ledger *l, const char *job,
                      const struct ledger_clock *clock, struct err *err)
{
    return ledger_do (l, err, "INSERT OR REPLACE INTO clock VALUES (?1,?2,?3,"
                      "?4,?5)", job, clock->host_key, clock->host,
                      clock->offset_ns, clock->error_ns);
}

int ledger_each_clock (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_clock *clock),
                       void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT host_key, host, offset_ns, "
                                    "error_ns FROM clock WHERE job=?1 ORDER BY "
                                    "host", job);
    struct ledger_clock c;

    while (db_row (&r, c.host_key, c.host, c.offset_ns, c.error_ns))
        r.rc = fn (arg, &c);
    return db_end (&r);
}
