/* aggregator/service/aggregator_messages.c - messages of agents */
#include "service/aggregator_private.h"

#include "base/counter.h"
#include "store/fileio.h"
#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALIVE_NS (3 * NS_PER_S)         // an agent says hello every 2 s
// replaces a text when there is no room for it
#define LEFT_OUT "its reports are not kept: there were too many"
#define RIVAL_NS (6 * NS_PER_S)         // until a second agent is told to end

/* 'reason' matters only for a refusal. */
static void reply (struct aggregator *a, const struct net_peer *to,
                   enum message_type type, enum refusal reason,
                   const char *text)
{
    struct message m = { .type = type, .reason = reason };

    PRINT (m.text, "%s", text);
    (void)net_send (a->net, to, &m);
}

static void aggregator_messages_refuse (struct aggregator *a,
                                        const struct net_peer *to,
                                        enum refusal reason, const char *text)
{
    counter_add (COUNTER_MESSAGES_REFUSED, 1);
    reply (a, to, MESSAGE_REFUSED, reason, text);
}

/* Whether something acknowledged to this agent is gone: the root is new, from a
 * backup or repaired, or files in it were removed.  1 or 0; negative: the
 * ledger cannot be read.
 */
static int has_lost (struct aggregator *a, const struct net_peer *from,
                     const struct message *hello)
{
    struct err err = { "" };
    char name[AGGREGATOR_NAME_MAX];
    int rc;

    if (hello->mark.epoch == 0)
        return 0;
    rc = aggregator_is_sound (a)
             ? ledger_reaches (a->ledger, &hello->mark, &err)
             : err_set (&err, EIO, "it is not known what was removed from the "
                                   "root");
    if (rc > 0) {
        rc = ledger_lost_since (a->ledger, &hello->mark, hello->job,
                                hello->host, &err);
        rc = rc < 0 ? rc : rc == 0;
    }
    if (rc > 0)
        return 0;
    if (rc == 0)
        counter_add (COUNTER_MARKS_UNKNOWN, 1);
    if (rc < 0 && access_may_log (&a->peer_access))
        log_error ("intake-failed", "HELLO from %s: %s",
                   aggregator_name (from, hello->host, name), err.text);
    else if (rc == 0 && access_may_log (&a->peer_access))
        log_warn ("redelivery-requested", "data acknowledged to the agent of "
                  "host %s, job %s, is missing here: the root was replaced, "
                  "restored from a backup or repaired, files in it were "
                  "removed, or another aggregator acknowledged it.  The agent "
                  "delivers again what it still has",
                  aggregator_name (from, hello->host, name), hello->job);
    return rc < 0 ? rc : 1;
}

/* Echo the agent's clock, so that it can measure its offset from ours. */
static void welcome (struct aggregator *a, const struct net_peer *to,
                     const struct message *hello, bool lost,
                     enum raw_wanted raw, const char *waits)
{
    struct message m = { .type = MESSAGE_WELCOME, .sent_ns = hello->sent_ns,
                         .codecs = pack_codecs (),
                         .wall_ns = clock_wall_ns (), .lost = lost,
                         .raw = raw };

    PRINT (m.text, "%s", waits);
    (void)net_send (a->net, to, &m);
}

/* Keep the offset of the host's clock, for users who compare times of several
 * hosts.  Each agent sends it every two seconds, so it is recorded only when it
 * is new or changed by more than its error.
 */
static void keep_clock (struct job_agent *agent, const struct message *m)
{
    int64_t offset = m->clock_offset_ns, error = m->clock_error_ns;
    char name[AGGREGATOR_NAME_MAX];

    if (offset == MESSAGE_NO_CLOCK)
        return;
    if (agent->clock_known &&
        llabs (offset - agent->clock_offset_ns) <
            error + agent->clock_error_ns + AGGREGATOR_CLOCK_NS / 4)
        return;
    agent->clock_known = true;
    agent->clock_noted = false;
    agent->clock_offset_ns = offset;
    agent->clock_error_ns = error;
    if (llabs (offset) > AGGREGATOR_CLOCK_NS)
        log_warn ("clock", "the clock of host %s differs by %.3f s from that "
                  "of this host",
                  aggregator_name (&agent->peer, agent->host, name),
                  (double)offset / (double)NS_PER_S);
}

static bool has_unnoted (const struct size_claims *w)
{
    size_t i = 0;

    while (i < w->n && w->list[i].noted)
        i++;
    return i < w->n;
}

