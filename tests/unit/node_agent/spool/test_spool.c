/* tests/unit/node_agent/spool/test_spool.c - what is sealed stays, whatever
 * happens */
#include "node_agent/spool/spool_check.h"

#include "spool/manifest.h"
#include "spool/release_rows.h"
#include "spool/spool_private.h"

static uint64_t items_in (struct fixture *f, enum item_kind kind,
                          enum spool_state state)
{
    return spool_tally (f->s, kind, state).items;
}

static void next_is (struct fixture *f, enum item_kind kind, uint64_t after,
                     struct spool_item *got)
{
    assert_int_equal (spool_next (f->s, kind, after, got, NULL), 1);
    assert_int_equal (got->kind, kind);
}

static void none_left (struct fixture *f)
{
    struct spool_item got;

    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 0);
    assert_int_equal (spool_next (f->s, ITEM_RAW, 0, &got, NULL), 0);
    assert_int_equal (spool_undelivered (f->s), 0);
}

/* Starting again needs nothing but the directory. */
static void test_survives (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;

    (void)spool_put (f, f->raw, "v1", "1234567", "raw bytes", false);
    spool_reopen (f);
    assert_int_equal (spool_undelivered (f->s), 2);
    assert_true (spool_knows (f->s, f->raw, "v1"));
    assert_false (spool_knows (f->s, f->raw, "v2"));
    assert_true (spool_has_rank (f->s, 2));
    assert_false (spool_has_rank (f->s, 3));
    next_is (f, ITEM_ROWS, 0, &got);
    assert_int_equal (got.rank, 2);
    assert_int_equal (got.size, 7);
    assert_string_equal (got.capture, "a_pt");
    assert_int_equal (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL), 0);
    next_is (f, ITEM_RAW, 0, &got);
    assert_string_equal (got.path, "x");
    assert_int_equal (spool_next (f->s, ITEM_RAW, got.id, &got, NULL), 0);
}

/* Acknowledged: our own files go, the user's stays, and it is never offered
 * again, not even after a restart.
 */
static void test_durable (void **state)
{
    struct fixture *f = *state;
    struct spool_item rows, raw;
    char original[PATH_MAX];
    uint64_t ids[2];

    (void)spool_put (f, f->raw, "v1", "1234567", "raw", true);
    assert_int_equal (spool_files (f, "items"), 2);
    next_is (f, ITEM_ROWS, 0, &rows);
    next_is (f, ITEM_RAW, 0, &raw);
    ids[0] = rows.id;
    ids[1] = raw.id;
    assert_int_equal (spool_durable (f->s, ids, 2, NULL), 0);
    assert_int_equal (spool_durable (f->s, ids, 2, NULL), 0);   // twice
    assert_int_equal (spool_files (f, "items"), 0);
    (void)snprintf (original, sizeof (original), "%s/x", f->raw);
    assert_int_equal (access (original, F_OK), 0);
    none_left (f);
    spool_reopen (f);
    none_left (f);
    assert_int_equal (items_in (f, ITEM_ROWS, SPOOL_RELEASED), 1);
    assert_true (spool_knows (f->s, f->raw, "v1"));
    assert_int_equal (spool_check (f->spool, false, NULL, NULL, NULL), -EBUSY);
}

/* A link keeps a file that its owner deletes. */
static void test_linked (void **state)
{
    struct fixture *f = *state;
    struct spool_item raw;
    char original[PATH_MAX];

    (void)spool_put (f, f->raw, "v1", "1", "raw", true);
    (void)snprintf (original, sizeof (original), "%s/x", f->raw);
    assert_int_equal (unlink (original), 0);
    next_is (f, ITEM_RAW, 0, &raw);
    assert_true (raw.own);
    assert_int_equal (access (raw.file, F_OK), 0);
}

/* What is not linked is read where it lies, also what is beside the capture: no
 * path goes through "..".
 */
