/* tests/fuzz/fuzz_ledger.c - the ledger of an aggregator's root
 *
 * The input becomes its ledger.db (fuzz_db.h); with bit 2 of the first byte
 * the checksums of all rows are made right, as one would who wants to be
 * believed.  Whatever comes: reading it ends, nothing is written outside of
 * the place that was named, and a repaired root is in order.
 */
#include "archive/archive_items.h"
#include "job_build/job_build.h"
#include "fsck/check_root.h"
#include "fuzz_root.h"
#include "ledger/ledger_private.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define LEDGER FUZZ_ROOT "/ledger.db"
#define OUT "out"

/* ---- making it right ---- */

static int64_t sum_of_item (sqlite3_stmt *st)
{
    struct ledger_item i = { .lost = false };
    int64_t seq, superseded;

    db_columns (st, seq, i.job, i.kind, i.rank, i.capture, i.path, i.host,
                i.content, superseded, i.received_ns, i.newest_ns);
    return ledger_item_sum (&i);
}

static int64_t sum_of_job (sqlite3_stmt *st)
{
    char id[MESSAGE_NAME_MAX];
    int64_t size, built;
    struct digest rows;

    db_columns (st, id, size, built, rows);
    return ledger_job_sum (id, size, built, &rows);
}

static int64_t sum_of_content (sqlite3_stmt *st)
{
    struct ledger_place p;
    struct digest id;

    db_columns (st, id, p.segment, p.offset, p.stored, p.size, p.form);
    return ledger_content_sum (&id, &p);
}

static int64_t sum_of_segment (sqlite3_stmt *st)
{
    int64_t segment;
    uint64_t end;

    db_columns (st, segment, end);
    return ledger_segment_sum (segment, end);
}

static const struct {
    const char *get, *set;      // by the first column
    int64_t (*sum) (sqlite3_stmt *st);
    bool total;
    int superseded;             // its column, 0: none
} tables[] = {
    { "SELECT seq, job, kind, rank, capture, path, host, content, superseded, "
      "received_ns, newest_ns FROM item LIMIT 100",
      "UPDATE item SET sum=?1 WHERE seq=?2", sum_of_item, true, 8 },
    { "SELECT id, world_size, built FROM job LIMIT 100",
      "UPDATE job SET sum=?1 WHERE id=?2", sum_of_job, true, 0 },
    { "SELECT id, segment, offset, stored, size, form FROM content LIMIT 100",
      "UPDATE content SET sum=?1 WHERE id=?2", sum_of_content, false, 0 },
    { "SELECT number, end FROM segment LIMIT 100",
      "UPDATE segment SET sum=?1 WHERE number=?2", sum_of_segment, false, 0 },
};

static void make_right (const char *path)
{
    struct ledger_total total = { 0, 0 };
    sqlite3 *db = NULL;

    if (sqlite3_open (path, &db) != SQLITE_OK)
        abort ();
    for (size_t i = 0; i < sizeof (tables) / sizeof (tables[0]); i++) {
        sqlite3_stmt *get = NULL, *set = NULL;

        (void)sqlite3_prepare_v2 (db, tables[i].get, -1, &get, NULL);
        (void)sqlite3_prepare_v2 (db, tables[i].set, -1, &set, NULL);
        while (get && set && sqlite3_step (get) == SQLITE_ROW) {
            int64_t sum = tables[i].sum (get);

            total.rows += tables[i].total;
            total.sum += tables[i].total ? (uint64_t)sum : 0;
            if (tables[i].superseded &&
                sqlite3_column_int64 (get, tables[i].superseded) == 1)
                sum = ~sum;
            (void)sqlite3_bind_int64 (set, 1, sum);
            (void)sqlite3_bind_value (set, 2, sqlite3_column_value (get, 0));
            (void)sqlite3_step (set);
            (void)sqlite3_reset (set);
        }
        (void)sqlite3_finalize (get);
        (void)sqlite3_finalize (set);
    }
    (void)db_execf (db, NULL, "INSERT OR REPLACE INTO total (id, rows, total, "
                    "sum) VALUES (1,%lld,%lld,%lld)", (long long)total.rows,
                    (long long)total.sum,
                    (long long)ledger_total_sum (&total));
    (void)sqlite3_close (db);
}

/* ---- using it ---- */

