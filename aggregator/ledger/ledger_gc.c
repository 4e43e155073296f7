/* aggregator/ledger/ledger_gc.c - which contents nothing refers to */
#include "ledger/ledger_gc.h"

#include "ledger/ledger_private.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char marks_sql[] =
    "CREATE TEMP TABLE IF NOT EXISTS used (id BLOB PRIMARY KEY) WITHOUT ROWID;"
    "CREATE TEMP TABLE IF NOT EXISTS walked (id BLOB PRIMARY KEY) WITHOUT "
    "ROWID;"
    "CREATE TEMP TABLE IF NOT EXISTS freed (id BLOB PRIMARY KEY) WITHOUT "
    "ROWID;"
    "CREATE TEMP TABLE IF NOT EXISTS young (segment INTEGER PRIMARY KEY);"
    "CREATE TEMP TABLE IF NOT EXISTS doomed (segment INTEGER, id BLOB, stored "
    "INTEGER, PRIMARY KEY (segment, id)) WITHOUT ROWID;"
    "DELETE FROM temp.used; DELETE FROM temp.walked; DELETE FROM temp.freed;"
    "DELETE FROM temp.young; DELETE FROM temp.doomed";

#define PLACE "segment, offset, stored, size, form, sum"
#define IS_USED "EXISTS (SELECT 1 FROM temp.used u WHERE u.id=c.id)"

int ledger_marks_begin (struct ledger *l, struct err *err)
{
    int rc = db_exec (l->db, marks_sql, err);

    l->marking = rc == 0;
    return rc;
}

void ledger_marks_end (struct ledger *l)
{
    if (l->marking)
        (void)db_exec (l->db, marks_sql, NULL);
    l->marking = false;
}

int ledger_mark_content (struct ledger *l, const struct digest *id,
                         struct err *err)
{
    int rc = ledger_do (l, err, "INSERT OR IGNORE INTO temp.used VALUES (?1)",
                        id);

    return rc < 0 ? rc : sqlite3_changes (l->db) > 0;
}

/* As ledger_find_content, but the content is not marked. */
static int find_place (struct ledger *l, const struct digest *id,
                       struct ledger_place *p, struct err *err)
{
    bool was = l->marking;
    int rc;

    l->marking = false;
    rc = ledger_find_content (l, id, p, err);
    l->marking = was;
    return rc;
}

static int note_walked (struct ledger *l, const struct digest *id,
                        struct err *err)
{
    int rc = ledger_do (l, err, "INSERT OR IGNORE INTO temp.walked VALUES "
                        "(?1)", id);

    return rc < 0 ? rc : sqlite3_changes (l->db) > 0;
}

/* The mark of a list says nothing of its chunks: whoever asked for the list
 * made it.
 */
static int mark_item (struct ledger *l, const struct digest *content,
                      ledger_content_fn *fn, void *arg, struct err *err)
{
    struct ledger_place place;
    int is_new = ledger_mark_content (l, content, err);
    int rc = is_new < 0 ? is_new : find_place (l, content, &place, err);

    if (rc <= 0)
        return rc;
    if (place.form == FORM_LIST)
        is_new = note_walked (l, content, err);
    return is_new <= 0 ? is_new : fn (arg, content, &place);
}

int ledger_mark_items (struct ledger *l, const char *job, int64_t *seq,
                       unsigned limit, ledger_content_fn *fn, void *arg,
                       struct err *err)
{
    struct db_rows r = job
        ? ledger_rows (l, err, "SELECT seq, content FROM main.item WHERE "
                       "job=?3 AND seq>?1 ORDER BY seq LIMIT ?2", *seq, limit,
                       job)
        : ledger_rows (l, err, "SELECT seq, content FROM main.item WHERE "
                       "seq>?1 ORDER BY seq LIMIT ?2", *seq, limit);
    struct digest content;
    unsigned n = 0;
    int rc;

    while (r.rc == 0 && db_row (&r, *seq, content)) {
        n++;
        r.rc = mark_item (l, &content, fn, arg, err);
    }
    n = r.rc > 0 ? limit : n;
    rc = db_end (&r);
    return rc < 0 ? rc : n == limit;
}

/* ---- what is to go ---- */

