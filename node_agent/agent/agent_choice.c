/* node_agent/agent/agent_choice.c - which of several aggregators this agent
 * delivers to
 *
 * Its job goes to the first choices of the list, see net/endpoints.h.  If one is
 * away, the next one stands in: it is told everything, gets all captures that
 * are still here, and is asked for the others.  Meanwhile those that are away
 * are probed; one that is back gets its jobs again, in the same way.  Until then
 * no capture is removed, so that it can get all of it.
 */
#include "agent/agent_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LOOK_NS NS_PER_S
#define PROBE_NS (10 * NS_PER_S)        // that a probe may take, at most

/* ---- names ---- */

const char *agent_endpoint (const struct agent *a, unsigned copy)
{
    return a->targets.endpoints.all[a->targets.choice.copy[copy].at].name;
}

const char *agent_endpoints (const struct agent *a, char out[MESSAGE_TEXT_MAX])
{
    size_t n = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < a->targets.choice.copies; i++) {
        (void)snprintf (out + n, MESSAGE_TEXT_MAX - n, "%s%s", i ? ", " : "",
                        agent_endpoint (a, i));
        n = strlen (out);
    }
    return out;
}

bool agent_is_at_first_choice (const struct agent *a)
{
    return choice_is_first (&a->targets.choice);
}

/* ---- who has what was acknowledged ---- */

static const char *const holders[SPOOL_COPIES_MAX] = { "holder", "holder 2" };

const char *agent_former_holder (const struct agent *a, unsigned copy,
                                 char out[MESSAGE_NAME_MAX])
{
    if (a->targets.endpoints.n == 1)
        return NULL;
    if (!spool_note (a->spool, holders[copy], out, MESSAGE_NAME_MAX))
        out[0] = '\0';
    return strcmp (out, agent_endpoint (a, copy)) == 0 ? NULL : out;
}

void agent_keep_holder (struct agent *a, unsigned copy)
{
    char former[MESSAGE_NAME_MAX];
    struct err err = { "" };

    if (agent_former_holder (a, copy, former) &&
        spool_keep_note (a->spool, holders[copy], agent_endpoint (a, copy),
                         &err) < 0)
        log_error ("note-failed", "%s", err.text);
}

/* ---- set-up ---- */

static int read_targets (struct agent *a, struct err *err)
{
    const struct agent_options *o = a->opt;
    struct endpoints *e = &a->targets.endpoints;
    int rc;

    // a run's own aggregator is the only one that it has
    if (!o->aggregators || (o->run_dir && !o->no_roll))
        return endpoints_one (o->aggregator, NULL, e, err);
    if ((rc = endpoints_read (o->aggregators, e, err)) < 0)
        return rc;
    return (size_t)o->copies > e->n
               ? err_set (err, EINVAL, "--copies %lld needs as many "
                          "aggregators, and %s has %zu",
                          (long long)o->copies, o->aggregators, e->n)
               : endpoints_sort (e, o->job, err);
}

/* The first ones are checked when they are connected, the others would be when
 * it is too late.
 */
static int check_keyless (const struct agent *a, struct err *err)
{
    const struct endpoints *e = &a->targets.endpoints;

    for (size_t i = 0; i < e->n && !a->opt->insecure; i++) {
        const struct endpoint *one = &e->all[i];

        if (one->server_key || (e->n > 1 && !net_is_loopback (one->name)))
            return err_set (err, ENOKEY, "%s %s: name the key of this node "
                            "with --key, or use --insecure", one->name,
                            one->server_key ? "has a server key"
                                            : "is on another host");
    }
    return 0;
}

int agent_open_targets (struct agent *a, struct err *err)
{
    struct targets *t = &a->targets;
    int rc = read_targets (a, err);

    if (rc < 0)
        return rc;
    choice_begin (&t->choice, t->endpoints.n,
                  t->endpoints.n > 1 ? (unsigned)a->opt->copies : 1,
                  a->opt->away_ns, clock_mono_ns ());
    for (size_t i = 0; i < t->endpoints.n && a->opt->insecure; i++)
        t->endpoints.all[i].security.insecure = true;
    return a->opt->insecure || !a->opt->key
               ? check_keyless (a, err)
               : endpoints_secure (&t->endpoints, a->opt->key,
                                   a->opt->server_key, err);
}

static const struct net_security *security_of (const struct agent *a,
                                               size_t endpoint)
{
    return a->opt->key || a->opt->insecure
               ? &a->targets.endpoints.all[endpoint].security : NULL;
}

