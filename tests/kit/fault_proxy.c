/* tests/kit/fault_proxy.c - a TCP proxy that breaks what goes through it
 *
 *     fault_proxy LISTEN-PORT TARGET-PORT
 *
 * Forwards 127.0.0.1:LISTEN-PORT to 127.0.0.1:TARGET-PORT.  Standard input
 * takes one command per line, standard output tells what happened, one line
 * for each event, so that tests need not guess at times; both may be FIFOs.
 *
 *     acks before|after HOW    break the connection at the first ACK of every
 *                              item, before or after it was forwarded
 *     up BYTES TIMES HOW       break the next TIMES connections when so many
 *                              bytes came from the client
 *     delay MS                 each way
 *     stall                    forward nothing, accept all the same: a
 *                              partition, or a stuck peer
 *     go                       forward again; half-open ones are reset
 *     cut HOW                  break all connections now
 *     pass                     no more faults
 *     stat                     print the counts
 *     quit                     or the end of the input
 *
 * HOW is fin, rst or half.  Events: "break HOW ACK|up|cut N", "stat ...".
 */
#include "fault_proxy.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TYPE_ACK 35
#define ITEMS_MAX 65536         // whose ACKs are told apart
#define QUEUE_MAX (4u << 20)    // bytes that wait in one direction
#define LINKS_MAX 4096
#define BLOCK 65536

static struct link *links;
static int listener, target_port;
static int64_t delay_ns;
static bool stalled, ack_rule, ack_before;
static enum how ack_how, up_how;
static uint64_t up_bytes;
static long up_times;
static uint8_t seen[ITEMS_MAX / 8];
static unsigned long connections, breaks, acks;
static uint64_t total[2];

static const char *const hows[] = { "fin", "rst", "half" };

static void tell_break (enum how how, const char *why, uint64_t n)
{
    breaks++;
    printf ("break %s %s %llu\n", hows[how], why, (unsigned long long)n);
}

/* ---- commands ---- */

static enum how how_of (const char *word)
{
    for (int i = 0; i < 3; i++) {
        if (strcmp (word, hows[i]) == 0)
            return (enum how)i;
    }
    return HOW_FIN;
}

static void cut_all (enum how how)
{
    for (struct link *l = links; l; l = l->next) {
        if (!l->half && (l->fd[0] >= 0 || l->fd[1] >= 0)) {
            tell_break (how, "cut", 0);
            link_end (l, how);
        }
    }
}

static void go (void)
{
    stalled = false;
    for (struct link *l = links; l; l = l->next) {
        if (l->half)
            link_end (l, HOW_RST);
    }
}

static bool command (char *line)
{
    char word[16] = "", a[16] = "", how[16] = "";
    unsigned long long n = 0;
    long times = 1;

    (void)sscanf (line, "%15s", word);
    if (strcmp (word, "acks") == 0) {
        (void)sscanf (line, "%*s %15s %15s", a, how);
        ack_rule = true;
        ack_before = strcmp (a, "before") == 0;
        ack_how = how_of (how);
        memset (seen, 0, sizeof (seen));
    } else if (strcmp (word, "up") == 0) {
        (void)sscanf (line, "%*s %llu %ld %15s", &n, &times, how);
        up_bytes = n;
        up_times = times;
        up_how = how_of (how);
    } else if (strcmp (word, "delay") == 0) {
        (void)sscanf (line, "%*s %llu", &n);
        delay_ns = (int64_t)n * NS_PER_MS;
    } else if (strcmp (word, "stall") == 0) {
        stalled = true;
    } else if (strcmp (word, "go") == 0) {
        go ();
    } else if (strcmp (word, "cut") == 0) {
        (void)sscanf (line, "%*s %15s", how);
        cut_all (how_of (how));
    } else if (strcmp (word, "pass") == 0) {
        ack_rule = false;
        up_times = 0;
        delay_ns = 0;
    } else if (strcmp (word, "stat") == 0) {
        printf ("stat connections %lu breaks %lu acks %lu up %llu down %llu\n",
                connections, breaks, acks, (unsigned long long)total[CLIENT],
                (unsigned long long)total[SERVER]);
    } else if (strcmp (word, "quit") == 0) {
        return false;
    } else if (word[0]) {
        printf ("unknown %s\n", word);
    }
    return true;
}

