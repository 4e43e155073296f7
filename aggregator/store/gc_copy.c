/* aggregator/store/gc_copy.c - append again what is alive in a segment */
#include "store/gc_private.h"

#include "base/fault.h"
#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct copying {
    struct gc *g;
    struct segment f;
    uint64_t from;              // offset of this step
    void *bytes;                // room for a content
    size_t size;
};

/* ---- contents ---- */

static int make_room (struct copying *c, uint64_t size)
{
    void *p = size < c->size ? c->bytes : realloc (c->bytes, (size_t)size + 1);

    if (!p)
        return -ENOMEM;
    c->bytes = p;
    c->size = size < c->size ? c->size : (size_t)size + 1;
    return 0;
}

/* The scan has not verified what is only in a store. */
static int read_stored (struct copying *c, const struct digest *id,
                        const struct ledger_place *p)
{
    bool far = segment_is_far (&c->f, p->stored, p->offset);
    int rc = segment_read (&c->f, c->bytes, (size_t)p->stored, p->offset);
    struct record_reader b;

    if (rc < 0 || !far)
        return rc;
    if ((rc = record_reader_init (&b)) == 0) {
        rc = record_check (&b, &c->f, p, id);   // from memory
        record_reader_fini (&b);
    }
    return rc;
}

static int copy_content (struct copying *c, const struct digest *id,
                         const struct ledger_place *p)
{
    struct gc *g = c->g;
    struct store_chunk moved = { *id, *p };
    int rc = make_room (c, p->stored);

    if (rc == 0)
        rc = read_stored (c, id, p);
    if (rc == -EREMOTEIO) {
        segments_why (g->store->segments, g->err);
        return rc;
    }
    if (rc < 0)
        return err_sys (g->err, -rc, "cannot read a segment");
    if ((rc = FAULT ("aggregator.gc.copy")) < 0)
        return err_sys (g->err, -rc, "cannot copy a content");
    rc = p->form == FORM_LIST
             ? store_put_list (g->store, id, p->size, c->bytes,
                               (size_t)p->stored / DIGEST_SIZE, &moved.place,
                               g->err)
             : store_put_chunk (g->store, id, p->size,
                                (enum chunk_codec)p->form, c->bytes,
                                (size_t)p->stored, &moved.place, g->err);
    if (rc < 0)
        return rc;
    g->copied += p->stored;
    return vec_push (&g->moved, &g->nmoved, &moved, sizeof (moved)) < 0
               ? err_set (g->err, ENOMEM, "no memory to collect") : 0;
}

static int on_content (struct copying *c, const struct record *r)
{
    int rc = ledger_is_live (c->g->ledger, &r->id, &r->place, c->g->err);

    return rc <= 0 ? rc : copy_content (c, &r->id, &r->place);
}

/* ---- other records ---- */

/* Each is written again if it says what the ledger says: then it does not
 * matter that it comes after others now.
 */
static int on_item (struct gc *g, const struct ledger_item *item)
{
    struct ledger_item now;
    int rc = ledger_find_same (g->ledger, item, &now, g->err);

    return rc <= 0 ? rc : store_put_item (g->store, &now, g->err);
}

static int on_claim (struct gc *g, const char *job,
                     const struct size_claim *word)
{
    struct size_claims claims;
    const struct size_claim *now;
    int rc = ledger_size_claims (g->ledger, job, &claims, g->err);
    bool same;

    if (rc < 0)
        return rc;
    now = size_claims_find (&claims, word);
    same = now && now->world_size == word->world_size;
    size_claims_fini (&claims);
    return same ? store_note_claim (g->store, job, word, g->err) : 0;
}

static int on_assignment (struct gc *g, const struct ledger_assignment *a)
{
    struct ledger_assignment now = *a;
    int rc = ledger_find_assignment (g->ledger, &now, g->err);

    return rc == 1 && strcmp (now.job, a->job) == 0
               ? store_note_assignment (g->store, &now, g->err)
               : rc < 0 ? rc : 0;
}

