/* aggregator/fsck/check_contents.c - which contents are whole, once all records
 * were read
 *
 * This folder: check and repair a root.
 */
#include "fsck/check_private.h"

#include "base/vec.h"
#include "ledger/ledger_private.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- chunks whose records are damaged ---- */

/* Whether the bytes are where the old ledger says: 1, 0. */
static int is_good (struct check *c, const struct store_chunk *chunk)
{
    struct record_reader reader;
    struct segment f;
    int rc = record_reader_init (&reader);

    if (rc < 0)
        return err_set (c->err, ENOMEM, "no memory to check");
    rc = segment_open (store_segments (c->store), chunk->place.segment, &f, NULL);
    rc = rc < 0 ? -EBADMSG
                : record_check (&reader, &f, &chunk->place, &chunk->id);
    segment_close (&f);
    record_reader_fini (&reader);
    if (rc == -ENOMEM)
        return err_set (c->err, ENOMEM, "no memory to check");
    return rc == 0 || rc == -EREMOTEIO;
}

static int keep_homeless (struct check *c, const struct store_chunk *chunk)
{
    struct ledger_place place;
    int rc = ledger_find_content (c->fresh, &chunk->id, &place, c->err);

    if (rc != 0)
        return rc < 0 ? rc : 0;
    if ((rc = is_good (c, chunk)) <= 0)
        return rc;
    c->differs = true;
    if (vec_push (&c->homeless, &c->nhomeless, chunk, sizeof (*chunk)) < 0)
        return err_set (c->err, ENOMEM, "no memory to check");
    return ledger_add_content (c->fresh, &chunk->id, &chunk->place, c->err);
}

/* Each row is trusted if its own checksum is right. */
static int find_homeless (struct check *c, sqlite3 *old)
{
    struct db_rows r = db_rows (old, NULL, "SELECT id, segment, offset, "
                                "stored, size, form, sum FROM content");
    struct store_chunk k;
    int64_t sum;
    int rc;

    while (db_row (&r, k.id, k.place.segment, k.place.offset, k.place.stored,
                   k.place.size, k.place.form, sum)) {
        if (ledger_valid_place (&k.place) &&
            sum == ledger_content_sum (&k.id, &k.place))
            r.rc = keep_homeless (c, &k);
    }
    rc = db_end (&r);
    return rc == -EIO || rc == -EBADMSG ? 0 : rc;
}

/* The bytes as they are stored. */
static int read_stored (struct check *c, const struct ledger_place *p,
                        void **ret)
{
    struct segment f;
    int rc;

    if (!(*ret = malloc ((size_t)p->stored + 1)))
        return err_set (c->err, ENOMEM, "no memory to repair");
    if ((rc = segment_open (store_segments (c->store), p->segment, &f, c->err)) < 0)
        return rc;
    rc = segment_read (&f, *ret, (size_t)p->stored, p->offset);
    segment_close (&f);
    if (rc == -EREMOTEIO)
        segments_why (store_segments (c->store), c->err);
    else if (rc < 0)
        (void)err_sys (c->err, -rc, "cannot read segment %lld",
                       (long long)p->segment);
    return rc;
}

int check_rehouse (struct check *c, struct store *s, struct ledger *l)
{
    int rc = 0;

    for (size_t i = 0; i < c->nhomeless && rc == 0; i++) {
        const struct store_chunk *k = &c->homeless[i];
        const struct ledger_place *p = &k->place;
        struct ledger_place place;
        void *bytes = NULL;

        if ((rc = read_stored (c, p, &bytes)) == 0)
            rc = p->form == FORM_LIST
                     ? store_put_list (s, &k->id, p->size, bytes,
                                       (size_t)p->stored / DIGEST_SIZE, &place,
                                       c->err)
                     : store_put_chunk (s, &k->id, p->size,
                                        (enum chunk_codec)p->form, bytes,
                                        (size_t)p->stored, &place, c->err);
        free (bytes);
        if (rc == 0)
            rc = ledger_add_content (l, &k->id, &place, c->err);
    }
    return rc;
}

/* ---- items without content ---- */

/* "job j rank 3 capture/path" */
static const char *name_of (const struct ledger_item *i, char text[512])
{
    (void)snprintf (text, 512, "job %.100s rank %lld %.200s%s%.150s", i->job,
                    (long long)i->rank, i->capture, *i->path ? "/" : "",
                    i->path);
    return text;
}

/* Whether a check set this content aside and it has not arrived again: then the
 * ledger has no place for it.  The file in quarantine/ alone does not prove
 * that, since it stays when the content arrives again.
 */
static int is_aside (struct check *c, const struct digest *id)
{
    struct ledger_place place;
    int rc;

    if (!c->old || !check_has_reason (c, id))
        return 0;
    rc = ledger_find_content (c->old, id, &place, c->err);
    return rc < 0 ? rc : rc == 0;
}

/* Why an item has no content. */
static const char *reason_of (struct check *c, const struct ledger_item *i)
{
    const char *why = "it is not there, or a chunk of it is damaged";

    for (size_t k = 0; k < c->nbad; k++) {
        if (digest_is (&c->bad[k].chunk.id, &i->content)) {
            c->bad[k].named = true;
            why = "its hash is wrong";
        }
    }
    return why;
}

static int judge_item (void *arg, const struct ledger_item *i)
{
    struct check *c = arg;
    const char *why;
    char name[512];
    int rc;

    if (!i->lost)
        return 0;
    why = reason_of (c, i);
    if ((rc = is_aside (c, &i->content)) < 0)
        return rc;
    if (rc == 1) {
        check_say (c, "%s: was set aside already, and was not delivered again",
                   name_of (i, name));
        return 0;
    }
    check_damage (c, "%s: its stored data is damaged: %s%s",
                  name_of (i, name), why,
                  c->repair ? "; it is set aside, and requested again when an "
                              "agent offers it" : "");
    c->differs = true;
    return c->repair ? check_quarantine (c, i, why) : 0;
}

static int judge_job (void *arg, const struct ledger_job *j)
{
    struct check *c = arg;
    int rc = 0;

    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc == 0; k++)
        rc = ledger_each (c->fresh, j->id, k, judge_item, c, c->err);
    return rc;
}

/* A damaged chunk that is not all of an item: a part of one, or of none yet. An
 * aggregator must not take it for one that it has.
 */
static int judge_chunk (struct check *c, const struct check_bad *b)
{
    struct ledger_place place;
    int rc = ledger_find_content (c->fresh, &b->chunk.id, &place, c->err);

    if (rc != 0 || b->named)
        return rc < 0 ? rc : 0;         // another copy of it is good
    if (!c->old || ledger_find_content (c->old, &b->chunk.id, &place, NULL) != 1)
        return 0;
    check_damage (c, "segment %lld: the chunk at %llu is damaged%s",
                  (long long)b->chunk.place.segment,
                  (unsigned long long)b->chunk.place.offset,
                  c->repair ? "; it is set aside" : "");
    c->differs = true;
    return c->repair ? check_quarantine_chunk (c, &b->chunk) : 0;
}

int check_contents (struct check *c, sqlite3 *old)
{
    int rc = old ? find_homeless (c, old) : 0;

    if (rc == 0)
        rc = store_drop_broken (c->store, c->fresh, c->err);
    if (rc == 0)
        rc = ledger_each_job (c->fresh, ITEM_RAW, judge_job, c, c->err);
    for (size_t i = 0; i < c->nbad && rc == 0; i++)
        rc = judge_chunk (c, &c->bad[i]);
    return rc;
}
