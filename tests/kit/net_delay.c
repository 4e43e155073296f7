/* tests/kit/net_delay.c - a slow net between interfaces that come in pairs
 *
 *     net_delay MS PERCENT A B [A B]...
 *
 * Hands every frame that comes on A on to B after MS, and the other way round,
 * but for PERCENT of them, which are lost: as netem does, which a kernel need
 * not have.  Both are ends of veth pairs, in the network namespace that this is
 * started in.  Frames are handed on with what the kernel knows of them, so that
 * neither checksums nor segments that are not made yet are in its way.  Prints
 * "ready", and goes on until it is killed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_MAX 16
#define FRAME_MAX (80 * 1024)           // with the kernel's header before it
#define QUEUE_MAX 8192                  // frames on their way; more are lost
#define BUFFER (8 << 20)

struct frame {
    struct frame *next;
    int64_t due_ns;
    size_t size;
    char data[];
};

struct end {                            // what comes in here leaves at 'other'
    int fd, other;
    struct frame *first, **last;
    size_t n;
};

static struct end ends[2 * PAIRS_MAX];
static size_t nends;
static int64_t delay_ns;
static double lost_share;

static int64_t now_ns (void)
{
    struct timespec t;

    (void)clock_gettime (CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int open_end (const char *name)
{
    struct sockaddr_ll at = { .sll_family = AF_PACKET,
                              .sll_protocol = htons (ETH_P_ALL),
                              .sll_ifindex = (int)if_nametoindex (name) };
    struct packet_mreq all = { .mr_ifindex = at.sll_ifindex,
                               .mr_type = PACKET_MR_PROMISC };
    int fd = socket (AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int yes = 1, size = BUFFER;

    if (fd < 0 || at.sll_ifindex == 0 ||
        setsockopt (fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof (yes)) < 0 ||
        setsockopt (fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes,
                    sizeof (yes)) < 0 ||
        bind (fd, (struct sockaddr *)&at, sizeof (at)) < 0 ||
        setsockopt (fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all,
                    sizeof (all)) < 0) {
        perror (name);
        return -1;
    }
    (void)setsockopt (fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof (size));
    (void)setsockopt (fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof (size));
    return fd;
}

static void queue (struct end *e, const char *data, size_t size)
{
    struct frame *f;

    if (drand48 () < lost_share || e->n >= QUEUE_MAX ||
        !(f = malloc (sizeof (*f) + size)))
        return;
    memcpy (f->data, data, size);
    f->next = NULL;
    f->size = size;
    f->due_ns = now_ns () + delay_ns;
    *e->last = f;
    e->last = &f->next;
    e->n++;
}

static void take (struct end *e)
{
    char data[FRAME_MAX];
    ssize_t n;

    while ((n = recv (e->fd, data, sizeof (data), 0)) > 0)
        queue (e, data, (size_t)n);
}

/* Hand on what is due; when the next one is, or INT64_MAX. */
static int64_t give (struct end *e, int64_t now)
{
    struct frame *f;

    while ((f = e->first) && f->due_ns <= now) {
        (void)send (e->other, f->data, f->size, 0);     // or it is lost
        if (!(e->first = f->next))
            e->last = &e->first;
        e->n--;
        free (f);
    }
    return f ? f->due_ns : INT64_MAX;
}

static void hand_on (void)
{
    struct pollfd p[2 * PAIRS_MAX];

    for (;;) {
        int64_t now = now_ns (), next = INT64_MAX;
        struct timespec left = { 0, 0 };

        for (size_t i = 0; i < nends; i++) {
            int64_t due = give (&ends[i], now);

            next = due < next ? due : next;
            p[i] = (struct pollfd){ ends[i].fd, POLLIN, 0 };
        }
        if (next < INT64_MAX) {
            left.tv_sec = (time_t)((next - now) / 1000000000);
            left.tv_nsec = (long)((next - now) % 1000000000);
        }
        if (ppoll (p, (nfds_t)nends, next < INT64_MAX ? &left : NULL,
                   NULL) < 0 && errno != EINTR)
            return;
        for (size_t i = 0; i < nends; i++) {
            if (p[i].revents)
                take (&ends[i]);
        }
    }
}

int main (int argc, char **argv)
{
    if (argc < 5 || argc % 2 == 0 || argc > 3 + 2 * PAIRS_MAX) {
        (void)fputs ("usage: net_delay MS PERCENT A B [A B]...\n", stderr);
        return 2;
    }
    delay_ns = (int64_t)(atof (argv[1]) * 1e6);
    lost_share = atof (argv[2]) / 100;
    for (int i = 3; i < argc; i++) {
        struct end *e = &ends[nends++];

        e->last = &e->first;
        if ((e->fd = open_end (argv[i])) < 0)
            return 1;
    }
    for (size_t i = 0; i < nends; i++)
        ends[i].other = ends[i ^ 1].fd;
    (void)puts ("ready");
    (void)fflush (stdout);
    hand_on ();
    return 1;
}
