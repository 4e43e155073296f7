/* aggregator/catalogue/catalogue_result.c - sums of results, read once */
#include "catalogue/catalogue_private.h"

#include "base/clock.h"
#include "base/vec.h"
#include "model/result_schema.h"
#include "publish/publish.h"
#include "publish/result_parts.h"
#include "query/finished.h"
#include "store/fileio.h"
#include "store/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RESULT_NAME PUBLISH_OUTPUT_DIR "/" PUBLISH_DB_NAME
#define OTHER_TIME INT64_MIN    // no file has it: a result is read again
#define COMMIT_EACH 256         // results that share a commit

/* ---- what is copied ---- */

// times of steps in us, as in the tables; the longest step is a mean of ranks
static const char sums_sql[] =
    "SELECT r.*, c.*, s.*, m.*, f.*,"
    " (SELECT value FROM Job WHERE key='built_at'),"
    " (SELECT value FROM Job WHERE key='user'),"
    " (SELECT value FROM Job WHERE key='scheduler_id'),"
    " (SELECT value FROM Job WHERE key='command'),"
    " (SELECT value FROM Job WHERE key='roster_known_by') FROM"
    " (SELECT total(expected), total(expected AND state='present'),"
    "  total(state='missing'), total(state='failed'), total(state='partial'),"
    "  total(state='raw'), total(state='unexpected'), count(DISTINCT host)"
    "  FROM Roster) r,"
    " (SELECT min(nullif(started_ns, 0)), max(nullif(ended_ns, 0)) FROM Capture"
    "  WHERE state<>'superseded') c,"
    " (SELECT count(*), avg(step_time), max(step_time) FROM StepTrend) s,"
    " (SELECT avg(computing), avg(communication_not_overlapped), avg(free) FROM"
    "  StepCounted) m,"
    " (SELECT total(severity='high'), total(severity='medium'),"
    "  total(severity='low') FROM Finding) f";

static const struct {
    const char *query;          // of a result
    const char *insert;         // with the job's id as ?1, and its columns
} copies[] = {
    { sums_sql,
      "UPDATE job_row SET expected=CAST(?2 AS INTEGER),"
      " present=CAST(?3 AS INTEGER), missing=CAST(?4 AS INTEGER),"
      " failed=CAST(?5 AS INTEGER), partial=CAST(?6 AS INTEGER),"
      " raw=CAST(?7 AS INTEGER), unexpected=CAST(?8 AS INTEGER), hosts=?9,"
      " began_ns=?10, ended_ns=?11, steps=?12, step_us=?13, longest_us=?14,"
      " computing_us=?15, comm_us=?16, free_us=?17, high=CAST(?18 AS INTEGER),"
      " medium=CAST(?19 AS INTEGER), low=CAST(?20 AS INTEGER), built=?21,"
      " its_user=?22, its_scheduler_id=?23, its_command=?24, known_by=?25"
      " WHERE id=?1" },
    { "SELECT r.host, count(DISTINCT r.rank), avg(s.computing),"
      " avg(s.computing+s.communication_not_overlapped+s.free) FROM Roster r"
      " LEFT JOIN StepCounted s ON s.rank=r.rank WHERE r.host IS NOT NULL"
      " GROUP BY r.host",
      "INSERT INTO host VALUES (?1,?2,?3,?4,?5)" },
    { "SELECT ifnull(transport_type, '?'),"
      " count(DISTINCT src_rank*1000000+dst_rank), sum(large_size),"
      " sum(large_time) FROM Link WHERE large_time>0 GROUP BY 1",
      "INSERT INTO link VALUES (?1,?2,?3,?4,?5)" },
    { "SELECT ifnull(k.kind, '?'), count(DISTINCT t.comm_group), sum(t.ops),"
      " sum(t.elapse_time), sum(t.wait_time) FROM GroupTime t LEFT JOIN"
      " GroupKind k ON k.comm_group=t.comm_group GROUP BY 1",
      "INSERT INTO grp VALUES (?1,?2,?3,?4,?5,?6)" },
    { "SELECT kind, severity, count(*), max(effect_percent) FROM Finding"
      " GROUP BY 1, 2",
      "INSERT INTO finding VALUES (?1,?2,?3,?4,?5)" },
    { "SELECT f.kind, r.host, r.device_id, f.rank, p.host, p.device_id, f.peer,"
      " f.effect_percent FROM Finding f JOIN Roster r ON r.rank=f.rank LEFT"
      " JOIN Roster p ON p.rank=f.peer WHERE f.severity<>'note' AND f.kind IN"
      " ('slow_rank', 'slow_host', 'slow_link', 'slow_port', 'late_arriver')",
      "INSERT INTO slow VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9)" },
};

