/* aggregator/postgres/facts_lines.c - facts of jobs as lines, from one catalogue
 * into another
 */
#include "postgres/facts_lines.h"

#include "base/units.h"
#include "json/json.h"
#include "json/json_out.h"
#include "net/message.h"
#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

#define BEGINS "facts"
#define COLUMNS_MAX 64

static bool is_used (const struct facts_table *t, enum facts_use use)
{
    return t->into && (t->use == FACTS_LIST || t->use == use);
}

/* ---- out of a catalogue ---- */

static void put_column (struct json_out *out, sqlite3_stmt *st, int i)
{
    char number[32];

    switch (sqlite3_column_type (st, i)) {
    case SQLITE_NULL:
        json_out_raw (out, "null");
        return;
    case SQLITE_FLOAT:          // SQLite's texts of these are shorter
        PRINT (number, "%.17g", sqlite3_column_double (st, i));
        json_out_text (out, number, strlen (number));
        return;
    default:
        json_out_text (out, db_text (st, i), strlen (db_text (st, i)));
    }
}

static int print_table (sqlite3 *db, const struct facts_table *t, FILE *to,
                        struct err *err)
{
    const bool job = t == facts_tables;
    const char *id = job ? "id" : "job", *none = NULL;
    char sql[FACTS_QUERY_MAX];
    struct db_rows r;

    // of "job", ?2 is its path
    PRINT (sql, "SELECT %s, %s FROM %s WHERE %s IN (SELECT id FROM temp.chosen)"
           " AND ?1 IS NULL ORDER BY 1", id, t->select, t->into, id);
    r = job ? db_rows (db, err, sql, none, none) : db_rows (db, err, sql, none);
    while (db_step (&r)) {
        struct json_out out = { .f = to, .comma = ",", .colon = ":" };

        json_out_open (&out, '[');
        json_out_text (&out, t->name, strlen (t->name));
        for (int i = 0; i < sqlite3_column_count (r.st); i++)
            put_column (&out, r.st, i);
        json_out_close (&out, ']');
        (void)fputc ('\n', to);
    }
    return db_end (&r);
}

int facts_lines_print (struct catalogue *c, const struct catalogue_filter *f,
                       enum facts_use use, FILE *to, struct err *err)
{
    int rc = catalogue_choose (c, f, err);

    if (rc == 0)
        (void)fputs ("[\"" BEGINS "\",\"" FACTS_LINES_VERSION "\"]\n", to);
    for (size_t i = 0; i < FACTS_TABLES && rc == 0; i++) {
        if (is_used (&facts_tables[i], use))
            rc = print_table (catalogue_db (c), &facts_tables[i], to, err);
    }
    return rc;
}

/* ---- into another one ---- */

struct number {
    int64_t there, here;
};

int facts_lines_begin (struct facts_lines *x, struct catalogue *c,
                       facts_wanted_fn *wanted, void *arg, struct err *err)
{
    *x = (struct facts_lines){ .db = catalogue_db (c), .wanted = wanted,
                               .arg = arg, .ids = MAP (struct number, 1) };
    return db_exec (x->db, "BEGIN", err);
}

int facts_lines_begin_root (struct facts_lines *x, struct err *err)
{
    map_clear (&x->ids);
    x->begun = false;
    x->bytes = 0;
    return db_exec (x->db, "SAVEPOINT root", err);
}

int facts_lines_end_root (struct facts_lines *x, bool whole, struct err *err)
{
    return db_exec (x->db, whole ? "RELEASE root"
                                 : "ROLLBACK TO root;RELEASE root", err);
}

static int no_line (struct err *err)
{
    return err_set (err, EBADMSG, "what it says of jobs is damaged");
}

static int read_begin (struct facts_lines *x, const struct json *line,
                       struct err *err)
{
    const struct json *name = json_first (line);

    if (strcmp (json_text (name, ""), BEGINS) != 0)
        return no_line (err);
    x->begun = true;
    return strcmp (json_text (json_next (name), ""), FACTS_LINES_VERSION) == 0
               ? 0 : err_set (err, EBADMSG, "it is of another version, whose "
                              "facts of jobs mean other things");
}

static size_t find_table (const char *name)
{
    size_t i = 0;

    while (i < FACTS_TABLES && (!facts_tables[i].into ||
                                strcmp (facts_tables[i].name, name) != 0))
        i++;
    return i;
}

/* Whether a job, or the job of a row, is wanted: then 'row' has its number here.
 * 1, 0 or an error.
 */
static int choose (struct facts_lines *x, bool job, const char *row[],
                   size_t n, char here[24], struct err *err)
{
    struct number *k, one = { .there = 0 };
    bool is_new = true;

    if (!row[0] || units_int (row[0], 0, INT64_MAX, &one.there) < 0)
        return no_line (err);
    if (job && (!row[1] || !message_valid_name (row[1])))
        return no_line (err);
    if (job && !x->wanted (x->arg, row[1], &row[n - 1]))
        return 0;
    k = job ? map_put (&x->ids, &one, &is_new) : map_get (&x->ids, &one);
    if (!k)
        return job ? err_set (err, ENOMEM, "no memory for jobs") : 0;
    if (job && !is_new)
        return no_line (err);
    if (job)
        k->here = ++x->last;
    (void)snprintf (here, 24, "%lld", (long long)k->here);
    row[0] = here;
    return 1;
}

/* 1: it was taken; 0: it is not wanted; or an error. */
static int take_row (struct facts_lines *x, const struct json *line,
                     struct err *err)
{
    const struct json *j = json_first (line);
    const size_t at = find_table (json_text (j, ""));
    const char *row[COLUMNS_MAX];
    char here[24];
    size_t n = 0, columns;
    int rc;

    if (at == FACTS_TABLES)
        return no_line (err);
    columns = strlen (facts_tables[at].types) + 1;
    for (j = json_next (j); j && n < COLUMNS_MAX; j = json_next (j))
        row[n++] = json_text (j, NULL);
    if (n != columns)
        return no_line (err);
    if ((rc = choose (x, at == 0, row, n, here, err)) <= 0)
        return rc;
    if (!x->into[at].st)
        rc = facts_insert_begin (x->db, &facts_tables[at], &x->into[at], err);
    if (rc >= 0)
        rc = facts_insert_row (&x->into[at], row, err);
    return rc < 0 ? rc : 1;
}

int facts_lines_take (struct facts_lines *x, const char *line,
                      struct err *err)
{
    const size_t size = strlen (line);
    struct json *j = json_parse (line, size, NULL);
    int rc = !json_is_array (j) ? no_line (err)
             : x->begun         ? take_row (x, j, err)
                                : read_begin (x, j, err);

    json_free (j);
    if (rc <= 0)
        return rc;
    x->bytes += size;
    return x->bytes <= FACTS_LINES_MAX
               ? 0 : err_set (err, EFBIG, "it says more of its jobs than is "
                              "taken: choose some, as with --since");
}

int facts_lines_end (struct facts_lines *x, struct err *err)
{
    for (size_t i = 0; i < FACTS_TABLES; i++)
        facts_insert_end (&x->into[i]);
    map_fini (&x->ids);
    return db_exec (x->db, "COMMIT", err);
}
