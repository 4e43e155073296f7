/* tests/unit/aggregator/fsck/fsck_check.c - a root with four items, and a copy
 * of it to be damaged and mended */
#include "aggregator/fsck/fsck_check.h"

#include "archive/archive_items.h"

#include <fcntl.h>

void fsck_put (struct store *s, struct ledger_item *item,
                      const char *bytes)
{
    assert_int_equal (digest_of (bytes, strlen (bytes), &item->content), 0);
    assert_int_equal (store_put_chunk (s, &item->content, strlen (bytes),
                                       CODEC_PLAIN, bytes, strlen (bytes),
                                       &item->place, NULL), 0);
    assert_int_equal (store_put_item (s, item, NULL), 0);
}

void fsck_end (struct store *s, struct ledger *l)
{
    assert_int_equal (store_sync (s, NULL), 0);
    assert_int_equal (store_account (s, l, NULL), 0);
    assert_int_equal (ledger_commit (l, NULL), 0);
    store_committed (s);
    store_close (s);
    ledger_close (l);
}

/* Items of one chunk. */
static void fill (const char *root)
{
    const struct size_claim word = { .by = CLAIM_NODE, .host = "h",
                                     .world_size = 8 };
    const struct ledger_fact fact = { .job = "j", .key = FACT_TAG,
                                      .value = "kept", .at_ns = 5 };
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    assert_int_equal (store_note_claim (s, "j", &word, NULL), 0);
    assert_int_equal (store_note_fact (s, &fact, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    assert_int_equal (ledger_set_claim (l, "j", &word, NULL), 0);
    assert_int_equal (ledger_set_fact (l, &fact, NULL), 1);
    for (int i = 0; i < ITEMS; i++) {
        struct ledger_item item = { .kind = i == 3 ? ITEM_RAW : ITEM_ROWS,
                                    .rank = i, .received_ns = 5 };
        char bytes[64];

        (void)snprintf (bytes, sizeof (bytes), "the bytes of item %d", i);
        (void)snprintf (item.job, sizeof (item.job), "j");
        (void)snprintf (item.capture, sizeof (item.capture), "c%d", i);
        (void)snprintf (item.path, sizeof (item.path), i == 3 ? "f" : "");
        fsck_put (s, &item, bytes);
        assert_int_equal (ledger_add_content (l, &item.content, &item.place,
                                              NULL), 0);
        assert_int_equal (ledger_add_item (l, &item, NULL), 1);
    }
    fsck_end (s, l);
}

int fsck_setup (void **state)
{
    const char *tmp = getenv ("TMPDIR");
    struct fixture *f = calloc (1, sizeof (*f));

    (void)snprintf (f->dir, sizeof (f->dir), "%s/rollcall-check-XXXXXX",
                    tmp && *tmp ? tmp : "/tmp");
    assert_non_null (mkdtemp (f->dir));
    (void)snprintf (f->root, sizeof (f->root), "%s/root", f->dir);
    (void)snprintf (f->copy, sizeof (f->copy), "%s/copy", f->dir);
    assert_int_equal (fileio_mkdirs (f->root, 0700, NULL), 0);
    fill (f->root);
    *state = f;
    return 0;
}

int fsck_teardown (void **state)
{
    struct fixture *f = *state;

    (void)fileio_remove_tree (f->dir, NULL);
    free (f);
    return 0;
}

static void say (void *arg, const char *sentence)
{
    struct fixture *f = arg;
    size_t used = strlen (f->said);

    (void)snprintf (f->said + used, sizeof (f->said) - used, "%s\n",
                    sentence);
}

struct check_report fsck_check (struct fixture *f, const char *root,
                                  bool repair)
{
    struct check_report r = { .say = say, .arg = f };
    struct err err = { "" };

    f->said[0] = '\0';
    if (store_check (root, repair, &r, &err) < 0)
        fail_msg ("%s", err.text);
    return r;
}

static int count_kept (void *arg, const struct ledger_fact *f)
{
    *(unsigned *)arg += !f->gone && strcmp (f->value, "kept") == 0;
    return 0;
}

void fsck_whole (const char *root, char out[16])
{
    struct archive a;
    struct archive_items list;
    struct ledger_item item;
    struct err err = { "" };
    size_t n = 0;
    unsigned kept = 0;

    if (archive_open (root, &a, &err) < 0)
        fail_msg ("%s", err.text);
    assert_int_equal (archive_list (&a, "j", NULL, &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++) {
        archive_item (&list, i, &item);
        if (archive_check (&a, &item, NULL) == 0)
            out[n++] = (char)('0' + item.rank);
    }
    out[n] = '\0';
    assert_true (ledger_world_size (a.ledger, "j") == 8);
    assert_int_equal (ledger_each_fact (a.ledger, "j", 0, count_kept, &kept,
                                        NULL), 0);
    assert_int_equal (kept, 1);
    archive_items_fini (&list);
    archive_close (&a);
}

void fsck_copy (struct fixture *f)
{
    char command[PATH_MAX * 2];

    (void)fileio_remove_tree (f->copy, NULL);
    (void)snprintf (command, sizeof (command), "cp -r '%s' '%s'", f->root,
                    f->copy);
    assert_int_equal (system (command), 0);
}

void fsck_flip (const char *path, off_t at)
{
    int fd = open (path, O_RDWR);
    uint8_t byte;

    assert_true (fd >= 0);
    assert_int_equal (pread (fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal (pwrite (fd, &byte, 1, at), 1);
    (void)close (fd);
}

off_t fsck_size (const char *path)
{
    struct stat st;

    assert_int_equal (stat (path, &st), 0);
    return st.st_size;
}

void fsck_mended (struct fixture *f, const char *whole)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    char path[PATH_MAX], got[16];
    struct check_report r = fsck_check (f, f->copy, true);
    struct err err = { "" };

    assert_true (r.repaired == r.damaged);
    r = fsck_check (f, f->copy, false);
    if (r.damaged > 0)
        fail_msg ("after the repair: %s", f->said);
    fsck_whole (f->copy, got);
    if (whole)
        assert_string_equal (got, whole);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", f->copy);
    if (ledger_open (path, &l, &err) < 0 ||
        store_open (f->copy, l, &s, &err) < 0)
        fail_msg ("%s", err.text);
    store_close (s);
    ledger_close (l);
}

void fsck_deliver (const char *root, const char *capture, const char *bytes,
                   int64_t newest_ns)
{
    struct ledger *l = NULL;
    struct store *s = NULL;
    struct ledger_item item = { .kind = ITEM_ROWS, .received_ns = 6,
                                .newest_ns = newest_ns };
    struct ledger_place place;
    char path[PATH_MAX];

    (void)snprintf (path, sizeof (path), "%s/ledger.db", root);
    assert_int_equal (ledger_open (path, &l, NULL), 0);
    assert_int_equal (store_open (root, l, &s, NULL), 0);
    (void)snprintf (item.job, sizeof (item.job), "j");
    (void)snprintf (item.capture, sizeof (item.capture), "%s", capture);
    fsck_put (s, &item, bytes);
    assert_int_equal (ledger_find_content (l, &item.content, &place, NULL),
                      0);
    assert_int_equal (store_sync (s, NULL), 0);
    assert_int_equal (ledger_begin (l, NULL), 0);
    assert_int_equal (ledger_add_content (l, &item.content, &item.place,
                                          NULL), 0);
    assert_true (ledger_add_item (l, &item, NULL) >= 0);
    assert_int_equal (store_account (s, l, NULL), 0);
    assert_int_equal (ledger_commit (l, NULL), 0);
    store_committed (s);
    store_close (s);
    ledger_close (l);
}

off_t fsck_last_of (const char *path, const char *text)
{
    static char bytes[65536];
    int fd = open (path, O_RDONLY);
    ssize_t n = pread (fd, bytes, sizeof (bytes), 0);
    off_t at = -1;

    (void)close (fd);
    for (ssize_t i = 0; i + (ssize_t)strlen (text) <= n; i++) {
        if (memcmp (bytes + i, text, strlen (text)) == 0)
            at = i;
    }
    return at;
}