/* 'from_rc': why 'from' could not be read. */
static int copy_rows (sqlite3 *from, const char *query, sqlite3 *to,
                      const char *insert, int64_t job, int *from_rc,
                      struct err *err)
{
    struct db_rows r = db_rows (from, NULL, query);
    sqlite3_stmt *st = NULL;
    int rc = db_prepare (to, insert, &st, err);

    while (rc == 0 && db_step (&r)) {
        (void)sqlite3_bind_int64 (st, 1, job);
        for (int i = 0; i < sqlite3_column_count (r.st); i++)
            (void)sqlite3_bind_value (st, i + 2,
                                      sqlite3_column_value (r.st, i));
        rc = db_run (st, err);
    }
    (void)sqlite3_finalize (st);
    *from_rc = db_end (&r);
    return rc;
}

/* ---- one result ---- */

struct found {                  // a result whose file has changed
    int64_t id;
    char *path;                 // NULL: it is gone
    int64_t ino, ns, bytes;
};

static int clear (struct catalogue *c, int64_t id, struct err *err)
{
    static const char *const tables[] = {
        "DELETE FROM host WHERE job=?1", "DELETE FROM link WHERE job=?1",
        "DELETE FROM grp WHERE job=?1", "DELETE FROM finding WHERE job=?1",
        "DELETE FROM slow WHERE job=?1",
        "UPDATE job_row SET expected=NULL, present=NULL, missing=NULL,"
        " failed=NULL, partial=NULL, raw=NULL, unexpected=NULL, hosts=NULL,"
        " began_ns=NULL, ended_ns=NULL, steps=NULL, step_us=NULL,"
        " longest_us=NULL, computing_us=NULL, comm_us=NULL, free_us=NULL,"
        " high=NULL, medium=NULL, low=NULL, built=NULL,"
        " its_user=NULL, its_scheduler_id=NULL, its_command=NULL,"
        " part_bytes=NULL, known_by=NULL WHERE id=?1",
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]) && rc == 0;
         i++)
        rc = catalogue_do (c, err, tables[i], id);
    return rc;
}

/* Hold the file of a result, whose directory is open until tree_close. */
static int hold_result (const char *path, struct tree *above,
                        char held[TREE_HELD_MAX])
{
    char dir[PATH_MAX];
    const char *slash = strrchr (path, '/');
    int rc;

    PRINT (dir, "%.*s", (int)(slash - path), path);
    rc = tree_open_later (above, dir, 0, NULL);
    return rc < 0 ? rc : tree_hold (above, slash + 1, held, NULL);
}

bool catalogue_result_later (int rc)
{
    return rc == -ENOMEM || rc == -EMFILE || rc == -ENFILE || rc == -EBUSY ||
           rc == -EIO;
}

/* A result that cannot be read has a row without numbers; it is read again next
 * time if that may help.
 */
static int read_result (struct catalogue *c, const struct found *f,
                        struct err *err)
{
    struct tree above = { .fd = -1 };
    char held[TREE_HELD_MAX];
    sqlite3 *db = NULL;
    int rc = clear (c, f->id, err);
    int from = rc == 0 && f->path ? hold_result (f->path, &above, held) : 0;

    if (rc == 0 && f->path && from == 0)
        from = finished_open_sums (held, &db, NULL);
    for (size_t i = 0; i < sizeof (copies) / sizeof (copies[0]) && db &&
                       rc == 0 && from == 0; i++)
        rc = copy_rows (db, copies[i].query, c->db, copies[i].insert, f->id,
                        &from, err);
    if (rc == 0 && db && parts_are_beside (db))
        rc = catalogue_do (c, err, "UPDATE job_row SET part_bytes=?2 WHERE "
                           "id=?1", f->id,
                           db_int (db, "SELECT sum(bytes) FROM Part", 0));
    (void)sqlite3_close (db);
    tree_close (&above);
    return rc < 0 ? rc
                  : catalogue_do (c, err, "UPDATE job_row SET file_ino=?2, "
                                  "file_ns=?3, file_bytes=?4 WHERE id=?1",
                                  f->id, f->ino,
                                  catalogue_result_later (from) ? OTHER_TIME : f->ns,
                                  f->bytes);
}