static void test_beside (void **state)
{
    static const char *const paths[] = { "capture_op_args/x", "x_op_args/x",
                                         "capture_op_args" };
    static const char *const below[] = { "", "/capture", "/capture" };
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof (paths) / sizeof (paths[0]); i++) {
        char version[8], path[64], file[PATH_MAX];
        struct spool_item raw;
        uint64_t id;

        (void)snprintf (version, sizeof (version), "v%zu", i);
        (void)snprintf (path, sizeof (path), "%s", paths[i]);
        (void)snprintf (file, sizeof (file), "%s%s/%s", f->dir, below[i],
                        paths[i]);
        assert_int_equal (spool_settle (f->s, f->raw, version, &id, NULL), 0);
        spool_seal_raw (f, id, path);
        next_is (f, ITEM_RAW, 0, &raw);
        assert_string_equal (raw.file, file);
        assert_int_equal (spool_durable (f->s, &raw.id, 1, NULL), 0);
    }
}

/* The states that people see, and what is no state of an item any more. */
static void test_states (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;

    (void)spool_put (f, f->raw, "v1", "1", "raw", false);
    next_is (f, ITEM_RAW, 0, &got);
    assert_int_equal (got.state, SPOOL_SEALED);
    spool_offered (f->s, got.id);
    spool_transferring (f->s, got.id, 64 << 20);
    spool_reopen (f);
    next_is (f, ITEM_RAW, 0, &got);
    assert_int_equal (got.state, SPOOL_TRANSFERRING);
    assert_int_equal (items_in (f, ITEM_RAW, SPOOL_TRANSFERRING), 1);
    assert_int_equal (spool_gone (f->s, got.id, SPOOL_HAS_CHANGED, "w", NULL),
                      0);
    spool_offered (f->s, got.id);       // late
    spool_reopen (f);
    assert_int_equal (items_in (f, ITEM_RAW, SPOOL_CHANGED), 1);
    assert_int_equal (spool_undelivered (f->s), 1);
}

/* More advice than there is room for is written down on the way. */
static void test_advice (void **state)
{
    struct fixture *f = *state;
    struct spool_item got = { .id = 0 };

    for (int i = 0; i < ADVICE_MAX + 36; i++) {
        char path[64];

        (void)snprintf (path, sizeof (path), "/capture%d", i);
        (void)spool_put (f, path, "v", "rows", NULL, false);
    }
    while (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL) == 1)
        spool_offered (f->s, got.id);
    assert_true (items_in (f, ITEM_ROWS, SPOOL_OFFERED) >= ADVICE_MAX);
    spool_reopen (f);
    assert_int_equal (items_in (f, ITEM_ROWS, SPOOL_OFFERED), ADVICE_MAX + 36);
    assert_int_equal (spool_undelivered (f->s), ADVICE_MAX + 36);
}

/* What an OFFER says of the date of the rows of a capture. */
static int64_t date_of (struct fixture *f, uint64_t capture)
{
    struct spool_item got = { .id = 0 };

    while (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL) == 1) {
        if (got.capture_id == capture)
            return got.newest_ns;
    }
    fail_msg ("nothing of capture %d", (int)capture);
    return 0;
}

/* Two directories of one name pass for versions of a capture: that is told, and
 * neither may be removed.  Of the same date, they would be mixed.
 */
