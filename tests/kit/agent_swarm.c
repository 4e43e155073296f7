/* tests/kit/agent_swarm.c - many agents in one process
 *
 *     agent_swarm ENDPOINTS JOB CAPTURES STATE [OPTION VALUE]...
 *
 * One agent for each capture below CAPTURES, or for several, with a socket, a
 * host key and a state of its own; its shipments are made as the agent makes
 * them and kept in STATE.  They speak the protocol as node_agent/ship does.
 * ENDPOINTS is a list as of --aggregators: each job is delivered to the first
 * choice of its id, and to the next one if that is not heard any more.
 *
 * Some of them are slow (an answer takes 200 ms), stalled (they do not answer a
 * GET, and say nothing) or dead (they close the connection when they are
 * asked), until all others are done; then these come to life again.
 *
 *     slow N  stalled N  dead N    how many are so
 *     blob BYTES                   each has a raw file too
 *     storm 1                      when half is durable all forget what is not
 *                                  durable, and connect again at once
 *     ranks N                      of each agent; 1
 *     agents N                     so many: as many jobs as that takes, JOB-0,
 *                                  JOB-1, ..., each with all of CAPTURES
 *     keys DIR                     each makes a key, enrolled in DIR
 *     away SECONDS                 how long an aggregator may be silent; 0: for
 *                                  ever
 *     steps 1                      wait for a line of standard input when all
 *                                  are welcomed, when half is durable, and at
 *                                  the end
 *     limit SECONDS                give up (status 1); 120
 *
 * Prints "sealed N BYTES", "welcomed MS", "quarter", "half", "others MS",
 * "all MS" and counts.
 */
#include "base/clock.h"
#include "extract/extract.h"
#include "model/shipment.h"
#include "net/endpoints.h"
#include "net/keys.h"
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
#define CAPTURES_MAX 8192       // of a job
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
    unsigned index;
    const struct endpoints *choices;    // of its job, the first one first
    size_t at;                  // the one that it talks to
    char job[64];
    struct message *offer;      // nitems: the rows of each rank, and the raw
                                // file of the first one
    bool *durable, welcomed;
    int64_t say_ns;             // when to say everything again
    int64_t heard_ns;
    struct held held;
    char public_key[NET_KEY_SIZE], secret_key[NET_KEY_SIZE];
};

static struct agent agents[AGENTS_MAX];
static struct endpoints *lists;         // of each job
static char *captures[CAPTURES_MAX];    // their paths
static size_t ncaptures, njobs;
static zmq_pollitem_t polled[AGENTS_MAX];
static size_t nagents, nitems = 1, durable;
static void *context;
static const char *job, *state_dir, *keys_dir;
static uint8_t chunk[CONTENT_CHUNK];
static unsigned long acks, repeated, gets, refused, unsent, blob_bytes;
static unsigned long many[4], storm, steps, wanted, limit_s = 120;
static unsigned long ranks = 1, away_s, moved;
static int64_t began, last_step;

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

static void describe (struct message *m, size_t item, const struct capture *c,
                      int fd, uint64_t size)
{
    struct err err = { "" };

    *m = (struct message){ .type = MESSAGE_OFFER, .item = item + 1,
                           .kind = item < ranks ? ITEM_ROWS : ITEM_RAW,
                           .size = size, .rank = c->rank };
    memcpy (m->capture, c->name, sizeof (m->capture));
    if (m->kind == ITEM_RAW)
        (void)snprintf (m->path, sizeof (m->path), "PROF_1/data");
    if (content_id_of_file (fd, size, &m->content, &err) < 0)
        die (err.text);
    (void)close (fd);
}

static void seal_blob (struct agent *a, const struct capture *c)
{
    int fd = new_file (a->index, ranks);
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
    describe (&a->offer[ranks], ranks, c, fd, (blob_bytes + 7) / 8 * 8);
}

/* Captures of several jobs differ by their names, or each would be delivered
 * once for all.
 */
static void seal_rows (struct agent *a, size_t item, const char *path)
{
    int fd = new_file (a->index, item);
    struct shipment_writer *w = shipment_writer_create (fd);
    struct err err = { "" };
    struct capture c;
    uint64_t size = 0;

    capture_init (&c);
    if (!w || extract_capture (path, NULL, shipment_sink (w), &c, &err) < 0)
        die (err.text);
    if (njobs > 1)
        (void)snprintf (c.name, sizeof (c.name), "%s.%.180s", a->job,
                        strrchr (path, '/') + 1);
    if (shipment_finish (w, &c, &size, &err) < 0)
        die (err.text);
    shipment_writer_destroy (w);
    describe (&a->offer[item], item, &c, fd, size);
    if (item == 0 && blob_bytes)
        seal_blob (a, &c);
    capture_fini (&c);
}