static int on_bound (struct gc *g, const struct ledger_bound *b)
{
    struct ledger_bound now;
    int rc = ledger_find_bound (g->ledger, b->who, &now, g->err);

    return rc == 1 && strcmp (now.host, b->host) == 0
               ? store_note_bound (g->store, &now, g->err) : rc < 0 ? rc : 0;
}

static int on_fact (struct gc *g, const struct ledger_fact *f)
{
    int rc = ledger_has_fact (g->ledger, f, g->err);

    return rc <= 0 ? rc : store_note_fact (g->store, f, g->err);
}

static int on_deletion (struct gc *g, const struct ledger_deletion *d)
{
    int rc = ledger_has_deletion (g->ledger, d, g->err);

    return rc <= 0 ? rc : store_note_deletion (g->store, d, g->err);
}

static int on_note (struct gc *g, const struct record *r)
{
    switch (r->kind) {
    case RECORD_ITEM:
        return on_item (g, &r->item);
    case RECORD_JOB:
        return on_claim (g, r->item.job, &r->word);
    case RECORD_ASSIGN:
        return on_assignment (g, &r->assignment);
    case RECORD_BOUND:
        return on_bound (g, &r->bound);
    case RECORD_FACT:
        return on_fact (g, &r->fact);
    case RECORD_DELETION:
        return on_deletion (g, &r->deletion);
    case RECORD_CHUNK:
    case RECORD_LIST:
        break;
    }
    return 0;
}

/* ---- a segment ---- */

/* -ECANCELED: enough for one step. */
static int on_record (void *arg, const struct record *r, int bad,
                      const struct ledger_place *gap)
{
    struct copying *c = arg;
    struct gc *g = c->g;
    int rc;

    (void)gap;
    if (!r || bad < 0)
        return err_set (g->err, EBADMSG, "segment %lld is damaged, and stays: "
                        "rollcall fsck aggregator says more",
                        (long long)g->segments[g->at].number);
    rc = r->kind == RECORD_CHUNK || r->kind == RECORD_LIST ? on_content (c, r)
                                                           : on_note (g, r);
    if (rc < 0)
        return rc;
    g->offset += r->size + record_inside (r);
    return g->copied >= GC_STEP_BYTES || g->offset - c->from >= GC_STEP_BYTES
               ? -ECANCELED : 0;
}

static int open_current (struct copying *c)
{
    const struct gc *g = c->g;

    return segment_open (g->store->segments, g->segments[g->at].number, &c->f,
                         g->err);
}

int gc_copy (struct gc *g, struct err *err)
{
    int64_t number = g->segments[g->at].number;
    struct copying c = { .g = g, .from = g->offset };
    off_t end;
    int rc;

    g->err = err;
    if ((rc = open_current (&c)) < 0)
        return rc;
    end = lseek (c.f.fd, 0, SEEK_END);
    rc = end < 0 ? err_sys (err, errno, "cannot read segment %lld",
                            (long long)number)
                 : record_scan (&c.f, g->offset, (uint64_t)end, true,
                                on_record, &c, err);
    free (c.bytes);
    segment_close (&c.f);
    return rc == -ECANCELED ? 1 : rc;
}

struct spared {
    struct store_chunk *list;
    size_t n;
};

static int add_spared (void *arg, const struct digest *id,
                       const struct ledger_place *place)
{
    struct spared *s = arg;
    struct store_chunk c = { *id, *place };

    return vec_push (&s->list, &s->n, &c, sizeof (c));
}

int gc_copy_spared (struct gc *g, struct err *err)
{
    struct copying c = { .g = g, .f = SEGMENT_NONE };
    struct spared s = { NULL, 0 };
    int rc = ledger_each_spared (g->ledger, g->segments[g->at].number,
                                 add_spared, &s, err);

    g->err = err;
    if (rc == 0 && s.n > 0)
        rc = open_current (&c);
    for (size_t i = 0; i < s.n && rc == 0; i++)
        rc = copy_content (&c, &s.list[i].id, &s.list[i].place);
    free (c.bytes);
    free (s.list);
    segment_close (&c.f);
    return rc;
}
