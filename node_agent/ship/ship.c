/* node_agent/ship/ship.c - deliver what the spool holds */
#include "ship/ship.h"

#include "base/clock.h"
#include "base/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OFFERS_MAX 16           // offered and not yet acknowledged
#define REPEAT_NS (2 * NS_PER_S)        // what may be lost is said again
#define QUEUE_MAX 256           // answers that found no room in the socket

struct offer {
    struct spool_item item;
    int fd;                     // -1: not open
    bool used;
    struct content_hash hash;   // of the chunks that were sent in order
    uint64_t hashed;            // bytes in it
};

struct ship {
    struct loop *loop;
    struct spool *spool;
    struct net *net;
    struct ship_events events;
    struct message hello;
    struct message done;
    bool is_done, welcomed, over;
    struct offer offers[OFFERS_MAX];
    uint64_t last_offered;      // id; later ones have not been offered
    struct message **said;       // RANKs and NOTEs, repeated
    size_t nsaid;
    struct message *queue;      // GETs to be answered
    size_t nqueue;
    void *chunk;
    int64_t heard_ns;
};

static void repeat_all (void *arg);

static bool say (struct ship *s, const struct message *m)
{
    return net_send (s->net, NULL, m) == 0;
}

static void offer_message (const struct offer *o, struct message *m)
{
    memset (m, 0, sizeof (*m));
    m->type = MESSAGE_OFFER;
    m->item = o->item.id;
    m->kind = o->item.kind;
    m->content = o->item.content;
    m->size = o->item.size;
    m->rank = o->item.rank;
    memcpy (m->capture, o->item.capture, sizeof (m->capture));
    memcpy (m->path, o->item.path, sizeof (m->path));
}

static void say_offer (struct ship *s, const struct offer *o)
{
    struct message m;

    offer_message (o, &m);
    (void)say (s, &m);
}

static void offer_end (struct offer *o)
{
    if (o->fd >= 0)
        (void)close (o->fd);
    o->fd = -1;
    o->used = false;
    content_hash_fini (&o->hash);
    o->hashed = 0;
}

/* Take items from the spool while there is room. */
static void offer_more (struct ship *s)
{
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        struct offer *o = &s->offers[i];

        if (o->used)
            continue;
        if (spool_next (s->spool, s->last_offered, &o->item, NULL) <= 0)
            return;
        o->used = true;
        o->fd = -1;
        s->last_offered = o->item.id;
        if (s->welcomed)
            say_offer (s, o);
    }
}

static bool all_delivered (const struct ship *s)
{
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used)
            return false;
    }
    return true;
}

static struct offer *find_offer (struct ship *s, uint64_t id)
{
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used && s->offers[i].item.id == id)
            return &s->offers[i];
    }
    return NULL;
}

static void next_items (struct ship *s)
{
    offer_more (s);
    if (all_delivered (s) && s->events.delivered)
        s->events.delivered (s->events.arg);
}

/* ---- answering ---- */

static void give_up (struct ship *s, struct offer *o, const char *why)
{
    struct message m = { .type = MESSAGE_GONE, .item = o->item.id };
    char note[MESSAGE_TEXT_MAX];

    (void)snprintf (m.text, sizeof (m.text), "%s", why);
    (void)say (s, &m);
    (void)snprintf (note, sizeof (note), "%s/%s was not delivered: %s",
                    o->item.capture, o->item.path, why);
    (void)ship_note (s, note);
    (void)spool_gone (s->spool, o->item.id, why, NULL);
    offer_end (o);
    next_items (s);
}

