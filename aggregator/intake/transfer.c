/* aggregator/intake/transfer.c - items on their way in */
#include "intake/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct transfer {
    struct transfer *next;
    struct net_peer peer;
    uint64_t id;                // the agent's number of the item
    struct ledger_item item;
    uint64_t size, received, asked;     // bytes; asked is ahead of received
    struct content_hash hash;
    int fd;                     // incoming file, -1 for a single chunk
    uint64_t number;            // of the incoming file
    bool complete;              // waits for the commit
    bool fresh;                 // its content was not here before
};

struct transfers {
    struct net *net;
    struct ledger *ledger;
    struct store *store;
    struct transfer *list;      // in order of their offers
    unsigned credits;           // left
    size_t npending;            // complete ones
};

struct transfers *transfers_create (struct net *net, struct ledger *ledger,
                                    struct store *store)
{
    struct transfers *t = calloc (1, sizeof (*t));

    if (t) {
        t->net = net;
        t->ledger = ledger;
        t->store = store;
        t->credits = TRANSFER_CREDITS;
    }
    return t;
}

static bool same_peer (const struct net_peer *a, const struct net_peer *b)
{
    return a->size == b->size && memcmp (a->id, b->id, a->size) == 0;
}

static struct transfer **find (struct transfers *t,
                               const struct net_peer *from, uint64_t id)
{
    struct transfer **x = &t->list;

    while (*x && ((*x)->id != id || !same_peer (&(*x)->peer, from)))
        x = &(*x)->next;
    return x;
}

static unsigned chunks_asked (const struct transfer *x)
{
    return (unsigned)(content_chunks (x->asked) -
                      content_chunks (x->received));
}

/* Take a transfer out of the list and free it. */
static void drop (struct transfers *t, struct transfer **at)
{
    struct transfer *x = *at;

    *at = x->next;
    t->credits += chunks_asked (x);
    t->npending -= x->complete;
    if (x->fd >= 0) {
        (void)close (x->fd);
        store_discard (t->store, x->number);
    }
    content_hash_fini (&x->hash);
    free (x);
}

void transfers_destroy (struct transfers *t)
{
    while (t && t->list)
        drop (t, &t->list);
    free (t);
}

void transfers_forget (struct transfers *t, const struct net_peer *from)
{
    for (struct transfer **x = &t->list; *x;) {
        if (same_peer (&(*x)->peer, from))
            drop (t, x);
        else
            x = &(*x)->next;
    }
}

void transfers_gone (struct transfers *t, const struct net_peer *from,
                     uint64_t item)
{
    struct transfer **x = find (t, from, item);

    if (*x)
        drop (t, x);
}

/* ---- asking ---- */

/* Ask for the next chunk; false when the socket has no room. */
static bool ask (struct transfers *t, struct transfer *x)
{
    uint64_t left = x->size - x->asked;
    struct message m = {
        .type = MESSAGE_GET, .item = x->id, .offset = x->asked,
        .length = left < CONTENT_CHUNK ? (uint32_t)left : CONTENT_CHUNK,
    };

    if (net_send (t->net, &x->peer, &m) < 0)
        return false;
    x->asked += m.length;
    t->credits--;
    return true;
}

/* Spend credits in turn: a chunk for each transfer, until none can be spent. */
static void grant (struct transfers *t)
{
    bool any = true;

    while (any && t->credits > 0) {
        any = false;
        for (struct transfer *x = t->list; x && t->credits > 0; x = x->next) {
            if (!x->complete && x->asked < x->size &&
                chunks_asked (x) < TRANSFER_WINDOW)
                any = ask (t, x) || any;
        }
    }
}

static void append (struct transfers *t, struct transfer *x)
{
    struct transfer **last = &t->list;

    while (*last)
        last = &(*last)->next;
    *last = x;
}

static struct transfer *start (struct transfers *t,
                               const struct net_peer *from, const char *job,
                               const char *host, const struct message *m)
{
    struct transfer *x = calloc (1, sizeof (*x));

    if (!x)
        return NULL;
    x->peer = *from;
    x->id = m->item;
    x->size = m->size;
    x->fd = -1;
    x->item.kind = m->kind;
    x->item.rank = m->rank;
    x->item.content = m->content;
    memcpy (x->item.capture, m->capture, sizeof (x->item.capture));
    memcpy (x->item.path, m->path, sizeof (x->item.path));
    (void)strncpy (x->item.job, job, sizeof (x->item.job) - 1);
    (void)strncpy (x->item.host, host, sizeof (x->item.host) - 1);
    content_hash_init (&x->hash);
    append (t, x);
    return x;
}

static void complete (struct transfers *t, struct transfer *x)
{
    x->complete = true;
    t->npending++;
}

/* Content of no bytes has nothing to be asked for. */
static int take_empty (struct transfers *t, struct transfer *x,
                       struct err *err)
{
    struct digest id;

