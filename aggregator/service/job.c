/* aggregator/service/job.c - one job as its agents report it */
#include "service/job.h"

#include "base/clock.h"
#include "base/cmp.h"
#include "base/utf8.h"
#include "base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_init (struct job *j, const char *id)
{
    memset (j, 0, sizeof (*j));
    PRINT (j->id, "%s", id);
}

static void job_settle (struct job *j)
{
    const struct size_claim *counts = size_claims_settle (&j->claims);

    j->world_size = counts ? counts->world_size : 0;
}

int job_claim (struct job *j, const struct size_claim *word)
{
    int rc = size_claims_put (&j->claims, word);

    if (rc > 0)
        job_settle (j);
    return rc;
}

void job_set_claims (struct job *j, struct size_claims *claims)
{
    size_claims_fini (&j->claims);
    j->claims = *claims;
    job_settle (j);
}

/* A node that does not know the size says 0, which withdraws nothing. */
static void hear_size (struct job *j, const struct job_agent *a,
                       int64_t world_size)
{
    struct size_claim w = { .by = CLAIM_NODE, .world_size = world_size };

    if (world_size == 0)
        return;
    memcpy (w.who, a->peer.who, sizeof (w.who));
    memcpy (w.host, a->host, sizeof (w.host));
    (void)job_claim (j, &w);    // if there is no room, it is repeated
}

void job_fini (struct job *j)
{
    for (size_t i = 0; i < j->nranks; i++)
        free (j->ranks[i].text);
    for (size_t i = 0; i < j->nagents; i++)
        free (j->agents[i].text);
    vec_free_texts (j->notes, j->nnotes);
    size_claims_fini (&j->claims);
    free (j->ranks);
    free (j->agents);
}

struct job_agent *job_agent_of_host (struct job *j, const char *host_key)
{
    for (size_t i = 0; i < j->nagents; i++) {
        if (strcmp (j->agents[i].host_key, host_key) == 0)
            return &j->agents[i];
    }
    return NULL;
}

static struct job_agent *add_agent (struct job *j, const struct message *m)
{
    struct job_agent *a = j->nagents < JOB_AGENTS_MAX
        ? vec_add (&j->agents, &j->nagents, sizeof (*a)) : NULL;

    if (a)
        memcpy (a->host_key, m->host_key, sizeof (a->host_key));
    return a;
}

void job_hello_again (struct job *j, struct job_agent *a,
                      const struct message *m, int64_t now_ns)
{
    if (strcmp (a->host, m->host) != 0) {       // the key is that of a boot
        memcpy (a->host, m->host, sizeof (a->host));
        a->clock_noted = false;
    }
    a->heard_ns = now_ns;
    a->lost = false;
    hear_size (j, a, m->world_size);
}

struct job_agent *job_hello (struct job *j, const struct net_peer *from,
                             const struct message *m, int64_t now_ns,
                             struct net_peer *old)
{
    struct job_agent *a = job_agent_of_host (j, m->host_key);

    old->size = 0;
    if (a && !net_peer_is (&a->peer, from)) {
        *old = a->peer;
        a->done = false;
        a->probed_ns = a->rival_ns = 0;
    }
    if (!a && !(a = add_agent (j, m)))
        return NULL;
    a->peer = *from;
    job_hello_again (j, a, m, now_ns);
    return a;
}

static size_t cost_of (const char *text)
{
    return text && *text ? strlen (text) + JOB_TEXT_COST : 0;
}

/* Replace an earlier text of this agent (or NULL). */
static int set_text (struct job *j, struct job_agent *a, char **at,
                     const char *text)
{
    size_t was = cost_of (*at), is = cost_of (text);
    char *copy = *text ? strdup (text) : NULL;

    if (*text && !copy)
        return -ENOMEM;
    free (*at);
    *at = copy;
    j->texts += is - was;
    a->texts += is - was;
    return 0;
}

