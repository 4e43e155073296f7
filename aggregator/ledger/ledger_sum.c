/* aggregator/ledger/ledger_sum.c - checksums of the ledger's rows
 *
 * SQLite does not notice a flipped byte in a third of the places.
 */
#include "ledger/ledger_private.h"

#include "base/wire.h"

#include <errno.h>
#include <string.h>

#define ROW_MAX 65536           // bytes of one row
#define DAMAGED "%s is damaged: %s; rollcall fsck aggregator --repair " \
                "rebuilds it from the segments"

/* Eight bytes of the SHA-256; frees the buffer. */
static int64_t sum_of (struct buf *b)
{
    struct digest d = { { 0 } };

    (void)digest_of (b->data, b->failed ? 0 : b->size, &d);
    buf_fini (b);
    return digest_number (&d);
}

int64_t ledger_item_sum (const struct ledger_item *i)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_text (&b, i->job);
    wire_put_u8 (&b, (uint8_t)i->kind);
    wire_put_i64 (&b, i->rank);
    wire_put_text (&b, i->capture);
    wire_put_text (&b, i->path);
    wire_put_text (&b, i->host);
    buf_put (&b, i->content.bytes, DIGEST_SIZE);
    wire_put_i64 (&b, i->received_ns);
    wire_put_i64 (&b, i->newest_ns);
    wire_put_text (&b, i->scope);
    wire_put_text (&b, i->dir);
    wire_put_text (&b, i->who);
    wire_put_i64 (&b, i->rows);
    return sum_of (&b);
}

int64_t ledger_assignment_sum (const struct ledger_assignment *a)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_text (&b, a->scope);
    wire_put_text (&b, a->dir);
    wire_put_i64 (&b, a->rank);
    wire_put_text (&b, a->capture);
    wire_put_i64 (&b, a->newest_ns);
    wire_put_text (&b, a->job);
    wire_put_i64 (&b, a->at_ns);
    wire_put_u8 (&b, a->assumed);
    wire_put_text (&b, a->why);
    return sum_of (&b);
}

int64_t ledger_bound_sum (const struct ledger_bound *k)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_text (&b, k->who);
    wire_put_text (&b, k->host);
    wire_put_i64 (&b, k->since_ns);
    return sum_of (&b);
}

int64_t ledger_content_sum (const struct digest *id,
                            const struct ledger_place *place)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    buf_put (&b, id->bytes, DIGEST_SIZE);
    wire_put_i64 (&b, place->segment);
    wire_put_u64 (&b, place->offset);
    wire_put_u64 (&b, place->size);
    return sum_of (&b);
}

int64_t ledger_job_sum (const char *id, int64_t world_size, int64_t built)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_text (&b, id);
    wire_put_i64 (&b, world_size);
    wire_put_i64 (&b, built);
    return sum_of (&b);
}

int64_t ledger_claim_sum (const char *job, const struct size_claim *w)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_text (&b, job);
    wire_put_u8 (&b, (uint8_t)w->by);
    wire_put_text (&b, w->who);
    wire_put_text (&b, w->host);
    wire_put_i64 (&b, w->world_size);
    return sum_of (&b);
}

bool ledger_read_claim (sqlite3_stmt *st, struct size_claim *ret)
{
    char job[MESSAGE_NAME_MAX];

    *ret = (struct size_claim){ .by = (unsigned)sqlite3_column_int (st, 1),
                                .world_size = sqlite3_column_int64 (st, 4) };
    ledger_copy_column (job, sizeof (job), st, 0);
    ledger_copy_column (ret->who, sizeof (ret->who), st, 2);
    ledger_copy_column (ret->host, sizeof (ret->host), st, 3);
    return size_claim_valid (ret) && message_valid_name (job) &&
           sqlite3_column_int64 (st, 5) == ledger_claim_sum (job, ret);
}

int64_t ledger_segment_sum (int64_t segment, uint64_t end)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_i64 (&b, segment);
    wire_put_u64 (&b, end);
    return sum_of (&b);
}

int64_t ledger_incoming_sum (const struct digest *id, uint64_t size,
                             uint64_t first, const void *hashes,
                             size_t nbytes, int64_t touched_ns)
{
    struct digest all = { { 0 } };
    struct buf b;

    (void)digest_of (hashes, nbytes, &all);
    buf_init (&b, ROW_MAX);
    buf_put (&b, id->bytes, DIGEST_SIZE);
    wire_put_u64 (&b, size);
    wire_put_u64 (&b, first);
    wire_put_i64 (&b, touched_ns);
    buf_put (&b, all.bytes, DIGEST_SIZE);
    return sum_of (&b);
}

int64_t ledger_total_sum (const struct ledger_total *t)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_u64 (&b, t->rows);
    wire_put_u64 (&b, t->sum);
    return sum_of (&b);
}

int64_t ledger_epoch_sum (int64_t number, uint64_t id, uint64_t began)
{
    struct buf b;

    buf_init (&b, ROW_MAX);
    wire_put_i64 (&b, number);
    wire_put_u64 (&b, id);
    wire_put_u64 (&b, began);
    return sum_of (&b);
}

/* ---- verifying ---- */

static void add_up (struct ledger_total *t, int64_t sum)
{
    t->rows++;
    t->sum += (uint64_t)sum;
}

