/* aggregator/archive/archive_verify.c - check all that is stored in a root
 *
 * First what is stored, segment by segment; then, if anything is damaged, the
 * lists that have it; then all items.
 */
#include "archive/archive_verify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct damage {
    uint64_t id[DIGEST_SIZE / 8];
    char why[160];
};

struct verifying {
    struct archive *a;
    struct store_reader *in;
    struct store_content chunk; // the one that 'in' reads
    int64_t segment;            // that is read now
    uint64_t at;                // up to where it was read
    bool told;                  // that it cannot be read
    struct map damaged;
    archive_damaged_fn *fn;
    void *arg;
    struct archive_verified *sums;
    struct err *err;
};

static struct damage *find_damage (const struct verifying *v,
                                   const struct digest *id)
{
    uint64_t key[DIGEST_SIZE / 8];

    memcpy (key, id->bytes, DIGEST_SIZE);
    return map_get (&v->damaged, key);
}

static int note_damage (struct verifying *v, const struct digest *id,
                        const char *why)
{
    struct damage key = { { 0 }, "" }, *d;
    bool is_new;

    memcpy (key.id, id->bytes, DIGEST_SIZE);
    if (!(d = map_put (&v->damaged, &key, &is_new)))
        return err_set (v->err, ENOMEM, "no memory to note what is damaged");
    PRINT (d->why, "%.159s", why);
    return 0;
}

/* ---- what is stored ---- */

/* What may not be read is no damage. */
static bool is_damage (int rc)
{
    return rc != -ENOMEM && rc != -EACCES && rc != -EPERM &&
           rc != -EREMOTEIO;
}

/* A record between contents of the ledger; what the ledger does not have hurts
 * nobody.
 */
static int look_between (void *arg, const struct record *r, int bad,
                         const struct ledger_place *gap)
{
    struct verifying *v = arg;
    struct err why = { "" };
    char name[64];

    (void)bad;
    if (r)
        return 0;
    store_gap_name (gap, name);
    if (store_is_aside (v->a->root, name))
        return 0;
    (void)err_set (&why, EBADMSG, "segment %lld: %llu bytes at %llu are not a "
                   "record", (long long)gap->segment,
                   (unsigned long long)gap->stored,
                   (unsigned long long)gap->offset);
    return v->fn (v->arg, NULL, &why);
}

/* The records up to here, behind the last content. */
static int check_between (struct verifying *v, uint64_t to)
{
    struct err why = { "" };
    int rc = v->at >= to ? 0 : store_reader_scan (v->in, v->segment, v->at, to,
                                                  look_between, v, &why);

    if (rc < 0 && !is_damage (rc))
        return err_set (v->err, -rc, "%s", why.text);
    if (rc >= 0 || v->told)     // once, however its contents came
        return 0;
    v->told = true;
    return v->fn (v->arg, NULL, &why);
}

/* A list, also whether its chunks are in the ledger. */
static int check_list (struct verifying *v, const struct digest *id,
                       const struct ledger_place *place, struct err *why)
{
    struct store_content list;
    int rc = store_find_chunks (v->a->store, v->a->ledger, id, place, &list,
                                why);

    if (rc == 0)
        store_content_fini (&list);
    return rc;
}

static int check_stored (void *arg, const struct digest *id,
                         const struct ledger_place *place)
{
    struct verifying *v = arg;
    struct err why = { "" };
    const void *bytes;
    int rc = check_between (v, place->offset < RECORD_CONTENT_SIZE
                                   ? 0 : place->offset - RECORD_CONTENT_SIZE);

    if (rc < 0)
        return rc;
    v->at = place->offset + place->stored;
    v->sums->stored += place->stored;
    v->chunk.one = (struct store_chunk){ *id, *place };
    rc = store_reader_check_stored (v->in, &v->chunk.one, &why);
    if (rc == 0 && place->form == FORM_LIST)
        rc = check_list (v, id, place, &why);
    else if (rc == 0 && v->a->deep)
        rc = store_reader_check_chunk (v->in, 0, &bytes, &why);
    if (rc < 0 && !is_damage (rc))
        return err_set (v->err, -rc, "%s", why.text);
    return rc < 0 ? note_damage (v, id, why.text) : 0;
}

/* In one read of the ledger each, so that the writer's journal does not grow. */
static int check_segments (struct verifying *v)
{
    struct ledger *l = v->a->ledger;
    uint64_t end;
    int rc, bad;

    do {
        v->at = 0;
        v->told = false;
        rc = ledger_begin_read (l, v->err);
        if (rc == 0)
            rc = ledger_next_segment (l, &v->segment, &end, v->err);
        if (rc == 1 &&
            ((bad = ledger_each_stored (l, v->segment, check_stored, v,
                                        v->err)) < 0 ||
             (bad = check_between (v, end)) < 0))
            rc = bad;
        ledger_end_read (l);
    } while (rc == 1);
    return rc;
}

/* ---- whom it hurts ---- */

static int check_chunks (void *arg, const struct digest *id,
                         const struct ledger_place *place)
{
    struct verifying *v = arg;
    const struct damage *d = NULL;
    struct store_content list;
    struct damage copy;

    if (find_damage (v, id) || store_find_chunks (v->a->store, v->a->ledger, id,
                                                  place, &list, NULL) < 0)
        return 0;
    for (size_t i = 0; i < list.n && !d; i++)
        d = find_damage (v, &store_chunk_at (&list, i)->id);
    store_content_fini (&list);
    if (!d)
        return 0;
    copy = *d;                  // which the map may move
    return note_damage (v, id, copy.why);
}

static int look_at_item (void *arg, const struct ledger_item *i)
{
    struct verifying *v = arg;
    const struct damage *d = find_damage (v, &i->content);
    struct err why = { "" };

    v->sums->items++;
    v->sums->bytes += i->place.size;
    if (i->lost)
        (void)err_set (&why, ENOENT, ARCHIVE_SET_ASIDE, v->a->root);
    else if (d)
        PRINT (why.text, "%s", d->why);
    return i->lost || d ? v->fn (v->arg, i, &why) : 0;
}

static int look_at_items (struct verifying *v)
{
    struct ledger *l = v->a->ledger;
    char **jobs = NULL;
    size_t n = 0;
    int rc = archive_jobs (v->a, &jobs, &n, v->err);

    for (size_t i = 0; i < n; i++) {
        if (rc == 0)
            rc = ledger_begin_read (l, v->err);
        for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
            rc = ledger_each (l, jobs[i], k, look_at_item, v, v->err);
        ledger_end_read (l);
        free (jobs[i]);
    }
    free (jobs);
    return rc;
}

int archive_verify (struct archive *a, archive_damaged_fn *fn, void *arg,
                    struct archive_verified *ret, struct err *err)
{
    struct verifying v = {
        .a = a, .chunk = { .n = 1 }, .fn = fn, .arg = arg, .sums = ret,
        .damaged = MAP (struct damage, DIGEST_SIZE / 8), .err = err,
    };
    int rc = store_reader_create (a->store, &v.chunk, &v.in, err);

    *ret = (struct archive_verified){ 0, 0, 0 };
    if (rc == 0)
        rc = check_segments (&v);
    if (rc == 0 && v.damaged.n > 0)
        rc = ledger_each_list (a->ledger, check_chunks, &v, err);
    if (rc == 0)
        rc = look_at_items (&v);
    store_reader_destroy (v.in);
    map_fini (&v.damaged);
    return rc;
}