/* Whole lines of what has come; false at the end. */
static bool read_commands (void)
{
    static char text[4096];
    static size_t used;
    ssize_t n = read (STDIN_FILENO, text + used, sizeof (text) - 1 - used);
    char *line = text, *end;

    if (n <= 0)
        return false;
    used += (size_t)n;
    text[used] = '\0';
    while ((end = strchr (line, '\n'))) {
        *end = '\0';
        if (!command (line))
            return false;
        printf ("done %s\n", line);
        line = end + 1;
    }
    used = strlen (line);
    memmove (text, line, used + 1);
    return true;
}

/* ---- connections ---- */

static void accept_one (void)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)target_port),
                              .sin_addr = { htonl (INADDR_LOOPBACK) } };
    struct link *l = calloc (1, sizeof (*l));
    int one = 1;

    if (!l)
        return;
    l->fd[CLIENT] = accept4 (listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    l->fd[SERVER] = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            0);
    if (l->fd[CLIENT] < 0 || l->fd[SERVER] < 0 ||
        (connect (l->fd[SERVER], (struct sockaddr *)&to, sizeof (to)) < 0 &&
         errno != EINPROGRESS)) {
        link_free (l);
        return;
    }
    for (int side = 0; side < 2; side++)
        (void)setsockopt (l->fd[side], IPPROTO_TCP, TCP_NODELAY, &one,
                          sizeof (one));
    l->next = links;
    links = l;
    connections++;
}

/* How many of the server's bytes may pass, and whether to break then: the
 * first ACK of an item is what is looked for.
 */
static size_t look_for_acks (struct link *l, const uint8_t *data, size_t n,
                             uint64_t *which)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t item, at;

        if (zmtp_feed (&l->zmtp, data[i], &item) != TYPE_ACK)
            continue;
        acks++;
        at = item % ITEMS_MAX;
        if (!ack_rule || seen[at / 8] & 1 << at % 8)
            continue;
        seen[at / 8] = (uint8_t)(seen[at / 8] | 1 << at % 8);
        *which = item;
        return ack_before ? 0 : i + 1;
    }
    return SIZE_MAX;
}

static void from_server (struct link *l, const uint8_t *data, size_t n,
                         int64_t now)
{
    uint64_t item = 0;
    size_t pass = look_for_acks (l, data, n, &item);

    (void)link_queue (l, SERVER, data, pass < n ? pass : n, now + delay_ns);
    if (pass == SIZE_MAX)
        return;
    (void)link_flush (l, SERVER, now + delay_ns);
    tell_break (ack_how, "ack", item);
    link_end (l, ack_how);
}

static void from_client (struct link *l, const uint8_t *data, size_t n,
                         int64_t now)
{
    if (l->half)
        return;
    if (up_times > 0 && l->bytes[CLIENT] >= up_bytes) {
        size_t over = (size_t)(l->bytes[CLIENT] - up_bytes);

        up_times--;
        (void)link_queue (l, CLIENT, data, over < n ? n - over : 0, now);
        (void)link_flush (l, CLIENT, now);
        tell_break (up_how, "up", up_bytes);
        link_end (l, up_how);
        return;
    }
    (void)link_queue (l, CLIENT, data, n, now + delay_ns);
}

