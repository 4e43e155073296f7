/* aggregator/builder/split.c - a built result, divided into parts */
#include "builder/split.h"

#include "base/buf.h"
#include "base/texts.h"
#include "base/thread.h"
#include "base/vec.h"
#include "model/result_schema.h"
#include "sqlite_pages/page_source.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS_TEXT_MAX (8 << 20)        // bytes of CAPTURE_WORLD_LIMIT ranks

struct part_made;

/* What one part or analysis.db is made of, in a thread. */
struct copy {
    struct split *split;
    const struct publish *out;
    const char *path;           // of the one file
    struct split_source from;   // the same
    struct part_made *made;     // of each part
};

struct part_made {
    char path[PATH_MAX], file[NAME_MAX + 1], sum[DIGEST_HEX_SIZE];
    int64_t bytes, first, last;
    uint64_t rows[PARTS_TABLES];
    struct buf ranks;
    int64_t hosts;
};

/* ---- small tables ---- */

static int open_copy (const char *path, const char *from, sqlite3 **db,
                      struct err *err)
{
    if (db_open (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                           SQLITE_OPEN_NOMUTEX, db) != SQLITE_OK)
        return db_error (*db, path, err);
    return db_execf (*db, err, "PRAGMA page_size=%u;PRAGMA journal_mode=OFF;"
                     "PRAGMA synchronous=OFF;PRAGMA application_id=%d;"
                     "PRAGMA user_version=%d;ATTACH %Q AS one",
                     ROW_FILE_PAGE_SIZE, PUBLISH_APPLICATION_ID,
                     TABLES_SCHEMA_VERSION, from);
}

#define NOT_IN_PARTS \
    "tbl_name NOT IN ('CommAnalyzerTime','CommAnalyzerBandwidth'," \
    "'CommAnalyzerMatrix','LinkRow')"

/* Make what the one file has. */
static int make_schema (sqlite3 *db, const char *which, struct err *err)
{
    char sql[512];
    struct db_rows r;

    PRINT (sql, "SELECT sql FROM one.sqlite_schema WHERE sql NOT NULL AND %s "
           "ORDER BY rowid", which);
    r = db_rows (db, err, sql);
    while (db_step (&r))
        r.rc = db_exec (db, db_text (r.st, 0), err);
    return db_end (&r);
}

/* With the same rowids. */
static int copy_by_sql (sqlite3 *db, const char *table, const char *where,
                        struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT group_concat(quote(name)) FROM"
                                " pragma_table_info(?1, 'one') WHERE NOT"
                                " (pk=1 AND type='INTEGER')",
                                table);
    char *columns = NULL;
    const char *text;
    int rc;

    while (db_row (&r, text))
        columns = strdup (text ? text : "");
    rc = db_end (&r);
    for (char *p = columns; p && *p; p++)
        *p = *p == '\'' ? '"' : *p;
    if (rc == 0 && !columns)
        rc = err_set (err, ENOMEM, "no memory for tables");
    if (rc == 0)
        rc = db_execf (db, err, "INSERT INTO main.%s (rowid, %s) SELECT rowid,"
                       " %s FROM one.%s %s", table, columns, columns, table,
                       where);
    free (columns);
    return rc;
}

