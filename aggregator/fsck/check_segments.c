/* aggregator/fsck/check_segments.c - read the records of a root's segments */
#include "fsck/check_private.h"

#include "base/vec.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int add_gap (struct check *c, const struct ledger_place *gap)
{
    struct check_gap g = { gap->segment, gap->offset, gap->stored, false };

    return vec_push (&c->gaps, &c->ngaps, &g, sizeof (g)) < 0
               ? err_set (c->err, ENOMEM, "no memory to check") : 0;
}

static int add_good (struct check *c, const struct store_chunk *chunk)
{
    c->report->contents++;
    c->report->bytes += chunk->place.stored;
    if (segment_is_far (c->current, chunk->place.stored, chunk->place.offset)) {
        c->report->away++;
        c->report->away_bytes += chunk->place.stored;
    }
    return ledger_add_content (c->fresh, &chunk->id, &chunk->place, c->err);
}

static int add_bad (struct check *c, const struct store_chunk *chunk)
{
    struct check_bad bad = { *chunk, false };

    return vec_push (&c->bad, &c->nbad, &bad, sizeof (bad)) < 0
               ? err_set (c->err, ENOMEM, "no memory to check") : 0;
}

static int on_item (struct check *c, const struct ledger_item *i)
{
    struct ledger_item item = *i;
    struct ledger_place place;
    int rc = ledger_find_content (c->fresh, &i->content, &place, c->err);

    item.rows = rc > 0 ? store_sum_rows (c->store, c->fresh, i, &place) : 0;
    if (rc >= 0)
        rc = ledger_add_item (c->fresh, &item, c->err);
    c->report->items += rc == 1;
    return rc < 0 ? rc : 0;
}

static int on_record (void *arg, const struct record *r, int bad,
                      const struct ledger_place *gap)
{
    struct check *c = arg;
    int rc;

    if (!r)
        return add_gap (c, gap);
    if (r->kind == RECORD_JOB)
        return ledger_set_claim (c->fresh, r->item.job, &r->word, c->err);
    if (r->kind == RECORD_ASSIGN) {
        rc = ledger_assign (c->fresh, &r->assignment, c->err);
        return rc < 0 ? rc : 0;
    }
    if (r->kind == RECORD_BOUND)
        return ledger_bind (c->fresh, &r->bound, c->err);
    if (r->kind == RECORD_FACT) {
        rc = ledger_set_fact (c->fresh, &r->fact, c->err);
        return rc < 0 ? rc : 0;
    }
    if (r->kind == RECORD_DELETION) {
        rc = ledger_delete (c->fresh, &r->deletion, c->err);
        return rc < 0 ? rc : 0;
    }
    if (r->kind == RECORD_ITEM)
        return on_item (c, &r->item);
    struct store_chunk chunk = { r->id, r->place };

    return bad < 0 ? add_bad (c, &chunk) : add_good (c, &chunk);
}

/* Read the records up to the end of the last finished commit, if that is here;
 * then the others.
 */
static int scan (struct check *c, struct segment *f, uint64_t size)
{
    struct ledger_stamp stamp;
    int64_t n = f->number;
    uint64_t end = n != c->last_segment || c->last_end > size ? size
                                                              : c->last_end;
    int rc = record_scan (f, 0, end, true, on_record, c, c->err);

    if (rc == 0 && n <= c->last_segment &&
        (rc = ledger_stamp (c->fresh, &stamp, c->err)) == 0)
        c->finished = stamp.items;
    return rc < 0 ? rc : record_scan (f, end, size, true, on_record, c,
                                      c->err);
}

static int check_segment (struct check *c, int64_t n)
{
    struct segment f;
    struct stat st;
    int rc = segment_open (store_segments (c->store), n, &f, c->err);

    if (rc == 0 && fstat (f.fd, &st) < 0)
        rc = err_sys (c->err, errno, "cannot read segment %lld", (long long)n);
    c->current = &f;
    if (rc == 0)
        rc = scan (c, &f, (uint64_t)st.st_size);
    segment_close (&f);
    if (rc == 0)
        rc = ledger_set_segment (c->fresh, n, (uint64_t)st.st_size, c->err);
    return rc;
}

/* A content may be behind the item, where it was moved to. */
int check_segments (struct check *c)
{
    int rc = 0;

    for (size_t i = 0; i < c->nsegments && rc == 0; i++)
        rc = check_segment (c, c->segments[i]);
    return rc < 0 ? rc : store_sum_all_rows (c->store, c->fresh, c->err);
}