/* 1: 'fn' has enough, and *last was the last one. */
static int each_content (struct db_rows r, struct digest *last,
                         ledger_content_fn *fn, void *arg, struct err *err)
{
    struct ledger_place p;
    bool enough;
    int64_t sum;
    int rc;

    while (r.rc == 0 && db_row (&r, *last, p.segment, p.offset, p.stored,
                                p.size, p.form, sum))
        r.rc = ledger_valid_place (&p) && sum == ledger_content_sum (last, &p)
                   ? fn (arg, last, &p) : ledger_damaged (err);
    enough = r.rc > 0;
    rc = db_end (&r);
    return rc < 0 ? rc : enough;
}

int ledger_each_unused_list (struct ledger *l, struct digest *id,
                             ledger_content_fn *fn, void *arg, struct err *err)
{
    return each_content (ledger_rows (l, err, "SELECT id, " PLACE " FROM "
                                      "main.content c WHERE form=16 AND "
                                      "id>?1 AND NOT " IS_USED " ORDER BY id",
                                      id), id, fn, arg, err);
}

struct walking {
    struct ledger *l;
    ledger_content_fn *fn;
    void *arg;
    struct err *err;
};

static int walk (void *arg, const struct digest *id,
                 const struct ledger_place *place)
{
    const struct walking *w = arg;
    int enough = w->fn (w->arg, id, place);
    int rc = enough < 0 ? enough : note_walked (w->l, id, w->err);

    return rc < 0 ? rc : enough;
}

int ledger_each_marked_list (struct ledger *l, ledger_content_fn *fn,
                             void *arg, struct err *err)
{
    struct walking w = { l, fn, arg, err };
    struct digest id;

    return each_content (ledger_rows (l, err, "SELECT id, " PLACE " FROM "
                                      "main.content c WHERE form=16 AND "
                                      IS_USED " AND NOT EXISTS (SELECT 1 FROM "
                                      "temp.walked w WHERE w.id=c.id)"),
                         &id, walk, &w, err);
}

int ledger_note_freed (struct ledger *l, const struct digest *id,
                       struct err *err)
{
    return ledger_do (l, err, "INSERT OR IGNORE INTO temp.freed VALUES (?1)",
                      id);
}

int ledger_note_young (struct ledger *l, int64_t segment, struct err *err)
{
    return ledger_do (l, err, "INSERT OR IGNORE INTO temp.young VALUES (?1)",
                      segment);
}

int ledger_doom (struct ledger *l, struct digest *id, unsigned limit,
                 struct err *err)
{
    struct digest first = *id;
    int rc, more = db_one (ledger_rows (l, err, "SELECT id FROM main.content "
                                        "WHERE id>?1 ORDER BY id LIMIT 1 OFFSET "
                                        "?2", &first, limit - 1), *id);

    if (more < 0)
        return more;
    if (more == 0)
        memset (id, 0xff, sizeof (*id));
    // a list without an item is one of something that was removed
    rc = ledger_do (l, err, "INSERT OR IGNORE INTO temp.doomed SELECT segment, "
                    "id, stored FROM main.content c WHERE id>?1 AND id<=?2 AND "
                    "NOT " IS_USED " AND (form=16 OR EXISTS (SELECT 1 FROM "
                    "temp.freed f WHERE f.id=c.id) OR EXISTS (SELECT 1 FROM "
                    "main.dead d WHERE d.content=c.id) OR NOT EXISTS (SELECT 1 "
                    "FROM temp.young y WHERE y.segment=c.segment))", &first,
                    id);
    return rc < 0 ? rc : more;
}

int ledger_next_doomed (struct ledger *l, int64_t *segment, uint64_t *doomed,
                        struct err *err)
{
    return db_one (ledger_rows (l, err, "SELECT segment, sum(stored) FROM "
                                "temp.doomed WHERE segment=(SELECT "
                                "min(segment) FROM temp.doomed WHERE "
                                "segment>?1) GROUP BY segment", *segment),
                   *segment, *doomed);
}

int ledger_segment_bytes (struct ledger *l, int64_t segment, uint64_t *ret,
                          struct err *err)
{
    int rc = db_one (ledger_rows (l, err, "SELECT ifnull(sum(stored), 0) FROM "
                                  "main.content WHERE segment=?1", segment),
                     *ret);

    return rc < 0 ? rc : 0;
}

#define BEHIND "FROM temp.doomed d WHERE (segment, id)>(?1, ?2) "