static void test_twins (void **state)
{
    static const char version[] = "5/100/7000/0", other[] = "5/101/7000/0";
    struct fixture *f = *state;
    char path[PATH_MAX];
    struct released r;
    struct buf manifest;
    struct spool_item got;
    uint64_t a, b, c, d;

    a = spool_put (f, "/epoch0/rank_0", version, "rows", NULL, false);
    assert_int_equal (spool_find_name_collision (f->s, a, path, NULL), 0);
    b = spool_put (f, "/copied/rank_0", "5/100/9000/0", "rows", NULL, false);
    assert_int_equal (spool_find_name_collision (f->s, b, path, NULL), 0);
    b = spool_put (f, "/epoch0/rank_1", version, "rows", NULL, false);
    assert_int_equal (spool_find_name_collision (f->s, b, path, NULL), 0);
    buf_init (&manifest, MANIFEST_MAX);
    buf_printf (&manifest, "of a test");
    assert_int_equal (spool_add_release (f->s, "/epoch0/rank_1",
                                         RELEASE_ALL_SEALED, 1, &manifest, 1, NULL), 0);
    buf_fini (&manifest);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 2, &got, NULL), 1);
    assert_int_equal (got.capture_id, b);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, 9, &r, NULL),
                      1);
    assert_null (r.why);
    buf_fini (&r.manifest);
    c = spool_put (f, "/epoch1/rank_1", other, "others", NULL, false);
    assert_int_equal (spool_find_name_collision (f->s, c, path, NULL), 1);
    assert_string_equal (path, "/epoch0/rank_1");
    assert_int_equal (spool_next_release (f->s, RELEASE_KEPT, 0, 9, &r, NULL),
                      1);
    assert_non_null (r.why);
    buf_fini (&r.manifest);
    d = spool_put (f, "/epoch2/rank_1", other, "more", NULL, false);

    assert_int_equal (date_of (f, a), 7000);
    assert_int_equal (date_of (f, c), 7001);
    assert_int_equal (date_of (f, d), 7002);
    spool_reopen (f);
    assert_true (spool_knows (f->s, "/epoch1/rank_1", other));
    assert_false (spool_knows (f->s, "/epoch1/rank_1", version));
}

/* Of which job they are nobody knows: two directories have two captures, whose
 * dates are their own, and either may be removed.
 */
static void test_places (void **state)
{
    static const char version[] = "5/100/7000/0", other[] = "5/101/7000/0";
    char path[PATH_MAX], at[MESSAGE_PLACE_MAX];
    struct fixture *f = *state;
    struct spool_item got;
    uint64_t a, b, c;

    a = spool_put (f, "/epoch0/rank_0", version, "rows", NULL, false);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
    assert_string_equal (got.place, "");
    spool_divide (f->s, "a host");
    b = spool_put (f, "/epoch1/rank_0", other, "others", NULL, false);
    assert_int_equal (spool_find_name_collision (f->s, b, path, NULL), 0);
    assert_int_equal (date_of (f, a), 7000);
    assert_int_equal (date_of (f, b), 7000);
    c = spool_put (f, "/epoch1/rank_0", "5/102/7000/0", "more", NULL, false);
    assert_int_equal (date_of (f, c), 7001);    // another version of that
    spool_place ("a host", "/epoch1/another", at);
    assert_int_equal (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL), 1);
    assert_string_equal (got.place, at);
    assert_true (message_valid_place (at) && *at);
    spool_place ("a host", "/epoch0/another", path);
    assert_string_not_equal (path, at);
    spool_place ("another", "/epoch1/another", path);
    assert_string_not_equal (path, at);
}

/* A ledger of an older agent knows no sums: its captures are not all sealed
 * again; but what is sealed now is known by its sum, too.
 */
static void test_old_form (void **state)
{
    struct fixture *f = *state;

    (void)spool_put (f, "/old", "5/100/7000/0/raw", "1", NULL, false);
    assert_true (spool_knows (f->s, "/old",
                              "5/100/7000/0~0123456789abcdef/raw"));
    assert_false (spool_knows (f->s, "/old",
                               "5/100/7000/0~0123456789abcdef"));
    assert_false (spool_knows (f->s, "/old",
                               "5/101/7000/0~0123456789abcdef/raw"));
    (void)spool_put (f, "/new", "5/100/7000/0~0123456789abcdef", "1", NULL,
                     false);
    assert_true (spool_knows (f->s, "/new", "5/100/7000/0~0123456789abcdef"));
    assert_false (spool_knows (f->s, "/new", "5/100/7000/0~1123456789abcdef"));
}

/* Killed while a capture was being sealed: its files go, and no other's; it is
 * only seen, and is sealed again.
 */
