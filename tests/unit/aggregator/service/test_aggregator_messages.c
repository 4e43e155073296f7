/* tests/unit/aggregator/service/test_aggregator_messages.c - what agents may
 * say */
#include "aggregator/service/service_check.h"

#include "base/clock.h"
#include "fsck/check_root.h"
#include "store/fileio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

static bool full;               // the disk, when a commit is written

int __real_ledger_finish (struct ledger *l, int rc, struct err *err);
int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err);

int __wrap_ledger_finish (struct ledger *l, int rc, struct err *err)
{
    return __real_ledger_finish (l, full ? -ENOSPC : rc, err);
}

static bool unreadable;         // the ledger, when it is asked for a mark

int __real_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err);
int __wrap_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err);

int __wrap_ledger_reaches (struct ledger *l, const struct ledger_mark *mark,
                           struct err *err)
{
    return unreadable ? -EIO : __real_ledger_reaches (l, mark, err);
}

/* One connection that says hello as many would take the room of all, and the
 * memory that there is.
 */
static void test_one_connection (void **state)
{
    struct service *s = *state;

    service_hello_as (s, 1, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    service_hello_as (s, 1, 1, "j", 1); // it is said again and again
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    service_hello_as (s, 1, 2, "j", 1);
    service_hello_as (s, 1, 1, "other", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 2);
    assert_int_equal (service_agents (s), 1);
    s->gone = 1;
    service_hello_as (s, 2, 1, "j", 1); // the host's agent, restarted
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_agents (s), 1);
}

static void hello_with (struct service *s, unsigned peer,
                        const struct ledger_mark *mark)
{
    struct message m = { .type = MESSAGE_HELLO, .mark = *mark,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    (void)snprintf (m.job, sizeof (m.job), "j");
    (void)snprintf (m.host, sizeof (m.host), "host%u", peer);
    (void)snprintf (m.host_key, sizeof (m.host_key), "key%u", peer);
    service_hear (s, peer, &m);
}

/* Whether the WELCOME to a HELLO with this mark says that something is lost. */
static bool is_lost (struct service *s, unsigned peer,
                     const struct ledger_mark *mark)
{
    const struct message *last;

    hello_with (s, peer, mark);
    last = &s->sent[(s->nsent - 1) % SENT_MAX];
    assert_int_equal (last->type, MESSAGE_WELCOME);
    return last->lost;
}

/* An acknowledgement says what it was given for, and later lives, and other
 * roots, know whether they have that.
 */
static void test_mark (void **state)
{
    struct service *s = *state;
    struct ledger_mark mark, none = { 0, 0 };

    assert_false (is_lost (s, 1, &none));
    service_offer (s, 1, 1, "a");
    service_chunk (s, 1, 1, "a");
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (s->sent[(s->nsent - 1) % SENT_MAX].type, MESSAGE_ACK);
    mark = s->sent[(s->nsent - 1) % SENT_MAX].mark;
    assert_true (mark.epoch != 0 && mark.seq == 1);
    assert_false (is_lost (s, 1, &mark));
    service_close (s);
    service_open (s);
    // lives that acknowledge nothing do not push out the one that did
    for (unsigned i = 0; i < 1100; i++) {
        assert_int_equal (ledger_begin_epoch (s->a.ledger, NULL), 0);
        assert_int_equal (transfers_note_all (s->a.transfers, NULL), 0);
    }
    assert_false (is_lost (s, 1, &mark));
    mark.seq++;
    assert_true (is_lost (s, 1, &mark));
    mark.seq--;
    service_close (s);
    assert_int_equal (fileio_remove_tree (s->root, NULL), 0);
    assert_int_equal (fileio_mkdirs (s->root, FILEIO_DIR_MODE, NULL), 0);
    service_open (s);
    assert_true (is_lost (s, 1, &mark));
    assert_false (is_lost (s, 2, &none));
}

/* It says so in one breath with its HELLO, and has not read yet that what it
 * means by that is not here: a run would end without it, and with 0.
 */
static void test_done_of_before (void **state)
{
    struct service *s = *state;
    struct ledger_mark mark = { 7, 1 }, none = { 0, 0 };
    const struct message done = { .type = MESSAGE_DONE };
    const struct job_agent *agent;

    assert_true (is_lost (s, 1, &mark));
    agent = &s->a.jobs->job.agents[0];
    service_hear (s, 1, &done);
    assert_false (agent->done);
    // the next HELLO is of one who knows
    assert_false (is_lost (s, 1, &none));
    assert_false (agent->done);
    service_hear (s, 1, &done);
    assert_true (agent->done);
}

/* Its agent would release what is nowhere else, or read all of it again.  And
 * what it delivers would be acknowledged with a mark of ours: nobody could tell
 * any more that what came before is not here.
 */
static void test_mark_unreadable (void **state)
{
    const struct ledger_mark mark = { 7, 7 }, none = { 0, 0 };
    const struct message done = { .type = MESSAGE_DONE };
    const struct job_agent *agent;
    struct service *s = *state;

    unreadable = true;
    hello_with (s, 1, &mark);
    service_offer (s, 1, 1, "a");
    assert_int_equal (s->nsent, 0);
    assert_int_equal (service_agents (s), 0);
    assert_false (is_lost (s, 2, &none));       // there is nothing to ask for
    unreadable = false;
    assert_true (is_lost (s, 1, &mark));
    // one that is known is served, but its last word does not count
    unreadable = true;
    (void)service_said (s, MESSAGE_WELCOME);
    hello_with (s, 2, &mark);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 0);
    service_hear (s, 2, &done);
    agent = job_agent_of_host (&s->a.jobs->job, "key2");
    assert_false (agent->done);
    unreadable = false;
    assert_false (is_lost (s, 2, &none));
    service_hear (s, 2, &done);
    assert_true (agent->done);
}

