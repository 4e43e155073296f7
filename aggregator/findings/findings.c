/* aggregator/findings/findings.c - compute the findings of a result */
#include "findings/findings.h"

#include "base/thread.h"
#include "base/units.h"
#include "findings/finding_passes.h"
#include "findings/finding_rules.h"
#include "findings/finding_text.h"
#include "findings/median.h"
#include "options/nearest_name.h"
#include "publish/result_parts.h"
#include "store/db_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 8192           // bytes: host names have up to 255

// The columns of a rule's query.
enum { STEP, RANK, PEER, GROUP, EFFECT_MS, EFFECT_PERCENT, VALUE, BASELINE };

// The least share of the step, in percent, of each severity.
#define HIGH 20.0
#define MEDIUM 5.0

void findings_defaults (struct findings_options *opt)
{
    for (int i = 0; i < THRESHOLDS; i++)
        opt->values[i] = thresholds[i].fallback;
}

/* Suggest one that begins so, or else a near one. */
static int no_threshold (const char *name, size_t n, struct err *err)
{
    struct nearest near = { .meant = name, .size = n };

    for (int i = 0; i < THRESHOLDS; i++)
        nearest_consider (&near, thresholds[i].name);
    for (int i = THRESHOLDS - 1; i >= 0; i--) {
        if (strncmp (thresholds[i].name, name, n) == 0)
            near.best = thresholds[i].name;
    }
    return err_set (err, EINVAL, "there is no threshold \"%.*s\"%s%s%s",
                    (int)n, name, near.best ? ": did you mean " : "",
                    near.best ? near.best : "", near.best ? "?" : "");
}

int findings_set (struct findings_options *opt, const char *text,
                  struct err *err)
{
    const char *value = strchr (text, '=');
    double v;

    for (int i = 0; value && i < THRESHOLDS; i++) {
        const char *name = thresholds[i].name;

        if (strlen (name) != (size_t)(value - text) ||
            strncmp (name, text, strlen (name)) != 0)
            continue;
        value++;
        if (units_real (value, strlen (value), &v) < 0 || !isfinite (v) ||
            v < 0)
            return err_set (err, EINVAL, "threshold %s: \"%s\" is not a "
                            "number from 0 on", name, value);
        opt->values[i] = v;
        return 0;
    }
    if (!value)
        return err_set (err, EINVAL, "\"%.64s\" is not NAME=VALUE", text);
    return no_threshold (text, (size_t)(value - text), err);
}

/* Bind the thresholds that the statement names. */
static void findings_bind (sqlite3_stmt *st, const struct findings_options *opt)
{
    for (int i = 0; i < THRESHOLDS; i++) {
        char name[64];
        int at;

        (void)snprintf (name, sizeof (name), ":%s", thresholds[i].name);
        if ((at = sqlite3_bind_parameter_index (st, name)) > 0)
            (void)sqlite3_bind_double (st, at, opt->values[i]);
    }
}

double finding_threshold (const struct findings_options *opt,
                          const char *name)
{
    int i = 0;

    while (strcmp (thresholds[i].name, name) != 0)
        i++;
    return opt->values[i];
}

/* The text with that name, which must exist. */
static const struct finding_sql *finding_sql_of (const char *name)
{
    size_t i = 0;

    while (i + 1 < finding_sql_count && strcmp (finding_sql[i].name, name) != 0)
        i++;
    return &finding_sql[i];
}

/* Run all statements of a text in order. */
static int prepare_tables (sqlite3 *db, const char *name,
                           const struct findings_options *opt,
                           struct err *err)
{
    const char *sql = finding_sql_of (name)->text;
    int rc = 0;

    while (*sql && rc == 0) {
        sqlite3_stmt *st = NULL;

        if (sqlite3_prepare_v2 (db, sql, -1, &st, &sql) != SQLITE_OK)
            return db_error (db, "findings", err);
        findings_bind (st, opt);
        rc = db_run (st, err);
        (void)sqlite3_finalize (st);
    }
    return rc;
}

static const char *severity_of (const struct finding_rule *rule,
                                sqlite3_stmt *st)
{
    double percent = sqlite3_column_double (st, EFFECT_PERCENT);

    if (rule->severity)
        return rule->severity;
    return percent >= HIGH ? "high" : percent >= MEDIUM ? "medium" : "low";
}

