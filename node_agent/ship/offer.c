/* node_agent/ship/offer.c - an offered item and its bytes */
#include "ship/offer.h"

#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define FAILURES_MAX 4          // of a disk in a row; each waits until the
                                // aggregator has given up waiting, 10 s
#define IGNORED_NS (60 * NS_PER_S)

static const char *const state_names[OFFER_STATES] = {
    [OFFER_FREE] = "free", [OFFER_DUE] = "due", [OFFER_SAID] = "said",
    [OFFER_AGAIN] = "again", [OFFER_DURABLE] = "durable",
    [OFFER_LOST] = "lost",
};

static const char *const event_names[OFFER_EVENTS] = {
    [OFFER_WAS_SAID] = "was-said", [OFFER_REPEAT] = "repeat",
    [OFFER_ACKNOWLEDGED] = "acknowledged", [OFFER_NOT_HERE] = "not-here",
    [OFFER_UNRECORDED] = "unrecorded", [OFFER_OVER] = "over",
};

/* An earlier agent may have offered it: it may be acknowledged before it is
 * offered now.
 */
#define EDGE(from, event, to) \
    { OFFER_##from, OFFER_##event, 0, 0, OFFER_##to }
static const struct states_edge edges[] = {
    EDGE (DUE, WAS_SAID, SAID),
    EDGE (DUE, ACKNOWLEDGED, DURABLE),
    EDGE (DUE, NOT_HERE, LOST),
    EDGE (DUE, OVER, FREE),

    EDGE (SAID, REPEAT, AGAIN),
    EDGE (SAID, ACKNOWLEDGED, DURABLE),
    EDGE (SAID, NOT_HERE, LOST),
    EDGE (SAID, OVER, FREE),

    EDGE (AGAIN, WAS_SAID, SAID),
    EDGE (AGAIN, ACKNOWLEDGED, DURABLE),
    EDGE (AGAIN, NOT_HERE, LOST),
    EDGE (AGAIN, OVER, FREE),

    EDGE (DURABLE, UNRECORDED, SAID),
    EDGE (DURABLE, OVER, FREE),

    EDGE (LOST, UNRECORDED, SAID),
    EDGE (LOST, OVER, FREE),
};
#undef EDGE

const struct states offer_states = {
    "offer", state_names, event_names, NULL, NULL, edges,
    sizeof (edges) / sizeof (edges[0]), OFFER_STATES, OFFER_EVENTS,
};

bool offer_change (struct offer *o, enum offer_event event)
{
    static const struct states_owner owner = { .table = &offer_states,
                                               .level = LOG_LEVEL_DEBUG };

    return state_take (&o->state, &owner, event, NULL, "capture",
                       o->item.capture);
}

void offer_begin (struct offer *o, const struct spool_item *item)
{
    memset (o, 0, sizeof (*o));
    o->item = *item;
    if (item->state == SPOOL_ASKED)     // whatever has its name now is not sent
        o->sent = UINT64_MAX;
    state_begin (&o->state, OFFER_DUE);
    o->fd = -1;
}

void offer_end (struct offer *o)
{
    fileio_close (o->fd);
    free (o->hashes);
    (void)offer_change (o, OFFER_OVER);
    memset (o, 0, sizeof (*o));
    o->fd = -1;
}

/* Read the hash of chunk 'n', of several: NULL, and *rc is negative, if that
 * fails.
 */
static const struct digest *hash_of (struct offer *o, struct spool *s,
                                     uint64_t n, int *rc)
{
    uint64_t first = n - n % SPOOL_SEGMENT;

    *rc = -ENOMEM;
    if (!o->hashes &&
        !(o->hashes = malloc (SPOOL_SEGMENT * sizeof (*o->hashes))))
        return NULL;
    if (o->nhashes == 0 || o->first != first) {
        o->first = first;
        o->nhashes = spool_hashes (s, o->item.id, first, o->hashes, NULL);
    }
    if (o->nhashes <= 0 || n - first >= (uint64_t)o->nhashes) {
        o->nhashes = 0;
        *rc = -EBADMSG;
        return NULL;
    }
    return &o->hashes[n - first];
}

/* Whether 'data' is chunk 'n'; negative if that cannot be determined. */
static int is_chunk (struct offer *o, struct spool *s, uint64_t n,
                     const void *data, size_t size)
{
    const struct digest *want = &o->item.content;
    struct digest d;
    int rc = 0;

    if (digest_of (data, size, &d) < 0)
        return -ENOMEM;
    if (o->item.size > CONTENT_CHUNK && !(want = hash_of (o, s, n, &rc)))
        return rc;
    return digest_is (want, &d);
}

/* Why the file does not have the bytes. */
static enum offer_read offer_blame (const struct offer *o, bool absent)
{
    if (o->item.kind == ITEM_ROWS || (o->item.own && absent))
        return OFFER_DAMAGED;
    return absent ? OFFER_VANISHED : OFFER_CHANGED;
}

/* Whether the error says nothing about the file: a shortage that will pass, or
 * a disk that may work at the next try.
 */
static bool may_pass (struct offer *o, int rc)
{
    switch (rc) {
    case -EMFILE:
    case -ENFILE:
    case -ENOMEM:
    case -EINTR:
    case -EAGAIN:
        return true;
    case -EIO:
    case -ESTALE:
    case -ETIMEDOUT:
        return ++o->failures < FAILURES_MAX;
    default:
        return false;
    }
}

enum offer_read offer_chunk (struct offer *o, struct spool *s,
                             uint64_t offset, uint32_t length, void *out)
{
    uint64_t left = offset < o->item.size ? o->item.size - offset : 0;
    size_t size = left < CONTENT_CHUNK ? (size_t)left : CONTENT_CHUNK;
    int rc;

    if (offset % CONTENT_CHUNK != 0 || length == 0 || length > size)
        return OFFER_ASTRAY;
    if (o->fd < 0)
        o->fd = open (o->item.file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
                                        O_NONBLOCK);
    if (o->fd < 0)
        return may_pass (o, -errno) ? OFFER_ASTRAY : offer_blame (o, true);
    rc = fileio_pread_all (o->fd, out, size, (off_t)offset);
    (void)posix_fadvise (o->fd, (off_t)offset, (off_t)size,
                         POSIX_FADV_DONTNEED);
    if (rc < 0)
        return may_pass (o, rc) ? OFFER_ASTRAY : offer_blame (o,
                                                              rc != -ENODATA);
    o->failures = 0;
    if (o->item.kind == ITEM_RAW && offset >= o->sent)
        return OFFER_READ;
    rc = is_chunk (o, s, offset / CONTENT_CHUNK, out, size);
    if (rc == -ENOMEM)
        return OFFER_ASTRAY;    // it will be requested again
    if (rc < 0)
        return OFFER_DAMAGED;
    return rc > 0 ? OFFER_READ : offer_blame (o, false);
}

enum offer_read offer_list (struct offer *o, struct spool *s, uint64_t offset,
                            uint32_t length, void *out)
{
    uint64_t n = content_chunks (o->item.size), first = offset / DIGEST_SIZE;
    int rc;

    if (n < 2 || offset % DIGEST_SIZE != 0 || length % DIGEST_SIZE != 0 ||
        length == 0 || first >= n || length / DIGEST_SIZE > n - first)
        return OFFER_ASTRAY;
    for (uint32_t i = 0; i < length / DIGEST_SIZE; i++) {
        const struct digest *hash = hash_of (o, s, first + i, &rc);

        if (!hash)
            return rc == -ENOMEM ? OFFER_ASTRAY : OFFER_DAMAGED;
        memcpy ((char *)out + (size_t)i * DIGEST_SIZE, hash, DIGEST_SIZE);
    }
    return OFFER_READ;
}

void offer_sent (struct offer *o, uint64_t offset)
{
    if (o->sent < offset + CONTENT_CHUNK)
        o->sent = offset + CONTENT_CHUNK;
}

void offer_message (const struct offer *o, struct message *m)
{
    memset (m, 0, sizeof (*m));
    m->type = MESSAGE_OFFER;
    m->item = o->item.id;
    m->kind = o->item.kind;
    m->content = o->item.content;
    m->size = o->item.size;
    m->newest_ns = o->item.newest_ns;
    m->facts = o->item.facts;
    m->rank = o->item.rank;
    memcpy (m->capture, o->item.capture, sizeof (m->capture));
    memcpy (m->path, o->item.path, sizeof (m->path));
    memcpy (m->place, o->item.place, sizeof (m->place));
}

unsigned offers_ignored (const struct offer *offers, size_t n, bool heard,
                         int64_t now_ns, int64_t *since_ns)
{
    unsigned open = 0;

    for (size_t i = 0; i < n; i++)
        open += heard && offer_is_open (&offers[i]);
    if (open == 0 || *since_ns == 0)
        *since_ns = open ? now_ns : 0;
    if (open == 0 || now_ns - *since_ns < IGNORED_NS)
        return 0;
    *since_ns = now_ns;
    return open;
}
