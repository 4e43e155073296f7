/* aggregator/postgres/postgres.c - a connection to PostgreSQL
 *
 * libpq is loaded by the first one who needs it: with what it loads itself it
 * takes 2 ms, more than most questions of rollcall.
 */
#include "postgres/postgres.h"

#include "base/clock.h"
#include "model/secret.h"

#include <dlfcn.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libpq.so.5"
#define LOOK_MS 1000            // while it is waited for

struct pg {
    PGconn *conn;
    char name[PG_NAME_MAX];
    bool ending;                // the end of a COPY was not answered yet
    uint64_t rows;              // which had so many
    pg_silent_fn *silent;       // or NULL
    void *arg;
    int64_t since_ns;           // when it has last said or taken something, or
                                // had nothing to say
    int64_t tell_ns;            // how long after that the next word is due
};

/* ---- the library ---- */

#define FUNCTIONS(F) F (PQclear) F (PQcmdTuples) F (PQconnectdbParams) \
    F (PQconnectionNeedsPassword) F (PQconninfoFree) F (PQconninfoParse) \
    F (PQconsumeInput) F (PQdb) F (PQerrorMessage) F (PQfinish) F (PQflush) \
    F (PQfreemem) F (PQgetResult) F (PQgetisnull) F (PQgetvalue) F (PQhost) \
    F (PQisBusy) F (PQnfields) F (PQntuples) F (PQparameterStatus) \
    F (PQputCopyData) F (PQputCopyEnd) F (PQreset) F (PQresultErrorField) \
    F (PQresultStatus) F (PQsendQuery) F (PQsendQueryParams) \
    F (PQsetErrorVerbosity) F (PQsetNoticeReceiver) F (PQsetSingleRowMode) \
    F (PQsetnonblocking) F (PQsocket) F (PQstatus)
#define POINTER(name) __typeof__ (name) *name;
#define NAME(name) #name,

static struct {
    FUNCTIONS (POINTER)
} pq;

static int load_library (struct err *err)
{
    static const char *const names[] = { FUNCTIONS (NAME) };
    static void *library;
    void *at;

    if (library)
        return 0;
    if (!(library = dlopen (LIBRARY, RTLD_NOW | RTLD_LOCAL)))
        return err_set (err, ENOTSUP, "PostgreSQL cannot be used without "
                        LIBRARY ", package libpq5: %s", dlerror ());
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++) {
        if (!(at = dlsym (library, names[i]))) {
            (void)dlclose (library);
            library = NULL;
            return err_set (err, ENOTSUP, LIBRARY " has no %s", names[i]);
        }
        memcpy ((char *)&pq + i * sizeof (at), &at, sizeof (at));
    }
    return 0;
}

/* ---- errors ---- */

// messages may be in any language, so that only an SQLSTATE decides
static const struct {
    const char *state;          // what it begins with
    int errnum;
} states[] = {
    { "08", EAGAIN }, { "57", EAGAIN }, { "40", EAGAIN }, { "55P03", EAGAIN },
    { "53100", ENOSPC }, { "53", EAGAIN }, { "42501", EACCES },
    { "28", EACCES }, { "3D", ENOENT }, { "3F", ENOENT }, { "42P01", ENOENT },
    { "42704", ENOENT }, { PG_NOT_ITS_CLUSTER, EEXIST },
};

static int errnum_of (const char *state)
{
    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++) {
        if (strncmp (state, states[i].state, strlen (states[i].state)) == 0)
            return states[i].errnum;
    }
    return EIO;
}

/* The first line of a message, and what to do. */
static int say (const struct pg *p, int errnum, const char *text,
                const char *hint, struct err *err)
{
    return err_set (err, errnum, "%s: %.*s%s", p->name,
                    (int)strcspn (text, "\n"), text, hint);
}

static int fail (struct pg *p, const PGresult *res, struct err *err)
{
    const char *state = res ? pq.PQresultErrorField (res, PG_DIAG_SQLSTATE) : NULL;
    const char *text = state ? pq.PQresultErrorField (res, PG_DIAG_MESSAGE_PRIMARY)
                             : pq.PQerrorMessage (p->conn);
    bool lost = pq.PQstatus (p->conn) == CONNECTION_BAD;

    return say (p, lost ? EAGAIN : state ? errnum_of (state) : EIO,
                text && *text ? text : "the connection is lost",
                state && strcmp (state, "42501") == 0
                    ? " (role rollcall_reader may read, the owner of the tables "
                      "may write)" : "", err);
}

