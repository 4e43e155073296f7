/* aggregator/archive/intake_put.c - put contents, and the records that name them,
 * into a root
 */
#include "archive/intake_private.h"

#include "base/clock.h"
#include "base/vec.h"
#include "store/checksum.h"

#include <errno.h>
#include <string.h>

static int has (struct intake *in, const struct digest *id, struct err *err)
{
    struct ledger_place place;
    struct intake_put key;
    int rc;

    memcpy (key.id, id->bytes, DIGEST_SIZE);
    if (map_get (&in->put, key.id))
        return 1;
    rc = ledger_find_content (in->ledger, id, &place, err);
    if (rc != 1 || !store_has (in->store, in->ledger, id, &place))
        return rc < 0 ? rc : 0;
    if (!in->verify)
        return 1;
    rc = store_check_content (in->store, in->ledger, id, &place, NULL);
    return rc == 0 ? 1 : rc == -EBADMSG || rc == -ENOENT ? 0
           : err_sys (err, -rc, "cannot read what is stored");
}

void intake_verify (struct intake *in)
{
    in->verify = true;
}

int intake_has (struct intake *in, const struct digest *id, struct err *err)
{
    int rc = intake_enter (in, err);

    return rc < 0 ? rc : intake_leave (in, has (in, id, err), err);
}

/* Into the store, or into the batch. */
static int put_content (struct intake *in, const struct record *r,
                        const void *bytes, struct ledger_place *place,
                        struct err *err)
{
    size_t n = (size_t)r->place.stored;

    memset (place, 0, sizeof (*place));
    if (in->served) {
        struct record copy = *r;

        copy.sum = checksum_add (0, bytes, n);
        if (record_encode (&copy, &in->records) < 0)
            return intake_no_memory (err);
        buf_put (&in->records, bytes, n);
        return in->records.failed ? intake_no_memory (err) : 0;
    }
    return r->kind == RECORD_LIST
               ? store_put_list (in->store, &r->id, r->place.size, bytes,
                                 n / DIGEST_SIZE, place, err)
               : store_put_chunk (in->store, &r->id, r->place.size,
                                  (enum chunk_codec)r->place.form, bytes, n,
                                  place, err);
}

static int put_new (struct intake *in, const struct record *r,
                    const void *bytes, struct err *err)
{
    struct ledger_place place;
    struct intake_put key, *p;
    bool is_new;
    int rc = put_content (in, r, bytes, &place, err);

    if (rc < 0)
        return rc;
    memcpy (key.id, r->id.bytes, DIGEST_SIZE);
    if (!(p = map_put (&in->put, key.id, &is_new)))
        return intake_no_memory (err);
    p->place = place;
    in->appended += r->place.stored;
    in->sums.chunks += r->kind == RECORD_CHUNK;
    in->sums.bytes += r->place.stored;
    return 0;
}

static int put (struct intake *in, const struct record *r, const void *bytes,
                struct err *err)
{
    int rc = has (in, &r->id, err);

    return rc < 0 ? rc : rc == 1 ? 0 : put_new (in, r, bytes, err);
}

int intake_put_chunk (struct intake *in, const struct digest *id,
                      uint64_t size, enum chunk_codec codec, const void *bytes,
                      size_t n, struct err *err)
{
    const struct record r = {
        .kind = RECORD_CHUNK, .id = *id,
        .place = { .size = size, .stored = n, .form = (enum ledger_form)codec },
    };
    int rc = intake_enter (in, err);

    return rc < 0 ? rc : intake_leave (in, put (in, &r, bytes, err), err);
}

static int put_list (struct intake *in, const struct record *r,
                     const struct digest *chunks, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        int rc = has (in, &chunks[i], err);

        if (rc <= 0)
            return rc < 0 ? rc : err_set (err, ENOENT, "a chunk of a content "
                                          "was removed meanwhile: try again");
    }
    return put (in, r, chunks, err);
}

int intake_put_list (struct intake *in, const struct digest *id, uint64_t size,
                     const struct digest *chunks, size_t n, struct err *err)
{
    const struct record r = {
        .kind = RECORD_LIST, .id = *id,
        .place = { .size = size, .stored = n * DIGEST_SIZE,
                   .form = FORM_LIST },
    };
    int rc = intake_enter (in, err);

    return rc < 0 ? rc
                  : intake_leave (in, put_list (in, &r, chunks, n, err), err);
}

