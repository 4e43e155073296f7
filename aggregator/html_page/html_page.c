/* aggregator/html_page/html_page.c - write report.html from a result */
#include "html_page/html_page.h"

#include "base/digest.h"
#include "html_page/page_assets.h"
#include "html_page/page_parts.h"
#include "query/finished.h"
#include "store/db_rows.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARKER "<!DOCTYPE html>\n<!-- rollcall report -->\n"
#define FINDINGS_MAX "300"
#define RANKS_LISTED_MAX "1024"
#define GROUPS_MAX "300"
#define LATE_MAX "200"
#define CAPTURES_MAX "100"

/* Tables that the page shows unchanged. */
static const struct {
    const char *key, *sql;
} tables[] = {
    { "job", "SELECT key, value FROM Job WHERE key NOT LIKE 'unit.%'" },
    { "findings", "SELECT id, severity, kind, step, rank, peer, comm_group,"
      " effect_ms, effect_percent, text, hint, query, rule FROM Finding"
      " ORDER BY id LIMIT " FINDINGS_MAX },
    { "finding_counts", "SELECT severity, count(*) AS n FROM Finding"
      " GROUP BY severity" },
    { "states", "SELECT state, count(*) AS n, sum(expected) AS expected FROM"
      " Roster GROUP BY state" },
    // ranks that need attention are never left out
    { "roll", "SELECT r.rank, r.host, r.device_id, r.state, r.expected,"
      " r.reason, o.ms AS clock_ms FROM Roster r LEFT JOIN (SELECT rank,"
      "  max(CAST(value AS REAL)) AS ms FROM CaptureInfo WHERE kind='clock' AND"
      "  name='offset_ms' GROUP BY rank) o ON o.rank=r.rank"
      " ORDER BY r.state='present', r.rank LIMIT " RANKS_LISTED_MAX },
    { "strays", "SELECT name, host, state, reason FROM Capture WHERE rank IS"
      " NULL ORDER BY id LIMIT " CAPTURES_MAX },
    { "late", "SELECT w.late_rank AS rank, r.host, sum(w.wait_ms) AS wait_ms,"
      " sum(w.ops) AS ops, count(DISTINCT w.waiting_rank) AS waiting,"
      " count(DISTINCT w.step) AS steps, max(abs(w.clock_error_ms)) AS clock_ms,"
      " count(*) OVER () AS late_ranks"
      " FROM Wait w LEFT JOIN Roster r ON r.rank=w.late_rank"
      " GROUP BY w.late_rank ORDER BY 3 DESC, 1 LIMIT " LATE_MAX },
    { "groups", "SELECT g.id, g.pg_name, g.group_id, g.group_name, g.type,"
      " g.size, x.ranks, x.ops, x.ms, x.wait_ms FROM CommGroup g LEFT JOIN"
      " (SELECT comm_group, count(*) AS ranks, sum(ops) AS ops,"
      "  avg(ms) AS ms, avg(wait_ms) AS wait_ms FROM (SELECT comm_group,"
      "   sum(ops) AS ops, sum(elapse_time) AS ms, sum(wait_time) AS wait_ms"
      "   FROM GroupTime GROUP BY comm_group, rank) GROUP BY comm_group) x"
      " ON x.comm_group=g.id ORDER BY x.ms DESC, g.id LIMIT " GROUPS_MAX },
    { "group_count", "SELECT count(*) AS n FROM CommGroup" },
};

static int write_data (struct page *p, struct err *err)
{
    static int (*const parts[]) (struct page *, struct err *) = {
        page_ranks, page_links, page_packets, page_memory,
    };
    int rc = page_fold_make (p->db, &p->fold, err);

    json_out_open (&p->json, '{');
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]) && rc == 0; i++)
        rc = page_json_rows (&p->json, p->db, tables[i].key, tables[i].sql,
                             err);
    for (size_t i = 0; i < sizeof (parts) / sizeof (parts[0]) && rc == 0; i++)
        rc = parts[i] (p, err);
    json_out_close (&p->json, '}');
    return rc;
}

/* Make the page's data as JSON; the caller frees it. */
static int page_collect (const char *analysis_db, const atomic_bool *cancel,
                         char **ret, size_t *size, struct err *err)
{
    struct page p = { .json = { .comma = ",", .colon = ":" } };
    int rc = finished_open_analysis (analysis_db, &p.db, err);

    *ret = NULL;
    if (rc == 0)
        db_cancel (p.db, cancel);
    if (rc == 0 && !(p.json.f = open_memstream (ret, size)))
        rc = err_sys (err, errno, "no memory for the report");
    if (rc == 0)
        rc = finished_judge (p.db, write_data (&p, err), err);
    if (p.json.f && fclose (p.json.f) != 0 && rc == 0)
        rc = err_sys (err, errno, "no memory for the report");
    (void)sqlite3_close (p.db);
    return rc;
}