/* ---- connecting ---- */

#define NO_PASSWORD ": put it into ~/.pgpass, a line HOST:5432:DATABASE:USER:" \
                    "PASSWORD, mode 0600"

static const char *value_of (const PQconninfoOption *list, const char *key)
{
    for (; list->keyword; list++) {
        if (strcmp (list->keyword, key) == 0)
            return list->val && *list->val ? list->val : NULL;
    }
    return NULL;
}

/* Whether no value that messages have may be a part of a password: in a URI, a /
 * or an @ in it that is not written as %2F or %40 makes it another value.
 */
static bool is_plain (const PQconninfoOption *list)
{
    static const char *const keys[] = { "host", "hostaddr", "dbname" };
    const char *port = value_of (list, "port"), *value;

    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++) {
        value = value_of (list, keys[i]);
        if (value && strchr (value, '@'))
            return false;
    }
    return !port || !port[strspn (port, "0123456789,")];
}

/* libpq's own message would have a part of the URI, perhaps of its password. */
static int parse (const char *uri, PQconninfoOption **ret, struct err *err)
{
    char *message = NULL;

    *ret = *uri ? pq.PQconninfoParse (uri, &message) : NULL;
    pq.PQfreemem (message);
    if (*ret && is_plain (*ret))
        return 0;
    pq.PQconninfoFree (*ret);
    return err_set (err, EINVAL, "that is not the URI of a PostgreSQL database, "
                    "as in postgresql://HOST/DATABASE; in it, a / or an @ of "
                    "a name or a password is %%2F or %%40");
}

int pg_check (const char *uri, bool *has_password, struct err *err)
{
    PQconninfoOption *list;
    int rc = load_library (err);

    secret_forbid_cores ();     // a password would be in one
    if (rc < 0 || (rc = parse (uri, &list, err)) < 0)
        return rc;
    if (has_password)
        *has_password = value_of (list, "password") ||
                        value_of (list, "sslpassword");
    pq.PQconninfoFree (list);
    return 0;
}

static void no_notice (void *arg, const PGresult *res)
{
    (void)arg;
    (void)res;
}

static void name (struct pg *p)
{
    const char *host = pq.PQhost (p->conn), *db = pq.PQdb (p->conn);

    PRINT (p->name, "database %s of %s", db ? db : "?",
           host && *host ? host : "this host");
}

/* What the server said: behind two blanks, in any language. */
static const char *said (const char *message)
{
    const char *at = strstr (message, ":  ");

    return at ? at + 3 : NULL;
}

/* There is no connection: 0, if there is one now.  libpq has an SQLSTATE of that
 * only in its message, and only if it was asked to before.
 */
static int refused (struct pg *p, struct err *err)
{
    char text[ERR_TEXT_MAX];
    int errnum = pq.PQconnectionNeedsPassword (p->conn) ? EACCES : EAGAIN;

    PRINT (text, "%s", pq.PQerrorMessage (p->conn));
    if (errnum == EACCES || !said (text))
        return say (p, errnum, text, errnum == EAGAIN ? ": is PostgreSQL "
                    "running there?" : NO_PASSWORD, err);
    (void)pq.PQsetErrorVerbosity (p->conn, PQERRORS_SQLSTATE);
    pq.PQreset (p->conn);
    (void)pq.PQsetErrorVerbosity (p->conn, PQERRORS_DEFAULT);
    if (pq.PQstatus (p->conn) == CONNECTION_OK)
        return 0;
    if (said (pq.PQerrorMessage (p->conn)))
        errnum = errnum_of (said (pq.PQerrorMessage (p->conn)));
    return say (p, errnum, said (text), "", err);
}

/* A text that a job may have does not fit into other encodings. */
static int check_encoding (struct pg *p, struct err *err)
{
    const char *is = pq.PQparameterStatus (p->conn, "server_encoding");

    return is && strcmp (is, "UTF8") == 0
               ? 0 : err_set (err, EPROTO, "%s has encoding %s: rollcall needs "
                              "one with UTF8, as createdb -T template0 -E UTF8 "
                              "makes it", p->name, is ? is : "?");
}