/* It is on its way to be read, and not on offer: the run would end without it,
 * and with 0.
 */
static void test_found_behind_done (void **state)
{
    const struct message done = { .type = MESSAGE_DONE };
    struct message ping = { .type = MESSAGE_PING };
    const struct job_agent *agent;
    struct service *s = *state;

    service_hello (s, 1, "j", 1);
    agent = &s->a.jobs->job.agents[0];
    service_hear (s, 1, &done);
    service_hear (s, 1, &ping);
    assert_true (agent->done);
    ping.left_captures = 1;
    service_hear (s, 1, &ping);
    assert_false (agent->done);
    service_hear (s, 1, &done);
    assert_true (agent->done);
}

static struct job_agent *only_agent (struct service *s)
{
    assert_int_equal (service_agents (s), 1);
    return &s->a.jobs->job.agents[0];
}

/* Anybody who may connect could say every millisecond that it is the agent of
 * another host, which then would deliver nothing any more.
 */
static void test_rival (void **state)
{
    const struct message *last;
    struct service *s = *state;
    struct job_agent *agent;

    service_hello_as (s, 1, 1, "j", 1);
    agent = only_agent (s);
    (void)service_said (s, MESSAGE_WELCOME);
    for (int i = 0; i < 100; i++)
        service_hello_as (s, 2, 1, "j", 1);
    assert_int_equal (agent->peer.id[0], 1);
    // the first one is asked whether it is there, not as often
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 0);
    // seconds later both are still there: the second is told why not
    agent->rival_ns -= 60 * NS_PER_S;
    service_hello_as (s, 2, 1, "j", 1);
    last = &s->sent[(s->nsent - 1) % SENT_MAX];
    assert_int_equal (last->type, MESSAGE_REFUSED);
    assert_non_null (strstr (last->text, "host1"));
    assert_int_equal (agent->peer.id[0], 1);
    // so is each of many: one without an answer says that a firewall may be in
    // between
    (void)service_said (s, MESSAGE_REFUSED);
    for (unsigned i = 2; i < 10; i++)
        service_hello_as (s, i, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 8);
    // the first one has fallen silent, its connection half open
    agent->heard_ns -= 60 * NS_PER_S;
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, 2, 1, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (only_agent (s)->peer.id[0], 2);
}

