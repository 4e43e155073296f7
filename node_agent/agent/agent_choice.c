/* node_agent/agent/agent_choice.c - which of several aggregators this agent
 * delivers to
 *
 * Its job goes to the first choices of the list, see net/endpoints.h.  If one is
 * away, the next one stands in: it is told everything, gets all captures that
 * are still here, and is asked for the others.  Meanwhile those that are away
 * are probed; one that is back gets its jobs again, in the same way.  Until then
 * no capture is removed, so that it can get all of it.
 *
 * If two copies are needed and only one aggregator is there, its object store has
 * the second one: see agent_second.c.
 *
 * The raw files of a job that is larger than --spread go to the first choices of
 * this host instead, if all raw files are wanted.  An aggregator has one
 * connection: if it is chosen for both, the copy of rows has both.
 */
#include "agent/agent_private.h"

#include "agent/agent_delivery.h"
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PROBE_NS (10 * NS_PER_S)        // that a probe may take, at most

/* The order of what was met and heard stays. */
static void connection_was_deaf (struct connection *c, int64_t ns, int64_t now)
{
    int64_t *const times[] = { &c->met_ns, &c->closed_ns };

    for (size_t i = 0; i < sizeof (times) / sizeof (*times); i++) {
        if (*times[i] > 0)
            *times[i] = *times[i] < now - ns ? *times[i] + ns : now;
    }
}

/* Whoever was stopped, or read a hundred thousand captures, has yet to hear what
 * came meanwhile.
 */
void agent_look_whether_deaf (struct agent *a)
{
    int64_t now = clock_mono_ns ();
    int64_t ns = clock_missed_ns (&a->end.asked_ns, now, AGENT_LOOK_NS);

    if (ns == 0)
        return;
    a->end.deaf_ns += ns;
    ship_was_deaf (a->ship, ns);
    choice_was_deaf (&a->targets.choice, ns);
    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++)
        connection_was_deaf (&a->connection[i], ns, now);
}

/* ---- names ---- */

const char *agent_endpoint (const struct agent *a, unsigned copy)
{
    return a->targets.endpoints.all[a->targets.choice.copy[copy].at].name;
}

/* Of copies from 'from' on, and below 'to'. */
static const char *join (const struct agent *a, unsigned from, unsigned to,
                         char out[MESSAGE_TEXT_MAX])
{
    size_t n = 0;

    out[0] = '\0';
    for EACH_CHOSEN (i, &a->targets.choice) {
        if (i < from || i >= to)
            continue;
        (void)snprintf (out + n, MESSAGE_TEXT_MAX - n, "%s%s", n ? ", " : "",
                        agent_endpoint (a, i));
        n = strlen (out);
    }
    return out;
}

const char *agent_endpoints (const struct agent *a, char out[MESSAGE_TEXT_MAX])
{
    return join (a, 0, SPOOL_COPIES_ALL, out);
}

const char *agent_raw_endpoints (const struct agent *a,
                                 char out[MESSAGE_TEXT_MAX])
{
    return join (a, SPOOL_RAW_COPY, SPOOL_COPIES_ALL, out);
}

static bool is_missing (const struct agent *a, size_t endpoint)
{
    const struct choice *c = &a->targets.choice;

    if (c->of[endpoint].away)
        return true;
    for EACH_CHOSEN (i, c) {
        if (c->copy[i].at == endpoint && !ship_is_heard (a->ship, i))
            return true;
    }
    return false;
}

unsigned agent_missing (const struct agent *a, char out[MESSAGE_TEXT_MAX])
{
    const struct endpoints *e = &a->targets.endpoints;
    unsigned n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < e->n; i++) {
        size_t used = strlen (out);

        if (is_missing (a, i))
            (void)snprintf (out + used, MESSAGE_TEXT_MAX - used, "%s%s",
                            n++ > 0 ? ", " : "", e->all[i].name);
    }
    return n;
}

bool agent_is_at_first_choice (const struct agent *a)
{
    return choice_is_first (&a->targets.choice);
}

/* ---- who has what was acknowledged ---- */

