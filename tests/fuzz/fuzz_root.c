/* tests/fuzz/fuzz_root.c - an aggregator's root that is well formed */
#include "fuzz_root.h"

#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require (int rc)
{
    if (rc < 0)
        abort ();
}

static void make_item (struct ledger_item *item, char bytes[64], int i)
{
    struct content_hash h;

    memset (item, 0, sizeof (*item));
    item->kind = i == 3 ? ITEM_RAW : ITEM_ROWS;
    item->rank = i;
    item->received_ns = 5;
    (void)snprintf (bytes, 64, "the bytes of item %d", i);
    (void)snprintf (item->job, sizeof (item->job), "j");
    (void)snprintf (item->capture, sizeof (item->capture), "c%d", i);
    (void)snprintf (item->path, sizeof (item->path), i == 3 ? "f" : "");
    content_hash_init (&h);
    require (content_hash_add (&h, bytes, strlen (bytes)));
    require (content_hash_end (&h, &item->content));
    content_hash_fini (&h);
}

static void add (struct ledger *l, struct store *s, int i)
{
    struct ledger_item item;
    char bytes[64];

    make_item (&item, bytes, i);
    require (store_put_chunk (s, &item.content, strlen (bytes), CODEC_PLAIN,
                              bytes, strlen (bytes), &item.place, NULL));
    require (store_put_item (s, &item, NULL));
    require (ledger_add_content (l, &item.content, &item.place, NULL));
    require (ledger_add_item (l, &item, NULL));
}

/* Small pages, so that a ledger of nothing is small as well. */
static void make_ledger (const char *path)
{
    sqlite3 *db;

    if (sqlite3_open (path, &db) != SQLITE_OK ||
        sqlite3_exec (db, "PRAGMA page_size=512;PRAGMA application_id=0;"
                      "CREATE TABLE t (a);DROP TABLE t", NULL, NULL, NULL) !=
            SQLITE_OK)
        abort ();
    (void)sqlite3_close (db);
}

static void take (struct fuzz_base *out, const char *name)
{
    out->data = fuzz_read (name, &out->size);
}

static void make (struct fuzz_root *r)
{
    const struct size_claim word = { .by = CLAIM_NODE, .host = "h",
                                     .world_size = 8 };
    char root[PATH_MAX], path[PATH_MAX];
    struct ledger *l = NULL;
    struct store *s = NULL;

    (void)fuzz_path (root, FUZZ_ROOT);
    fuzz_remove (FUZZ_ROOT);
    fuzz_mkdir (FUZZ_ROOT);
    (void)fuzz_path (path, FUZZ_ROOT "/ledger.db");
    make_ledger (path);
    require (ledger_open (path, &l, NULL));
    require (store_open (root, l, &s, NULL));
    store_close (s);
    ledger_close (l);
    take (&r->empty, FUZZ_ROOT "/ledger.db");
    require (ledger_open (path, &l, NULL));
    require (store_open (root, l, &s, NULL));
    require (store_note_claim (s, "j", &word, NULL));
    require (ledger_begin (l, NULL));
    require (ledger_set_claim (l, "j", &word, NULL));
    for (int i = 0; i < 4; i++)
        add (l, s, i);
    require (store_sync (s, NULL));
    require (store_account (s, l, NULL));
    require (ledger_commit (l, NULL));
    store_committed (s);
    store_close (s);
    ledger_close (l);
    take (&r->ledger, FUZZ_ROOT "/ledger.db");
    take (&r->segment, FUZZ_SEGMENT);
}

const struct fuzz_root *fuzz_root (void)
{
    static struct fuzz_root root;

    if (!root.ledger.data)
        make (&root);
    return &root;
}

void fuzz_root_restore (void)
{
    (void)fuzz_root ();
    fuzz_remove (FUZZ_ROOT);
    fuzz_mkdir (FUZZ_ROOT "/segments");
}