/* A dead node was one of "agents: 3", for ever. */
static void test_silent (void **state)
{
    struct message done = { .type = MESSAGE_DONE };
    struct service *s = *state;
    struct json *j = json_object ();
    char text[MESSAGE_TEXT_MAX];
    struct job_agent *agent;
    int64_t now = clock_mono_ns ();

    for (unsigned i = 1; i < 4; i++)
        service_hello_as (s, i, i, "j", 3);
    service_offer (s, 2, 7, "rank2");
    service_hear (s, 3, &done);
    aggregator_check_silent (&s->a, now);
    // one that is a minute old: but we did nothing meanwhile
    aggregator_check_silent (&s->a, now + 60 * NS_PER_S);
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 0);
    s->a.awake_ns = now;
    service_hello_as (s, 1, 1, "j", 3);
    agent = job_agent_of_host (&s->a.jobs->job, "key1");
    agent->heard_ns = now + 50 * NS_PER_S;
    aggregator_check_silent (&s->a, now + 60 * NS_PER_S);
    assert_false (agent->lost);
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 1);
    assert_non_null (strstr (text, "host host2 since 20"));
    service_hello_as (s, 2, 2, "j", 3);         // it is heard again
    assert_int_equal (aggregator_add_silent (&s->a, j, text, sizeof (text)), 0);
    json_free (j);
}

/* However many connections: memory has an end.  Who is known is served. */
static void test_agents_max (void **state)
{
    struct service *s = *state;
    char job[32];
    unsigned i;

    for (i = 0; i < AGGREGATOR_AGENTS_MAX; i++) {
        (void)snprintf (job, sizeof (job), "job%u", i / 1000);
        service_hello_as (s, i, i, job, 1);
    }
    assert_int_equal (service_agents (s), AGGREGATOR_AGENTS_MAX);
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, i, i, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    s->gone = 7;
    service_hello_as (s, i + 1, 7, "job0", 1);  // restarted
    service_hello_as (s, 9, 9, "job0", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 2);
    assert_int_equal (service_agents (s), AGGREGATOR_AGENTS_MAX);
}

/* Each start of a host or container is another host: those that are gone do not
 * fill a job that lives on.
 */
static void test_agents_gone (void **state)
{
    struct message rank = { .type = MESSAGE_RANK, .rank = 3 };
    struct service *s = *state;
    struct job *j;
    unsigned i;

    for (i = 0; i < JOB_AGENTS_MAX; i++)
        service_hello_as (s, i, i, "j", 1);
    j = &s->a.jobs->job;
    rank.rank = 3;
    service_hear (s, 7, &rank);
    rank.rank = 4;
    service_hear (s, 9, &rank);
    (void)service_said (s, MESSAGE_WELCOME);
    service_hello_as (s, i, i, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_REFUSED), 1);
    for (unsigned k = 0; k < 9; k++)
        j->agents[k].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    service_hello_as (s, i, i, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
    assert_int_equal (service_agents (s), JOB_AGENTS_MAX - 8);
    // what others said is theirs
    assert_int_equal (j->nranks, 1);
    assert_int_equal (j->ranks[0].rank, 4);
    assert_string_equal (j->agents[j->ranks[0].agent].host, "host9");
    // one that was silent, and is there, says hello again
    service_hello_as (s, 7, 7, "j", 1);
    assert_int_equal (service_said (s, MESSAGE_WELCOME), 1);
}

/* A connection is this agent, and of this job; or NULL. */
static void check_peer (struct service *s, unsigned peer, const char *host,
                        const char *job)
{
    struct net_peer from = { .size = sizeof (peer) };
    struct job_agent *agent;
    struct served *of;

    memcpy (from.id, &peer, sizeof (peer));
    of = aggregator_find_peer (&s->a, &from, &agent);
    assert_true ((of != NULL) == (job != NULL));
    if (!of)
        return;
    assert_string_equal (of->job.id, job);
    assert_string_equal (agent->host, host);
    assert_memory_equal (agent->peer.id, from.id, from.size);
}

/* Of a service that lives for months the table would have every host that ever
 * was.  What is to be built needs what agents have said.
 */