int agent_open_ship (struct agent *a, const struct ship_events *events,
                     struct err *err)
{
    const struct targets *t = &a->targets;
    struct ship_identity who = { a->opt->job, a->self.host, a->self.key,
                                 a->opt->world_size, security_of (a, 0) };
    int rc = spool_copies (a->spool, t->choice.copies, err);

    if (rc == 0)
        rc = ship_create (a->loop, a->spool, t->endpoints.all[0].name, &who,
                          events, &a->ship, err);
    for (unsigned i = 1; i < t->choice.copies && rc == 0; i++)
        rc = ship_add_copy (a->ship, t->endpoints.all[i].name,
                            security_of (a, i), err);
    if (rc < 0)
        return rc;
    ship_limit (a->ship, a->opt->max_rate);
    ship_pack (a->ship, a->opt->codec);
    return 0;
}

/* ---- whether one that is away is back ---- */

static void on_answer (void *arg, const struct net_peer *from,
                       const struct message *m, int bad, const struct err *err)
{
    struct probe *p = arg;

    (void)from;
    (void)bad;
    (void)err;
    p->answers = p->answers || (m && m->type == MESSAGE_WELCOME);
}

static void end_probe (struct agent *a)
{
    struct probe *p = &a->targets.probe;

    net_close (p->net);
    p->net = NULL;
    p->began_ns = clock_mono_ns ();
    choice_probed (&a->targets.choice, p->endpoint, p->answers, p->began_ns);
}

static void begin_probe (struct agent *a)
{
    struct targets *t = &a->targets;
    struct probe *p = &t->probe;
    size_t next = choice_next_probe (&t->choice, p->endpoint);

    if (next == ENDPOINTS_MAX ||
        clock_mono_ns () - p->began_ns < t->choice.away_ns / 4)
        return;
    *p = (struct probe){ .endpoint = next, .began_ns = clock_mono_ns () };
    if (net_connect (t->endpoints.all[next].name, security_of (a, next),
                     &p->net, NULL) < 0)
        return;
    if (net_attach (p->net, a->loop, on_answer, p) < 0)
        end_probe (a);
}

/* A HELLO without a job is answered and has no other effect. */
static void look_at_probe (struct agent *a)
{
    struct probe *p = &a->targets.probe;
    const struct message hello = { .type = MESSAGE_HELLO,
                                   .sent_ns = clock_mono_ns (),
                                   .wall_ns = clock_wall_ns (),
                                   .clock_offset_ns = MESSAGE_NO_CLOCK,
                                   .clock_error_ns = MESSAGE_NO_CLOCK };

    if (!p->net)
        begin_probe (a);
    else if (p->answers || clock_mono_ns () - p->began_ns > PROBE_NS)
        end_probe (a);
    else
        (void)net_send (p->net, NULL, &hello);
}

/* ---- moving ---- */

static void move (struct agent *a, unsigned copy, const char *from)
{
    const struct targets *t = &a->targets;
    size_t at = t->choice.copy[copy].at;
    struct err err = { "" };

    a->connection[copy] = (struct connection){ .met_ns = 0 };
    log_warn ("moved", "%s %s: its captures here go to %s, and none is removed "
              "here%s", from,
              t->choice.of[at].away || !agent_is_at_first_choice (a)
                  ? "is away" : "stood in for one that is back",
              t->endpoints.all[at].name,
              agent_is_at_first_choice (a) ? " before it has them"
                                           : " until it is back");
    if (ship_move (a->ship, copy, t->endpoints.all[at].name,
                   security_of (a, at), &err) < 0)
        log_error ("not-connected", "%s", err.text);
}

void agent_look_at_targets (void *arg)
{
    struct agent *a = arg;
    struct targets *t = &a->targets;
    int64_t now = clock_mono_ns ();
    unsigned copy;

    if (t->endpoints.n == 1 || life_is_over (&a->life))
        return;
    for (unsigned i = 0; i < t->choice.copies; i++)
        choice_heard (&t->choice, i, ship_copy_heard_ns (a->ship, i), now);
    look_at_probe (a);
    for (;;) {
        struct choice before = t->choice;

        if (!choice_next_move (&t->choice, &copy, now))
            break;
        move (a, copy, t->endpoints.all[before.copy[copy].at].name);
    }
    (void)loop_add_timer (a->loop, LOOK_NS, agent_look_at_targets, a);
}

void agent_close_targets (struct agent *a)
{
    net_close (a->targets.probe.net);
    endpoints_fini (&a->targets.endpoints);
}
