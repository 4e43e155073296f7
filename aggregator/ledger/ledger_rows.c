/* aggregator/ledger/ledger_rows.c - rows of the ledger: their valid values,
 * checksums, and reading them
 */
#include "ledger/ledger_private.h"

#include "store/row_sum.h"

#include <errno.h>
#include <string.h>

/* ---- valid values ---- */

bool ledger_valid_item (const struct ledger_item *i)
{
    return message_valid_name (i->job) && message_valid_place (i->dir) &&
           (!*i->who || message_valid_name (i->who)) &&
           (*i->dir ? message_valid_name (i->scope) : !*i->scope) &&
           file_facts_valid (&i->facts) &&
           message_valid_item (i->kind, i->rank, i->capture, i->path);
}

bool ledger_valid_form (const struct ledger_place *p)
{
    switch (p->form) {
    case FORM_PLAIN:
        return p->size <= CONTENT_CHUNK && p->stored == p->size;
    case FORM_LZ4:
    case FORM_ZSTD:
        return p->size <= CONTENT_CHUNK && p->stored < p->size;
    case FORM_LIST:
        return p->size > CONTENT_CHUNK && p->size <= CONTENT_SIZE_MAX &&
               p->stored == content_chunks (p->size) * DIGEST_SIZE;
    default:
        return false;
    }
}

bool ledger_valid_place (const struct ledger_place *p)
{
    return p->segment > 0 && p->segment <= LEDGER_SEGMENT_MAX &&
           p->offset <= (uint64_t)INT64_MAX - CONTENT_SIZE_MAX &&
           ledger_valid_form (p);
}

bool ledger_valid_assignment (const struct ledger_assignment *a)
{
    return message_valid_name (a->scope) && *a->dir &&
           message_valid_place (a->dir) && message_valid_name (a->job) &&
           message_valid_item (ITEM_ROWS, a->rank, a->capture, "");
}

bool ledger_valid_bound (const struct ledger_bound *b)
{
    return message_valid_name (b->who) && *b->host;
}

/* ---- checksums ---- */

int64_t ledger_item_sum (const struct ledger_item *i)
{
    return row_sum (i->job, i->kind, i->rank, i->capture, i->path, i->host,
                    &i->content, i->received_ns, i->newest_ns, i->scope,
                    i->dir, i->who, i->rows, LEDGER_FACTS (i));
}

int64_t ledger_assignment_sum (const struct ledger_assignment *a)
{
    return row_sum (a->scope, a->dir, a->rank, a->capture, a->newest_ns,
                    a->job, a->at_ns, a->assumed, a->why);
}

int64_t ledger_bound_sum (const struct ledger_bound *b)
{
    return row_sum (b->who, b->host, b->since_ns);
}

int64_t ledger_content_sum (const struct digest *id,
                            const struct ledger_place *place)
{
    return row_sum (id, place->segment, place->offset, place->stored,
                    place->size, place->form);
}

int64_t ledger_job_sum (const char *id, int64_t world_size, int64_t built,
                        const struct digest *rows)
{
    return row_sum (id, world_size, built, rows);
}

int64_t ledger_claim_sum (const char *job, const struct size_claim *w)
{
    return row_sum (job, w->by, w->who, w->host, w->world_size);
}

int64_t ledger_segment_sum (int64_t segment, uint64_t end)
{
    return row_sum (segment, end);
}

int64_t ledger_total_sum (const struct ledger_total *t)
{
    return row_sum (t->rows, t->sum);
}

int64_t ledger_epoch_sum (int64_t number, uint64_t id, uint64_t began)
{
    return row_sum (number, id, began);
}

/* ---- reading ---- */

int ledger_damaged (struct err *err)
{
    return err_set (err, EBADMSG, "a row of the ledger is damaged; rollcall "
                    "fsck aggregator --repair rebuilds it");
}

bool ledger_read_claim (sqlite3_stmt *st, struct size_claim *ret)
{
    char job[MESSAGE_NAME_MAX];
    int64_t sum;

    *ret = (struct size_claim){ .noted = false };
    db_columns (st, job, ret->by, ret->who, ret->host, ret->world_size, sum);
    return size_claim_valid (ret) && message_valid_name (job) &&
           sum == ledger_claim_sum (job, ret);
}

bool ledger_read_assignment (sqlite3_stmt *st, struct ledger_assignment *a)
{
    int64_t sum;

    db_columns (st, a->scope, a->dir, a->rank, a->capture, a->newest_ns,
                a->job, a->at_ns, a->assumed, a->why, sum);
    return ledger_valid_assignment (a) && sum == ledger_assignment_sum (a);
}

bool ledger_read_bound (sqlite3_stmt *st, struct ledger_bound *b)
{
    int64_t sum;

    db_columns (st, b->who, b->host, b->since_ns, sum);
    return ledger_valid_bound (b) && sum == ledger_bound_sum (b);
}

/* Read a row, with the checksum of its content's row. */
static bool read_row (sqlite3_stmt *st, struct ledger_item *i,
                      int64_t *content_sum)
{
    int64_t sum, stored;

    db_columns (st, i->rank, i->capture, i->path, i->host, i->content,
                i->superseded, i->received_ns, stored, i->lost,
                i->place.segment, i->place.offset, i->place.stored,
                i->place.size, i->place.form, *content_sum, i->newest_ns,
                i->job, i->scope, i->dir, i->who, i->rows, LEDGER_FACTS (i),
                i->seq);
    sum = ledger_item_sum (i);
    return ledger_valid_item (i) &&
           (i->lost || ledger_valid_place (&i->place)) &&
           stored == (i->superseded ? ~sum : sum);
}

