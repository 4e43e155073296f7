/* aggregator/archive/stored_bytes.c - how much of a root's segments is of which
 * job
 */
#include "archive/stored_bytes.h"

#include "base/map.h"

#include <errno.h>
#include <string.h>

struct counting {
    struct ledger *ledger;
    const struct store *store;
    struct map seen;            // ids of chunks and lists
    int (*fn) (void *arg, const struct ledger_item *item, uint64_t bytes);
    void *arg;
    struct err *err;
};

/* 1: it was not counted before. */
static int count (struct counting *c, const struct ledger_item *i,
                  const struct digest *id, uint64_t bytes)
{
    uint64_t key[DIGEST_SIZE / 8];
    bool is_new;
    int rc;

    memcpy (key, id->bytes, DIGEST_SIZE);
    if (!map_put (&c->seen, key, &is_new))
        return err_set (c->err, ENOMEM, "no memory to count");
    if (!is_new)
        return 0;
    rc = c->fn (c->arg, i, bytes);
    return rc < 0 ? rc : 1;
}

static int count_item (void *arg, const struct ledger_item *i)
{
    struct counting *c = arg;
    struct store_content content;
    int rc = count (c, i, &i->content, i->place.stored);

    if (rc <= 0 || i->place.form != FORM_LIST)
        return rc;
    if (store_find_chunks (c->store, c->ledger, &i->content, &i->place,
                           &content, NULL) < 0)
        return 0;
    for (size_t k = 0; k < content.n && rc >= 0; k++) {
        const struct store_chunk *p = store_chunk_at (&content, k);

        rc = count (c, i, &p->id, p->place.stored);
    }
    store_content_fini (&content);
    return rc;
}

int stored_bytes_each (struct ledger *ledger, const struct store *store,
                       int (*fn) (void *arg, const struct ledger_item *item,
                                  uint64_t bytes),
                       void *arg, struct err *err)
{
    struct counting c = {
        .ledger = ledger, .store = store,
        .seen = { .words = DIGEST_SIZE / 8, .size = DIGEST_SIZE },
        .fn = fn, .arg = arg, .err = err,
    };
    int rc = ledger_each_content (ledger, count_item, &c, err);

    map_fini (&c.seen);
    return rc < 0 ? rc : 0;
}
