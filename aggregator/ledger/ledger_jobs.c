/* aggregator/ledger/ledger_jobs.c - jobs, segments, and what is on its way */
#include "ledger/ledger_private.h"

#include "base/clock.h"
#include "model/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who says how many ranks a job has ---- */

int ledger_each_claim (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct size_claim *word),
                       void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT job, by, who, host, world_size, sum "
                                "FROM word WHERE job=?1 ORDER BY by, who, "
                                "host", &st, err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        struct size_claim w;

        if (!ledger_read_claim (st, &w))
            rc = err_set (err, EBADMSG, "a row of the ledger is damaged; "
                          "rollcall fsck aggregator --repair rebuilds it");
        else
            rc = fn (arg, &w);
        if (rc < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
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
    bool there;
};

static int get_job (struct ledger *l, struct job_row *row, struct err *err)
{
    sqlite3_stmt *st = l->st[GET_JOB];
    int rc;

    row->world_size = row->built = 0;
    db_bind_text (st, 1, row->id);
    rc = ledger_has_row (l, st, err);
    if ((row->there = rc == 1)) {
        row->world_size = sqlite3_column_int64 (st, 0);
        row->built = sqlite3_column_int64 (st, 1);
    }
    (void)sqlite3_reset (st);
    return rc < 0 ? rc : 0;
}

/* -1 leaves a member as it is. */
static int set_job (struct ledger *l, void *arg, struct err *err)
{
    const struct job_row *want = arg;
    struct job_row row = { .id = want->id };
    sqlite3_stmt *st = l->st[SET_JOB];
    int rc = get_job (l, &row, err);
    int64_t sum;

    if (rc < 0)
        return rc;
    if (row.there) {
        l->total.rows--;
        l->total.sum -= (uint64_t)ledger_job_sum (row.id, row.world_size,
                                                  row.built);
    }
    if (want->world_size >= 0 && want->world_size != row.world_size) {
        row.world_size = want->world_size;
        row.built = 0;          // what was built does not name all ranks, or
    }                           // names too many
    if (want->built >= 0)
        row.built = want->built;
    sum = ledger_job_sum (row.id, row.world_size, row.built);
    db_bind_text (st, 1, row.id);
    (void)sqlite3_bind_int64 (st, 2, row.world_size);
    (void)sqlite3_bind_int64 (st, 3, row.built);
    (void)sqlite3_bind_int64 (st, 4, sum);
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return db_run (st, err);
}

static int put_word (struct ledger *l, const char *job,
                     const struct size_claim *w,
                     struct err *err)
{
    sqlite3_stmt *st = l->st[SET_WORD];

    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int (st, 2, (int)w->by);
    db_bind_text (st, 3, w->who);
    db_bind_text (st, 4, w->host);
    (void)sqlite3_bind_int64 (st, 5, w->world_size);
    (void)sqlite3_bind_int64 (st, 6, ledger_claim_sum (job, w));
    return db_run (st, err);
}

struct said {
    const char *job;
    const struct size_claim *word;
};

static int set_word (struct ledger *l, void *arg, struct err *err)
{
    const struct said *said = arg;
    struct job_row row = { said->job, 0, -1, false };
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

    if (get_job (l, &row, NULL) < 0)
        return 0;
    // older programs took any number
    return row.world_size < CAPTURE_WORLD_MAX ? row.world_size
                                              : CAPTURE_WORLD_MAX;
}

int64_t ledger_newest (struct ledger *l, const char *job, enum item_kind last)
{
    sqlite3_stmt *st = l->st[NEWEST];
    int64_t n;

    db_bind_text (st, 1, job);
    (void)sqlite3_bind_int (st, 2, (int)last);
    n = ledger_has_row (l, st, NULL) == 1 ? sqlite3_column_int64 (st, 0) : 0;
    (void)sqlite3_reset (st);
    return n;
}

int ledger_set_built (struct ledger *l, const char *job, int64_t seq,
                      struct err *err)
{
    struct job_row row = { job, -1, seq, false };

    return ledger_within (l, set_job, &row, err);
}

