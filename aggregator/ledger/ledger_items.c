/* aggregator/ledger/ledger_items.c - contents and their items */
#include "ledger/ledger_gc.h"
#include "ledger/ledger_private.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>

/* ---- content ---- */

bool ledger_set_marking (struct ledger *l, bool marking)
{
    bool was = l->marking;

    l->marking = marking;
    return was;
}

bool ledger_has_unused (struct ledger *l)
{
    return db_number (ledger_rows (l, NULL, "SELECT EXISTS (SELECT 1 FROM "
                                   "dead) OR EXISTS (SELECT 1 FROM emptied)"),
                      0) != 0;
}

int ledger_find_content (struct ledger *l, const struct digest *content,
                         struct ledger_place *ret, struct err *err)
{
    int64_t sum;
    int rc = db_one (ledger_rows (l, err, "SELECT segment, offset, stored, "
                                          "size, form, sum FROM content WHERE "
                                          "id=?1", content),
                     ret->segment, ret->offset, ret->stored, ret->size,
                     ret->form, sum);

    if (rc == 1 && (!ledger_valid_place (ret) ||
                    sum != ledger_content_sum (content, ret)))
        return ledger_damaged (err);
    if (rc == 1 && l->marking && ledger_mark_content (l, content, err) < 0)
        return -EIO;
    return rc;
}

int ledger_add_content (struct ledger *l, const struct digest *content,
                        const struct ledger_place *place, struct err *err)
{
    int rc = ledger_do (l, err, "INSERT OR REPLACE INTO content (id, segment, "
                        "offset, stored, size, form, sum) VALUES (?1,?2,?3,?4,"
                        "?5,?6,?7)", content, place->segment, place->offset,
                        place->stored, place->size, place->form,
                        ledger_content_sum (content, place));

    if (rc == 0 && l->marking && ledger_mark_content (l, content, err) < 0)
        return -EIO;
    return rc < 0 ? rc : ledger_content_restored (l, content, err);
}

int ledger_drop_content (struct ledger *l, const struct digest *content,
                         struct err *err)
{
    return ledger_do (l, err, "DELETE FROM content WHERE id=?1", content);
}

#define CONTENT "SELECT id, segment, offset, stored, size, form, sum FROM content "

/* The rows of a query that begins with these columns. */
static int each_place (struct db_rows *r,
                       int (*fn) (void *arg, const struct digest *id,
                                  const struct ledger_place *place), void *arg)
{
    struct ledger_place p;
    struct digest id;
    int64_t sum;

    while (db_row (r, id, p.segment, p.offset, p.stored, p.size, p.form, sum))
        r->rc = ledger_valid_place (&p) && sum == ledger_content_sum (&id, &p)
                    ? fn (arg, &id, &p) : ledger_damaged (r->err);
    return db_end (r);
}

int ledger_each_list (struct ledger *l,
                      int (*fn) (void *arg, const struct digest *id,
                                 const struct ledger_place *place),
                      void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, CONTENT "WHERE form=16 ORDER BY "
                                    "id");

    return each_place (&r, fn, arg);
}

int ledger_next_segment (struct ledger *l, int64_t *segment, uint64_t *end,
                         struct err *err)
{
    return db_one (ledger_rows (l, err, "SELECT n, ifnull((SELECT end FROM "
                                "segment WHERE number=n), 0) FROM (SELECT "
                                "min(number) AS n FROM (SELECT min(number) AS "
                                "number FROM segment WHERE number>?1 UNION ALL "
                                "SELECT min(segment) FROM content WHERE "
                                "segment>?1)) WHERE n IS NOT NULL", *segment),
                   *segment, *end);
}

int ledger_each_stored (struct ledger *l, int64_t segment,
                        int (*fn) (void *arg, const struct digest *id,
                                   const struct ledger_place *place),
                        void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, CONTENT "WHERE segment=?1 ORDER BY "
                                    "offset", segment);

    return each_place (&r, fn, arg);
}

int ledger_each_content (struct ledger *l,
                         int (*fn) (void *arg, const struct ledger_item *item),
                         void *arg, struct err *err)
{
    struct db_rows r = ledger_rows (l, err, "SELECT job, kind, rank, "
                                    "received_ns, id, segment, offset, stored, "
                                    "size, form, content.sum FROM item CROSS "
                                    "JOIN content ON content.id=item.content "
                                    "ORDER BY seq");
    struct ledger_item i = { .rank = 0 };
    struct ledger_place *p = &i.place;
    int64_t sum;

    while (db_row (&r, i.job, i.kind, i.rank, i.received_ns, i.content,
                   p->segment, p->offset, p->stored, p->size, p->form, sum))
        r.rc = ledger_valid_place (p) &&
                       sum == ledger_content_sum (&i.content, p)
                   ? fn (arg, &i) : ledger_damaged (err);
    return db_end (&r);
}