/* Record a report that has to survive a restart with the next commit.  If that
 * fails, it is due again when the agent repeats it.
 */
static void note_said (struct aggregator *a, bool any)
{
    if (!any)
        return;
    a->notes_due = true;
    transfers_due (a->transfers);
    aggregator_commit_soon (a);
}

/* When one rank has failed, the other ranks are stopped. */
static void say_stop (struct aggregator *a, const struct served *s,
                      const struct net_peer *to)
{
    const struct job_rank *failed = job_failed (&s->job);
    char text[MESSAGE_TEXT_MAX];

    if (!failed)
        return;
    PRINT (text, "rank %lld failed (%.300s)", (long long)failed->rank,
           failed->text ? failed->text : "");
    reply (a, to, MESSAGE_STOP, REFUSAL_OTHER, text);
}

/* The launcher's front end asks whether any agent ever connected; after a
 * restart the aggregator asks when the first one did.
 */
static void mark_joined (struct aggregator *a)
{
    char path[PATH_MAX];

    if (a->opt->run_dir &&
        fileio_join (path, sizeof (path), a->opt->run_dir,
                     AGGREGATOR_JOINED) &&
        access (path, F_OK) < 0)
        (void)fileio_replace (path, "", 0, FILEIO_FILE_MODE, NULL);
}

static bool is_room (const struct aggregator *a, const struct served *s,
                     const struct net_peer *from)
{
    return aggregator_has_share_of_job (a, &s->job, from) &&
           aggregator_has_share (a, from, SHARE_AGENTS, 1);
}

/* Whether there is room for this agent; a restarted one takes the place of its
 * predecessor.
 */
static bool has_room (struct aggregator *a, struct served *s,
                      const struct net_peer *from, const struct message *m)
{
    if (job_agent_of_host (&s->job, m->host_key) || is_room (a, s, from))
        return true;
    aggregator_give_back (a, s);
    return is_room (a, s, from);
}

/* Find or open the job that an agent names. */
static struct served *open_job (struct aggregator *a,
                                const struct net_peer *from, const char *id)
{
    struct served *s = aggregator_find_job (a, id);

    if (s || a->opt->job)
        return s ? s : aggregator_job (a, id);
    if (!aggregator_has_share (a, from, SHARE_JOBS, 1))
        aggregator_give_back (a, NULL);
    if (aggregator_has_share (a, from, SHARE_JOBS, 1) &&
        (s = aggregator_job (a, id)))
        memcpy (s->opened_by, from->who, sizeof (s->opened_by));
    return s;
}

static void refuse_share (struct aggregator *a, const struct net_peer *from,
                          enum share what, const char *name)
{
    char text[MESSAGE_TEXT_MAX];

    PRINT (text, "this aggregator has as many %s%s%s as it can serve: try "
           "again later", name, *from->who ? " of key " : "", from->who);
    aggregator_tell_share (a, from, what);
    aggregator_messages_refuse (a, from, REFUSAL_OTHER, text);
}

static void log_agent (const struct net_peer *from, const struct message *m)
{
    struct logline l = log_line (LOG_LEVEL_INFO, "agent-connected");

    log_str (&l, "job", m->job);
    log_str (&l, "host", m->host);
    log_str (&l, "key", *from->who ? from->who : NULL);
    log_end (&l);
}

/* Two agents claim to be the agent of this host. */
static void on_rival (struct aggregator *a, struct job_agent *agent,
                      const struct net_peer *from, const struct message *m)
{
    int64_t now = clock_mono_ns ();
    char text[MESSAGE_TEXT_MAX];

    if (agent->rival_ns == 0 || now - agent->rival_heard_ns > RIVAL_NS)
        agent->rival_ns = now;
    agent->rival_heard_ns = now;
    if (now - agent->rival_ns < RIVAL_NS)
        return;                 // it may be a restarted agent: wait
    PRINT (text, "another agent%s%.60s is connected as the one of host %.200s "
           "for job %.200s, and answers: stop one of them, or give it another "
           "--job", *agent->peer.who ? " with the key of " : "",
           agent->peer.who, m->host, m->job);
    // an agent without an answer takes this aggregator for dead or unreachable
    aggregator_messages_refuse (a, from, REFUSAL_OTHER, text);
    if (agent->rival_told_ns > 0 && now - agent->rival_told_ns < RIVAL_NS)
        return;
    agent->rival_told_ns = now;
    log_warn ("duplicate-agent", "host %s, job %s: another agent%s%s is "
              "refused while the first one answers", m->host, m->job,
              *from->who ? ", with the key of " : "", from->who);
}

