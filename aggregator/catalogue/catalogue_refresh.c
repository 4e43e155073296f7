/* aggregator/catalogue/catalogue_refresh.c - what the ledger says of jobs */
#include "catalogue/catalogue_private.h"

#include "base/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the stamp ---- */

static int read_stamp (struct catalogue *c, struct ledger_stamp *s,
                       struct err *err)
{
    int rc;

    *s = (struct ledger_stamp){ .file = 0 };
    rc = db_one (catalogue_rows (c, err, "SELECT file, rows, sum, items, "
                                 "facts, lost FROM stamp"),
                 s->file, s->rows, s->sum, s->items, s->facts, s->lost);
    return rc < 0 ? rc : 0;
}

static int write_stamp (struct catalogue *c, const struct ledger_stamp *s,
                        struct err *err)
{
    return catalogue_do (c, err, "INSERT OR REPLACE INTO stamp VALUES (1,?1,"
                         "?2,?3,?4,?5,?6)", s->file, s->rows, s->sum,
                         s->items, s->facts, s->lost);
}

/* ---- one job ---- */

struct facts {
    struct catalogue *c;
    struct err *err;
    struct ledger_fact user, scheduler_id, command;     // the last of each
    struct buf tags;            // "a,b"
    bool pinned, forgotten;
};

static int add_tag (struct facts *x, const struct ledger_fact *f)
{
    buf_printf (&x->tags, "%s%s", x->tags.size > 0 ? "," : "", f->value);
    return catalogue_do (x->c, x->err, "INSERT OR IGNORE INTO tag SELECT id, "
                         "?2 FROM job_row WHERE name=?1", f->job, f->value);
}

static int add_fact (void *arg, const struct ledger_fact *f)
{
    struct facts *x = arg;

    if (f->gone)
        return 0;
    if (strcmp (f->key, FACT_USER) == 0)
        x->user = *f;
    else if (strcmp (f->key, FACT_SCHEDULER_ID) == 0)
        x->scheduler_id = *f;
    else if (strcmp (f->key, FACT_COMMAND) == 0)
        x->command = *f;
    else if (strcmp (f->key, FACT_PIN) == 0)
        x->pinned = true;
    else if (strcmp (f->key, FACT_FORGOTTEN) == 0)
        x->forgotten = true;
    return strcmp (f->key, FACT_TAG) == 0 ? add_tag (x, f) : 0;
}

static const char *or_null (const char *text)
{
    return *text ? text : NULL;
}

static int write_facts (struct catalogue *c, const char *job,
                        struct facts *x, struct err *err)
{
    return catalogue_do (c, err, "UPDATE job_row SET user=?2, scheduler_id=?3,"
                         " command=?4, tags=?5, pinned=?6 WHERE name=?1", job,
                         or_null (x->user.value),
                         or_null (x->scheduler_id.value),
                         x->forgotten ? "" : or_null (x->command.value),
                         buf_text (&x->tags), x->pinned);
}

static int refresh_facts (struct catalogue *c, const char *job,
                          struct err *err)
{
    struct facts *x = calloc (1, sizeof (*x));
    int rc;

    if (!x)
        return err_set (err, ENOMEM, "no memory for a list of jobs");
    x->c = c;
    x->err = err;
    buf_init (&x->tags, FACT_TAGS_MAX * (FACT_TAG_MAX + 2));
    rc = catalogue_do (c, err, "DELETE FROM tag WHERE job=(SELECT id FROM "
                               "job_row WHERE name=?1)", job);
    if (rc == 0)
        rc = ledger_each_fact (c->ledger, job, 0, add_fact, x, err);
    if (rc == 0)
        rc = write_facts (c, job, x, err);
    buf_fini (&x->tags);
    free (x);
    return rc;
}

static int drop_job (struct catalogue *c, const char *job, struct err *err)
{
    static const char *const tables[] = {
        "DELETE FROM host WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM link WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM grp WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM finding WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM slow WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM tag WHERE job=(SELECT id FROM job_row WHERE name=?1)",
        "DELETE FROM job_row WHERE name=?1",
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]) && rc == 0;
         i++)
        rc = catalogue_do (c, err, tables[i], job);
    return rc;
}

