/* tests/kit/agent_swarm.c - many agents in one process
 *
 *     agent_swarm ENDPOINT JOB CAPTURES STATE [OPTION N]...
 *
 * One agent for each capture below CAPTURES, with a socket, a host key and a
 * state of its own; its shipment is made as the agent makes it and kept in
 * STATE.  They speak the protocol as node_agent/ship does.  Some of them are
 * slow (an answer takes 200 ms), stalled (they do not answer a GET, and say
 * nothing) or dead (they close the connection when they are asked), until all
 * others are done; then these come to life again.
 *
 *     slow N  stalled N  dead N    how many are so
 *     blob BYTES                   each has a raw file too
 *     storm 1                      when half is durable all forget what is not
 *                                  durable, and connect again at once
 *     limit SECONDS                give up (status 1); 120
 *
 * Prints "sealed N BYTES", "quarter", "half", "others MS", "all MS" and counts.
 */
#include "base/clock.h"
#include "extract/extract.h"
#include "model/shipment.h"
#include "net/message.h"
#include "store/content.h"
#include "store/fileio.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zmq.h>

#define AGENTS_MAX 8192
#define ITEMS 2                 // rows, and the raw file
#define REPEAT_NS (2 * NS_PER_S)        // as ship/ship_says.c
#define GREET_NS (100 * NS_PER_MS)
#define SLOW_NS (200 * NS_PER_MS)
#define TURN_MS 10              // for clocks to be looked at

enum manner { NORMAL, SLOW, STALLED, DEAD };

struct held {                   // a question that is answered later
    struct message get;
    int64_t due_ns;
};

struct agent {
    void *socket;               // NULL: not connected
    enum manner manner;
    struct capture capture;     // its name and rank
    struct message offer[ITEMS];
    bool durable[ITEMS], welcomed;
    int64_t say_ns;             // when to say everything again
    struct held held;
    unsigned index;
};

static struct agent agents[AGENTS_MAX];
static zmq_pollitem_t polled[AGENTS_MAX];
static size_t nagents, nitems = 1, durable;
static void *context;
static const char *endpoint, *job, *state_dir;
static uint8_t chunk[CONTENT_CHUNK];
static unsigned long acks, repeated, gets, refused, unsent, blob_bytes;
static unsigned long many[4], storm, limit_s = 120;
static int64_t began;

static void die (const char *what)
{
    perror (what);
    exit (1);
}

/* ---- what they have ---- */

static void state_path (char path[PATH_MAX], unsigned agent, size_t item)
{
    (void)snprintf (path, PATH_MAX, "%s/%u.%zu", state_dir, agent, item);
}

