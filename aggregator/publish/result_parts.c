/* aggregator/publish/result_parts.c - a result whose rows of ops lie in several
 * files */
#include "publish/result_parts.h"

#include "base/vec.h"
#include "model/schema.h"
#include "sqlite_pages/page_check.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BEGIN "analysis."
#define NAME_MIDDLE ".part-"
#define NAME_END ".db"
#define WHAT_TO_DO "put it back beside analysis.db, or build or analyze the " \
                   "job again"

const char *const parts_tables[PARTS_TABLES] = {
    "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix",
    "LinkRow",
};

void parts_columns (unsigned table, char *out, size_t max)
{
    const struct table *t = table < PARTS_TABLES - 1 ? schema_table (table)
                                                     : NULL;
    size_t used = 0;

    if (!t) {
        (void)snprintf (out, max, "packets NUMERIC");
        return;
    }
    for (unsigned c = 0; c < t->ncolumns; c++)
        used += (size_t)snprintf (out + used, max - used, "%s %s, ",
                                  t->columns[c].name,
                                  schema_affinity (&t->columns[c]));
    (void)snprintf (out + used, max - used, "rank INTEGER, capture INTEGER");
}

void parts_name (char name[NAME_MAX + 1], const char *id, unsigned part)
{
    (void)snprintf (name, NAME_MAX + 1, NAME_BEGIN "%s" NAME_MIDDLE "%04u"
                    NAME_END, id, part);
}

bool parts_is_name (const char *name)
{
    size_t id = strlen (NAME_BEGIN), n = PARTS_ID_SIZE - 1;
    const char *end;

    if (strncmp (name, NAME_BEGIN, id) != 0 ||
        strspn (name + id, "0123456789abcdef") != n ||
        strncmp (name + id + n, NAME_MIDDLE, strlen (NAME_MIDDLE)) != 0)
        return false;
    end = name + id + n + strlen (NAME_MIDDLE);
    n = strspn (end, "0123456789");
    return n > 0 && n < 10 && strcmp (end + n, NAME_END) == 0;
}

int parts_sum (const struct page_sums *sums, char hex[DIGEST_HEX_SIZE])
{
    struct digester *d = digester_create ();
    struct digest digest = { { 0 } };
    int rc = d ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < sums->n && rc == 0; i++) {
        uint64_t sum = htole64 (sums->sums[i]);

        rc = digest_add (d, &sum, sizeof (sum));
    }
    if (rc == 0)
        rc = digest_end (d, &digest);
    digester_destroy (d);
    digest_hex (&digest, hex);
    return rc;
}

/* ---- the index ---- */

static int damaged_list (struct err *err)
{
    return err_set (err, EBADMSG, "the list of parts in analysis.db is "
                    "damaged: build or analyze the job again");
}

static bool has_table (sqlite3 *db, const char *name)
{
    return db_number (db_rows (db, NULL, "SELECT count(*) FROM sqlite_schema "
                               "WHERE type='table' AND name=?1", name), 0) > 0;
}

bool parts_are_beside (sqlite3 *db)
{
    return has_table (db, "PartRange") && !has_table (db, parts_tables[0]);
}

bool parts_is_one (sqlite3 *db)
{
    return has_table (db, "PartRange") && has_table (db, parts_tables[0]);
}

/* ---- a source ---- */

struct part {
    char file[NAME_MAX + 1], id[PARTS_ID_SIZE], ranks[128];
    int64_t number, bytes;
    struct page_source *source; // NULL: 'rc' and 'why' tell
    struct err why;
    int rc;
    bool missing, checked;
    uint32_t roots[PARTS_TABLES];
};

struct parts {
    struct page_join join;
    struct part *list;
    size_t n;
    struct page_stretch *stretches;
    pthread_mutex_t lock;       // over what is checked late
};

/* Why a part cannot be used, in words that follow its name: -ENOENT and -EBADMSG
 * with what to do, and others.
 */
