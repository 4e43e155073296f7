/* tests/fuzz/fuzz_spool.c - the ledger of an agent's spool
 *
 * The input becomes its ledger.db (fuzz_db.h).  Of the first byte bit 2 says
 * that the checksums of all rows are made right.  Whatever comes: an agent can use the spool, what it
 * takes out of it is as its members say, and a repaired spool is in order.
 */
#include "fuzz_db.h"
#include "disk/release.h"
#include "spool/check_spool.h"
#include "spool/release_rows.h"
#include "spool/spool_private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#define SPOOL "spool"
#define LEDGER SPOOL "/ledger.db"
#define ROWS "0123456789"
#define ITEMS_MAX 200           // that are taken out

static void require (int rc)
{
    if (rc < 0)
        abort ();
}

static void hash_rows (struct content_hash *h)
{
    content_hash_init (h);
    require (content_hash_add (h, ROWS, strlen (ROWS)));
}

/* ---- spools that are in order ---- */

static void add_capture (struct spool *s, const char *path)
{
    char none[] = "", big[] = "big", file[PATH_MAX];
    struct spool_new items[2] = {
        { .kind = ITEM_ROWS, .own = true, .path = none,
          .size = strlen (ROWS) },
        { .kind = ITEM_RAW, .number = 1, .path = big,
          .size = CONTENT_CHUNK + 1 },
    };
    struct buf manifest;
    uint64_t id;

    hash_rows (&items[0].hash);
    hash_rows (&items[1].hash);
    require (content_hash_add (&items[1].hash, "x", 1));
    require (spool_settle (s, path, "v1", &id, NULL));
    require (spool_file (s, id, 0, file, NULL));
    fuzz_write (file + strlen (fuzz_dir ()) + 1, ROWS, strlen (ROWS));
    require (spool_seal (s, id, path + 1, 2, items, 2,
                         (struct spool_left_out){ 0 }, NULL, NULL));
    buf_init (&manifest, 100);
    buf_put (&manifest, "1 2\0big\0" "1 2 3", 14);
    require (spool_add_release (s, path, RELEASE_ALL_SEALED, 2, &manifest, 5,
                                NULL));
    buf_fini (&manifest);
    content_hash_fini (&items[0].hash);
    content_hash_fini (&items[1].hash);
}

static struct fuzz_base make_base (void)
{
    struct fuzz_base base = fuzz_base_of_sql (
        "PRAGMA page_size=512;CREATE TABLE t (a);DROP TABLE t");
    const char *seen = "/seen_pt";
    struct spool *s = NULL;
    char path[PATH_MAX];

    fuzz_remove (SPOOL);
    fuzz_mkdir (SPOOL);
    fuzz_write (LEDGER, base.data, base.size);
    free (base.data);
    require (spool_open (fuzz_path (path, SPOOL), &s, NULL));
    require (spool_seen (s, &seen, 1, NULL));
    add_capture (s, "/a_pt");
    add_capture (s, "/b_pt");
    require (spool_durable (s, &(uint64_t){ 3 }, 1, NULL));
    require (spool_keep_report (s, 2, "hello", "{}", NULL));
    require (spool_keep_note (s, "clock", "{}", NULL));
    spool_close (s);
    base.data = fuzz_read (LEDGER, &base.size);
    return base;
}

static void restore (void)
{
    fuzz_remove (SPOOL);
    fuzz_mkdir (SPOOL "/items/0");
    fuzz_write (SPOOL "/items/0/2-0", ROWS, strlen (ROWS));
}

/* ---- making it right ---- */

static void make_right (const char *dir)
{
    static const char *const sql[] = {
        "UPDATE capture SET key=row_sum(path)",
        "UPDATE capture SET sum=" CAPTURE_SUM ("fingerprint", "key", "name",
                                               "rank", "state", "open"),
        "UPDATE item SET sum=" ITEM_SUM ("state", "at", "why"),
        "UPDATE chunks SET sum=row_sum('h', item, first, hashes)",
        "UPDATE said SET sum=row_sum('s', rank, type, packet)",
        "UPDATE note SET sum=row_sum('n', name, text)",
        "UPDATE tally SET sum=row_sum('t', kind, state, items, bytes)",
    };
    struct spool *s = spool_new_struct (dir, NULL);

    if (!s)
        abort ();
    if (spool_ledger_open (s, NULL) == 0) {
        for (size_t i = 0; i < sizeof (sql) / sizeof (sql[0]); i++)
            (void)sqlite3_exec (s->db, sql[i], NULL, NULL, NULL);
    }
    spool_close (s);
}

/* ---- using it ---- */

static void on_again (void *arg, const char *path, const char *why)
{
    size_t *n = arg;

    *n += strlen (path) + strlen (why);
}