static void test_gone (void **state)
{
    struct message done = { .type = MESSAGE_DONE };
    struct service *s = *state;
    int64_t now = clock_mono_ns (), minute = 60 * NS_PER_S;
    struct served *j;

    service_hello_as (s, 1, 1, "peace", 1);
    service_hear (s, 1, &done);
    for (unsigned i = 2; i < 4; i++)
        service_hello_as (s, i, i, "j", 2);
    service_hear (s, 2, &done);
    aggregator_forget_gone (&s->a, now + 9 * minute);
    assert_int_equal (s->a.njobs, 2);
    aggregator_forget_gone (&s->a, now + 11 * minute);
    assert_int_equal (s->a.njobs, 1);
    // host2 has ended, but host3 has not: the roll has the words of both
    assert_int_equal (service_agents (s), 2);
    j = s->a.jobs;
    j->job.agents[1].heard_ns = now + 60 * minute;
    build_schedule_arrived (&j->schedule, now);
    aggregator_forget_gone (&s->a, now + 61 * minute);
    assert_int_equal (service_agents (s), 2);
    j->schedule = (struct build_schedule){ .first_ns = 0 };
    aggregator_forget_gone (&s->a, now + 61 * minute);
    assert_int_equal (service_agents (s), 1);
    assert_string_equal (only_agent (s)->host, "host3");
    check_peer (s, 2, "", NULL);
    check_peer (s, 3, "host3", "j");
    aggregator_forget_gone (&s->a, now + 121 * minute);
    assert_int_equal (s->a.njobs, 0);
    service_hello_as (s, 3, 3, "j", 2);         // it is there after all
    assert_int_equal (service_agents (s), 1);
}

/* What a connection says is taken for that of its agent, whoever comes, goes,
 * moves in memory or is started again.
 */
static void test_peers (void **state)
{
    struct service *s = *state;
    struct job *j;

    for (unsigned i = 0; i < 9; i++)
        service_hello (s, i, i < 6 ? "j" : "k", 1);
    check_peer (s, 5, "host5", "j");
    check_peer (s, 6, "host6", "k");
    check_peer (s, 9, NULL, NULL);
    s->gone = 4;
    service_hello_as (s, 20, 4, "j", 1);        // restarted
    check_peer (s, 4, NULL, NULL);
    check_peer (s, 20, "host4", "j");
    j = &aggregator_find_job (&s->a, "j")->job;
    j->agents[1].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    j = &aggregator_find_job (&s->a, "k")->job;
    for (size_t i = 0; i < j->nagents; i++)
        j->agents[i].heard_ns -= 2 * AGGREGATOR_IDLE_NS;
    for (unsigned i = 100; i < 100 + JOB_AGENTS_MAX - 5; i++)
        service_hello (s, i, "j", 1);           // the last one makes room
    check_peer (s, 0, "host0", "j");
    check_peer (s, 1, NULL, NULL);
    check_peer (s, 5, "host5", "j");
    check_peer (s, 20, "host4", "j");
    check_peer (s, 6, NULL, NULL);
    check_peer (s, 100, "host100", "j");
    assert_null (aggregator_find_job (&s->a, "k"));
}

/* Who is expected is not in memory only, though the disk was full when it was
 * said first.
 */
static void test_size_again (void **state)
{
    struct service *s = *state;

    service_hello (s, 1, "j", 8);
    full = true;
    assert_int_equal (service_commit (s), -ENOSPC);
    full = false;
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 0);
    service_hello (s, 1, "j", 8);
    assert_true (transfers_pending (s->a.transfers));
    assert_int_equal (service_commit (s), 0);
    service_hello (s, 1, "j", 8);
    assert_false (transfers_pending (s->a.transfers));
    service_close (s);
    service_open (s);
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 8);
}

/* Its record in the segment is not cut off with a commit that fails later: the
 * ledger can be made again of the records.
 */
static void test_size_recorded (void **state)
{
    struct check_report report = { .say = NULL };
    struct service *s = *state;
    char path[PATH_MAX];

    service_hello (s, 1, "j", 8);
    service_offer (s, 1, 1, "capture");
    service_chunk (s, 1, 1, "capture");
    assert_int_equal (service_commit (s), 0);
    service_offer (s, 1, 2, "another");
    service_chunk (s, 1, 2, "another");
    full = true;
    assert_int_equal (service_commit (s), -ENOSPC);
    full = false;
    service_close (s);
    (void)snprintf (path, sizeof (path), "%s/ledger.db", s->root);
    assert_int_equal (unlink (path), 0);
    assert_int_equal (store_check (s->root, true, &report, NULL), 0);
    assert_int_equal (report.items, 1);
    service_open (s);
    assert_int_equal (ledger_world_size (s->a.ledger, "j"), 8);
}