static const char *const holders[SPOOL_COPIES_ALL] = {
    "holder", "holder 2", "holder raw", "holder raw 2",
};

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

    a->targets.copies = 1;
    // a run's own aggregator is the only one that it has
    if (!o->aggregators || (o->run_dir && !o->no_roll))
        return endpoints_one (o->aggregator, NULL, e, err);
    if ((rc = endpoints_read (o->aggregators, e, err)) < 0)
        return rc;
    a->targets.copies = (unsigned)o->copies;
    return endpoints_sort (e, o->job, err);
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
                  t->endpoints.n > 1 ? t->copies : 1,
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

/* Raw files of a large job do not all go to one: by host. */
static int divide (struct agent *a, struct err *err)
{
    const struct agent_options *o = a->opt;
    struct targets *t = &a->targets;
    size_t order[ENDPOINTS_MAX];
    int rc;

    if (o->spread == 0 || o->world_size <= o->spread || !o->raw ||
        o->divided || t->endpoints.n == 1)
        return 0;
    rc = endpoints_order (&t->endpoints, o->job, a->self.host, order, err);
    if (rc == 0)
        choice_divide (&t->choice, order);
    return rc;
}

/* What a copy delivers.  The first choice of the job says whether all raw files
 * are wanted; those on demand go where the wish came from.
 */
static unsigned kinds_of (const struct agent *a, unsigned copy)
{
    const struct choice *c = &a->targets.choice;
    bool on_demand = a->wants.on_demand;

    if (!c->divided)
        return SHIP_ALL;
    if (!a->wants.known || a->targets.marks_due)
        return copy < SPOOL_RAW_COPY ? SHIP_ROWS : 0;
    if (copy >= SPOOL_RAW_COPY)
        return on_demand ? 0 : SHIP_RAW;
    return on_demand || choice_has_raw (c, copy) ? SHIP_ALL : SHIP_ROWS;
}

bool agent_gives_raw_to (const struct agent *a, unsigned copy)
{
    return kinds_of (a, copy) & SHIP_RAW;
}

/* False: all copies take all.  Judge then: while some are not connected yet, one
 * looks as if it were alone.
 */
static bool route (struct agent *a)
{
    const struct choice *c = &a->targets.choice;
    char rows[MESSAGE_TEXT_MAX], raw[MESSAGE_TEXT_MAX];

    if (!c->divided)
        return false;
    (void)join (a, 0, SPOOL_RAW_COPY, rows);
    (void)agent_raw_endpoints (a, raw);
    for EACH_CHOSEN (i, c)
        ship_take (a->ship, i, kinds_of (a, i));
    for EACH_CHOSEN (i, c)
        ship_divided (a->ship, i, !agent_gives_raw (a)  ? ""
                                  : i < SPOOL_RAW_COPY ? raw : rows);
    return true;
}

void agent_route (struct agent *a)
{
    if (route (a))
        (void)ship_judge (a->ship);
}

static unsigned chosen_copies (const struct agent *a)
{
    unsigned chosen = 0;

    for EACH_CHOSEN (i, &a->targets.choice)
        chosen |= 1U << i;
    return chosen;
}

static void connect_copy (struct agent *a, unsigned copy)
{
    size_t at = a->targets.choice.copy[copy].at;
    struct err err = { "" };

    a->connection[copy] = (struct connection){ .met_ns = 0 };
    if (ship_move (a->ship, copy, a->targets.endpoints.all[at].name,
                   security_of (a, at), &err) < 0)
        log_error ("not-connected", "%s", err.text);
}

/* A copy of raw files that shares an aggregator from now on has no mark, and what
 * it had is asked for.  Before that is recorded no raw file goes elsewhere.
 */
static void keep_marks (struct agent *a)
{
    struct targets *t = &a->targets;
    struct err err = { "" };
    int rc;

    if (!t->marks_due)
        return;
    if ((rc = spool_copies (a->spool, t->at_work, &err)) < 0) {
        log_error ("spool-failed", "%s: it is tried again every second",
                   err.text);
        return;
    }
    t->marks_due = false;
    (void)route (a);
    if (rc > 0)
        ship_doubt (a->ship, 0);
}

