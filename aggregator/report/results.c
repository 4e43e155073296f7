/* aggregator/report/results.c - the files of a result */
#include "report/results.h"

#include "base/fileio.h"
#include "build/build.h"
#include "derive/cluster.h"
#include "report/cluster_text.h"
#include "report/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int make_cluster_db (struct publish *out, const char *analysis_db,
                            unsigned threads, const atomic_bool *cancel,
                            struct results *ret, struct err *err)
{
    struct result_file *f = &ret->files[ret->n];
    struct cluster_result made;
    int rc = cluster_make (out, analysis_db, threads, cancel, &made, err);

    if (rc < 0)
        return rc;
    memcpy (f->path, made.path, sizeof (f->path));
    memcpy (f->kept, made.kept, sizeof (f->kept));
    ret->n++;
    if (made.links_left_out > 0)
        (void)snprintf (ret->note, sizeof (ret->note), CLUSTER_DB_NAME " is "
                        "without %llu rows of links: nobody knows which ranks "
                        "they are between",
                        (unsigned long long)made.links_left_out);
    return 0;
}

static int make_text (struct publish *out, unsigned i, const char *db,
                      const atomic_bool *cancel, struct result_file *f,
                      struct err *err)
{
    const char *name = cluster_text_name (i);
    char temp[PATH_MAX];
    int rc = publish_temp (out, name, 0, temp, err);

    if (rc == 0)
        rc = cluster_text_write (i, db, temp, cancel, err);
    if (rc == 0 && !fileio_join (f->path, sizeof (f->path), out->dir, name))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", out->dir);
    return rc < 0 ? rc : publish_finish (out, temp, name, cluster_text_is_ours,
                                         f->kept, err);
}

/* From cluster_analysis.db, which is the first of what is made. */
static int make_texts (struct publish *out, const char *analysis_db,
                       unsigned threads, const atomic_bool *cancel,
                       struct results *ret, struct err *err)
{
    int rc = 0;

    (void)analysis_db;
    (void)threads;
    for (unsigned i = 0; i < CLUSTER_TEXTS && rc == 0; i++) {
        rc = make_text (out, i, ret->files[0].path, cancel,
                        &ret->files[ret->n], err);
        if (rc == 0)
            ret->n++;
    }
    return rc;
}

static int make_page (struct publish *out, const char *analysis_db,
                      unsigned threads, const atomic_bool *cancel,
                      struct results *ret, struct err *err)
{
    struct result_file *f = &ret->files[ret->n];
    int rc = page_make (out, analysis_db, PAGE_NAME, cancel, f->kept, err);

    (void)threads;
    if (rc == 0 && !fileio_join (f->path, sizeof (f->path), out->dir,
                                 PAGE_NAME))
        rc = err_set (err, ENAMETOOLONG, "path is too long: %s", out->dir);
    ret->n += rc == 0;
    return rc;
}

static const struct {
    const char *name;
    enum results_wanted bit;
    // beside analysis.db
    int (*make) (struct publish *out, const char *analysis_db,
                 unsigned threads, const atomic_bool *cancel,
                 struct results *ret, struct err *err);
} kinds[] = {
    { BUILD_DB_NAME, RESULTS_ANALYSIS_DB, NULL },
    { CLUSTER_DB_NAME, RESULTS_CLUSTER_DB, make_cluster_db },
    { "text", RESULTS_TEXT, make_texts },
    { PAGE_NAME, RESULTS_PAGE, make_page },     // the texts need the first file
};

#define KINDS (sizeof (kinds) / sizeof (kinds[0]))

static unsigned bit_of (const char *name, size_t n)
{
    for (size_t i = 0; i < KINDS; i++) {
        if (strlen (kinds[i].name) == n &&
            memcmp (kinds[i].name, name, n) == 0)
            return kinds[i].bit;
    }
    return 0;
}

static int refuse (const char *name, size_t n, struct err *err)
{
    char names[256] = "";

    for (size_t i = 0, used = 0; i < KINDS; i++)
        used += (size_t)snprintf (names + used, sizeof (names) - used, "%s%s",
                                  i ? ", " : "", kinds[i].name);
    return err_set (err, EINVAL, "\"%.*s\" is not among the results (%s)",
                    n < 100 ? (int)n : 100, name, names);
}

int results_parse (const char *list, unsigned *ret, struct err *err)
{
    unsigned wanted = RESULTS_ANALYSIS_DB, bit;

    if (!list) {
        *ret = RESULTS_DEFAULT;
        return 0;
    }
    for (size_t n;; list += n + 1) {
        n = strcspn (list, ",");
        if ((bit = bit_of (list, n)) == 0)
            return refuse (list, n, err);
        wanted |= bit;
        if (bit == RESULTS_TEXT)
            wanted |= RESULTS_CLUSTER_DB;
        if (list[n] == '\0')
            break;
    }
    *ret = wanted;
    return 0;
}

int results_make (unsigned wanted, struct publish *out,
                  const char *analysis_db, unsigned threads,
                  const atomic_bool *cancel, struct results *ret,
                  struct err *err)
{
    int rc = 0;

    memset (ret, 0, sizeof (*ret));
    for (size_t i = 0; i < KINDS && rc == 0; i++) {
        if (!(wanted & kinds[i].bit) || !kinds[i].make)
            continue;
        rc = kinds[i].make (out, analysis_db, threads, cancel, ret, err);
        if (rc < 0)
            (void)err_prefix (err, rc, "%s", kinds[i].name);
    }
    return rc;
}

void results_to_json (const struct results *r, struct json *j)
{
    struct json *files = json_add_array (j, "files");
    struct json *kept = json_add_array (j, "kept_files");

    for (size_t i = 0; i < r->n; i++) {
        json_push_text (files, r->files[i].path);
        if (r->files[i].kept[0])
            json_push_text (kept, r->files[i].kept);
    }
    json_add_text (j, "files_note", r->note[0] ? r->note : NULL);
}

void results_from_json (struct results *r, const struct json *j)
{
    const struct json *f = json_first (json_get (j, "files"));
    const struct json *k = json_first (json_get (j, "kept_files"));

    memset (r, 0, sizeof (*r));
    for (; f && r->n < RESULTS_FILES_MAX; f = json_next (f), r->n++)
        (void)snprintf (r->files[r->n].path, PATH_MAX, "%s",
                        json_text (f, ""));
    for (size_t i = 0; k && i < r->n; k = json_next (k), i++)
        (void)snprintf (r->files[i].kept, PATH_MAX, "%s", json_text (k, ""));
    (void)snprintf (r->note, sizeof (r->note), "%s",
                    json_text (json_get (j, "files_note"), ""));
}