/* ---- items ---- */

// +?2: an index has a condition on kind, for which SQLite would examine ?2 and
// prepare the statement again whenever ?2 is bound
#define ITS_NAME "job=?1 AND kind=+?2 AND rank=?3 AND capture=?4 AND path=?5 "

/* The existing item with the same content. */
struct known {
    int64_t seq;                // 0: nothing
    bool superseded;
    struct ledger_item item;
};

#define READ_KNOWN \
    "SELECT seq, superseded, newest_ns, host, received_ns, who, rows, job, " \
    LEDGER_FACTS_OF ("") " FROM item WHERE "

/* For an item whose job was unknown on arrival, each version is distinct. */
static struct db_rows known_version (struct ledger *l,
                                     const struct ledger_item *i,
                                     struct err *err)
{
    return ledger_rows (l, err, READ_KNOWN "scope=?1 AND place=?7 AND place<>'' "
                        "AND capture=?4 AND rank=?3 AND newest_ns=?8 AND "
                        "kind=+?2 AND path=?5 AND content=?6", i->scope,
                        i->kind, i->rank, i->capture, i->path, &i->content,
                        i->dir, i->newest_ns);
}

static int find_item (struct ledger *l, const struct ledger_item *item,
                      struct known *k, struct err *err)
{
    struct ledger_item *i = &k->item;

    k->seq = 0;
    *i = *item;
    return db_one (*item->dir
                       ? known_version (l, item, err)
                       : ledger_rows (l, err, READ_KNOWN ITS_NAME "AND "
                                      "content=?6 AND place='' ORDER BY "
                                      "superseded, newest_ns DESC LIMIT 1",
                                      LEDGER_NAME (item), &item->content),
                   k->seq, k->superseded, i->newest_ns, i->host,
                   i->received_ns, i->who, i->rows, i->job, LEDGER_FACTS (i));
}

/* The facts of a file that came again unchanged: an owner stays that only one
 * of the two says.
 */
static struct file_facts merge_facts (const struct known *k,
                                      const struct ledger_item *item)
{
    struct file_facts f = item->facts.mode ? item->facts : k->item.facts;

    if (f.uid < 0 && k->item.facts.uid >= 0) {
        f.uid = k->item.facts.uid;
        f.gid = k->item.facts.gid;
    }
    return f;
}

static bool adds_facts (const struct known *k, const struct ledger_item *item)
{
    const struct file_facts f = merge_facts (k, item), *now = &k->item.facts;

    return f.mode != now->mode || f.mtime_ns != now->mtime_ns ||
           f.uid != now->uid || f.gid != now->gid;
}

/* Whether the item adds nothing: it counts already, or is a repeated,
 * superseded one.  If its time is unknown, an older content may become current
 * again.
 */
static bool is_known (const struct known *k, const struct ledger_item *item)
{
    if (k->seq == 0 || k->item.newest_ns < item->newest_ns)
        return false;
    if (k->superseded)
        return *item->dir || item->newest_ns > 0;
    return k->item.newest_ns > item->newest_ns || !adds_facts (k, item);
}

/* Whether the version was removed after the item had arrived. */
static int is_removed (struct ledger *l, const struct ledger_item *item,
                       struct err *err)
{
    int64_t at_ns;
    int rc = ledger_removed_at (l, item, &at_ns, err);

    return rc <= 0 ? rc : item->received_ns <= at_ns;
}

int ledger_has_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err)
{
    struct known k;
    int rc = is_removed (l, item, err);

    if (rc != 0)
        return rc;
    rc = find_item (l, item, &k, err);
    return rc < 0 ? rc : is_known (&k, item);
}

int ledger_find_same (struct ledger *l, const struct ledger_item *item,
                      struct ledger_item *ret, struct err *err)
{
    struct known k;
    int rc = find_item (l, item, &k, err);

    if (rc != 1)
        return rc;
    *ret = *item->dir ? *item : k.item;
    ret->received_ns = k.item.received_ns;
    ret->facts = k.item.facts;
    return 1;
}