static void test_half_sealed (void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];
    uint64_t id;

    (void)spool_put (f, "/other", "v1", "other", NULL, false);
    assert_int_equal (spool_settle (f->s, f->raw, "v1", &id, NULL), 0);
    assert_true (spool_settles (f->s, f->raw, "v1"));
    assert_false (spool_settles (f->s, f->raw, "v2"));
    assert_false (spool_settles (f->s, "/other", "v1"));
    for (unsigned i = 0; i < 3; i++) {
        spool_path_of (f, id, i, path);
        assert_int_equal (fileio_replace (path, "x", 1, 0600, NULL), 0);
    }
    spool_reopen (f);
    assert_int_equal (spool_files (f, "items"), 1);
    assert_true (spool_knows (f->s, "/other", "v1"));
    assert_false (spool_knows (f->s, f->raw, "v1"));
    assert_false (spool_settles (f->s, f->raw, "v1"));
    assert_int_equal (spool_put (f, f->raw, "v1", "1", NULL, false), id);
    assert_true (spool_knows (f->s, f->raw, "v1"));
}

/* The shipment of a row is missing, or has another size: set aside with the
 * reason, and its capture is sealed again; the others go on.
 */
static void test_missing (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    char path[PATH_MAX];
    uint64_t id = spool_put (f, f->raw, "v1", "1234567", NULL, false), cut;

    (void)spool_put (f, "/other", "v1", "other", NULL, false);
    cut = spool_put (f, "/cut", "v1", "1234567", NULL, false);
    spool_path_of (f, id, 0, path);
    assert_int_equal (unlink (path), 0);
    spool_path_of (f, cut, 0, path);
    assert_int_equal (truncate (path, 3), 0);
    spool_reopen (f);
    next_is (f, ITEM_ROWS, 0, &got);
    assert_int_equal (got.size, 5);
    assert_int_equal (f->again, 1);
    assert_string_equal (f->again_path, f->raw);
    assert_non_null (strstr (f->again_why, "missing"));
    assert_int_equal (spool_next (f->s, ITEM_ROWS, got.id, &got, NULL), 0);
    assert_string_equal (f->again_path, "/cut");
    assert_int_equal (spool_files (f, "quarantine"), 3);  // 2 reasons, 1 file
    assert_false (spool_knows (f->s, f->raw, "v1"));
    assert_true (spool_knows (f->s, "/other", "v1"));
    assert_int_equal (items_in (f, ITEM_ROWS, SPOOL_QUARANTINED), 2);
    (void)spool_put (f, f->raw, "v1", "1234567", NULL, false);
    assert_int_equal (spool_undelivered (f->s), 2);
}

/* Acknowledged, and killed before the file was removed. */
static void test_left_behind (void **state)
{
    struct fixture *f = *state;
    struct spool_item got;
    char path[PATH_MAX], other[PATH_MAX];
    uint64_t id = spool_put (f, f->raw, "v1", "1234567", NULL, false);

    spool_path_of (f, id, 0, path);
    assert_true (fileio_join (other, sizeof (other), path, "in-the-way"));
    next_is (f, ITEM_ROWS, 0, &got);
    // what cannot be unlinked stays for the next start
    assert_int_equal (unlink (path), 0);
    assert_int_equal (fileio_mkdirs (other, 0700, NULL), 0);
    assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    assert_int_equal (items_in (f, ITEM_ROWS, SPOOL_DURABLE), 1);
    assert_int_equal (fileio_remove_tree (path, NULL), 0);
    assert_int_equal (fileio_replace (path, "1234567", 7, 0600, NULL), 0);
    spool_reopen (f);
    assert_int_equal (spool_files (f, "items"), 0);
    assert_int_equal (items_in (f, ITEM_ROWS, SPOOL_RELEASED), 1);
}

static void count_call (void *arg, const char *path)
{
    (void)path;
    (*(unsigned *)arg)++;
}

/* A capture that was seen, and went before it was sealed, is named; one that
 * had been sealed is not.
 */
