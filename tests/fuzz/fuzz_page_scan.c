/* tests/fuzz/fuzz_page_scan.c - rows of tables, from pages of any bytes
 *
 * Input: a database.  Each table of its schema is scanned, and whatever tree
 * begins at one of its first pages.  Rows are in order, and no larger than the
 * file; what is no table has a sentence.
 */
#include "fuzz_dir.h"

#include "sqlite_pages/page_format.h"
#include "sqlite_pages/page_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOTS 64u               // pages that are taken for a table's first
#define NAME "scan.db"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Look at all bytes: the sanitizer tells which are none. */
static void look (const struct page_scan *p, size_t file_size)
{
    uint64_t sink = 0;          // so that all is looked at
    size_t all = 0;

    for (unsigned i = 0; i < p->ncolumns; i++) {
        uint32_t n = serial_bytes (p->serial[i]);
        size_t text;

        for (uint32_t k = 0; k < n; k++)
            sink += p->value[i][k];
        all += n;
        sink += (uint64_t)page_scan_int (p, i, 0);
        sink += page_scan_real (p, i) > 0;
        if (page_scan_text (p, i, &text) && text != n)
            abort ();
    }
    if (all > file_size || sink == UINT64_MAX)
        abort ();
}

/* Rows of a range, or one sentence. */
static void scan (const struct page_source *s, uint32_t root, int64_t first,
                  int64_t last, size_t file_size)
{
    struct err err = { "" };
    struct page_scan p;
    int rc = page_scan_begin (&p, s, root, first, last, &err);
    int64_t before = first;
    uint64_t rows = 0;

    while (rc == 0 && (rc = page_scan_next (&p, &err)) == 1) {
        if (p.rowid < first || p.rowid > last || rows > file_size ||
            (rows++ > 0 && p.rowid <= before))
            abort ();
        before = p.rowid;
        look (&p, file_size);
        rc = 0;
    }
    if (rc < 0 && (rc != -EBADMSG || !*err.text))
        abort ();
    page_scan_end (&p);
}

static void scan_schema (const struct page_source *s, size_t file_size)
{
    struct err err = { "" };
    struct page_scan p;
    int rc = page_scan_begin (&p, s, 1, INT64_MIN, INT64_MAX, &err);

    for (unsigned n = 0; rc == 0 && n < ROOTS; n++) {
        if ((rc = page_scan_next (&p, &err)) != 1)
            break;
        scan (s, (uint32_t)page_scan_int (&p, 3, 0), INT64_MIN, INT64_MAX,
              file_size);
        rc = 0;
    }
    page_scan_end (&p);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct page_source *s = NULL;
    struct err err = { "" };
    char path[PATH_MAX];
    uint32_t root;
    int rc;

    fuzz_write (NAME, data, size);
    rc = page_source_open (fuzz_path (path, NAME), &s, &err);
    if (rc < 0) {
        if ((rc != -EBADMSG && rc != -ENOTSUP) || !*err.text)
            abort ();
        return 0;
    }
    (void)page_source_root (s, "t", &root, &err);
    scan_schema (s, size);
    for (root = 0; root < ROOTS && root <= size / 512 + 1; root++) {
        scan (s, root, INT64_MIN, INT64_MAX, size);
        scan (s, root, 3, 100, size);
    }
    page_source_close (s);
    return 0;
}