/* Give the existing item other times and facts. */
static int change_item (struct ledger *l, const struct known *k,
                        const struct ledger_item *now, struct err *err)
{
    int64_t sum = ledger_item_sum (now);
    int rc = ledger_do (l, err, "UPDATE item SET newest_ns=?2, sum=?3, mode=?4, "
                        "mtime_ns=?5, uid=?6, gid=?7, received_ns=?8 WHERE "
                        "seq=?1", k->seq, now->newest_ns,
                        k->superseded ? ~sum : sum, LEDGER_FACTS (now),
                        now->received_ns);

    if (rc == 0)
        l->total.sum += (uint64_t)sum - (uint64_t)ledger_item_sum (&k->item);
    return rc;
}

/* The same content belongs to a newer version of its capture, in which the file
 * may have another mode.
 */
static int renew_item (struct ledger *l, const struct known *k,
                       const struct ledger_item *item, struct err *err)
{
    struct ledger_item renewed = k->item;

    renewed.facts = k->item.newest_ns == item->newest_ns
                        ? merge_facts (k, item) : item->facts;
    renewed.newest_ns = item->newest_ns;
    if (renewed.received_ns < item->received_ns)
        renewed.received_ns = item->received_ns;
    return change_item (l, k, &renewed, err);
}

/* The item arrived again.  A deletion of which no record was met yet may lie
 * between: it must not take this one.
 */
static int note_arrival (struct ledger *l, const struct known *k,
                         const struct ledger_item *item, struct err *err)
{
    struct ledger_item later = k->item;

    if (later.received_ns >= item->received_ns)
        return 0;
    later.received_ns = item->received_ns;
    return change_item (l, k, &later, err);
}

/* 1 if a newer item is already entered; else mark the existing ones as
 * superseded: 0.
 */
static int supersede (struct ledger *l, const struct ledger_item *item,
                      struct err *err)
{
    int newer;
    int rc = db_one (ledger_rows (l, err, "SELECT 1 FROM item WHERE " ITS_NAME
                                  "AND superseded=0 AND (newest_ns>?6 OR ("
                                  "newest_ns=?6 AND received_ns>?7)) AND "
                                  "place=''", LEDGER_NAME (item),
                                  item->newest_ns, item->received_ns), newer);

    return rc != 0 ? rc : ledger_do (l, err, "UPDATE item SET superseded=1, "
                                     "sum=~sum WHERE " ITS_NAME "AND "
                                     "superseded=0 AND place=''",
                                     LEDGER_NAME (item));
}

static int insert_item (struct ledger *l, const struct ledger_item *i,
                        bool superseded, struct err *err)
{
    int64_t sum = ledger_item_sum (i);
    int64_t seq = ledger_last_seq (l) + 1;
    int rc = l->marking ? ledger_mark_content (l, &i->content, err) : 0;

    if (rc >= 0)
        rc = ledger_do (l, err, "INSERT INTO item (job, kind, rank, capture, "
                        "path, content, host, received_ns, newest_ns, "
                        "superseded, sum, scope, place, who, rows, "
                        LEDGER_FACTS_OF ("") ", seq) VALUES (?1,?2,?3,?4,?5,"
                        "?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,"
                        "?20)",
                        LEDGER_NAME (i), &i->content, i->host, i->received_ns,
                        i->newest_ns, superseded, superseded ? ~sum : sum,
                        i->scope, i->dir, i->who, i->rows, LEDGER_FACTS (i),
                        seq);

    if (rc < 0)
        return rc;
    l->total.rows++;
    l->total.sum += (uint64_t)sum;
    return 1;
}

static int add_version (struct ledger *l, const struct ledger_item *item,
                        struct err *err)
{
    struct ledger_item i = *item;
    int rc = ledger_choose_job (l, &i, err);

    if (rc < 0)
        return rc;
    if ((rc = insert_item (l, &i, false, err)) > 0 &&
        strcmp (i.job, i.scope) != 0 &&
        ledger_settle_path (l, i.job, i.dir, i.rank, i.capture, i.path,
                            err) < 0)
        return -EIO;
    return rc;
}