static int write_job (struct catalogue *c, const char *job, int64_t newest,
                      int64_t built, int64_t state,
                      const struct ledger_summary *s, struct err *err)
{
    return catalogue_do (c, err,
        "INSERT INTO job_row (name, newest, built_seq, world_size, ranks, "
        "captures, items, bytes, first_ns, last_ns, lost, divided, assumed, "
        "by_hand, state) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,"
        "?14,?15) ON CONFLICT (name) DO UPDATE SET newest=?2, built_seq=?3, "
        "world_size=?4, ranks=?5, captures=?6, items=?7, bytes=?8, "
        "first_ns=?9, last_ns=?10, lost=?11, divided=?12, assumed=?13, "
        "by_hand=?14, state=?15", job, newest, built, s->world_size, s->ranks,
        s->captures, s->items, s->bytes, s->first_ns, s->last_ns, s->lost,
        s->divided, s->assumed, s->by_hand, state);
}

static int refresh_job (struct catalogue *c, const char *job, struct err *err)
{
    int64_t newest = ledger_newest (c->ledger, job, ITEM_ROWS);
    struct ledger_summary s;
    int rc = ledger_summary (c->ledger, job, &s, err);

    if (rc < 0)
        return rc;
    if (s.items == 0 && ledger_newest (c->ledger, job, ITEM_RAW) == 0)
        return drop_job (c, job, err);
    rc = write_job (c, job, newest, ledger_built (c->ledger, job),
                    ledger_state_sum (c->ledger, job), &s, err);
    return rc < 0 ? rc : refresh_facts (c, job, err);
}

/* ---- those that have changed ---- */

struct changes {
    struct catalogue *c;
    struct err *err;
};

static int note_changed (void *arg, const char *job)
{
    struct changes *x = arg;

    return catalogue_do (x->c, x->err, "INSERT OR IGNORE INTO temp.changed "
                                       "VALUES (?1)", job);
}

static int note_state (void *arg, const char *job, int64_t sum)
{
    struct changes *x = arg;

    return catalogue_do (x->c, x->err, "INSERT OR IGNORE INTO temp.changed "
                         "SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM job_row "
                         "WHERE name=?1 AND state=?2)", job, sum);
}

/* List them.  Of jobs whose results are behind anything may have changed: their
 * captures may be of other jobs now.
 */
static int list_changed (struct catalogue *c, const struct ledger_stamp *since,
                         bool all, struct err *err)
{
    struct changes x = { c, err };
    int rc = db_exec (c->db, "CREATE TEMP TABLE IF NOT EXISTS changed (job TEXT"
                             " PRIMARY KEY) WITHOUT ROWID;"
                             "DELETE FROM temp.changed", err);

    if (rc == 0)
        rc = ledger_each_changed (c->ledger, since, note_changed, &x, err);
    if (rc == 0)
        rc = ledger_each_state (c->ledger, note_state, &x, err);
    return rc < 0 ? rc : catalogue_do (c, err, "INSERT OR IGNORE INTO "
                                       "temp.changed SELECT name FROM job_row "
                                       "WHERE ?1 OR newest>built_seq", all);
}

static int refresh_changed (struct catalogue *c, struct err *err)
{
    struct db_rows r = catalogue_rows (c, err, "SELECT job FROM temp.changed");
    const char *job;

    while (db_row (&r, job))
        r.rc = refresh_job (c, job, err);
    return db_end (&r);
}

/* Whether the ledger is another one, or was rebuilt: then numbers start again.
 * Losses may be of any job.
 */
static bool is_other (const struct ledger_stamp *now,
                      const struct ledger_stamp *then)
{
    return now->file != then->file || now->items < then->items ||
           now->facts < then->facts || now->lost != then->lost;
}

static int refresh_ledger (struct catalogue *c, struct err *err)
{
    static const struct ledger_stamp none;
    struct ledger_stamp now, then;
    int rc = ledger_stamp (c->ledger, &now, err);
    bool other;

    if (rc < 0 || (rc = read_stamp (c, &then, err)) < 0 ||
        memcmp (&now, &then, sizeof (now)) == 0)
        return rc;
    other = is_other (&now, &then);
    if ((rc = catalogue_begin (c, err)) == 0)
        rc = list_changed (c, other ? &none : &then, other, err);
    if (rc == 0)
        rc = refresh_changed (c, err);
    if (rc == 0)
        rc = write_stamp (c, &now, err);
    return rc < 0 ? rc : catalogue_commit (c, err);
}

int catalogue_refresh (struct catalogue *c, struct err *err)
{
    int rc = refresh_ledger (c, err);

    if (rc == 0)
        rc = catalogue_look (c, NULL, err);
    return rc < 0 ? rc : catalogue_commit (c, err);
}