static bool check_item (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_item i = { .kind = ITEM_ROWS };
    int64_t sum, stored = sqlite3_column_int64 (st, 10);

    ledger_copy_identity (&i, st);
    if (!ledger_digest_column (&i.content, st, 6))
        return false;
    i.received_ns = sqlite3_column_int64 (st, 8);
    i.newest_ns = sqlite3_column_int64 (st, 9);
    ledger_copy_column (i.scope, sizeof (i.scope), st, 11);
    ledger_copy_column (i.dir, sizeof (i.dir), st, 12);
    ledger_copy_column (i.who, sizeof (i.who), st, 13);
    i.rows = sqlite3_column_int64 (st, 14);
    sum = ledger_item_sum (&i);
    add_up (t, sum);
    return ledger_valid_item (&i) &&
           stored == (sqlite3_column_int64 (st, 7) == 1 ? ~sum : sum);
}

static bool check_content (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_place p;
    struct digest id;

    (void)t;
    p.segment = sqlite3_column_int64 (st, 1);
    p.offset = (uint64_t)sqlite3_column_int64 (st, 2);
    p.size = (uint64_t)sqlite3_column_int64 (st, 3);
    return ledger_digest_column (&id, st, 0) && ledger_valid_place (&p) &&
           sqlite3_column_int64 (st, 4) == ledger_content_sum (&id, &p);
}

static bool check_job (sqlite3_stmt *st, struct ledger_total *t)
{
    int64_t sum, size = sqlite3_column_int64 (st, 1);
    char id[MESSAGE_NAME_MAX];

    ledger_copy_column (id, sizeof (id), st, 0);
    sum = ledger_job_sum (id, size, sqlite3_column_int64 (st, 2));
    add_up (t, sum);
    return ledger_valid_job (id, size) && sqlite3_column_int64 (st, 3) == sum;
}

static bool check_word (sqlite3_stmt *st, struct ledger_total *t)
{
    struct size_claim w;

    (void)t;
    return ledger_read_claim (st, &w);
}

static bool check_assignment (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_assignment a;
    bool good = ledger_read_assignment (st, &a);

    add_up (t, ledger_assignment_sum (&a));
    return good;
}

static bool check_bound (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_bound b;

    (void)t;
    return ledger_read_bound (st, &b);
}

static bool check_segment (sqlite3_stmt *st, struct ledger_total *t)
{
    int64_t segment = sqlite3_column_int64 (st, 0);
    uint64_t end = (uint64_t)sqlite3_column_int64 (st, 1);

    (void)t;
    return ledger_valid_segment (segment, end) &&
           sqlite3_column_int64 (st, 2) == ledger_segment_sum (segment, end);
}

static bool check_epoch (sqlite3_stmt *st, struct ledger_total *t)
{
    (void)t;
    return sqlite3_column_int64 (st, 3) ==
           ledger_epoch_sum (sqlite3_column_int64 (st, 0),
                             (uint64_t)sqlite3_column_int64 (st, 1),
                             (uint64_t)sqlite3_column_int64 (st, 2));
}

static bool check_total (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_total said = { (uint64_t)sqlite3_column_int64 (st, 0),
                                 (uint64_t)sqlite3_column_int64 (st, 1) };

    return said.rows == t->rows && said.sum == t->sum &&
           sqlite3_column_int64 (st, 2) == ledger_total_sum (t);
}

static bool check_integrity (sqlite3_stmt *st, struct ledger_total *t)
{
    const char *said = (const char *)sqlite3_column_text (st, 0);

    (void)t;
    return said && strcmp (said, "ok") == 0;
}

static const struct {
    const char *what, *sql;
    bool (*check) (sqlite3_stmt *st, struct ledger_total *t);
} checks[] = {
    { "its structure", "PRAGMA integrity_check(1)", check_integrity },
    { "table item", "SELECT job, kind, rank, capture, path, host, content, "
                    "superseded, received_ns, newest_ns, sum, scope, place, "
                    "who, rows FROM item",
      check_item },
    { "table job", "SELECT id, world_size, built, sum FROM job", check_job },
    { "table word", "SELECT job, by, who, host, world_size, sum FROM word",
      check_word },
    { "table assignment", "SELECT " LEDGER_ASSIGNMENT " FROM assignment",
      check_assignment },
    { "table bound", "SELECT who, host, since_ns, sum FROM bound",
      check_bound },
    { "table content", "SELECT id, segment, offset, size, sum FROM content",
      check_content },
    { "table segment", "SELECT number, end, sum FROM segment",
      check_segment },
    { "table epoch", "SELECT number, id, began, sum FROM epoch",
      check_epoch },
    { "rows are missing", "SELECT ifnull(max(rows), 0), ifnull(max(total), 0)"
                          ", ifnull(max(sum), 0) FROM total", check_total },
};

int ledger_verify (struct ledger *l, const char *path, struct err *err)
{
    struct ledger_total t = { 0, 0 };
    struct err why = { "" };
    int rc = 0;

    for (size_t i = 0; i < sizeof (checks) / sizeof (checks[0]); i++) {
        sqlite3_stmt *st = NULL;
        bool good = true;

        rc = db_prepare (l->db, checks[i].sql, &st, &why);
        while (rc == 0 && good && (rc = ledger_has_row (l, st, &why)) == 1) {
            good = checks[i].check (st, &t);
            rc = 0;
        }
        (void)sqlite3_finalize (st);
        if (rc < 0)
            return rc == -EIO ? err_set (err, EBADMSG, DAMAGED, path,
                                         why.text)
                              : err_set (err, -rc, "%s", why.text);
        if (!good)
            return err_set (err, EBADMSG, DAMAGED, path, checks[i].what);
    }
    l->total = l->committed = t;
    return 0;
}