static void receive (struct link *l, int side, int64_t now)
{
    uint8_t block[BLOCK];
    ssize_t n = recv (l->fd[side], block, sizeof (block), 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {               // the other side hears of it, unless stalled
        link_end (l, n < 0 ? HOW_RST : HOW_FIN);
        return;
    }
    l->bytes[side] += (uint64_t)n;
    total[side] += (uint64_t)n;
    if (side == SERVER)
        from_server (l, block, (size_t)n, now);
    else
        from_client (l, block, (size_t)n, now);
}

static void flush_all (int64_t now)
{
    for (struct link *l = links; l && !stalled; l = l->next) {
        for (int side = 0; side < 2; side++) {
            if (link_flush (l, side, now) < 0)
                link_end (l, HOW_RST);
        }
    }
}

static void remove_ended (void)
{
    for (struct link **at = &links; *at;) {
        struct link *l = *at;

        if (l->fd[CLIENT] >= 0 || l->fd[SERVER] >= 0) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        link_free (l);
    }
}

/* ---- the loop ---- */

/* What to wait for on a side: room in the other direction's queue, bytes. */
static short wanted (const struct link *l, int side, int64_t now)
{
    const struct packet *out = l->first[1 - side];
    short events = 0;

    if (!stalled && l->queued[side] < QUEUE_MAX)
        events |= POLLIN;
    if (!stalled && out && out->due_ns <= now)
        events |= POLLOUT;
    return events;
}

/* Milliseconds until something is due. */
static int patience (int64_t now)
{
    int64_t first = INT64_MAX;

    for (struct link *l = links; l && !stalled; l = l->next) {
        for (int side = 0; side < 2; side++) {
            if (l->first[side] && l->first[side]->due_ns > now &&
                l->first[side]->due_ns < first)
                first = l->first[side]->due_ns;
        }
    }
    return first == INT64_MAX ? -1 : (int)((first - now) / NS_PER_MS) + 1;
}

static bool turn (void)
{
    static struct pollfd p[2 + 2 * LINKS_MAX];
    static struct link *who[LINKS_MAX];
    int64_t now = clock_mono_ns ();
    nfds_t n = 2;

    p[0] = (struct pollfd){ STDIN_FILENO, POLLIN, 0 };
    p[1] = (struct pollfd){ listener, POLLIN, 0 };
    for (struct link *l = links; l && n < 2 + 2 * LINKS_MAX; l = l->next) {
        who[(n - 2) / 2] = l;
        for (int side = 0; side < 2; side++) {
            short events = wanted (l, side, now);

            // without an event a dead socket would be reported for ever
            p[n++] = (struct pollfd){ events ? l->fd[side] : -1, events, 0 };
        }
    }
    if (poll (p, n, patience (now)) < 0)
        return errno == EINTR;
    now = clock_mono_ns ();
    for (nfds_t i = 2; i < n; i++) {
        struct link *l = who[(i - 2) / 2];

        if (p[i].revents & (POLLIN | POLLERR | POLLHUP) && l->fd[i % 2] >= 0)
            receive (l, (int)(i % 2), now);
    }
    flush_all (now);
    remove_ended ();
    if (p[1].revents)
        accept_one ();
    return !p[0].revents || read_commands ();
}

static int listen_on (int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons ((uint16_t)port),
                              .sin_addr = { htonl (INADDR_LOOPBACK) } };
    int one = 1;

    listener = socket (AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt (listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one));
    if (listener < 0 ||
        bind (listener, (struct sockaddr *)&at, sizeof (at)) < 0 ||
        listen (listener, LINKS_MAX) < 0) {
        perror ("fault_proxy: cannot listen");
        return -1;
    }
    return 0;
}

int main (int argc, char **argv)
{
    if (argc != 3) {
        fprintf (stderr, "usage: fault_proxy LISTEN-PORT TARGET-PORT\n");
        return 2;
    }
    target_port = atoi (argv[2]);
    setvbuf (stdout, NULL, _IOLBF, 0);
    if (listen_on (atoi (argv[1])) < 0)
        return 1;
    while (turn ())
        ;
    while (links) {
        struct link *l = links;

        links = l->next;
        link_free (l);
    }
    return 0;
}
