/* aggregator/catalogue/catalogue_filter.c - choose jobs, also by an expression
 * of a user
 */
#include "catalogue/catalogue_private.h"

#include "base/clock.h"
#include "base/units.h"
#include "model/roster.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WHERE_MAX 4096          // bytes of an expression
#define LONGEST_NS (10 * NS_PER_S)      // of CPU: a list takes less, or its
                                // expression has gone wrong
#define LOOK_EACH 1000          // steps of SQLite's machine: about 10 us, but
                                // one may make a text of CATALOGUE_TEXT_MAX
#define MEMORY_MAX (INT64_C (256) << 20)        // bytes that SQLite may take
                                // from an expression on

/* ---- what an expression may do ---- */

/* What a statement asks SQLite's authorizer for. */
struct guard {
    unsigned selects;           // how many it had so far
    unsigned selects_max;       // without those of an expression
};

/* The view may be read, and what it reads itself; functions compute.  A whole
 * table may not: 'x IN host' is no SELECT, and tells of all jobs.
 */
static int authorize (void *arg, int action, const char *a, const char *b,
                      const char *database, const char *view)
{
    struct guard *g = arg;

    (void)database;
    switch (action) {
    case SQLITE_SELECT:
        return ++g->selects > g->selects_max ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_READ:
        return (view && strcmp (view, "job") == 0) || strcmp (a, "job") == 0 ||
                       (strcmp (a, "host") == 0 && (strcmp (b, "job") == 0 ||
                                                    strcmp (b, "host") == 0))
                   ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
        return sqlite3_stricmp (b, "load_extension") ? SQLITE_OK
                                                     : SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

#define NAME(name) #name ", "
#define BASIC_NAMES CATALOGUE_BASICS (NAME, NAME)
#define COLUMN_NAMES BASIC_NAMES CATALOGUE_DETAILS (NAME, NAME, NAME)

static int refuse (const char *why, struct err *err)
{
    if (strncmp (why, "no such column", 14) == 0)
        return err_set (err, EINVAL, "%s; texts are in single quotes, as in "
                        "user='me'; the columns are %sand no others", why,
                        COLUMN_NAMES);
    return err_set (err, EINVAL, "%s; it has to be one SQL expression, as in "
                    "user='me' AND step_ms>100", why);
}

/* The number of SELECTs in a statement, and of those that views have. */
static unsigned count_selects (sqlite3 *db, const char *sql)
{
    struct guard g = { .selects_max = UINT_MAX };
    sqlite3_stmt *st = NULL;

    (void)sqlite3_set_authorizer (db, authorize, &g);
    (void)sqlite3_prepare_v2 (db, sql, -1, &st, NULL);
    (void)sqlite3_finalize (st);
    (void)sqlite3_set_authorizer (db, NULL, NULL);
    return g.selects;
}

/* ---- the statement ---- */

/* The expression gets the rows that are visible and chosen, so it cannot show
 * others, whatever it is; nor tell of them by an error.  With a LIMIT, SQLite
 * moves no condition into a subquery.  Without an expression only the columns that
 * are asked for are computed: texts of times cost most.
 */
#define HEAD "SELECT %s FROM (SELECT job, %s FROM job WHERE (?1 IS NULL OR job=?1) " \
    "AND (?2 IS NULL OR user=?2) AND (?3 IS NULL OR instr(','||tags||',', " \
    "','||?3||',')>0) AND (?4=0 OR since_ns>=?4) AND (?5 IS NULL OR row_id IN " \
    "(SELECT job FROM host WHERE host=?5)) AND (?6 IS NULL OR owner IS ?6) " \
    "LIMIT -1 OFFSET 0) AS job WHERE (%s\n) ORDER BY job"
#define PARAMETERS 6

/* Prepare 'sql', with as many SELECTs as 'plain' has; frees both. */
static int prepare_like (sqlite3 *db, char *plain, char *sql, int parameters,
                         sqlite3_stmt **ret, struct err *err)
{
    int rc = plain && sql ? 0 : err_set (err, ENOMEM, "no memory");
    struct guard g = { .selects = 0 };
    const char *tail = "";
    struct err why;

    if (rc == 0) {
        g.selects_max = count_selects (db, plain);
        (void)sqlite3_set_authorizer (db, authorize, &g);
        if (sqlite3_prepare_v2 (db, sql, -1, ret, &tail) != SQLITE_OK) {
            (void)err_set (&why, EINVAL, "%s", g.selects > g.selects_max
                               ? "it may not have SELECTs"
                               : sqlite3_errmsg (db));
            rc = refuse (why.text, err);
        }
        (void)sqlite3_set_authorizer (db, NULL, NULL);
    }
    if (rc == 0 && (tail[strspn (tail, " \t\r\n;")] ||
                    sqlite3_bind_parameter_count (*ret) != parameters))
        rc = refuse ("it is more than one expression, or has parameters", err);
    if (rc < 0) {
        (void)sqlite3_finalize (*ret);
        *ret = NULL;
    }
    sqlite3_free (plain);
    sqlite3_free (sql);
    return rc;
}

/* Prepare it so that 'where' (NULL: none) can only compute.  It has to be closed
 * in itself: alone it ends no parenthesis, and in one it ends there.
 */
static int prepare (sqlite3 *db, const char *columns, const char *where,
                    sqlite3_stmt **ret, struct err *err)
{
    static const char *const alone[] = { "SELECT job, %s\n FROM job",
                                         "SELECT job, (%s\n) FROM job" };

    for (size_t i = 0; where && i < 2; i++) {
        int rc = prepare_like (db, sqlite3_mprintf (alone[i], "1"),
                               sqlite3_mprintf (alone[i], where), 0, ret, err);

        if (rc < 0)
            return rc;
        (void)sqlite3_finalize (*ret);
        *ret = NULL;
    }
    return prepare_like (db, sqlite3_mprintf (HEAD, columns, columns, "1"),
                         sqlite3_mprintf (HEAD, columns, where ? "*" : columns,
                                          where ? where : "1"), PARAMETERS,
                         ret, err);
}

static int open_filter (struct catalogue *c, const struct catalogue_filter *f,
                        const char *columns, sqlite3_stmt **ret,
                        struct err *err)
{
    int rc;

    *ret = NULL;
    if (f->where && strlen (f->where) > WHERE_MAX)
        return err_set (err, EINVAL, "it is longer than %d bytes", WHERE_MAX);
    if (f->where)
        (void)sqlite3_hard_heap_limit64 (sqlite3_memory_used () + MEMORY_MAX);
    // "name" is a column and nothing else: a misspelt one is no text
    (void)sqlite3_db_config (c->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    if ((rc = prepare (c->db, columns, f->where, ret, err)) < 0)
        return rc;
    rc = db_bind (*ret, DB_VALUES (f->job, f->user, f->tag, f->since_ns,
                                   f->host, c->visible_to));
    return rc < 0 ? db_error (c->db, "jobs", err) : 0;
}

/* ---- reading ---- */

static const char *text_at (sqlite3_stmt *st, int *i)
{
    return db_text (st, (*i)++);
}

static int64_t int_at (sqlite3_stmt *st, int *i)
{
    int at = (*i)++;

    return sqlite3_column_type (st, at) == SQLITE_NULL
               ? -1 : sqlite3_column_int64 (st, at);
}

static double real_at (sqlite3_stmt *st, int *i)
{
    int at = (*i)++;

    return sqlite3_column_type (st, at) == SQLITE_NULL
               ? (double)NAN : sqlite3_column_double (st, at);
}

static void read_job (sqlite3_stmt *st, bool brief, struct catalogue_job *j)
{
    int i = 0;

#define TEXT_AT(name) j->name = text_at (st, &i);
#define INT_AT(name) j->name = int_at (st, &i);
#define REAL_AT(name) j->name = real_at (st, &i);
    CATALOGUE_BASICS (TEXT_AT, INT_AT)
    if (brief)
        return;
    CATALOGUE_DETAILS (TEXT_AT, INT_AT, REAL_AT)
}

/* Of this thread: whoever pages through a list may take his time. */
static int64_t cpu_ns (void)
{
    struct timespec t = { .tv_sec = 0 };

    (void)clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

/* Lets the statement fail. */
static int is_late (void *arg)
{
    const int64_t *until_ns = arg;

    return cpu_ns () > *until_ns;
}

static int finish (sqlite3 *db, sqlite3_stmt *st, int code, struct err *err)
{
    int rc = 0;

    if (code == SQLITE_INTERRUPT)
        rc = err_set (err, EINTR, "the expression takes too long");
    else if (code != SQLITE_DONE && code != SQLITE_ROW)
        rc = code == SQLITE_ERROR || code == SQLITE_TOOBIG
                 ? refuse (sqlite3_errmsg (db), err)
                 : db_error (db, CATALOGUE_NAME, err);
    (void)sqlite3_finalize (st);
    return rc;
}

int catalogue_each (struct catalogue *c, const struct catalogue_filter *f,
                    int (*fn) (void *arg, const struct catalogue_job *j),
                    void *arg, struct err *err)
{
    int64_t until_ns = cpu_ns () + LONGEST_NS;
    struct catalogue_job j;
    sqlite3_stmt *st;
    int code = SQLITE_ROW, given = 0;
    int rc = open_filter (c, f, f->brief ? BASIC_NAMES "0" : COLUMN_NAMES "0",
                          &st, err);

    if (rc < 0)
        return rc;
#define NO_TEXT(name) j.name = "";
#define NO_INT(name) j.name = -1;
#define NO_REAL(name) j.name = (double)NAN;
    CATALOGUE_DETAILS (NO_TEXT, NO_INT, NO_REAL)
    if (f->where)
        sqlite3_progress_handler (c->db, LOOK_EACH, is_late, &until_ns);
    while (given == 0 && (code = sqlite3_step (st)) == SQLITE_ROW) {
        read_job (st, f->brief, &j);
        given = fn (arg, &j);
    }
    rc = finish (c->db, st, code, err);
    sqlite3_progress_handler (c->db, 0, NULL, NULL);
    return given < 0 ? given : rc;
}

int catalogue_choose (struct catalogue *c, const struct catalogue_filter *f,
                      struct err *err)
{
    int64_t until_ns = cpu_ns () + LONGEST_NS;
    sqlite3_stmt *st;
    int code = SQLITE_ROW, rc = 0;
    int64_t id;

    if ((rc = db_exec (c->db, "CREATE TEMP TABLE IF NOT EXISTS chosen (id "
                              "INTEGER PRIMARY KEY);DELETE FROM temp.chosen",
                       err)) < 0 ||
        (rc = open_filter (c, f, "row_id", &st, err)) < 0)
        return rc;
    if (f->where)
        sqlite3_progress_handler (c->db, LOOK_EACH, is_late, &until_ns);
    while (rc == 0 && (code = sqlite3_step (st)) == SQLITE_ROW) {
        id = sqlite3_column_int64 (st, 0);
        rc = catalogue_do (c, err, "INSERT INTO temp.chosen VALUES (?1)", id);
    }
    sqlite3_progress_handler (c->db, 0, NULL, NULL);
    if (rc < 0)
        (void)finish (c->db, st, SQLITE_DONE, err);
    return rc < 0 ? rc : finish (c->db, st, code, err);
}

int catalogue_check (struct catalogue *c, const struct catalogue_filter *f,
                     struct err *err)
{
    sqlite3_stmt *st;
    int rc = open_filter (c, f, "row_id", &st, err);

    (void)sqlite3_finalize (st);
    return rc;
}

void catalogue_show_only (struct catalogue *c, const char *user)
{
    c->visible_to = user;
}

int64_t catalogue_count (struct catalogue *c)
{
    return c->is_copy
               ? c->beyond.jobs
               : db_number (db_rows (c->db, NULL, "SELECT count(*) FROM job "
                                     "WHERE ?1 IS NULL OR owner IS ?1",
                                     c->visible_to), 0);
}

bool catalogue_has_users (struct catalogue *c)
{
    return c->visible_to || c->beyond.users ||
           db_int (c->db, "SELECT EXISTS (SELECT 1 FROM job_row WHERE "
                          "ifnull(user, its_user) IS NOT NULL)", 0) != 0;
}

bool catalogue_has_tags (struct catalogue *c)
{
    return c->visible_to || c->beyond.tags ||
           db_int (c->db, "SELECT EXISTS (SELECT 1 FROM job_row WHERE "
                          "tags<>'')", 0) != 0;
}

int catalogue_each_part (struct catalogue *c, const char *job,
                         enum catalogue_part_kind kind,
                         int (*fn) (void *arg, const struct catalogue_part *p),
                         void *arg, struct err *err)
{
#define OF_JOB " WHERE job=(SELECT id FROM job_row WHERE name=?1) ORDER BY "
    static const char *const queries[] = {
        "SELECT host, '', ranks, computing_us/1000, step_us/1000 FROM host"
            OF_JOB "host",
        "SELECT transport, '', links, mb/ms, mb FROM link" OF_JOB "transport",
        "SELECT kind, '', groups, elapse_ms, wait_ms FROM grp" OF_JOB
            "elapse_ms DESC",
        "SELECT kind, severity, n, percent, NULL FROM finding" OF_JOB
            "severity='low', severity='medium', percent DESC, kind",
    };
    struct db_rows r = catalogue_rows (c, err, queries[kind], job);

    while (db_step (&r)) {
        int i = 3;
        struct catalogue_part p = {
            .name = db_text (r.st, 0), .severity = db_text (r.st, 1),
            .n = sqlite3_column_int64 (r.st, 2),
        };

        p.value = real_at (r.st, &i);
        p.other = real_at (r.st, &i);
        r.rc = fn (arg, &p);
    }
    return db_end (&r);
}

/* ---- for people ---- */

void catalogue_roll (const struct catalogue_job *j,
                     char out[CATALOGUE_ROLL_MAX])
{
    const struct {
        const char *name;
        int64_t n;
    } states[] = {
        { "missing", j->missing }, { "failed", j->failed },
        { "partial", j->partial }, { "raw", j->raw },
        { "unexpected", j->unexpected },
    };
    size_t used;

    out[0] = '\0';
    if (j->present < 0)
        return;
    used = j->in_roll == 0
               ? (size_t)snprintf (out, CATALOGUE_ROLL_MAX, ROSTER_NO_RANKS)
               : (size_t)snprintf (out, CATALOGUE_ROLL_MAX,
                                   "%lld of %lld present",
                                   (long long)j->present,
                                   (long long)j->in_roll);
    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++) {
        if (states[i].n > 0)
            used += (size_t)snprintf (out + used, CATALOGUE_ROLL_MAX - used,
                                      ", %lld %s", (long long)states[i].n,
                                      states[i].name);
    }
}

static int parse_date (const char *text, int64_t *ret_ns)
{
    static const char *const forms[] = {
        "%Y-%m-%d", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
    };

    for (size_t i = 0; i < sizeof (forms) / sizeof (forms[0]); i++) {
        struct tm tm = { .tm_mday = 1 };
        const char *end = strptime (text, forms[i], &tm);

        if (!end || *end || tm.tm_year < 70)
            continue;
        *ret_ns = (int64_t)timegm (&tm) * NS_PER_S;
        return 0;
    }
    return -EINVAL;
}

int catalogue_since (const char *text, int64_t now_ns, int64_t *ret_ns)
{
    size_t n = strlen (text);
    int64_t days, ns;
    char number[16];

    if (parse_date (text, ret_ns) == 0)
        return 0;
    if (n > 1 && n < sizeof (number) && (text[n - 1] == 'd' ||
                                         text[n - 1] == 'w')) {
        PRINT (number, "%.*s", (int)n - 1, text);
        if (units_int (number, 0, 100000, &days) < 0)
            return -EINVAL;
        ns = days * (text[n - 1] == 'w' ? 7 : 1) * 86400 * NS_PER_S;
    } else if (n == 0 || !strchr ("smh", text[n - 1]) ||
               units_duration_ns (text, &ns) < 0) {
        return -EINVAL;         // "90" may be anything
    }
    *ret_ns = ns < now_ns ? now_ns - ns : 0;
    return 0;
}