static void list_captures (const char *dir)
{
    struct dirent **names;
    int n = scandir (dir, &names, NULL, alphasort);

    if (n < 0)
        die (dir);
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.' && ncaptures < CAPTURES_MAX &&
            asprintf (&captures[ncaptures], "%s/%s", dir,
                      names[i]->d_name) > 0)
            ncaptures++;
        free (names[i]);
    }
    free (names);
}

static void choose_endpoints (struct endpoints *e, const char *list,
                              const char *of_job)
{
    struct err err = { "" };

    if (endpoints_read (list, e, &err) < 0 ||
        endpoints_sort (e, of_job, &err) < 0)
        die (err.text);
    for (size_t i = 0; i < e->n && keys_dir; i++) {
        if (!e->all[i].server_key ||
            key_read_public (e->all[i].server_key,
                             e->all[i].security.server_key, &err) < 0)
            die (e->all[i].name);
    }
}

static void enrol (struct agent *a)
{
    char name[NET_WHO_MAX], path[PATH_MAX];
    struct key_file k;
    struct err err = { "" };

    (void)snprintf (name, sizeof (name), "node%u", a->index);
    (void)snprintf (path, sizeof (path), "%s/%s.pub", keys_dir, name);
    if (key_make (name, &k, &err) < 0)
        die (err.text);
    memcpy (a->public_key, k.public_key, NET_KEY_SIZE);
    memcpy (a->secret_key, k.secret_key, NET_KEY_SIZE);
    memset (k.secret_key, 0, sizeof (k.secret_key));
    if (key_write (path, &k, &err) < 0)
        die (err.text);
}

static void make_agents (const char *list)
{
    size_t each = ncaptures / ranks;    // agents of a job
    unsigned long bytes = 0;

    nagents = wanted ? wanted : each;
    njobs = each ? nagents / each : 0;
    if (njobs == 0 || nagents > AGENTS_MAX || each * ranks != ncaptures ||
        njobs * each != nagents ||
        !(lists = calloc (njobs, sizeof (*lists))))
        die ("agents, ranks and captures are no whole jobs");
    for (size_t i = 0; i < nagents; i++) {
        struct agent *a = &agents[i];
        size_t of_job = i / each;

        a->index = (unsigned)i;
        a->offer = calloc (nitems, sizeof (*a->offer));
        a->durable = calloc (nitems, sizeof (*a->durable));
        if (!a->offer || !a->durable)
            die ("no memory");
        (void)snprintf (a->job, sizeof (a->job), njobs > 1 ? "%.50s-%zu"
                        : "%.50s", job, of_job);
        if (i % each == 0)
            choose_endpoints (&lists[of_job], list, a->job);
        a->choices = &lists[of_job];
        if (keys_dir)
            enrol (a);
        for (size_t k = 0; k < ranks; k++)
            seal_rows (a, k, captures[i % each * ranks + k]);
        for (size_t k = 0; k < nitems; k++)
            bytes += a->offer[k].size;
    }
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
                         .world_size = (int64_t)ncaptures,
                         .sent_ns = clock_mono_ns (),
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "%s", a->job);
    (void)snprintf (m.host, sizeof (m.host), "host%u", a->index);
    (void)snprintf (m.host_key, sizeof (m.host_key), "swarm-%u", a->index);
    send_to (a, &m);
}