static int look_at (const char *path, int64_t bytes, struct err *err)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        return errno == ENOENT
                   ? err_set (err, ENOENT, "is missing: " WHAT_TO_DO)
                   : err_sys (err, errno, "cannot be read");
    if (S_ISLNK (st.st_mode))
        return err_set (err, EBADMSG, "is a symbolic link: put the file itself "
                        "there, or build or analyze the job again");
    if (!S_ISREG (st.st_mode))
        return err_set (err, EBADMSG, "is no file: " WHAT_TO_DO);
    if (st.st_size != bytes)
        return err_set (err, EBADMSG, "has %lld bytes instead of %lld: "
                        WHAT_TO_DO, (long long)st.st_size, (long long)bytes);
    return faccessat (AT_FDCWD, path, R_OK, AT_EACCESS) == 0
               ? 0 : err_sys (err, errno, "cannot be read");
}

/* "ranks 0-15", or "no rank" */
static const char *ranks_before (const struct part *p)
{
    return p->ranks[0] == 'n' ? "" : "ranks ";
}

/* Make a sentence of it, that begins with the part. */
static int tell_part (const struct part *p, int rc, struct err *err)
{
    struct err what = { "" };

    if (!err)
        return rc;
    what = *err;
    return err_set (err, -rc, "%s, the part of this result with %s%s, %s",
                    p->file, ranks_before (p), p->ranks, what.text);
}

/* The same for what page_source or a scan says. */
static int tell_damage (const struct part *p, int rc, struct err *err)
{
    struct err why = { "" };

    if (!err)
        return rc;
    why = *err;
    if (rc == -EBADMSG)
        (void)err_set (err, EBADMSG, "is damaged (%s): " WHAT_TO_DO, why.text);
    else
        (void)err_set (err, -rc, "cannot be read (%s)", why.text);
    return tell_part (p, rc, err);
}

static int not_ours (const struct part *p, struct err *err)
{
    return err_set (err, EBADMSG, "%s is not the part with %s%s that "
                    "belongs to this analysis.db, but of another build, or "
                    "another part: " WHAT_TO_DO, p->file, ranks_before (p),
                    p->ranks);
}

/* Whether a part says that it is the one of the index. */
static int check_id (const struct part *p, struct err *err)
{
    struct page_scan row;
    uint32_t root = 0;
    size_t n = 0;
    const char *id = NULL;
    int rc = page_source_root (p->source, "Part", &root, err);

    if (rc < 0 || root == 0)
        return rc < 0 ? tell_damage (p, rc, err) : not_ours (p, err);
    rc = page_scan_begin (&row, p->source, root, INT64_MIN, INT64_MAX, err);
    if (rc == 0 && (rc = page_scan_next (&row, err)) == 1)
        id = page_scan_text (&row, 2, &n);
    if (rc < 0)
        rc = tell_damage (p, rc, err);
    else
        rc = id && n == strlen (p->id) && memcmp (id, p->id, n) == 0 &&
                     row.rowid == p->number ? 0 : not_ours (p, err);
    page_scan_end (&row);
    return rc;
}

static int check_part (struct part *p, struct err *err)
{
    int rc = check_id (p, err);

    for (unsigned i = 0; i < PARTS_TABLES && rc == 0; i++) {
        rc = page_source_root (p->source, parts_tables[i], &p->roots[i], err);
        if (rc == 0 && p->roots[i] == 0)
            rc = err_set (err, EBADMSG, "there is no table %s",
                          parts_tables[i]);
        if (rc < 0)
            rc = tell_damage (p, rc, err);
    }
    p->checked = rc == 0;
    return rc;
}

static int open_part (const struct page_join *j, unsigned file,
                      const struct page_source **ret, const uint32_t **roots,
                      struct err *err)
{
    struct parts *parts = (struct parts *)j;
    struct part *p = &parts->list[file];
    int rc = p->rc;

    (void)pthread_mutex_lock (&parts->lock);
    if (rc == 0 && !p->checked)
        rc = check_part (p, err);
    else if (rc < 0 && err)
        *err = p->why;
    (void)pthread_mutex_unlock (&parts->lock);
    *ret = p->source;
    *roots = p->roots;
    return rc;
}