/* ---- the page around it ---- */

static int put_hash (FILE *f, const struct page_asset *a)
{
    char text[DIGEST_BASE64_SIZE];
    struct digest d;
    int rc = digest_of (a->data, a->size, &d);

    if (rc < 0)
        return rc;
    digest_base64 (&d, text);
    return fprintf (f, " 'sha256-%s'", text) < 0 ? -EIO : 0;
}

static void page_put (FILE *f, const struct page_asset *a)
{
    (void)fwrite (a->data, 1, a->size, f);
}

/* Allow only our own script and style, and load nothing from elsewhere. */
static int put_head (FILE *f)
{
    int rc;

    (void)fputs (MARKER "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\""
                 "default-src 'none'; base-uri 'none'; form-action 'none';"
                 " style-src", f);
    rc = put_hash (f, &page_css);
    (void)fputs ("; script-src", f);
    if (rc == 0)
        rc = put_hash (f, &page_library);
    if (rc == 0)
        rc = put_hash (f, &page_script);
    (void)fputs ("\">\n<meta name=\"viewport\" content=\"width=device-width,"
                 " initial-scale=1\">\n<title>rollcall report</title>\n<style>",
                 f);
    page_put (f, &page_css);
    (void)fputs ("</style>\n</head>\n<body>\n", f);
    return rc;
}

static int put_page (FILE *f, const char *json, size_t n)
{
    int rc = put_head (f);

    page_put (f, &page_body);
    (void)fputs ("<script type=\"application/json\" id=\"data\">", f);
    page_json_embed (f, json, n);
    (void)fputs ("</script>\n<!--\n", f);
    page_put (f, &page_licence);
    (void)fputs ("-->\n<script>", f);
    page_put (f, &page_library);
    (void)fputs ("</script>\n<script>", f);
    page_put (f, &page_script);
    (void)fputs ("</script>\n</body>\n</html>\n", f);
    return rc;
}

/* Make the page as text; the caller frees it. */
static int render (const char *json, size_t n, char **text, size_t *size)
{
    FILE *f = open_memstream (text, size);
    int rc = f ? put_page (f, json, n) : -ENOMEM;

    if (f && ferror (f) && rc == 0)
        rc = -ENOMEM;
    if (f && fclose (f) != 0 && rc == 0)
        rc = -ENOMEM;
    return rc;
}

int page_text (const char *analysis_db, const atomic_bool *cancel,
               char **text, size_t *size, struct err *err)
{
    char *json = NULL;
    size_t n = 0;
    int rc = page_collect (analysis_db, cancel, &json, &n, err);

    *text = NULL;
    *size = 0;
    if (rc == 0 && (rc = render (json, n, text, size)) < 0)
        rc = err_sys (err, -rc, "cannot make a page of %s", analysis_db);
    if (rc == 0 && cancel && atomic_load (cancel))
        rc = err_set (err, EINTR, "interrupted");
    free (json);
    if (rc < 0) {
        free (*text);
        *text = NULL;
    }
    return rc;
}

static int save (const char *path, const char *text, size_t size,
                 struct err *err)
{
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                   FILEIO_FILE_MODE);
    int rc = 0;

    if (fd < 0 || fchmod (fd, FILEIO_FILE_MODE) < 0)
        rc = -errno;
    if (rc == 0 && (rc = fileio_write_all (fd, text, size)) == 0 &&
        fsync (fd) < 0)
        rc = -errno;
    if (fd >= 0 && close (fd) < 0 && rc == 0)
        rc = -errno;
    return rc < 0 ? err_sys (err, -rc, "cannot write %s", path) : 0;
}

int page_write (const char *analysis_db, const char *temp_path,
                const atomic_bool *cancel, struct err *err)
{
    char *text;
    size_t size;
    int rc = page_text (analysis_db, cancel, &text, &size, err);

    if (rc == 0)
        rc = save (temp_path, text, size, err);
    if (rc == 0 && cancel && atomic_load (cancel))
        rc = err_set (err, EINTR, "interrupted");
    free (text);
    return rc;
}

bool page_is_ours (const char *path)
{
    return fileio_has_bytes (AT_FDCWD, path, 0, MARKER, sizeof (MARKER) - 1);
}

int page_make (struct publish *p, const char *analysis_db, const char *name,
               const atomic_bool *cancel, char kept[PATH_MAX],
               struct err *err)
{
    char temp[PATH_MAX];
    int rc;

    kept[0] = '\0';
    rc = publish_temp (p, PAGE_NAME, 0, temp, err);
    if (rc == 0)
        rc = page_write (analysis_db, temp, cancel, err);
    if (rc == 0)
        rc = publish_finish (p, temp, name, page_is_ours, cancel, kept, err);
    publish_tell (p, err);
    return rc;
}
