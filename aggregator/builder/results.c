/* aggregator/builder/results.c - make the files of a result */
#include "builder/results.h"

#include "base/thread.h"
#include "base/units.h"
#include "builder/build.h"
#include "cluster_db/cluster.h"
#include "cluster_db/cluster_text.h"
#include "html_page/html_page.h"
#include "store/fileio.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

// A thread writes the page while cluster_analysis.db is made.
struct page_task {
    const char *analysis_db;
    const atomic_bool *cancel;
    char temp[PATH_MAX];
    pthread_t thread;
    bool started;               // by a thread that has not been joined yet
    int rc;
    struct err err;
};

struct maker {
    struct publish *out;
    char analysis_db[PATH_MAX]; // a held path, as all that is read here
    unsigned threads;
    const atomic_bool *cancel;
    struct results *ret;
    struct page_task page;
};

static int make_cluster_db (struct maker *m, struct err *err)
{
    struct results *ret = m->ret;
    struct result_file *f = &ret->files[ret->n];
    struct cluster_result made;
    int rc = cluster_make (m->out, m->analysis_db, m->threads, m->cancel,
                           &made, err);

    if (rc < 0)
        return rc;
    memcpy (f->path, made.path, sizeof (f->path));
    memcpy (f->kept, made.kept, sizeof (f->kept));
    ret->n++;
    if (made.links_left_out > 0)
        (void)snprintf (ret->note, sizeof (ret->note), CLUSTER_DB_NAME " lacks "
                        "%llu row%s of links: it is not known which ranks they "
                        "connect",
                        (unsigned long long)made.links_left_out,
                        units_s (made.links_left_out));
    return 0;
}

/* The path that the user knows. */
static int name_file (const struct maker *m, const char *name,
                      struct result_file *f, struct err *err)
{
    const char *dir = m->out->dir.path;

    return fileio_join (f->path, sizeof (f->path), dir, name)
               ? 0 : err_set (err, ENAMETOOLONG, "path is too long: %s", dir);
}

static int make_text (struct maker *m, unsigned i, struct result_file *f,
                      struct err *err)
{
    const char *name = cluster_text_name (i);
    char db[PATH_MAX], temp[PATH_MAX];
    int rc = publish_path (m->out, CLUSTER_DB_NAME, db, err);

    if (rc == 0)
        rc = publish_temp (m->out, name, 0, temp, err);
    if (rc == 0)
        rc = cluster_text_write (i, db, temp, m->cancel, err);
    if (rc == 0)
        rc = name_file (m, name, f, err);
    return rc < 0 ? rc : publish_finish (m->out, temp, name,
                                         cluster_text_is_ours, m->cancel,
                                         f->kept, err);
}

static int make_texts (struct maker *m, struct err *err)
{
    int rc = 0;

    for (unsigned i = 0; i < CLUSTER_TEXTS && rc == 0; i++) {
        rc = make_text (m, i, &m->ret->files[m->ret->n], err);
        if (rc == 0)
            m->ret->n++;
    }
    return rc;
}

/* ---- the page ---- */

static void *write_page (void *arg)
{
    struct page_task *t = arg;

    t->rc = page_write (t->analysis_db, t->temp, t->cancel, &t->err);
    return NULL;
}

static void wait_page (struct page_task *t)
{
    if (t->started)
        (void)pthread_join (t->thread, NULL);
    t->started = false;
}

/* If no thread can be started, the page is written in sequence. */
static void begin_page (struct maker *m)
{
    struct page_task *t = &m->page;

    t->analysis_db = m->analysis_db;
    t->cancel = m->cancel;
    t->rc = publish_temp (m->out, PAGE_NAME, 0, t->temp, &t->err);
    t->started = t->rc == 0 && m->threads > 1 &&
                 thread_start (&t->thread, write_page, t) == 0;
}

static int make_page (struct maker *m, struct err *err)
{
    struct result_file *f = &m->ret->files[m->ret->n];
    struct page_task *t = &m->page;
    int rc;

    if (t->started)
        wait_page (t);
    else if (t->rc == 0)
        (void)write_page (t);
    if ((rc = t->rc) < 0 && err)
        *err = t->err;
    if (rc == 0)
        rc = name_file (m, PAGE_NAME, f, err);
    if (rc == 0)
        rc = publish_finish (m->out, t->temp, PAGE_NAME, page_is_ours,
                             m->cancel, f->kept, err);
    m->ret->n += rc == 0;
    return rc;
}

/* ---- which files are wanted ---- */

static const struct {
    const char *name;
    enum results_wanted bit;
    // beside analysis.db
    int (*make) (struct maker *m, struct err *err);
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

static int results_refuse (const char *name, size_t n, struct err *err)
{
    char names[256] = "";

    for (size_t i = 0, used = 0; i < KINDS; i++)
        used += (size_t)snprintf (names + used, sizeof (names) - used, "%s%s",
                                  i ? ", " : "", kinds[i].name);
    return err_set (err, EINVAL, "\"%.*s\" is not a result (%s)",
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
            return results_refuse (list, n, err);
        wanted |= bit;
        if (bit == RESULTS_TEXT)
            wanted |= RESULTS_CLUSTER_DB;
        if (list[n] == '\0')
            break;
    }
    *ret = wanted;
    return 0;
}

int results_make (unsigned wanted, struct publish *out, unsigned threads,
                  const atomic_bool *cancel, struct results *ret,
                  struct err *err)
{
    struct maker m = { .out = out, .threads = threads, .cancel = cancel,
                       .ret = ret };
    int rc = publish_path (out, BUILD_DB_NAME, m.analysis_db, err);

    memset (ret, 0, sizeof (*ret));
    if (rc == 0 && (wanted & RESULTS_PAGE))
        begin_page (&m);
    for (size_t i = 0; i < KINDS && rc == 0; i++) {
        if (!(wanted & kinds[i].bit) || !kinds[i].make)
            continue;
        rc = kinds[i].make (&m, err);
        if (rc < 0)
            (void)err_prefix (err, rc, "%s", kinds[i].name);
    }
    wait_page (&m.page);
    publish_tell (out, err);
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
    json_add_nonempty (j, "files_note", r->note);
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