/* ---- which results have changed ---- */

/* The file of a job's result: 0, and its path if 'path' is not NULL; else
 * -ENOENT.
 */
static int find_result (const struct catalogue *c, const char *job,
                        struct stat *st, char *path)
{
    char name[MESSAGE_NAME_MAX + sizeof (RESULT_NAME) + 1];

    PRINT (name, "%s/" RESULT_NAME, job);
    if (c->jobs_fd >= 0 && fstatat (c->jobs_fd, name, st, 0) == 0 &&
        S_ISREG (st->st_mode))
        return !path || snprintf (path, PATH_MAX, "%s/jobs/%s", c->root,
                                  name) < PATH_MAX ? 0 : -ENOENT;
    if (!c->run_db[0] || stat (c->run_db, st) < 0 || !S_ISREG (st->st_mode))
        return -ENOENT;
    if (path)
        (void)snprintf (path, PATH_MAX, "%s", c->run_db);
    return 0;
}

bool catalogue_result_path (const struct catalogue *c, const char *job,
                            char path[PATH_MAX])
{
    struct stat st;
    const char *text = NULL;

    if (!c->is_copy)
        return find_result (c, job, &st, path) == 0;
    path[0] = '\0';
    struct db_rows r = db_rows (c->db, NULL, "SELECT path FROM job_row WHERE "
                                             "name=?1", job);
    if (db_row (&r, text) && text)
        (void)snprintf (path, PATH_MAX, "%s", text);
    (void)db_end (&r);
    return path[0] != '\0';
}

int catalogue_result_open (const struct catalogue *c, const char *job,
                           struct page_source **ret)
{
    struct tree above = { .fd = -1 };
    char path[PATH_MAX], held[TREE_HELD_MAX];
    struct stat st;
    int rc;

    if (find_result (c, job, &st, path) < 0 || !publish_is_our_db (path))
        return -ENOENT;
    rc = hold_result (path, &above, held);
    if (rc == 0)
        rc = page_source_open (held, ret, NULL);
    tree_close (&above);
    if (rc == 0 && page_source_version (*ret) != TABLES_SCHEMA_VERSION) {
        page_source_close (*ret);
        rc = -EBADMSG;
    }
    return rc;
}

static int add_changed (struct catalogue *c, const char *job,
                        const struct found *now, struct found **list,
                        size_t *n)
{
    struct found *f = vec_add (list, n, sizeof (*f));
    char path[PATH_MAX];
    struct stat st;

    if (!f)
        return -ENOMEM;
    *f = *now;
    if (f->ino != 0 && find_result (c, job, &st, path) == 0 &&
        publish_is_our_db (path))
        f->path = strdup (path);
    if (!f->path)
        f->ino = 0;
    return 0;
}

static int list_changed (struct catalogue *c, const char *job,
                         struct found **list, size_t *n, struct err *err)
{
    struct db_rows r = catalogue_rows (c, err, "SELECT id, name, file_ino, "
                                       "ifnull(file_ns, 0), ifnull(file_bytes, "
                                       "0) FROM job_row WHERE ?1 IS NULL OR "
                                       "name=?1", job);
    struct found was;
    const char *name;

    while (db_row (&r, was.id, name, was.ino, was.ns, was.bytes)) {
        struct found now = { .id = was.id };
        struct stat st;

        if (find_result (c, name, &st, NULL) == 0) {
            now.ino = (int64_t)st.st_ino;
            now.ns = clock_ns (&st.st_mtim);
            now.bytes = st.st_size;
        }
        if (now.ino == was.ino && now.ns == was.ns && now.bytes == was.bytes)
            continue;
        if (add_changed (c, name, &now, list, n) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for a list of results");
    }
    return db_end (&r);
}

int catalogue_look (struct catalogue *c, const char *job, struct err *err)
{
    struct found *list = NULL;
    size_t n = 0;
    int rc = list_changed (c, job, &list, &n, err);

    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = catalogue_begin (c, err);
        if (rc == 0)
            rc = read_result (c, &list[i], err);
        if (rc == 0 && (i + 1) % COMMIT_EACH == 0)
            rc = catalogue_commit (c, err);
        free (list[i].path);
    }
    free (list);
    return rc;
}