static int list_mine (const struct copy *c, unsigned part, sqlite3 *db,
                      struct err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = db_exec (db, "CREATE TEMP TABLE mine (id INTEGER PRIMARY KEY, rank"
                          " INTEGER);BEGIN", err);

    if (rc == 0)
        rc = db_prepare (db, "INSERT INTO temp.mine VALUES (?1, ?2)", &st, err);
    for (size_t i = 0; i < c->split->nitems && rc == 0; i++) {
        const struct select_item *item = &c->split->items[i];
        const struct split_unit *u = split_unit_at (c->split, item->first_row);

        if (u && u->part == part)
            rc = db_put (st, err, item->id,
                         db_known (item->rank >= 0, item->rank));
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* So that a part can be asked alone: its captures, ranks and steps; and what
 * the job is, and its groups, which its ops name.
 */
static int copy_small (sqlite3 *db, struct err *err)
{
    static const char of_capture[] =
        "WHERE capture IN (SELECT id FROM temp.mine)";
    static const struct {
        const char *table, *where;
    } small[] = {
        { "Job", "" }, { "CommGroup", "" }, { "CommGroupMember", "" },
        { "Capture", "WHERE id IN (SELECT id FROM temp.mine)" },
        { "CaptureRow", of_capture }, { "StepTraceTime", of_capture },
        { "StepExtra", of_capture }, { "LeftOut", of_capture },
        { "Roster", "WHERE rank IN (SELECT rank FROM temp.mine)" },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof (small) / sizeof (small[0]) && rc == 0; i++)
        rc = copy_by_sql (db, small[i].table, small[i].where, err);
    return rc;
}

/* "0-15,32" */
static void add_ranks (struct buf *out, int64_t first, int64_t last)
{
    char text[64] = "no rank";

    if (first >= 0 && first == last)
        PRINT (text, "%lld", (long long)first);
    else if (first >= 0)
        PRINT (text, "%lld-%lld", (long long)first, (long long)last);
    if (out->size > 0)
        buf_put (out, ",", 1);
    buf_put (out, text, strlen (text));
}

static int describe (const struct copy *c, unsigned part, struct err *err)
{
    struct part_made *m = &c->made[part - 1];
    const struct split_unit *u = c->split->units;
    struct texts hosts = { 0 };
    bool ok = true;

    m->first = INT64_MAX;
    for (size_t i = 0, end; i < c->split->nunits; i = end) {
        for (end = i; end < c->split->nunits && u[end].part == part; end++) {
            if (end > i && (u[end].rank < 0 ||
                            u[end].rank != u[end - 1].rank + 1))
                break;
            ok = ok && texts_intern (&hosts, (const char *)&u[end].host,
                                     sizeof (u[end].host)) != TEXTS_NONE;
        }
        if (end == i) {
            end++;
            continue;
        }
        add_ranks (&m->ranks, u[i].rank, u[end - 1].rank);
        if (m->first == INT64_MAX)
            m->first = split_first_row (&u[i]);
        m->last = split_last_row (&u[end - 1]);
    }
    m->hosts = hosts.map.n;
    texts_fini (&hosts);
    buf_put (&m->ranks, "", 1);
    return ok && !m->ranks.failed ? 0 : err_set (err, ENOMEM,
                                                 "no memory for ranks");
}

/* The row of a part in the index; within the part 'made' is false. */
static int put_part (const struct copy *c, sqlite3 *db, unsigned part,
                     bool made, struct err *err)
{
    const struct part_made *m = &c->made[part - 1];

    return db_do (db, err, "INSERT INTO Part VALUES (?1,?2,?3,?4,?5,?6,?7,?8,"
                  "?9,?10,?11,?12,?13)", part, m->file, c->split->id,
                  db_known (made, m->bytes), made ? m->sum : NULL, m->hosts,
                  (const char *)m->ranks.data, m->first, m->last, m->rows[0],
                  m->rows[1], m->rows[2], m->rows[3]);
}

/* Rowids from one unit to the last one that follows it in the same part. */
static int put_ranges (const struct copy *c, sqlite3 *db, unsigned part,
                       struct err *err)
{
    const struct split_unit *u = c->split->units;
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (db, "INSERT INTO PartRange VALUES (?1, ?2, ?3)", &st,
                         err);

    for (size_t i = 0, end; i < c->split->nunits && rc == 0; i = end) {
        for (end = i + 1; end < c->split->nunits && u[end].part == u[i].part;)
            end++;
        if (part == 0 || u[i].part == part)
            rc = db_put (st, err, split_first_row (&u[i]),
                         split_last_row (&u[end - 1]), u[i].part);
    }
    (void)sqlite3_finalize (st);
    return rc;
}

/* ---- a part ---- */

static int make_file (const char *path, const char *from, const char *which,
                      struct err *err)
{
    sqlite3 *db = NULL;
    int rc = open_copy (path, from, &db, err);

    if (rc == 0)
        rc = make_schema (db, which, err);
    (void)sqlite3_close (db);
    return rc;
}

static int fill_part (const struct copy *c, unsigned part, struct err *err)
{
    struct part_made *m = &c->made[part - 1];
    struct page_file *f = NULL;
    int rc = make_file (m->path, c->path, "1", err);

    if (rc == 0)
        rc = page_file_open (m->path, &f, err);
    for (unsigned t = 0; t < PARTS_TABLES && rc == 0; t++)
        rc = split_copy_part (&c->from, part, t, f, &m->rows[t], err);
    if (rc == 0)
        rc = page_file_finish (f, false, err);
    page_file_close (f);
    return rc;
}

static int complete_part (const struct copy *c, unsigned part, struct err *err)
{
    struct part_made *m = &c->made[part - 1];
    sqlite3 *db = NULL;
    int rc = open_copy (m->path, c->path, &db, err);

    if (rc == 0)
        rc = list_mine (c, part, db, err);
    if (rc == 0)
        rc = copy_small (db, err);
    if (rc == 0)
        rc = db_exec (db, PARTS_SCHEMA, err);
    if (rc == 0)
        rc = put_part (c, db, part, false, err);
    if (rc == 0)
        rc = put_ranges (c, db, part, err);
    if (rc == 0)
        rc = db_exec (db, "COMMIT", err);
    (void)sqlite3_close (db);
    return rc;
}

/* Check a finished file, and find its size and sum. */
static int settle (const char *path, struct part_made *m, struct err *err)
{
    struct page_sums sums = { .n = 0 };
    struct stat st;
    int rc = publish_check_db (path, 1, m ? &sums : NULL, err);

    if (rc == 0 && m && parts_sum (&sums, m->sum) < 0)
        rc = err_set (err, ENOMEM, "no memory to hash a part");
    if (rc == 0 && m && stat (path, &st) < 0)
        rc = err_sys (err, errno, "cannot read %s", path);
    else if (rc == 0 && m)
        m->bytes = st.st_size;
    page_sums_fini (&sums);
    return rc;
}

static int make_part (const struct copy *c, unsigned part, struct err *err)
{
    struct part_made *m = &c->made[part - 1];
    int rc;

    buf_init (&m->ranks, RANKS_TEXT_MAX);
    parts_name (m->file, c->split->id, part);
    rc = publish_temp (c->out, m->file, 0, m->path, err);
    if (rc == 0)
        rc = describe (c, part, err);
    if (rc == 0)
        rc = fill_part (c, part, err);
    if (rc == 0)
        rc = complete_part (c, part, err);
    return rc < 0 ? rc : settle (m->path, m, err);
}

/* ---- analysis.db ---- */

static int list_tables (const struct copy *c, char ***names, size_t *n,
                        struct err *err)
{
    sqlite3 *db = NULL;
    struct db_rows r;
    int rc = open_copy (c->split->path, c->path, &db, err);

    if (rc == 0) {
        r = db_rows (db, err, "SELECT name FROM main.sqlite_schema WHERE "
                     "type='table'");
        while (db_step (&r))
            r.rc = vec_add_text (names, n, db_text (r.st, 0));
        rc = db_end (&r);
    }
    (void)sqlite3_close (db);
    return rc;
}

/* All tables, by pages; their indexes come later. */
static int make_main (const struct copy *c, struct err *err)
{
    struct page_file *f = NULL;
    char **names = NULL;
    size_t n = 0;
    int rc = make_file (c->split->path, c->path, NOT_IN_PARTS, err);

    if (rc == 0)
        rc = list_tables (c, &names, &n, err);
    if (rc == 0)
        rc = page_file_open (c->split->path, &f, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = split_copy_table (&c->from, names[i], f, err);
    if (rc == 0)
        rc = page_file_finish (f, false, err);
    page_file_close (f);
    vec_free_texts (names, n);
    return rc;
}

static int finish_main (const struct copy *c, unsigned threads,
                        struct err *err)
{
    sqlite3 *db = NULL;
    int rc = open_copy (c->split->path, c->path, &db, err);

    if (rc == 0)
        rc = db_exec (db, "DETACH one;BEGIN;REINDEX;" PARTS_SCHEMA, err);
    for (unsigned part = 1; part <= c->split->n && rc == 0; part++)
        rc = put_part (c, db, part, true, err);
    if (rc == 0)
        rc = put_ranges (c, db, 0, err);
    if (rc == 0)
        rc = db_exec (db, "COMMIT", err);
    (void)sqlite3_close (db);
    return rc < 0 ? rc : publish_check_db (c->split->path, threads, NULL, err);
}

/* ---- all of it ---- */

static int make_piece (void *state, size_t piece, struct err *err)
{
    const struct copy *c = state;

    if (atomic_load (c->from.cancel))
        return err_set (err, EINTR, "interrupted");
    return piece == 0 ? make_main (c, err)
                      : make_part (c, (unsigned)piece, err);
}

static int make_all (struct copy *c, unsigned threads, struct err *err)
{
    struct thread_pieces pieces = { c->split->n + 1, make_piece, NULL };
    void **states = calloc (threads, sizeof (*states));
    int rc;

    if (!states)
        return err_set (err, ENOMEM, "no memory to divide a result");
    for (unsigned i = 0; i < threads; i++)
        states[i] = c;
    rc = thread_each (&pieces, states, threads, err);
    free (states);
    return rc < 0 ? rc : finish_main (c, threads, err);
}

int split_write (struct split *d, const struct publish *out,
                 const char *path, unsigned threads,
                 const atomic_bool *cancel, struct err *err)
{
    struct copy c = { .split = d, .out = out, .path = path,
                      .from = { .split = d, .cancel = cancel,
                                .fd = open (path, O_RDWR | O_CLOEXEC |
                                                      O_NOFOLLOW) } };
    int rc = publish_temp (out, PUBLISH_DB_NAME, 1, d->path, err);

    if (rc == 0 && !(c.made = calloc (d->n, sizeof (*c.made))))
        rc = err_set (err, ENOMEM, "no memory to divide a result");
    if (rc == 0)
        rc = page_source_open (path, &c.from.source, err);
    if (rc == 0)
        rc = make_all (&c, threads, err);
    page_source_close (c.from.source);
    fileio_close (c.from.fd);
    for (unsigned i = 0; i < d->n && c.made; i++)
        buf_fini (&c.made[i].ranks);
    free (c.made);
    return rc;
}

static bool is_ours (const char *path)
{
    (void)path;
    return true;                // the name has a number of this build
}

int split_bring (const struct split *d, struct publish *out,
                 const atomic_bool *cancel, struct err *err)
{
    char name[NAME_MAX + 1], temp[PATH_MAX];
    int rc = 0;

    for (unsigned part = 1; part <= d->n && rc == 0; part++) {
        parts_name (name, d->id, part);
        rc = publish_temp (out, name, 0, temp, err);
        if (rc == 0)
            rc = publish_bring (out, temp, cancel, err);
    }
    return rc;
}

int split_finish (const struct split *d, struct publish *out,
                  const atomic_bool *cancel, struct err *err)
{
    char name[NAME_MAX + 1], temp[PATH_MAX], kept[PATH_MAX];
    int rc = 0;

    for (unsigned part = 1; part <= d->n && rc == 0; part++) {
        parts_name (name, d->id, part);
        rc = publish_temp (out, name, 0, temp, err);
        if (rc == 0)
            rc = publish_finish (out, temp, name, is_ours, cancel, kept, err);
    }
    return rc;
}

int split_names (const struct split *d, struct parts_names *names)
{
    char name[NAME_MAX + 1];
    int rc = 0;

    for (unsigned part = 1; part <= d->n && rc == 0; part++) {
        parts_name (name, d->id, part);
        rc = vec_add_text (&names->list, &names->n, name);
    }
    return rc;
}