static void test_vanished (void **state)
{
    struct fixture *f = *state;
    const char *paths[] = { "/no/such", f->raw, "/sealed/and/gone" };
    unsigned calls = 0;

    (void)spool_put (f, paths[2], "v1", "1", NULL, false);
    assert_int_equal (spool_seen (f->s, paths, 3, NULL), 0);
    assert_int_equal (spool_seen (f->s, paths, 3, NULL), 0);    // twice
    spool_reopen (f);
    assert_int_equal (spool_find_gone (f->s, count_call, &calls, NULL), 0);
    assert_int_equal (calls, 1);
    assert_int_equal (spool_vanished (f->s, paths[0], NULL), 1);
    spool_reopen (f);           // told once
    assert_int_equal (spool_find_gone (f->s, count_call, &calls, NULL), 0);
    assert_int_equal (calls, 1);
}

/* What is somewhere else is no loss, nor what comes again there later, if its
 * name tells that it is the same.
 */
static void test_moved (void **state)
{
    static const char name[] = "node0_7_20251124100000000_ascend_pt";
    struct fixture *f = *state;
    char was[PATH_MAX], now[PATH_MAX];
    const char *paths[] = { "/no/such", was };
    unsigned calls = 0;

    (void)snprintf (was, sizeof (was), "/was/%s", name);
    (void)snprintf (now, sizeof (now), "/now/%s", name);
    assert_int_equal (spool_seen (f->s, paths, 2, NULL), 0);
    assert_int_equal (spool_moved (f->s, "/no/such", NULL), 0);
    assert_int_equal (spool_moved (f->s, "/never/noted", NULL), 0);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 0);
    assert_int_equal (spool_find_gone (f->s, count_call, &calls, NULL), 0);
    assert_int_equal (calls, 1);
    assert_int_equal (spool_vanished (f->s, was, NULL), 1);
    assert_int_equal (spool_vanished (f->s, "/was/rank_0", NULL), 1);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 2);
    (void)spool_put (f, now, "v1", "1", NULL, false);
    (void)spool_put (f, "/now/rank_0", "v1", "1", NULL, false);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 1);
}

/* Told by name, while it goes on: the same. */
static void test_vanished_now (void **state)
{
    struct fixture *f = *state;
    const char *paths[] = { "/no/such", "/sealed/and/gone" };
    unsigned calls = 0;

    (void)spool_put (f, paths[1], "v1", "1", NULL, false);
    assert_int_equal (spool_seen (f->s, paths, 2, NULL), 0);
    assert_int_equal (spool_vanished (f->s, paths[0], NULL), 1);
    assert_int_equal (spool_vanished (f->s, paths[1], NULL), 0);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 1);
    // one that went before it could be noted
    assert_int_equal (spool_vanished (f->s, "/never/noted", NULL), 1);
    assert_int_equal (spool_each_lost (f->s, NULL, NULL, NULL), 2);
    spool_reopen (f);
    assert_int_equal (spool_find_gone (f->s, count_call, &calls, NULL), 0);
    assert_int_equal (calls, 0);
}

struct lost {
    unsigned n, again;
    char text[SPOOL_LOSS_MAX];
};

static void note_lost (void *arg, const char *path, bool again,
                       const char *text)
{
    struct lost *l = arg;

    assert_true (strlen (path) > 0);
    l->n++;
    l->again += again;
    (void)snprintf (l->text, sizeof (l->text), "%s", text);
}

/* What is lost is known in every later life, or nobody may ever hear of it;
 * until another version of the capture is sealed.
 */
static void lost_is (struct fixture *f, unsigned n, unsigned again,
                     const char *text)
{
    for (int life = 0; life < 2; life++) {
        struct lost l = { 0, 0, "" };

        assert_int_equal (spool_each_lost (f->s, note_lost, &l, NULL), n);
        assert_int_equal (l.n, n);
        assert_int_equal (l.again, again);
        if (!strstr (l.text, text))
            fail_msg ("no \"%s\" in: %s", text, l.text);
        spool_reopen (f);
    }
}

