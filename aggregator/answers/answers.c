/* aggregator/answers/answers.c - answers to people who ask over the network */
#include "answers/answers.h"

#include "base/clock.h"
#include "store/fileio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#define ANSWERS_MAX 16          // at a time: some wait to be taken when their
                                // processes have ended
#define ANSWERS_OF_KEY 4        // of these
#define TURN_PIECES 8           // of an answer, in one turn of the loop
#define LOOK_NS (100 * NS_PER_MS)       // when there was no room to send
#define SILENT_NS (60 * NS_PER_S)       // whoever says nothing for so long has
                                        // gone, ...
#define PROBE_NS (5 * NS_PER_S) // ... and whose connection has ended at once

struct answer {
    struct answers *all;
    struct net_peer to;
    uint64_t item;
    int fds[ANSWER_STREAMS];    // -1: it has ended
    bool watched[ANSWER_STREAMS];
    uint64_t offset[ANSWER_STREAMS];    // sent
    uint64_t credit;            // of both
    uint8_t held[ANSWER_PIECE_MAX];     // read, and not sent: there was no room
    size_t nheld;
    enum answer_stream held_of;
    struct digester *digester;  // of the output
    void (*gone) (void *arg);   // the process runs
    void *gone_arg;
    bool ended;                 // it has ended
    bool failed;                // what was printed is not hashed
    struct message end;         // what is to be said then
    int64_t silent_ns;          // by looks at it: who was stopped heard nobody
    struct answer *next;
};

struct answers {
    struct loop *loop;
    struct net *net;
    struct answer *list;
};

struct answers *answers_create (struct loop *loop, struct net *net)
{
    struct answers *a = calloc (1, sizeof (*a));

    if (a)
        *a = (struct answers){ .loop = loop, .net = net };
    return a;
}

static void pump (void *arg);
static void on_silence (void *arg);

static void close_stream (struct answer *x, unsigned stream)
{
    if (x->watched[stream])
        loop_del_fd (x->all->loop, x->fds[stream]);
    x->watched[stream] = false;
    fileio_close (x->fds[stream]);
    x->fds[stream] = -1;
}

void answer_drop (struct answer *x)
{
    struct answer **at = &x->all->list;

    while (*at != x)
        at = &(*at)->next;
    *at = x->next;
    for (unsigned i = 0; i < ANSWER_STREAMS; i++)
        close_stream (x, i);
    loop_del_timer (x->all->loop, pump, x);
    loop_del_timer (x->all->loop, on_silence, x);
    digester_destroy (x->digester);
    if (x->gone)
        x->gone (x->gone_arg);
    free (x);
}

void answers_destroy (struct answers *a)
{
    while (a && a->list)
        answer_drop (a->list);
    free (a);
}

/* ---- pieces ---- */

/* 1: it is sent; 0: there is no room now, and 'pump' is called again; negative:
 * the asker has gone, and the answer with him.
 */
static int send_now (struct answer *x, const struct message *m)
{
    int rc = net_send (x->all->net, &x->to, m);

    if (rc == -EAGAIN && loop_add_timer (x->all->loop, LOOK_NS, pump, x) == 0)
        return 0;
    if (rc < 0)
        answer_drop (x);
    return rc < 0 ? -EPIPE : 1;
}

/* As send_now. */
static int send_piece (struct answer *x)
{
    const struct message m = { .type = MESSAGE_OUTPUT, .item = x->item,
                               .stream = x->held_of,
                               .offset = x->offset[x->held_of],
                               .data = x->held, .data_size = x->nheld };
    int rc = send_now (x, &m);

    if (rc <= 0)
        return rc;
    x->offset[x->held_of] += x->nheld;
    x->credit -= x->nheld;
    x->nheld = 0;
    return 1;
}

/* Read a piece of a stream.  False: there is none now, or none may be sent. */
static bool hold (struct answer *x, enum answer_stream stream)
{
    size_t most = x->credit < sizeof (x->held) ? (size_t)x->credit
                                               : sizeof (x->held);
    ssize_t n;

    if (most == 0 || x->fds[stream] < 0)
        return false;
    n = read (x->fds[stream], x->held, most);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_stream (x, stream);
        return false;
    }
    if (stream == ANSWER_OUT &&
        digest_add (x->digester, x->held, (size_t)n) < 0)
        x->failed = true;
    x->nheld = (size_t)n;
    x->held_of = stream;
    return true;
}

/* A stream that nothing may, or can, be sent of is not looked at: it would be seen
 * again and again.
 */
static void watch (struct answer *x)
{
    for (unsigned i = 0; i < ANSWER_STREAMS; i++) {
        bool wanted = x->fds[i] >= 0 && x->credit > 0 && x->nheld == 0;

        if (x->watched[i] && !wanted)
            loop_del_fd (x->all->loop, x->fds[i]);
        else if (!x->watched[i] && wanted &&
                 loop_add_fd (x->all->loop, x->fds[i], pump, x) < 0)
            wanted = false;     // the next MORE tries again
        x->watched[i] = wanted;
    }
}

/* The process has ended, and everything is sent. */
static void say_end (struct answer *x)
{
    struct message *m = &x->end;

    if (m->type != MESSAGE_END) {
        m->type = MESSAGE_END;
        m->item = x->item;
        m->size = x->offset[ANSWER_OUT];
        if (digest_end (x->digester, &m->content) < 0 || x->failed) {
            m->status = EX_OSERR;
            PRINT (m->text, "no memory for an answer");
        }
    }
    if (send_now (x, m) > 0)
        answer_drop (x);
}

