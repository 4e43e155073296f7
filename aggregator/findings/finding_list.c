/* aggregator/findings/finding_list.c - list the findings of a finished
 * analysis.db
 */
#include "findings/finding_list.h"

#include "base/buf.h"
#include "base/vec.h"
#include "model/result_schema.h"
#include "query/finished.h"
#include "query/labels.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 2               // more gain little
#define PRINT_MAX (64u << 20)   // bytes; 2,000 findings of 2 KB are 4 MB

/* The columns of a finding, in the order of output. */
enum member_type { INTEGER, REAL, TEXT };

#define MEMBER(name, type) { #name, offsetof (struct finding, name), type }
static const struct {
    const char *name;
    size_t at;
    enum member_type type;
} members[] = {
    MEMBER (id, INTEGER), MEMBER (kind, TEXT), MEMBER (severity, TEXT),
    MEMBER (step, TEXT), MEMBER (rank, INTEGER), MEMBER (peer, INTEGER),
    MEMBER (comm_group, INTEGER), MEMBER (effect_ms, REAL),
    MEMBER (effect_percent, REAL), MEMBER (value, REAL),
    MEMBER (baseline, REAL), MEMBER (unit, TEXT), MEMBER (text, TEXT),
    MEMBER (hint, TEXT), MEMBER (query, TEXT), MEMBER (rule, TEXT),
};
#undef MEMBER

#define MEMBERS (sizeof (members) / sizeof (members[0]))

static const char list_sql[] =
    "SELECT id, kind, severity, step, rank, peer, comm_group, effect_ms,"
    " effect_percent, value, baseline, unit, text, hint, query, rule"
    " FROM Finding ORDER BY id";

static void *member_of (const struct finding *f, size_t i)
{
    return (char *)f + members[i].at;
}

static int finding_list_take (struct finding_list *l, sqlite3_stmt *st)
{
    struct finding *f = vec_add (&l->items, &l->n, sizeof (*f));

    for (size_t i = 0; f && i < MEMBERS; i++) {
        bool null = sqlite3_column_type (st, (int)i) == SQLITE_NULL;
        char *text;

        switch (members[i].type) {
        case INTEGER:
            *(int64_t *)member_of (f, i) =
                null ? FINDING_NONE : sqlite3_column_int64 (st, (int)i);
            break;
        case REAL:
            *(double *)member_of (f, i) =
                null ? NAN : sqlite3_column_double (st, (int)i);
            break;
        case TEXT:
            text = null ? NULL : strdup (db_text (st, (int)i));
            if (!null && !text)
                return -ENOMEM;
            if (text)
                err_plain (text);       // the text goes to a terminal
            *(char **)member_of (f, i) = text;
        }
    }
    return f ? 0 : -ENOMEM;
}

static int read_rows (sqlite3 *db, struct finding_list *l, struct err *err)
{
    struct db_rows r = db_rows (db, err, list_sql);

    while (db_step (&r))
        r.rc = finding_list_take (l, r.st) < 0
                   ? err_set (err, ENOMEM, "no memory for findings") : 0;
    return db_end (&r);
}

/* Compute into a temporary table, which hides the stored one. */
static int find_again (sqlite3 *db, const struct findings_options *opt,
                       struct err *err)
{
    int rc = db_exec (db, "CREATE TEMP TABLE Finding " FINDING_COLUMNS, err);

    return rc < 0 ? rc : findings_derive (db, opt, THREADS, NULL, err);
}

int finding_list_read (const char *path, const struct findings_options *opt,
                       struct finding_list *ret, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = finished_open_analysis (path, &db, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0 && opt)
        rc = find_again (db, opt, err);
    if (rc == 0)
        rc = read_rows (db, ret, err);
    rc = finished_judge (db, rc, err);
    (void)sqlite3_close (db);
    if (rc < 0)
        finding_list_fini (ret);
    return rc;
}

void finding_list_fini (struct finding_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        for (size_t k = 0; k < MEMBERS; k++) {
            if (members[k].type == TEXT)
                free (*(char **)member_of (&l->items[i], k));
        }
    }
    free (l->items);
    memset (l, 0, sizeof (*l));
}

bool finding_list_any (const struct finding_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->items[i].severity && strcmp (l->items[i].severity, "note") != 0)
            return true;
    }
    return false;
}

static const char *or_none (const char *text)
{
    return text ? text : "";
}

int finding_list_print (const struct finding_list *l, int fd)
{
    size_t width = labels_width (fd);
    struct buf out;
    int rc;

    buf_init (&out, PRINT_MAX);
    if (l->n == 0)
        buf_printf (&out, "nothing stands out\n");
    for (size_t i = 0; i < l->n; i++) {
        const struct finding *f = &l->items[i];

        buf_printf (&out, "%-7s %-20s finding %lld\n", f->severity, f->kind,
                    (long long)f->id);
        labels_line (&out, width, "  ", or_none (f->text));
        labels_line (&out, width, "  next   ", or_none (f->hint));
        // on one line, so that it can be copied
        buf_printf (&out, "  query  %s\n", or_none (f->query));
    }
    rc = out.failed ? -ENOMEM : fileio_write_shown (fd, buf_text (&out));
    buf_fini (&out);
    return rc;
}

/* Members that are NULL are left out. */
static void add_member (struct json *o, const struct finding *f, size_t i)
{
    const char *name = members[i].name;
    const void *at = member_of (f, i);

    if (members[i].type == INTEGER && *(const int64_t *)at != FINDING_NONE)
        json_add_int (o, name, *(const int64_t *)at);
    else if (members[i].type == REAL && !isnan (*(const double *)at))
        json_add_real (o, name, *(const double *)at);
    else if (members[i].type == TEXT && *(char *const *)at)
        json_add_text (o, name, *(char *const *)at);
}

struct json *finding_list_to_json (const struct finding_list *l,
                                   const char *path)
{
    struct json *doc = json_object (), *array;

    json_add_text (doc, "analysis_db", path);
    array = json_add_array (doc, "findings");
    for (size_t i = 0; i < l->n; i++) {
        struct json *o = json_push_object (array);

        for (size_t k = 0; k < MEMBERS; k++)
            add_member (o, &l->items[i], k);
    }
    return doc;
}