int pg_open (const char *uri, struct pg **ret, struct err *err)
{
    // a host that is gone is away after a minute.  With a tcp_user_timeout Linux
    // would wait for that instead, and would give up who takes no rows, too.  What
    // is before the URI is a default, what is behind it is not
    const char *const keys[] = {
        "connect_timeout", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "application_name", "dbname", "client_encoding", NULL
    };
    const char *const values[] = { "10", "30", "10", "3", "rollcall", uri, "UTF8",
                                   NULL };
    struct pg *p;
    int rc = pg_check (uri, NULL, err);

    if (rc < 0)
        return rc;
    if (!(p = calloc (1, sizeof (*p))) ||
        !(p->conn = pq.PQconnectdbParams (keys, values, 1))) {
        free (p);
        return err_set (err, ENOMEM, "no memory for a connection");
    }
    p->tell_ns = PG_SILENT_NS;
    name (p);
    (void)pq.PQsetNoticeReceiver (p->conn, no_notice, NULL);
    rc = pq.PQstatus (p->conn) == CONNECTION_OK ? 0 : refused (p, err);
    if (rc == 0)
        rc = check_encoding (p, err);
    if (rc == 0 && pq.PQsetnonblocking (p->conn, 1) < 0)
        rc = fail (p, NULL, err);
    if (rc < 0) {
        pg_close (p);
        return rc;
    }
    *ret = p;
    return 0;
}

void pg_close (struct pg *p)
{
    if (!p)
        return;
    pq.PQfinish (p->conn);
    free (p);
}

const char *pg_name (const struct pg *p)
{
    return p->name;
}

/* ---- waiting ----
 *
 * libpq would wait without a word.  Nobody is given up: one that works and one that
 * hangs look the same from here; doc/architecture.md has why.
 */

void pg_on_silence (struct pg *p, pg_silent_fn *fn, void *arg)
{
    p->silent = fn;
    p->arg = arg;
}

/* It has something to say, or to take, from now on. */
static void expect (struct pg *p)
{
    p->since_ns = clock_mono_ns ();
}

static void heard (struct pg *p)
{
    if (p->tell_ns > PG_SILENT_NS)
        p->silent (p->arg, p->name, 0);
    p->tell_ns = PG_SILENT_NS;
    expect (p);
}

static void not_heard (struct pg *p)
{
    int64_t ns = clock_mono_ns () - p->since_ns;

    if (!p->silent || ns < p->tell_ns)
        return;
    while (p->tell_ns <= ns)
        p->tell_ns *= 2;
    p->silent (p->arg, p->name, ns / NS_PER_S);
}

/* Wait a moment until it has said something, or takes more: 'events'. */
static void look (struct pg *p, short events)
{
    struct pollfd at = { .fd = pq.PQsocket (p->conn), .events = events };

    if (at.fd < 0)
        return;                 // there is no connection any more
    if (poll (&at, 1, LOOK_MS) > 0)
        heard (p);
    else
        not_heard (p);
}

/* Send all that libpq has: whether it is sent. */
static bool flush (struct pg *p)
{
    int left;

    while ((left = pq.PQflush (p->conn)) > 0) {
        look (p, POLLIN | POLLOUT);     // it may have to say something first
        if (!pq.PQconsumeInput (p->conn))
            return false;
    }
    return left == 0;
}

/* The next result of what was sent; NULL: there is no more. */
static PGresult *next_result (struct pg *p)
{
    bool there = flush (p);

    while (there && pq.PQisBusy (p->conn)) {
        look (p, POLLIN);
        there = pq.PQconsumeInput (p->conn);
    }
    return pq.PQgetResult (p->conn);
}

/* ---- statements ---- */

static bool is_good (const PGresult *res)
{
    ExecStatusType status = res ? pq.PQresultStatus (res) : PGRES_FATAL_ERROR;

    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
           status == PGRES_SINGLE_TUPLE;
}

/* The rest of what the server says, until it wants the rows of the next COPY, if
 * any: the error that ended one comes first.
 */
static int drain (struct pg *p, struct err *err)
{
    PGresult *res;
    bool copying = false;
    int rc = 0;

    expect (p);
    while (!copying && (res = next_result (p))) {
        copying = pq.PQresultStatus (res) == PGRES_COPY_IN;
        if (rc == 0 && !copying && !is_good (res))
            rc = fail (p, res, err);
        pq.PQclear (res);
        if (pq.PQstatus (p->conn) == CONNECTION_BAD)
            break;              // it would say so for ever
    }
    return rc;
}