    if (content_hash_end (&x->hash, &id) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (memcmp (&id, &x->item.content, sizeof (id)) != 0)
        return err_set (err, EBADMSG, "an empty item has a wrong hash");
    x->fresh = true;
    x->item.place.segment = 1;
    complete (t, x);
    return 0;
}

int transfers_offer (struct transfers *t, const struct net_peer *from,
                     const char *job, const char *host,
                     const struct message *m, struct err *err)
{
    struct transfer *x = *find (t, from, m->item);
    int known, rc = 0;

    if (x) {
        // offered again: whatever was asked for may have been lost
        t->credits += chunks_asked (x);
        x->asked = x->received;
        grant (t);
        return 0;
    }
    if (!(x = start (t, from, job, host, m)))
        return err_set (err, ENOMEM, "no memory for a transfer");
    known = ledger_find_content (t->ledger, &m->content, &x->item.place, err);
    if (known < 0)
        return known;
    if (known)
        complete (t, x);
    else if (m->size == 0)
        rc = take_empty (t, x, err);
    else if (m->size > CONTENT_CHUNK)
        rc = x->fd = store_incoming (t->store, &x->number, err);
    if (rc < 0) {
        x->fd = -1;
        drop (t, find (t, from, m->item));
        return rc;
    }
    grant (t);
    return 0;
}

/* The last chunk has come: is it what was offered? */
static int finish (struct transfers *t, struct transfer *x, const void *data,
                   size_t size, struct err *err)
{
    struct digest id;
    int rc = 0;

    if (content_hash_end (&x->hash, &id) < 0)
        return err_set (err, ENOMEM, "no memory to hash");
    if (memcmp (&id, &x->item.content, sizeof (id)) != 0)
        return err_set (err, EBADMSG, "what came of %s %s is not what was "
                        "offered", x->item.capture, x->item.path);
    if (x->fd < 0)
        rc = store_append (t->store, data, size, &x->item.place, err);
    else if (fsync (x->fd) < 0)
        rc = err_sys (err, errno, "cannot fsync what came");
    else
        x->item.place = (struct ledger_place){ 0, 0, x->size };
    if (rc < 0)
        return rc;
    x->fresh = true;
    complete (t, x);
    return 0;
}

int transfers_chunk (struct transfers *t, const struct net_peer *from,
                     const struct message *m, struct err *err)
{
    struct transfer **at = find (t, from, m->item), *x = *at;
    int rc = 0;

    if (!x || x->complete || m->offset != x->received ||
        x->asked <= x->received)
        return 0;               // a repetition, or of a former life
    if (m->data_size == 0 || m->data_size > CONTENT_CHUNK ||
        m->data_size > x->size - x->received ||
        (m->data_size < CONTENT_CHUNK &&
         m->data_size != x->size - x->received)) {
        drop (t, at);
        return err_set (err, EBADMSG, "a chunk of %zu bytes", m->data_size);
    }
    if (content_hash_add (&x->hash, m->data, m->data_size) < 0)
        rc = err_set (err, ENOMEM, "no memory to hash");
    else if (x->fd >= 0 && pwrite (x->fd, m->data, m->data_size,
                                   (off_t)x->received) !=
                               (ssize_t)m->data_size)
        rc = err_sys (err, errno, "cannot write what came");
    if (rc == 0) {
        x->received += m->data_size;
        t->credits++;
        if (x->received == x->size)
            rc = finish (t, x, m->data, m->data_size, err);
    }
    if (rc < 0)
        drop (t, find (t, from, m->item));
    grant (t);
    return rc;
}

/* ---- committing ---- */

bool transfers_pending (const struct transfers *t)
{
    return t->npending > 0;
}

static int enter (struct transfers *t, struct transfer *x, struct err *err)
{
    int rc = 0;

    if (x->fresh)
        rc = ledger_add_content (t->ledger, &x->item.content, &x->item.place,
                                 err);
    return rc < 0 ? rc : ledger_add_item (t->ledger, &x->item, err);
}

/* Incoming files to their names; bytes and names to the disk. */
static int make_durable (struct transfers *t, struct err *err)
{
    int rc = 0;

    for (struct transfer *x = t->list; x && rc == 0; x = x->next) {
        if (!x->complete || x->fd < 0)
            continue;
        rc = store_keep (t->store, x->number, &x->item.content, err);
        if (rc == 0) {
            (void)close (x->fd);
            x->fd = -1;
        }
    }
    return rc < 0 ? rc : store_sync (t->store, err);
}

int transfers_commit (struct transfers *t, size_t *added, struct err *err)
{
    int rc = make_durable (t, err);

    *added = 0;
    if (rc == 0)
        rc = ledger_begin (t->ledger, err);
    for (struct transfer *x = t->list; x && rc == 0; x = x->next) {
        if (x->complete)
            rc = enter (t, x, err);
    }
    if (rc == 0)
        rc = ledger_commit (t->ledger, err);
    if (rc < 0) {
        ledger_rollback (t->ledger);
        return rc;              // nothing acknowledged, all will come again
    }
    for (struct transfer **x = &t->list; *x;) {
        struct message m = { .type = MESSAGE_ACK, .item = (*x)->id };

        if (!(*x)->complete) {
            x = &(*x)->next;
            continue;
        }
        (void)net_send (t->net, &(*x)->peer, &m);
        (*added)++;
        drop (t, x);
    }
    grant (t);
    return 0;
}