/* The index of a rank's entry, or where to insert it. */
static size_t place_of (const struct job *j, int64_t rank)
{
    return cmp_place (&rank, j->ranks, j->nranks, sizeof (*j->ranks),
                      cmp_int64);
}

const struct job_rank *job_find_rank (const struct job *j, int64_t rank)
{
    size_t at = place_of (j, rank);

    return at < j->nranks && j->ranks[at].rank == rank ? &j->ranks[at] : NULL;
}

/* Find or make the entry of a rank; each agent repeats its ranks every two
 * seconds.
 */
static struct job_rank *rank_at (struct job *j, struct job_agent *a,
                                 int64_t rank)
{
    size_t at = place_of (j, rank);
    struct job_rank *p;

    if (at < j->nranks && j->ranks[at].rank == rank)
        return &j->ranks[at];
    if (j->nranks >= JOB_RANKS_MAX ||
        !(p = vec_insert (&j->ranks, &j->nranks, at, sizeof (*p))))
        return NULL;
    a->ranks++;
    *p = (struct job_rank){ .rank = rank, .phase = RANK_RUNNING,
                            .agent = (size_t)(a - j->agents) };
    return p;
}

/* The rank now belongs to this agent. */
static void take_rank (struct job *j, struct job_agent *a, struct job_rank *r)
{
    struct job_agent *was = &j->agents[r->agent];

    was->ranks--;
    was->texts -= cost_of (r->text);
    a->ranks++;
    a->texts += cost_of (r->text);
    r->noted = r->noted && was == a;
    r->agent = (size_t)(a - j->agents);
}

struct job_use job_text_adds (const char *text)
{
    return (struct job_use){ 0, cost_of (text) };
}

struct job_use job_rank_adds (const struct job *j, const struct message *m)
{
    const struct job_rank *r = job_find_rank (j, m->rank);
    size_t is = cost_of (m->text), was = r ? cost_of (r->text) : 0;

    return (struct job_use){ r ? 0 : 1, is > was ? is - was : 0 };
}

/* A claim by MPI, which a restarted agent may not have yet.  Of a node the
 * largest world counts: smaller ones are of programs with a few ranks.
 */
static void hear_mpi (struct job *j, const struct job_agent *a,
                      struct job_rank *r, const struct message *m)
{
    struct size_claim w = { .by = CLAIM_MPI, .world_size = m->mpi_size };
    const struct size_claim *known;

    if (m->mpi_size == 0 ||
        (r->mpi_size == m->mpi_size && r->mpi_rank == m->mpi_rank))
        return;
    r->mpi_rank = m->mpi_rank;
    r->mpi_size = m->mpi_size;
    r->noted = false;
    memcpy (w.who, a->peer.who, sizeof (w.who));
    memcpy (w.host, a->host, sizeof (w.host));
    known = size_claims_find (&j->claims, &w);
    if (!known || known->world_size < w.world_size)
        (void)job_claim (j, &w);
}

int job_rank (struct job *j, struct job_agent *a, const struct message *m)
{
    struct job_rank *r = rank_at (j, a, m->rank);

    if (!r)
        return j->nranks >= JOB_RANKS_MAX ? -E2BIG : -ENOMEM;
    if (m->phase == RANK_RUNNING)
        a->done = false;        // a rank joined after all others ended
    r->local_rank = m->local_rank;
    r->phase = m->phase;
    r->status = m->status;
    if (m->command.ns != r->command.ns)
        r->noted = false;
    r->command = m->command;
    take_rank (j, a, r);
    hear_mpi (j, a, r, m);
    return set_text (j, a, &r->text, m->text);
}

static int add_note (struct job *j, const char *text, size_t most)
{
    for (size_t i = 0; i < j->nnotes; i++) {
        if (strcmp (j->notes[i], text) == 0)
            return 0;
    }
    if (j->nnotes >= most)
        return -E2BIG;
    if (vec_add_text (&j->notes, &j->nnotes, text) < 0)
        return -ENOMEM;
    j->texts += cost_of (text);
    return 0;
}