struct finder {
    sqlite3 *db;
    const struct findings_options *opt;
    sqlite3_stmt *insert;
    struct buf text;
    int64_t dropped;
};

static int put_text (struct finder *f, int at, const char *template,
                     sqlite3_stmt *st, bool sql, struct err *err)
{
    buf_clear (&f->text);
    if (finding_text (&f->text, template, st, sql) < 0)
        return err_set (err, ENOMEM, "no memory for the text of a finding");
    (void)sqlite3_bind_text (f->insert, at, (const char *)f->text.data,
                             (int)f->text.size, SQLITE_TRANSIENT);
    return 0;
}

static void bind_text (struct finder *f, int at, const char *text)
{
    (void)sqlite3_bind_text (f->insert, at, text, -1, SQLITE_STATIC);
}

static int write_row (struct finder *f, const struct finding_rule *rule,
                      sqlite3_stmt *st, struct err *err)
{
    int rc;

    bind_text (f, 1, rule->kind);
    bind_text (f, 2, severity_of (rule, st));
    for (int i = STEP; i <= BASELINE; i++)
        (void)sqlite3_bind_value (f->insert, 3 + i,
                                  sqlite3_column_value (st, i));
    bind_text (f, 11, rule->unit);
    if ((rc = put_text (f, 12, rule->text, st, false, err)) < 0 ||
        (rc = put_text (f, 13, rule->hint, st, false, err)) < 0 ||
        (rc = put_text (f, 14, finding_sql_of (rule->kind)->query,
                        st, true, err)) < 0)
        return rc;
    bind_text (f, 15, rule->rule);
    return db_run (f->insert, err);
}

static int apply (struct finder *f, const struct finding_rule *rule,
                  struct err *err)
{
    struct db_rows r = db_rows (f->db, err, finding_sql_of (rule->kind)->text);
    int n = 0;

    if (r.st)
        findings_bind (r.st, f->opt);
    while (db_step (&r)) {
        if (++n > FINDINGS_OF_KIND_MAX)
            f->dropped++;
        else
            r.rc = write_row (f, rule, r.st, err);
    }
    return db_end (&r);
}

static int apply_all (struct finder *f, struct err *err)
{
    int rc = db_prepare (
        f->db, "INSERT INTO Finding (kind, severity, step, rank, peer,"
               " comm_group, effect_ms, effect_percent, value, baseline, unit,"
               " text, hint, query, rule) VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,"
               "?10,?11,?12,?13,?14,?15)", &f->insert, err);

    for (size_t i = 0; i < finding_rule_count && rc == 0; i++)
        rc = apply (f, &finding_rules[i], err);
    (void)sqlite3_finalize (f->insert);
    return rc;
}

/* Hide the rows that findings leave out from the statements, which name no
 * schema.  Tables of ops and sums name a step "step10".
 */
#define OF_STEP(rank) \
    "NOT EXISTS (SELECT 1 FROM main.LeftOut o WHERE o.rank=" rank " AND" \
    " 'step'||o.step=t.step)"

static const char hide_sql[] =
    "CREATE TEMP VIEW StepTraceTime AS SELECT * FROM main.StepCounted;"
    "CREATE TEMP VIEW GroupTime AS SELECT * FROM main.GroupTime t WHERE"
    " " OF_STEP ("t.rank") ";"
    "CREATE TEMP VIEW Link AS SELECT * FROM main.Link t WHERE"
    " " OF_STEP ("t.src_rank") ";"
    "CREATE TEMP VIEW Wait AS SELECT * FROM main.Wait t WHERE"
    " " OF_STEP ("t.late_rank") " AND " OF_STEP ("t.waiting_rank") ";";

static const char show_sql[] =
    "DROP VIEW IF EXISTS temp.StepTraceTime;"
    "DROP VIEW IF EXISTS temp.GroupTime; DROP VIEW IF EXISTS temp.Link;"
    "DROP VIEW IF EXISTS temp.Wait;";

static bool any_left_out (sqlite3 *db)
{
    return db_int (db, "SELECT EXISTS (SELECT 1 FROM main.LeftOut)", 0) > 0;
}

