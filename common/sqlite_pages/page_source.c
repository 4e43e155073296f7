/* common/sqlite_pages/page_source.c - files whose pages are read */
#include "sqlite_pages/page_source.h"

#include "sqlite_pages/page_private.h"
#include "sqlite_pages/page_scan.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define USABLE_MIN 480u         // bytes of a page: 1.3.4

/* The page size; 0 if it is invalid. */
static uint32_t page_size_of (const uint8_t *head)
{
    uint32_t size = get2 (head + HEADER_PAGE_SIZE);

    if (size == 1)
        return 65536;
    return size >= 512 && (size & (size - 1)) == 0 ? size : 0;
}

/* Whether a write-ahead log beside the file has changes that the file lacks. */
static bool has_log (const char *path)
{
    char log[PATH_MAX];
    struct stat st;
    int n = snprintf (log, sizeof (log), "%s-wal", path);

    return n > 0 && (size_t)n < sizeof (log) && lstat (log, &st) == 0 &&
           st.st_size > 0;
}

static int read_header (struct page_source *s, const char *path,
                        struct err *err)
{
    uint8_t head[HEADER_BYTES] = { 0 };
    struct stat st = { 0 };
    int rc = fileio_pread_all (s->fd, head, sizeof (head), 0);

    if (rc == 0 && fstat (s->fd, &st) < 0)
        rc = -errno;
    if (rc < 0 && rc != -ENODATA)
        return err_sys (err, -rc, "cannot read %s", path);
    s->page_size = page_size_of (head);
    if (rc < 0 || s->page_size == 0 ||
        memcmp (head, HEADER_MAGIC, sizeof (HEADER_MAGIC)) != 0)
        return err_set (err, EBADMSG, "%s is no database", path);
    s->usable = s->page_size - head[HEADER_RESERVED];
    s->version = get4 (head + HEADER_USER_VERSION);
    s->pages = (uint32_t)(st.st_size / s->page_size);
    if (head[HEADER_WRITE_VERSION + 1] > 2 || s->usable < USABLE_MIN ||
        get4 (head + HEADER_ENCODING) > 1)
        return err_set (err, ENOTSUP, "%s has a form that only SQLite reads",
                        path);
    if (has_log (path))
        return err_set (err, ENOTSUP, "another program is writing to %s: "
                        "close it first", path);
    return 0;
}

int page_source_open (const char *path, struct page_source **ret,
                      struct err *err)
{
    struct page_source *s = calloc (1, sizeof (*s));
    int rc;

    if (!s)
        return err_set (err, ENOMEM, "no memory to read %s", path);
    // a pipe would wait for a writer
    s->fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (s->fd < 0)
        rc = err_sys (err, errno, "cannot open %s", path);
    else
        rc = read_header (s, path, err);
    if (rc < 0) {
        page_source_close (s);
        return rc;
    }
    *ret = s;
    return 0;
}

int page_source_of (sqlite3 *db, const atomic_bool *cancel,
                    struct page_source **ret, struct err *err)
{
    const char *path = sqlite3_db_filename (db, "main");
    int rc = sqlite3_get_autocommit (db) ? 0 : db_exec (db, "COMMIT;BEGIN", err);
    int moved = 0;

    if (rc == 0)
        rc = page_source_open (path ? path : "", ret, err);
    if (rc < 0)
        return rc;
    (*ret)->cancel = cancel;
    (void)sqlite3_file_control (db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!moved)
        return 0;
    page_source_close (*ret);
    *ret = NULL;
    return err_set (err, EBUSY, "%s was replaced while it was read: try again",
                    path);
}

void page_source_close (struct page_source *s)
{
    if (s && s->join)
        s->join->close (s->join);
    if (s && s->fd >= 0)
        (void)close (s->fd);
    free (s);
}

uint32_t page_source_version (const struct page_source *s)
{
    return s->version;
}

void page_source_expect (struct page_source *s, const struct page_sums *sums)
{
    s->sums = sums;
}

/* ---- pages ---- */

int page_damaged (struct err *err, uint32_t page, const char *what)
{
    return err_set (err, EBADMSG, "page %u of the database is damaged: %s",
                    page, what);
}

int page_source_read (const struct page_source *s, uint32_t page, uint32_t n,
                      uint8_t *to, struct err *err)
{
    int rc = fileio_pread_all (s->fd, to, (size_t)n * s->page_size,
                               (off_t)(page - 1) * s->page_size);

    return rc < 0 ? err_sys (err, -rc, "cannot read page %u of the database",
                             page) : 0;
}

int page_source_check (const struct page_source *s, uint32_t page,
                       const uint8_t *data, struct err *err)
{
    const struct page_sums *sums = s->sums;

    if (!sums || (sums->page_size == s->page_size && page <= sums->n &&
                  page_sum (data, s->page_size) == sums->sums[page - 1]))
        return 0;
    return page_damaged (err, page, "it was changed");
}

/* ---- the schema ---- */

enum { SCHEMA_TYPE, SCHEMA_NAME, SCHEMA_TABLE, SCHEMA_ROOT };

static bool is_text (const struct page_scan *p, unsigned column,
                     const char *text)
{
    size_t n, size = strlen (text);
    const char *s = page_scan_text (p, column, &n);

    return s && n == size && memcmp (s, text, n) == 0;
}

/* Enter the root of the table that a row of the schema names: whether that was
 * wanted.
 */
static bool take_root (const struct page_scan *row, const char *const tables[],
                       size_t n, uint32_t roots[])
{
    size_t i = 0;

    if (!is_text (row, SCHEMA_TYPE, "table"))
        return false;
    while (i < n && (roots[i] > 0 || !is_text (row, SCHEMA_NAME, tables[i])))
        i++;
    if (i < n)
        roots[i] = (uint32_t)page_scan_int (row, SCHEMA_ROOT, 0);
    return i < n && roots[i] > 0;
}

int page_source_roots (const struct page_source *s, const char *const tables[],
                       size_t n, uint32_t roots[], struct err *err)
{
    struct page_scan p;
    size_t missing = 0;
    int rc = page_scan_begin (&p, s, 1, INT64_MIN, INT64_MAX, err);

    for (size_t i = 0; i < n; i++) {
        roots[i] = page_join_root (s, tables[i]);
        missing += roots[i] == 0;
    }
    while (rc == 0 && missing > 0 && (rc = page_scan_next (&p, err)) == 1) {
        missing -= take_root (&p, tables, n, roots);
        rc = 0;
    }
    page_scan_end (&p);
    return rc;
}

int page_source_root (const struct page_source *s, const char *table,
                      uint32_t *ret, struct err *err)
{
    return page_source_roots (s, &table, 1, ret, err);
}