static void look_at (struct archive *a, const char *job)
{
    struct archive_items list;
    struct ledger_item item;
    struct ledger_summary sum;
    struct raw_tree *tree = NULL;
    atomic_bool cancel = false;
    struct job_build *b;
    struct tree to;
    char path[PATH_MAX];

    if (tree_open (&to, fuzz_dir (), NULL) < 0)
        abort ();
    (void)archive_list (a, job, NULL, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        archive_item (&list, i, &item);
        (void)archive_check (a, &item, NULL);
        (void)archive_get (a, &item, &to, "got", false, NULL);
        (void)unlinkat (to.fd, "got", 0);
    }
    archive_items_fini (&list);
    tree_close (&to);
    (void)ledger_summary (a->ledger, job, &sum, NULL);
    (void)ledger_world_size (a->ledger, job);
    (void)job_build_create (a->ledger, a->store, job, 1, &b, NULL);
    job_build_destroy (b);
    if (raw_tree_create (a->ledger, a->store, job, &tree, NULL) == 0) {
        raw_tree_choose (tree, NULL, NULL);
        fuzz_mkdir (OUT);
        if (tree_open (&to, fuzz_path (path, OUT), NULL) < 0)
            abort ();
        (void)raw_tree_put (tree, &to, &cancel, NULL);
        tree_close (&to);
    }
    raw_tree_destroy (tree);
}

static void read_it (const char *root)
{
    struct err err = { "" };
    char **jobs = NULL;
    struct archive a;
    size_t n = 0;
    int rc = archive_open (root, &a, &err);

    if (rc < 0 && !err.text[0])
        abort ();
    if (rc < 0)
        return;
    (void)archive_jobs (&a, &jobs, &n, NULL);
    for (size_t i = 0; i < n; i++) {
        if (i < 20)
            look_at (&a, jobs[i]);
        free (jobs[i]);
    }
    free (jobs);
    archive_close (&a);
}

static int serve (const char *root, struct err *err)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];
    int rc = ledger_open (fuzz_path (path, LEDGER), &l, err);

    if (rc == 0)
        rc = store_open (root, l, &s, err);
    if (rc < 0 && !err->text[0])
        abort ();
    store_close (s);
    ledger_close (l);
    return rc;
}

static void say (void *arg, const char *sentence)
{
    (void)snprintf (arg, ERR_TEXT_MAX, "%s", sentence);
}

static void repair (const char *root)
{
    char said[ERR_TEXT_MAX] = "";
    struct err err = { "" };

    for (int i = 0; i < 2; i++) {
        struct check_report report = { .say = say, .arg = said };
        int rc = store_check (root, i == 0, &report, &err);

        if (rc == -ENOTSUP && i == 0)
            return;             // a newer version: left alone
        if (rc == -ENOMEM && i == 0)
            return;             // what SQLite says of some damaged schemas, too
        if (rc == 0 && (i == 0 || report.damaged == 0))
            continue;
        fprintf (stderr, "check %d: %s; %s\n", i, err.text, said);
        abort ();
    }
    if (serve (root, &err) == 0)
        return;
    fprintf (stderr, "it cannot be served: %s\n", err.text);
    abort ();
}

/* Nothing was written beside the places that are there to be written to. */
static void look_around (void)
{
    DIR *dir = opendir (fuzz_dir ());
    struct dirent *e;
    int rc;

    if (!dir)
        abort ();
    while ((e = fileio_next_entry (dir, &rc))) {
        if (strcmp (e->d_name, FUZZ_ROOT) != 0 &&
            strcmp (e->d_name, OUT) != 0)
            abort ();
    }
    (void)closedir (dir);
}

static void put (const uint8_t *data, size_t size)
{
    const struct fuzz_root *r = fuzz_root ();
    char path[PATH_MAX];

    fuzz_root_restore ();
    fuzz_write (FUZZ_SEGMENT, r->segment.data, r->segment.size);
    fuzz_db_write (LEDGER, r->ledger, data, size);
    if (size && (data[0] & 4))
        make_right (fuzz_path (path, LEDGER));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct err err = { "" };
    char root[PATH_MAX];

    (void)fuzz_path (root, FUZZ_ROOT);
    put (data, size);
    fuzz_remove (OUT);
    read_it (root);
    (void)serve (root, &err);
    put (data, size);
    repair (root);
    look_around ();
    return 0;
}