/* Whether the host already has a living agent on another connection: only then
 * is a new one refused.  Nothing can be sent to a broken connection; a silent
 * agent is given up.
 */
static bool is_taken (struct aggregator *a, struct served *s,
                      const struct net_peer *from, const struct message *m)
{
    struct job_agent *agent = job_agent_of_host (&s->job, m->host_key);
    struct message probe = { .type = MESSAGE_WELCOME,       // answers no HELLO
                             .wall_ns = clock_wall_ns (),
                             .codecs = pack_codecs () };
    int64_t now = clock_mono_ns ();

    if (!agent || agent->done || agent->lost ||
        now - agent->heard_ns > ALIVE_NS)
        return false;
    if (agent->probed_ns == 0 || now - agent->probed_ns > NS_PER_S) {
        agent->probed_ns = now;
        if (net_send (a->net, &agent->peer, &probe) == -EHOSTUNREACH)
            return false;
    }
    on_rival (a, agent, from, m);
    return true;
}

/* Add a new or restarted agent to its job, or tell it why not (NULL). */
static struct served *take_agent (struct aggregator *a,
                                  const struct net_peer *from,
                                  const struct message *m,
                                  struct job_agent **agent)
{
    struct served *s = open_job (a, from, m->job);
    struct net_peer old;

    if (!s && a->opt->job)
        aggregator_messages_refuse (a, from, REFUSAL_OTHER,
                                    "this aggregator serves another job");
    else if (!s)
        refuse_share (a, from, SHARE_JOBS, "jobs");
    if (!s || is_taken (a, s, from, m))
        return NULL;
    if (!has_room (a, s, from, m) ||
        !(*agent = job_hello (&s->job, from, m, clock_mono_ns (), &old))) {
        refuse_share (a, from, SHARE_AGENTS, "agents");
        return NULL;
    }
    if (old.size > 0)
        aggregator_forget_peer (a, &old);
    if (aggregator_note_peer (a, s, *agent) < 0)
        return NULL;            // it repeats its HELLO
    mark_joined (a);
    log_agent (from, m);
    return s;
}

/* Refuse a peer without permission and ignore it from now on, even if it was
 * known.
 */
static void refuse_host (struct aggregator *a, const struct net_peer *from,
                         const struct message *m, const char *why)
{
    counter_add (COUNTER_HOSTS_REFUSED, 1);
    reply (a, from, MESSAGE_REFUSED, REFUSAL_KEY, why);
    aggregator_forget_peer (a, from);
    if (access_may_log (&a->peer_access))
        log_warn ("host-refused", "job %s: %s", m->job, why);
}

/* Agents report that COMMAND started more ranks than the run has wrappers.
 * --world-size counted the wrappers, so raise that claim.
 */
static void hear_launch (struct aggregator *a, struct served *s,
                         const struct message *m)
{
    struct size_claim front = { .by = CLAIM_FRONT,
                               .world_size = m->world_size };
    const struct size_claim *said = size_claims_find (&s->job.claims, &front);

    if (a->opt->run_dir && said && m->world_size > said->world_size)
        (void)job_claim (&s->job, &front);      // no memory: it is repeated
}

/* If the ledger cannot tell whether acknowledged data is lost, do not answer:
 * either answer could be wrong, and the agent would release its captures or
 * seal all of them again.  A new agent is not accepted either: its data would
 * be acknowledged with a new mark, which hides what is lost.  It says HELLO
 * again.
 */