static void test_lost (void **state)
{
    struct fixture *f = *state;
    const char *gone = "/no/such";
    struct spool_item got;

    lost_is (f, 0, 0, "");
    assert_int_equal (spool_seen (f->s, &gone, 1, NULL), 0);
    assert_int_equal (spool_vanished (f->s, gone, NULL), 1);
    lost_is (f, 1, 0, "/no/such vanished before it was read");
    (void)spool_put (f, gone, "v1", "1", NULL, false);
    lost_is (f, 0, 0, "");
    next_is (f, ITEM_ROWS, 0, &got);
    assert_int_equal (spool_quarantine (f->s, &got, "damaged", NULL), 0);
    lost_is (f, 1, 1, "/no/such was not read again");
    (void)spool_put (f, gone, "v1", "1", NULL, false);
    lost_is (f, 0, 0, "");
}

/* Raw files of one capture are counted, and one of them is named: there may be
 * thousands.
 */
static void test_lost_raw (void **state)
{
    struct fixture *f = *state;
    struct spool_left_out left_out = { 2, "deep: no" };
    struct spool_item got;
    uint64_t id;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", false);
    next_is (f, ITEM_RAW, 0, &got);
    assert_int_equal (spool_gone (f->s, got.id, SPOOL_HAS_CHANGED, "changed",
                                  NULL), 0);
    lost_is (f, 1, 0, "1 of the raw files and directories of ");
    lost_is (f, 1, 0, "the first is x: changed");
    assert_int_equal (spool_settle (f->s, f->raw, "v2", &id, NULL), 0);
    assert_int_equal (spool_seal (f->s, id, "a_pt", 2, NULL, 0, left_out,
                                  NULL, NULL), 0);
    lost_is (f, 1, 0, "2 of the raw files and directories of ");
    lost_is (f, 1, 0, "the first is deep: no");
    (void)spool_put (f, f->raw, "v3", "rows", "raw", false);
    lost_is (f, 0, 0, "");
}

/* Sealed and then dead, an agent would leave what nobody may remove. */
static void test_seal_for_release (void **state)
{
    char path[] = "x", file[PATH_MAX];
    struct fixture *f = *state;
    struct spool_releasable release = { f->raw, RELEASE_ALL_SEALED, NULL, 1 };
    struct spool_new item = { .kind = ITEM_RAW, .number = 1, .path = path };
    const struct spool_left_out none = { 0 };
    struct buf manifest;
    uint64_t id;

    buf_init (&manifest, MANIFEST_MAX);
    buf_printf (&manifest, "of a test");
    content_hash_init (&item.hash);
    for (int i = 0; i < 3; i++) {       // may go; nothing is said; may not
        const char *version[] = { "v1", "v2", "v3" };

        assert_int_equal (spool_settle (f->s, f->raw, version[i], &id, NULL), 0);
        assert_int_equal (spool_file (f->s, id, 0, file, NULL), 0);
        release.manifest = i == 0 ? &manifest : NULL;
        assert_int_equal (spool_seal (f->s, id, "a_pt", 2, &item, 1, none,
                                      i == 1 ? NULL : &release, NULL), 0);
        spool_reopen (f);
        assert_int_equal (spool_has_release (f->s, f->raw), i < 2);
    }
    content_hash_fini (&item.hash);
    buf_fini (&manifest);
}

/* The file was written to, so there is a newer version, which has it. */
static void test_lost_older (void **state)
{
    struct fixture *f = *state;
    struct spool_item rows, raw;

    (void)spool_put (f, f->raw, "v1", "rows", "raw", false);
    next_is (f, ITEM_ROWS, 0, &rows);
    next_is (f, ITEM_RAW, 0, &raw);
    (void)spool_put (f, f->raw, "v2", "rows", "raw!", false);
    assert_int_equal (spool_gone (f->s, raw.id, SPOOL_HAS_CHANGED, "changed",
                                  NULL), 0);
    assert_int_equal (spool_quarantine (f->s, &rows, "damaged", NULL), 0);
    lost_is (f, 0, 0, "");
}

/* All rows before any raw file is the caller's business, in an order that the
 * ledger gives for each kind; a file of several chunks has its hashes here.
 */
