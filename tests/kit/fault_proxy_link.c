/* tests/kit/fault_proxy_link.c - one connection through the fault proxy */
#include "fault_proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GREETING 64             // bytes of ZMTP 3.x before the first frame
#define FLAG_MORE 1
#define FLAG_LONG 2
#define FLAG_COMMAND 4

static uint64_t size_of_frame (const uint8_t *head)
{
    uint64_t n = 0;

    if (!(head[0] & FLAG_LONG))
        return head[1];
    for (int i = 1; i < 9; i++)         // big-endian
        n = n << 8 | head[i];
    return n;
}

/* The head of a frame is complete: is it the first frame of a message? */
static void begin_frame (struct zmtp *z)
{
    bool first = !z->more;

    z->skip = size_of_frame (z->head);
    z->have = 0;
    z->got = 0;
    z->want = 0;
    if (z->head[0] & FLAG_COMMAND)
        return;
    z->more = z->head[0] & FLAG_MORE;
    if (first && z->skip >= 4)
        z->want = z->skip < sizeof (z->body) ? (size_t)z->skip
                                             : sizeof (z->body);
}

unsigned zmtp_feed (struct zmtp *z, uint8_t byte, uint64_t *item)
{
    if (!z->greeted) {
        z->greeted = true;
        z->skip = GREETING;
    }
    if (z->skip == 0) {
        z->head[z->have++] = byte;
        if (z->have == (z->head[0] & FLAG_LONG ? 9u : 2u))
            begin_frame (z);
        return 0;
    }
    z->skip--;
    if (z->got == z->want)
        return 0;
    z->body[z->got++] = byte;
    if (z->got < z->want)
        return 0;
    *item = 0;
    for (size_t i = z->want; i-- > 4;)
        *item = *item << 8 | z->body[i];
    return z->body[2] | (unsigned)z->body[3] << 8;
}

int link_queue (struct link *l, int side, const void *data, size_t size,
                int64_t due_ns)
{
    struct packet *p = malloc (sizeof (*p) + size);

    if (!p)
        return -ENOMEM;
    p->next = NULL;
    p->due_ns = due_ns;
    p->size = size;
    p->sent = 0;
    memcpy (p->data, data, size);
    if (l->last[side])
        l->last[side]->next = p;
    else
        l->first[side] = p;
    l->last[side] = p;
    l->queued[side] += size;
    return 0;
}

int link_flush (struct link *l, int side, int64_t now_ns)
{
    int to = l->fd[1 - side];
    struct packet *p;

    while ((p = l->first[side]) && p->due_ns <= now_ns && to >= 0) {
        ssize_t n = send (to, p->data + p->sent, p->size - p->sent,
                          MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        p->sent += (size_t)n;
        l->queued[side] -= (size_t)n;
        if (p->sent < p->size)
            return 0;
        l->first[side] = p->next;
        if (!p->next)
            l->last[side] = NULL;
        free (p);
    }
    return 0;
}

static void close_fd (int *fd, bool reset)
{
    struct linger now = { 1, 0 };       // RST instead of FIN

    if (*fd < 0)
        return;
    if (reset)
        (void)setsockopt (*fd, SOL_SOCKET, SO_LINGER, &now, sizeof (now));
    (void)close (*fd);
    *fd = -1;
}

void link_end (struct link *l, enum how how)
{
    close_fd (&l->fd[SERVER], how == HOW_RST);
    if (how == HOW_HALF)
        l->half = true;
    else
        close_fd (&l->fd[CLIENT], how == HOW_RST);
}

void link_free (struct link *l)
{
    link_end (l, HOW_FIN);
    for (int side = 0; side < 2; side++) {
        while (l->first[side]) {
            struct packet *p = l->first[side];

            l->first[side] = p->next;
            free (p);
        }
    }
    free (l);
}
