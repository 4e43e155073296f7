/* tests/unit/node_agent/ship/ship_check.c - a ship without a network, and with a
 * clock that stands still
 */
#include "ship_check.h"

int64_t now_ns;
net_fn *hear;
void *hearer;
static net_fn *hear_second;     // the same of the connection that was made last,
static void *second_hearer;     // if there was another one before
static unsigned connections;    // that were made; a net is the number of one
struct message said[SAID_MAX];
uintptr_t said_to[SAID_MAX];
unsigned nsaid;
unsigned room;
loop_fn *tell_room;
void *waits_for_room;
int64_t repeat_ns;
unsigned losses[SPOOL_COPIES_ALL], heard_done;
enum raw_wanted raw_heard;
int64_t raw_asked_ns;
struct message wanted;

int64_t __wrap_clock_mono_ns (void);
int64_t __wrap_clock_mono_ns (void)
{
    return now_ns;
}

int __wrap_net_connect (const char *endpoint,
                        const struct net_security *security, struct net **ret,
                        struct err *err);
int __wrap_net_connect (const char *endpoint,
                        const struct net_security *security, struct net **ret,
                        struct err *err)
{
    (void)endpoint;
    (void)security;
    (void)err;
    *ret = (struct net *)(uintptr_t)++connections;
    return 0;
}

void __wrap_net_close (struct net *n);
void __wrap_net_close (struct net *n)
{
    (void)n;
}

int __wrap_net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg);
int __wrap_net_attach (struct net *n, struct loop *l, net_fn *fn, void *arg)
{
    (void)l;
    if ((uintptr_t)n == 1) {
        hear = fn;
        hearer = arg;
    } else {
        hear_second = fn;
        second_hearer = arg;
    }
    return 0;
}

void __wrap_net_watch (struct net *n, net_problem_fn *fn, void *arg);
void __wrap_net_watch (struct net *n, net_problem_fn *fn, void *arg)
{
    (void)n;
    (void)fn;
    (void)arg;
}

int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m);
int __wrap_net_send (struct net *n, const struct net_peer *to,
                     const struct message *m)
{
    (void)to;
    free (m->owned);
    if (room == 0)
        return -EAGAIN;
    room--;
    said_to[nsaid % SAID_MAX] = (uintptr_t)n;
    said[nsaid++ % SAID_MAX] = *m;
    return 0;
}

void __wrap_net_when_room (struct net *n, loop_fn *fn, void *arg);
void __wrap_net_when_room (struct net *n, loop_fn *fn, void *arg)
{
    (void)n;
    tell_room = fn;
    waits_for_room = arg;
}

int __real_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg);
int __wrap_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg);
int __wrap_loop_add_timer (struct loop *l, int64_t after_ns, loop_fn *fn,
                           void *arg)
{
    if (fn == ship_repeat)
        repeat_ns = after_ns;
    return __real_loop_add_timer (l, after_ns, fn, arg);
}

static void ignore (void *arg)
{
    (void)arg;
}

static void ignore_copy (void *arg, unsigned copy)
{
    (void)arg;
    (void)copy;
}

static void on_said (void *arg)
{
    (void)arg;
    heard_done++;
}

static void on_lost (void *arg, unsigned copy)
{
    (void)arg;
    losses[copy]++;
}

static void on_raw (void *arg, enum raw_wanted which, int64_t asked_ns)
{
    (void)arg;
    raw_heard = which;
    raw_asked_ns = asked_ns;
}

static void on_want (void *arg, unsigned copy, const struct message *m)
{
    (void)arg;
    assert_int_equal (copy, 0);
    wanted = *m;
}

struct shipping begin (struct fixture *f)
{
    static const struct ship_identity who = { .job = "j", .host = "h",
                                              .host_key = "k" };
    const struct ship_events events = { .welcome = ignore_copy,
                                        .delivered = ignore,
                                        .said = on_said,
                                        .lost = on_lost, .raw = on_raw,
                                        .want = on_want };
    struct shipping s = { .loop = loop_create () };

    now_ns = 100 * NS_PER_S;
    nsaid = connections = 0;
    memset (losses, 0, sizeof (losses));
    heard_done = 0;
    room = UINT_MAX;
    assert_non_null (s.loop);
    assert_int_equal (ship_create (s.loop, f->s, "tcp://127.0.0.1:1", &who,
                                   &events, &s.ship, NULL), 0);
    return s;
}

void end (struct shipping *s)
{
    ship_destroy (s->ship);
    loop_destroy (s->loop);
}

/* The answer to a HELLO of that time is read now. */
void welcome (int64_t asked_ns)
{
    const struct message m = { .type = MESSAGE_WELCOME, .sent_ns = asked_ns };

    hear (hearer, NULL, &m, 0, NULL);
}

unsigned count (enum message_type type)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nsaid && i < SAID_MAX; i++)
        n += said[i].type == type;
    return n;
}

void second (const struct message *m)
{
    hear_second (second_hearer, NULL, m, 0, NULL);
}

void second_welcomes (bool lost)
{
    const struct message m = { .type = MESSAGE_WELCOME, .sent_ns = now_ns,
                               .lost = lost };

    second (&m);
}

unsigned count_to (uintptr_t net, enum message_type type)
{
    unsigned n = 0;

    for (unsigned i = 0; i < nsaid && i < SAID_MAX; i++)
        n += said[i].type == type && said_to[i] == net;
    return n;
}

struct shipping begin_two (struct fixture *f)
{
    struct shipping s = begin (f);

    assert_int_equal (spool_copies (f->s, 3, NULL), 0);
    assert_int_equal (ship_add_copy (s.ship, 1, NULL), 0);
    assert_int_equal (ship_move (s.ship, 1, "tcp://127.0.0.1:2", NULL, NULL),
                      0);
    ship_ask (s.ship);
    welcome (now_ns);
    second_welcomes (false);
    return s;
}