int job_note (struct job *j, const char *text)
{
    return add_note (j, text, JOB_NOTES_MAX);
}

int job_note_final (struct job *j, const char *text)
{
    return add_note (j, text, JOB_LAST_NOTES_MAX);
}

int job_done (struct job *j, struct job_agent *a, const char *text,
              uint64_t doubtful)
{
    if (a->asked_again)
        return 0;
    a->done = true;
    a->doubtful = doubtful;
    return set_text (j, a, &a->text, text);
}

void job_was_deaf (struct job *j, int64_t ns, int64_t now_ns)
{
    for (size_t i = 0; i < j->nagents; i++) {
        int64_t *heard = &j->agents[i].heard_ns;

        *heard = *heard < now_ns - ns ? *heard + ns : now_ns;
    }
}

const struct job_agent *job_lose_silent (struct job *j, int64_t now_ns,
                                         int64_t limit_ns)
{
    for (size_t i = 0; i < j->nagents; i++) {
        struct job_agent *a = &j->agents[i];

        if (!a->lost && !a->done && now_ns - a->heard_ns > limit_ns) {
            a->lost = true;
            a->last_wall_ns = clock_wall_ns () - (now_ns - a->heard_ns);
            return a;
        }
    }
    return NULL;
}

/* Shrink a list to the capacity of n elements. */
static void *fit (void *list, size_t n, size_t size)
{
    size_t capacity = 1;
    void *p;

    while (capacity < n)
        capacity *= 2;
    p = realloc (list, capacity * size);
    return p ? p : list;
}

/* Update the ranks' agent indices; to[i] is SIZE_MAX for an agent that is gone.
 */
static void follow_agents (struct job *j, const size_t *to)
{
    size_t n = 0;

    for (size_t i = 0; i < j->nranks; i++) {
        struct job_rank *r = &j->ranks[i];

        if (to[r->agent] == SIZE_MAX) {
            free (r->text);
            continue;
        }
        r->agent = to[r->agent];
        j->ranks[n++] = *r;
    }
    j->nranks = n;
    j->ranks = fit (j->ranks, n, sizeof (*j->ranks));
}

void job_forget_silent (struct job *j, int64_t before_ns,
                        void (*fn) (void *arg, const struct net_peer *peer),
                        void *arg)
{
    size_t *to, n = 0;

    while (n < j->nagents && j->agents[n].heard_ns >= before_ns)
        n++;
    if (n == j->nagents)
        return;                 // the usual case: no agent moves
    to = calloc (j->nagents + 1, sizeof (*to));
    n = 0;
    for (size_t i = 0; to && i < j->nagents; i++) {
        struct job_agent *a = &j->agents[i];

        to[i] = SIZE_MAX;
        if (a->heard_ns < before_ns) {
            fn (arg, &a->peer);
            j->texts -= a->texts;
            free (a->text);
            continue;
        }
        to[i] = n;
        j->agents[n++] = *a;
    }
    if (to) {
        j->nagents = n;
        follow_agents (j, to);
        j->agents = fit (j->agents, n, sizeof (*j->agents));
    }
    free (to);
}

const struct job_rank *job_failed (const struct job *j)
{
    for (size_t i = 0; i < j->nranks; i++) {
        if (j->ranks[i].phase == RANK_ENDED && j->ranks[i].status > 0)
            return &j->ranks[i];
    }
    return NULL;
}

bool job_ended (const struct job *j)
{
    for (size_t i = 0; i < j->nranks; i++) {
        if (j->ranks[i].phase != RANK_ENDED &&
            !j->agents[j->ranks[i].agent].lost)
            return false;
    }
    return j->nranks > 0;
}

bool job_all_reported (const struct job *j)
{
    return j->world_size > 0 && j->nranks >= (size_t)j->world_size;
}