/* Connect copies that have moved, and those that speak for themselves again.
 * First the others rest: an aggregator has one connection of this host.
 */
static void arrange (struct agent *a, unsigned moved)
{
    struct targets *t = &a->targets;
    unsigned chosen = chosen_copies (a);

    for (unsigned i = 0; i < SPOOL_COPIES_ALL; i++) {
        if (t->at_work & ~chosen & 1U << i)
            ship_rest (a->ship, i);
    }
    t->marks_due = t->marks_due || t->at_work != chosen;
    (void)route (a);
    for EACH_CHOSEN (i, &t->choice) {
        if (!((moved | ~t->at_work) & 1U << i))
            continue;
        t->choice.copy[i].since_ns = clock_mono_ns ();
        connect_copy (a, i);
    }
    t->at_work = chosen;
    ship_limit (a->ship, a->opt->max_rate);
    keep_marks (a);
}

/* Who is away is not awaited if an object store has its copy: the ship tries again
 * what fails.
 */
static int judge (struct agent *a)
{
    const struct choice *c = &a->targets.choice;

    for EACH_CHOSEN (i, c)
        ship_set_away (a->ship, i, c->of[c->copy[i].at].away);
    return ship_judge (a->ship);
}

int agent_open_ship (struct agent *a, const struct ship_events *events,
                     struct err *err)
{
    struct targets *t = &a->targets;
    struct ship_identity who = { a->opt->job, a->self.host, a->self.key,
                                 a->opt->world_size, security_of (a, 0) };
    int rc = divide (a, err);

    // what has to be asked for is, when the loop runs
    if (rc == 0 && (rc = spool_copies (a->spool, chosen_copies (a), err)) > 0)
        rc = 0;
    if (rc == 0)
        rc = ship_create (a->loop, a->spool, t->endpoints.all[0].name, &who,
                          events, &a->ship, err);
    for (unsigned i = 1; i < SPOOL_COPIES_ALL && rc == 0; i++) {
        if (choice_is_copy (&t->choice, i))
            rc = ship_add_copy (a->ship, i, err);
    }
    if (rc < 0)
        return rc;
    ship_pack (a->ship, a->opt->codec);
    ship_copies (a->ship, t->copies);
    t->at_work = 1;
    arrange (a, 0);
    return judge (a) < 0 ? err_set (err, EIO, "the spool does not work") : 0;
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

static void tell_move (const struct agent *a, unsigned copy, size_t from)
{
    const struct targets *t = &a->targets;

    log_warn ("moved", "%s %s: its %s here go to %s, and none is removed here%s",
              t->endpoints.all[from].name,
              t->choice.of[from].away || !agent_is_at_first_choice (a)
                  ? "is away" : "stood in for one that is back",
              copy < SPOOL_RAW_COPY ? "captures" : "raw files",
              agent_endpoint (a, copy),
              agent_is_at_first_choice (a) ? " before it has them"
                                           : " until it is back");
}

void agent_look_at_targets (void *arg)
{
    struct agent *a = arg;
    struct targets *t = &a->targets;
    int64_t now = clock_mono_ns ();
    unsigned copy, moved = 0;

    agent_look_whether_deaf (a);
    if (t->endpoints.n == 1 || life_is_over (&a->life))
        return;
    for EACH_CHOSEN (i, &t->choice)
        choice_heard (&t->choice, i, ship_copy_heard_ns (a->ship, i), now);
    look_at_probe (a);
    for (;;) {
        struct choice before = t->choice;

        if (!choice_next_move (&t->choice, &copy, now))
            break;
        tell_move (a, copy, before.copy[copy].at);
        moved |= 1U << copy;
    }
    if (moved)
        arrange (a, moved);
    keep_marks (a);
    (void)judge (a);
    (void)loop_add_timer (a->loop, AGENT_LOOK_NS, agent_look_at_targets, a);
}

void agent_close_targets (struct agent *a)
{
    net_close (a->targets.probe.net);
    endpoints_fini (&a->targets.endpoints);
}