static void on_hello (struct aggregator *a, const struct net_peer *from,
                      const struct message *m)
{
    struct job_agent *agent = NULL;
    struct served *s = *m->job ? aggregator_find_peer (a, from, &agent) : NULL;
    struct err why = { "" };
    int lost;

    if (*m->job && !aggregator_may_speak (a, from, m, &why)) {
        refuse_host (a, from, m, why.text);
        return;
    }
    if (s && (strcmp (s->job.id, m->job) != 0 ||
              strcmp (agent->host_key, m->host_key) != 0)) {
        // one connection may be one agent only, or it could claim to be many
        aggregator_messages_refuse (
            a, from, REFUSAL_OTHER,
            "this connection has said hello as "
            "another agent, or of another job: connect again");
        return;
    }
    lost = has_lost (a, from, m);
    if (s)                      // what is committed then may move it
        s = aggregator_find_peer (a, from, &agent);
    if (s && agent->lost && !a->opt->job)
        log_agent (from, m);    // it had been logged as silent
    if (s)
        job_hello_again (&s->job, agent, m, clock_mono_ns ());
    else if (*m->job && lost >= 0)
        s = take_agent (a, from, m, &agent);
    else if (lost >= 0)         // it only asks whether we are alive
        welcome (a, from, m, false, RAW_ALL, "");
    if (!s)
        return;
    agent->asked_again = lost != 0;
    agent->done = agent->done && !agent->asked_again;
    agent->loss_unrecorded = agent->loss_unrecorded && lost < 0;
    if (lost > 0)
        aggregator_reopen_wants (a, s, agent);
    if (lost >= 0) {
        welcome (a, from, m, lost, aggregator_raw_of (a, s, agent),
                 aggregator_waits (a, s));
        aggregator_say_wants (a, s, agent);
    }
    keep_clock (agent, m);
    hear_launch (a, s, m);
    note_said (a, has_unnoted (&s->job.claims) || a->nbound > 0 ||
                      (agent->clock_known && !agent->clock_noted));
    if (a->opt->job)
        say_stop (a, s, from);
}

/* Whether there is room for the agent's text. */
static bool may_say (struct aggregator *a, const struct job_agent *agent,
                     struct job_use adds)
{
    if (adds.texts == 0 ||
        aggregator_has_share (a, &agent->peer, SHARE_TEXTS, adds.texts))
        return true;
    aggregator_tell_share (a, &agent->peer, SHARE_TEXTS);
    return false;
}

static void on_rank (struct aggregator *a, struct served *s,
                     struct job_agent *agent, const struct message *m)
{
    // check this last: it looks at all ranks
    bool first = m->phase == RANK_ENDED && m->status > 0 &&
                 !job_failed (&s->job);
    struct job_use adds = job_rank_adds (&s->job, m);
    const struct job_rank *r;
    struct message said;

    if (adds.ranks > 0 &&
        !aggregator_has_share (a, &agent->peer, SHARE_RANKS, adds.ranks)) {
        aggregator_tell_share (a, &agent->peer, SHARE_RANKS);
        return;
    }
    if (!may_say (a, agent, adds)) {
        said = *m;
        PRINT (said.text, "%s", LEFT_OUT);
        m = &said;
    }
    if (job_rank (&s->job, agent, m) < 0) {
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
        return;                 // it is repeated
    }
    r = job_find_rank (&s->job, m->rank);
    note_said (a, r && aggregator_rank_is_due (a, r));
    if (first) {
        struct logline l = log_line (LOG_LEVEL_WARN, "command-failed");

        log_int (&l, "rank", m->rank);
        log_str (&l, "host", agent->host);
        log_str (&l, "key", *agent->peer.who ? agent->peer.who : NULL);
        log_int (&l, "status", m->status);
        log_str (&l, "text", m->text);
        log_end (&l);
        for (size_t i = 0; a->opt->job && i < s->job.nagents; i++)
            say_stop (a, s, &s->job.agents[i].peer);
    }
}

/* Captures that were found after DONE are not offered yet: without this the run
 * would end without them.
 */
static void on_ping (struct job_agent *agent, const struct message *m)
{
    char name[AGGREGATOR_NAME_MAX];

    agent->left_items = m->left_items;
    agent->left_captures = m->left_captures;
    if (!agent->done || m->left_captures == 0)
        return;
    agent->done = false;
    log_info ("not-done", "host %s has found %llu more captures to read",
              aggregator_name (&agent->peer, agent->host, name),
              (unsigned long long)m->left_captures);
}

/* An agent delivers again what somebody removed here: say so once. */
static void tell_removed (struct served *s, const struct job_agent *agent,
                          const struct message *m)
{
    struct logline l;

    if (s->told_removed)
        return;
    s->told_removed = true;
    l = log_line (LOG_LEVEL_INFO, "removed-before");
    log_str (&l, "job", s->job.id);
    log_str (&l, "host", agent->host);
    log_str (&l, "capture", m->capture);
    log_str (&l, "text", "it was removed here on purpose: it is acknowledged, "
             "and not stored again, as all that was removed of this job");
    log_end (&l);
}