static int add_item (struct ledger *l, void *arg, struct err *err)
{
    struct ledger_item item = *(const struct ledger_item *)arg;
    struct known k;
    int rc = is_removed (l, &item, err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    if ((rc = find_item (l, &item, &k, err)) < 0)
        return rc;
    if (is_known (&k, &item))
        return note_arrival (l, &k, &item, err);
    if (k.seq > 0 && !k.superseded)
        return renew_item (l, &k, &item, err);
    if (item.received_ns == 0)
        item.received_ns = clock_wall_ns ();
    if (*item.dir)
        return add_version (l, &item, err);
    rc = supersede (l, &item, err);
    return rc < 0 ? rc : insert_item (l, &item, rc == 1, err);
}

int ledger_add_item (struct ledger *l, const struct ledger_item *item,
                     struct err *err)
{
    struct ledger_item copy = *item;

    return ledger_within (l, add_item, &copy, err);
}

static int set_rows (struct ledger *l, int64_t seq,
                     const struct ledger_item *item, int64_t rows,
                     struct err *err)
{
    struct ledger_item now = *item;
    int64_t was = ledger_item_sum (item), sum;

    now.rows = rows;
    sum = ledger_item_sum (&now);
    l->total.sum += (uint64_t)sum - (uint64_t)was;
    return ledger_do (l, err, "UPDATE item SET rows=?2, sum=CASE superseded "
                      "WHEN 0 THEN ?3 ELSE ~?3 END WHERE seq=?1", seq, rows,
                      sum);
}

int ledger_sum_rows (struct ledger *l,
                     int64_t (*fn) (void *arg, const struct ledger_item *item),
                     void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct db_rows r = ledger_rows (l, err, LEDGER_ITEM ", i.seq FROM item i "
                                    "JOIN content c ON c.id=i.content WHERE "
                                    "i.kind=1 AND i.who<>'' AND i.rows=0");
    int64_t rows;

    while (db_step (&r)) {
        if (!ledger_read_item (r.st, &item))
            r.rc = ledger_damaged (err);
        else if ((rows = fn (arg, &item)) != 0)
            r.rc = set_rows (l, sqlite3_column_int64 (r.st,
                                                      LEDGER_ITEM_COLUMNS),
                             &item, rows, err);
    }
    return db_end (&r);
}

// of both kinds, rows and raw files of a capture have one name in a tree; a raw
// file that the newest version of its capture no longer has is superseded, too
static const char each_sql[] =
    "WITH shared AS (SELECT capture FROM (SELECT DISTINCT kind, rank, capture "
    "FROM item WHERE job=?1) GROUP BY capture HAVING min(rank)<max(rank)), "
    "newest AS (SELECT rank, capture, place, max(newest_ns) AS ns FROM item "
    "WHERE job=?1 AND kind=?2 AND superseded=0 GROUP BY rank, capture, place) "
    LEDGER_ITEM ", i.capture IN shared, i.newest_ns<n.ns AND i.job<>"
    "i.scope FROM item i "
    "LEFT JOIN content c ON c.id=i.content LEFT JOIN newest n ON "
    "n.rank=i.rank AND n.capture=i.capture AND n.place=i.place "
    "WHERE i.job=?1 AND i.kind=?2 ORDER BY i.seq";

static bool read_each (sqlite3_stmt *st, struct ledger_item *i)
{
    bool good = ledger_read_item (st, i);

    i->shared_name = sqlite3_column_int (st, LEDGER_ITEM_COLUMNS) != 0;
    i->superseded = i->superseded ||
                    sqlite3_column_int (st, LEDGER_ITEM_COLUMNS + 1) != 0;
    return good;
}

// before they are assigned, no version supersedes another
static const char rank_sql[] =
    LEDGER_ITEM " FROM item i LEFT JOIN content c ON c.id=i.content WHERE "
    "i.job=?1 AND i.kind=1 AND i.rank=?2 AND i.superseded=0 AND NOT EXISTS "
    "(SELECT 1 FROM item n WHERE n.job=i.job AND n.kind=1 AND n.rank=i.rank "
    "AND n.capture=i.capture AND n.place=i.place AND n.newest_ns>i.newest_ns) "
    "ORDER BY i.seq";

int ledger_each_of_rank (struct ledger *l, const char *job, int64_t rank,
                         int (*fn) (void *arg, const struct ledger_item *item),
                         void *arg, struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS };
    struct db_rows r = ledger_rows (l, err, rank_sql, job, rank);

    while (db_step (&r))
        r.rc = ledger_read_item (r.st, &item) ? fn (arg, &item)
                                              : ledger_damaged (err);
    return db_end (&r);
}

int ledger_each (struct ledger *l, const char *job, enum item_kind kind,
                 int (*fn) (void *arg, const struct ledger_item *item),
                 void *arg, struct err *err)
{
    struct ledger_item item = { .kind = kind };
    struct db_rows r = ledger_rows (l, err, each_sql, job, kind);

    while (db_step (&r))
        r.rc = read_each (r.st, &item) ? fn (arg, &item) : ledger_damaged (err);
    return db_end (&r);
}