static int encode (struct intake *in, const struct record *r, struct err *err)
{
    const char *job = intake_job_of (r);

    if (record_encode (r, &in->records) < 0)
        return intake_no_memory (err);
    in->nrecords++;
    in->sums.items += r->kind == RECORD_ITEM;
    if (strcmp (in->last_job, job) != 0)
        in->njobs_named++;
    PRINT (in->last_job, "%s", job);
    return 0;
}

static struct ledger_deletion *find_withdrawn (const struct intake *in,
                                               const struct ledger_deletion *d)
{
    for (size_t i = in->nwithdrawn; i-- > 0;) {
        struct ledger_deletion *w = &in->withdrawn[i];

        if (w->seq == d->seq)
            return w;
    }
    return NULL;
}

struct withdrawing {
    struct intake *in;
    struct ledger_item *item;
    struct err *err;
};

static int withdraw_one (void *arg, const struct ledger_deletion *d)
{
    struct withdrawing *w = arg;
    struct intake *in = w->in;
    struct ledger_deletion *known = find_withdrawn (in, d);
    struct record r = { .kind = RECORD_DELETION, .deletion = *d };
    int64_t now = clock_wall_ns ();
    int rc = 0;

    if (known) {
        r.deletion.at_ns = known->at_ns;
    } else {
        r.deletion.gone = true;
        r.deletion.at_ns = now > d->at_ns ? now : d->at_ns + 1;
        if (vec_push (&in->withdrawn, &in->nwithdrawn, &r.deletion,
                      sizeof (r.deletion)) < 0)
            return intake_no_memory (w->err);
        rc = encode (in, &r, w->err);
    }
    if (w->item->received_ns <= r.deletion.at_ns)
        w->item->received_ns = r.deletion.at_ns + 1;
    return rc;
}

/* What was removed on purpose is put again on purpose: withdraw the deletions,
 * in the commit that enters it.  It arrives after that.
 */
static int withdraw (struct intake *in, struct ledger_item *item,
                     struct err *err)
{
    struct withdrawing w = { in, item, err };
    int64_t at_ns;
    int rc;

    if (item->received_ns == 0)
        item->received_ns = clock_wall_ns ();
    if (in->served)             // its owner does that
        return 0;
    rc = ledger_each_deletion_of (in->ledger, item, withdraw_one, &w, err);
    if (rc < 0 || (rc = ledger_removed_at (in->ledger, item, &at_ns, err)) <= 0)
        return rc;
    if (item->received_ns <= at_ns)
        item->received_ns = at_ns + 1;
    return 0;
}

static int put_item (struct intake *in, const struct record *r,
                     struct err *err)
{
    struct record copy = *r;
    int rc = has (in, &r->item.content, err);

    if (rc <= 0)
        return rc < 0 ? rc : err_set (err, ENOENT, "the content of %s/%s was "
                                      "removed meanwhile: try again",
                                      r->item.capture, r->item.path);
    rc = withdraw (in, &copy.item, err);
    return rc < 0 ? rc : encode (in, &copy, err);
}

/* It comes before the items of its version: their deletion, which would take it
 * along, is withdrawn before it.
 */
static int put_assignment (struct intake *in, const struct record *r,
                           struct err *err)
{
    struct record copy = *r;
    struct ledger_assignment *a = &copy.assignment;
    struct ledger_item version = { .kind = ITEM_ROWS, .rank = a->rank,
                                   .newest_ns = a->newest_ns,
                                   .received_ns = a->at_ns };
    int rc;

    PRINT (version.job, "%s", a->job);
    PRINT (version.scope, "%s", a->scope);
    PRINT (version.dir, "%s", a->dir);
    PRINT (version.capture, "%s", a->capture);
    rc = withdraw (in, &version, err);
    a->at_ns = version.received_ns;
    return rc < 0 ? rc : encode (in, &copy, err);
}

static int put_record (struct intake *in, const struct record *r,
                       struct err *err)
{
    return r->kind == RECORD_ITEM ? put_item (in, r, err)
           : r->kind == RECORD_ASSIGN ? put_assignment (in, r, err)
           : encode (in, r, err);
}

int intake_put_record (struct intake *in, const struct record *r,
                       struct err *err)
{
    int rc = intake_enter (in, err);

    return rc < 0 ? rc : intake_leave (in, put_record (in, r, err), err);
}