static int see_clock (void *arg, const struct ledger_clock *c)
{
    *(int64_t *)arg = c->offset_ns;
    return 0;
}

/* A thousand agents that come at once do not cost a sync of the disk each. */
static void test_clocks (void **state)
{
    struct message m = { .type = MESSAGE_HELLO, .job = "j", .host = "h",
                         .host_key = "k", .clock_offset_ns = 7 };
    struct service *s = *state;
    int64_t offset = 0;

    service_hear (s, 1, &m);
    assert_int_equal (ledger_each_clock (s->a.ledger, "j", see_clock, &offset,
                                         NULL), 0);
    assert_int_equal (offset, 0);
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (ledger_each_clock (s->a.ledger, "j", see_clock, &offset,
                                         NULL), 0);
    assert_int_equal (offset, 7);
    m.clock_offset_ns = 8;      // which is nothing new
    service_hear (s, 1, &m);
    assert_false (transfers_pending (s->a.transfers));
}

/* Of what others have delivered, an agent is told nothing, whatever it says, for
 * the same job, too: it hears of items that it offers, and these have its own
 * numbers.
 */
static void test_reads_nothing (void **state)
{
    struct service *s = *state;
    struct message m = { .item = 1, .capture = "secret", .path = "secret",
                         .length = 1 << 20, .job = "j", .host = "host2",
                         .host_key = "key2", .kind = ITEM_RAW, .size = 9,
                         .clock_offset_ns = MESSAGE_NO_CLOCK,
                         .clock_error_ns = MESSAGE_NO_CLOCK };

    s->who = "node1";
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "secret");
    service_chunk (s, 1, 1, "secret");
    assert_int_equal (service_commit (s), 0);
    s->who = "node2";
    service_hello (s, 2, "j", 2);
    s->nsent = 0;
    for (unsigned type = 0; type < 64; type++) {
        m.type = type;
        m.data = type == MESSAGE_CHUNK ? "secret" : NULL;
        m.data_size = type == MESSAGE_CHUNK ? 6 : 0;
        service_hear (s, 2, &m);
    }
    assert_true (s->nsent > 0 && s->nsent < SENT_MAX);
    for (size_t i = 0; i < s->nsent; i++) {
        const struct message *said = &s->sent[i];

        if (said->type == MESSAGE_END) {        // who asks is told that he may not
            assert_int_equal (said->status, EX_NOPERM);
            continue;
        }
        assert_true (said->type == MESSAGE_WELCOME ||
                     said->type == MESSAGE_GET || said->type == MESSAGE_ACK);
        assert_null (said->data);
        assert_int_equal (said->data_size, 0);
        assert_string_equal (said->capture, "");
        assert_string_equal (said->path, "");
        assert_string_equal (said->text, "");
        assert_string_equal (said->host, "");
        assert_true (said->item <= 1);
    }
}

/* What is counted as it comes is what a count of the ledger finds. */
static void test_usage (void **state)
{
    struct service *s = *state;
    uint64_t total;

    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    service_offer (s, 1, 2, "another one");
    service_chunk (s, 1, 2, "another one");
    assert_int_equal (service_commit (s), 0);
    service_offer (s, 1, 3, "a capture");
    service_chunk (s, 1, 3, "a capture");
    assert_int_equal (service_commit (s), 0);
    total = s->a.usage.total;
    assert_int_equal (total, strlen ("a capture") + strlen ("another one"));
    aggregator_count_usage (&s->a);
    assert_int_equal (s->a.usage.total, total);
    assert_int_equal (usage_of_job (&s->a.usage, "j")->bytes, total);
    usage_fini (&s->a.usage);
}