int ledger_each_job (struct ledger *l, enum item_kind last,
                     int (*fn) (void *arg, const struct ledger_job *job),
                     void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT i.job, max(i.seq), ifnull(j.built, 0) "
                                "FROM item i LEFT JOIN job j ON j.id=i.job "
                                "WHERE i.kind<=?1 GROUP BY i.job", &st, err);

    if (rc < 0)
        return rc;
    (void)sqlite3_bind_int (st, 1, (int)last);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        struct ledger_job job;

        ledger_copy_column (job.id, sizeof (job.id), st, 0);
        job.newest = sqlite3_column_int64 (st, 1);
        job.built = sqlite3_column_int64 (st, 2);
        if ((rc = fn (arg, &job)) < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_summary (struct ledger *l, const char *job,
                    struct ledger_summary *ret, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT count(*), count(DISTINCT i.rank || "
                                "'/' || i.place || '/' || i.capture), "
                                "count(DISTINCT CASE WHEN "
                                "i.rank>=0 THEN i.rank END), ifnull(sum("
                                "c.size), 0), min(i.received_ns), max("
                                "i.received_ns), sum(c.id IS NULL) FROM item "
                                "i LEFT JOIN content c ON c.id=i.content "
                                "WHERE i.job=?1 AND i.superseded=0", &st, err);

    memset (ret, 0, sizeof (*ret));
    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    if ((rc = ledger_has_row (l, st, err)) == 1) {
        ret->items = sqlite3_column_int64 (st, 0);
        ret->captures = sqlite3_column_int64 (st, 1);
        ret->ranks = sqlite3_column_int64 (st, 2);
        ret->bytes = (uint64_t)sqlite3_column_int64 (st, 3);
        ret->first_ns = sqlite3_column_int64 (st, 4);
        ret->last_ns = sqlite3_column_int64 (st, 5);
        ret->lost = sqlite3_column_int64 (st, 6);
        ret->world_size = ledger_world_size (l, job);
        ledger_count_given (l, job, ret);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- segments ---- */

int ledger_set_segment (struct ledger *l, int64_t segment, uint64_t end,
                        struct err *err)
{
    sqlite3_stmt *st = l->st[SET_SEGMENT];

    (void)sqlite3_bind_int64 (st, 1, segment);
    (void)sqlite3_bind_int64 (st, 2, (int64_t)end);
    (void)sqlite3_bind_int64 (st, 3, ledger_segment_sum (segment, end));
    return db_run (st, err);
}

int ledger_last_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT number, end FROM segment ORDER BY "
                                "number DESC LIMIT 1", &st, err);

    *segment = 0;
    *end = 0;
    if (rc == 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        *segment = sqlite3_column_int64 (st, 0);
        *end = (uint64_t)sqlite3_column_int64 (st, 1);
        rc = 0;
    }
    (void)sqlite3_finalize (st);
    return rc;
}

int64_t ledger_last_used (struct ledger *l)
{
    return db_int (l->db, "SELECT ifnull(max(segment), 0) FROM content", 0);
}

int ledger_each_segment (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment, uint64_t end),
                         void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT number, max(end) FROM (SELECT number, "
                                "end FROM segment UNION ALL SELECT segment, "
                                "max(offset+size) FROM content WHERE segment>0"
                                " GROUP BY segment) GROUP BY number ORDER BY "
                                "number", &st, err);

    while (rc >= 0 && (rc = ledger_has_row (l, st, err)) == 1)
        rc = fn (arg, sqlite3_column_int64 (st, 0),
                 (uint64_t)sqlite3_column_int64 (st, 1));
    (void)sqlite3_finalize (st);
    return rc;
}

