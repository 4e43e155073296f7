/* tests/bench/make_root.c - a root of many jobs, whose results are one file
 *
 * make_root ROOT JOBS RANKS ANALYSIS_DB: the ledger has one shipment of each
 * rank, of contents that no segment has; each result is a link to ANALYSIS_DB,
 * which has to be on the same disk.  Every seventh job has tags.
 */
#include "ledger/ledger.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOUR_NS INT64_C (3600000000000)

static int add_rank (struct ledger *l, const char *job, int i, int rank,
                     struct err *err)
{
    struct ledger_item item = { .kind = ITEM_ROWS, .rank = rank,
                                .received_ns = INT64_C (1790000000000000000) +
                                               i * HOUR_NS };
    int rc;

    PRINT (item.job, "%s", job);
    PRINT (item.capture, "host%d_%d_ascend_pt", rank / 8, rank);
    PRINT (item.host, "host%d", rank / 8);
    memcpy (item.content.bytes, &i, sizeof (i));
    memcpy (item.content.bytes + sizeof (i), &rank, sizeof (rank));
    item.place = (struct ledger_place){ .segment = 1, .size = 10000,
                                        .stored = 10000 };
    rc = ledger_add_content (l, &item.content, &item.place, err);
    return rc < 0 ? rc : ledger_add_item (l, &item, err);
}

static int add_fact (struct ledger *l, const char *job, const char *key,
                     const char *value, struct err *err)
{
    struct ledger_fact f = { .at_ns = 1 };

    PRINT (f.job, "%s", job);
    PRINT (f.key, "%s", key);
    PRINT (f.value, "%s", value);
    return ledger_set_fact (l, &f, err);
}

static int link_result (const char *root, const char *job, const char *db,
                        struct err *err)
{
    char dir[PATH_MAX], path[PATH_MAX];
    int rc;

    PRINT (dir, "%s/jobs/%s/cluster_analysis_output", root, job);
    PRINT (path, "%.*s/analysis.db", PATH_MAX - 16, dir);
    if ((rc = fileio_mkdirs (dir, FILEIO_DIR_MODE, err)) < 0)
        return rc;
    return link (db, path) < 0 ? err_sys (err, errno, "cannot link %s", path)
                               : 0;
}

static int add_job (struct ledger *l, const char *root, int i, int ranks,
                    const char *db, struct err *err)
{
    char job[64], user[16];
    int rc = 0;

    PRINT (job, "job-%05d", i);
    PRINT (user, "user%d", i % 20);
    for (int rank = 0; rank < ranks && rc >= 0; rank++)
        rc = add_rank (l, job, i, rank, err);
    if (rc >= 0)
        rc = ledger_set_built (l, job, ledger_newest (l, job, ITEM_ROWS), NULL,
                               err);
    if (rc >= 0)
        rc = add_fact (l, job, FACT_USER, user, err);
    if (rc >= 0 && i % 7 == 0)
        rc = add_fact (l, job, FACT_TAG, i % 2 ? "nightly" : "gpt3", err);
    return rc < 0 ? rc : link_result (root, job, db, err);
}

int main (int argc, char **argv)
{
    struct err err = { "" };
    struct ledger *l = NULL;
    char path[PATH_MAX];
    int rc;

    if (argc != 5) {
        (void)fputs ("usage: make_root ROOT JOBS RANKS ANALYSIS_DB\n", stderr);
        return 2;
    }
    PRINT (path, "%s/ledger.db", argv[1]);
    if ((rc = fileio_mkdirs (argv[1], FILEIO_DIR_MODE, &err)) == 0 &&
        (rc = ledger_open (path, &l, &err)) == 0)
        rc = ledger_begin (l, &err);
    for (int i = 0; i < atoi (argv[2]) && rc == 0; i++)
        rc = add_job (l, argv[1], i, atoi (argv[3]), argv[4], &err);
    if (rc == 0)
        rc = ledger_commit (l, &err);
    if (rc < 0)
        (void)fprintf (stderr, "make_root: %s\n", err.text);
    ledger_close (l);
    return rc < 0;
}