static int tell_failed (const struct page_join *j, unsigned file, int rc,
                        struct err *err)
{
    const struct parts *parts = (const struct parts *)j;

    return tell_damage (&parts->list[file], rc, err);
}

static void close_parts (struct page_join *j)
{
    struct parts *parts = (struct parts *)j;

    for (size_t i = 0; i < parts->n; i++)
        page_source_close (parts->list[i].source);
    (void)pthread_mutex_destroy (&parts->lock);
    free (parts->list);
    free (parts->stretches);
    free (parts);
}

/* A build that replaces the result removes the file: it is open from now on.  A
 * failure is told to who needs it.
 */
static void open_file (struct part *p, const char *dir)
{
    char path[PATH_MAX];

    if (!fileio_join (path, sizeof (path), dir, p->file))
        p->rc = err_set (&p->why, ENAMETOOLONG, "path is too long: %s", dir);
    else if ((p->rc = look_at (path, p->bytes, &p->why)) < 0)
        (void)tell_part (p, p->rc, &p->why);
    else if ((p->rc = page_source_open (path, &p->source, &p->why)) < 0)
        (void)tell_damage (p, p->rc, &p->why);
    p->missing = p->rc == -ENOENT;
    if (p->missing)
        p->rc = -EBADMSG;       // of the result
}

/* The directory of the file, whatever link led to it. */
static const char *dir_of (sqlite3 *db, char dir[PATH_MAX])
{
    const char *path = sqlite3_db_filename (db, "main");
    const char *slash = path ? strrchr (path, '/') : NULL;

    (void)snprintf (dir, PATH_MAX, "%.*s", slash ? (int)(slash - path) : 1,
                    slash ? path : ".");
    return dir;
}

static int read_list (struct parts *parts, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT part, bytes, file, id,"
                                " ifnull(ranks, '') FROM Part ORDER BY part");
    char dir[PATH_MAX];
    struct part one = { .number = 0 };

    (void)dir_of (db, dir);
    while (db_row (&r, one.number, one.bytes, one.file, one.id, one.ranks)) {
        if (one.number != (int64_t)parts->n + 1 || parts->n == PARTS_MAX ||
            !parts_is_name (one.file))
            r.rc = damaged_list (err);
        else if (vec_push (&parts->list, &parts->n, &one, sizeof (one)) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for parts");
        else
            open_file (&parts->list[parts->n - 1], dir);
    }
    return db_end (&r);
}

static int read_ranges (struct parts *parts, sqlite3 *db, struct err *err)
{
    struct db_rows r = db_rows (db, err, "SELECT first_row, last_row, part "
                                "FROM PartRange ORDER BY first_row");
    struct page_stretch x;
    int64_t part, end = INT64_MIN;

    while (db_row (&r, x.first, x.last, part)) {
        x.file = (unsigned)(part - 1);
        if (part < 1 || part > (int64_t)parts->n || x.last < x.first ||
            (end > INT64_MIN && x.first <= end))
            r.rc = damaged_list (err);
        else if (vec_push (&parts->stretches, &parts->join.n, &x,
                           sizeof (x)) < 0)
            r.rc = err_set (err, ENOMEM, "no memory for parts");
        end = x.last;
    }
    parts->join.stretches = parts->stretches;
    return db_end (&r);
}

static bool any_missing (const struct parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        if (parts->list[i].missing)
            return true;
    }
    return false;
}