static void pump (void *arg)
{
    struct answer *x = arg;
    int rc = 1;

    for (unsigned i = 0; i < TURN_PIECES && rc > 0; i++) {
        if (x->nheld == 0 && !hold (x, ANSWER_OUT) && !hold (x, ANSWER_SAID))
            break;
        rc = send_piece (x);
    }
    if (rc < 0)
        return;
    watch (x);
    if (rc > 0 && x->ended && x->fds[ANSWER_OUT] < 0 && x->fds[ANSWER_SAID] < 0)
        say_end (x);
}

/* ---- the asker ---- */

static struct answer *find (const struct answers *a, const struct net_peer *to,
                            uint64_t item)
{
    struct answer *x = a->list;

    while (x && (x->item != item || !net_peer_is (&x->to, to)))
        x = x->next;
    return x;
}

/* As send_now. */
static int say_alive (struct answer *x)
{
    const struct message m = { .type = MESSAGE_OUTPUT, .item = x->item,
                               .offset = x->offset[ANSWER_OUT] };

    return send_now (x, &m);
}

static void on_silence (void *arg)
{
    struct answer *x = arg;

    x->silent_ns += PROBE_NS;
    if (x->silent_ns >= SILENT_NS ||
        loop_add_timer (x->all->loop, PROBE_NS, on_silence, x) < 0)
        answer_drop (x);
    else
        (void)say_alive (x);
}

static int open_streams (struct answer *x, int pipes[ANSWER_STREAMS])
{
    for (unsigned i = 0; i < ANSWER_STREAMS; i++) {
        int fds[2];

        if (pipe2 (fds, O_CLOEXEC) < 0)
            return -errno;
        x->fds[i] = fds[0];
        pipes[i] = fds[1];
        if (fcntl (fds[0], F_SETFL, O_NONBLOCK) < 0)
            return -errno;
    }
    return (x->digester = digester_create ()) ? 0 : -ENOMEM;
}

static int check_room (const struct answers *a, const struct net_peer *to,
                       uint64_t item, struct err *err)
{
    size_t n = 0, own = 0;

    if (find (a, to, item))
        return err_set (err, EEXIST, "this question was asked before");
    for (const struct answer *x = a->list; x; x = x->next) {
        n++;
        own += strcmp (x->to.who, to->who) == 0;
    }
    return n < ANSWERS_MAX && own < ANSWERS_OF_KEY
               ? 0 : err_set (err, EBUSY, "%s this aggregator: try again later",
                              own < ANSWERS_OF_KEY ? "others are asking"
                                                   : "you are asking");
}

struct answer *answers_begin (struct answers *a, const struct net_peer *to,
                              uint64_t item, int pipes[ANSWER_STREAMS],
                              struct err *err)
{
    struct answer *x;
    int rc = 0;

    pipes[ANSWER_OUT] = pipes[ANSWER_SAID] = -1;
    if (check_room (a, to, item, err) < 0)
        return NULL;
    if (!(x = calloc (1, sizeof (*x)))) {
        (void)err_set (err, ENOMEM, "no memory to ask");
        return NULL;
    }
    *x = (struct answer){ .all = a, .to = *to, .item = item,
                          .fds = { -1, -1 }, .next = a->list };
    a->list = x;
    rc = open_streams (x, pipes);
    if (rc == 0)
        rc = loop_add_timer (a->loop, PROBE_NS, on_silence, x);
    if (rc == 0)
        return x;
    (void)err_sys (err, -rc, "cannot make a pipe");
    for (unsigned i = 0; i < ANSWER_STREAMS; i++)
        fileio_close (pipes[i]);
    pipes[ANSWER_OUT] = pipes[ANSWER_SAID] = -1;
    answer_drop (x);
    return NULL;
}

void answer_runs (struct answer *x, void (*gone) (void *arg), void *arg)
{
    x->gone = gone;
    x->gone_arg = arg;
    watch (x);
}

void answer_ended (struct answer *x, int status, const char *why)
{
    x->gone = NULL;
    x->ended = true;
    x->end.status = status;
    PRINT (x->end.text, "%s", why);
    pump (x);
}

void answers_refuse (struct answers *a, const struct net_peer *to,
                     uint64_t item, int status, const char *why)
{
    struct message m = { .type = MESSAGE_END, .item = item, .status = status };
    struct answer *x = find (a, to, item);

    if (x)
        answer_drop (x);
    PRINT (m.text, "%s", why);
    (void)digest_of ("", 0, &m.content);
    (void)net_send (a->net, to, &m);    // else the asker does not wait for ever
}

void answers_more (struct answers *a, const struct net_peer *from,
                   const struct message *m)
{
    struct answer *x = find (a, from, m->item);
    uint64_t sent, most;

    if (!x) {
        answers_refuse (a, from, m->item, EX_TEMPFAIL, "the aggregator was "
                        "started again, or has ended the answer");
        return;
    }
    x->silent_ns = 0;
    sent = x->offset[ANSWER_OUT] + x->offset[ANSWER_SAID];
    most = m->size > sent ? m->size - sent : 0;
    if (most >= x->nheld)
        x->credit = most < ANSWER_WINDOW ? most : ANSWER_WINDOW;
    if (say_alive (x) > 0)
        pump (x);
}