static void say_all (struct agent *a, int64_t now)
{
    greet (a);
    for (size_t i = 0; i < nitems && a->welcomed && last_step > 0; i++) {
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
    const struct endpoint *e = &a->choices->all[a->at];
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
    if (keys_dir &&
        (zmq_setsockopt (a->socket, ZMQ_CURVE_SERVERKEY,
                         e->security.server_key, NET_KEY_SIZE) < 0 ||
         zmq_setsockopt (a->socket, ZMQ_CURVE_PUBLICKEY, a->public_key,
                         NET_KEY_SIZE) < 0 ||
         zmq_setsockopt (a->socket, ZMQ_CURVE_SECRETKEY, a->secret_key,
                         NET_KEY_SIZE) < 0))
        die ("keys");
    if (zmq_connect (a->socket, e->name) < 0)
        die (e->name);
    a->welcomed = false;
    a->say_ns = a->heard_ns = now;
    a->held.due_ns = 0;
}

static void disconnect (struct agent *a)
{
    if (a->socket)
        (void)zmq_close (a->socket);
    a->socket = NULL;
}

/* The next aggregator is told everything. */
static void move (struct agent *a, int64_t now)
{
    disconnect (a);
    a->at = (a->at + 1) % a->choices->n;
    for (size_t i = 0; i < nitems; i++) {
        durable -= a->durable[i];
        a->durable[i] = false;
    }
    moved++;
    connect_one (a, now);
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
    a->heard_ns = now;
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
        if (away_s && a->heard_ns < now - (int64_t)away_s * NS_PER_S)
            move (a, now);
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

/* Whether nobody lacks anything, and nobody talks to an aggregator that is
 * away since the last step.
 */
static bool all_done (void)
{
    for (size_t i = 0; i < nagents && steps; i++) {
        if (agents[i].heard_ns < last_step)
            return false;
    }
    return durable == nagents * nitems;
}

static bool all_welcomed (void)
{
    for (size_t i = 0; i < nagents; i++) {
        if (!agents[i].welcomed)
            return false;
    }
    return true;
}

/* Whoever has started us is done with what it does now. */
static void step (void)
{
    int64_t from = clock_mono_ns (), waited;

    while (steps && getchar () != '\n' && !feof (stdin))
        continue;
    last_step = clock_mono_ns ();
    waited = last_step - from;
    began += waited;
    for (size_t i = 0; i < nagents; i++)        // nobody was listening
        agents[i].heard_ns += waited;
}

/* Events, each once; false when all is durable. */
static bool progress (int64_t now)
{
    static int told;
    size_t all = nagents * nitems;

    if (told == 0 && (!steps || all_welcomed ()) && ++told) {
        tell_time ("welcomed", now);
        step ();
        for (size_t i = 0; i < nagents; i++)
            agents[i].say_ns = 0;
    }
    if (told == 1 && durable * 4 >= all && ++told)
        tell_time ("quarter", now);
    if (told == 2 && durable * 2 >= all && ++told) {
        tell_time ("half", now);
        step ();
        if (storm)
            begin_storm (clock_mono_ns ());
    }
    if (told == 3 && others_done () && ++told) {
        tell_time ("others", now);
        revive (now);
    }
    if (told < 4 || !all_done ())
        return true;
    tell_time ("all", now);
    step ();
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
        { "ranks", &ranks }, { "agents", &wanted }, { "away", &away_s },
        { "steps", &steps },
        { "slow", &many[SLOW] }, { "stalled", &many[STALLED] },
        { "dead", &many[DEAD] }, { "blob", &blob_bytes }, { "storm", &storm },
        { "limit", &limit_s },
    };

    for (int i = 5; i + 1 < argc; i += 2) {
        for (size_t k = 0; k < sizeof (options) / sizeof (options[0]); k++) {
            if (strcmp (argv[i], options[k].name) == 0)
                *options[k].value = strtoul (argv[i + 1], NULL, 10);
        }
        if (strcmp (argv[i], "keys") == 0)
            keys_dir = argv[i + 1];
    }
    ranks = ranks ? ranks : 1;
    nitems = ranks + (blob_bytes > 0);
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
        fprintf (stderr, "usage: agent_swarm ENDPOINTS JOB CAPTURES STATE "
                 "[OPTION VALUE]...\n");
        return 2;
    }
    job = argv[2];
    state_dir = argv[4];
    parse (argc, argv);
    setvbuf (stdout, NULL, _IOLBF, 0);
    if (getrlimit (RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit (RLIMIT_NOFILE, &files);
    }
    list_captures (argv[3]);
    make_agents (argv[1]);
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
            "unsent %lu moved %lu\n", durable, nagents * nitems, acks,
            repeated, gets, refused, unsent, moved);
    for (size_t i = 0; i < nagents; i++) {
        disconnect (&agents[i]);
        free (agents[i].offer);
        free (agents[i].durable);
    }
    (void)zmq_ctx_term (context);
    return durable == nagents * nitems && refused == 0 ? 0 : 1;
}