/* Whether a build has replaced the file since. */
static bool has_moved (sqlite3 *db)
{
    int moved = 0;

    (void)sqlite3_file_control (db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

static int join_parts (struct page_source *s, sqlite3 *db, struct err *err)
{
    struct parts *parts = calloc (1, sizeof (*parts));
    int rc;

    if (!parts)
        return err_set (err, ENOMEM, "no memory for parts");
    parts->join = (struct page_join){ .tables = parts_tables,
                                      .ntables = PARTS_TABLES,
                                      .open = open_part,
                                      .tell = tell_failed,
                                      .close = close_parts };
    (void)pthread_mutex_init (&parts->lock, NULL);
    rc = read_list (parts, db, err);
    if (rc == 0)
        rc = read_ranges (parts, db, err);
    if (rc == 0 && any_missing (parts) && has_moved (db))
        rc = err_set (err, EBUSY, "the result was replaced while it was "
                      "opened: try again");
    if (rc == 0)
        page_source_join (s, &parts->join);
    else
        close_parts (&parts->join);
    return rc;
}

int parts_source_of (sqlite3 *db, const atomic_bool *cancel,
                     struct page_source **ret, struct err *err)
{
    int rc = page_source_of (db, cancel, ret, err);

    if (rc == 0 && parts_are_beside (db) &&
        (rc = join_parts (*ret, db, err)) < 0) {
        page_source_close (*ret);
        *ret = NULL;
    }
    return rc;
}

/* ---- the check ---- */

/* Whether it has the pages that its build read back. */
int parts_check_one (const char *dir, const char *name, int64_t bytes,
                     const char *sum, unsigned threads, struct err *err)
{
    char path[PATH_MAX], hex[DIGEST_HEX_SIZE] = "";
    struct page_sums sums = { .n = 0 };
    struct err why = { "" };
    int rc;

    if (!fileio_join (path, sizeof (path), dir, name))
        return err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
    if ((rc = look_at (path, bytes, &why)) < 0)
        return err_set (err, rc == -ENOENT ? EBADMSG : -rc, "%s %s", name,
                        why.text);
    rc = page_check_sums (path, threads, &sums, &why);
    if (rc == -EIO)             // also if SQLite cannot read the schema
        rc = -EBADMSG;
    if (rc == 0 && parts_sum (&sums, hex) < 0)
        rc = err_set (&why, ENOMEM, "no memory to check it");
    page_sums_fini (&sums);
    if (rc == 0 && strcmp (hex, sum) == 0)
        return 0;
    return rc < 0 && rc != -EBADMSG
               ? err_set (err, -rc, "%s: %s", name, why.text)
               : err_set (err, EBADMSG, "%s %s%s%s: " WHAT_TO_DO, name,
                          rc < 0 ? "is damaged (" : "is not what was built "
                          "with this analysis.db", rc < 0 ? why.text : "",
                          rc < 0 ? ")" : "");
}

struct checking {
    const char *dir;            // of analysis.db
    unsigned threads;
};

static int check_pages (void *arg, const char *name, int64_t bytes,
                        const char *sum, struct err *err)
{
    const struct checking *c = arg;

    return parts_check_one (c->dir, name, bytes, sum, c->threads, err);
}

int parts_each (sqlite3 *db, int (*each) (void *arg, const char *file,
                                          int64_t bytes, const char *sum,
                                          struct err *err),
                void *arg, struct err *err)
{
    char file[NAME_MAX + 1], sum[DIGEST_HEX_SIZE];
    struct db_rows r;
    int64_t bytes;

    if (!parts_are_beside (db))
        return 0;
    r = db_rows (db, err, "SELECT file, bytes, ifnull(sum, '') FROM Part ORDER "
                 "BY part");
    while (db_row (&r, file, bytes, sum))
        r.rc = parts_is_name (file) ? each (arg, file, bytes, sum, err)
                                    : damaged_list (err);
    return db_end (&r);
}

int parts_check (const char *path, unsigned threads, struct err *err)
{
    struct checking c = { .threads = threads };
    char dir[PATH_MAX];
    sqlite3 *db = NULL;
    int rc = 0;

    if (db_open (path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &db) !=
        SQLITE_OK)
        rc = db_error (db, path, err);
    if (rc == 0) {
        c.dir = dir_of (db, dir);
        rc = parts_each (db, check_pages, &c, err);
    }
    if (rc < 0 && db && has_moved (db))
        rc = err_set (err, EBUSY, "the result was replaced while it was checked: "
                      "check it again");
    (void)sqlite3_close (db);
    return rc;
}