int ledger_each_blob (struct ledger *l, const struct digest *after,
                      unsigned most,
                      int (*fn) (void *arg, const struct digest *id,
                                 uint64_t size),
                      void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT id, offset+size FROM content INDEXED "
                                "BY content_blob WHERE segment=0 AND id>?1 "
                                "ORDER BY id LIMIT ?2", &st, err);
    struct digest id;

    if (rc == 0) {
        ledger_bind_digest (st, 1, after);
        (void)sqlite3_bind_int64 (st, 2, most);
    }
    while (rc >= 0 && (rc = ledger_has_row (l, st, err)) == 1) {
        if (ledger_digest_column (&id, st, 0))
            rc = fn (arg, &id, (uint64_t)sqlite3_column_int64 (st, 1));
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- on their way in ---- */

int ledger_add_incoming (struct ledger *l, const struct digest *content,
                         uint64_t size, const struct content_hash *chunks,
                         size_t first, struct err *err)
{
    sqlite3_stmt *st = l->st[ADD_INCOMING];
    size_t n = (chunks->n - first) * DIGEST_SIZE;
    int64_t now = clock_wall_ns ();

    ledger_bind_digest (st, 1, content);
    (void)sqlite3_bind_int64 (st, 2, (int64_t)first);
    (void)sqlite3_bind_int64 (st, 3, (int64_t)size);
    (void)sqlite3_bind_blob64 (st, 4, chunks->chunks + first, n,
                               SQLITE_TRANSIENT);
    (void)sqlite3_bind_int64 (st, 5, now);
    (void)sqlite3_bind_int64 (st, 6, ledger_incoming_sum (
                                         content, size, first,
                                         chunks->chunks + first, n, now));
    return db_run (st, err);
}

/* The hashes of one row, if they are what is next. */
static bool take_hashes (sqlite3_stmt *st, const struct digest *content,
                         uint64_t size, struct content_hash *h)
{
    uint64_t first = (uint64_t)sqlite3_column_int64 (st, 0);
    const void *bytes = sqlite3_column_blob (st, 2);
    size_t n = (size_t)sqlite3_column_bytes (st, 2);
    bool good = true;

    if (first != h->n || n % DIGEST_SIZE != 0 || !bytes ||
        (uint64_t)sqlite3_column_int64 (st, 1) != size ||
        sqlite3_column_int64 (st, 4) !=
            ledger_incoming_sum (content, size, first, bytes, n,
                                 sqlite3_column_int64 (st, 3)))
        return false;
    for (size_t i = 0; i < n && good; i += DIGEST_SIZE) {
        struct digest d;

        memcpy (d.bytes, (const char *)bytes + i, DIGEST_SIZE);
        good = content_hash_put (h, &d) == 0;
    }
    return good;
}

int ledger_find_incoming (struct ledger *l, const struct digest *content,
                          uint64_t size, struct content_hash *chunks,
                          struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT first, size, hashes, touched_ns, sum "
                                "FROM incoming WHERE content=?1 ORDER BY "
                                "first", &st, err);

    if (rc < 0)
        return rc;
    ledger_bind_digest (st, 1, content);
    // what is damaged is asked for again
    while ((rc = ledger_has_row (l, st, err)) == 1 &&
           take_hashes (st, content, size, chunks))
        ;
    (void)sqlite3_finalize (st);
    return rc < 0 ? rc : chunks->n > 0;
}

bool ledger_knows_incoming (struct ledger *l, const struct digest *content)
{
    sqlite3_stmt *st = NULL;
    bool known = false;

    if (db_prepare (l->db, "SELECT 1 FROM incoming WHERE content=?1", &st,
                    NULL) == 0) {
        ledger_bind_digest (st, 1, content);
        known = ledger_has_row (l, st, NULL) == 1;
    }
    (void)sqlite3_finalize (st);
    return known;
}

int ledger_drop_incoming (struct ledger *l, const struct digest *content,
                          struct err *err)
{
    ledger_bind_digest (l->st[DROP_INCOMING], 1, content);
    return db_run (l->st[DROP_INCOMING], err);
}

int ledger_drop_older_incoming (struct ledger *l, int64_t before_ns,
                                struct err *err)
{
    return db_execf (l->db, err, "DELETE FROM incoming WHERE content NOT IN "
                                 "(SELECT content FROM incoming WHERE "
                                 "touched_ns>=%lld)", (long long)before_ns);
}

/* ---- clocks ---- */

int ledger_set_clock (struct ledger *l, const char *job,
                      const struct ledger_clock *clock, struct err *err)
{
    sqlite3_stmt *st = l->st[SET_CLOCK];

    db_bind_text (st, 1, job);
    db_bind_text (st, 2, clock->host_key);
    db_bind_text (st, 3, clock->host);
    (void)sqlite3_bind_int64 (st, 4, clock->offset_ns);
    (void)sqlite3_bind_int64 (st, 5, clock->error_ns);
    return db_run (st, err);
}

int ledger_each_clock (struct ledger *l, const char *job,
                       int (*fn) (void *arg, const struct ledger_clock *clock),
                       void *arg, struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (l->db, "SELECT host_key, host, offset_ns, error_ns "
                                "FROM clock WHERE job=?1 ORDER BY host", &st,
                         err);

    if (rc < 0)
        return rc;
    db_bind_text (st, 1, job);
    while ((rc = ledger_has_row (l, st, err)) == 1) {
        struct ledger_clock c;

        ledger_copy_column (c.host_key, sizeof (c.host_key), st, 0);
        ledger_copy_column (c.host, sizeof (c.host), st, 1);
        c.offset_ns = sqlite3_column_int64 (st, 2);
        c.error_ns = sqlite3_column_int64 (st, 3);
        if ((rc = fn (arg, &c)) < 0)
            break;
    }
    (void)sqlite3_finalize (st);
    return rc;
}
