/* node_agent/extract/event_db/event_rows.c - rows of the large tables of an
 * event database: off its pages as far as these are plain, then by a query */
#include "extract/event_db/event_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_MAX 512

struct event_rows {
    struct db_pages *pages;     // NULL: the query is used
    sqlite3_stmt *st;
    uint64_t given;             // rows from the pages
    struct db_row row;
    unsigned n;
    char sql[SQL_MAX];
};

struct event_rows *event_rows_open (struct event_db *e, const char *table,
                                    const char *const *names, const bool *have,
                                    unsigned n, bool ordered)
{
    struct event_rows *r = calloc (1, sizeof (*r));
    size_t used;

    if (!r) {
        (void)event_no_memory (e);
        return NULL;
    }
    r->n = n;
    event_select (r->sql, sizeof (r->sql), names, have, n, table);
    used = strlen (r->sql);
    (void)snprintf (r->sql + used, sizeof (r->sql) - used, "%s%s LIMIT -1 "
                    "OFFSET ?1", ordered ? " ORDER BY " : " NOT INDEXED",
                    ordered ? names[0] : "");
    r->pages = db_pages_open (e->db, table, names, have, n, ordered);
    return r;
}

void event_rows_close (struct event_rows *r)
{
    if (!r)
        return;
    db_pages_close (r->pages);
    (void)sqlite3_finalize (r->st);
    free (r);
}

/* Continue with a query after the rows from the pages. */
static bool take_over (struct event_db *e, struct event_rows *r)
{
    db_pages_close (r->pages);
    r->pages = NULL;
    if (!(r->st = event_prepare (e, r->sql)))
        return false;
    (void)sqlite3_bind_int64 (r->st, 1, (int64_t)r->given);
    return true;
}

static int next_of_query (struct event_db *e, struct event_rows *r)
{
    int rc;

    if (!r->st && !take_over (e, r))
        return -1;
    rc = event_row (e, r->st);
    r->row.integers = r->row.numbers = 0;
    for (unsigned i = 0; i < r->n && rc == 1; i++) {
        sqlite3_value *v = sqlite3_column_value (r->st, (int)i);

        r->row.value[i] = sqlite3_value_int64 (v);
        if (sqlite3_value_type (v) == SQLITE_INTEGER)
            r->row.integers |= 1u << i;
        if (event_is_number (v))
            r->row.numbers |= 1u << i;
    }
    return rc;
}

int event_rows_next (struct event_db *e, struct event_rows *r,
                     const struct db_row **row)
{
    int rc = r->pages ? db_pages_next (r->pages, &r->row) : -1;

    *row = &r->row;
    if (rc < 0)
        return next_of_query (e, r);
    r->given++;
    return rc == 1 ? event_count_row (e) : 0;
}

bool event_rows_time (const struct db_row *row, unsigned column, int64_t *ret)
{
    *ret = row->value[column];
    return row->numbers >> column & 1 && *ret >= 0 && *ret <= INTERVALS_MAX;
}