int ledger_note_doomed (struct ledger *l, int64_t *segment, struct digest *id,
                        unsigned limit, struct err *err)
{
    struct digest first = *id;
    int64_t from = *segment;
    int rc, more = db_one (ledger_rows (l, err, "SELECT segment, id " BEHIND
                                        "ORDER BY segment, id LIMIT 1 OFFSET "
                                        "?3", from, &first, limit - 1),
                           *segment, *id);

    if (more < 0)
        return more;
    rc = ledger_do (l, err, "INSERT OR IGNORE INTO main.dead SELECT id " BEHIND
                    "AND NOT EXISTS (SELECT 1 FROM temp.used u WHERE u.id=d.id)"
                    " ORDER BY segment, id LIMIT ?3", from, &first, limit);
    return rc < 0 ? rc : more;
}

int ledger_drop_lists (struct ledger *l, struct err *err)
{
    return ledger_do (l, err, "DELETE FROM main.content WHERE form=16 AND id IN "
                      "(SELECT d.id FROM temp.doomed d WHERE NOT EXISTS (SELECT "
                      "1 FROM temp.used u WHERE u.id=d.id))");
}

int ledger_is_live (struct ledger *l, const struct digest *id,
                    const struct ledger_place *place, struct err *err)
{
    struct ledger_place now;
    int doomed, rc = find_place (l, id, &now, err);

    if (rc <= 0 || now.segment != place->segment ||
        now.offset != place->offset)
        return rc < 0 ? rc : 0;
    rc = db_one (ledger_rows (l, err, "SELECT 1 FROM temp.doomed d WHERE "
                              "d.segment=?1 AND d.id=?2 AND NOT EXISTS (SELECT "
                              "1 FROM temp.used u WHERE u.id=d.id)",
                              place->segment, id), doomed);
    return rc < 0 ? rc : rc == 0;
}

int ledger_each_spared (struct ledger *l, int64_t segment,
                        ledger_content_fn *fn, void *arg, struct err *err)
{
    struct digest id;

    return each_content (ledger_rows (l, err, "SELECT id, " PLACE " FROM "
                                      "main.content c WHERE segment=?1 AND "
                                      IS_USED, segment), &id, fn, arg, err);
}

/* ---- segments ---- */

int ledger_empty_segment (struct ledger *l, int64_t segment, struct err *err)
{
    int used = 0;
    int rc = ledger_do (l, err, "DELETE FROM main.dead WHERE content IN (SELECT "
                        "id FROM temp.doomed d WHERE segment=?1 AND NOT EXISTS "
                        "(SELECT 1 FROM temp.used u WHERE u.id=d.id))",
                        segment);

    if (rc == 0)
        rc = ledger_do (l, err, "DELETE FROM main.content WHERE segment=?1 AND "
                        "id IN (SELECT id FROM temp.doomed d WHERE segment=?1 "
                        "AND NOT EXISTS (SELECT 1 FROM temp.used u WHERE "
                        "u.id=d.id))", segment);
    if (rc == 0)
        rc = db_one (ledger_rows (l, err, "SELECT 1 FROM main.content WHERE "
                                  "segment=?1 LIMIT 1", segment), used);
    if (rc > 0)
        return err_set (err, EBUSY, "segment %" PRId64 " is still used",
                        segment);
    if (rc == 0)
        rc = ledger_do (l, err, "DELETE FROM segment WHERE number=?1",
                        segment);
    return rc < 0 ? rc : ledger_do (l, err, "INSERT OR REPLACE INTO emptied "
                                    "VALUES (?1,?2)", segment,
                                    ledger_segment_sum (segment, 0));
}

int ledger_each_emptied (struct ledger *l,
                         int (*fn) (void *arg, int64_t segment), void *arg,
                         struct err *err)
{
    struct db_rows r = db_rows (l->db, err, "SELECT number, sum FROM emptied "
                                "e WHERE NOT EXISTS (SELECT 1 FROM content "
                                "WHERE segment=e.number) AND NOT EXISTS "
                                "(SELECT 1 FROM segment WHERE number="
                                "e.number)");
    int64_t segment, sum;

    while (db_row (&r, segment, sum))
        r.rc = sum == ledger_segment_sum (segment, 0) ? fn (arg, segment)
                                                      : ledger_damaged (err);
    return db_end (&r);
}

int ledger_forget_emptied (struct ledger *l, int64_t segment, struct err *err)
{
    return ledger_do (l, err, "DELETE FROM emptied WHERE number=?1", segment);
}