static void test_hashes (void **state)
{
    struct fixture *f = *state;
    struct digest d[SPOOL_SEGMENT];
    struct spool_item got;
    char *big = malloc ((3 << 20) + 8);

    memset (big, 'x', (3 << 20) + 7);
    big[(3 << 20) + 7] = '\0';
    (void)spool_put (f, f->raw, "v1", "rows", big, false);
    free (big);
    next_is (f, ITEM_RAW, 0, &got);
    assert_int_equal (spool_hashes (f->s, got.id, 0, d, NULL), 4);
    assert_memory_equal (&d[0], &d[2], sizeof (d[0]));
    assert_memory_not_equal (&d[0], &d[3], sizeof (d[0]));
    assert_int_equal (spool_hashes (f->s, got.id, SPOOL_SEGMENT, d, NULL),
                      -EBADMSG);
}

static void keep_packet (void *arg, int64_t rank, const char *packet)
{
    (void)rank;
    (void)snprintf (arg, 32, "%s", packet);
}

static void test_kept (void **state)
{
    struct fixture *f = *state;
    char text[32] = "";

    assert_int_equal (spool_keep_report (f->s, 3, "hello", "{1}", NULL), 0);
    assert_int_equal (spool_keep_report (f->s, 3, "hello", "{2}", NULL), 0);
    assert_int_equal (spool_keep_note (f->s, "clock", "late", NULL), 0);
    spool_reopen (f);
    assert_int_equal (spool_each_report (f->s, keep_packet, text, NULL), 0);
    assert_string_equal (text, "{2}");
    assert_true (spool_note (f->s, "clock", text, sizeof (text)));
    assert_string_equal (text, "late");
    assert_false (spool_note (f->s, "other", text, sizeof (text)));
}

/* A file of a delivered item that nothing can remove (here: a directory) is
 * left where it is; the next start neither refuses, nor forgets those behind
 * it.
 */
static void test_stays (void **state)
{
    struct fixture *f = *state;
    char path[2][PATH_MAX];
    struct spool_item got = { .id = 0 };

    for (unsigned i = 0; i < 2; i++) {
        uint64_t id = spool_put (f, i ? f->raw : "/b", "v1", "rows", NULL,
                                 false);

        spool_path_of (f, id, 0, path[i]);
        assert_int_equal (spool_next (f->s, ITEM_ROWS, 0, &got, NULL), 1);
        assert_int_equal (unlink (path[i]), 0);
        assert_int_equal (mkdir (path[i], 0700), 0);
        assert_int_equal (spool_durable (f->s, &got.id, 1, NULL), 0);
    }
    assert_int_equal (spool_tally (f->s, ITEM_ROWS, SPOOL_DURABLE).items, 2);
    assert_int_equal (rmdir (path[1]), 0);
    spool_reopen (f);
    assert_null (spool_set_aside (f->s));
    assert_int_equal (spool_tally (f->s, ITEM_ROWS, SPOOL_DURABLE).items, 1);
    assert_int_equal (spool_tally (f->s, ITEM_ROWS, SPOOL_RELEASED).items, 1);
    assert_int_equal (access (path[0], F_OK), 0);
    assert_int_equal (rmdir (path[0]), 0);
    spool_reopen (f);
    assert_int_equal (spool_tally (f->s, ITEM_ROWS, SPOOL_DURABLE).items, 0);
}

/* Two agents on one spool would give one number to two items. */
static void test_locked (void **state)
{
    struct fixture *f = *state;
    struct spool *second = NULL;
    struct err err = { "" };

    assert_int_equal (spool_open (f->spool, &second, &err), -EBUSY);
    assert_null (second);
    assert_non_null (strstr (err.text, f->dir));
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, spool_setup, spool_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_survives), TEST (test_durable), TEST (test_linked),
        TEST (test_beside),
        TEST (test_states), TEST (test_advice), TEST (test_twins),
        TEST (test_places),
        TEST (test_moved), TEST (test_old_form), TEST (test_half_sealed),
        TEST (test_missing), TEST (test_left_behind), TEST (test_vanished),
        TEST (test_vanished_now), TEST (test_lost), TEST (test_lost_raw),
        TEST (test_seal_for_release),
        TEST (test_lost_older),
        TEST (test_hashes), TEST (test_kept), TEST (test_stays),
        TEST (test_locked),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
