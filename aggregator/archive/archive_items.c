/* aggregator/archive/archive_items.c - the items of a job, as they are at one
 * moment
 */
#include "archive/archive_items.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct archive_item {           // struct ledger_item with numbers for texts
    struct digest content;
    struct ledger_place place;
    struct file_facts facts;
    int64_t rank, rows, received_ns, newest_ns, seq;
    uint32_t job, scope, dir, capture, path, host, who;
    enum item_kind kind;
    bool superseded, lost, shared_name;
};

/* ---- there and back ---- */

static int take_text (struct archive_items *l, const char *text, uint32_t *to)
{
    *to = texts_intern (&l->texts, text, strlen (text));
    return *to == TEXTS_NONE ? -ENOMEM : 0;
}

static int take_texts (struct archive_items *l, const struct ledger_item *i,
                       struct archive_item *to)
{
    int rc = take_text (l, i->job, &to->job);

    rc = rc < 0 ? rc : take_text (l, i->scope, &to->scope);
    rc = rc < 0 ? rc : take_text (l, i->dir, &to->dir);
    rc = rc < 0 ? rc : take_text (l, i->capture, &to->capture);
    rc = rc < 0 ? rc : take_text (l, i->path, &to->path);
    rc = rc < 0 ? rc : take_text (l, i->host, &to->host);
    return rc < 0 ? rc : take_text (l, i->who, &to->who);
}

void archive_item (const struct archive_items *l, size_t i,
                   struct ledger_item *ret)
{
    const struct archive_item *from = &l->list[i];

    PRINT (ret->job, "%s", texts_at (&l->texts, from->job));
    PRINT (ret->scope, "%s", texts_at (&l->texts, from->scope));
    PRINT (ret->dir, "%s", texts_at (&l->texts, from->dir));
    PRINT (ret->capture, "%s", texts_at (&l->texts, from->capture));
    PRINT (ret->path, "%s", texts_at (&l->texts, from->path));
    PRINT (ret->host, "%s", texts_at (&l->texts, from->host));
    PRINT (ret->who, "%s", texts_at (&l->texts, from->who));
    ret->kind = from->kind;
    ret->rank = from->rank;
    ret->content = from->content;
    ret->rows = from->rows;
    ret->place = from->place;
    ret->received_ns = from->received_ns;
    ret->newest_ns = from->newest_ns;
    ret->facts = from->facts;
    ret->seq = from->seq;
    ret->superseded = from->superseded;
    ret->lost = from->lost;
    ret->shared_name = from->shared_name;
}

/* ---- lists ---- */

struct listing {
    struct archive_items *items;
    const int64_t *rank;
};

static int add_item (void *arg, const struct ledger_item *i)
{
    const struct listing *l = arg;
    struct archive_item *to;

    if (l->rank && i->rank != *l->rank)
        return 0;
    if (!(to = vec_add (&l->items->list, &l->items->n, sizeof (*to))))
        return -ENOMEM;
    to->content = i->content;
    to->place = i->place;
    to->facts = i->facts;
    to->rank = i->rank;
    to->rows = i->rows;
    to->received_ns = i->received_ns;
    to->newest_ns = i->newest_ns;
    to->seq = i->seq;
    to->kind = i->kind;
    to->superseded = i->superseded;
    to->lost = i->lost;
    to->shared_name = i->shared_name;
    return take_texts (l->items, i, to);
}

/* In one read of the ledger, since a job may become that of others, too. */
int archive_list (struct archive *a, const char *job, const int64_t *rank,
                  struct archive_items *ret, struct err *err)
{
    struct listing l = { ret, rank };
    int rc, own = 1;

    memset (ret, 0, sizeof (*ret));
    rc = ledger_begin_read (a->ledger, err);
    if (rc == 0 && a->visible_to)
        rc = own = ledger_is_of_user (a->ledger, job, a->visible_to, err);
    for (enum item_kind k = ITEM_ROWS; k <= ITEM_RAW && rc >= 0 && own; k++)
        rc = ledger_each (a->ledger, job, k, add_item, &l, err);
    ledger_end_read (a->ledger);
    if (rc < 0)
        archive_items_fini (ret);
    return rc == -ENOMEM ? err_set (err, ENOMEM, "no memory for a list")
                         : rc < 0 ? rc : 0;
}

void archive_items_fini (struct archive_items *l)
{
    texts_fini (&l->texts);
    free (l->list);
    memset (l, 0, sizeof (*l));
}

static int compare_ranks (const void *a, const void *b)
{
    const struct archive_item *x = a, *y = b;

    return x->rank != y->rank   ? x->rank < y->rank ? -1 : 1
           : x->kind != y->kind ? x->kind < y->kind ? -1 : 1
           : x->seq != y->seq   ? x->seq < y->seq ? -1 : 1 : 0;
}

void archive_sort_by_rank (struct archive_items *l)
{
    if (l->n > 0)
        qsort (l->list, l->n, sizeof (*l->list), compare_ranks);
}