/* Beyond a quota nothing is asked for, and HELLO is told why; then it is. */
static void test_quota (void **state)
{
    struct service *s = *state;

    s->opt.quotas.job = 10;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "eleven byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    service_hello (s, 1, "j", 2);
    assert_string_equal (s->sent[0].text, "delivery waits: quota of job j is "
                         "full: 0 B of 10 B are used, and 11 B more do not "
                         "fit");
    s->opt.quotas.job = 11;
    service_offer (s, 1, 1, "eleven byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    usage_fini (&s->a.usage);
}

/* What needs no new bytes is acknowledged, however full a quota is. */
static void test_quota_known (void **state)
{
    struct service *s = *state;

    s->opt.quotas.root = 9;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    assert_int_equal (service_commit (s), 0);
    (void)service_said (s, MESSAGE_GET);
    service_offer (s, 1, 2, "a capture");       // its ACK was lost
    service_hello (s, 2, "k", 2);
    service_offer (s, 2, 3, "a capture");       // of another job
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (service_said (s, MESSAGE_ACK), 2);
    service_offer (s, 2, 4, "b");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    usage_fini (&s->a.usage);
}

/* An accepted offer takes its room until it ends; to repeat it costs nothing. */
static void test_quota_promised (void **state)
{
    struct service *s = *state;
    const struct message gone = { .type = MESSAGE_GONE, .item = 1 };

    s->opt.quotas.root = 20;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_hello (s, 2, "k", 2);
    service_offer (s, 1, 1, "eleven byte");
    service_offer (s, 1, 1, "eleven byte");
    service_offer (s, 2, 1, "eleven byte");
    assert_string_equal (aggregator_waits (&s->a, s->a.jobs), "");
    (void)service_said (s, MESSAGE_GET);
    service_offer (s, 2, 2, "eleven more");
    assert_int_equal (service_said (s, MESSAGE_GET), 0);
    service_hear (s, 1, &gone);
    service_offer (s, 2, 2, "eleven more");
    (void)service_said (s, MESSAGE_GET);
    service_hear (s, 2, &gone);
    service_offer (s, 2, 2, "eleven more");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    service_chunk (s, 2, 2, "eleven more");
    assert_int_equal (service_commit (s), 0);
    assert_int_equal (s->a.promised.total, 0);
    service_offer (s, 2, 3, "nine byte");
    assert_int_equal (service_said (s, MESSAGE_GET), 1);
    usage_fini (&s->a.usage);
}

static int no_commit (void *arg, enum transfer_phase phase, struct err *err)
{
    (void)arg;
    (void)phase;
    return err_set (err, EIO, "of a test");
}

/* What could not be committed does not count. */
static void test_usage_failed (void **state)
{
    struct service *s = *state;

    s->opt.quotas.root = 20;
    aggregator_count_usage (&s->a);
    service_hello (s, 1, "j", 2);
    service_offer (s, 1, 1, "a capture");
    service_chunk (s, 1, 1, "a capture");
    transfers_set_extra_work (s->a.transfers, no_commit, NULL);
    assert_int_equal (aggregator_commit_now (&s->a), -EIO);
    assert_int_equal (s->a.usage.total, 9);
    aggregator_check_usage (&s->a, INT64_MAX);
    assert_int_equal (s->a.usage.total, 9);
    while (s->a.counting)
        aggregator_check_usage (&s->a, INT64_MAX);
    assert_int_equal (s->a.usage.total, 0);
    assert_int_equal (s->a.promised.total, 0);
    usage_fini (&s->a.usage);
}

int main (void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown (name, service_setup, service_teardown)
    const struct CMUnitTest tests[] = {
        TEST (test_one_connection), TEST (test_rival), TEST (test_silent),
        TEST (test_gone), TEST (test_agents_max), TEST (test_agents_gone),
        TEST (test_peers), TEST (test_size_again), TEST (test_size_recorded),
        TEST (test_clocks), TEST (test_mark), TEST (test_done_of_before),
        TEST (test_mark_unreadable), TEST (test_found_behind_done),
        TEST (test_reads_nothing), TEST (test_usage), TEST (test_quota),
        TEST (test_quota_known), TEST (test_quota_promised),
        TEST (test_usage_failed),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