static int new_file (unsigned agent, size_t item)
{
    char path[PATH_MAX];
    int fd;

    state_path (path, agent, item);
    fd = open (path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        die (path);
    return fd;
}

static void describe (struct agent *a, size_t item, int fd, uint64_t size)
{
    struct message *m = &a->offer[item];
    struct err err = { "" };

    *m = (struct message){ .type = MESSAGE_OFFER, .item = item + 1,
                           .kind = item ? ITEM_RAW : ITEM_ROWS, .size = size,
                           .rank = a->capture.rank };
    memcpy (m->capture, a->capture.name, sizeof (m->capture));
    if (item)
        (void)snprintf (m->path, sizeof (m->path), "PROF_1/data");
    if (content_id_of_file (fd, size, &m->content, &err) < 0)
        die (err.text);
    (void)close (fd);
}

static void seal_rows (struct agent *a, const char *path)
{
    int fd = new_file (a->index, 0);
    struct shipment_writer *w = shipment_writer_create (fd);
    struct err err = { "" };
    uint64_t size = 0;

    capture_init (&a->capture);
    if (!w || extract_capture (path, NULL, shipment_sink (w), &a->capture,
                               &err) < 0 ||
        shipment_finish (w, &a->capture, &size, &err) < 0)
        die (err.text);
    shipment_writer_destroy (w);
    describe (a, 0, fd, size);
}

static void seal_blob (struct agent *a)
{
    int fd = new_file (a->index, 1);
    uint64_t x = a->index + 1;

    for (uint64_t at = 0; at < blob_bytes; at += 8) {
        x = x * UINT64_C (6364136223846793005) + 1442695040888963407;
        memcpy (chunk + at % CONTENT_CHUNK, &x, 8);
        if ((at + 8) % CONTENT_CHUNK == 0 || at + 8 >= blob_bytes) {
            size_t n = (size_t)(at % CONTENT_CHUNK) + 8;

            if (fileio_write_all (fd, chunk, n) < 0)
                die ("cannot write a raw file");
        }
    }
    describe (a, 1, fd, (blob_bytes + 7) / 8 * 8);
}

static void seal_all (const char *dir)
{
    struct dirent **names;
    int n = scandir (dir, &names, NULL, alphasort);
    unsigned long bytes = 0;

    if (n < 0)
        die (dir);
    for (int i = 0; i < n; i++) {
        struct agent *a = &agents[nagents];
        char path[PATH_MAX];

        if (names[i]->d_name[0] != '.' && nagents < AGENTS_MAX) {
            (void)snprintf (path, sizeof (path), "%s/%s", dir,
                            names[i]->d_name);
            a->index = (unsigned)nagents++;
            seal_rows (a, path);
            if (blob_bytes)
                seal_blob (a);
            bytes += a->offer[0].size + a->offer[1].size;
        }
        free (names[i]);
    }
    free (names);
    printf ("sealed %zu %lu\n", nagents, bytes);
}

/* ---- talking ---- */

static void send_to (struct agent *a, const struct message *m)
{
    struct buf b;
    int more = m->type == MESSAGE_CHUNK ? ZMQ_SNDMORE : 0;

    buf_init (&b, 65536);
    message_encode (m, &b);
    if (zmq_send (a->socket, b.data, b.size, ZMQ_DONTWAIT | more) < 0)
        unsent++;               // said again
    else if (more)
        (void)zmq_send (a->socket, m->data, m->data_size, ZMQ_DONTWAIT);
    buf_fini (&b);
}

static void greet (struct agent *a)
{
    struct message m = { .type = MESSAGE_HELLO,
                         .world_size = (int64_t)nagents,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "%s", job);
    (void)snprintf (m.host, sizeof (m.host), "host%u", a->index);
    (void)snprintf (m.host_key, sizeof (m.host_key), "swarm-%u", a->index);
    send_to (a, &m);
}

static void say_all (struct agent *a, int64_t now)
{
    greet (a);
    for (size_t i = 0; i < nitems && a->welcomed; i++) {
        if (!a->durable[i])
            send_to (a, &a->offer[i]);
    }
    a->say_ns = now + (a->welcomed ? REPEAT_NS : GREET_NS);
}

/* All hashes of an item are wanted at once: it is not that large. */
static void answer (struct agent *a, const struct message *get)
{
    struct message m = { .type = MESSAGE_CHUNK, .item = get->item,
                         .part = get->part, .offset = get->offset,
                         .data = chunk, .data_size = get->length };
    struct content_hash h = { .n = 0 };
    char path[PATH_MAX];
    struct err err;
    int fd, rc;

    state_path (path, a->index, get->item - 1);
    fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        die (path);
    rc = get->part == PART_LIST
             ? content_hash_file (fd, a->offer[get->item - 1].size, &h, NULL,
                                  NULL, &err)
             : fileio_pread_all (fd, chunk, get->length, (off_t)get->offset);
    if (rc < 0 || (get->part == PART_LIST &&
                   get->length != h.n * DIGEST_SIZE))
        die (path);
    (void)close (fd);
    if (get->part == PART_LIST)
        m.data = h.chunks;
    send_to (a, &m);
    content_hash_fini (&h);
}

static void connect_one (struct agent *a, int64_t now)
{
    static const int options[][2] = {
        { ZMQ_LINGER, 0 }, { ZMQ_SNDHWM, 24 }, { ZMQ_IMMEDIATE, 1 },
        { ZMQ_RECONNECT_IVL, 100 }, { ZMQ_RECONNECT_IVL_MAX, 10000 },
    };

    a->socket = zmq_socket (context, ZMQ_DEALER);
    if (!a->socket)
        die ("zmq_socket");
    for (size_t i = 0; i < sizeof (options) / sizeof (options[0]); i++)
        (void)zmq_setsockopt (a->socket, options[i][0], &options[i][1],
                              sizeof (int));
    if (zmq_connect (a->socket, endpoint) < 0)
        die (endpoint);
    a->welcomed = false;
    a->say_ns = now;
    a->held.due_ns = 0;
}

static void disconnect (struct agent *a)
{
    if (a->socket)
        (void)zmq_close (a->socket);
    a->socket = NULL;
}

static void on_get (struct agent *a, const struct message *m, int64_t now)
{
    gets++;
    switch (a->manner) {
    case NORMAL:
        answer (a, m);
        break;
    case SLOW:                  // the questions after this one are repeated
        a->held = (struct held){ *m, now + SLOW_NS };
        break;
    case STALLED:
        a->say_ns = INT64_MAX;
        break;
    case DEAD:
        disconnect (a);
        break;
    }
}

static void on_message (struct agent *a, const struct message *m, int64_t now)
{
    switch (m->type) {
    case MESSAGE_WELCOME:
        if (!a->welcomed) {
            a->welcomed = true;
            say_all (a, now);
        }
        break;
    case MESSAGE_GET:
        if (m->item >= 1 && m->item <= nitems)
            on_get (a, m, now);
        break;
    case MESSAGE_ACK:
        acks++;
        if (m->item < 1 || m->item > nitems || a->durable[m->item - 1]) {
            repeated++;
            break;
        }
        a->durable[m->item - 1] = true;
        durable++;
        break;
    case MESSAGE_REFUSED:
        refused++;
        fprintf (stderr, "agent %u was refused: %s\n", a->index, m->text);
        break;
    default:
        break;
    }
}

static void receive_all (struct agent *a, int64_t now)
{
    uint8_t bytes[8192];
    struct message m;
    struct err err;
    int n;

    while (a->socket && (n = zmq_recv (a->socket, bytes, sizeof (bytes),
                                       ZMQ_DONTWAIT)) >= 0) {
        if ((size_t)n <= sizeof (bytes) &&
            message_decode (&m, bytes, (size_t)n, &err) == 0)
            on_message (a, &m, now);
        else
            refused++;
    }
}

/* ---- what happens meanwhile ---- */

static void clocks (int64_t now)
{
    for (size_t i = 0; i < nagents; i++) {
        struct agent *a = &agents[i];

        if (!a->socket)
            continue;
        if (a->held.due_ns && a->held.due_ns <= now) {
            a->held.due_ns = 0;
            answer (a, &a->held.get);
        }
        if (a->say_ns <= now)
            say_all (a, now);
    }
}

static void begin_storm (int64_t now)
{
    for (size_t i = 0; i < nagents; i++)
        disconnect (&agents[i]);
    for (size_t i = 0; i < nagents; i++)
        connect_one (&agents[i], now);
}

/* The stalled and the dead ones do what the others do. */
static void revive (int64_t now)
{
    for (size_t i = 0; i < nagents; i++) {
        struct agent *a = &agents[i];

        if (a->manner == DEAD && !a->socket)
            connect_one (a, now);
        if (a->manner == STALLED)
            a->say_ns = now;
        a->manner = NORMAL;
    }
}

static bool others_done (void)
{
    for (size_t i = 0; i < nagents; i++) {
        for (size_t k = 0; k < nitems && agents[i].manner <= SLOW; k++) {
            if (!agents[i].durable[k])
                return false;
        }
    }
    return true;
}

static void tell_time (const char *what, int64_t now)
{
    printf ("%s %lld\n", what, (long long)((now - began) / NS_PER_MS));
}

/* Events, each once; false when all is durable. */
static bool progress (int64_t now)
{
    static int told;
    size_t all = nagents * nitems;

    if (told == 0 && durable * 4 >= all && ++told)
        tell_time ("quarter", now);
    if (told == 1 && durable * 2 >= all && ++told) {
        tell_time ("half", now);
        if (storm)
            begin_storm (now);
    }
    if (told == 2 && others_done () && ++told) {
        tell_time ("others", now);
        revive (now);
    }
    if (durable < all)
        return true;
    tell_time ("all", now);
    return false;
}

static bool turn (void)
{
    size_t n = 0;
    int64_t now;

    for (size_t i = 0; i < nagents; i++) {
        if (agents[i].socket)
            polled[n++] = (zmq_pollitem_t){ agents[i].socket, 0, ZMQ_POLLIN,
                                            0 };
    }
    if (zmq_poll (polled, (int)n, TURN_MS) < 0)
        return true;
    now = clock_mono_ns ();
    for (size_t i = 0, k = 0; i < nagents; i++) {
        if (!agents[i].socket || k == n)
            continue;
        if (polled[k++].revents)
            receive_all (&agents[i], now);
    }
    clocks (now);
    return progress (now);
}

/* ---- options ---- */

static void parse (int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned long *value;
    } options[] = {
        { "slow", &many[SLOW] }, { "stalled", &many[STALLED] },
        { "dead", &many[DEAD] }, { "blob", &blob_bytes }, { "storm", &storm },
        { "limit", &limit_s },
    };

    for (int i = 5; i + 1 < argc; i += 2) {
        for (size_t k = 0; k < sizeof (options) / sizeof (options[0]); k++) {
            if (strcmp (argv[i], options[k].name) == 0)
                *options[k].value = strtoul (argv[i + 1], NULL, 10);
        }
    }
    nitems = blob_bytes ? 2 : 1;
}

