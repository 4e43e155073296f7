/* aggregator/findings/finding_list.c - the findings of a finished analysis.db
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
#include <stdlib.h>
#include <string.h>

#define PRINT_MAX (64u << 20)   // bytes; 2,000 findings of 2 KB are 4 MB

// what has no size is about all others, and comes first
static const char list_sql[] =
    "SELECT id, rank, peer, comm_group, effect_ms, effect_percent, value,"
    " baseline, kind, severity, step, unit, text, hint, query, rule"
    " FROM Finding ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium'"
    " THEN 1 WHEN 'low' THEN 2 ELSE 3 END, effect_percent IS NOT NULL,"
    " effect_percent DESC, id";

enum { INTEGERS = 4, REALS = 4, TEXTS = 8 };

static int finding_list_take (struct finding_list *l, sqlite3_stmt *st)
{
    struct finding *f = l->items;

    f = vec_one_more (f, l->n, sizeof (*f));
    if (!f)
        return -ENOMEM;
    l->items = f;
    f += l->n++;
    memset (f, 0, sizeof (*f));

    int64_t *integers[] = { &f->id, &f->rank, &f->peer, &f->comm_group };
    double *reals[] = { &f->effect_ms, &f->effect_percent, &f->value,
                        &f->baseline };
    char **texts[] = { &f->kind, &f->severity, &f->step, &f->unit, &f->text,
                       &f->hint, &f->query, &f->rule };
    bool all = true;

    for (int i = 0; i < INTEGERS; i++)
        *integers[i] = sqlite3_column_type (st, i) == SQLITE_NULL
                           ? FINDING_NONE : sqlite3_column_int64 (st, i);
    for (int i = 0; i < REALS; i++)
        *reals[i] = sqlite3_column_type (st, INTEGERS + i) == SQLITE_NULL
                        ? NAN : sqlite3_column_double (st, INTEGERS + i);
    for (int i = 0; i < TEXTS; i++) {
        const char *text = (const char *)sqlite3_column_text (
            st, INTEGERS + REALS + i);

        *texts[i] = text ? strdup (text) : NULL;
        all = all && (!text || *texts[i]);
        if (*texts[i])
            err_plain (*texts[i]);      // it goes to a terminal
    }
    return all ? 0 : -ENOMEM;
}

static int read_rows (sqlite3 *db, struct finding_list *l, struct err *err)
{
    struct db_rows r = db_rows (db, err, list_sql);

    while (db_step (&r))
        r.rc = finding_list_take (l, r.st) < 0
                   ? err_set (err, ENOMEM, "no memory for findings") : 0;
    return db_end (&r);
}

/* A temporary table hides the stored one. */
static int find_again (sqlite3 *db, const struct findings_options *opt,
                       struct err *err)
{
    int rc = db_exec (db, "CREATE TEMP TABLE Finding " FINDING_COLUMNS, err);

    return rc < 0 ? rc : findings_derive (db, opt, err);
}

int finding_list_read (const char *path, const struct findings_options *opt,
                       struct finding_list *ret, struct err *err)
{
    sqlite3 *db = NULL;
    int rc = finished_open_analysis (path, &db, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0 &&
        db_int (db, "PRAGMA user_version", 0) < TABLES_WITH_FINDINGS)
        rc = err_set (err, EPROTO, "%s was made by an older version, which had "
                      "no findings: analyse or build it again", path);
    if (rc == 0 && opt)
        rc = find_again (db, opt, err);
    if (rc == 0)
        rc = read_rows (db, ret, err);
    (void)sqlite3_close (db);
    if (rc < 0)
        finding_list_fini (ret);
    return rc;
}

void finding_list_fini (struct finding_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct finding *f = &l->items[i];

        free (f->kind);
        free (f->severity);
        free (f->step);
        free (f->unit);
        free (f->text);
        free (f->hint);
        free (f->query);
        free (f->rule);
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

static void put_sentence (struct buf *out, size_t width, const char *label,
                          const char *text)
{
    struct buf line;

    buf_init (&line, PRINT_MAX);
    buf_printf (&line, "%s%s\n", label, or_none (text));
    labels_put (out, width, buf_text (&line));
    buf_fini (&line);
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
        put_sentence (&out, width, "  ", f->text);
        put_sentence (&out, width, "  next   ", f->hint);
        // one line, to be copied
        buf_printf (&out, "  query  %s\n", or_none (f->query));
    }
    rc = out.failed ? -ENOMEM : fileio_write_shown (fd, buf_text (&out));
    buf_fini (&out);
    return rc;
}

static void add_int (struct json *o, const char *key, int64_t v)
{
    if (v != FINDING_NONE)
        json_add_int (o, key, v);
}

static void add_real (struct json *o, const char *key, double v)
{
    if (!isnan (v))
        json_add_real (o, key, v);
}

static void add_text (struct json *o, const char *key, const char *text)
{
    if (text)
        json_add_text (o, key, text);
}

struct json *finding_list_to_json (const struct finding_list *l,
                                   const char *path)
{
    struct json *doc = json_object (), *array;

    json_add_text (doc, "analysis_db", path);
    array = json_add_array (doc, "findings");
    for (size_t i = 0; i < l->n; i++) {
        const struct finding *f = &l->items[i];
        struct json *o = json_push_object (array);

        add_int (o, "id", f->id);
        add_text (o, "kind", f->kind);
        add_text (o, "severity", f->severity);
        add_text (o, "step", f->step);
        add_int (o, "rank", f->rank);
        add_int (o, "peer", f->peer);
        add_int (o, "comm_group", f->comm_group);
        add_real (o, "effect_ms", f->effect_ms);
        add_real (o, "effect_percent", f->effect_percent);
        add_real (o, "value", f->value);
        add_real (o, "baseline", f->baseline);
        add_text (o, "unit", f->unit);
        add_text (o, "text", f->text);
        add_text (o, "hint", f->hint);
        add_text (o, "query", f->query);
        add_text (o, "rule", f->rule);
    }
    return doc;
}