bool job_delivered (const struct job *j)
{
    for (size_t i = 0; i < j->nagents; i++) {
        if (!j->agents[i].done && !j->agents[i].lost)
            return false;
    }
    return j->nagents > 0;
}

bool job_has_doubtful (const struct job *j)
{
    size_t i = 0;

    while (i < j->nagents && j->agents[i].doubtful == 0)
        i++;
    return i < j->nagents;
}

bool job_is_whole (const struct job *j)
{
    for (size_t i = 0; i < j->nagents; i++) {
        if (!j->agents[i].done || j->agents[i].lost || j->agents[i].text)
            return false;
    }
    return job_all_reported (j);
}

/* Explain why a rank may have no captures. */
static void explain (const struct job_rank *x, const struct job_agent *a,
                     char *text, size_t size)
{
    if (x->phase != RANK_ENDED)
        (void)snprintf (text, size, "it is not known whether its COMMAND has "
                        "ended%s",
                        a->lost ? ": the agent of its host fell silent" : "");
    else if (x->text && *x->text)
        (void)snprintf (text, size, "%s", x->text);
    else if (a->lost)
        (void)snprintf (text, size, "the agent of its host fell silent before "
                        "it had delivered everything");
    else if (!a->done)
        (void)snprintf (text, size, "the agent of its host had not delivered "
                        "everything when the deadline passed");
}

/* Explain a rank that nobody has reported since the last restart; an earlier
 * aggregator may have recorded its host.
 */
static void explain_unheard (const struct job *j, struct roster_entry *e)
{
    char text[MESSAGE_TEXT_MAX] = "", shown[UTF8_ESCAPED (MESSAGE_TEXT_MAX)];

    if (j->resumed)
        PRINT (text, "it has not reported since the aggregator restarted: its "
               "undelivered captures are still on %s%.250s: rollcall wait "
               "%.250s there says where", e->host ? "host " : "its host",
               e->host ? e->host : "", j->id);
    else if (j->nagents > 0)
        PRINT (text, "no agent has reported it: its wrapper did not start or "
               "died at once, or its host could not reach the aggregator");
    roster_set_text (&e->reason, utf8_escape (text, UTF8_LINES, shown));
}

int job_fill_roster (const struct job *j, struct roster *r)
{
    for (size_t i = 0; i < j->nranks; i++) {
        const struct job_rank *x = &j->ranks[i];
        struct roster_entry *e = roster_at (r, x->rank);
        char text[MESSAGE_TEXT_MAX + 128] = "";

        if (!e)
            return -ENOMEM;
        e->local_rank = (int32_t)x->local_rank;
        roster_set_text (&e->host, j->agents[x->agent].host);
        if (x->command.ns > 0)  // else keep what an earlier aggregator recorded
            e->command = x->command;
        explain (x, &j->agents[x->agent], text, sizeof (text));
        roster_set_text (&e->reason, text);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (r->entries[i].expected &&
            !job_find_rank (j, r->entries[i].rank))
            explain_unheard (j, &r->entries[i]);
    }
    return 0;
}

void job_to_json (const struct job *j, struct json *out)
{
    struct json *list = json_add_array (out, "failed_ranks");

    for (size_t i = 0; i < j->nranks; i++) {
        const struct job_rank *x = &j->ranks[i];
        struct json *o;

        if (x->phase == RANK_ENDED && x->status == 0)
            continue;
        o = json_push_object (list);
        json_add_int (o, "rank", x->rank);
        json_add_text (o, "host", j->agents[x->agent].host);
        json_add_int (o, "status",
                      x->phase == RANK_ENDED ? x->status : -1);
        json_add_text (o, "reason", x->text);
    }
    list = json_add_array (out, "notes");
    for (size_t i = 0; i < j->nnotes; i++)
        json_push_text (list, j->notes[i]);
}