/* A trigger can leave rows out, and the server says that it is done. */
static int check_rows (const struct pg *p, PGresult *res, struct err *err)
{
    uint64_t taken = strtoull (pq.PQcmdTuples (res), NULL, 10);

    return taken == p->rows
               ? 0 : err_set (err, EPROTO, "%s took %llu of %llu rows of a table "
                              "in schema rollcall: is there a trigger that leaves "
                              "some out?  Drop it, and push again", p->name,
                              (unsigned long long)taken,
                              (unsigned long long)p->rows);
}

/* The answer to the end of a COPY comes first. */
static int settle (struct pg *p, struct err *err)
{
    PGresult *res;
    int rc, rest;

    if (!p->ending)
        return 0;
    p->ending = false;
    expect (p);
    res = next_result (p);
    rc = is_good (res) ? check_rows (p, res, err) : fail (p, res, err);
    pq.PQclear (res);
    rest = drain (p, rc < 0 ? NULL : err);
    return rc < 0 ? rc : rest;
}

/* A COPY that was left in its middle fails. */
static void leave_copy (struct pg *p)
{
    PGresult *res;
    bool copying;

    while ((res = next_result (p))) {
        copying = pq.PQresultStatus (res) == PGRES_COPY_IN;
        pq.PQclear (res);
        if (pq.PQstatus (p->conn) == CONNECTION_BAD ||
            (copying && pq.PQputCopyEnd (p->conn, "given up") != 1))
            break;
    }
}

/* Send statements: the last of their results, that of one that failed, or the
 * first that wants the rows of a COPY.
 */
static PGresult *execute (struct pg *p, const char *sql)
{
    PGresult *res, *last = NULL;

    expect (p);
    leave_copy (p);
    if (!pq.PQsendQuery (p->conn, sql))
        return NULL;
    while ((res = next_result (p))) {
        pq.PQclear (last);
        last = res;
        if (pq.PQresultStatus (res) == PGRES_COPY_IN ||
            pq.PQstatus (p->conn) == CONNECTION_BAD)
            break;
    }
    return last;
}

int pg_do (struct pg *p, const char *sql, struct err *err)
{
    int before = settle (p, err);
    PGresult *res = execute (p, sql);
    int rc = is_good (res) || before < 0 ? before : fail (p, res, err);

    pq.PQclear (res);
    return rc;
}

static void get_row (const PGresult *res, int at, const char *row[])
{
    for (int i = 0; i < pq.PQnfields (res) && i < PG_COLUMNS_MAX; i++)
        row[i] = pq.PQgetisnull (res, at, i) ? NULL : pq.PQgetvalue (res, at, i);
}

int pg_each (struct pg *p, const char *sql, size_t n,
             const char *const values[],
             int (*fn) (void *arg, const char *const row[]), void *arg,
             struct err *err)
{
    const char *row[PG_COLUMNS_MAX];
    PGresult *res;
    int rc = settle (p, err);

    if (rc < 0)
        return rc;
    expect (p);
    if (!pq.PQsendQueryParams (p->conn, sql, (int)n, NULL, values, NULL, NULL, 0))
        return fail (p, NULL, err);
    (void)pq.PQsetSingleRowMode (p->conn);         // any number of rows
    while ((res = next_result (p))) {
        if (rc == 0 && !is_good (res))
            rc = fail (p, res, err);
        for (int i = 0; rc == 0 && fn && i < pq.PQntuples (res); i++) {
            get_row (res, i, row);
            rc = fn (arg, row);
        }
        pq.PQclear (res);
    }
    return rc;
}

/* ---- COPY ---- */

int pg_copy_begin (struct pg *p, const char *sql, struct err *err)
{
    PGresult *res = execute (p, sql);
    int rc = pq.PQresultStatus (res) == PGRES_COPY_IN ? 0 : fail (p, res, err);

    pq.PQclear (res);
    return rc;
}

int pg_copy_put (struct pg *p, const void *data, size_t size, struct err *err)
{
    int rc = settle (p, err);

    if (rc < 0)
        return rc;
    expect (p);
    if (pq.PQputCopyData (p->conn, data, (int)size) == 1 && flush (p))
        return 0;
    rc = drain (p, err);
    return rc < 0 ? rc : fail (p, NULL, err);
}

int pg_copy_end (struct pg *p, uint64_t rows, struct err *err)
{
    int sent = pq.PQputCopyEnd (p->conn, NULL), rc;

    p->ending = sent == 1;
    p->rows = rows;
    if (p->ending)
        return 0;
    rc = drain (p, err);
    return rc < 0 ? rc : fail (p, NULL, err);
}