/* ---- temporary tables ---- */

// Later tables read earlier ones.
static const char *const prepared[] = {
    "prepare_steps", "prepare_hosts", "prepare_ranks", "prepare_links",
    "prepare_waits", "prepare_trend", "prepare_clocks",
};

static const struct finding_pass *const passes[] = {
    &finding_packets, &finding_bubbles, // of the largest tables, see below
    &finding_waits, &finding_links, &finding_syncs,
};

#define COUNT(list) (sizeof (list) / sizeof ((list)[0]))
#define LARGE 2                 // so many passes come first

struct preparing {
    struct finding_input in;
    void *sums[COUNT (passes)];
};

static int write_sums (struct preparing *p, size_t i, struct err *err)
{
    return passes[i]->write (&p->in, p->sums[i], err);
}

/* One piece is SQLite's, which only one thread may use. */
static int prepare_small (struct preparing *p, struct err *err)
{
    sqlite3 *db = p->in.db;
    int rc = prepare_tables (db, prepared[0], p->in.opt, err);

    for (size_t i = LARGE; i < COUNT (passes) && rc == 0; i++) {
        rc = passes[i]->read (&p->in, &p->sums[i], err);
        if (rc == 0)
            rc = write_sums (p, i, err);
    }
    for (size_t i = 1; i < COUNT (prepared) && rc == 0; i++)
        rc = prepare_tables (db, prepared[i], p->in.opt, err);
    return rc;
}

/* Each of the others is a large table. */
static int prepare_piece (void *state, size_t piece, struct err *err)
{
    struct preparing *p = state;

    if (piece == 0)
        return prepare_small (p, err);
    return passes[piece - 1]->read (&p->in, &p->sums[piece - 1], err);
}

static int run_pieces (struct preparing *p, unsigned threads, struct err *err)
{
    const struct thread_pieces pieces = { LARGE + 1, prepare_piece, NULL };
    void *states[LARGE + 1] = { p, p, p };

    return thread_each (&pieces, states, threads < LARGE + 1 ? threads
                                                             : LARGE + 1, err);
}

static int prepare_all (sqlite3 *db, const struct findings_options *opt,
                        unsigned threads, const atomic_bool *cancel,
                        struct err *err)
{
    struct page_source *source = NULL;
    struct preparing p = { .in = { .opt = opt } };
    int rc = parts_source_of (db, cancel, &source, err);

    p.in.source = source;
    if (rc == 0)
        rc = finding_input_read (db, &p.in, err);
    if (rc == 0)
        rc = run_pieces (&p, threads, err);
    for (size_t i = 0; i < LARGE && rc == 0; i++)
        rc = write_sums (&p, i, err);
    for (size_t i = 0; i < COUNT (passes); i++)
        passes[i]->destroy (p.sums[i]);
    finding_input_fini (&p.in);
    page_source_close (source);
    return rc;
}

int findings_derive (sqlite3 *db, const struct findings_options *opt,
                     unsigned threads, const atomic_bool *cancel,
                     struct err *err)
{
    struct findings_options defaults;
    struct finder f = { .db = db, .opt = opt ? opt : &defaults };
    bool hidden = any_left_out (db);
    int rc = median_register (db, err);

    if (rc == 0 && hidden)
        rc = db_exec (db, hide_sql, err);
    findings_defaults (&defaults);
    buf_init (&f.text, TEXT_MAX);
    if (rc == 0)
        rc = prepare_all (db, f.opt, threads, cancel, err);
    if (rc == 0)
        rc = apply_all (&f, err);
    if (rc == 0)
        rc = db_exec (db, finding_sql_of ("explain")->text, err);
    if (rc == 0)
        rc = db_exec (db, finding_sql_of ("forget")->text, err);
    if (rc == 0 && hidden)
        rc = db_exec (db, show_sql, err);
    buf_fini (&f.text);
    if (rc == 0 && f.dropped > 0 && !sqlite3_db_readonly (db, "main"))
        rc = db_execf (db, err, "INSERT OR REPLACE INTO Job VALUES"
                       " ('findings_dropped', '%lld')", f.dropped);
    return rc;
}