static bool read_chunk (struct offer *o, void *out, const struct message *get)
{
    if (o->fd < 0)
        o->fd = open (o->item.file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (o->fd < 0 || get->offset > o->item.size ||
        get->length > o->item.size - get->offset ||
        fileio_pread_all (o->fd, out, get->length, (off_t)get->offset) < 0)
        return false;
    (void)posix_fadvise (o->fd, (off_t)get->offset, get->length,
                         POSIX_FADV_DONTNEED);
    return true;
}

/* Whether what is sent is what was sealed: a file that was written to in place
 * would be refused by the other side, and offered again for ever.
 */
static bool is_unchanged (struct offer *o, const void *data,
                          const struct message *get)
{
    struct digest id;

    if (get->offset == 0) {     // from the start (once more)
        content_hash_fini (&o->hash);
        o->hashed = 0;
    }
    if (get->offset != o->hashed ||
        content_hash_add (&o->hash, data, get->length) < 0)
        return true;            // cannot be told here
    o->hashed += get->length;
    return o->hashed < o->item.size || content_hash_end (&o->hash, &id) < 0 ||
           memcmp (&id, &o->item.content, sizeof (id)) == 0;
}

/* True when the question has been dealt with. */
static bool answer (struct ship *s, const struct message *get)
{
    struct offer *o = find_offer (s, get->item);
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .offset = get->offset, .data = s->chunk,
                         .data_size = get->length };

    if (!o)
        return true;            // acknowledged meanwhile
    if (!read_chunk (o, s->chunk, get) || !is_unchanged (o, s->chunk, get)) {
        give_up (s, o, "the file changed or vanished after it was hashed");
        return true;
    }
    return say (s, &m);
}

static void answer_queue (struct ship *s)
{
    size_t done = 0;

    while (done < s->nqueue && answer (s, &s->queue[done]))
        done++;
    if (done == 0)
        return;
    memmove (s->queue, s->queue + done,
             (s->nqueue - done) * sizeof (*s->queue));
    s->nqueue -= done;
}

static void retry_queue (void *arg)
{
    struct ship *s = arg;

    answer_queue (s);
    if (s->nqueue > 0)
        (void)loop_add_timer (s->loop, 10 * NS_PER_MS, retry_queue, s);
}

static void on_get (struct ship *s, const struct message *m)
{
    if (s->nqueue < QUEUE_MAX)          // else: it will be asked again
        s->queue[s->nqueue++] = *m;
    retry_queue (s);
}

static void on_ack (struct ship *s, const struct message *m)
{
    struct offer *o = find_offer (s, m->item);

    if (!o || spool_durable (s->spool, &o->item, NULL) < 0)
        return;                 // offered again, acknowledged again
    offer_end (o);
    next_items (s);
}

static void on_message (void *arg, const struct net_peer *from,
                        const struct message *m, int bad,
                        const struct err *err)
{
    struct ship *s = arg;

    (void)from;
    (void)err;
    if (bad == -EPROTONOSUPPORT && s->events.refused)
        s->events.refused (s->events.arg, err->text);
    if (!m)
        return;
    s->heard_ns = clock_mono_ns ();
    switch (m->type) {
    case MESSAGE_WELCOME:
        if (!s->welcomed) {
            s->welcomed = true;
            repeat_all (s);
            if (s->events.welcome)
                s->events.welcome (s->events.arg);
        }
        break;
    case MESSAGE_GET:
        on_get (s, m);
        break;
    case MESSAGE_ACK:
        on_ack (s, m);
        break;
    case MESSAGE_STOP:
        s->events.stop (s->events.arg, m->text);
        break;
    case MESSAGE_ROLL:
        s->over = true;
        s->events.roll (s->events.arg, m->complete, m->text);
        break;
    case MESSAGE_REFUSED:
        s->events.refused (s->events.arg, m->text);
        break;
    default:
        break;
    }
}

/* ---- saying again ---- */

static void repeat_all (void *arg)
{
    struct ship *s = arg;

    if (s->over)
        return;
    (void)say (s, &s->hello);
    for (size_t i = 0; i < s->nsaid && s->welcomed; i++)
        (void)say (s, s->said[i]);
    for (size_t i = 0; i < OFFERS_MAX && s->welcomed; i++) {
        if (s->offers[i].used)
            say_offer (s, &s->offers[i]);
    }
    if (s->is_done && s->welcomed)
        (void)say (s, &s->done);
    (void)loop_add_timer (s->loop, s->welcomed ? REPEAT_NS : REPEAT_NS / 20,
                          repeat_all, s);
}

