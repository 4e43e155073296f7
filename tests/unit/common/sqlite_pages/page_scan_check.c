/* tests/unit/common/sqlite_pages/page_scan_check.c - scans of files that may be damaged
 */
#include "common/sqlite_pages/page_scan_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int scan_table (const struct page_source *s, uint32_t root, int64_t first,
                int64_t last, int64_t *rows, struct err *err)
{
    struct page_scan scan;
    int rc = page_scan_begin (&scan, s, root, first, last, err);
    int64_t before = first;

    while (rc == 0 && (rc = page_scan_next (&scan, err)) == 1) {
        assert_true (scan.rowid >= first && scan.rowid <= last);
        assert_true (before == first || scan.rowid > before);
        before = scan.rowid;
        for (unsigned i = 0; i < scan.ncolumns; i++) {
            uint32_t n = serial_bytes (scan.serial[i]);
            const uint8_t *v = scan.value[i];

            assert_true ((v >= scan.leaf && v + n <= scan.leaf + PAGE) ||
                         (v >= scan.spilled &&
                          v + n <= scan.spilled + scan.spilled_room - PAGE));
            (void)page_scan_int (&scan, i, 0);
            (void)page_scan_real (&scan, i);
        }
        ++*rows;
        rc = 0;
    }
    page_scan_end (&scan);
    return rc;
}

int scan_file (const char *path, const char *table, struct err *err)
{
    struct page_source *s = NULL;
    uint32_t root = 0;
    int64_t rows = 0;
    int rc = page_source_open (path, &s, err), part;

    if (rc == 0)
        rc = page_source_root (s, table, &root, err);
    if (rc == 0 && root > 0) {
        rc = scan_table (s, root, INT64_MIN, INT64_MAX, &rows, err);
        part = scan_table (s, root, 500, 700, &rows, err);
        rc = rc < 0 ? rc : part;
    }
    page_source_close (s);
    if (rc < 0) {
        assert_true (rc == -EBADMSG || rc == -ENOTSUP);
        assert_true (*err->text);
    }
    return rc;
}

void scan_gives (const char *path, int rc, const char *table,
                 const char *what)
{
    struct err err = { "" };

    assert_int_equal (scan_file (path, table, &err), rc);
    if (!strstr (err.text, what))
        fail_msg ("\"%s\" is not \"%s\"", err.text, what);
}

struct page_source *scan_open (const char *path)
{
    struct page_source *s = NULL;
    struct err err = { "" };

    if (page_source_open (path, &s, &err) < 0)
        fail_msg ("%s", err.text);
    return s;
}

uint32_t scan_root (const struct page_source *s, const char *table)
{
    struct err err = { "" };
    uint32_t root = 0;

    if (strcmp (table, "sqlite_schema") == 0)
        return 1;
    if (page_source_root (s, table, &root, &err) < 0)
        fail_msg ("%s", err.text);
    return root;
}

void scan_rows_of_u (const char *path, unsigned n)
{
    char text[200];

    (void)snprintf (text, sizeof (text), "DELETE FROM u;WITH RECURSIVE k(i) AS "
                    "(SELECT 1 UNION ALL SELECT i+1 FROM k WHERE i<%u) "
                    "INSERT INTO u SELECT 10*i, i/2.0 FROM k", n);
    pages_sql (path, text);
}
