/* aggregator/fsck/check_results.c - compare results with the digests of the
 * ledger */
#include "fsck/check_private.h"

#include "base/vec.h"
#include "publish/publish.h"
#include "publish/rows_digest.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2

struct damaged_results {
    struct check *c;
    char **jobs;
    size_t n;
};

/* A result is a cache: one that was removed is no damage. */
static int check_result (void *arg, const struct ledger_job *j)
{
    struct damaged_results *d = arg;
    struct check *c = d->c;
    struct digest rows;
    struct err why = { "" };
    char path[PATH_MAX];
    int rc;

    if (!ledger_knows_rows (j) ||
        snprintf (path, sizeof (path), "%s/jobs/%s/" PUBLISH_OUTPUT_DIR "/"
                  PUBLISH_DB_NAME, c->root, j->id) >= (int)sizeof (path) ||
        access (path, F_OK) < 0)
        return 0;
    rc = rows_digest (path, THREADS, NULL, &rows, &why);
    if (rc == -ENOMEM)
        return err_set (c->err, ENOMEM, "%s", why.text);
    if (rc == 0 && digest_is (&rows, &j->rows)) {
        c->report->results++;
        return 0;
    }
    check_damage (c, "job %s: its result has other rows than were built%s%s%s",
                  j->id, rc < 0 ? ": " : "", rc < 0 ? why.text : "",
                  c->repair ? "; it is built again" : "");
    return vec_add_text (&d->jobs, &d->n, j->id) < 0
               ? err_set (c->err, ENOMEM, "no memory for jobs") : 0;
}

/* The next start of an aggregator builds them. */
static int forget_results (struct damaged_results *d)
{
    struct ledger *l = NULL;
    char path[PATH_MAX];
    int rc;

    check_ledger_path (d->c, "", path);
    rc = ledger_open (path, &l, d->c->err);
    for (size_t i = 0; i < d->n && rc == 0; i++) {
        rc = ledger_set_built (l, d->jobs[i], 0, NULL, d->c->err);
        d->c->report->repaired += rc == 0;
    }
    ledger_close (l);
    return rc;
}

int check_results (struct check *c)
{
    struct damaged_results d = { .c = c };
    struct ledger *l = NULL;
    char path[PATH_MAX];
    int rc = 0;

    check_ledger_path (c, "", path);
    // one that cannot be read was named already
    if (ledger_open_read (path, &l, NULL) == 0)
        rc = ledger_each_job (l, ITEM_RAW, check_result, &d, c->err);
    ledger_close (l);
    if (rc == 0 && c->repair && d.n > 0)
        rc = forget_results (&d);
    for (size_t i = 0; i < d.n; i++)
        free (d.jobs[i]);
    free (d.jobs);
    return rc;
}