static int keep (struct ship *s, const struct message *m)
{
    struct message **said, *one;

    for (size_t i = 0; i < s->nsaid; i++) {
        struct message *old = s->said[i];

        if (old->type != m->type)
            continue;
        if (m->type == MESSAGE_RANK ? old->rank == m->rank
                                    : strcmp (old->text, m->text) == 0) {
            *old = *m;
            return 0;
        }
    }
    if (!(one = malloc (sizeof (*one))))
        return -ENOMEM;
    said = realloc (s->said, (s->nsaid + 1) * sizeof (*said));
    if (!said) {
        free (one);
        return -ENOMEM;
    }
    *one = *m;
    s->said = said;
    said[s->nsaid++] = one;
    return 0;
}

int ship_rank (struct ship *s, int64_t rank, int64_t local_rank,
               enum rank_phase phase, int64_t status, const char *text)
{
    struct message m = { .type = MESSAGE_RANK, .rank = rank,
                         .local_rank = local_rank, .phase = phase,
                         .status = status };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    if (s->welcomed)
        (void)say (s, &m);
    return keep (s, &m);
}

int ship_note (struct ship *s, const char *text)
{
    struct message m = { .type = MESSAGE_NOTE };

    (void)snprintf (m.text, sizeof (m.text), "%s", text);
    if (s->welcomed)
        (void)say (s, &m);
    return keep (s, &m);
}

void ship_done (struct ship *s, const char *text)
{
    s->is_done = true;
    (void)snprintf (s->done.text, sizeof (s->done.text), "%s", text);
    if (s->welcomed)
        (void)say (s, &s->done);
}

void ship_kick (struct ship *s)
{
    offer_more (s);
}

int64_t ship_heard_ns (const struct ship *s)
{
    return s->heard_ns;
}

int ship_create (struct loop *loop, struct spool *spool, const char *endpoint,
                 const struct ship_identity *who,
                 const struct ship_events *events, struct ship **ret,
                 struct err *err)
{
    struct ship *s = calloc (1, sizeof (*s));
    int rc;

    if (s) {
        s->chunk = malloc (CONTENT_CHUNK);
        s->queue = calloc (QUEUE_MAX, sizeof (*s->queue));
    }
    if (!s || !s->chunk || !s->queue) {
        ship_destroy (s);
        return err_set (err, ENOMEM, "no memory to ship");
    }
    s->loop = loop;
    s->spool = spool;
    s->events = *events;
    s->hello.type = MESSAGE_HELLO;
    s->hello.world_size = who->world_size;
    (void)snprintf (s->hello.job, sizeof (s->hello.job), "%s", who->job);
    (void)snprintf (s->hello.host, sizeof (s->hello.host), "%s", who->host);
    (void)snprintf (s->hello.host_key, sizeof (s->hello.host_key), "%s",
                    who->host_key);
    s->done.type = MESSAGE_DONE;
    rc = net_connect (endpoint, &s->net, err);
    if (rc == 0 && net_attach (s->net, loop, on_message, s) < 0)
        rc = err_set (err, ENOMEM, "no memory to ship");
    if (rc < 0) {
        ship_destroy (s);
        return rc;
    }
    repeat_all (s);
    offer_more (s);
    *ret = s;
    return 0;
}

void ship_destroy (struct ship *s)
{
    if (!s)
        return;
    if (s->loop) {
        loop_del_timer (s->loop, repeat_all, s);
        loop_del_timer (s->loop, retry_queue, s);
    }
    net_close (s->net);
    for (size_t i = 0; i < OFFERS_MAX; i++) {
        if (s->offers[i].used)
            offer_end (&s->offers[i]);
    }
    for (size_t i = 0; i < s->nsaid; i++)
        free (s->said[i]);
    free (s->said);
    free (s->queue);
    free (s->chunk);
    free (s);
}