static void on_said (void *arg, int64_t rank, const char *packet)
{
    size_t *n = arg;

    (void)rank;
    *n += packet ? strlen (packet) : 0;
}

static void on_vanished (void *arg, const char *path)
{
    size_t *n = arg;

    *n += strlen (path);
}

static void take_items (struct spool *s, enum item_kind kind)
{
    struct spool_item item = { .id = 0 };
    struct digest *hashes = malloc (SPOOL_SEGMENT * sizeof (*hashes));

    if (!hashes)
        abort ();
    for (unsigned i = 0; i < ITEMS_MAX; i++) {
        uint64_t before = item.id;
        int rc = spool_next (s, kind, item.id, &item, NULL);

        if (rc <= 0)
            break;
        if (item.kind != kind || (int64_t)item.id <= (int64_t)before ||
            !state_is_offered (item.state) || strlen (item.file) >= PATH_MAX)
            abort ();
        (void)spool_hashes (s, item.id, 0, hashes, NULL);
        spool_offered (s, item.id);
        spool_transferring (s, item.id, 5);
        if (i % 2)
            (void)spool_durable (s, &item.id, 1, NULL);
        else if (item.state == SPOOL_ASKED)
            (void)spool_lost (s, &item.id, 1, NULL);
        else
            (void)spool_gone (s, item.id, SPOOL_HAS_CHANGED, "why", NULL);
    }
    free (hashes);
}

static void take_releases (struct spool *s)
{
    for (int state = RELEASE_KEPT; state <= RELEASE_KEPT_ROWS; state++) {
        struct released r;

        if (spool_next_release (s, (enum release_state)state, 0, INT64_MAX,
                                &r, NULL) <= 0)
            continue;
        (void)release_claims (s, r.path, true);
        (void)spool_change_release (s, &r, RELEASE_REMOVE, NULL, NULL);
        (void)spool_change_release (s, &r, RELEASE_REMOVED, NULL, NULL);
        buf_fini (&r.manifest);
    }
}

static void redeliver (struct spool *s)
{
    struct spool_redelivery r = { 0 };

    if (spool_begin_redelivery (s, 0, NULL) < 0)
        return;
    while (spool_redeliver (s, &r, NULL) == 1)
        ;
}

static void use (const char *dir)
{
    struct err err = { "" };
    struct spool *s = NULL;
    size_t n = 0;
    char text[64];
    uint64_t id;
    int rc = spool_open (dir, &s, &err);

    if (rc < 0 && !err.text[0])
        abort ();
    if (rc < 0)
        return;
    spool_on_reseal (s, on_again, &n);
    (void)spool_find_gone (s, on_vanished, &n, NULL);
    (void)spool_each_report (s, on_said, &n, NULL);
    (void)spool_note (s, "clock", text, sizeof (text));
    (void)spool_knows (s, "/a_pt", "v1");
    (void)spool_has_rank (s, 2);
    take_releases (s);
    take_items (s, ITEM_ROWS);
    take_items (s, ITEM_RAW);
    if (spool_undelivered (s) > 0)
        (void)spool_recount (s, NULL);
    if (spool_settle (s, "/c_pt", "v1", &id, NULL) == 0)
        spool_unsettle (s, id);
    redeliver (s);
    take_items (s, ITEM_ROWS);
    take_items (s, ITEM_RAW);
    (void)spool_each_lost (s, NULL, NULL, NULL);
    spool_close (s);
}

static void on_fault (void *arg, const char *file, const char *what,
                      const char *done)
{
    (void)snprintf (arg, ERR_TEXT_MAX, "%s: %s: %s", file, what, done);
}

static void repair (const char *dir)
{
    struct err err = { "" };
    char fault[ERR_TEXT_MAX] = "";
    int rc = spool_check (dir, true, on_fault, fault, &err);

    // another version, which is left alone; or what SQLite takes for a full
    // disk or a lack of memory, though it is damage
    if (rc == -ENOTSUP || rc == -ENOSPC || rc == -ENOMEM)
        return;
    if (rc >= 0 && spool_check (dir, false, on_fault, fault, &err) == 0)
        return;
    fprintf (stderr, "check: %s; %s\n", err.text, fault);
    abort ();
}

static void put (const uint8_t *data, size_t size)
{
    static struct fuzz_base base;
    char path[PATH_MAX];
    unsigned how = size ? data[0] : 0;

    if (!base.data)
        base = make_base ();
    restore ();
    fuzz_db_write (LEDGER, base, data, size);
    if (how & 4)
        make_right (fuzz_path (path, SPOOL));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char dir[PATH_MAX];

    (void)fuzz_path (dir, SPOOL);
    put (data, size);
    use (dir);
    put (data, size);
    repair (dir);
    return 0;
}
