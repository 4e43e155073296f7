/* aggregator/transfer/hasher.c - unpack and hash a chunk while it is being
 * written
 */
#include "transfer/hasher.h"

#include "base/thread.h"
#include "store/content.h"

#include <stdbool.h>
#include <stdlib.h>

enum step { IDLE, WAITING, TAKEN, READY };

struct hasher {
    pthread_t thread;
    pthread_mutex_t lock;       // protects all below
    pthread_cond_t begun, ready;
    enum step step;
    bool ending;
    struct hasher_chunk chunk;
    void *plain;                // where it is unpacked, by whoever has it
    struct digest digest;
    int rc;
};

static int make_digest (struct hasher *h, struct digest *out)
{
    const struct hasher_chunk *c = &h->chunk;
    const void *bytes;
    int rc = pack_chunk_open (c->codec, c->stored, c->n, h->plain, c->size,
                              true, &bytes);

    return rc < 0 ? rc : digest_of (bytes, c->size, out);
}

static void *hasher_work (void *arg)
{
    struct hasher *h = arg;
    struct digest digest;
    int rc;

    (void)pthread_mutex_lock (&h->lock);
    while (!h->ending) {
        if (h->step != WAITING) {
            (void)pthread_cond_wait (&h->begun, &h->lock);
            continue;
        }
        h->step = TAKEN;
        (void)pthread_mutex_unlock (&h->lock);
        rc = make_digest (h, &digest);
        (void)pthread_mutex_lock (&h->lock);
        h->digest = digest;
        h->rc = rc;
        h->step = READY;
        (void)pthread_cond_signal (&h->ready);
    }
    (void)pthread_mutex_unlock (&h->lock);
    return NULL;
}

struct hasher *hasher_create (void)
{
    struct hasher *h = calloc (1, sizeof (*h));

    if (!h || !(h->plain = malloc (CONTENT_CHUNK))) {
        free (h);
        return NULL;
    }
    (void)pthread_mutex_init (&h->lock, NULL);
    (void)pthread_cond_init (&h->begun, NULL);
    (void)pthread_cond_init (&h->ready, NULL);
    if (thread_start (&h->thread, hasher_work, h) == 0)
        return h;
    free (h->plain);
    free (h);
    return NULL;
}

void hasher_destroy (struct hasher *h)
{
    if (!h)
        return;
    (void)pthread_mutex_lock (&h->lock);
    h->ending = true;
    (void)pthread_cond_signal (&h->begun);
    (void)pthread_mutex_unlock (&h->lock);
    (void)pthread_join (h->thread, NULL);
    (void)pthread_cond_destroy (&h->ready);
    (void)pthread_cond_destroy (&h->begun);
    (void)pthread_mutex_destroy (&h->lock);
    free (h->plain);
    free (h);
}

void hasher_begin (struct hasher *h, const struct hasher_chunk *chunk)
{
    (void)pthread_mutex_lock (&h->lock);
    h->chunk = *chunk;
    h->step = WAITING;
    if (chunk->size > CONTENT_SMALL)    // else waking the thread takes longer
        (void)pthread_cond_signal (&h->begun);
    (void)pthread_mutex_unlock (&h->lock);
}

int hasher_end (struct hasher *h, struct digest *out)
{
    bool mine;
    int rc;

    (void)pthread_mutex_lock (&h->lock);
    if (!(mine = h->step == WAITING)) {
        while (h->step != READY)
            (void)pthread_cond_wait (&h->ready, &h->lock);
        *out = h->digest;
        rc = h->rc;
    }
    h->step = IDLE;
    (void)pthread_mutex_unlock (&h->lock);
    return mine ? make_digest (h, out) : rc;
}