bool ledger_read_row (sqlite3_stmt *st, struct ledger_item *i)
{
    int64_t sum;

    return read_row (st, i, &sum);
}

bool ledger_read_item (sqlite3_stmt *st, struct ledger_item *i)
{
    int64_t sum;

    return read_row (st, i, &sum) &&
           (i->lost || sum == ledger_content_sum (&i->content, &i->place));
}

/* ---- verifying ---- */

static void add_up (struct ledger_total *t, int64_t sum)
{
    t->rows++;
    t->sum += (uint64_t)sum;
}

static bool check_item (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_item i = { .lost = false };
    int64_t sum, stored;
    int superseded;             // in a damaged row it may be not 0 or 1

    db_columns (st, i.job, i.kind, i.rank, i.capture, i.path, i.host,
                i.content, superseded, i.received_ns, i.newest_ns, stored,
                i.scope, i.dir, i.who, i.rows, LEDGER_FACTS (&i));
    sum = ledger_item_sum (&i);
    add_up (t, sum);
    return ledger_valid_item (&i) && stored == (superseded == 1 ? ~sum : sum);
}

static bool check_content (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_place p;
    struct digest id;
    int64_t sum;

    (void)t;
    db_columns (st, id, p.segment, p.offset, p.stored, p.size, p.form, sum);
    return ledger_valid_place (&p) && sum == ledger_content_sum (&id, &p);
}

static bool check_job (sqlite3_stmt *st, struct ledger_total *t)
{
    int64_t sum, stored, size, built;
    char id[MESSAGE_NAME_MAX];
    struct digest rows;

    db_columns (st, id, size, built, rows, stored);
    sum = ledger_job_sum (id, size, built, &rows);
    add_up (t, sum);
    return message_valid_name (id) && size >= 0 && size <= LEDGER_WORLD_MAX &&
           stored == sum;
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

static bool check_fact (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_fact f;
    bool good = ledger_read_fact (st, &f);

    add_up (t, ledger_fact_sum (&f));
    return good;
}

static bool check_deletion (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_deletion d;
    bool good = ledger_read_deletion (st, &d);

    add_up (t, ledger_deletion_sum (&d));
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
    int64_t segment, sum;
    uint64_t end;

    (void)t;
    db_columns (st, segment, end, sum);
    return segment > 0 && segment <= LEDGER_SEGMENT_MAX && end <= INT64_MAX &&
           sum == ledger_segment_sum (segment, end);
}

static bool check_epoch (sqlite3_stmt *st, struct ledger_total *t)
{
    int64_t number, sum;
    uint64_t id, began;

    (void)t;
    db_columns (st, number, id, began, sum);
    return sum == ledger_epoch_sum (number, id, began);
}

static bool check_total (sqlite3_stmt *st, struct ledger_total *t)
{
    struct ledger_total said;
    int64_t sum;

    db_columns (st, said.rows, said.sum, sum);
    return said.rows == t->rows && said.sum == t->sum &&
           sum == ledger_total_sum (t);
}

static bool check_integrity (sqlite3_stmt *st, struct ledger_total *t)
{
    char said[8];

    (void)t;
    db_columns (st, said);
    return strcmp (said, "ok") == 0;
}

static const struct {
    const char *what, *sql;
    bool (*check) (sqlite3_stmt *st, struct ledger_total *t);
} checks[] = {
    { "its structure", "PRAGMA integrity_check(1)", check_integrity },
    { "table item", "SELECT job, kind, rank, capture, path, host, content, "
                    "superseded, received_ns, newest_ns, sum, scope, place, "
                    "who, rows, " LEDGER_FACTS_OF ("") " FROM item",
      check_item },
    { "table job", "SELECT id, world_size, built, rows, sum FROM job", check_job },
    { "table word", "SELECT " LEDGER_CLAIM " FROM word", check_word },
    { "table assignment", "SELECT " LEDGER_ASSIGNMENT " FROM assignment",
      check_assignment },
    { "table fact", "SELECT " LEDGER_FACT " FROM fact", check_fact },
    { "table deletion", "SELECT " LEDGER_DELETION " FROM deletion",
      check_deletion },
    { "table bound", "SELECT " LEDGER_BOUND " FROM bound", check_bound },
    { "table content", "SELECT id, segment, offset, stored, size, form, sum "
                       "FROM content",
      check_content },
    { "table segment", "SELECT number, end, sum FROM segment",
      check_segment },
    { "table epoch", "SELECT number, id, began, sum FROM epoch",
      check_epoch },
    { "its tables", "SELECT host_key, ended_ns FROM clock, heard LIMIT 0",
      NULL },
    { "rows are missing", "SELECT ifnull(max(rows), 0), ifnull(max(total), 0)"
                          ", ifnull(max(sum), 0) FROM total", check_total },
};

/* Set the error of a damaged ledger, with the remedy. */
static int say_damage (const char *path, const char *what, struct err *err)
{
    return err_set (err, EBADMSG, "%s is damaged: %s; rollcall fsck aggregator"
                    " --repair rebuilds it from the segments", path, what);
}

int ledger_verify (struct ledger *l, struct err *err)
{
    struct ledger_total t = { 0, 0 };
    struct err why = { "" };
    int rc;

    for (size_t i = 0; i < sizeof (checks) / sizeof (checks[0]); i++) {
        struct db_rows r = db_rows (l->db, &why, checks[i].sql);
        bool good = true;

        while (good && db_step (&r))
            good = checks[i].check (r.st, &t);
        if ((rc = db_end (&r)) < 0)
            return rc == -EIO ? say_damage (l->path, why.text, err)
                              : err_set (err, -rc, "%s", why.text);
        if (!good)
            return say_damage (l->path, checks[i].what, err);
    }
    l->total = l->committed = t;
    return 0;
}
