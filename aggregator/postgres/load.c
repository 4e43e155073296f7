/* aggregator/postgres/load.c - PostgreSQL's rows as a catalogue in memory */
#include "postgres/load.h"

#include "base/buf.h"
#include "postgres/facts.h"
#include "postgres/schema.h"
#include "store/db_rows.h"

#include <errno.h>
#include <string.h>

#define SQL_MAX 8192
// as catalogue_filter.c chooses
#define CHOSEN "($1::text IS NULL OR j.cluster=$1) AND ($2::bigint=0 OR " \
    "greatest(coalesce(j.began_ns, j.first_ns), j.first_ns)>=$2) AND " \
    "($3::text IS NULL OR j.name=$3) AND ($4::text IS NULL OR " \
    "coalesce(j.\"user\", j.its_user)=$4) AND ($5::text IS NULL OR " \
    "strpos(','||j.tags||',', ','||$5||',')>0) AND ($6::text IS NULL OR " \
    "EXISTS (SELECT 1 FROM job_host h WHERE h.job=j.id AND h.at=j.at AND " \
    "h.host=$6))"
#define PARAMETERS 6

struct load {
    struct pg *p;
    struct catalogue *c;
    sqlite3 *db;                // its
    const struct load_options *opt;
    bool prefix;                // names have their cluster in front
    struct facts_insert into;
    struct err *err;
};

/* ---- rows ---- */

static int take_row (void *arg, const char *const row[])
{
    struct load *x = arg;

    return facts_insert_row (&x->into, row, x->err);
}

/* The columns of a table, with the cluster in front of names of jobs and hosts. */
static void put_columns (const struct load *x, const struct facts_table *t,
                         struct buf *sql)
{
    const char *name = t == facts_tables ? "name" : NULL;

    for (const char *p = t->columns; *p;) {
        size_t n = strcspn (p, ",");
        bool named = name ? n == strlen (name) && memcmp (p, name, n) == 0
                          : (n == 4 && memcmp (p, "host", n) == 0) ||
                                (n == 9 && memcmp (p, "peer_host", n) == 0);

        buf_printf (sql, ", %st.%.*s", named && x->prefix
                                           ? "j.cluster||'/'||" : "",
                    (int)n, p);
        p += n;
        p += strspn (p, ", ");
    }
}

/* What is no text there is of no job there; nor is "". */
static const char *value_of (const char *text)
{
    return text && !pg_is_text (text) ? "" : text;
}

static int load_table (struct load *x, const struct facts_table *t)
{
    const struct catalogue_filter *f = x->opt->filter;
    char since[24];
    const char *const values[PARAMETERS] = {
        x->opt->cluster, since, value_of (f->job), value_of (f->user),
        value_of (f->tag), value_of (f->host)
    };
    struct buf select;
    int rc;

    PRINT (since, "%lld", (long long)f->since_ns);
    buf_init (&select, SQL_MAX);
    buf_printf (&select, "SELECT j.id");
    put_columns (x, t, &select);
    if (t == facts_tables)
        buf_printf (&select, " FROM job t JOIN job j ON j.id=t.id WHERE " CHOSEN);
    else
        buf_printf (&select, " FROM %s t JOIN job j ON j.id=t.job AND j.at=t.at"
                    " WHERE " CHOSEN, t->name);
    rc = facts_insert_begin (x->db, t, &x->into, x->err);
    if (rc == 0)
        rc = pg_each (x->p, buf_text (&select), PARAMETERS, values, take_row, x,
                      x->err);
    facts_insert_end (&x->into);
    buf_fini (&select);
    return rc;
}

/* ---- all of it ---- */

static int take_beyond (void *arg, const char *const row[])
{
    struct load *x = arg;
    struct catalogue_beyond all = { .jobs = pg_int (row[0]),
                                    .users = pg_int (row[1]) != 0,
                                    .tags = pg_int (row[2]) != 0 };

    x->prefix = !x->opt->cluster && pg_int (row[3]) > 1;
    catalogue_set_beyond (x->c, all);
    return x->opt->cluster && all.jobs == 0
               ? err_set (x->err, ENOENT, "%s has no jobs of cluster %s",
                          pg_name (x->p), x->opt->cluster) : 0;
}

static int load_all (struct load *x)
{
    int rc = pg_begin (x->p, PG_READ, x->err);

    if (rc == 0)
        rc = schema_check (x->p, x->err);
    if (rc == 0)
        rc = pg_each (x->p, "SELECT count(*), count(coalesce(\"user\", its_user)"
                            "), count(nullif(tags, '')), (SELECT count(*) FROM "
                            "cluster) FROM job WHERE $1::text IS NULL OR "
                            "cluster=$1", 1, &x->opt->cluster, take_beyond, x,
                      x->err);
    for (size_t i = 0; i < FACTS_TABLES && rc == 0; i++) {
        if (facts_tables[i].use == FACTS_LIST ||
            (facts_tables[i].into && facts_tables[i].use == x->opt->use))
            rc = load_table (x, &facts_tables[i]);
    }
    return pg_end (x->p, rc, x->err);
}

int load_catalogue (struct pg *p, const struct load_options *opt,
                    struct catalogue **ret, struct err *err)
{
    struct load x = { .p = p, .opt = opt, .err = err };
    struct catalogue *c;
    int rc = catalogue_open_copy (&c, err);

    if (rc < 0)
        return rc;
    x.c = c;
    x.db = catalogue_db (c);
    rc = facts_make_temp (x.db, err);
    if (rc == 0)
        rc = db_exec (x.db, "BEGIN", err);
    if (rc == 0)
        rc = load_all (&x);
    if (rc == 0)
        rc = db_exec (x.db, "COMMIT", err);
    if (rc < 0) {
        catalogue_close (c);
        return rc;
    }
    *opt->filter = (struct catalogue_filter){ .where = opt->filter->where,
                                              .brief = opt->filter->brief };
    *ret = c;
    return 0;
}