/* The manners are spread evenly over the agents. */
static void choose_manners (void)
{
    for (enum manner m = SLOW; m <= DEAD; m++) {
        for (unsigned long i = 0; i < many[m] && nagents > 0; i++) {
            size_t at = (size_t)(i * nagents / many[m] + m) % nagents;

            while (agents[at].manner != NORMAL)
                at = (at + 1) % nagents;
            agents[at].manner = m;
        }
    }
}

int main (int argc, char **argv)
{
    struct rlimit files;
    int64_t now;

    if (argc < 5) {
        fprintf (stderr, "usage: agent_swarm ENDPOINT JOB CAPTURES STATE "
                 "[OPTION N]...\n");
        return 2;
    }
    endpoint = argv[1];
    job = argv[2];
    state_dir = argv[4];
    parse (argc, argv);
    setvbuf (stdout, NULL, _IOLBF, 0);
    if (getrlimit (RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit (RLIMIT_NOFILE, &files);
    }
    seal_all (argv[3]);
    choose_manners ();
    context = zmq_ctx_new ();
    (void)zmq_ctx_set (context, ZMQ_MAX_SOCKETS, AGENTS_MAX + 16);
    began = now = clock_mono_ns ();
    for (size_t i = 0; i < nagents; i++)
        connect_one (&agents[i], now);
    while (turn () &&
           clock_mono_ns () - began < (int64_t)limit_s * NS_PER_S)
        ;
    printf ("durable %zu of %zu acks %lu repeated %lu gets %lu refused %lu "
            "unsent %lu\n", durable, nagents * nitems, acks, repeated, gets,
            refused, unsent);
    for (size_t i = 0; i < nagents; i++) {
        disconnect (&agents[i]);
        capture_fini (&agents[i].capture);
    }
    (void)zmq_ctx_term (context);
    return durable == nagents * nitems && refused == 0 ? 0 : 1;
}