/* It has not lost what was acknowledged, or this is not said: its last HELLO was
 * asked for that.
 */
static void on_kept (struct aggregator *a, const struct job_agent *agent,
                     const struct net_peer *from, const struct message *kept)
{
    struct message m = { .type = MESSAGE_STORED };

    if (agent->asked_again || !aggregator_has_root (a))
        return;
    if (a->uploads)
        m.mark = (struct ledger_mark){ ledger_mark (a->ledger).epoch, 0 };
    if (a->uploads && a->stored.mark.epoch == m.mark.epoch)
        m.mark = a->stored.mark;
    if (a->uploads)
        PRINT (m.text, "%.700s", a->uploaded.error != 0 ? a->uploaded.why
                                 : a->uploaded.conflict);
    if (kept->hurry)
        stored_hurry (&a->stored, clock_mono_ns ());
    (void)net_send (a->net, from, &m);
}

static void on_known (struct aggregator *a, struct served *s,
                      struct job_agent *agent, const struct net_peer *from,
                      const struct message *m)
{
    char name[AGGREGATOR_NAME_MAX];
    struct err err = { "" };
    int rc = 0;

    agent->heard_ns = clock_mono_ns ();
    if (agent->loss_unrecorded && m->type != MESSAGE_RANK &&
        m->type != MESSAGE_NOTE)
        return;                 // it repeats all else after its HELLO
    switch (m->type) {
    case MESSAGE_RANK:
        on_rank (a, s, agent, m);
        break;
    case MESSAGE_NOTE:
        if (may_say (a, agent, job_text_adds (m->text)))
            aggregator_note (s, agent, m->text);
        break;
    case MESSAGE_DONE:
        // the text matters even if it is not kept
        rc = job_done (&s->job, agent,
                       may_say (a, agent, job_text_adds (m->text)) ? m->text
                                                                   : LEFT_OUT,
                       m->doubtful);
        break;
    case MESSAGE_OFFER:
        agent->done = false;    // it has found more
        rc = transfers_offer (a->transfers, from, s->job.id, agent->host, m,
                              &err);
        if (rc > 0)
            tell_removed (s, agent, m);
        break;
    case MESSAGE_CHUNK:
        rc = transfers_chunk (a->transfers, from, m, &err);
        break;
    case MESSAGE_GONE:
        transfers_gone (a->transfers, from, m->item);
        break;
    case MESSAGE_DIVIDED:
        note_said (a, aggregator_on_divided (a, s, agent, m));
        break;
    case MESSAGE_HAVE:
        aggregator_on_have (a, s, agent, m);
        break;
    case MESSAGE_KEPT:
        on_kept (a, agent, from, m);
        break;
    case MESSAGE_PING:
        on_ping (agent, m);
        break;
    default:                    // what only aggregators say
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
        break;
    }
    if (rc < 0 && access_may_log (&a->peer_access))
        log_error ("intake-failed", "%s from %s: %s", message_name (m->type),
                   aggregator_name (from, agent->host, name),
                   err.text[0] ? err.text : strerror (-rc));
    if (rc == -ESTALE)
        (void)aggregator_look (a, true);        // 's' and 'agent' may move
    aggregator_commit_soon (a);
}

void aggregator_on_message (void *arg, const struct net_peer *from,
                            const struct message *m, int bad,
                            const struct err *err)
{
    struct aggregator *a = arg;
    struct job_agent *agent;
    struct served *s;

    if (!m) {
        if (access_may_log (&a->peer_access))
            log_warn ("refused", "a message%s%s was refused: %s",
                      *from->who ? " with key " : "", from->who, err->text);
        if (bad == -EPROTONOSUPPORT)
            aggregator_messages_refuse (a, from, REFUSAL_VERSION, err->text);
        else
            counter_add (COUNTER_MESSAGES_REFUSED, 1);
        return;
    }
    if (m->type == MESSAGE_HELLO)
        on_hello (a, from, m);
    else if (m->type == MESSAGE_ASK || m->type == MESSAGE_MORE)
        aggregator_on_ask (a, from, m);
    else if ((s = aggregator_find_peer (a, from, &agent)))
        on_known (a, s, agent, from, m);
    else
        counter_add (COUNTER_MESSAGES_REFUSED, 1);
    // an agent that has not said HELLO repeats everything, HELLO first
}
